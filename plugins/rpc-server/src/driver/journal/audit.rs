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
use std::time::{Duration, Instant, SystemTime};

use farcall_base::{Error, Result};
use farcall_system::outlet;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Event;
use super::line::{count_line_at, line_of, text};
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

/// Takes records. The last lines are written when it is dropped.
pub struct AuditLog {
    sender: Option<SyncSender<(SystemTime, Event)>>,
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
        self.send(Event::Record(record));
    }

    /// Logs whom a transport turned away.
    pub fn stranger(&self, error: Error) {
        self.send(Event::Stranger(error));
    }

    fn send(&self, entry: Event) {
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
    fn run(&mut self, receiver: &Receiver<(SystemTime, Event)>, dropped: &AtomicU64) {
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

fn line(time: SystemTime, event: &Event) -> String {
    text(&line_of(time, event))
}

fn count_line(event: &'static str, count: u64) -> String {
    text(&count_line_at(SystemTime::now(), event, count))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
