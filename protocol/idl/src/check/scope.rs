//! Names to parameter numbers, and what an expression may refer to (spec/idl.md, section 5.2).

use crate::diagnostic::{Problems, shown};
use crate::dialect::Dialect;
use crate::expression::{BinaryOperator, Expression, Function};
use crate::interface::{ElementType, Mode};
use crate::parse::tree;
use crate::parse::tree::ExpressionKind;
use crate::source::Span;

/// What an expression needs to know of a parameter.
pub(super) struct Signature {
    pub name: String,
    pub mode: Mode,
    /// `None` if its type is wrong, which has been reported.
    pub element: Option<ElementType>,
    /// A scalar, or an array known to hold one element.
    pub single: bool,
    pub rank: usize,
    pub callback: bool,
}

impl Signature {
    /// Whether it is one integer of a routine that its callbacks' sizes may name.
    fn can_be_captured(&self) -> bool {
        let is_integer = self.element.is_some_and(ElementType::is_integer);
        self.single && !self.callback && self.mode.is_input() && is_integer
    }
}

/// What an expression is for: this decides what it may hold.
#[derive(Clone, Copy)]
pub(super) struct Purpose {
    /// For messages: "a size".
    pub what: &'static str,
    /// Real constants and real parameters.
    pub reals: bool,
    /// Complex parameters.
    pub complex: bool,
    /// log, log2 and sqrt.
    pub functions: bool,
    /// Values that exist only after the call.
    pub outputs: bool,
}

/// Sizes, conditions, numbers of processors.
pub(super) const SIZE: Purpose =
    Purpose { what: "a size", reals: false, complex: false, functions: false, outputs: false };
/// `when`.
pub(super) const CONDITION: Purpose = Purpose { what: "a condition", ..SIZE };
/// `where` of an integer or a character.
pub(super) const DOMAIN: Purpose = CONDITION;
/// `where` of a floating-point number.
pub(super) const REAL_DOMAIN: Purpose = Purpose { reals: true, ..CONDITION };
/// `given when`.
pub(super) const GIVEN: Purpose = Purpose { reals: true, complex: true, ..CONDITION };
/// The range of what goes in.
pub(super) const RANGE: Purpose = Purpose { what: "a range", ..SIZE };
/// The range of what comes back.
pub(super) const RANGE_BACK: Purpose = Purpose { outputs: true, ..RANGE };
/// `= value` of an integer.
pub(super) const VALUE: Purpose = Purpose { what: "the value of an integer", ..SIZE };
/// `= value` of a floating-point number.
pub(super) const REAL_VALUE: Purpose = Purpose { what: "a value", reals: true, ..SIZE };
/// `Complexity`.
pub(super) const COMPLEXITY: Purpose =
    Purpose { what: "a complexity", reals: true, functions: true, ..SIZE };
/// `Processors`.
pub(super) const PROCESSORS: Purpose = Purpose { what: "a number of processors", ..SIZE };

/// Turns names into numbers within one parameter list.
pub(super) struct Scope<'s, 'p> {
    pub signatures: &'s [Signature],
    /// Names around a callback: of these, integers that are known before the call are in reach.
    pub outer: &'s [Signature],
    /// Which of these were named: they have the numbers behind those of `signatures`.
    pub captured: Vec<usize>,
    pub dialect: Dialect,
    /// Some parameter could not be read: an unknown name may be its.
    pub incomplete: bool,
    pub problems: &'p mut Problems,
}

const FUNCTIONS: [(&str, Function); 7] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("log", Function::Log),
    ("log2", Function::Log2),
    ("sqrt", Function::Sqrt),
    ("length", Function::Length),
];

impl<'s, 'p> Scope<'s, 'p> {
    /// A scope without another one around.
    pub(super) fn new(
        signatures: &'s [Signature],
        incomplete: bool,
        problems: &'p mut Problems,
    ) -> Scope<'s, 'p> {
        let captured = Vec::new();
        let dialect = Dialect::Farcall;
        Scope { signatures, outer: &[], captured, dialect, incomplete, problems }
    }
}

