//! One argument of a routine: its type, its shape, and what a server cannot pass.

use super::directions::Directions;
use super::{Parameter, Routine, interface_name};
use crate::Problem;
use crate::callback::interface_of;
use crate::expression::Expression;
use crate::interface::type_word;
use crate::unit::{Base, Bound, Declared, Intent, Length, Module, Procedure, TypeSpec};

/// The type of a name that is not declared.
pub fn implicit(procedure: &Procedure, name: &str) -> Option<TypeSpec> {
    if procedure.implicit.none {
        return None;
    }
    let letter = name.chars().next()?;
    let rule = procedure
        .implicit
        .rules
        .iter()
        .rev()
        .find(|(first, last, _)| (*first..=*last).contains(&letter));
    let kinds = procedure.constants.kinds;
    let (base, kind) = match letter {
        'i'..='n' => (Base::Integer, kinds.integer),
        _ => (Base::Real, kinds.real),
    };
    let default = TypeSpec { base, kind: Ok(kind), length: Length::Is(Expression::Number(1)) };
    Some(rule.map_or(default, |(.., spec)| spec.clone()))
}

/// Whether an argument may stand in extents: an integer that is given.
pub(super) fn is_size(procedure: &Procedure, name: &str) -> bool {
    let declared = procedure.declared.get(name);
    let spec = declared.and_then(|one| one.type_spec.clone()).or_else(|| implicit(procedure, name));
    let given = declared.is_none_or(|one| one.intent != Some(Intent::Out) && one.shape.is_empty());
    given && spec.is_some_and(|spec| spec.base == Base::Integer)
}

/// What is declared of a name; one that is called, and is no array, is a procedure though nothing
/// says so.
fn called(procedure: &Procedure, name: &str, declared: &Declared) -> Declared {
    let line = procedure.body.uses.get(name).and_then(|seen| seen.called);
    match line {
        Some(line)
            if declared.shape.is_empty()
                && !declared.external
                && procedure.dummies.iter().any(|dummy| dummy == name) =>
        {
            Declared { external: true, line, ..declared.clone() }
        }
        _ => declared.clone(),
    }
}

/// Noted of a dummy whose direction neither INTENT nor the body says.
pub(super) const NO_INTENT: &str = "no INTENT in the source: change it to IN or OUT";

/// What follows from neither INTENT nor body is INOUT: a procedure may do anything with an
/// argument.
fn take_intent(
    parameter: &mut Parameter,
    declared: &Declared,
    inferred: Option<Intent>,
    is_result: bool,
) {
    parameter.intent = match (declared.intent, inferred) {
        _ if is_result => Intent::Out,
        (Some(intent), _) | (None, Some(intent)) => intent,
        (None, None) if declared.by_value => Intent::In,
        (None, None) => {
            parameter.notes.push(NO_INTENT.to_owned());
            Intent::InOut
        }
    };
}

impl Procedure {
    /// Whether an extent of 1 may stand for any: the last one of an array in fixed form.
    fn may_be_assumed(&self, parameter: &Parameter, number: usize) -> bool {
        self.is_fixed
            && number == parameter.declared.shape.len()
            && self.dummies.contains(&parameter.dummy)
    }
}

impl Routine {
    /// Everything about one argument. What cannot be decided leaves its default, which only the
    /// comment shows.
    pub(super) fn parameter(
        &mut self,
        module: &Module,
        procedure: &Procedure,
        dummy: &str,
        is_result: bool,
        directions: &Directions,
    ) -> Parameter {
        let nothing = Declared { line: procedure.line, ..Declared::default() };
        let declared = &called(procedure, dummy, procedure.declared.get(dummy).unwrap_or(&nothing));
        let mut parameter = Parameter {
            dummy: dummy.to_owned(),
            name: interface_name(dummy),
            intent: Intent::InOut,
            base: Base::Integer,
            kind: 4,
            extents: Vec::new(),
            length: None,
            callback: None,
            declared: declared.clone(),
            notes: Vec::new(),
        };
        if is_result && dummy == self.name {
            parameter.name = "result".to_owned();
        }
        if let Some(interface) = interface_of(module, procedure, dummy) {
            parameter.intent = Intent::In;
            parameter.callback = self.callback(dummy, interface);
            return parameter;
        }
        self.refuse_attributes(dummy, declared);
        self.take_type(procedure, &mut parameter, declared);
        // A number that a bind(C) procedure only reads cannot be called without VALUE.
        let is_c = procedure.binding.is_some() && declared.shape.is_empty();
        let inferred = directions.get(procedure, dummy).filter(|_| !is_c);
        take_intent(&mut parameter, declared, inferred, is_result);
        self.take_shape(procedure, &mut parameter, declared);
        if declared.optional {
            let note = "optional in Fortran; always passed here";
            parameter.notes.push(note.to_owned());
            self.notes.push(Problem::new(declared.line, format!("{}: {dummy}: {note}", self.name)));
        }
        parameter
    }

