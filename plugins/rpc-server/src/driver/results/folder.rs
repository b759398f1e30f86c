//! The results folder: one file a call, for its owner alone, and one server at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind as IoKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_interfaces::packing::Packing;
use farcall_wire::{CallResult, CallTimes};
use rustix::fs::{FlockOperation, OFlags, flock};

use super::file::{Head, write_arrays};
use crate::step::Restored;

const OPERATION: &str = "keep a result";
/// A file that is being written.
const UNFINISHED: &str = ".new";
/// One that could not be read: kept for whoever looks into it, and never read again.
const DAMAGED: &str = ".damaged";

/// An open results folder.
pub struct Folder {
    path: PathBuf,
    /// The folder itself, to have names in it on the disk.
    handle: File,
    _lock: File,
}

impl Folder {
    /// Opens the folder, and makes it where there is none.
    ///
    /// # Errors
    /// `PermissionDenied` for one that others may write to, `Unavailable` for one that another server uses, `System`.
    pub fn open(path: &Path) -> Result<Folder> {
        let system = |error| Error::system(OPERATION, error).with("folder", path.display());
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(system)?;
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32)
            .open(path)
            .map_err(system)?;
        let about = handle.metadata().map_err(system)?;
        if about.mode() & 0o077 != 0 || about.uid() != rustix::process::geteuid().as_raw() {
            let message = "others may read or write the folder for results";
            return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message)
                .with("folder", path.display())
                .with("mode", format!("{:o}", about.mode() & 0o7777))
                .fix("chmod 700 it if it is yours alone, or set results_dir in farcall.toml to another"));
        }
        let lock = private(&path.join("lock"), OFlags::CREATE).map_err(system)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Error::new(ErrorKind::Unavailable, OPERATION, "another server uses the folder for results")
                .with("folder", path.display())
                .fix("give each server its own: results_dir in farcall.toml")
        })?;
        Ok(Folder { path: path.to_owned(), handle, _lock: lock })
    }

    fn place(&self, id: CallId) -> PathBuf {
        self.path.join(id.to_string())
    }

    /// Writes a call's file, and has it on the disk when this returns; its bytes.
    ///
    /// # Errors
    /// `LimitExceeded` for a full disk, `System` otherwise. What was there before stays then.
    pub fn write(&self, id: CallId, head: &Head, arrays: &mut [Packing]) -> Result<u64> {
        let (place, unfinished) = (self.place(id), self.path.join(format!("{id}{UNFINISHED}")));
        let written = self.write_new(&unfinished, head, arrays).and_then(|bytes| {
            fs::rename(&unfinished, &place).map_err(|error| Error::system(OPERATION, error))?;
            self.handle.sync_all().map_err(|error| Error::system(OPERATION, error))?;
            Ok(bytes)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            disk_error(error).with("folder", self.path.display())
        })
    }

    fn write_new(&self, path: &Path, head: &Head, arrays: &mut [Packing]) -> Result<u64> {
        let system = |error| Error::system(OPERATION, error);
        // A leftover of a server that died, or somebody's link.
        let _ = fs::remove_file(path);
        let mut file = private(path, OFlags::CREATE | OFlags::EXCL).map_err(system)?;
        let head = head.encode();
        file.write_all(&head).map_err(system)?;
        let bytes = write_arrays(&mut file, arrays)?;
        file.sync_all().map_err(system)?;
        Ok(head.len() as u64 + bytes)
    }

    /// Opens a call's file and reads its head.
    ///
    /// # Errors
    /// `NotFound`, `Damaged`.
    pub fn read(&self, id: CallId) -> Result<(File, Head)> {
        let open = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(self.place(id));
        let mut file = open.map_err(|error| match error.kind() {
            IoKind::NotFound => Error::new(ErrorKind::NotFound, "read a result", "its file is gone"),
            _ => Error::system("read a result", error),
        })?;
        let about = file.metadata().map_err(|error| Error::system("read a result", error))?;
        if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(super::file::damaged("it is not a file of the server's"));
        }
        let head = Head::read(&mut file, about.len(), id)?;
        Ok((file, head))
    }

    /// Removes a call's file.
    pub fn erase(&self, id: CallId) {
        let _ = fs::remove_file(self.place(id));
    }

    /// What is there from an earlier server, at most `calls_max` calls, and what is wrong with the rest. Calls that were
    /// open when it ended have failed; what was to be forgotten by now is.
    pub fn restore(&self, calls_max: usize) -> (Vec<Restored>, Vec<Error>) {
        let (mut restored, mut wrong) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(UNFINISHED) {
                let _ = fs::remove_file(entry.path());
                continue;
            }
            let Some(id) = id_of(&name) else { continue };
            if restored.len() >= calls_max {
                wrong.push(Error::new(ErrorKind::LimitExceeded, "read a result", "more are kept than results_max"));
                return (restored, wrong);
            }
            match self.restore_one(id) {
                Ok(one) => restored.extend(one),
                Err(error) => {
                    if error.kind() == ErrorKind::Damaged {
                        let _ = fs::rename(entry.path(), self.path.join(format!("{name}{DAMAGED}")));
                    }
                    wrong.push(error.with("file", entry.path().display()));
                }
            }
        }
        (restored, wrong)
    }

    fn restore_one(&self, id: CallId) -> Result<Option<Restored>> {
        let (file, mut head) = self.read(id)?;
        let mut bytes = file.metadata().map_err(|error| Error::system("read a result", error))?.len();
        let now = since_1970();
        let Some(expires) = head.expires else {
            head.result = Some(ended_with_server());
            head.expires = Some(now + head.keep.after_end());
            bytes = self.write(id, &head, &mut [])?;
            return Ok(Some(restored(id, head, bytes, now)));
        };
        if expires <= now {
            self.erase(id);
            return Ok(None);
        }
        Ok(Some(restored(id, head, bytes, now)))
    }
}

