//! The results folder: the files of each call, for their owner alone, and one server at a time.
//!
//! | name | what is true of the call |
//! |---|---|
//! | `ID.waits` | it was accepted, and has not begun: the next server runs it |
//! | `ID.began` | it was accepted, and was passed to an executable |
//! | `ID.unstored` | it is over, and its outcome could not be written |
//! | `ID` | it is over, and this is its outcome |
//!
//! One state becomes the next by a change of name, which needs no room: a full disk cannot have a
//! call run twice, or say what is not true of it. What is told to anybody is on the disk before,
//! names included.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind as IoKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_link::packing::Packing;
use farcall_system::own_folder::{OwnFolder, Purpose, private_file};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

use super::accepted::AcceptedHead;
use super::file::{Head, damaged, write_arrays};

const OPERATION: &str = "keep a result";
/// A file that is being written.
const UNFINISHED: &str = ".new";
/// One that could not be read: kept for whoever looks into it, and never read again.
pub const DAMAGED: &str = ".damaged";

/// What stands behind a call's id in the name of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It waits.
    Waits,
    /// It has begun.
    Began,
    /// It is over; its outcome could not be written.
    Unstored,
    /// Its outcome.
    Over,
}

impl Stage {
    /// From the first to the last.
    pub const ALL: [Stage; 4] = [Stage::Waits, Stage::Began, Stage::Unstored, Stage::Over];

    fn suffix(self) -> &'static str {
        match self {
            Stage::Waits => ".waits",
            Stage::Began => ".began",
            Stage::Unstored => ".unstored",
            Stage::Over => "",
        }
    }
}

/// An open results folder.
pub struct Folder {
    own: OwnFolder,
    /// The place of the next call among those that wait.
    next_order: u64,
}

impl Folder {
    /// Opens the folder, and makes it where there is none.
    ///
    /// # Errors
    /// Those of [`OwnFolder::open`].
    pub fn open(path: &Path) -> Result<Folder> {
        const PURPOSE: Purpose = Purpose {
            operation: OPERATION,
            folder: "the results directory",
            option: "results_dir in farcall.toml",
        };
        Ok(Folder { own: OwnFolder::open(path, PURPOSE)?, next_order: 1 })
    }

    /// Whether the folder that is open still has its name: somebody may have removed it, or put
    /// another in its place.
    pub fn is_in_place(&self) -> bool {
        self.own.is_in_place()
    }

    /// The file of a call at a stage.
    pub fn place(&self, id: CallId, stage: Stage) -> PathBuf {
        self.own.path().join(format!("{id}{}", stage.suffix()))
    }

    fn sync(&self) -> Result<()> {
        self.own.sync().map_err(|error| Error::system(OPERATION, error))
    }

    /// Writes down that a call was accepted, with the arrays among its arguments if it waits, and
    /// has it on the disk when this returns.
    ///
    /// # Errors
    /// `LimitExceeded` for a full disk, `System` otherwise. Nothing of the call is there then.
    pub fn accept(&mut self, mut head: AcceptedHead, arrays: &mut [Packing]) -> Result<()> {
        head.order = self.next_order;
        let id = head.accepted.open.call;
        let stage = if head.accepted.has_begun { Stage::Began } else { Stage::Waits };
        self.write_file(id, stage, &head.encode(), arrays)?;
        self.next_order += 1;
        // A call that is refused must not run on another server.
        self.sync().inspect_err(|_| drop(self.erase(id)))
    }

    /// A call that waits is about to begin: that is on the disk when this returns, and another
    /// server never runs it. Fine, too, where nothing of it is there any more.
    ///
    /// # Errors
    /// `System`.
    pub fn begin(&self, id: CallId) -> Result<()> {
        self.turn(id, Stage::Waits, Stage::Began)
    }

    /// A call that was about to begin did not, and the server ends: it waits again.
    ///
    /// # Errors
    /// `System`.
    pub fn wait_again(&self, id: CallId) -> Result<()> {
        self.turn(id, Stage::Began, Stage::Waits)
    }

