//! `farcall explain`: where a call would run, and why.

use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::{Argument, Explanation, PlacedServer};
use farcall_idl::infer::Given;
use serde_json::{Value as Json, json};

use super::call::assign_some;
use crate::connection::RunningServer;
use crate::output::{aligned, notice, print, print_json};
use crate::values::{Value, value};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Beyond so many seconds, parts of one are of no interest.
const WHOLE_SECONDS: f64 = 20.0;

/// Explains a placement.
#[derive(Args)]
pub struct ExplainArguments {
    /// Routine: MODULE/NAME, or NAME if only one module has it
    name: String,
    /// Sizes as NAME=NUMBER, or other arguments as `farcall call` takes them; what is left out is
    /// inferred, or counts as 1
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    #[command(flatten)]
    server: RunningServer,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Prints what a call would need on each server, the best first.
pub fn explain(arguments: &ExplainArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    let routine = client.routine(&arguments.name)?;
    let interface = routine.interface();
    let mut values: Vec<Option<Value>> = interface.parameters.iter().map(|_| None).collect();
    for (index, text) in assign_some(interface, &arguments.arguments)? {
        values[index] = Some(value(interface, &interface.parameters[index], text)?);
    }
    let given: Vec<Given<'_>> =
        interface.caller_parameters().map(|(index, _)| given(values[index].as_ref())).collect();
    let explanation = client.explain(&routine, &given, ANSWER_MAX)?;
    if arguments.json {
        return print_json(&entry(routine.name(), &explanation));
    }
    if !explanation.assumed.is_empty() {
        let sizes: Vec<String> =
            explanation.assumed.iter().map(|name| format!("{name}=1")).collect();
        notice(&format!("not given, and taken to be: {}", sizes.join(", ")));
    }
    if explanation.servers.is_empty() {
        let message = format!("no server publishes {}", routine.name());
        return Err(Error::new(ErrorKind::NotFound, "explain a call", message)
            .fix("`farcall servers` lists the servers that are known"));
    }
    print(|out| out.write_all(table(&explanation.servers).as_bytes()))
}

fn given(value: Option<&Value>) -> Given<'_> {
    match value {
        None => Given::Unset,
        Some(Value::Array(data)) => Given::Elements { shape: &data.shape, bytes: &data.bytes },
        Some(Value::Other(Argument::Raw(bytes))) => Given::Bytes(bytes),
        Some(Value::Other(_)) => Given::Other,
    }
}

/// From the call to its results: waiting and sending overlap.
fn total(server: &PlacedServer) -> f64 {
    server.send_s.max(server.wait_s) + server.run_s + server.return_s
}

fn entry(name: &str, explanation: &Explanation) -> Json {
    let demand = &explanation.demand;
    let servers = explanation.servers.iter().map(|server| match server.excluded {
        true => json!({
            "name": server.name, "is_self": server.is_self, "excluded": true, "note": server.note,
        }),
        false => json!({
            "name": server.name,
            "is_self": server.is_self,
            "excluded": false,
            "chosen": server.calls > 0,
            "wait_seconds": server.wait_s,
            "send_seconds": server.send_s,
            "run_seconds": server.run_s,
            "return_seconds": server.return_s,
            "total_seconds": total(server),
            "error_seconds": server.error_s,
            "addresses": server.addresses,
            "note": server.note,
        }),
    });
    json!({
        "routine": name,
        "operations": demand.operations,
        "processors": demand.processors,
        "bytes_to_server": demand.bytes_in,
        "bytes_back": demand.bytes_out,
        "taken_to_be_1": explanation.assumed,
        "servers": servers.collect::<Vec<_>>(),
    })
}

fn table(servers: &[PlacedServer]) -> String {
    let head = ["server", "wait", "send", "run", "return", "total", "+-"];
    let mut rows = vec![(head.map(str::to_owned).to_vec(), String::new())];
    rows.extend(servers.iter().map(|server| {
        // A private server has no address that anybody would write.
        let name = if server.name.is_empty() { "here".to_owned() } else { server.name.clone() };
        if server.excluded {
            return (vec![name, "-".to_owned()], server.note.clone());
        }
        let parts = [server.wait_s, server.send_s, server.run_s, server.return_s];
        let numbers = parts.into_iter().chain([total(server), server.error_s]).map(seconds);
        let cells: Vec<String> = std::iter::once(name).chain(numbers).collect();
        let chosen = if server.calls > 0 { "chosen" } else { "" };
        let comma = if chosen.is_empty() || server.note.is_empty() { "" } else { "; " };
        (cells, format!("{chosen}{comma}{}", server.note))
    }));
    aligned(&rows)
}

/// As many digits as mean something.
fn seconds(time: f64) -> String {
    match time {
        time if time >= WHOLE_SECONDS => format!("{time:.0} s"),
        time if time >= 0.1 => format!("{time:.1} s"),
        time if time >= 1e-3 => format!("{:.0} ms", time * 1e3),
        time if time >= 1e-6 => format!("{:.0} us", time * 1e6),
        _ => "0 s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_times_or_the_reason_why_it_has_none() {
        let chosen = PlacedServer {
            name: "tls://b:7070".to_owned(),
            send_s: 1.1,
            run_s: 2.9,
            error_s: 0.4,
            calls: 1,
            ..PlacedServer::default()
        };
        let other = PlacedServer {
            name: "tls://c:7070".to_owned(),
            excluded: true,
            note: "publishes another version of lapack/dgesv".to_owned(),
            ..PlacedServer::default()
        };
        let own = PlacedServer { run_s: 42.4, is_self: true, ..PlacedServer::default() };
        let text = table(&[chosen, own, other]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "server        wait   send    run  return  total     +-");
        assert_eq!(lines[1], "tls://b:7070   0 s  1.1 s  2.9 s     0 s  4.0 s  0.4 s  chosen");
        assert_eq!(lines[2], "here           0 s    0 s   42 s     0 s   42 s    0 s");
        assert_eq!(lines[3], "tls://c:7070     -  publishes another version of lapack/dgesv");
    }
}
