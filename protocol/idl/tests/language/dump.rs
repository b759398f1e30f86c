//! A compiled module as text that shows everything: expressions as trees, so that precedence cannot
//! hide.

use std::fmt::Write as _;

use farcall_idl::expression::Expression;
use farcall_idl::interface::{
    Code, Dimension, Domain, Interface, Module, Order, Parameter, Routine, Shape,
};

/// The whole module.
pub fn module(module: &Module) -> String {
    let mut text = format!("module {}\n", module.name);
    let mut list = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            let _ = writeln!(text, "{what} {}", items.join(" | "));
        }
    };
    list("libraries", module.libraries.clone());
    list("compile options", module.compile_options.clone());
    list("compiler", module.compiler.iter().cloned().collect());
    list("linker", module.linker.iter().cloned().collect());
    list(
        "globals",
        module.globals.iter().map(|(text, file, line)| format!("{file}:{line} {text:?}")).collect(),
    );
    for routine in &module.routines {
        write_routine(&mut text, routine);
    }
    for class in &module.classes {
        let _ = writeln!(
            text,
            "class {} {:?} {:?} {}",
            class.name, class.doc, class.language, class.backend
        );
        let _ = writeln!(text, "  required {:?} state {:?}", class.required, class.state);
        class.methods.iter().for_each(|method| write_routine(&mut text, method));
    }
    text
}

fn write_routine(text: &mut String, routine: &Routine) {
    let interface = &routine.interface;
    let implementation = &routine.implementation;
    let _ = writeln!(text, "routine {} {:?}", interface.full_name(), interface.doc);
    for structure in &interface.structs {
        let fields = structure
            .fields
            .iter()
            .map(|f| format!("{} {:?}*{}@{}", f.name, f.element, f.count, f.offset));
        let _ = writeln!(
            text,
            "  struct {}: {}",
            structure.name,
            fields.collect::<Vec<_>>().join(", ")
        );
    }
    for parameter in &interface.parameters {
        let _ = writeln!(text, "  {}", parameter_line(parameter, &interface.parameters));
    }
    let tree = |expression: &Expression| expression_tree(expression, &interface.parameters);
    if !interface.aliases.is_empty() {
        let _ = writeln!(text, "  aliases {}", interface.aliases.join(", "));
    }
    for (what, cost) in
        [("complexity", &interface.complexity), ("processors", &interface.processors)]
    {
        text.extend(cost.iter().map(|cost| format!("  {what} {}\n", tree(cost))));
    }
    if !interface.resources.is_empty() {
        let _ = writeln!(text, "  resources {}", interface.resources);
    }
    if interface.idempotent {
        text.push_str("  idempotent\n");
    }
    let _ = write!(
        text,
        "  {:?} {:?} {}",
        implementation.language, implementation.strings, implementation.backend
    );
    let _ = writeln!(text, " required {:?}", implementation.required);
    if !implementation.distribution.is_empty() {
        let _ = writeln!(text, "  distribution {:?}", implementation.distribution);
    }
    let _ = writeln!(text, "  {}", code(&implementation.code, interface));
}

fn code(code: &Code, interface: &Interface) -> String {
    match code {
        Code::Body { text, file, line } => format!("body {file}:{line} {text:?}"),
        Code::Symbol { symbol, arguments, result } => {
            let name = |index: &usize| interface.parameters[*index].name.clone();
            let result =
                result.as_ref().map(|index| format!("{} = ", name(index))).unwrap_or_default();
            let arguments: Vec<String> = arguments.iter().map(name).collect();
            format!("calls {result}{symbol}({})", arguments.join(", "))
        }
    }
}

fn parameter_line(parameter: &Parameter, all: &[Parameter]) -> String {
    let mut line = format!("{:?} {:?} {}", parameter.mode, parameter.element, parameter.name);
    match &parameter.shape {
        Shape::Scalar => {}
        Shape::Array { dimensions, order } => {
            dimensions.iter().for_each(|dimension| line.push_str(&dimension_tree(dimension, all)));
            line.push_str(if *order == Order::Column { " column" } else { "" });
        }
        Shape::Callback { parameters } => {
            let lines: Vec<String> =
                parameters.iter().map(|inner| parameter_line(inner, parameters)).collect();
            let _ = write!(line, " callback ({})", lines.join("; "));
        }
    }
    if parameter.returned {
        line.push_str(" returned");
    }
    if parameter.stream {
        line.push_str(" open");
    }
    if parameter.constant {
        line.push_str(" const");
    }
    for (what, expression) in
        [("when", &parameter.when), ("given", &parameter.given), ("=", &parameter.default)]
    {
        line.extend(expression.iter().map(|e| format!(" {what} {}", expression_tree(e, all))));
    }
    match &parameter.domain {
        Some(Domain::Characters(characters)) => line.push_str(&format!(" among {characters:?}")),
        Some(Domain::Condition(condition)) => {
            line.push_str(&format!(" where {}", expression_tree(condition, all)))
        }
        None => {}
    }
    if !parameter.doc.is_empty() || !parameter.unit.is_empty() {
        let _ = write!(line, " {:?} [{}]", parameter.doc, parameter.unit);
    }
    line
}

fn dimension_tree(dimension: &Dimension, all: &[Parameter]) -> String {
    let mut text = format!("[{}", expression_tree(&dimension.size, all));
    for (what, part) in
        [("start", &dimension.start), ("end", &dimension.end), ("stride", &dimension.stride)]
    {
        text.extend(part.iter().map(|part| format!(" {what} {}", expression_tree(part, all))));
    }
    text + "]"
}

/// `(+ a (* 2 b))`.
fn expression_tree(expression: &Expression, all: &[Parameter]) -> String {
    let tree = |expression: &Expression| expression_tree(expression, all);
    match expression {
        Expression::Integer(value) => value.to_string(),
        Expression::Real(value) => format!("{value:?}"),
        Expression::Parameter(index) => all[usize::from(*index)].name.clone(),
        Expression::Element(index, element) => {
            format!("{}[{}]", all[usize::from(*index)].name, tree(element))
        }
        Expression::Unary(operator, operand) => format!("({operator:?} {})", tree(operand)),
        Expression::Binary(operator, left, right) => {
            format!("({operator:?} {} {})", tree(left), tree(right))
        }
        Expression::Select(condition, then, otherwise) => {
            format!("(Select {} {} {})", tree(condition), tree(then), tree(otherwise))
        }
        Expression::Call(function, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(tree).collect();
            format!("({function:?} {})", arguments.join(" "))
        }
    }
}
