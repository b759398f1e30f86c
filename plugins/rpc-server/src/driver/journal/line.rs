//! A line of the logs: what there is to say of an event.

use std::time::{SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind, printable_json};
use serde::Serialize;
use time::OffsetDateTime;

use super::{Event, Life};
use crate::state::AuditRecord;

/// A line of the log. What is not known is left out.
#[derive(Default, Serialize)]
pub struct Line<'a> {
    pub time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<&'static str>,
    pub event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'a str>,
    /// The server that speaks for the principal, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routine: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(flatten)]
    pub subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// The executable or the connection that an event is about.
#[derive(Default, Serialize)]
pub struct Subject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// When things happened to a call, and what it moved.
#[derive(Serialize)]
pub struct Measures {
    pub queued_us: u64,
    pub started_us: u64,
    pub finished_us: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// What there is to say of an event.
pub fn line_of(time: SystemTime, event: &Event) -> Line<'_> {
    match event {
        Event::Record(record) => record_line(time, record),
        Event::Stranger(error) => {
            let peer = error
                .context()
                .iter()
                .find(|(key, _)| key == "peer")
                .map(|(_, value)| value.as_str());
            let outcome = Some(error.kind().name());
            let message = Some(error.message().to_owned());
            Line {
                time: moment(time),
                event: "connection",
                peer,
                outcome,
                message,
                ..Line::default()
            }
        }
        Event::Results(kind, words) | Event::Setup(kind, words) => Line {
            time: moment(time),
            event: if matches!(event, Event::Setup(..)) { "setup" } else { "results" },
            outcome: Some(kind.name()),
            message: Some(words.clone()),
            ..Line::default()
        },
        Event::Life(life) => life_line(time, life),
    }
}

fn life_line(time: SystemTime, life: &Life) -> Line<'_> {
    Line {
        time: moment(time),
        event: if life.executable.is_some() { "executable" } else { "connection" },
        principal: life.principal.as_deref(),
        peer: life.peer.as_deref(),
        subject: Subject {
            connection: life.connection,
            executable: life.executable,
            module: life.module.as_deref(),
            pid: life.pid,
        },
        outcome: Some(life.outcome),
        message: life.message.clone(),
        ..Line::default()
    }
}

fn record_line(time: SystemTime, record: &AuditRecord) -> Line<'_> {
    let call = record.call.as_ref();
    Line {
        time: moment(time),
        level: None,
        event: match (call, &record.order) {
            (Some(_), _) => "call",
            (None, Some(_)) => "order",
            (None, None) => "connection",
        },
        principal: Some(record.caller.rights.principal()),
        through: record.caller.through(),
        peer: Some(&record.caller.address),
        routine: call.map(|call| call.routine.as_str()),
        call: call.and_then(|call| call.id).map(|id| id.to_string()),
        parent: call.and_then(|call| call.parent).map(|id| id.to_string()),
        subject: Subject::default(),
        order: record.order.as_deref(),
        outcome: Some(record.failure.as_ref().map_or("done", |error| error.kind().name())),
        message: record
            .failure
            .as_ref()
            .filter(|error| call.is_none() || !may_quote(error.kind()))
            .map(words),
        measures: call.map(|call| Measures {
            queued_us: call.times.queued_ns / 1000,
            started_us: call.times.started_ns / 1000,
            finished_us: call.times.finished_ns / 1000,
            bytes_in: call.bytes_in,
            bytes_out: call.bytes_out,
        }),
        count: None,
    }
}

fn words(error: &Error) -> String {
    error.message().to_owned()
}

/// Whether what is said of a call of this outcome may quote its arguments: a value that is refused,
/// or words of the routine's and of the caller's function's own. Both logs have the kind, and the
/// caller has the words.
fn may_quote(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidArgument | ErrorKind::RoutineFailed)
}

/// How many events have no line of their own.
pub fn count_line_at(time: SystemTime, event: &'static str, count: u64) -> Line<'static> {
    Line { time: moment(time), event, count: Some(count), ..Line::default() }
}

/// A line as JSON.
pub fn text(line: &Line<'_>) -> String {
    let json = serde_json::to_string(line).expect("texts and numbers are always JSON");
    // Who looks at the file with `cat` or `tail` has a terminal, too.
    let mut text = printable_json(&json).into_owned();
    text.push('\n');
    text
}

/// RFC 3339, in UTC, with milliseconds.
pub fn moment(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    // A clock beyond the year 9999 is as wrong as one before 1970.
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        since.subsec_millis()
    )
}
