//! A server's status in Prometheus' text format, version 0.0.4 (prometheus.io, "Exposition
//! formats").

use std::collections::BTreeMap;
use std::fmt::Write;

use farcall_base::{ErrorKind, printable};
use farcall_wire::{DURATIONS_NS, Status, Totals, Use};

use crate::process::Process;

/// What the text is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Picks a count.
type Count = fn(&Use) -> u64;

/// All of it.
pub fn metrics(status: &Status, process: &Process) -> String {
    let mut page = Page(String::new());
    let version = status.product.strip_prefix("farcall ").unwrap_or(&status.product);
    page.one("farcall_info", "gauge", "The server's version.", &[("version", version)], 1);
    page.one("farcall_up_seconds", "gauge", "Time since the start.", &[], Seconds(status.up_ns));
    page.one(
        "farcall_draining",
        "gauge",
        "1 if the server accepts no new calls.",
        &[],
        u8::from(status.draining),
    );
    page.one(
        "farcall_calls_open",
        "gauge",
        "Calls that arrived and have not finished.",
        &[],
        status.calls_open,
    );
    calls(&mut page, &status.uses);
    durations(&mut page, &status.uses);
    modules(&mut page, status);
    if let Some(totals) = &status.totals {
        sums(&mut page, totals);
    }
    own(&mut page, process);
    page.0
}

fn calls(page: &mut Page, uses: &[Use]) {
    // Those without a routine never began: they were refused.
    let accepted = || uses.iter().filter(|one| !one.routine.is_empty());
    let counts: [(&str, &str, Count); 4] = [
        ("farcall_calls_begun_total", "Calls that were accepted.", |one| one.begun),
        ("farcall_calls_returned_total", "Calls that returned.", |one| one.returned),
        ("farcall_argument_bytes_total", "Bytes of arguments, strings not counted.", |one| {
            one.bytes_in
        }),
        ("farcall_result_bytes_total", "Bytes of results, strings not counted.", |one| {
            one.bytes_out
        }),
    ];
    for (name, help, count) in counts {
        page.head(name, "counter", help);
        for one in accepted() {
            page.line(
                name,
                &[("principal", &one.principal), ("routine", &one.routine)],
                count(one),
            );
        }
    }
    page.head(
        "farcall_calls_failed_total",
        "counter",
        "Accepted calls that failed, by kind of error.",
    );
    for one in accepted() {
        for (kind, count) in &one.failed {
            let labels = [
                ("principal", &*one.principal),
                ("routine", &one.routine),
                ("error", error_name(*kind)),
            ];
            page.line("farcall_calls_failed_total", &labels, count);
        }
    }
    page.head(
        "farcall_calls_refused_total",
        "counter",
        "Calls that were not accepted, by kind of error.",
    );
    for one in uses.iter().filter(|one| one.routine.is_empty()) {
        for (kind, count) in &one.failed {
            let labels = [("principal", &*one.principal), ("error", error_name(*kind))];
            page.line("farcall_calls_refused_total", &labels, count);
        }
    }
}

fn error_name(code: u16) -> &'static str {
    ErrorKind::from_code(code).map_or("unknown", ErrorKind::name)
}

/// By routine only: a line for each class and principal would be too many.
fn durations(page: &mut Page, uses: &[Use]) {
    let mut routines: BTreeMap<&str, (Vec<u64>, u64)> = BTreeMap::new();
    for one in uses.iter().filter(|one| !one.routine.is_empty()) {
        let (counts, sum) =
            routines.entry(&one.routine).or_insert_with(|| (vec![0; DURATIONS_NS.len() + 1], 0));
        counts.iter_mut().zip(&one.durations).for_each(|(count, more)| *count += more);
        *sum = sum.saturating_add(one.duration_ns);
    }
    let name = "farcall_call_duration_seconds";
    page.head(name, "histogram", "Time from the arrival of a call to its outcome.");
    for (routine, (counts, sum)) in routines {
        let mut so_far = 0;
        let ends =
            DURATIONS_NS.iter().map(|end| Seconds(*end).to_string()).chain(["+Inf".to_owned()]);
        for (end, count) in ends.zip(counts) {
            so_far += count;
            page.line(&format!("{name}_bucket"), &[("routine", routine), ("le", &end)], so_far);
        }
        page.line(&format!("{name}_sum"), &[("routine", routine)], Seconds(sum));
        page.line(&format!("{name}_count"), &[("routine", routine)], so_far);
    }
}

fn modules(page: &mut Page, status: &Status) {
    page.head("farcall_calls_waiting", "gauge", "Calls that wait for an executable.");
    for module in &status.modules {
        page.line("farcall_calls_waiting", &[("module", &module.module)], module.waiting);
    }
    page.one(
        "farcall_objects",
        "gauge",
        "Executables that clients hold as objects.",
        &[],
        status.objects_held,
    );
    page.head("farcall_executables", "gauge", "Live executables, without those of objects.");
    for module in &status.modules {
        let states = [
            ("starting", module.starting),
            ("idle", module.idle),
            ("busy", module.busy),
            ("ending", module.ending),
        ];
        for (state, count) in states {
            page.line(
                "farcall_executables",
                &[("module", &module.module), ("state", state)],
                count,
            );
        }
    }
}

fn sums(page: &mut Page, totals: &Totals) {
    page.one("farcall_connections", "gauge", "Clients that are connected.", &[], totals.clients);
    let counts = [
        ("farcall_connections_total", "Clients that ever connected.", totals.connected),
        (
            "farcall_connections_refused_total",
            "Clients that were refused or disconnected.",
            totals.refused,
        ),
        ("farcall_executables_started_total", "Executables that were started.", totals.started),
        (
            "farcall_executables_stopped_total",
            "Executables that the server stopped.",
            totals.stopped,
        ),
        (
            "farcall_executables_crashed_total",
            "Executables that ended by themselves.",
            totals.crashed,
        ),
    ];
    for (name, help, count) in counts {
        page.one(name, "counter", help, &[], count);
    }
    let name = "farcall_memory_bytes";
    page.head(name, "gauge", "Argument memory: of open calls, held for calls, shared by clients.");
    for (kind, bytes) in [
        ("used", totals.memory_used),
        ("held", totals.memory_held),
        ("shared", totals.memory_shared),
    ] {
        page.line(name, &[("kind", kind)], bytes);
    }
}

/// Under the names that all programs use.
fn own(page: &mut Page, process: &Process) {
    if let Some(bytes) = process.resident_bytes {
        page.one(
            "process_resident_memory_bytes",
            "gauge",
            "Memory of the server itself.",
            &[],
            bytes,
        );
    }
    if let Some(seconds) = process.processor_seconds {
        page.one(
            "process_cpu_seconds_total",
            "counter",
            "Processor time of the server itself.",
            &[],
            seconds,
        );
    }
    if let Some(count) = process.descriptors {
        page.one("process_open_fds", "gauge", "Descriptors that the server has open.", &[], count);
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let _ = match labels.is_empty() {
            true => writeln!(self.0, "{name} {value}"),
            false => writeln!(self.0, "{name}{{{}}} {value}", labels.join(",")),
        };
    }

    fn one(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        labels: &[(&str, &str)],
        value: impl std::fmt::Display,
    ) {
        self.head(name, kind, help);
        self.line(name, labels, value);
    }
}

/// Names come from certificates and interface files, which may hold anything, and a page may be
/// looked at on a terminal.
fn escaped(text: &str) -> String {
    printable(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds, shown in seconds.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 as f64 / 1e9)
    }
}
