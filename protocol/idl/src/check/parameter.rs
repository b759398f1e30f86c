//! Parameters: shapes, modes and clauses (spec/idl.md, sections 3.2 to 3.4 and 3.8).

use super::constant;
use super::scope::{self, Purpose, Scope, Signature};
use super::types;
use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
use crate::expression::{BinaryOperator, Expression};
use crate::interface::{Dimension, ElementType, Mode, Order, Parameter, Shape};
use crate::parse::tree;
use crate::words;

/// A list of parameters that belong together, and what its expressions may refer to.
pub(super) struct List<'c, 'p> {
    /// Names of the file's structs.
    pub structs: &'c [&'c str],
    /// The parameters of the routine around, if this is a callback's list.
    pub outer: Option<&'c [Signature]>,
    /// Which of these its sizes name.
    pub captured: Vec<usize>,
    pub dialect: Dialect,
    /// Some parameter of the list could not be read.
    pub incomplete: bool,
    pub problems: &'p mut Problems,
}

/// Compiles a list of parameters. Where one is wrong, the result holds a stand-in and the problem
/// is reported.
pub(super) fn parameters(
    list: &mut List<'_, '_>,
    parameters: &[tree::Parameter],
) -> (Vec<Parameter>, Vec<Signature>) {
    let signatures: Vec<Signature> =
        parameters.iter().map(|parameter| list.signature(parameter)).collect();
    list.duplicates(parameters);
    list.callbacks_last(parameters);
    let compiled = parameters.iter().enumerate();
    let compiled =
        compiled.map(|(index, parameter)| list.parameter(parameter, index, &signatures)).collect();
    (compiled, signatures)
}

/// `IN char s[]` is text that ends at its NUL: a string; to the references, it is one character.
fn is_open_text(
    parameter: &tree::Parameter,
    element: Option<ElementType>,
    dialect: Dialect,
) -> bool {
    let input = parameter.mode.is_some_and(|(mode, _)| mode == Mode::In);
    !dialect.is_old()
        && input
        && element == Some(ElementType::Char)
        && matches!(parameter.dimensions.as_slice(), [tree::Dimension::Empty(_)])
}

impl List<'_, '_> {
    /// What expressions of the whole list may know of a parameter: they may refer to later ones
    /// too.
    fn signature(&mut self, parameter: &tree::Parameter) -> Signature {
        let element = types::element_type(&parameter.types, self.structs, self.problems);
        let text = is_open_text(parameter, element, self.dialect);
        let dimensions = &parameter.dimensions;
        let is_one = |dimension: &tree::Dimension| {
            dimension.is_one()
                || self.dialect.is_old() && matches!(dimension, tree::Dimension::Empty(_))
        };
        let scalar_result =
            dimensions.is_empty() && parameter.mode.is_some_and(|(mode, _)| mode.is_output());
        Signature {
            name: parameter.name.text.clone(),
            mode: parameter.mode.map_or(Mode::In, |(mode, _)| mode),
            element: if text { Some(ElementType::String) } else { element },
            single: text || dimensions.iter().all(is_one),
            rank: if text { 0 } else { dimensions.len().max(usize::from(scalar_result)) },
            callback: parameter.callback.is_some(),
        }
    }

    /// Arguments are given by name as well as by position, and sizes refer to names.
    fn duplicates(&mut self, parameters: &[tree::Parameter]) {
        let mut seen = std::collections::HashSet::new();
        for parameter in parameters {
            if !seen.insert(&parameter.name.text) {
                let message = format!("a second parameter named '{}'", shown(&parameter.name.text));
                self.problems.add(parameter.name.span, message);
            }
        }
    }

    /// The order of Ninf-G; clients rely on data arguments being the first ones.
    fn callbacks_last(&mut self, parameters: &[tree::Parameter]) {
        let first = parameters
            .iter()
            .position(|parameter| parameter.callback.is_some())
            .unwrap_or(parameters.len());
        if let Some(late) =
            parameters[first..].iter().find(|parameter| parameter.callback.is_none())
        {
            self.problems.add_with_help(
                late.name.span,
                format!("parameter '{}' follows a callback", shown(&late.name.text)),
                "callbacks must be last; Calls may pass them in any order",
            );
        }
    }

