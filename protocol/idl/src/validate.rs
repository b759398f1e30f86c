//! What every interface must fulfil, wherever it came from: after this, no index in it can make
//! later code fail.

use farcall_base::{Error, ErrorKind, Result};

use crate::canonical::{DIMENSIONS_MAX, PARAMETERS_MAX, STRUCTS_MAX};
use crate::domain;
use crate::expression::{Expression, Function};
use crate::given::{self, compares_complex_alone};
use crate::interface::{Domain, ElementType, Interface, Mode, Parameter, Shape};
use crate::scope::Scope;
use crate::values::DEFAULT_CHAIN_MAX;

impl Interface {
    /// Checks every number that refers to a parameter or struct, the limits, and that defaults are
    /// not circular.
    ///
    /// # Errors
    /// `InvalidArgument` that names the parameter.
    pub fn validate(&self) -> Result<()> {
        if self.structs.len() > STRUCTS_MAX {
            return Err(wrong(&self.name, format!("has more than {STRUCTS_MAX} structs")));
        }
        validate_scope(self.scope(), &self.name)?;
        if let Some(one) = self.parameters.iter().find(|parameter| parameter.returned) {
            return Err(wrong(&one.name, "is what a function returns, outside a callback".into()));
        }
        if let Some(one) = self.parameters.iter().find(|parameter| parameter.captured.is_some()) {
            return Err(wrong(&one.name, "is a routine's parameter, outside a callback".into()));
        }
        let mut read = self.parameters.iter().zip(self.referred());
        if let Some((one, _)) = read.find(|(one, is_read)| one.given.is_some() && *is_read) {
            let what = "is given under a condition, and sizes refer to its elements";
            return Err(wrong(&one.name, what.into()));
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            if let Some(scope) = self.callback_scope(index) {
                validate_callback(scope, &parameter.name)?;
                validate_captured(&self.parameters, scope.parameters)?;
            }
        }
        for expression in self.complexity.iter().chain(&self.processors) {
            validate_expression(self.scope(), expression)
                .map_err(|what| wrong(&self.name, what))?;
        }
        Ok(())
    }
}

fn wrong(name: &str, what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, "check an interface", format!("{name} {what}"))
}

fn validate_callback(scope: Scope<'_>, name: &str) -> Result<()> {
    validate_scope(scope, name)?;
    validate_value(scope.parameters).map_err(|what| wrong(name, what.to_owned()))?;
    let odd = |p: &&Parameter| {
        let is_conditional = p.domain.is_some() || p.given.is_some();
        p.mode == Mode::Work || is_conditional || matches!(p.shape, Shape::Callback { .. })
    };
    match scope.parameters.iter().find(odd) {
        Some(parameter) => Err(wrong(
            name,
            format!("cannot have {}: WORK, given, domain or callback", parameter.name),
        )),
        None => Ok(()),
    }
}

/// Sizes of a callback name single integers that the routine has when it is called.
fn validate_captured(routines: &[Parameter], callbacks: &[Parameter]) -> Result<()> {
    for one in callbacks {
        let Some(index) = one.captured else { continue };
        let fits = |of: &&Parameter| {
            let is_single = match &of.shape {
                Shape::Scalar => true,
                Shape::Array { dimensions, .. } => {
                    dimensions.iter().all(|one| one.size == Expression::Integer(1))
                }
                Shape::Callback { .. } => false,
            };
            let is_integer = of.element == one.element && of.element.is_integer();
            is_single && is_integer && of.mode.is_input() && of.given.is_none()
        };
        let is_plain = one.shape == Shape::Scalar && one.mode == Mode::In && !one.returned;
        if !is_plain || routines.get(usize::from(index)).filter(fits).is_none() {
            return Err(wrong(&one.name, "is no integer of the routine".into()));
        }
    }
    Ok(())
}

