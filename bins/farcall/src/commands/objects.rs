//! `farcall objects`: what a server holds for whom, and the end of it.

use std::fmt::Write;
use std::time::Duration;

use clap::Args;
use farcall_base::{ObjectId, Result};
use farcall_client::{ByServer, Client, ObjectStatus, Order, Status};
use serde_json::json;

use crate::connection::{ChosenServer, check_all_answered, with_silent};
use crate::output::{json_line, of_servers, print};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Lists objects, or deletes some.
#[derive(Args)]
pub struct ObjectsArguments {
    #[command(flatten)]
    server: ChosenServer,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    /// Delete these objects and cancel the calls on them; objects of other users need an
    /// administrator
    #[arg(long, value_name = "ID", num_args = 1..)]
    delete: Vec<ObjectId>,
}

/// Lists the objects, or deletes those that the option names.
pub fn objects(arguments: &ObjectsArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    let ByServer { answers, unanswered } = arguments.server.statuses(&client, ANSWER_MAX)?;
    if !arguments.delete.is_empty() {
        let deleted = delete_all(&client, &answers, &arguments.delete);
        return deleted.map_err(|error| with_silent(error, &unanswered));
    }
    let text = if arguments.json {
        answers.iter().map(|(server, status)| lines(server, status)).collect()
    } else {
        let tables = answers
            .iter()
            .map(|(server, status)| (server.as_str(), status.objects.is_empty(), table(status)));
        of_servers(&tables.collect::<Vec<_>>())
    };
    print(|out| out.write_all(text.as_bytes()))?;
    check_all_answered(&unanswered)
}

/// Each where it is; those that no server has, at the one that was connected to, which says so.
fn delete_all(client: &Client, answers: &[(String, Status)], ids: &[ObjectId]) -> Result<()> {
    let mut left = ids.to_vec();
    for (server, status) in answers.iter().skip(1) {
        let is_there = |id: &ObjectId| status.objects.iter().any(|object| object.id == *id);
        let (there, others): (Vec<ObjectId>, Vec<ObjectId>) = left.into_iter().partition(is_there);
        left = others;
        if !there.is_empty() {
            delete(&client.member(server)?, status, &there)?;
        }
    }
    match answers.first() {
        Some((_, status)) if !left.is_empty() => delete(client, status, &left),
        _ => Ok(()),
    }
}

/// Administrators delete anybody's objects; other users delete their own.
fn delete(client: &Client, status: &Status, ids: &[ObjectId]) -> Result<()> {
    if status.totals.is_some() {
        return client.administer(Order::Delete(ids.to_vec()), ANSWER_MAX).map(drop);
    }
    ids.iter().try_for_each(|id| client.release(*id, 1, Some(ANSWER_MAX)))
}

fn lines(server: &str, status: &Status) -> String {
    let line = |one: &ObjectStatus| {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let object = json!({
            "server": server,
            "id": one.id.to_string(),
            "principal": one.principal,
            "name": one.name,
            "state": one.state.word(),
            "calls": one.calls,
            "waiting": one.waiting,
            "age_seconds": seconds(one.age_ns),
            "lease_left_seconds": one.lease_left_ns.map(seconds),
            "pid": one.pid,
            "reason": one.reason,
        });
        json_line(&object) + "\n"
    };
    status.objects.iter().map(line).collect()
}

fn table(status: &Status) -> String {
    if status.objects.is_empty() {
        return "no objects\n".to_owned();
    }
    let width = status.objects.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).max(6);
    let whose =
        status.objects.iter().map(|one| one.principal.chars().count()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<32}  {:<width$}  {:<whose$}  {:<8}  {:>8}  {:>7}  {:>9}  PID",
        "ID", "OBJECT", "USER", "STATE", "CALLS", "WAITING", "LEASE"
    );
    for one in &status.objects {
        let lease =
            one.lease_left_ns.map_or("-".to_owned(), |left| format!("{:.0} s", left as f64 / 1e9));
        let pid = one.pid.map_or("-".to_owned(), |pid| pid.to_string());
        let id = one.id.to_string();
        let state = one.state.word();
        let reason = one.reason.as_ref().map_or(String::new(), |reason| format!("  {reason}"));
        let _ = writeln!(
            text,
            "{id:<32}  {:<width$}  {:<whose$}  {state:<8}  {:>8}  {:>7}  {lease:>9}  {pid}{reason}",
            one.name, one.principal, one.calls, one.waiting,
        );
    }
    let hidden = status.objects_held.saturating_sub(status.objects.len() as u64);
    if hidden > 0 {
        let _ = writeln!(text, "and {hidden} more");
    }
    text
}