    /// One parameter. The checks of clauses come last: they need the shape.
    fn parameter(&mut self, tree: &tree::Parameter, index: usize, all: &[Signature]) -> Parameter {
        let signature = &all[index];
        if let Some(callback) = &tree.callback {
            return self.callback(tree, callback, signature.element, all);
        }
        let parameter = Parameter {
            name: signature.name.clone(),
            mode: signature.mode,
            element: signature.element.unwrap_or(ElementType::Int32),
            shape: self.shape(tree, signature, all),
            when: tree.when.as_ref().map(|when| self.condition(tree, when, all)),
            given: self.given(tree, index, all),
            default: tree.default.as_ref().map(|value| self.value(value, signature, all)),
            domain: self.domain(tree, index, all),
            constant: tree.constant.is_some(),
            wide: signature.mode == Mode::In
                && tree.dimensions.is_empty()
                && words::says_64_bits(tree.types.iter().map(|word| word.text.as_str())),
            stream: signature.element == Some(ElementType::Filename)
                && is_type(tree, words::FILE_POINTER),
            logical: is_truth(tree),
            returned: false,
            captured: None,
            doc: tree.doc.as_ref().map(|doc| doc.text.clone()).unwrap_or_default(),
            unit: tree.unit.as_ref().map(|unit| unit.text.clone()).unwrap_or_default(),
        };
        self.mode_and_type(tree, &parameter);
        self.clauses(tree, &parameter);
        parameter
    }

    /// The compiled expression, or a stand-in after a mistake.
    fn expression(
        &mut self,
        tree: &tree::Expression,
        purpose: Purpose,
        all: &[Signature],
    ) -> Expression {
        self.resolved(tree, purpose, all).unwrap_or(Expression::Integer(1))
    }

    /// The compiled expression; `None` after a mistake.
    pub(super) fn resolved(
        &mut self,
        tree: &tree::Expression,
        purpose: Purpose,
        all: &[Signature],
    ) -> Option<Expression> {
        let outer = self.outer.unwrap_or_default();
        let mut scope = Scope {
            signatures: all,
            outer,
            captured: std::mem::take(&mut self.captured),
            dialect: self.dialect,
            incomplete: self.incomplete,
            problems: &mut *self.problems,
        };
        let expression = scope.resolve(tree, purpose);
        self.captured = scope.captured;
        let expression = expression?;
        if !purpose.reals
            && let Err(message) = constant::value(&expression)
        {
            self.problems.add(tree.span, message);
        }
        Some(expression)
    }

    /// Scalar or array. A scalar that comes back is an array of one element, because callers pass a
    /// pointer.
    fn shape(&mut self, tree: &tree::Parameter, signature: &Signature, all: &[Signature]) -> Shape {
        if is_open_text(tree, Some(ElementType::Char), self.dialect)
            && signature.element == Some(ElementType::String)
        {
            return Shape::Scalar;
        }
        if tree.dimensions.is_empty() {
            // A file is named by its path, so a result file needs no pointer to a pointer.
            let scalar =
                !signature.mode.is_output() || signature.element == Some(ElementType::Filename);
            return if scalar {
                Shape::Scalar
            } else {
                Shape::Array { dimensions: vec![one()], order: Order::Row }
            };
        }
        let back = signature.mode.is_output();
        let mut dimensions: Vec<Dimension> = tree
            .dimensions
            .iter()
            .map(|dimension| self.dimension(tree, dimension, back, all))
            .collect();
        // Texts ignore ranges: as in Ninf-G, all of them travel.
        if matches!(signature.element, Some(ElementType::String | ElementType::Filename)) {
            let whole = |dimension: Dimension| Dimension {
                start: None,
                end: None,
                stride: None,
                ..dimension
            };
            dimensions = dimensions.into_iter().map(whole).collect();
        }
        let order = if tree.column.is_some() { Order::Column } else { Order::Row };
        Shape::Array { dimensions, order }
    }

