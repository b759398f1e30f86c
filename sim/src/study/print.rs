//! A study's results as text: a table for people, CSV and JSON for programs.

use std::fmt::Write as _;

use super::results::{Ran, Results, Spread};

/// The figures of a run, one in a line.
pub fn table(results: &Results) -> String {
    let mut text = String::new();
    let mut line = |name: &str, spread: Spread| {
        let _ = writeln!(
            text,
            "{name:<28} {:>12.4} {:>12.4} {:>12.4}",
            spread.mean, spread.min, spread.max
        );
    };
    line("response, s", results.spread(Ran::response_s));
    line("wait, s", results.spread(Ran::wait_s));
    line("performance, Mflop/s", results.spread(Ran::mflops));
    line("throughput, MB/s", results.spread(Ran::mb_per_s));
    let head = format!("{:<28} {:>12} {:>12} {:>12}\n", "", "mean", "min", "max");
    let mut servers = format!("\n{:<28} {:>12} {:>12} {:>12}\n", "server", "calls", "busy", "load");
    for (name, used) in &results.servers {
        let busy = used.utilization * 100.0;
        let _ =
            writeln!(servers, "{name:<28} {:>12} {busy:>10.1} % {:>12.2}", used.calls, used.load);
    }
    format!(
        "{head}{text}{servers}\n{} calls in {:.1} s, {} failed\n",
        results.ended(),
        results.seconds,
        results.failed
    )
}

/// The columns of [`csv`], with a row for each call.
const COLUMNS: &str = "client,server,sizes,operations,bytes,threads,submitted,received,begun,ended,\
                       completed,predicted_s";

/// A row for each call; times in seconds since the run's beginning.
pub fn csv(results: &Results) -> String {
    let mut text = format!("{COLUMNS}\n");
    for ran in &results.ran {
        let sizes: Vec<String> =
            ran.sizes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            ran.crowd,
            ran.server.as_deref().unwrap_or_default(),
            sizes.join(" "),
            ran.operations,
            ran.bytes,
            ran.threads,
            ran.submitted.seconds(),
            ran.received.seconds(),
            ran.begun.seconds(),
            ran.ended.seconds(),
            ran.completed.seconds(),
            ran.predicted_s.map(|seconds| seconds.to_string()).unwrap_or_default(),
        );
    }
    text
}

/// The figures of a run, as one JSON object.
pub fn json(results: &Results) -> String {
    let spread = |spread: Spread| {
        format!("{{\"mean\":{},\"min\":{},\"max\":{}}}", spread.mean, spread.min, spread.max)
    };
    let servers: Vec<String> = results
        .servers
        .iter()
        .map(|(name, used)| {
            format!(
                "\"{name}\":{{\"calls\":{},\"utilization\":{},\"load\":{}}}",
                used.calls, used.utilization, used.load
            )
        })
        .collect();
    format!(
        "{{\"calls\":{},\"failed\":{},\"seconds\":{},\"response_s\":{},\"wait_s\":{},\
         \"mflops\":{},\"mb_per_s\":{},\"servers\":{{{}}}}}\n",
        results.ended(),
        results.failed,
        results.seconds,
        spread(results.spread(Ran::response_s)),
        spread(results.spread(Ran::wait_s)),
        spread(results.spread(Ran::mflops)),
        spread(results.spread(Ran::mb_per_s)),
        servers.join(","),
    )
}
