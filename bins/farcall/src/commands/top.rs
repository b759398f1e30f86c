//! `farcall top`: who calls what on a server that runs, what waits, and what it uses.

mod json;
mod page;

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_client::{ByServer, Client, Order, Status, Unanswered};
use rustix::termios::tcgetwinsize;

use crate::connection::{ChosenServer, check_all_answered, with_silent};
use crate::output::{Printable, at_most, is_screen, json_line, not_read, output, screen};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Homes the cursor and clears what is below (ECMA-48, CUP and ED).
const CLEAR: &[u8] = b"\x1b[H\x1b[J";

/// Watches a server, or cancels calls.
#[derive(Args)]
pub struct TopArguments {
    #[command(flatten)]
    server: ChosenServer,
    /// Print once, with rates over one interval, and exit
    #[arg(long)]
    pub(super) once: bool,
    /// Print JSON, one object per line and interval
    #[arg(long)]
    json: bool,
    /// Seconds between updates
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true)]
    interval: f64,
    /// Cancel these open calls, by the ids in the last table; calls of other users need an
    /// administrator
    #[arg(long, value_name = "ID", num_args = 1..)]
    cancel: Vec<CallId>,
}

/// What was seen of each server, and when.
struct Look {
    statuses: Vec<(String, Status)>,
    unanswered: Vec<Unanswered>,
    at: Instant,
}

impl Look {
    /// What the same server said; nothing of one that is new.
    fn of(&self, server: &str) -> Option<&Status> {
        self.statuses.iter().find(|(name, _)| name == server).map(|(_, status)| status)
    }

    /// A line for each server.
    fn json(&self, before: &Look, seconds: f64) -> String {
        let line = |(server, now): &(String, Status)| {
            let before = before.of(server).unwrap_or(now);
            json_line(&json::line(server, now, before, seconds)) + "\n"
        };
        self.statuses.iter().map(line).collect()
    }

    /// A page for each server, and a line for each that did not answer.
    fn pages(&self, before: &Look, seconds: f64) -> String {
        let is_alone = self.statuses.len() == 1 && self.unanswered.is_empty();
        let page = |(server, now): &(String, Status)| {
            let page = page::page(now, before.of(server).unwrap_or(now), seconds);
            if is_alone { page } else { format!("{server}: {page}") }
        };
        let silent =
            |one: &Unanswered| format!("{}: no answer: {}\n", one.server, one.error.message());
        let pages = self.statuses.iter().map(page);
        let silent: String = self.unanswered.iter().map(silent).collect();
        let pages: Vec<String> = pages.chain((!silent.is_empty()).then_some(silent)).collect();
        pages.join("\n")
    }
}

/// Shows what goes on until the reader or the server is gone.
pub fn top(arguments: &TopArguments) -> Result<()> {
    let interval = interval(arguments.interval)?;
    let client = arguments.server.connect()?;
    if !arguments.cancel.is_empty() {
        return cancel(arguments, &client);
    }
    let has_screen = is_screen(&stdout()) && !arguments.once && !arguments.json;
    let mut before = look(arguments, &client)?;
    loop {
        std::thread::sleep(interval);
        let now = look(arguments, &client)?;
        let seconds = (now.at - before.at).as_secs_f64();
        let text = match arguments.json {
            true => now.json(&before, seconds),
            false => now.pages(&before, seconds),
        };
        let is_read = show(&text, has_screen)?;
        if arguments.once {
            return check_all_answered(&now.unanswered);
        }
        if !is_read {
            return Ok(());
        }
        before = now;
    }
}

/// Cancels each call where it is; those that no server has, at the one that was connected to, which
/// says so.
fn cancel(arguments: &TopArguments, client: &Client) -> Result<()> {
    let order = |client: &Client, ids: Vec<CallId>| {
        client.administer(Order::EndCalls(ids), at_most(ANSWER_MAX)).map(drop)
    };
    let mut left = arguments.cancel.clone();
    if !arguments.server.is_one_of_several(client)? {
        return order(client, left);
    }
    let Look { statuses, unanswered, .. } = look(arguments, client)?;
    for (server, status) in statuses.iter().skip(1) {
        let is_there = |id: &CallId| status.calls.iter().any(|call| call.id == *id);
        let (there, others): (Vec<CallId>, Vec<CallId>) = left.into_iter().partition(is_there);
        left = others;
        if !there.is_empty() {
            order(&client.member(server)?, there)?;
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    order(client, left).map_err(|error| with_silent(error, &unanswered))
}

fn interval(seconds: f64) -> Result<Duration> {
    let time =
        Duration::try_from_secs_f64(seconds).ok().filter(|time| *time >= Duration::from_millis(10));
    time.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            "watch a server",
            format!("{seconds} s is not an interval"),
        )
        .fix("write seconds, at least 0.01: --interval 2")
    })
}

fn look(arguments: &TopArguments, client: &Client) -> Result<Look> {
    let asked = arguments.server.statuses(client, at_most(ANSWER_MAX))?;
    let ByServer { answers, unanswered } = asked;
    Ok(Look { statuses: answers, unanswered, at: Instant::now() })
}

/// False when nobody reads any more.
fn show(text: &str, is_screen: bool) -> Result<bool> {
    let (cleared, text) = match tcgetwinsize(stdout()).ok().filter(|_| is_screen) {
        Some(size) => (CLEAR, page::fitted(text, size.ws_row.into(), size.ws_col.into())),
        None => (&b""[..], text.to_owned()),
    };
    let mut out = if is_screen { screen() } else { output() };
    let mut page = cleared.to_vec();
    Printable(&mut page)
        .write_all(text.as_bytes())
        .map_err(|error| Error::system("write the output", error))?;
    match out.write_all(&page) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Err(not_read()),
        Err(error) => Err(Error::system("write the output", error)),
    }
}