/// A function returns one number at most, which is OUT, as functions of C and Fortran give it.
fn validate_value(parameters: &[Parameter]) -> std::result::Result<(), &'static str> {
    let mut returned = parameters.iter().filter(|parameter| parameter.returned);
    let Some(value) = returned.next() else { return Ok(()) };
    let is_one = matches!(&value.shape, Shape::Array { dimensions, .. }
        if dimensions.iter().all(|one| one.size == Expression::Integer(1)));
    let is_text = matches!(value.element, ElementType::String | ElementType::Filename);
    if value.mode != Mode::Out || !is_one || is_text || value.when.is_some() {
        return Err("returns what is not one OUT number");
    }
    returned.next().map_or(Ok(()), |_| Err("returns more than one value"))
}

fn validate_scope(scope: Scope<'_>, name: &str) -> Result<()> {
    if scope.parameters.len() > PARAMETERS_MAX {
        return Err(wrong(name, format!("has more than {PARAMETERS_MAX} parameters")));
    }
    for parameter in scope.parameters {
        validate_parameter(scope, parameter).map_err(|what| wrong(&parameter.name, what))?;
    }
    match too_long_chain(scope) {
        Some(parameter) => {
            let what = format!(
                "has a default that is circular or depends on more than {DEFAULT_CHAIN_MAX} others"
            );
            Err(wrong(&parameter.name, what))
        }
        None => Ok(()),
    }
}

fn validate_parameter(scope: Scope<'_>, parameter: &Parameter) -> std::result::Result<(), String> {
    if let ElementType::Struct(index) = parameter.element
        && usize::from(index) >= scope.structs.len()
    {
        return Err(format!("has struct number {index}, which does not exist"));
    }
    if parameter.stream
        && (parameter.element != ElementType::Filename || parameter.shape != Shape::Scalar)
    {
        return Err("is an open file and something else".into());
    }
    match &parameter.shape {
        Shape::Array { dimensions, .. } if dimensions.is_empty() => {
            return Err("is an array without dimensions".into());
        }
        Shape::Array { dimensions, .. } if dimensions.len() > DIMENSIONS_MAX => {
            return Err(format!("has more than {DIMENSIONS_MAX} dimensions"));
        }
        Shape::Scalar if parameter.mode == Mode::Work && parameter.default.is_none() => {
            return Err("is a WORK scalar without a value".into());
        }
        Shape::Scalar | Shape::Array { .. } | Shape::Callback { .. } => {}
    }
    parameter.domain.as_ref().map_or(Ok(()), |domain| validate_domain(scope, parameter, domain))?;
    parameter.expressions().try_for_each(|expression| validate_expression(scope, expression))?;
    parameter.given.as_ref().map_or(Ok(()), |given| validate_given(scope, parameter, given))
}

/// Whether an array is given follows from scalars alone, so that nothing that sizes need is missing.
fn validate_given(
    scope: Scope<'_>,
    parameter: &Parameter,
    given: &Expression,
) -> std::result::Result<(), String> {
    let is_array = matches!(parameter.shape, Shape::Array { .. });
    if parameter.mode != Mode::InOut || !is_array || !given::is_memory(parameter.element) {
        return Err("is given under a condition; only INOUT arrays can be".into());
    }
    let is_known = |index| {
        scope.parameter(index).is_some_and(|one| {
            one.shape == Shape::Scalar && one.mode != Mode::Out && given::is_number(one.element)
        })
    };
    let is_complex =
        |index| scope.parameter(index).is_some_and(|one| given::is_complex(one.element));
    if given.refers_to(&mut |index| !is_known(index)) || !compares_complex_alone(given, &is_complex)
    {
        return Err("is given under a condition on something other than IN or WORK numbers".into());
    }
    Ok(())
}

