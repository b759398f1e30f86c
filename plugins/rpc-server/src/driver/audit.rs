//! The audit log: one JSON object a line, written by a thread of its own.
//!
//! Nothing here makes the server wait: records go through a queue of bounded length, and what finds
//! it full is counted and the count logged. A disk that is full costs lines, which are counted as
//! well, and is reported on standard error.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind, Result, printable_json};
use farcall_system::outlet;
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Serialize;

use crate::Options;
use crate::state::AuditRecord;

const OPERATION: &str = "write the audit log";
/// How often a disk that takes nothing is complained about.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);
/// Time for which a complaint waits for somebody who reads it.
const COMPLAINT_MAX: Duration = Duration::from_millis(200);
/// How often it is looked whether records were dropped while nothing is written.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Time for the last lines when the server ends: a disk that hangs must not keep it.
const END_MAX: Duration = Duration::from_secs(2);
const SECONDS_A_DAY: u64 = 86_400;
/// What may be done with the file at most: a group may read it, which collects logs.
const MODE_MAX: u32 = 0o640;

/// Where the log is, and how much of it is kept.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The file.
    pub path: PathBuf,
    /// Bytes of one file; a full one is kept under another name.
    pub file_bytes_max: u64,
    /// Files that are kept beside the one that is written.
    pub files_max: usize,
    /// Records that wait to be written.
    pub records_max: usize,
}

impl AuditOptions {
    /// Where the manifest wants a log, if it does.
    pub fn of(options: &Options) -> Option<AuditOptions> {
        (!options.audit_file.is_empty()).then(|| AuditOptions {
            path: options.audit_file.clone().into(),
            file_bytes_max: options.audit_bytes_max,
            files_max: options.audit_files_max,
            records_max: options.audit_records_max,
        })
    }
}

/// What is logged.
pub enum Entry {
    Record(Arc<AuditRecord>),
    /// Somebody whom a transport turned away.
    Stranger(Error),
    /// Something is wrong with what is kept: how, and in words. In the log only.
    Results(ErrorKind, String),
    /// An executable or a connection begins or ends. In the log only.
    Life(Life),
}

/// The start or the end of an executable or a connection.
#[derive(Default)]
pub struct Life {
    /// What the server knows it by: one of both.
    pub executable: Option<u64>,
    pub connection: Option<u64>,
    /// What an executable runs, and its process.
    pub module: Option<String>,
    pub pid: Option<u32>,
    /// Who has a connection, and where they are.
    pub principal: Option<String>,
    pub peer: Option<String>,
    /// In a word, and in more.
    pub outcome: &'static str,
    pub message: Option<String>,
}

/// Takes records. The last lines are written when it is dropped.
pub struct AuditLog {
    sender: Option<SyncSender<(SystemTime, Entry)>>,
    dropped: Arc<AtomicU64>,
    ended: Receiver<()>,
}

impl AuditLog {
    /// Opens the file, and makes it for its owner alone where there is none.
    ///
    /// # Errors
    /// `System` when it cannot be written.
    pub fn open(options: AuditOptions) -> Result<AuditLog> {
        let file = open(&options.path).map_err(|error| {
            Error::system(OPERATION, error).with("path", options.path.display()).fix(
                "set audit_file in farcall.toml to a regular file of this user, or to one \
                    that does not exist",
            )
        })?;
        let (sender, receiver) = sync_channel(options.records_max);
        let (done, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let written = file.metadata().map_or(0, |status| status.len());
        let mut writer = Writer { options, file, written, lost: 0, torn: false, complained: None };
        let count = dropped.clone();
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                writer.run(&receiver, &count);
                let _ = done.send(());
            })
            .map_err(|error| Error::system("start the audit log", error))?;
        Ok(AuditLog { sender: Some(sender), dropped, ended })
    }

    /// Logs what became of a call or a connection.
    pub fn record(&self, record: Arc<AuditRecord>) {
        self.send(Entry::Record(record));
    }

    /// Logs whom a transport turned away.
    pub fn stranger(&self, error: Error) {
        self.send(Entry::Stranger(error));
    }

    fn send(&self, entry: Entry) {
        let sender = self.sender.as_ref().expect("it is there until the log is dropped");
        if sender.try_send((SystemTime::now(), entry)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.sender = None;
        let _ = self.ended.recv_timeout(END_MAX);
    }
}

