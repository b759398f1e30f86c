//! A compiled interface as a page that a person reads.

use std::fmt::Write as _;

use farcall_base::printable_line;

use crate::domain::listed;
use crate::expression::{BinaryOperator, Expression};
use crate::idl::{default_text, type_text};
use crate::interface::{Domain, ElementType, INITIALIZE, Interface, Mode, Order, Parameter, Shape};
use crate::published::said_beside;
use crate::scope::Scope;
use crate::signature::{by_name, needed, results, signature};

/// The help page: signature, description, a table of the arguments, cost, and an example call in
/// Python.
pub fn help_page(interface: &Interface) -> String {
    let mut page = String::new();
    let _ = writeln!(page, "{}\n\n    {}\n", interface.full_name(), signature(interface));
    if !interface.doc.is_empty() {
        let _ = writeln!(page, "{}\n", interface.doc.trim_end());
    }
    write_table(&mut page, interface);
    write_notes(&mut page, interface);
    let _ = writeln!(page, "\nExample\n    {}", example(interface));
    page
}

pub(crate) fn write_table(page: &mut String, interface: &Interface) {
    let rows: Vec<[String; 4]> =
        interface.caller_parameters().map(|(index, p)| row(interface, index, p)).collect();
    if rows.is_empty() {
        return;
    }
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    page.push_str("Arguments\n");
    for [name, mode, kind, about] in &rows {
        let [first, second, third] = widths;
        let line = format!("    {name:first$}  {mode:second$}  {kind:third$}  {about}");
        let _ = writeln!(page, "{}", line.trim_end());
    }
}

fn row(interface: &Interface, index: usize, parameter: &Parameter) -> [String; 4] {
    let scope = interface.scope();
    let (mode, kind) = match &parameter.shape {
        Shape::Callback { parameters } => {
            let inner = Scope { parameters, structs: scope.structs };
            let listed = inner.parameters.iter().filter(|p| p.is_passed());
            let names: Vec<&str> = listed.map(|p| p.name.as_str()).collect();
            let value = parameter.function_value();
            let value = value.map_or_else(String::new, |p| format!(" -> {}", type_text(inner, p)));
            (String::new(), format!("function({}){value}", names.join(", ")))
        }
        shape => {
            let order = match shape {
                Shape::Array { order: Order::Column, dimensions } if dimensions.len() > 1 => {
                    ", by columns"
                }
                _ => "",
            };
            let kind =
                scope.element_text(parameter.element) + &scope.dimensions_text(parameter) + order;
            (parameter.mode.word().to_ascii_lowercase(), kind)
        }
    };
    [parameter.name.clone(), mode, kind, about(interface, index, parameter)]
}

/// "order of A [K] (inferred; only when jobz != 'N')".
fn about(interface: &Interface, index: usize, parameter: &Parameter) -> String {
    let scope = interface.scope();
    let mut text = match said_beside(interface, index) {
        Some(said) if parameter.doc.is_empty() => said,
        _ => parameter.doc.clone(),
    };
    if !parameter.unit.is_empty() {
        let _ = write!(text, " [{}]", parameter.unit);
    }
    let mut notes = Vec::new();
    match &parameter.default {
        Some(default) => notes.push(format!("default {}", default_text(scope, parameter, default))),
        None if by_name(interface.scope()).contains(&index) => notes.push("inferred".to_owned()),
        None => {}
    }
    match &parameter.domain {
        Some(Domain::Characters(characters)) => {
            notes.push(format!("one of {}", listed(characters)))
        }
        Some(Domain::Condition(condition)) => notes.push(scope.expression_text(condition)),
        None => {}
    }
    if let Some(when) = &parameter.when {
        notes.push(format!("only when {}", scope.expression_text(when)));
    }
    if let Some(given) = &parameter.given {
        notes.push(format!("read only when {}", scope.expression_text(given)));
    }
    if !notes.is_empty() {
        let _ = write!(text, " ({})", notes.join("; "));
    }
    text.trim_start().to_owned()
}

/// Variants multiply by what is 1 for some of them; people need not read that.
fn without_ones(expression: &Expression) -> Expression {
    let Expression::Binary(operator, left, right) = expression else { return expression.clone() };
    match (operator, &**left) {
        (BinaryOperator::Multiply, Expression::Integer(1)) => without_ones(right),
        _ => Expression::Binary(
            *operator,
            Box::new(without_ones(left)),
            Box::new(without_ones(right)),
        ),
    }
}

fn write_notes(page: &mut String, interface: &Interface) {
    let mut notes = Vec::new();
    if !interface.aliases.is_empty() {
        notes.push(format!("Also called {}.", interface.aliases.join(", ")));
    }
    if let Some(complexity) = &interface.complexity {
        notes.push(format!(
            "A call takes about {} floating-point operations.",
            interface.expression_text(&without_ones(complexity))
        ));
    }
    if let Some(processors) = &interface.processors {
        notes.push(format!("A call uses {} processors.", interface.expression_text(processors)));
    }
    if !interface.resources.is_empty() {
        notes.push(format!(
            "A call is given {}, unless its caller asks for more or less.",
            interface.resources
        ));
    }
    if interface.idempotent {
        notes.push(
            "May be repeated after a failure: running it twice has the same effect as once."
                .to_owned(),
        );
    }
    if !notes.is_empty() {
        let _ = writeln!(page, "\nNotes\n    {}", notes.join("\n    "));
    }
}

/// `r = server.dgesv(A, B)    # r.A, r.ipiv, r.B, r.info`; of a method `r = heat.get(n)    # r.t`.
pub(crate) fn example(interface: &Interface) -> String {
    let arguments: Vec<String> = needed(interface)
        .iter()
        .map(|index| example_argument(&interface.parameters[*index]))
        .collect();
    let name = &interface.name;
    let identifier = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.chars().next().is_none_or(|c| c.is_ascii_digit());
    let object = interface.class.to_lowercase();
    let routine = match interface.method() {
        Some(INITIALIZE) => {
            return format!("{object} = server.{}({})", interface.class, arguments.join(", "));
        }
        Some(method) => format!("{object}.{method}"),
        None if identifier => format!("server.{name}"),
        None => format!("server[{name:?}]"),
    };
    let results: Vec<String> = results(interface).map(|(_, p)| format!("r.{}", p.name)).collect();
    let comment =
        if results.is_empty() { String::new() } else { format!("    # {}", results.join(", ")) };
    format!("r = {routine}({}){comment}", arguments.join(", "))
}

/// A character that is allowed where one is wanted; else the parameter's name stands for the
/// caller's variable.
fn example_argument(parameter: &Parameter) -> String {
    if let Some(Domain::Characters(characters)) = &parameter.domain {
        let first: String = characters.chars().take(1).collect();
        return format!("'{}'", printable_line(&first));
    }
    match (&parameter.shape, parameter.element, parameter.mode) {
        (Shape::Scalar, ElementType::Char, Mode::In | Mode::InOut) => "'N'".to_owned(),
        (Shape::Scalar, ElementType::String | ElementType::Filename, _) => {
            format!("\"{}\"", parameter.name)
        }
        _ => parameter.name.clone(),
    }
}
