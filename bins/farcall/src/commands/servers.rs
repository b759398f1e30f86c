//! `farcall servers`: which servers a server knows, and what it knows of the way to each.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use farcall_base::Result;
use farcall_client::{ServerPresence, ServerState};
use serde_json::{Value, json};

use crate::connection::RunningServer;
use crate::output::{aligned, bytes, print, print_json};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Lists servers.
#[derive(Args)]
pub struct ServersArguments {
    #[command(flatten)]
    server: RunningServer,
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Lists the servers that the server knows, itself first.
pub fn servers(arguments: &ServersArguments) -> Result<()> {
    let servers = arguments.server.connect()?.servers(ANSWER_MAX)?;
    if arguments.json {
        return print_json(&Value::from(servers.iter().map(entry).collect::<Vec<_>>()));
    }
    print(|out| out.write_all(table(&servers).as_bytes()))
}

/// The state of a server, as people and programs read it.
fn word(presence: ServerPresence) -> &'static str {
    match presence {
        ServerPresence::Up => "up",
        ServerPresence::Suspect => "suspect",
        ServerPresence::Gone => "gone",
        ServerPresence::Draining => "draining",
        ServerPresence::Unreachable => "unreachable",
    }
}

fn entry(server: &ServerState) -> Value {
    json!({
        "name": server.name,
        "state": word(server.presence),
        "addresses": server.addresses,
        "processors": server.processors,
        "busy": server.busy,
        "calls": server.calls,
        "load": server.load,
        "routines": server.routines,
        "silent_seconds": server.silent_us as f64 / 1e6,
        "bytes_per_second_there": server.sends_at,
        "bytes_per_second_back": server.returns_at,
        "latency_seconds": server.latency_s,
        "product": server.product,
        "note": server.note,
        "is_self": server.is_self,
    })
}

fn table(servers: &[ServerState]) -> String {
    let head = ["SERVER", "STATE", "PROCESSORS", "BUSY", "CALLS", "LOAD", "ROUTINES", "WAY"];
    let mut rows = vec![(head.map(str::to_owned).to_vec(), "NOTE".to_owned())];
    rows.extend(servers.iter().map(|server| {
        let is_there = server.presence != ServerPresence::Unreachable;
        let known = |text: String| if is_there { text } else { "-".to_owned() };
        let cells = vec![
            server.name.clone(),
            word(server.presence).to_owned(),
            known(server.processors.to_string()),
            known(format!("{:.0}", server.busy)),
            known(server.calls.to_string()),
            known(format!("{:.1}", server.load)),
            known(server.routines.to_string()),
            way(server),
        ];
        let own = if server.is_self { "this server" } else { "" };
        let note = if server.note.is_empty() { own } else { &server.note };
        (cells, note.to_owned())
    }));
    aligned(&rows)
}

/// How fast the way to a server is, as far as transfers showed it.
fn way(server: &ServerState) -> String {
    let mut text = String::new();
    let rate = |rate: f64| format!("{}/s", bytes(rate.max(0.0) as u64));
    match (server.sends_at, server.returns_at) {
        (Some(there), Some(back)) => {
            let _ = write!(text, "{} there, {} back", rate(there), rate(back));
        }
        (Some(one), None) | (None, Some(one)) => text.push_str(&rate(one)),
        (None, None) => {}
    }
    if let Some(latency) = server.latency_s {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{:.1} ms", latency * 1e3);
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_is_known_and_dashes_what_is_not() {
        let near = ServerState {
            name: "tls://b:7070".to_owned(),
            processors: 4,
            busy: 2.0,
            calls: 5,
            load: 0.25,
            routines: 7,
            sends_at: Some(11e6),
            latency_s: Some(0.0005),
            is_self: true,
            ..ServerState::default()
        };
        let away = ServerState {
            name: "tls://c:7070".to_owned(),
            presence: ServerPresence::Unreachable,
            note: "could not be reached: no answer".to_owned(),
            ..ServerState::default()
        };
        let text = table(&[near, away]);
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[1])[..7], ["tls://b:7070", "up", "4", "2", "5", "0.2", "7"]);
        assert!(lines[1].ends_with("10.5 MiB/s, 0.5 ms  this server"), "{text}");
        assert!(lines[2].ends_with("could not be reached: no answer"), "{text}");
        assert_eq!(words(lines[2])[1..4], ["unreachable", "-", "-"]);
    }
}