    /// Attributes that need the caller's descriptor, or the compiler's knowledge of an interface.
    fn refuse_attributes(&mut self, dummy: &str, declared: &Declared) {
        let refused = [
            (declared.allocatable, "is ALLOCATABLE: give it explicit or assumed shape"),
            (declared.pointer, "is a POINTER: give it explicit or assumed shape"),
            (
                declared.assumed_rank,
                "has assumed rank: an array of a routine has a fixed number of dimensions",
            ),
            (
                declared.external && declared.interface.is_none(),
                "is a procedure with undeclared arguments: add an interface block",
            ),
            (
                declared.interface.is_some(),
                "is a procedure with its interface in another file: pass that file with --uses",
            ),
        ];
        for (applies, why) in refused {
            if applies {
                self.problem(declared.line, format!("argument {dummy} {why}"));
            }
        }
    }

    /// The type and its kind; of CHARACTERs the length, too.
    fn take_type(&mut self, procedure: &Procedure, parameter: &mut Parameter, declared: &Declared) {
        let dummy = parameter.dummy.clone();
        let spec = declared.type_spec.clone().or_else(|| implicit(procedure, &dummy));
        if let (None, false, Some(unread)) =
            (&declared.type_spec, procedure.implicit.none, procedure.unread.first())
        {
            self.problem(
                procedure.line,
                format!("argument {dummy} may be declared in an INCLUDE file; {unread}"),
            );
        }
        let Some(spec) = spec.filter(|_| !declared.external) else {
            if !declared.external {
                self.problem(declared.line, format!("argument {dummy} is not declared"));
            }
            return;
        };
        parameter.base = spec.base.clone();
        match &spec.kind {
            Ok(kind) => parameter.kind = *kind,
            Err(words) => {
                let uses = "pass the file of the module that defines it with --uses";
                let advice = procedure.unread.first().map_or(uses, String::as_str);
                self.problem(
                    declared.line,
                    format!("argument {dummy}: unknown kind `{words}`; {advice}"),
                );
                return;
            }
        }
        self.check_type(parameter, declared);
        if spec.base == Base::Character {
            self.take_length(procedure, parameter, declared, &spec.length);
        }
    }

    /// Whether the interface language has the type.
    fn check_type(&mut self, parameter: &Parameter, declared: &Declared) {
        let dummy = &parameter.dummy;
        if parameter.base == Base::Derived("*".to_owned()) {
            self.problem(
                declared.line,
                format!("argument {dummy} has no fixed type: each argument of a routine needs one"),
            );
        } else if let Base::Derived(name) = &parameter.base {
            self.problem(
                declared.line,
                format!("argument {dummy} has the derived type {name}: pass its components"),
            );
        } else if type_word(&parameter.base, parameter.kind).is_none() {
            self.problem(
                declared.line,
                format!(
                    "argument {dummy} has kind {}, which the interface language does not have",
                    parameter.kind
                ),
            );
        }
    }

    /// How long a CHARACTER is.
    fn take_length(
        &mut self,
        procedure: &Procedure,
        parameter: &mut Parameter,
        declared: &Declared,
        length: &Length,
    ) {
        let dummy = &parameter.dummy;
        match length {
            Length::Assumed => parameter.length = None,
            Length::Is(length) => match self.resolved(procedure, length) {
                Ok(length) => parameter.length = Some(length),
                Err(name) => {
                    let reason = "which is neither an argument nor a constant";
                    let message = format!("argument {dummy}: its length names {name}, {reason}");
                    self.problem(declared.line, message);
                }
            },
            Length::Unknown => {
                let message = format!("argument {dummy}: its length cannot be determined");
                self.problem(declared.line, message);
            }
        }
    }

    /// The extents, and whether a text of that shape can be passed.
    fn take_shape(
        &mut self,
        procedure: &Procedure,
        parameter: &mut Parameter,
        declared: &Declared,
    ) {
        for (index, bound) in declared.shape.iter().enumerate() {
            // What has assumed rank was refused already.
            let extent = if declared.assumed_rank {
                None
            } else {
                self.extent(procedure, parameter, index + 1, bound)
            };
            parameter.extents.push(extent);
        }
        self.check_text(parameter, declared);
    }

