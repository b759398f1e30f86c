//! The log: a line for each event that is worth one, on standard error, written by a thread of its
//! own.
//!
//! It has what the audit log has of an event, and its level. It never makes the server wait: what
//! finds the queue full, or more lines in a second than are allowed, is counted, and the count
//! logged.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use farcall_base::{Error, ErrorKind, Result, printable_line};

use super::line::{Line, count_line_at, line_of, text};
use super::{Event, Life};
use crate::Options;
use crate::options::{LogFormat, LogLevel};
use crate::state::AuditRecord;

/// Lines that wait to be written.
const QUEUE_MAX: usize = 1024;
/// How often it is looked whether something was left out while nothing is written.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time for the last lines when the server ends: a reader that hangs must not keep it.
const END_MAX: Duration = Duration::from_secs(1);

/// What is logged, and how.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// The least that is worth a line.
    pub level: LogLevel,
    /// How lines are written.
    pub format: LogFormat,
    /// Lines in one second.
    pub lines_max: u64,
}

impl LogOptions {
    /// What the manifest wants logged, if it wants anything.
    pub fn of(options: &Options) -> Option<LogOptions> {
        let level = options.log_level;
        let format = options.log_format;
        (level != LogLevel::Off).then_some(LogOptions {
            level,
            format,
            lines_max: options.log_lines_max,
        })
    }
}

/// Takes events. The last lines are written when it is dropped.
pub struct Log {
    level: LogLevel,
    sender: Option<SyncSender<(SystemTime, LogLevel, Event)>>,
    dropped: Arc<AtomicU64>,
    ended: Receiver<()>,
}

impl Log {
    /// A log that is written to `out`.
    ///
    /// # Errors
    /// `System` when no thread can be started.
    pub fn open(options: LogOptions, out: impl Write + Send + 'static) -> Result<Log> {
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        let (done, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = Writer { options, out, second: Instant::now(), lines: 0, left_out: 0 };
        let count = dropped.clone();
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || {
                writer.run(&receiver, &count);
                let _ = done.send(());
            })
            .map_err(|error| Error::system("start the log", error))?;
        Ok(Log { level: options.level, sender: Some(sender), dropped, ended })
    }

    /// Logs what became of a call, a connection or an order.
    pub fn record(&self, record: &Arc<AuditRecord>) {
        self.send(level_of(record), || Event::Record(record.clone()));
    }

    /// Logs whom a transport turned away.
    pub fn stranger(&self, error: &Error) {
        let copy = || Error::from(farcall_wire::Failure::from(error));
        self.send(LogLevel::Warn, || Event::Stranger(copy()));
    }

    /// Logs what is wrong with what is kept, with the file that it is about.
    pub fn results(&self, error: &Error) {
        self.send(LogLevel::Warn, || Event::Results(error.kind(), error.to_string()));
    }

    /// Logs what is wrong with how the server is set up.
    pub fn warn(&self, error: &Error) {
        self.send(LogLevel::Warn, || Event::Setup(error.kind(), error.to_string()));
    }

    /// Logs the start or the end of an executable or a connection.
    pub fn life(&self, level: LogLevel, life: impl FnOnce() -> Life) {
        self.send(level, || Event::Life(life()));
    }

    fn send(&self, level: LogLevel, event: impl FnOnce() -> Event) {
        if level > self.level {
            return;
        }
        let sender = self.sender.as_ref().expect("it is there until the log is dropped");
        if sender.try_send((SystemTime::now(), level, event())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.sender = None;
        let _ = self.ended.recv_timeout(END_MAX);
    }
}

/// What an admin should look at is a warning; what users do wrong is not.
fn level_of(record: &AuditRecord) -> LogLevel {
    match record.failure.as_ref().map(Error::kind) {
        Some(
            ErrorKind::PermissionDenied
            | ErrorKind::RoutineCrashed
            | ErrorKind::RoutineExited
            | ErrorKind::Internal,
        ) => LogLevel::Warn,
        Some(_) if record.call.is_none() && record.order.is_none() => LogLevel::Warn,
        Some(_) => LogLevel::Info,
        None if record.order.is_some() => LogLevel::Info,
        None => LogLevel::Debug,
    }
}

struct Writer<W> {
    options: LogOptions,
    out: W,
    /// The second that is counted, and its lines.
    second: Instant,
    lines: u64,
    /// Lines that it had too many.
    left_out: u64,
}

impl<W: Write> Writer<W> {
    fn run(&mut self, receiver: &Receiver<(SystemTime, LogLevel, Event)>, dropped: &AtomicU64) {
        loop {
            let next = receiver.recv_timeout(LOOK_EVERY);
            self.count_seconds();
            let count = dropped.swap(0, Ordering::Relaxed);
            if count > 0 {
                self.say(LogLevel::Warn, count_line_at(SystemTime::now(), "dropped", count));
            }
            match next {
                Ok((time, level, event)) => self.event(time, level, &event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.say_what_is_left_out(),
            }
        }
    }

    fn count_seconds(&mut self) {
        if self.second.elapsed() >= Duration::from_secs(1) {
            (self.second, self.lines) = (Instant::now(), 0);
            self.say_what_is_left_out();
        }
    }

    fn say_what_is_left_out(&mut self) {
        if self.left_out > 0 {
            let count = std::mem::take(&mut self.left_out);
            self.say(LogLevel::Warn, count_line_at(SystemTime::now(), "left out", count));
        }
    }

    fn event(&mut self, time: SystemTime, level: LogLevel, event: &Event) {
        if self.lines >= self.options.lines_max {
            self.left_out += 1;
            return;
        }
        self.lines += 1;
        self.say(level, line_of(time, event));
    }

    fn say(&mut self, level: LogLevel, mut line: Line<'_>) {
        line.level = Some(level.name());
        let text = match self.options.format {
            LogFormat::Json => text(&line),
            LogFormat::Text => plain(&line),
        };
        // Nobody may be reading: there is nobody to tell that either.
        let _ = self.out.write_all(text.as_bytes());
    }
}

/// `TIME LEVEL EVENT key=value …`, where what is no plain word is quoted.
fn plain(line: &Line<'_>) -> String {
    let level = line.level.unwrap_or("info");
    let mut all = format!("{} {level} {}", line.time, line.event);
    let numbers =
        [line.subject.connection, line.subject.executable, line.subject.pid.map(u64::from)]
            .map(|one| one.map(|n| n.to_string()));
    let words = [
        ("principal", line.principal),
        ("peer", line.peer),
        ("routine", line.routine),
        ("call", line.call.as_deref()),
        ("connection", numbers[0].as_deref()),
        ("executable", numbers[1].as_deref()),
        ("module", line.subject.module),
        ("pid", numbers[2].as_deref()),
        ("order", line.order),
        ("outcome", line.outcome),
        ("message", line.message.as_deref()),
    ];
    for (key, value) in words.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
        all += &format!(" {key}={}", quoted(value));
    }
    if let Some(measures) = &line.measures {
        all += &format!(
            " finished_us={} in={} out={}",
            measures.finished_us, measures.bytes_in, measures.bytes_out
        );
    }
    if let Some(count) = line.count {
        all += &format!(" count={count}");
    }
    all.push('\n');
    all
}

fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '=';
    if !value.is_empty() && value.chars().all(is_plain) {
        value.to_owned()
    } else {
        printable_line(&format!("{value:?}")).into_owned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