/// Opens the log, and no other file that somebody put in its place: a link, or another user's. What
/// others may do with it is taken from them, but for a group that reads.
fn open(path: &Path) -> std::io::Result<File> {
    let refused = |words: &str| std::io::Error::new(std::io::ErrorKind::InvalidInput, words);
    // NONBLOCK: a FIFO would not open before somebody reads it, and would hold the writer when
    // nobody does.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).expect("open flags fit a C int");
    let opened =
        OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => refused("it is a symbolic link"),
        Some(Errno::NXIO) => {
            refused("it is not a regular file: a FIFO that nobody reads, or a socket")
        }
        _ => error,
    })?;
    let status = file.metadata()?;
    if status.file_type().is_char_device() {
        // The system's, and not ours to change.
        return Ok(file);
    }
    if status.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("it belongs to another user"));
    }
    if status.mode() & 0o7777 & !MODE_MAX != 0 {
        file.set_permissions(Permissions::from_mode(status.mode() & MODE_MAX))?;
    }
    Ok(file)
}

struct Writer {
    options: AuditOptions,
    file: File,
    /// Bytes in the file.
    written: u64,
    /// Lines that the disk did not take since the last that it did.
    lost: u64,
    /// Whether the file ends in the middle of a line.
    torn: bool,
    complained: Option<Instant>,
}

