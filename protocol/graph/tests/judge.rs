//! What must hold of any bytes that come as a message, or as a record: asked by loops with fixed
//! seeds, and by the fuzz target of `tests/fuzz`, which includes this file.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use farcall_base::{Error, ErrorKind, Result};
use farcall_graph::{CallNumber, Limits, Message, Plan, RoutineName};
use farcall_idl::interface::Interface;

pub const ROUTINES: &str = r#"
Module small;

Define factor(
    IN int n,
    INOUT double a[n][n] column,
    OUT int pivots[n],
    OUT int info
)
"Factors a matrix."
Idempotent
{ }

Define solve(
    IN int n,
    IN double a[n][n] column,
    IN int pivots[n],
    INOUT double b[n],
    IN int steps = 3
)
"Solves a system."
{ }

Define count(OUT int found, IN string text)
"Counts."
{ }

Define fill(IN int n, OUT double x[n], OUT string text)
"Fills."
{ }

Define visit(IN int n, void each(IN int n))
"Calls back."
{ }
"#;

static KNOWN: LazyLock<BTreeMap<String, Arc<Interface>>> = LazyLock::new(|| {
    let module = farcall_idl::compile("small.idl", ROUTINES).unwrap();
    let all = module.routines.into_iter().map(|one| Arc::new(one.interface));
    all.map(|interface| (interface.full_name(), interface)).collect()
});

pub fn find(name: &RoutineName) -> Result<Arc<Interface>> {
    KNOWN.get(&name.name).cloned().ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "find a routine", "nobody offers it").fix("see its name")
    })
}

/// Whether the bytes are a message: then it travels on as it is, and its graph, if it has one, names
/// nothing that is not there.
pub fn message(bytes: &[u8]) -> bool {
    let Ok(message) = Message::decode(bytes) else { return false };
    assert_eq!(Message::decode(&message.encode()).unwrap(), message);
    let Ok(plan) = Plan::new(message, &Limits::default(), &find) else { return true };
    let graph = plan.graph();
    for call in (0..graph.calls() as u32).map(CallNumber) {
        let named = graph.call(call).uses.iter().chain(&graph.call(call).makes);
        named.for_each(|data| assert!((data.0 as usize) < graph.values()));
        assert!(graph.call(call).after.iter().all(|before| before.0 < call.0));
        assert!(plan.interface(call).full_name() == plan.routine(call).name);
    }
    for argument in plan.message().calls.iter().flat_map(|call| &call.arguments) {
        let named = plan.argument(argument);
        named.into_iter().for_each(|data| assert!((data.0 as usize) < graph.values()));
    }
    true
}