    /// One dimension. What is broken or empty has been reported and counts as 1.
    fn dimension(
        &mut self,
        parameter: &tree::Parameter,
        dimension: &tree::Dimension,
        back: bool,
        all: &[Signature],
    ) -> Dimension {
        match dimension {
            tree::Dimension::Pointer | tree::Dimension::Broken => one(),
            tree::Dimension::Empty(span) => {
                self.empty_dimension(parameter, *span);
                one()
            }
            tree::Dimension::Sized(extent) => {
                let purpose = if back { scope::RANGE_BACK } else { scope::RANGE };
                let mut part = |part: &Option<tree::Expression>| {
                    Some(self.expression(part.as_ref()?, purpose, all))
                };
                let start = part(&extent.start);
                let mut end = part(&extent.end);
                let stride = part(&extent.stride);
                let size = self.expression(&extent.size, scope::SIZE, all);
                if self.dialect.is_old() {
                    end = end.map(|end| whole_if_zero(end, &size));
                }
                let compiled = Dimension { size, start, end, stride };
                constant::check_dimension(&compiled, extent, self.problems);
                compiled
            }
        }
    }

    /// Ninf-G takes `[]` for one element, which sends the wrong data without a word: refused with
    /// the ways out, but by its own tool.
    fn empty_dimension(&mut self, parameter: &tree::Parameter, span: crate::source::Span) {
        let name = shown(&parameter.name.text);
        if self.dialect.is_old() {
            let message = format!("the size of '{name}' is not given: it is one element");
            return self.problems.warn(span, message);
        }
        self.problems.add_with_help(
            span,
            format!("the size of '{name}' is not given"),
            format!(
                "write it, as in '{name}[n]' with 'IN int n'; a Fortran routine with assumed \
                 shape '{name}(:)' needs a wrapper with explicit shape or bind(C) and assumed \
                 size; text is 'IN string {name}'"
            ),
        );
    }

    /// `when`. A number is cheaper to send than a condition on it, and sizes need it in any case.
    fn condition(
        &mut self,
        tree: &tree::Parameter,
        when: &tree::Expression,
        all: &[Signature],
    ) -> Expression {
        let text =
            tree.types.iter().any(|word| matches!(word.text.as_str(), "string" | "filename"));
        let output = tree.mode.is_some_and(|(mode, _)| mode.is_output());
        if tree.dimensions.is_empty() && !text && !output {
            self.problems.add_with_help(
                when.span,
                format!("'{}' is a single value; it is always passed", shown(&tree.name.text)),
                "'when' is for arrays, strings, files and results",
            );
        }
        self.expression(when, scope::CONDITION, all)
    }

    /// A default or WORK value: real arithmetic where the parameter is a real number.
    fn value(
        &mut self,
        value: &tree::Expression,
        signature: &Signature,
        all: &[Signature],
    ) -> Expression {
        let purpose = match signature.element {
            Some(
                ElementType::Float32
                | ElementType::Float64
                | ElementType::Complex64
                | ElementType::Complex128,
            ) => scope::REAL_VALUE,
            _ => scope::VALUE,
        };
        self.expression(value, purpose, all)
    }