    /// The extent of dimension `number`. One of assumed shape becomes an argument of the wrapper,
    /// behind all others.
    fn extent(
        &mut self,
        procedure: &Procedure,
        parameter: &Parameter,
        number: usize,
        bound: &Bound,
    ) -> Option<Expression> {
        let dummy = &parameter.dummy;
        let size = format!("argument {dummy}: the size of dimension {number}");
        let problem = match bound {
            Bound::Extent(Expression::Number(1)) if procedure.may_be_assumed(parameter, number) => {
                format!(
                    "{size} is 1, which stands for any size in FORTRAN 77; replace the `?` with it"
                )
            }
            Bound::Extent(expression) => match self.resolved(procedure, expression) {
                Ok(extent) => return Some(extent),
                Err(name) => {
                    let unread = procedure.unread.first();
                    let unread = unread.map_or_else(String::new, |unread| format!("; {unread}"));
                    let reason = "which is neither an argument that callers pass nor a constant";
                    format!("{size} names {name}, {reason}{unread}")
                }
            },
            Bound::AssumedShape if self.module.is_some() && self.result.is_none() => {
                if let Some(same) = self.same_size(procedure, dummy, number) {
                    return Some(same);
                }
                let name = self.unused(procedure, &format!("{dummy}_{number}"));
                let meaning = format!("size of dimension {number} of {}", parameter.name);
                self.extents.push((name.clone(), meaning));
                return Some(Expression::Name(name));
            }
            Bound::AssumedShape => {
                let fix = format!("put {} into one", self.name);
                format!("argument {dummy} has assumed shape outside a module: {fix}")
            }
            Bound::AssumedSize => {
                format!("{size} is not declared (`*`); replace the `?` with it")
            }
            Bound::Unknown => format!("{size} cannot be determined; replace the `?` with it"),
        };
        self.problem(parameter.declared.line, problem);
        None
    }

    /// The size of an earlier array that the body walks along together with this one.
    fn same_size(&self, procedure: &Procedure, dummy: &str, number: usize) -> Option<Expression> {
        let walked = &procedure.body.walked;
        let indices = walked
            .iter()
            .filter(|(_, array, dimension)| array == dummy && *dimension + 1 == number)
            .map(|(index, ..)| index);
        indices.flat_map(|index| walked.iter().filter(move |(other, ..)| other == index)).find_map(
            |(_, array, dimension)| {
                let earlier = self.parameters.iter().find(|one| one.dummy == *array)?;
                let is_assumed = earlier.declared.shape.get(*dimension)? == &Bound::AssumedShape;
                earlier.extents.get(*dimension)?.clone().filter(|_| is_assumed)
            },
        )
    }

    /// CHARACTERs whose length or number of elements nobody could pass.
    fn check_text(&mut self, parameter: &Parameter, declared: &Declared) {
        if parameter.base != Base::Character {
            return;
        }
        let dummy = &parameter.dummy;
        let is_array = !parameter.extents.is_empty();
        let advice = if is_array && self.module.is_some() {
            "is an array of CHARACTERs: pass it as one text, or as integers"
        } else if parameter.length.is_none() && is_array {
            "is an array of CHARACTERs without a fixed length: declare one, such as \
             character(len=80)"
        } else if parameter.length.is_none() && parameter.intent != Intent::In {
            "is written to and has no fixed length: declare one, such as character(len=80)"
        } else {
            return;
        };
        self.problem(declared.line, format!("argument {dummy} {advice}"));
    }

    /// A name for an extent that nothing else has.
    fn unused(&self, procedure: &Procedure, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while procedure.dummies.contains(&name)
            || procedure.result.as_ref() == Some(&name)
            || self.extents.iter().any(|(one, _)| *one == name)
        {
            name.push('_');
        }
        name
    }

    /// An expression in terms of parameters and numbers.
    fn resolved(
        &self,
        procedure: &Procedure,
        expression: &Expression,
    ) -> Result<Expression, String> {
        expression.resolved(&|one| match one {
            Expression::Name(name) => {
                if procedure.dummies.contains(name) {
                    return is_size(procedure, name)
                        .then(|| Expression::Name(interface_name(name)));
                }
                procedure.constants.get(name).copied().map(Expression::Number)
            }
            Expression::Size(array, dimension) => {
                let known = self.parameters.iter().find(|known| known.dummy == *array)?;
                match dimension {
                    Some(dimension) => known.extents.get(dimension - 1)?.clone(),
                    None => {
                        let mut extents = known.extents.iter().cloned();
                        let first = extents.next()??;
                        extents.try_fold(first, |product, one| {
                            Some(Expression::Binary('*', Box::new(product), Box::new(one?)))
                        })
                    }
                }
            }
            _ => None,
        })
    }
}
