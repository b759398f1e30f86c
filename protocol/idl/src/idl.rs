//! A compiled interface as IDL text that compiles to the same interface again.

use std::fmt::Write as _;

use crate::expression::Expression;
use crate::interface::{Domain, ElementType, Interface, Mode, Order, Parameter, Shape, StructType};
use crate::scope::Scope;
use crate::text::write_character;
use crate::words::{BOOL, FILE_POINTER, LOGICAL};

/// What stands before the `Calls` line, which would otherwise say something false of a Fortran
/// routine.
const STAND_IN: &str = "/* This line replaces the way in which the server calls the routine. */";

/// The interface as an IDL file of its own. How the server calls the routine is not known here: the
/// text calls a symbol of the routine's name with all parameters in order, and says so.
pub fn to_idl(interface: &Interface) -> String {
    let mut text = String::new();
    if !interface.module.is_empty() {
        let _ = writeln!(text, "Module {};\n", interface.module);
    }
    interface.structs.iter().for_each(|structure| write_struct(&mut text, structure));
    let (word, name) = match interface.method() {
        Some(method) => ("DefMethod", method),
        None => ("Define", interface.name.as_str()),
    };
    if interface.method().is_some() {
        let _ = writeln!(text, "DefClass {} {}{{", interface.class, class_doc(interface));
    }
    let _ = writeln!(text, "{word} {name}({})", parameter_list(interface.scope(), "\n    "));
    write_options(&mut text, interface);
    let names: Vec<&str> =
        interface.parameters.iter().filter(|p| !is_callback(p)).map(|p| p.name.as_str()).collect();
    let _ = writeln!(text, "{STAND_IN}\nCalls \"C\" {name}({});", names.join(", "));
    if interface.method().is_some() {
        text.push_str("}\n");
    }
    text
}

/// What is said of a class, and a blank, where something is.
fn class_doc(method: &Interface) -> String {
    if method.class_doc.is_empty() { String::new() } else { quoted(&method.class_doc) + " " }
}

fn is_callback(parameter: &Parameter) -> bool {
    matches!(parameter.shape, Shape::Callback { .. })
}

fn write_struct(text: &mut String, structure: &StructType) {
    let _ = writeln!(text, "Struct {} {{", structure.name);
    for field in &structure.fields {
        let count = if field.count == 1 { String::new() } else { format!("[{}]", field.count) };
        let _ = writeln!(text, "    {} {}{count};", field.element.name(), field.name);
    }
    text.push_str("};\n\n");
}

fn write_options(text: &mut String, interface: &Interface) {
    if !interface.doc.is_empty() {
        let _ = writeln!(text, "{}", quoted(&interface.doc));
    }
    if !interface.aliases.is_empty() {
        let aliases: Vec<_> = interface.aliases.iter().map(|alias| quoted(alias)).collect();
        let _ = writeln!(text, "Alias {}", aliases.join(", "));
    }
    if interface.idempotent {
        text.push_str("Idempotent\n");
    }
    for (word, expression) in
        [("Complexity", &interface.complexity), ("Processors", &interface.processors)]
    {
        if let Some(expression) = expression {
            let _ = writeln!(text, "{word} {}", interface.expression_text(expression));
        }
    }
    if !interface.resources.is_empty() {
        let _ = writeln!(text, "Resources \"{}\"", interface.resources);
    }
}

fn parameter_list(scope: Scope<'_>, separator: &str) -> String {
    let listed = scope.parameters.iter().filter(|parameter| parameter.is_passed());
    let parameters: Vec<_> =
        listed.map(|p| separator.to_owned() + &parameter_text(scope, p)).collect();
    parameters.join(",")
}

/// One parameter as the IDL declares it: `INOUT double A[lda:n][n] column`.
pub fn parameter_text(scope: Scope<'_>, parameter: &Parameter) -> String {
    let mut text = declarator(scope, parameter);
    if let Some(default) = &parameter.default {
        let _ = write!(text, " = {}", default_text(scope, parameter, default));
    }
    match &parameter.domain {
        Some(Domain::Characters(characters)) => {
            let _ = write!(text, " among {}", quoted(characters));
        }
        Some(Domain::Condition(condition)) => {
            let _ = write!(text, " where {}", scope.expression_text(condition));
        }
        None => {}
    }
    if let Some(when) = &parameter.when {
        let _ = write!(text, " when {}", scope.expression_text(when));
    }
    if let Some(given) = &parameter.given {
        let _ = write!(text, " given when {}", scope.expression_text(given));
    }
    if !parameter.unit.is_empty() {
        let _ = write!(text, " unit {}", quoted(&parameter.unit));
    }
    if !parameter.doc.is_empty() {
        let _ = write!(text, " {}", quoted(&parameter.doc));
    }
    text
}

/// Mode, type, name and shape, without the clauses that people read.
fn declarator(scope: Scope<'_>, parameter: &Parameter) -> String {
    let Parameter { name, .. } = parameter;
    let constant = if parameter.constant { "const " } else { "" };
    let element = type_text(scope, parameter);
    let head = format!("{} {constant}{element}", parameter.mode.word());
    match &parameter.shape {
        Shape::Scalar => format!("{head} {name}"),
        Shape::Array { order, .. } => {
            let column = if *order == Order::Column { " column" } else { "" };
            format!("{head} {name}{}{column}", scope.dimensions_text(parameter))
        }
        Shape::Callback { parameters } => {
            let inner = Scope { parameters, structs: scope.structs };
            let list = parameter_list(inner, " ");
            let value = parameter.function_value();
            let value = value.map_or_else(String::new, |one| type_text(inner, one) + " ");
            format!("{value}{name}({})", list.trim_start())
        }
    }
}

/// The type as the IDL writes it.
pub(crate) fn type_text(scope: Scope<'_>, parameter: &Parameter) -> String {
    if parameter.stream {
        FILE_POINTER.to_owned()
    } else if parameter.logical {
        if parameter.element == ElementType::UInt8 { BOOL } else { LOGICAL }.to_owned()
    } else {
        scope.element_text(parameter.element)
    }
}

/// A default as the IDL writes it; the code of a `char` as a character.
pub(crate) fn default_text(
    scope: Scope<'_>,
    parameter: &Parameter,
    default: &Expression,
) -> String {
    match default {
        Expression::Integer(code) if parameter.element == ElementType::Char => {
            let mut text = String::new();
            write_character(&mut text, *code);
            text
        }
        _ => scope.expression_text(default),
    }
}

impl Mode {
    /// The word in the IDL.
    pub fn word(self) -> &'static str {
        match self {
            Mode::In => "IN",
            Mode::Out => "OUT",
            Mode::InOut => "INOUT",
            Mode::Work => "WORK",
        }
    }
}

/// A string constant.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
