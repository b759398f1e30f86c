//! Procedures that are passed: their parameters, and what turns functions and arrays of assumed
//! shape into the plain subroutines that a server passes.

use crate::draft::{Parameter, Routine};
use crate::unit::{Bound, Intent, Module, Procedure};
use crate::wrapper::type_text;

/// The interface of a dummy: its own block, or one that `procedure(interface)` names.
pub fn interface_of<'a>(
    module: &'a Module,
    procedure: &'a Procedure,
    dummy: &str,
) -> Option<&'a Procedure> {
    let declared = procedure.declared.get(dummy);
    let wanted = declared.and_then(|one| one.interface.as_deref()).unwrap_or(dummy);
    let own = procedure.interfaces.iter().find(|one| one.name == wanted);
    // Only by `procedure(interface)`: another's interface may have a dummy's name.
    let named = || {
        let all = module.interfaces.iter().map(AsRef::as_ref).chain(&module.procedures);
        declared
            .filter(|one| one.interface.is_some())
            .and_then(|_| all.into_iter().find(|one| one.name == wanted))
    };
    own.map(AsRef::as_ref).or_else(named)
}

/// Whether what the routine wants is not what a server passes: a procedure with everything by
/// reference. A module's functions get adapters that call subroutines: compilers compare functions
/// more closely.
pub fn needs_adapter(passed: &Routine) -> bool {
    let by_value = passed.parameters.iter().any(|one| one.declared.by_value);
    (passed.result.is_some() && passed.module.is_some())
        || !passed.extents.is_empty()
        || by_value
        || passed.is_pure
        || passed.binding.is_some()
}

/// Parameters of the routine that get an adapter.
fn adapted(routine: &Routine) -> impl Iterator<Item = (&str, &Routine)> {
    let all = routine.parameters.iter();
    all.filter_map(|one| one.callback.as_deref().map(|passed| (one.name.as_str(), passed)))
        .filter(|(_, passed)| needs_adapter(passed))
}

/// The module of a routine's adapters.
pub fn module_name(routine: &Routine) -> String {
    format!("{}_passed", routine.wrapper_name())
}

/// How long the longest name in the wrapper is.
pub fn longest_name(routine: &Routine) -> usize {
    let adapters = adapted(routine)
        .map(|(name, _)| module_name(routine).len().max(format!("farcall_before_{name}").len()));
    adapters.chain([routine.wrapper_name().len()]).max().unwrap_or(0)
}

/// A module with a procedure of the wanted interface for each, which calls what the server has
/// passed. That is kept in a variable: an internal procedure would do without, but its address
/// needs a stack that code may be run from.
pub fn module(routine: &Routine) -> Option<String> {
    let all: Vec<_> = adapted(routine).collect();
    if all.is_empty() {
        return None;
    }
    let name = module_name(routine);
    let mut lines = vec![
        format!("module {name}"),
        "  use, intrinsic :: iso_c_binding".to_owned(),
        "  implicit none".to_owned(),
        "  abstract interface".to_owned(),
    ];
    all.iter().for_each(|(name, passed)| lines.extend(interface(name, passed)));
    lines.push("  end interface".to_owned());
    lines.extend(
        all.iter().map(|(name, _)| {
            format!("  procedure(farcall_{name}), pointer :: {name}_now => null()")
        }),
    );
    lines.push("contains".to_owned());
    all.iter().for_each(|(name, passed)| lines.extend(adapter(name, passed)));
    lines.push(format!("end module {name}\n"));
    Some(lines.iter().map(|line| crate::wrapper::broken(line)).collect::<Vec<_>>().join("\n"))
}

fn prefix(passed: &Routine) -> &'static str {
    if passed.is_pure { "pure " } else { "" }
}

/// What the server passes.
fn interface(name: &str, passed: &Routine) -> Vec<String> {
    let mut dummies: Vec<&str> = passed.parameters.iter().map(|one| one.name.as_str()).collect();
    dummies.extend(passed.extents.iter().map(|(name, _)| name.as_str()));
    let mut lines = vec![
        format!("    {}subroutine farcall_{name}({})", prefix(passed), dummies.join(", ")),
        "      import".to_owned(),
    ];
    lines.extend(
        passed
            .extents
            .iter()
            .map(|(name, _)| format!("      integer(c_int64_t), intent(in) :: {name}")),
    );
    let (scalars, arrays): (Vec<_>, Vec<_>) =
        passed.parameters.iter().partition(|one| !one.is_array());
    let all = scalars.into_iter().chain(arrays);
    lines.extend(all.map(|one| format!("    {}", crate::wrapper::declaration(passed, one))));
    lines.push("    end subroutine".to_owned());
    lines
}

