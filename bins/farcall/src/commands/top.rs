//! `farcall top`: who calls what on a server that runs, what waits, and what it uses.

mod json;
mod page;

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use clap::Args;
use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_client::{Client, Order, Status};
use rustix::termios::tcgetwinsize;

use crate::connection::RunningServer;
use crate::output::{Printable, at_most, is_screen, json_line, not_read, output, screen};

/// Time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Homes the cursor and clears what is below (ECMA-48, CUP and ED).
const CLEAR: &[u8] = b"\x1b[H\x1b[J";

/// Watches a server, or cancels calls.
#[derive(Args)]
pub struct TopArguments {
    #[command(flatten)]
    server: RunningServer,
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

/// What was seen, and when.
struct Look {
    status: Status,
    at: Instant,
}

/// Shows what goes on until the reader or the server is gone.
pub fn top(arguments: &TopArguments) -> Result<()> {
    let interval = interval(arguments.interval)?;
    let client = arguments.server.connect()?;
    if !arguments.cancel.is_empty() {
        let order = Order::EndCalls(arguments.cancel.clone());
        return client.administer(order, at_most(ANSWER_MAX)).map(drop);
    }
    let has_screen = is_screen(&stdout()) && !arguments.once && !arguments.json;
    let mut before = look(&client)?;
    loop {
        std::thread::sleep(interval);
        let now = look(&client)?;
        let seconds = (now.at - before.at).as_secs_f64();
        let text = match arguments.json {
            true => json_line(&json::line(&now.status, &before.status, seconds)) + "\n",
            false => page::page(&now.status, &before.status, seconds),
        };
        if !show(&text, has_screen)? || arguments.once {
            return Ok(());
        }
        before = now;
    }
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

fn look(client: &Client) -> Result<Look> {
    let status = client.status(at_most(ANSWER_MAX))?;
    Ok(Look { status, at: Instant::now() })
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
