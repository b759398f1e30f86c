//! `farcall transactions`: the transactions of this user at servers, where their calls ran, what they
//! made, and the end of them.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result, TransactionId};
use farcall_client::{ByServer, Client, TimedCall, TransactionResult, TransactionStatus};
use serde_json::{Value, json};

use super::which::{Unwanted, Which, Words, chosen};
use crate::connection::{ChosenServer, check_all_answered, with_silent};
use crate::output::{of_servers, print, print_json};

const TRANSACTIONS: Words =
    Words { operation: "find a transaction", many: "transactions", list: "farcall transactions" };
/// What one answer tells of at most (spec/wire.md, section 13).
const LISTED_MAX: usize = 1000;

/// Lists transactions, shows one, or ends some.
#[derive(Args)]
pub struct TransactionsArguments {
    /// Show when and where the calls of this transaction ran: its id, or its first digits
    #[arg(value_name = "ID", conflicts_with = "end")]
    id: Option<Which<TransactionId>>,
    /// Show which results of the transaction the server keeps: `farcall fetch` prints a value by its
    /// id
    #[arg(long, requires = "id")]
    results: bool,
    /// End these transactions, by their ids or the first digits; `all` ends all of yours. Calls that
    /// run are canceled, and results are deleted
    #[arg(long, value_name = "ID", num_args = 1..)]
    end: Vec<Unwanted<TransactionId>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Lists transactions, shows the one that is named, or ends what the option names.
pub fn transactions(arguments: &TransactionsArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    if arguments.end.contains(&Unwanted::All) {
        return end_all(&client, &arguments.server);
    }
    if !arguments.end.is_empty() {
        return end(&client, arguments);
    }
    if let Some(which) = &arguments.id {
        return show(&client, which, arguments);
    }
    let ByServer { answers, unanswered } = arguments.server.transactions(&client, &[])?;
    if arguments.json {
        let all = answers.iter().flat_map(|(server, all)| all.iter().map(move |one| (server, one)));
        print_json(&all.map(|(server, one)| as_json(server, one)).collect())?;
    } else {
        let tables: Vec<(&str, bool, String)> = answers
            .iter()
            .map(|(server, all)| (server.as_str(), all.is_empty(), table(all)))
            .collect();
        print(|out| out.write_all(of_servers(&tables).as_bytes()))?;
    }
    check_all_answered(&unanswered)
}

/// One transaction: the calls, or the results.
fn show(
    client: &Client,
    which: &Which<TransactionId>,
    arguments: &TransactionsArguments,
) -> Result<()> {
    let found = find(client, &arguments.server, &[which])?;
    let (id, at) = found.first().ok_or_else(|| Error::internal("find a transaction", "no id"))?;
    let at = at_server(client, at)?;
    if arguments.results {
        let results = at.transaction_results(*id)?;
        return match arguments.json {
            true => print_json(&results.iter().map(result_as_json).collect()),
            false => print(|out| out.write_all(results_table(&results).as_bytes())),
        };
    }
    let calls = at.timeline(*id)?;
    match arguments.json {
        true => print_json(&calls.iter().enumerate().map(call_as_json).collect()),
        false => print(|out| out.write_all(timeline(&calls).as_bytes())),
    }
}

/// The server that has a transaction: where that is not the one that was connected to, its name.
type At = Option<String>;

fn at_server(client: &Client, at: &At) -> Result<Client> {
    at.as_ref().map_or_else(|| Ok(client.clone()), |server| client.member(server))
}

/// The ids of transactions, and where they are. All of them must be found.
fn find(
    client: &Client,
    server: &ChosenServer,
    all: &[&Which<TransactionId>],
) -> Result<Vec<(TransactionId, At)>> {
    let mut ids = Vec::new();
    for which in all {
        match which {
            Which::Exact(id) => ids.push(*id),
            Which::Begins(digits) => {
                let ByServer { answers, unanswered } = server.transactions(client, &[])?;
                let known = answers.iter().flat_map(|(_, all)| all.iter().map(|one| one.id));
                let found = chosen(digits, known, &TRANSACTIONS);
                ids.push(found.map_err(|error| with_silent(error, &unanswered))?);
            }
        }
    }
    let ByServer { answers, unanswered } = server.transactions(client, &ids)?;
    let place = |id: &TransactionId| {
        let has = |(_, all): &(String, Vec<TransactionStatus>)| all.iter().any(|one| one.id == *id);
        let index = answers.iter().position(has)?;
        // The first is the one that was connected to.
        Some((*id, (index > 0).then(|| answers[index].0.clone())))
    };
    let found =
        |id| place(id).ok_or_else(|| with_silent(not_found(*id, client.address()), &unanswered));
    ids.iter().map(found).collect()
}

/// Ends some transactions, each where it is. None is ended where one of them is not found.
fn end(client: &Client, arguments: &TransactionsArguments) -> Result<()> {
    let named = arguments.end.iter().filter_map(|unwanted| match unwanted {
        Unwanted::One(which) => Some(which),
        Unwanted::All => None,
    });
    let named: Vec<&Which<TransactionId>> = named.collect();
    for (id, at) in find(client, &arguments.server, &named)? {
        at_server(client, &at)?.end_transactions(vec![id])?;
    }
    Ok(())
}

/// A list may end before the last one: it is asked for again until it is empty.
fn end_all(client: &Client, server: &ChosenServer) -> Result<()> {
    loop {
        let ByServer { answers, unanswered } = server.transactions(client, &[])?;
        if answers.iter().all(|(_, all)| all.is_empty()) {
            return check_all_answered(&unanswered);
        }
        for (index, (name, all)) in answers.iter().enumerate() {
            let ids: Vec<TransactionId> = all.iter().map(|one| one.id).collect();
            if !ids.is_empty() {
                at_server(client, &(index > 0).then(|| name.clone()))?.end_transactions(ids)?;
            }
        }
    }
}

fn not_found(id: TransactionId, server: &str) -> Error {
    let message = "the server has no such transaction of yours";
    Error::new(ErrorKind::NotFound, TRANSACTIONS.operation, message)
        .with("transaction", id)
        .with("server", server)
        .fix("it was ended, or its time has passed; `farcall transactions` lists yours")
}

fn state(one: &TransactionStatus) -> &'static str {
    if one.is_over { "ended" } else { "running" }
}