    fn turn(&self, id: CallId, from: Stage, to: Stage) -> Result<()> {
        match fs::rename(self.place(id, from), self.place(id, to)) {
            Err(error) if error.kind() == IoKind::NotFound => Ok(()),
            Err(error) => Err(disk_error(Error::system(OPERATION, error))),
            Ok(()) => self.sync(),
        }
    }

    /// A call has begun: nobody needs its arguments there any more. Where they stay, nothing is
    /// lost but room.
    pub fn trim(&self, id: CallId) {
        let _ = self.cut_arrays(id, &self.place(id, Stage::Began));
    }

    fn cut_arrays(&self, id: CallId, path: &Path) -> Result<()> {
        let mut file =
            private_file(path, OFlags::empty()).map_err(|error| Error::system(OPERATION, error))?;
        let bytes = file.metadata().map_err(|error| Error::system(OPERATION, error))?.len();
        let (_, length) = AcceptedHead::read(&mut file, bytes, id)?;
        if length < bytes {
            file.set_len(length).map_err(|error| Error::system(OPERATION, error))
        } else {
            Ok(())
        }
    }

    /// Writes a call's outcome, and has it on the disk when this returns; its bytes. What was there
    /// of the call before is gone then.
    ///
    /// # Errors
    /// `LimitExceeded` for a full disk, `System` otherwise: then no other server runs the call, and
    /// it says what became of it.
    pub fn store(&self, id: CallId, head: &Head, arrays: &mut [Packing]) -> Result<u64> {
        let written = self.write_file(id, Stage::Over, &head.encode(), arrays);
        let bytes = match written {
            Ok(bytes) => bytes,
            Err(error) => {
                self.mark_unstored(id);
                return Err(error);
            }
        };
        for stage in [Stage::Waits, Stage::Began, Stage::Unstored] {
            let _ = fs::remove_file(self.place(id, stage));
        }
        self.sync()?;
        Ok(bytes)
    }

    fn mark_unstored(&self, id: CallId) {
        let unstored = self.place(id, Stage::Unstored);
        let renamed = [Stage::Waits, Stage::Began]
            .map(|stage| fs::rename(self.place(id, stage), &unstored).is_ok());
        if renamed.contains(&true) {
            let _ = self.sync();
        }
    }