/// What the routine gets: as its source declares it.
fn adapter(name: &str, passed: &Routine) -> Vec<String> {
    let result = passed.result.map(|index| &passed.parameters[index]);
    let taken: Vec<&Parameter> = passed
        .parameters
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != passed.result)
        .map(|(_, one)| one)
        .collect();
    let names: Vec<&str> = taken.iter().map(|one| one.name.as_str()).collect();
    let word = if result.is_some() { "function" } else { "subroutine" };
    let behind = result.map_or_else(String::new, |one| format!(" result({})", one.name));
    let bind = if passed.binding.is_some() { " bind(C, name=\"\")" } else { "" };
    let mut lines =
        vec![format!("  {}{word} {name}({}){behind}{bind}", prefix(passed), names.join(", "))];
    let (scalars, arrays): (Vec<&Parameter>, Vec<&Parameter>) =
        taken.iter().partition(|one| !one.is_array());
    lines.extend(scalars.into_iter().chain(arrays).map(as_declared));
    lines.extend(result.map(|one| format!("    {} :: {}", type_text(one), one.name)));
    let sizes = passed.parameters.iter().flat_map(|one| {
        let assumed =
            |(index, bound): (usize, &Bound)| (*bound == Bound::AssumedShape).then_some(index + 1);
        let name = &one.name;
        one.declared
            .shape
            .iter()
            .enumerate()
            .filter_map(assumed)
            .map(move |index| format!("size({name}, {index}, c_int64_t)"))
    });
    let arguments: Vec<String> =
        passed.parameters.iter().map(|one| one.name.clone()).chain(sizes).collect();
    lines.push(format!("    call {name}_now({})", arguments.join(", ")));
    lines.push(format!("  end {word}"));
    lines
}

/// A declaration with the attributes of the source: compilers compare them.
fn as_declared(parameter: &Parameter) -> String {
    let declared = &parameter.declared;
    let mut attributes = type_text(parameter);
    let intent = declared.intent.map(|intent| match intent {
        Intent::In => "intent(in)",
        Intent::Out => "intent(out)",
        Intent::InOut => "intent(inout)",
    });
    let value = declared.by_value.then_some("value");
    for one in intent.into_iter().chain(value).chain(declared.others.iter().copied()) {
        attributes.push_str(&format!(", {one}"));
    }
    let shape =
        crate::wrapper::shape_text(parameter, |index| declared.shape[index] == Bound::AssumedShape);
    format!("    {attributes} :: {}{shape}", parameter.name)
}

/// Lines of the wrapper: what it uses and declares, what it does before and behind the call.
pub struct Exchange {
    pub uses: Vec<String>,
    pub before: Vec<String>,
    pub behind: Vec<String>,
}

/// The name under which a wrapper passes an adapter on.
pub fn adapter_name(parameter: &Parameter) -> Option<String> {
    parameter
        .callback
        .as_ref()
        .filter(|passed| needs_adapter(passed))
        .map(|_| format!("farcall_give_{}", parameter.name))
}

/// What a wrapper does about its adapters: calls may be inside one another, so what was there
/// before is put back.
pub fn exchange(routine: &Routine) -> Exchange {
    let mut exchange = Exchange { uses: Vec::new(), before: Vec::new(), behind: Vec::new() };
    for (name, _) in adapted(routine) {
        exchange.uses.push(format!(
            "  use {}, only: farcall_{name}, farcall_now_{name} => {name}_now, \
                farcall_give_{name} => {name}",
            module_name(routine)
        ));
        exchange.before.push(format!("  farcall_before_{name} => farcall_now_{name}"));
        exchange.before.push(format!("  farcall_now_{name} => {name}"));
        exchange.behind.push(format!("  farcall_now_{name} => farcall_before_{name}"));
    }
    exchange
}
