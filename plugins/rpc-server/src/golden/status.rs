//! A server's status in the words of the scripts.

use farcall_base::ErrorKind;
use farcall_wire::{Status, Use};

/// All of it that is not zero.
pub fn shown(status: &Status) -> String {
    let calls = status.calls.iter();
    let calls = calls.map(|call| {
        format!(
            "{} {} {} {}ms",
            call.principal,
            call.routine,
            call.stage.word(),
            call.age_ns / 1_000_000
        )
    });
    let modules = status.modules.iter().map(|module| {
        let waiting = module.waiting;
        let executables = [module.starting, module.idle, module.busy, module.ending];
        format!("{} waiting {waiting} executables {executables:?}", module.module)
    });
    let totals = status.totals.iter().map(|totals| {
        let executables = [totals.started, totals.stopped, totals.crashed];
        format!("clients {} of {} executables {executables:?}", totals.clients, totals.connected)
    });
    let objects = status.objects.iter().map(|one| {
        let lease = one
            .lease_left_ns
            .map_or(String::new(), |left| format!(" lease {}ms", left / 1_000_000));
        let state = one.state.word();
        let principal = &one.principal;
        format!(
            "{principal} object {} {state} calls {} waiting {}{lease}",
            one.name, one.calls, one.waiting
        )
    });
    let uses = status.uses.iter().map(used);
    let all: Vec<String> = calls.chain(objects).chain(uses).chain(modules).chain(totals).collect();
    format!("{} open: {}", status.calls_open, all.join("; "))
}

fn used(one: &Use) -> String {
    let failed = one.failed.iter().map(|(kind, count)| {
        format!(" {} {count}", ErrorKind::from_code(*kind).map_or("unknown", ErrorKind::name))
    });
    let failed = failed.collect::<String>();
    let bytes = [one.bytes_in, one.bytes_out];
    format!(
        "{} of {:?}: begun {} returned {}{failed} bytes {bytes:?}",
        one.principal, one.routine, one.begun, one.returned
    )
}