/// A domain belongs to an IN scalar, and its condition to scalars alone: so what travels never
/// depends on it, and a program that knows no domains marshals as one that does.
fn validate_domain(
    scope: Scope<'_>,
    parameter: &Parameter,
    domain: &Domain,
) -> std::result::Result<(), String> {
    if parameter.mode != Mode::In || !has_value(parameter) {
        return Err("has a domain; only IN numbers and characters can have one".into());
    }
    match domain {
        Domain::Characters(_) if parameter.element != ElementType::Char => {
            Err("is not a character and has a set of characters as its domain".into())
        }
        Domain::Characters(characters) => domain::wrong_set(characters)
            .map_or(Ok(()), |what| Err(format!("has a domain that {what}"))),
        Domain::Condition(condition) => {
            validate_expression(scope, condition)?;
            let known =
                |index| scope.parameter(index).is_some_and(|p| p.mode != Mode::Out && has_value(p));
            match condition.refers_to(&mut |index| !known(index)) {
                true => {
                    Err("has a domain that refers to something other than an IN or WORK number"
                        .into())
                }
                false => Ok(()),
            }
        }
    }
}

/// Whether a parameter is a single number or character that expressions can use.
fn has_value(parameter: &Parameter) -> bool {
    let number = parameter.element.is_integer() || parameter.element == ElementType::Char;
    parameter.shape == Shape::Scalar && (number || domain::is_real(parameter.element))
}

fn validate_expression(
    scope: Scope<'_>,
    expression: &Expression,
) -> std::result::Result<(), String> {
    let mut problem = None;
    expression.visit(&mut |one| {
        let found = match one {
            Expression::Parameter(index) => check_reference(scope, *index, false),
            Expression::Element(index, _) => check_reference(scope, *index, true),
            Expression::Call(function, arguments) => check_arguments(scope, *function, arguments),
            _ => None,
        };
        if problem.is_none() {
            problem = found;
        }
    });
    problem.map_or(Ok(()), Err)
}

fn check_reference(scope: Scope<'_>, index: u16, element: bool) -> Option<String> {
    match scope.parameter(index) {
        None => Some(format!("refers to parameter number {index}, which does not exist")),
        Some(Parameter { shape: Shape::Callback { .. }, name, .. }) => {
            Some(format!("refers to the callback {name}"))
        }
        Some(Parameter { shape: Shape::Scalar, name, .. }) if element => {
            Some(format!("refers to an element of {name}, which is not an array"))
        }
        Some(_) => None,
    }
}

fn check_arguments(
    scope: Scope<'_>,
    function: Function,
    arguments: &[Expression],
) -> Option<String> {
    let fits = match function {
        Function::Min | Function::Max => !arguments.is_empty(),
        Function::Abs | Function::Log | Function::Log2 | Function::Sqrt => arguments.len() == 1,
        Function::Length => match arguments {
            [Expression::Parameter(index)] => {
                scope.parameter(*index).is_some_and(|p| p.element == ElementType::String)
            }
            _ => false,
        },
    };
    (!fits).then(|| format!("calls {} with arguments that it does not accept", function.name()))
}

/// The first parameter whose default stands at the start of too long a chain, or in a circle.
///
/// Counts in rounds over all defaults instead of following them, so that layers of defaults that
/// each refer to all of the next layer cost no more than their text.
fn too_long_chain(scope: Scope<'_>) -> Option<&Parameter> {
    let mut lengths = vec![0_usize; scope.parameters.len()];
    for _ in 0..=DEFAULT_CHAIN_MAX {
        for (index, parameter) in scope.parameters.iter().enumerate() {
            let Some(default) = &parameter.default else { continue };
            let mut longest = 0;
            default.refers_to(&mut |next| {
                longest = longest.max(lengths.get(usize::from(next)).copied().unwrap_or(0));
                false
            });
            lengths[index] = (longest + 1).min(DEFAULT_CHAIN_MAX + 1);
        }
    }
    let at = lengths.iter().position(|length| *length > DEFAULT_CHAIN_MAX)?;
    scope.parameters.get(at)
}
