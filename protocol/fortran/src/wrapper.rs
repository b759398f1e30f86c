//! Wrappers of module procedures: a name that every compiler makes alike, and explicit shapes.

use crate::callback;
use crate::draft::{Parameter, Routine, Style};
use crate::expression::Language;
use crate::unit::{Base, Intent};

/// Lines of a wrapper are broken so that they have at most this many characters; the language
/// allows 132.
const WIDTH: usize = 110;

/// The wrapper of a routine whose every extent is known.
pub fn write(routine: &Routine) -> String {
    let module = routine.module.as_deref().unwrap_or("");
    let name = routine.wrapper_name();
    let mut dummies: Vec<&str> = routine.parameters.iter().map(|one| one.name.as_str()).collect();
    dummies.extend(routine.extents.iter().map(|(name, _)| name.as_str()));
    let bind = if routine.style == Style::C {
        format!(" bind(C, name=\"{name}\")")
    } else {
        String::new()
    };
    let mut lines = vec![
        format!("subroutine {name}({}){bind}", dummies.join(", ")),
        format!("  use {module}, only: farcall_wrapped => {}", routine.entry),
    ];
    let exchange = callback::exchange(routine);
    lines.extend(exchange.uses);
    lines.extend(["  use, intrinsic :: iso_c_binding".to_owned(), "  implicit none".to_owned()]);
    // What extents name is declared before them.
    let by_value = if routine.style == Style::C { "value" } else { "intent(in)" };
    lines.extend(
        routine
            .extents
            .iter()
            .map(|(name, _)| format!("  integer(c_int64_t), {by_value} :: {name}")),
    );
    let (scalars, arrays): (Vec<_>, Vec<_>) =
        routine.parameters.iter().partition(|one| !one.is_array() && one.base != Base::Character);
    lines.extend(scalars.into_iter().chain(arrays).map(|one| declaration(routine, one)));
    lines.extend(exchange.before);
    lines.push(call(routine));
    lines.extend(exchange.behind);
    lines.push(format!("end subroutine {name}\n"));
    let wrapper = lines.iter().map(|line| broken(line)).collect::<Vec<_>>().join("\n");
    callback::module(routine)
        .map_or_else(|| wrapper.clone(), |adapters| format!("{adapters}\n{wrapper}"))
}

/// A dummy argument with explicit shape; in C's style, numbers that are only read come by value.
pub fn declaration(routine: &Routine, parameter: &Parameter) -> String {
    let name = parameter.name.as_str();
    match &parameter.callback {
        Some(passed) if callback::needs_adapter(passed) => {
            return format!(
                "  procedure(farcall_{name}) :: {name}\n  procedure(farcall_{name}), pointer :: \
                    farcall_before_{name}"
            );
        }
        Some(_) => return format!("  external :: {name}"),
        None => {}
    }
    let spec = type_text(parameter);
    let is_value =
        routine.style == Style::C && parameter.intent == Intent::In && !parameter.is_array();
    let attribute = match parameter.intent {
        Intent::In if is_value => "value",
        Intent::In => "intent(in)",
        Intent::Out => "intent(out)",
        Intent::InOut => "intent(inout)",
    };
    format!("  {spec}, {attribute} :: {name}{}", shape_text(parameter, |_| false))
}

/// The dimensions of an array, those that are assumed as colons.
pub fn shape_text(parameter: &Parameter, is_assumed: impl Fn(usize) -> bool) -> String {
    let extents = parameter.extents.iter().enumerate().map(|(index, one)| match one {
        Some(one) if !is_assumed(index) => one.write(Language::Fortran),
        _ => ":".to_owned(),
    });
    let extents: Vec<String> = extents.collect();
    if extents.is_empty() { String::new() } else { format!("({})", extents.join(", ")) }
}

/// The type and its kind, with a CHARACTER's length.
pub fn type_text(parameter: &Parameter) -> String {
    match (&parameter.base, parameter.kind) {
        (Base::Integer, kind) => format!("integer(c_int{}_t)", kind * 8),
        (Base::Real, 4) => "real(c_float)".to_owned(),
        (Base::Real, _) => "real(c_double)".to_owned(),
        (Base::Complex, 4) => "complex(c_float_complex)".to_owned(),
        (Base::Complex, _) => "complex(c_double_complex)".to_owned(),
        (Base::Logical, kind) => format!("logical({kind})"),
        (Base::Character, _) => {
            let length = parameter.length.as_ref().map(|length| length.write(Language::Fortran));
            // What is only read comes in its own length.
            let any = parameter.intent == Intent::In && length.as_deref() != Some("1");
            format!(
                "character(len={})",
                if any { "*".to_owned() } else { length.unwrap_or_else(|| "*".to_owned()) }
            )
        }
        (Base::Derived(name), _) => format!("type({name})"),
    }
}

/// The call of the procedure itself, under another name: the wrapper's arguments may have its.
fn call(routine: &Routine) -> String {
    let passed = |parameter: &Parameter| {
        let name = parameter.name.as_str();
        if let Some(adapter) = callback::adapter_name(parameter) {
            return adapter;
        }
        // A CHARACTER of a length of its own takes one that is long enough: as an assignment,
        // blanks fill it up.
        match (
            &parameter.length,
            parameter.base == Base::Character && parameter.intent == Intent::In,
        ) {
            (Some(length), true) if length.write(Language::Fortran) != "1" => {
                let length = length.write(Language::Fortran);
                format!("{name}//repeat(' ', max(0, {length} - len({name})))")
            }
            _ => name.to_owned(),
        }
    };
    let arguments: Vec<String> = routine
        .parameters
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != routine.result)
        .map(|(_, one)| passed(one))
        .collect();
    match routine.result.map(|index| routine.parameters[index].name.as_str()) {
        Some(result) => format!("  {result} = farcall_wrapped({})", arguments.join(", ")),
        None => format!("  call farcall_wrapped({})", arguments.join(", ")),
    }
}

/// Breaks a line at commas.
pub fn broken(line: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for part in line.split_inclusive(", ") {
        if width + part.len() > WIDTH && width > 0 {
            text.truncate(text.trim_end().len());
            text.push_str(" &\n    ");
            width = 4;
        }
        text.push_str(part);
        width += part.len();
    }
    text
}
