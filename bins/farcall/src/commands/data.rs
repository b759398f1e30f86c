//! `farcall data`: the values of this user's that stay at servers, and the end of them.

use std::fmt::Write;

use clap::Args;
use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_client::idl::data::DataKind;
use farcall_client::idl::interface::Order;
use farcall_client::{ByServer, Client, DataStatus};
use serde_json::{Value, json};

use super::which::{Unwanted, Which, Words, chosen};
use crate::connection::{ChosenServer, check_all_answered, with_silent};
use crate::output::{bytes, of_servers, print, print_json};

const DATA: Words = Words { operation: "find data", many: "data", list: "farcall data" };
/// What one answer tells of at most (spec/wire.md, section 12).
const LISTED_MAX: usize = 1000;

/// Lists data, or deletes some.
#[derive(Args)]
pub struct DataArguments {
    /// Delete this data, by its id or its first digits; `all` deletes all of yours. Calls that have
    /// it already finish
    #[arg(long, value_name = "ID", num_args = 1..)]
    delete: Vec<Unwanted<DataId>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ChosenServer,
}

/// Lists the data, or deletes what the option names.
pub fn data(arguments: &DataArguments) -> Result<()> {
    let client = arguments.server.connect()?;
    if arguments.delete.contains(&Unwanted::All) {
        return delete_all(&client, &arguments.server);
    }
    if !arguments.delete.is_empty() {
        return delete(&client, arguments);
    }
    let ByServer { answers, unanswered } = arguments.server.data(&client, &[])?;
    if arguments.json {
        let all =
            answers.iter().flat_map(|(server, data)| data.iter().map(move |one| (server, one)));
        print_json(&all.map(|(server, one)| as_json(server, one)).collect())?;
    } else {
        let tables: Vec<(&str, bool, String)> = answers
            .iter()
            .map(|(server, data)| (server.as_str(), data.is_empty(), table(data)))
            .collect();
        print(|out| out.write_all(of_servers(&tables).as_bytes()))?;
    }
    check_all_answered(&unanswered)
}

/// Deletes some data, each where it is. Nothing is deleted where one of them is not found.
fn delete(client: &Client, arguments: &DataArguments) -> Result<()> {
    let mut ids = Vec::new();
    for unwanted in &arguments.delete {
        match unwanted {
            Unwanted::One(Which::Exact(id)) => ids.push(*id),
            Unwanted::One(Which::Begins(digits)) => {
                let ByServer { answers, unanswered } = arguments.server.data(client, &[])?;
                let known = answers.iter().flat_map(|(_, data)| data.iter().map(|one| one.id));
                let found = chosen(digits, known, &DATA);
                ids.push(found.map_err(|error| with_silent(error, &unanswered))?);
            }
            Unwanted::All => {}
        }
    }
    let ByServer { answers, unanswered } = arguments.server.data(client, &ids)?;
    let is_there =
        |id: &DataId| answers.iter().any(|(_, data)| data.iter().any(|one| one.id == *id));
    match ids.iter().find(|id| !is_there(id)) {
        Some(id) => Err(with_silent(not_found(*id, client), &unanswered)),
        None => delete_where_it_is(client, &answers),
    }
}

/// A list of data may end before the last one: it is asked for again until it is empty.
fn delete_all(client: &Client, server: &ChosenServer) -> Result<()> {
    loop {
        let ByServer { answers, unanswered } = server.data(client, &[])?;
        if answers.iter().all(|(_, data)| data.is_empty()) {
            return check_all_answered(&unanswered);
        }
        delete_where_it_is(client, &answers)?;
    }
}

fn delete_where_it_is(client: &Client, answers: &[(String, Vec<DataStatus>)]) -> Result<()> {
    for (index, (server, data)) in answers.iter().enumerate() {
        let ids: Vec<DataId> = data.iter().map(|one| one.id).collect();
        match index {
            _ if ids.is_empty() => {}
            // The first is the one that was connected to.
            0 => client.delete_data(ids)?,
            _ => client.member(server)?.delete_data(ids)?,
        }
    }
    Ok(())
}

fn not_found(id: DataId, client: &Client) -> Error {
    Error::new(ErrorKind::NotFound, DATA.operation, "the server has no such data of yours")
        .with("data", id)
        .with("server", client.address())
        .fix("it was deleted, or its lease has ended; `farcall data` lists yours")
}

/// What it consists of, as far as that is known.
fn described(data: &DataStatus) -> String {
    let Some(kind) = DataKind::of_routine(&data.kind) else { return data.kind.clone() };
    let extents = match data.extents.as_slice() {
        [] => vec!["?".to_owned(); kind.rank],
        known => known.iter().map(u64::to_string).collect(),
    };
    format!("{}[{}]", kind.element.name(), extents.join(", "))
}

fn table(all: &[DataStatus]) -> String {
    if all.is_empty() {
        return "no data\n".to_owned();
    }
    let types: Vec<String> = all.iter().map(described).collect();
    let width = types.iter().map(|one| one.chars().count()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<32}  {:<width$}  {:>10}  {:<6}  {:>9}",
        "ID", "TYPE", "SIZE", "STATE", "LEFT"
    );
    for (one, kind) in all.iter().zip(types) {
        let left = one.left_us.map_or("-".to_owned(), |us| format!("{} s", us / 1_000_000));
        let reason =
            one.failure.clone().map_or(String::new(), |it| format!("  {}", Error::from(it)));
        let id = one.id.to_string();
        let state = one.state.word();
        let size = bytes(one.bytes);
        let _ =
            writeln!(text, "{id:<32}  {kind:<width$}  {size:>10}  {state:<6}  {left:>9}{reason}");
    }
    if all.len() >= LISTED_MAX {
        let _ = writeln!(text, "there may be more: {LISTED_MAX} are listed at most");
    }
    text
}

fn as_json(server: &str, data: &DataStatus) -> Value {
    let kind = DataKind::of_routine(&data.kind);
    let order = |kind: DataKind| if kind.order == Order::Row { "row" } else { "column" };
    json!({
        "server": server,
        "id": data.id.to_string(),
        "state": data.state.word(),
        "type": kind.map(|kind| kind.element.name()),
        "order": kind.map(order),
        "extents": data.extents,
        "bytes": data.bytes,
        "seconds_left": data.left_us.map(|us| us as f64 / 1e6),
        "principal": data.principal,
        "reason": data.failure.clone().map(|it| Error::from(it).to_string()),
    })
}