fn table(all: &[TransactionStatus]) -> String {
    if all.is_empty() {
        return "no transactions\n".to_owned();
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<32}  {:<7}  {:>8}  {:>8}  {:>8}  {:>9}  {:>9}",
        "ID", "STATE", "CALLS", "RETURNED", "FAILED", "AGE", "LEFT"
    );
    for one in all {
        let seconds = |us: u64| format!("{} s", us / 1_000_000);
        let left = one.left_us.map_or("-".to_owned(), seconds);
        let reason =
            one.failure.clone().map_or(String::new(), |it| format!("  {}", Error::from(it)));
        let TransactionStatus { id, calls, returned, failed, age_us, .. } = one;
        let _ = writeln!(
            text,
            "{id:<32}  {:<7}  {calls:>8}  {returned:>8}  {failed:>8}  {:>9}  {left:>9}{reason}",
            state(one),
            seconds(*age_us),
        );
    }
    if all.len() >= LISTED_MAX {
        let _ = writeln!(text, "there may be more: {LISTED_MAX} are listed at most");
    }
    text
}

fn timeline(calls: &[TimedCall]) -> String {
    let width = |names: &mut dyn Iterator<Item = &str>, head: &str| {
        names.map(|name| name.chars().count()).max().unwrap_or(0).max(head.len())
    };
    let routine = width(&mut calls.iter().map(|one| &*one.routine), "ROUTINE");
    let server = width(&mut calls.iter().map(server_of), "SERVER");
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>6}  {:<routine$}  {:<server$}  {:<8}  {:>5}  {:>11}  {:>11}  {:>11}  {:>11}",
        "CALL", "ROUTINE", "SERVER", "STATE", "TRIES", "READY", "OPENED", "BEGUN", "ENDED"
    );
    let time = |time: Option<Duration>| {
        time.map_or("-".to_owned(), |time| format!("{:.6} s", time.as_secs_f64()))
    };
    for (number, one) in calls.iter().enumerate() {
        let _ = writeln!(
            text,
            "{number:>6}  {:<routine$}  {:<server$}  {:<8}  {:>5}  {:>11}  {:>11}  {:>11}  {:>11}",
            one.routine,
            server_of(one),
            one.state.words(),
            one.attempts,
            time(one.ready),
            time(one.opened),
            time(one.begun),
            time(one.ended),
        );
    }
    text
}

fn server_of(call: &TimedCall) -> &str {
    call.server.as_deref().unwrap_or("-")
}

fn results_table(results: &[TransactionResult]) -> String {
    if results.is_empty() {
        return "no results are kept\n".to_owned();
    }
    let mut text = String::new();
    let _ = writeln!(text, "{:>6}  {:<32}  RESULT", "CALL", "ID");
    for TransactionResult { call, routine, parameter, data } in results {
        let _ = writeln!(text, "{call:>6}  {data:<32}  {parameter} of {routine}");
    }
    text
}

fn as_json(server: &str, one: &TransactionStatus) -> Value {
    json!({
        "server": server,
        "id": one.id.to_string(),
        "state": state(one),
        "calls": one.calls,
        "returned": one.returned,
        "failed": one.failed,
        "age": one.age_us as f64 / 1e6,
        "seconds_left": one.left_us.map(|us| us as f64 / 1e6),
        "principal": one.principal,
        "reason": one.failure.clone().map(|it| Error::from(it).to_string()),
    })
}

fn call_as_json((number, one): (usize, &TimedCall)) -> Value {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    json!({
        "call": number,
        "routine": &*one.routine,
        "server": one.server.as_deref(),
        "state": one.state.words(),
        "attempts": one.attempts,
        "ready": seconds(one.ready),
        "opened": seconds(one.opened),
        "begun": seconds(one.begun),
        "ended": seconds(one.ended),
    })
}

fn result_as_json(one: &TransactionResult) -> Value {
    json!({
        "call": one.call,
        "routine": one.routine,
        "parameter": one.parameter,
        "data": one.data.to_string(),
    })
}
