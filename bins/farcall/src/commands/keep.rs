//! Calls in two phases: `farcall submit`, `farcall fetch` and `farcall kept`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{CallId, Result};
use farcall_client::{ByServer, CallOptions, Keep, KeptCall};
use serde_json::json;
use time::OffsetDateTime;

use super::call::{Files, assign, destinations, give, seconds};
use super::resources::ResourceArguments;
use super::which::{Unwanted, Which, forget};
use crate::connection::{ChosenServer, RunningServer, check_all_answered};
use crate::output::{end, end_by, print, print_json};
use crate::values::{Value, value};

/// The least time for waiting, so that the wait itself reports that it timed out.
const MOMENT: Duration = Duration::from_millis(1);
/// A day: long enough to come back tomorrow.
const KEEP: &str = "86400";

/// Submits a call that the server keeps.
#[derive(Args)]
pub struct SubmitArguments {
    /// The routine: MODULE/NAME, or NAME if only one module has it
    name: String,
    /// Arguments, as for `farcall call`
    #[arg(value_name = "ARGUMENT", allow_negative_numbers = true)]
    arguments: Vec<String>,
    /// Time to keep the results after the call has finished, in seconds, or as 90m, 12h or 7d
    #[arg(long, value_name = "TIME", default_value = KEEP, value_parser = seconds)]
    keep: Duration,
    /// Keep the call only in the server's memory: it is lost when the server stops
    #[arg(long)]
    volatile: bool,
    /// A name that `farcall kept` lists the call with
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Time limit for the routine once it runs; time in the queue does not count
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    run_timeout: Option<Duration>,
    /// Run on this server, of those that the server knows, and on no other: a name or an address that
    /// `farcall servers` lists
    #[arg(long, value_name = "ADDRESS")]
    at: Option<String>,
    #[command(flatten)]
    resources: ResourceArguments,
    #[command(flatten)]
    server: RunningServer,
}

/// Fetches the outcome of a submitted call.
#[derive(Args)]
pub struct FetchArguments {
    /// The id that `farcall submit` printed, or its first digits
    id: Which<CallId>,
    /// Write a result to a file (arrays as .npy or .mtx, files unchanged) instead of printing it;
    /// may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    out: Vec<String>,
    /// Time limit for connecting and for the call to finish
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Delete the call from the server after its results have arrived
    #[arg(long)]
    forget: bool,
    /// Print the results as a JSON object
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Lists the calls that the server keeps, or deletes some of them.
#[derive(Args)]
pub struct KeptArguments {
    /// Delete this call, by its id or its first digits, and cancel it if it still waits or runs; may
    /// be repeated; `all` deletes all
    #[arg(long, value_name = "ID")]
    forget: Vec<Unwanted<CallId>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Submits the call, prints its id, and exits: the call keeps running.
pub fn submit(arguments: &SubmitArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    let routine = client.routine(&arguments.name)?;
    let interface = routine.interface();
    let given = assign(interface, &arguments.arguments)?;
    let read = |(index, text): (usize, &str)| {
        Ok((index, value(interface, &interface.parameters[index], text)?))
    };
    let mut values: Vec<(usize, Value)> = given.into_iter().map(read).collect::<Result<_>>()?;
    let parameters = &interface.parameters;
    let named = values
        .iter_mut()
        .map(|(index, value)| (parameters[*index].name.as_str(), value.argument()));
    let keep = Keep { after_end: arguments.keep, durable: !arguments.volatile };
    let label = arguments.label.as_deref().map(Into::into);
    let run_timeout = arguments.run_timeout;
    let resources = arguments.resources.read()?;
    let at = arguments.at.as_deref().map(Into::into);
    let options = CallOptions { label, run_timeout, at, resources, ..CallOptions::default() };
    let id = routine.submit_with(named, keep, options)?;
    print(|out| writeln!(out, "{id}"))
}

/// Waits for the end of a call and prints its results.
pub fn fetch(arguments: &FetchArguments) -> Result<()> {
    let deadline = arguments.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    deadline.into_iter().for_each(end_by);
    let client = arguments.server.connect()?;
    let left = end().map(|end| end.saturating_duration_since(Instant::now()).max(MOMENT));
    let options = CallOptions { timeout: left, ..CallOptions::default() };
    let id = arguments.id.find(&client)?;
    let call = client.fetch(id, &options)?;
    let routine = call.routine();
    let interface = routine.interface();
    let mut contents = Vec::new();
    let files: Files = destinations(interface, &arguments.out, &mut contents)?;
    let outputs = call.wait()?;
    let contents: Vec<(usize, PathBuf)> = contents;
    give(interface, &outputs, files, contents, arguments.json)?;
    if arguments.forget { client.forget_call(id) } else { Ok(()) }
}

/// Deletes calls, or lists them.
pub fn kept(arguments: &KeptArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    forget(&client, &arguments.forget)?;
    if !arguments.forget.is_empty() {
        return Ok(());
    }
    let ByServer { answers, unanswered } = arguments.server.kept(&client)?;
    let calls =
        || answers.iter().flat_map(|(server, calls)| calls.iter().map(move |call| (server, call)));
    if arguments.json {
        print_json(&calls().map(|(server, call)| as_json(server, call)).collect())?;
    } else {
        let is_one = answers.len() == 1 && unanswered.is_empty();
        let place = |server: &str| if is_one { String::new() } else { format!(", at {server}") };
        print(|out| {
            calls().try_for_each(|(server, call)| writeln!(out, "{}{}", line(call), place(server)))
        })?;
    }
    check_all_answered(&unanswered)
}

/// What tells a call from others, and how long it stays.
fn line(call: &KeptCall) -> String {
    let KeptCall { id, routine, bytes, .. } = call;
    let mut line = format!("{id}  {:8}  {routine}  ", call.state.word());
    if let Some(note) = &call.note {
        line += &format!("{}  ", moment(note.submitted_us));
        if !note.label.is_empty() {
            line += &format!("\"{}\"  ", note.label);
        }
        if !note.arguments.is_empty() {
            line += &format!("{}  ", note.arguments);
        }
    }
    let lasts = if call.durable { "" } else { ", in memory" };
    let left = Duration::from_micros(call.left_us).as_secs();
    line + &format!("{bytes} bytes, {left} s left{lasts}")
}

/// A time of some microseconds since 1970, to the second.
fn moment(us: u64) -> String {
    let seconds = i64::try_from(us / 1_000_000).unwrap_or(i64::MAX);
    // Beyond the year 9999 no calendar says anything.
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!("{} {:02}:{:02}:{:02} UTC", time.date(), time.hour(), time.minute(), time.second())
}

fn as_json(server: &str, call: &KeptCall) -> serde_json::Value {
    json!({
        "server": server,
        "id": call.id.to_string(),
        "routine": call.routine,
        "state": call.state.word(),
        "bytes": call.bytes,
        "seconds_left": call.left_us as f64 / 1e6,
        "durable": call.durable,
        "principal": call.principal,
        "submitted": call.note.as_ref().map(|note| note.submitted_us as f64 / 1e6),
        "arguments": call.note.as_ref().map(|note| &note.arguments),
        "label": call.note.as_ref().map(|note| &note.label),
    })
}