    /// What a mode allows.
    fn mode_and_type(&mut self, tree: &tree::Parameter, parameter: &Parameter) {
        let name = shown(&parameter.name);
        let span = tree.name.span;
        let text = matches!(parameter.element, ElementType::String | ElementType::Filename);
        if is_type(tree, words::VOID) && !all_sized(tree) {
            let help = format!("write the number of bytes: 'void {name}[size]'");
            self.problems.add_with_help(
                span,
                format!("'{name}' is void, whose elements have no size"),
                help,
            );
        }
        if is_type(tree, words::FILE_POINTER) {
            self.file_pointer(tree);
        }
        if parameter.mode == Mode::Work {
            if self.outer.is_some() {
                self.problems
                    .add(span, format!("'{name}' is WORK; a callback cannot have WORK parameters"));
            } else if text {
                let help = "use 'WORK char buffer[size]'";
                self.problems.add_with_help(
                    span,
                    format!("'{name}' is WORK and needs a size"),
                    help,
                );
            } else if tree.dimensions.is_empty() && parameter.default.is_none() {
                let help = format!("write 'WORK int {name} = …'; the server computes it");
                self.problems.add_with_help(
                    span,
                    format!("WORK scalar '{name}' has no value"),
                    help,
                );
            }
        }
        if let Some(constant) = tree.constant
            && parameter.mode != Mode::In
        {
            self.problems.add(constant, format!("'{name}' is const, so it must be IN"));
        }
        if let Some(word) = &tree.distribution
            && word.text == "broadcast"
            && !parameter.mode.is_input()
        {
            let message = format!("'{name}' is not sent to the routine, so it cannot be broadcast");
            if self.dialect.is_old() {
                self.problems.warn(word.span, format!("{message}: all ranks have memory for it"));
            } else {
                self.problems.add(word.span, message);
            }
        }
    }

    /// An open file belongs to one parameter of a routine.
    fn file_pointer(&mut self, tree: &tree::Parameter) {
        let name = shown(&tree.name.text);
        let span = tree.name.span;
        if self.outer.is_some() {
            let help = "use filename: the function receives a path";
            self.problems.add_with_help(
                span,
                format!("'{name}' is an open file; a callback cannot have one"),
                help,
            );
        } else if !tree.dimensions.is_empty() {
            let help = format!("write 'filepointer {name}' for one, or use an array of filename");
            self.problems.add_with_help(span, format!("'{name}' is an array of open files"), help);
        }
    }

    /// What clauses go with the shape.
    fn clauses(&mut self, tree: &tree::Parameter, parameter: &Parameter) {
        let name = shown(&parameter.name);
        if let Some(column) = tree.column
            && tree.dimensions.is_empty()
        {
            self.problems
                .add(column, format!("'{name}' is not an array, so it has no storage order"));
        }
        let Some(value) = &tree.default else { return };
        let scalar =
            parameter.shape == Shape::Scalar && matches!(parameter.mode, Mode::In | Mode::Work);
        let number = !matches!(
            parameter.element,
            ElementType::String | ElementType::Filename | ElementType::Struct(_)
        );
        if self.outer.is_some() {
            self.problems.add(value.span, "parameters of a callback cannot have default values");
        } else if !scalar {
            let help = "only IN and WORK scalars can have one";
            self.problems.add_with_help(
                value.span,
                format!("'{name}' cannot have a value here"),
                help,
            );
        } else if !number {
            self.problems.add(
                value.span,
                format!("'{name}' is not a number, so it cannot have a default value"),
            );
        }
    }
}

/// Whether a parameter's type is this word alone.
pub(super) fn is_type(tree: &tree::Parameter, word: &str) -> bool {
    matches!(tree.types.as_slice(), [only] if only.text == word)
}

/// Whether a parameter's type says true or false.
pub(super) fn is_truth(tree: &tree::Parameter) -> bool {
    words::TRUTHS.iter().any(|word| is_type(tree, word))
}

fn all_sized(tree: &tree::Parameter) -> bool {
    let sized = |dimension: &tree::Dimension| !matches!(dimension, tree::Dimension::Pointer);
    !tree.dimensions.is_empty() && tree.dimensions.iter().all(sized)
}

/// A dimension of one element.
pub(super) fn one() -> Dimension {
    Dimension { size: Expression::Integer(1), start: None, end: None, stride: None }
}

/// The references take an end of 0 for the whole size.
fn whole_if_zero(end: Expression, size: &Expression) -> Expression {
    let boxed = |part: &Expression| Box::new(part.clone());
    let is_zero =
        |end| Expression::Binary(BinaryOperator::Equal, end, Box::new(Expression::Integer(0)));
    match end {
        Expression::Integer(0) => size.clone(),
        Expression::Integer(_) => end,
        _ => Expression::Select(Box::new(is_zero(boxed(&end))), boxed(size), Box::new(end)),
    }
}