impl Writer {
    fn run(&mut self, receiver: &Receiver<(SystemTime, Entry)>, dropped: &AtomicU64) {
        loop {
            let next = receiver.recv_timeout(LOOK_EVERY);
            let count = dropped.swap(0, Ordering::Relaxed);
            if count > 0 {
                self.write(&count_line("dropped", count));
            }
            match next {
                Ok((time, entry)) => self.write(&line(time, &entry)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write(&mut self, line: &str) {
        self.follow();
        if self.written + line.len() as u64 > self.options.file_bytes_max && self.written > 0 {
            self.rotate();
        }
        let mut text = String::new();
        if self.torn {
            text.push('\n');
        }
        if self.lost > 0 {
            text += &count_line("lost", self.lost);
        }
        text += line;
        match write_some(&mut self.file, text.as_bytes()) {
            Ok(()) => (self.lost, self.torn) = (0, false),
            Err((taken, error)) => {
                self.torn |= taken > 0;
                self.lost += 1;
                self.complain(&error);
            }
        }
        // Asked and not added up: what a full disk took of a line counts, too.
        self.written = self.file.metadata().map_or(self.written, |status| status.len());
    }

    /// Another program moved the file away or removed it, as those that rotate logs do: the next
    /// line begins a new one.
    fn follow(&mut self) {
        let status = |status: &fs::Metadata| (status.dev(), status.ino());
        let open_now = self.file.metadata().map(|open| status(&open)).ok();
        match fs::symlink_metadata(&self.options.path) {
            Ok(there) if Some(status(&there)) == open_now => {}
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {}
            _ => self.begin_anew(),
        }
    }

    /// A file at the log's place. Where none can be made the old one goes on: better too long, or
    /// elsewhere, than nothing.
    fn begin_anew(&mut self) {
        match open(&self.options.path) {
            Ok(file) => {
                self.written = file.metadata().map_or(0, |status| status.len());
                (self.file, self.torn) = (file, false);
            }
            Err(error) => self.complain(&error),
        }
    }

    fn complain(&mut self, error: &std::io::Error) {
        if self.complained.is_some_and(|at| at.elapsed() < COMPLAIN_EVERY) {
            return;
        }
        self.complained = Some(Instant::now());
        let path = self.options.path.display();
        let (lost, fix) = match error.kind() {
            std::io::ErrorKind::StorageFull => ("lines are lost: ", "make room"),
            _ if self.lost > 0 => ("lines are lost: ", "give the server's user write permission"),
            _ => (
                "logging continues in the old file: ",
                "let the server's user create regular files there",
            ),
        };
        let words = format!("farcall: {OPERATION}: {lost}{error} (path: {path}); {fix}\n");
        // Nobody may be reading.
        let _ = outlet::error().write(words.as_bytes(), COMPLAINT_MAX);
    }

    /// FILE becomes FILE.1, that FILE.2, and so on; the oldest goes.
    fn rotate(&mut self) {
        let kept = |number: usize| {
            let mut name = self.options.path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.options.files_max).rev() {
            let _ = fs::rename(kept(number), kept(number + 1));
        }
        let moved = match self.options.files_max {
            0 => fs::remove_file(&self.options.path),
            _ => fs::rename(&self.options.path, kept(1)),
        };
        match moved {
            Ok(()) => self.begin_anew(),
            Err(error) => self.complain(&error),
        }
    }
}

/// All of the bytes, or how many were taken before the trouble.
fn write_some(file: &mut File, bytes: &[u8]) -> std::result::Result<(), (usize, std::io::Error)> {
    let mut taken = 0;
    while taken < bytes.len() {
        match file.write(&bytes[taken..]) {
            Ok(0) => return Err((taken, std::io::ErrorKind::WriteZero.into())),
            Ok(count) => taken += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err((taken, error)),
        }
    }
    Ok(())
}

/// A line of the log. What is not known is left out.
#[derive(Default, Serialize)]
pub struct Line<'a> {
    pub time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<&'static str>,
    pub event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routine: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
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

#[derive(Serialize)]
pub struct Measures {
    pub queued_us: u64,
    pub started_us: u64,
    pub finished_us: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

fn line(time: SystemTime, entry: &Entry) -> String {
    text(&line_of(time, entry))
}

/// What there is to say of an event.
pub fn line_of(time: SystemTime, entry: &Entry) -> Line<'_> {
    match entry {
        Entry::Record(record) => record_line(time, record),
        Entry::Stranger(error) => {
            let peer = error
                .context()
                .iter()
                .find(|(key, _)| key == "peer")
                .map(|(_, value)| value.as_str());
            let (outcome, message) = (Some(error.kind().name()), Some(error.message().to_owned()));
            Line {
                time: moment(time),
                event: "connection",
                peer,
                outcome,
                message,
                ..Line::default()
            }
        }
        Entry::Results(kind, words) => Line {
            time: moment(time),
            event: "results",
            outcome: Some(kind.name()),
            message: Some(words.clone()),
            ..Line::default()
        },
        Entry::Life(life) => life_line(time, life),
    }
}

fn life_line(time: SystemTime, life: &Life) -> Line<'_> {
    Line {
        time: moment(time),
        event: if life.executable.is_some() { "executable" } else { "connection" },
        principal: life.principal.as_deref(),
        peer: life.peer.as_deref(),
        connection: life.connection,
        executable: life.executable,
        module: life.module.as_deref(),
        pid: life.pid,
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
        peer: Some(&record.caller.address),
        routine: call.map(|call| call.routine.as_str()),
        call: call.and_then(|call| call.id).map(|id| id.to_string()),
        parent: call.and_then(|call| call.parent).map(|id| id.to_string()),
        connection: None,
        executable: None,
        module: None,
        pid: None,
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

fn count_line(event: &'static str, count: u64) -> String {
    text(&count_line_at(SystemTime::now(), event, count))
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
    let (days, rest) = (since.as_secs() / SECONDS_A_DAY, since.as_secs() % SECONDS_A_DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        since.subsec_millis()
    )
}

/// Year, month and day of a number of days since 1970, by counting from March of the year 0: then
/// the day that some years have more is the last one (H. Hinnant, "chrono-compatible low-level date
/// algorithms", civil_from_days).
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + era * 400 + u64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
