//! A server's status as JSON: the keys are documented in docs/reference/cli.md and stay.

use farcall_base::ErrorKind;
use farcall_client::{ModuleStatus, OpenCall, Status, Totals, Use};
use serde_json::{Map, Value, json};

use super::page::rate;

/// One object, on one line.
pub fn line(server: &str, now: &Status, before: &Status, seconds: f64) -> Value {
    let uses: Vec<Value> =
        now.uses.iter().map(|one| usage(one, rate(one, before, seconds))).collect();
    json!({
        "server": server,
        "product": now.product,
        "up_seconds": now.up_ns as f64 / 1e9,
        "draining": now.draining,
        "calls_open": now.calls_open,
        "calls": now.calls.iter().map(call).collect::<Vec<_>>(),
        "objects_held": now.objects_held,
        "processors": now.processors.map(|processors| {
            json!({"max": processors.max, "taken": processors.taken})
        }),
        "uses": uses,
        "modules": now.modules.iter().map(module).collect::<Vec<_>>(),
        "totals": now.totals.as_ref().map(totals),
    })
}

fn call(one: &OpenCall) -> Value {
    json!({
        "call": one.id.to_string(),
        "principal": one.principal,
        "peer": one.peer,
        "routine": one.routine,
        "stage": one.stage.word(),
        "age_seconds": one.age_ns as f64 / 1e9,
    })
}

fn usage(one: &Use, rate: f64) -> Value {
    let name = |kind: u16| ErrorKind::from_code(kind).map_or("unknown", ErrorKind::name);
    let failed: Map<String, Value> =
        one.failed.iter().map(|(kind, count)| (name(*kind).to_owned(), (*count).into())).collect();
    json!({
        "principal": one.principal,
        "routine": (!one.routine.is_empty()).then_some(&one.routine),
        "begun": one.begun,
        "returned": one.returned,
        "failed": failed,
        "bytes_in": one.bytes_in,
        "bytes_out": one.bytes_out,
        "seconds": one.duration_ns as f64 / 1e9,
        "running_seconds": one.running_ns as f64 / 1e9,
        "calls_per_second": rate,
    })
}

fn module(one: &ModuleStatus) -> Value {
    json!({
        "module": one.module,
        "waiting": one.waiting,
        "starting": one.starting,
        "idle": one.idle,
        "busy": one.busy,
        "ending": one.ending,
    })
}

fn totals(one: &Totals) -> Value {
    json!({
        "clients": one.clients,
        "connected": one.connected,
        "refused": one.refused,
        "executables_started": one.started,
        "executables_stopped": one.stopped,
        "executables_crashed": one.crashed,
        "memory_used": one.memory_used,
        "memory_held": one.memory_held,
        "memory_shared": one.memory_shared,
    })
}
