//! Calls in two phases: `farcall submit`, `farcall fetch` and `farcall kept`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{CallId, Result};
use farcall_client::{CallOptions, Keep, KeptCall};
use serde_json::json;

use super::call::{Files, assign, destinations, give, seconds};
use crate::connection::RunningServer;
use crate::output::{end, end_by, print, print_json};
use crate::values::{Value, value};

/// What waiting has at least, so that it says itself that its time is over.
const MOMENT: Duration = Duration::from_millis(1);
/// A day: long enough to come back tomorrow.
const KEEP: &str = "86400";

/// Starts a call and leaves it to the server.
#[derive(Args)]
pub struct SubmitArguments {
    /// The routine: its full name, or its own one where that is unique
    name: String,
    /// Arguments as for `farcall call`
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    arguments: Vec<String>,
    /// For how long after its end the outcome is kept
    #[arg(long, value_name = "SECONDS", default_value = KEEP, value_parser = seconds)]
    keep: Duration,
    /// Keep it in the server's memory alone: it ends with the server
    #[arg(long)]
    volatile: bool,
    #[command(flatten)]
    server: RunningServer,
}

/// Takes the outcome of a call that was submitted.
#[derive(Args)]
pub struct FetchArguments {
    /// What `farcall submit` printed
    id: CallId,
    /// Write a result to a file (an array as .npy or .mtx, the content of a file as it is) instead of printing it; may be
    /// repeated
    #[arg(long, value_name = "NAME=FILE")]
    out: Vec<String>,
    /// Time for connecting, and to wait for its end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Have the server forget the call when its results are here
    #[arg(long)]
    forget: bool,
    /// Print the results as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    server: RunningServer,
}

/// Shows which calls the server keeps, or has some forgotten.
#[derive(Args)]
pub struct KeptArguments {
    /// Forget this call, which ends it if it still runs; may be repeated
    #[arg(long, value_name = "ID")]
    forget: Vec<CallId>,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: RunningServer,
}

/// Starts the call, prints its id, and ends: the call goes on.
pub fn submit(arguments: &SubmitArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    let routine = client.routine(&arguments.name)?;
    let interface = routine.interface();
    let given = assign(interface, &arguments.arguments)?;
    let read = |(index, text): (usize, &str)| Ok((index, value(interface, &interface.parameters[index], text)?));
    let mut values: Vec<(usize, Value)> = given.into_iter().map(read).collect::<Result<_>>()?;
    let parameters = &interface.parameters;
    let named = values.iter_mut().map(|(index, value)| (parameters[*index].name.as_str(), value.argument()));
    let keep = Keep { after_end: arguments.keep, durable: !arguments.volatile };
    let id = routine.submit(named, keep)?;
    print(|out| writeln!(out, "{id}"))
}

/// Waits for the end of a call and prints its results.
pub fn fetch(arguments: &FetchArguments) -> Result<()> {
    let deadline = arguments.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    deadline.into_iter().for_each(end_by);
    let client = arguments.server.connect()?;
    let left = end().map(|end| end.saturating_duration_since(Instant::now()).max(MOMENT));
    let options = CallOptions { timeout: left, ..CallOptions::default() };
    let call = client.fetch(arguments.id, &options)?;
    let routine = call.routine();
    let (interface, mut contents) = (routine.interface(), Vec::new());
    let files: Files = destinations(interface, &arguments.out, &mut contents)?;
    let outputs = call.wait()?;
    let contents: Vec<(usize, PathBuf)> = contents;
    give(interface, &outputs, files, contents, arguments.json)?;
    if arguments.forget { client.forget_call(arguments.id) } else { Ok(()) }
}

/// Forgets, or lists.
pub fn kept(arguments: &KeptArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    for id in &arguments.forget {
        client.forget_call(*id)?;
    }
    if !arguments.forget.is_empty() {
        return Ok(());
    }
    let calls = client.kept()?;
    if arguments.json {
        return print_json(&calls.iter().map(as_json).collect());
    }
    print(|out| {
        calls.iter().try_for_each(|call| {
            let lasts = if call.durable { "" } else { ", in memory" };
            let left = Duration::from_micros(call.left_us).as_secs();
            let (state, routine, bytes) = (call.state.word(), &call.routine, call.bytes);
            writeln!(out, "{}  {state:8}  {routine}  {bytes} bytes, {left} s left{lasts}", call.id)
        })
    })
}

fn as_json(call: &KeptCall) -> serde_json::Value {
    json!({
        "id": call.id.to_string(),
        "routine": call.routine,
        "state": call.state.word(),
        "bytes": call.bytes,
        "seconds_left": call.left_us as f64 / 1e6,
        "durable": call.durable,
        "principal": call.principal,
    })
}