impl Scope<'_, '_> {
    /// The compiled expression; `None` after a mistake, which has been reported.
    pub(super) fn resolve(
        &mut self,
        expression: &tree::Expression,
        purpose: Purpose,
    ) -> Option<Expression> {
        match &expression.kind {
            ExpressionKind::Integer(value) => Some(Expression::Integer(*value)),
            ExpressionKind::Real(value) => self.real(*value, expression.span, purpose),
            ExpressionKind::Name(name) => self.value(name, expression.span, purpose),
            ExpressionKind::Pointee(target) => self.element(target, None, expression.span, purpose),
            ExpressionKind::Index(array, index) => {
                self.element(array, Some(index), expression.span, purpose)
            }
            ExpressionKind::Unary(operator, operand) => {
                Some(Expression::Unary(*operator, Box::new(self.resolve(operand, purpose)?)))
            }
            ExpressionKind::Binary(operator, left, right) => {
                self.binary(*operator, left, right, purpose)
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                let parts = [condition, then, otherwise]
                    .map(|part| self.resolve(part, purpose).map(Box::new));
                let [condition, then, otherwise] = parts;
                Some(Expression::Select(condition?, then?, otherwise?))
            }
            ExpressionKind::Call(name, arguments) => self.call(name, arguments, purpose),
        }
    }

    /// A constant with a fraction. A size of 2.5 is a mistake, not a 2.
    fn real(&mut self, value: f64, span: Span, purpose: Purpose) -> Option<Expression> {
        if purpose.reals {
            return Some(Expression::Real(value));
        }
        let message = format!("{} is an integer", purpose.what);
        self.problems.add_with_help(
            span,
            message,
            "real constants are for Complexity and floating-point values",
        );
        None
    }