fn restored(id: CallId, head: Head, bytes: u64, now: Duration) -> Restored {
    Restored {
        id,
        failed: head.result.is_some_and(|result| result.failure.is_some()),
        // A clock that was set back keeps nothing for longer than was asked for.
        left: head.expires.unwrap_or_default().saturating_sub(now).min(head.keep.after_end()),
        routine: head.routine,
        principal: head.principal,
        keep: head.keep,
        bytes,
    }
}

/// What becomes of a call that was open when the server ended.
fn ended_with_server() -> CallResult {
    let error = Error::new(ErrorKind::ShuttingDown, "run a routine", "the server ended while it ran")
        .fix("submit it again if it may run twice: how far it came is not known");
    CallResult { failure: Some((&error).into()), results: Vec::new(), times: CallTimes::default(), attributes: None }
}

/// A file for its owner alone, which is no link.
fn private(path: &Path, flags: OFlags) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(flags.contains(OFlags::CREATE))
        .create_new(flags.contains(OFlags::EXCL))
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
}

/// What is told of a disk that takes no more.
pub fn disk_error(error: Error) -> Error {
    let full = error.to_string().contains("No space left") || error.to_string().contains("quota exceeded");
    if !full {
        let is_unfixed = error.kind() == ErrorKind::System;
        const FIX: &str = "see that its folder can be written to, or set results_dir in farcall.toml to another";
        return if is_unfixed { error.fix(FIX) } else { error };
    }
    Error::new(ErrorKind::LimitExceeded, OPERATION, "the disk with the results folder is full")
        .fix("make room there, forget outcomes (`farcall kept`), or set results_dir in farcall.toml to another disk")
        .retryable()
}

/// The wall's clock: what is kept outlives the server's own.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn id_of(name: &str) -> Option<CallId> {
    let digits = name.as_bytes();
    if digits.len() != 32 || digits.iter().any(|digit| !matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut id = [0; 16];
    for (index, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&name[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(CallId(id))
}
