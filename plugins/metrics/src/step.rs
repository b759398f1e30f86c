//! Questions in, answers out: as much of HTTP/1.1 (RFC 9112) as one page needs. Pure.

use std::time::Duration;

use farcall_base::{Instant, Result};
use farcall_wire::Status;

use crate::process::Process;
use crate::state::{Client, State};
use crate::text;

/// The only page.
const PATH: &str = "/metrics";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// What is to be done about a client that sent something.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: more is to come, or an answer waits to be sent.
    Wait,
    /// The server is to be asked: tell [`State::told`].
    Ask,
}

impl State {
    /// Somebody connected: their number, and whom they displace where there are too many. That is
    /// who came first of those that have not asked yet, so that nobody keeps others out by saying
    /// nothing; then whoever came first of all.
    pub fn accepted(&mut self, now: Instant) -> (u64, Option<u64>) {
        let displaced = (self.clients.len() >= self.limits.clients_max)
            .then(|| self.to_be_displaced())
            .flatten();
        displaced.map(|number| self.clients.remove(&number));
        self.next += 1;
        let until = now + Duration::from_millis(self.limits.patience_ms);
        self.clients
            .insert(self.next, Client { question: Vec::new(), answer: None, waits: false, until });
        (self.next, displaced)
    }

    fn to_be_displaced(&self) -> Option<u64> {
        let silent =
            self.clients.iter().find(|(_, client)| !client.waits && client.answer.is_none());
        silent.or_else(|| self.clients.iter().next()).map(|(number, _)| *number)
    }

    /// A client sent something.
    pub fn received(&mut self, number: u64, bytes: &[u8]) -> Next {
        let bytes_max = self.limits.request_bytes_max;
        let Some(client) = self.clients.get_mut(&number) else { return Next::Wait };
        if client.waits || client.answer.is_some() {
            // What else it says is not listened to.
            return Next::Wait;
        }
        client.question.extend_from_slice(bytes);
        let end = client.question.windows(HEAD_END.len()).position(|four| four == HEAD_END);
        let refusal = match end {
            Some(end) if end <= bytes_max => match page(&client.question[..end]) {
                Ok(()) => {
                    client.waits = true;
                    return Next::Ask;
                }
                Err(refusal) => refusal,
            },
            None if client.question.len() <= bytes_max => return Next::Wait,
            _ => "431 Request Header Fields Too Large",
        };
        client.answer =
            Some((answer(refusal, "text/plain; charset=utf-8", &format!("{refusal}\n")), 0));
        Next::Wait
    }

    /// What the server said for a client.
    pub fn told(&mut self, number: u64, status: Result<Box<Status>>, process: &Process) {
        let Some(client) = self.clients.get_mut(&number).filter(|client| client.waits) else {
            return;
        };
        client.waits = false;
        let answer = match status {
            Ok(status) => answer("200 OK", text::CONTENT_TYPE, &text::metrics(&status, process)),
            Err(error) => answer(
                "503 Service Unavailable",
                "text/plain; charset=utf-8",
                &format!("{error}\n"),
            ),
        };
        client.answer = Some((answer, 0));
    }

    /// What is to be sent to a client now.
    pub fn poll_send(&self, number: u64) -> Option<&[u8]> {
        let (answer, sent) = self.clients.get(&number)?.answer.as_ref()?;
        Some(&answer[*sent..])
    }

    /// So much of it has left; true when that was all.
    pub fn sent(&mut self, number: u64, count: usize) -> bool {
        let Some((answer, sent)) =
            self.clients.get_mut(&number).and_then(|client| client.answer.as_mut())
        else {
            return true;
        };
        *sent += count;
        *sent >= answer.len()
    }

    /// A client is gone.
    pub fn gone(&mut self, number: u64) {
        self.clients.remove(&number);
    }

    /// When somebody is to be cut off, if anybody is connected.
    pub fn next_tick(&self) -> Option<Instant> {
        self.clients.values().map(|client| client.until).min()
    }

    /// Those whose time is over.
    pub fn overdue(&self, now: Instant) -> Vec<u64> {
        self.clients
            .iter()
            .filter(|(_, client)| client.until <= now)
            .map(|(number, _)| *number)
            .collect()
    }
}

/// Whether a request's head asks for the page; otherwise what it is answered.
fn page(head: &[u8]) -> std::result::Result<(), &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "400 Bad Request")?;
    let words: Vec<&str> = head.lines().next().unwrap_or("").split(' ').collect();
    match words[..] {
        [_, _, version] if !version.starts_with("HTTP/1.") => Err("505 HTTP Version Not Supported"),
        ["GET", target, _] if target.split('?').next() == Some(PATH) => Ok(()),
        ["GET", _, _] => Err("404 Not Found"),
        [_, _, _] => Err("405 Method Not Allowed"),
        _ => Err("400 Bad Request"),
    }
}

fn answer(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: \
            {}\r\n{allow}Connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