    /// Both sides are looked at even if one is wrong, so that all mistakes come at once.
    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &tree::Expression,
        right: &tree::Expression,
        purpose: Purpose,
    ) -> Option<Expression> {
        let first = self.resolve(left, purpose);
        let second = self.resolve(right, purpose);
        let first = first?;
        let second = second?;
        let divides = matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder);
        if divides && second == Expression::Integer(0) {
            self.problems.add(right.span, "division by zero");
            return None;
        }
        Some(Expression::Binary(operator, Box::new(first), Box::new(second)))
    }

    /// A name alone: a scalar's value, or the element of an array that has only one.
    fn value(&mut self, name: &str, span: Span, purpose: Purpose) -> Option<Expression> {
        let index = self.find(name, span)?;
        let signature = self.signature(index);
        if !signature.single && !signature.callback {
            let message =
                format!("'{}' is an array; {} needs an element of it", shown(name), purpose.what);
            self.problems.add_with_help(span, message, format!("write '{}[0]'", shown(name)));
            return None;
        }
        self.usable(index, span, purpose)?;
        Some(Expression::Parameter(number(index)))
    }

    /// `*a` and `a[i]`.
    fn element(
        &mut self,
        array: &tree::Expression,
        index: Option<&tree::Expression>,
        span: Span,
        purpose: Purpose,
    ) -> Option<Expression> {
        let ExpressionKind::Name(name) = &array.kind else {
            let message = "only elements of one-dimensional parameters can be used here";
            self.problems.add_with_help(
                span,
                message,
                "write 'a[i]' or '*a' with a parameter's name",
            );
            return None;
        };
        let found = self.find(name, array.span)?;
        let signature = self.signature(found);
        if signature.rank != 1 {
            let what =
                if signature.rank == 0 { "is not an array" } else { "has more than one dimension" };
            self.problems.add(array.span, format!("'{}' {what}", shown(name)));
            return None;
        }
        let single = signature.single;
        self.usable(found, array.span, purpose)?;
        // Indexes are whole numbers even where reals are allowed.
        let index = match index {
            Some(index) => self.resolve(index, SIZE)?,
            None => Expression::Integer(0),
        };
        if single && index == Expression::Integer(0) {
            return Some(Expression::Parameter(number(found)));
        }
        Some(Expression::Element(number(found), Box::new(index)))
    }

    /// Whether a parameter has a number that is known when the expression is evaluated.
    fn usable(&mut self, index: usize, span: Span, purpose: Purpose) -> Option<()> {
        let Signature { name, mode, element, single, callback, .. } = self.signature(index);
        let name = shown(name);
        if *callback {
            self.problems.add(span, format!("'{name}' is a callback; it has no value here"));
            return None;
        }
        if *mode == Mode::Out && !purpose.outputs {
            let message = format!(
                "'{name}' is OUT: its value is not known when {} is computed",
                purpose.what
            );
            self.problems.add_with_help(
                span,
                message,
                "use IN parameters; a range of an OUT array may use OUT ones",
            );
            return None;
        }
        if (*mode == Mode::Out || *mode == Mode::Work) && !single {
            let message =
                format!("the elements of '{name}' are not known when {} is computed", purpose.what);
            self.problems.add_with_help(
                span,
                message,
                "only elements of IN and INOUT arrays can be used",
            );
            return None;
        }
        self.numeric((*element)?, &name, span, purpose)
    }

    /// Whether a type has a value in this expression, with the way out if not.
    fn numeric(
        &mut self,
        element: ElementType,
        name: &str,
        span: Span,
        purpose: Purpose,
    ) -> Option<()> {
        let help = match element {
            ElementType::Float32 | ElementType::Float64 if purpose.reals => return Some(()),
            ElementType::Complex64 | ElementType::Complex128 if purpose.complex => return Some(()),
            ElementType::Float32 | ElementType::Float64 => "give it an integer type",
            ElementType::String => "'length(name)' is the number of its bytes",
            ElementType::Complex64
            | ElementType::Complex128
            | ElementType::Struct(_)
            | ElementType::Filename => "use an integer parameter",
            _ => return Some(()),
        };
        self.problems.add_with_help(span, format!("'{name}' is not an integer"), help);
        None
    }

    fn signature(&self, index: usize) -> &Signature {
        match index.checked_sub(self.signatures.len()) {
            None => &self.signatures[index],
            Some(around) => &self.outer[self.captured[around]],
        }
    }

    /// The number of a parameter by its name. In a callback it may be one of the routine's, which
    /// the references look at first.
    pub(super) fn find(&mut self, name: &str, span: Span) -> Option<usize> {
        let own = self.signatures.iter().position(|signature| signature.name == name);
        let around = self.outer.iter().position(|one| one.name == name && one.can_be_captured());
        match (own, around) {
            (Some(own), None) => return Some(own),
            (Some(own), Some(_)) if !self.dialect.is_old() => return Some(own),
            (_, Some(around)) => return Some(self.signatures.len() + self.capture(around)),
            (None, None) => {}
        }
        if self.outer.iter().any(|signature| signature.name == name) {
            let message =
                format!("'{}' is a parameter of the routine, not of the callback", shown(name));
            self.problems.add_with_help(
                span,
                message,
                "sizes of a callback use its own parameters, and IN integers of the routine",
            );
        } else if !self.incomplete {
            let names = self.signatures.iter().map(|signature| signature.name.as_str());
            let help = self.problems.did_you_mean(name, names);
            self.problems.add_with(span, format!("there is no parameter '{}'", shown(name)), help);
        }
        None
    }

    fn capture(&mut self, around: usize) -> usize {
        self.captured.iter().position(|one| *one == around).unwrap_or_else(|| {
            self.captured.push(around);
            self.captured.len() - 1
        })
    }

    /// A built-in function with the right number of arguments.
    fn call(
        &mut self,
        name: &tree::Name,
        arguments: &[tree::Expression],
        purpose: Purpose,
    ) -> Option<Expression> {
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name.text) else {
            let help = self
                .problems
                .did_you_mean(&name.text, FUNCTIONS.into_iter().map(|(known, _)| known))
                .unwrap_or_else(|| {
                    "functions are min, max, abs, length and, in Complexity, log, log2, sqrt"
                        .to_string()
                });
            self.problems.add_with_help(
                name.span,
                format!("unknown function '{}'", shown(&name.text)),
                help,
            );
            return None;
        };
        let real = matches!(function, Function::Log | Function::Log2 | Function::Sqrt);
        if real && !purpose.functions {
            let message = format!("'{}' does not return an integer", name.text);
            self.problems.add_with_help(
                name.span,
                message,
                "log, log2 and sqrt are for Complexity only",
            );
            return None;
        }
        let several = matches!(function, Function::Min | Function::Max);
        if arguments.is_empty() || (!several && arguments.len() != 1) {
            let wanted = if several { "at least one argument" } else { "one argument" };
            self.problems
                .add(name.span, format!("'{}' takes {wanted}, not {}", name.text, arguments.len()));
            return None;
        }
        if *function == Function::Length {
            return self.length(&arguments[0]);
        }
        let resolved: Vec<_> =
            arguments.iter().map(|argument| self.resolve(argument, purpose)).collect();
        Some(Expression::Call(*function, resolved.into_iter().collect::<Option<_>>()?))
    }

    /// `length(s)` takes a string that the caller gives.
    fn length(&mut self, argument: &tree::Expression) -> Option<Expression> {
        if let ExpressionKind::Name(name) = &argument.kind {
            let index = self.find(name, argument.span)?;
            let signature = self.signature(index);
            let given = signature.mode.is_input() && signature.rank == 0;
            if given && signature.element.is_none_or(|element| element == ElementType::String) {
                return Some(Expression::Call(
                    Function::Length,
                    vec![Expression::Parameter(number(index))],
                ));
            }
        }
        self.problems.add_with_help(
            argument.span,
            "'length' needs an IN string",
            "it is the number of bytes of a parameter such as 'IN string s'",
        );
        None
    }
}

/// A parameter's number as expressions hold it.
fn number(index: usize) -> u16 {
    u16::try_from(index).expect("the parser bounds the number of parameters")
}