    /// Writes a file under another name, and gives it its own when all of it is on the disk.
    fn write_file(
        &self,
        id: CallId,
        stage: Stage,
        head: &[u8],
        arrays: &mut [Packing],
    ) -> Result<u64> {
        let place = self.place(id, stage);
        let unfinished = self.own.path().join(format!("{id}{UNFINISHED}"));
        let written = write_new(&unfinished, head, arrays).and_then(|bytes| {
            fs::rename(&unfinished, &place).map_err(|error| Error::system(OPERATION, error))?;
            Ok(bytes)
        });
        written.map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            disk_error(error).with("folder", self.own.path().display())
        })
    }

    /// Opens the file of a call at a stage; it must be the server's own, and no link.
    fn open_file(&self, id: CallId, stage: Stage) -> Result<(File, u64)> {
        let open = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(self.place(id, stage));
        let file = open.map_err(|error| match error.kind() {
            IoKind::NotFound => {
                Error::new(ErrorKind::NotFound, "read a result", "its file has disappeared")
            }
            _ => Error::system("read a result", error),
        })?;
        let about = file.metadata().map_err(|error| Error::system("read a result", error))?;
        if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
            return Err(damaged("the file does not belong to the server"));
        }
        Ok((file, about.len()))
    }

    /// Opens the file with a call's outcome and reads its head.
    ///
    /// # Errors
    /// `NotFound`, `Version`, `Damaged`.
    pub fn read(&self, id: CallId) -> Result<(File, Head)> {
        let (mut file, bytes) = self.open_file(id, Stage::Over)?;
        let head = Head::read(&mut file, bytes, id)?;
        Ok((file, head))
    }

    /// Opens the file of an accepted call and reads its head; the arrays come next. Also the bytes
    /// that are left.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub fn read_accepted(&self, id: CallId, stage: Stage) -> Result<(File, AcceptedHead, u64)> {
        let (mut file, bytes) = self.open_file(id, stage)?;
        let (head, length) = AcceptedHead::read(&mut file, bytes, id)?;
        Ok((file, head, bytes - length))
    }

    /// Removes what there is of a call, for good.
    ///
    /// # Errors
    /// `System` where it may come back.
    pub fn erase(&self, id: CallId) -> Result<()> {
        let mut removed = false;
        for stage in Stage::ALL {
            match fs::remove_file(self.place(id, stage)) {
                Ok(()) => removed = true,
                Err(error) if error.kind() == IoKind::NotFound => {}
                Err(error) => return Err(Error::system("forget a result", error).with("call", id)),
            }
        }
        if removed { self.sync() } else { Ok(()) }
    }

    /// The calls of which there is something, with all of their stages. Leftovers are removed;
    /// damaged files of earlier servers have `true`.
    pub fn list(&self) -> (BTreeMap<CallId, Vec<Stage>>, Vec<CallId>) {
        let mut calls: BTreeMap<CallId, Vec<Stage>> = BTreeMap::new();
        let mut damaged = Vec::new();
        for entry in fs::read_dir(self.own.path()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((id, suffix)) =
                name.split_at_checked(ID_DIGITS).and_then(|(id, rest)| Some((id_of(id)?, rest)))
            else {
                continue;
            };
            if suffix == UNFINISHED {
                let _ = fs::remove_file(entry.path());
            } else if suffix.ends_with(DAMAGED) {
                damaged.push(id);
            } else if let Some(stage) =
                Stage::ALL.into_iter().find(|stage| stage.suffix() == suffix)
            {
                calls.entry(id).or_default().push(stage);
            }
        }
        calls.values_mut().for_each(|stages| stages.sort());
        (calls, damaged)
    }

    /// Puts a file aside that cannot be read.
    pub fn put_aside(&self, id: CallId, stage: Stage) {
        let place = self.place(id, stage);
        let aside = self.own.path().join(format!("{id}{}{DAMAGED}", stage.suffix()));
        let _ = fs::rename(place, aside);
    }

    /// Calls that are accepted from now on stand behind this one.
    pub fn continue_after(&mut self, order: u64) {
        self.next_order = self.next_order.max(order.saturating_add(1));
    }
}

fn write_new(path: &Path, head: &[u8], arrays: &mut [Packing]) -> Result<u64> {
    let system = |error| Error::system(OPERATION, error);
    // A leftover of a server that died, or somebody's link.
    let _ = fs::remove_file(path);
    let mut file = private_file(path, OFlags::CREATE | OFlags::EXCL).map_err(system)?;
    let bytes = arrays.iter().map(Packing::left).fold(head.len() as u64, u64::saturating_add);
    // A disk without room says so before a byte is written; where the system cannot tell, writing
    // does.
    if let Err(error @ (Errno::NOSPC | Errno::DQUOT)) =
        fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes)
    {
        return Err(system(error.into()));
    }
    file.write_all(head).map_err(system)?;
    let bytes = write_arrays(&mut file, arrays)?;
    file.sync_all().map_err(system)?;
    Ok(head.len() as u64 + bytes)
}

/// What is told of a disk that takes no more.
pub fn disk_error(error: Error) -> Error {
    let full =
        error.to_string().contains("No space left") || error.to_string().contains("quota exceeded");
    if !full {
        let is_unfixed = error.kind() == ErrorKind::System;
        const FIX: &str =
            "check that its directory is writable, or set results_dir in farcall.toml to another";
        return if is_unfixed { error.fix(FIX) } else { error };
    }
    Error::new(ErrorKind::LimitExceeded, OPERATION, "the disk with the results directory is full")
        .fix(
            "free disk space, delete outcomes (`farcall kept`), or set results_dir in \
            farcall.toml to another disk",
        )
        .retryable()
}

/// The wall's clock: what is kept outlives the server's own.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

const ID_DIGITS: usize = 32;

fn id_of(name: &str) -> Option<CallId> {
    let digits = name.as_bytes();
    if digits.len() != ID_DIGITS
        || digits.iter().any(|digit| !matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let mut id = [0; 16];
    for (index, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&name[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(CallId(id))
}
