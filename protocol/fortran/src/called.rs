//! Procedures that are passed, and that no interface block describes: what their calls say of their
//! arguments.

use std::collections::HashMap;
use std::sync::Arc;

use crate::body::{Call, Given, Position};
use crate::draft::implicit;
use crate::expression::Expression;
use crate::unit::{Base, Bound, Declared, Intent, Module, Procedure};

/// Procedures through which one is followed that is only passed on.
const STEPS_MAX: usize = 16;

/// Gives each procedure the interfaces of its dummies that are called without one, as far as the
/// calls determine them.
pub fn add_interfaces(modules: &mut [Module]) {
    let all = || modules.iter().flat_map(|module| &module.procedures);
    let by_name: HashMap<&str, &Procedure> = all().map(|one| (one.name.as_str(), one)).collect();
    let mut found: Vec<Vec<Arc<Procedure>>> = all()
        .map(|procedure| {
            let lacking = procedure.dummies.iter().filter(|dummy| lacks(procedure, dummy));
            lacking.filter_map(|dummy| interface(&by_name, procedure, dummy)).collect()
        })
        .collect();
    found.reverse();
    for procedure in modules.iter_mut().flat_map(|module| &mut module.procedures) {
        procedure.interfaces.extend(found.pop().unwrap_or_default());
    }
}

fn lacks(procedure: &Procedure, dummy: &str) -> bool {
    let declared = procedure.declared.get(dummy);
    !procedure.interfaces.iter().any(|one| one.name == dummy)
        && declared.is_none_or(|one| one.interface.is_none() && one.shape.is_empty())
}

/// That of a dummy; where it is only passed on, that of the procedure that takes it.
fn interface(
    by_name: &HashMap<&str, &Procedure>,
    procedure: &Procedure,
    dummy: &str,
) -> Option<Arc<Procedure>> {
    let mut procedure = procedure;
    let mut name = dummy;
    for _ in 0..STEPS_MAX {
        let calls: Vec<&Call> =
            procedure.body.calls.iter().filter(|call| call.callee == name).collect();
        if !calls.is_empty() {
            let mut made = of_calls(procedure, name, &calls)?;
            made.name = dummy.to_owned();
            return Some(Arc::new(made));
        }
        let (callee, position) = procedure.body.uses.get(name)?.passed.first()?;
        procedure = by_name.get(callee.as_str())?;
        name = match position {
            Position::Number(number) => procedure.dummies.get(*number)?,
            Position::Keyword(word) => procedure.dummies.iter().find(|one| *one == word)?,
        };
    }
    None
}

/// The interface that all calls fit; `None` where they do not say enough.
fn of_calls(procedure: &Procedure, dummy: &str, calls: &[&Call]) -> Option<Procedure> {
    let first = calls.first()?;
    let agree = |call: &&Call| {
        call.is_function == first.is_function && call.arguments.len() == first.arguments.len()
    };
    if !calls.iter().all(agree) {
        return None;
    }
    let mut made = Procedure {
        name: dummy.to_owned(),
        line: first.line,
        called_in: Some(first.line),
        is_fixed: procedure.is_fixed,
        constants: procedure.constants.clone(),
        ..Procedure::default()
    };
    for position in 0..first.arguments.len() {
        let given: Vec<&Given> = calls.iter().map(|call| &call.arguments[position]).collect();
        let (name, declared) = argument(procedure, &given, first.is_function)?;
        let is_taken = made.declared.contains_key(&name) || name == dummy;
        let name = if is_taken { format!("{name}_{}", position + 1) } else { name };
        made.dummies.push(name.clone());
        made.declared.insert(name, declared);
    }
    let sizes: Vec<String> = made.declared.values().flat_map(sizes_of).collect();
    for name in sizes {
        if let Some(declared) = made.declared.get_mut(&name) {
            declared.intent = Some(Intent::In);
        }
    }
    if first.is_function {
        let result = declared_of(procedure, dummy)?;
        made.declared.insert(dummy.to_owned(), Declared { external: false, ..result });
        made.result = Some(dummy.to_owned());
    }
    Some(made)
}

/// The name and declaration of one argument, from what all calls give for it: a variable as a whole
/// says what it is; a part of an array may stand for a number or an array, and an expression has no
/// declaration.
fn argument(
    procedure: &Procedure,
    given: &[&Given],
    is_function: bool,
) -> Option<(String, Declared)> {
    let wholes: Vec<(&String, Declared)> = given
        .iter()
        .filter_map(|one| match one {
            Given::Whole(name) => Some((name, declared_of(procedure, name)?)),
            _ => None,
        })
        .collect();
    let (name, first) = wholes.first()?;
    let spec = first.type_spec.as_ref()?;
    let agree = |one: &Declared| {
        one.shape.len() == first.shape.len()
            && one
                .type_spec
                .as_ref()
                .is_some_and(|other| (&other.base, &other.kind) == (&spec.base, &spec.kind))
    };
    let is_passable = !matches!(spec.base, Base::Derived(_)) && !first.external;
    if !is_passable || !wholes.iter().all(|(_, one)| agree(one)) {
        return None;
    }
    // A function computes from its arguments, and nothing can be set in an expression.
    let is_read = is_function || given.iter().any(|one| matches!(one, Given::Value));
    let declared = Declared {
        intent: is_read.then_some(Intent::In),
        comment: String::new(),
        optional: false,
        by_value: false,
        ..first.clone()
    };
    Some(((*name).clone(), declared))
}

/// What is declared of a name, or follows from its first letter.
fn declared_of(procedure: &Procedure, name: &str) -> Option<Declared> {
    let declared = procedure.declared.get(name).cloned().unwrap_or_default();
    let type_spec = declared.type_spec.clone().or_else(|| implicit(procedure, name))?;
    Some(Declared { type_spec: Some(type_spec), ..declared })
}

/// Names that an array's extents are made of.
fn sizes_of(declared: &Declared) -> Vec<String> {
    let extents = declared.shape.iter().filter_map(|bound| match bound {
        Bound::Extent(extent) => Some(extent),
        _ => None,
    });
    extents.flat_map(Expression::names).map(str::to_owned).collect()
}
