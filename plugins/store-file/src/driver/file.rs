//! The table on the disk. Each batch is one transaction of redb: on the disk before anybody hears of
//! it, and whole after every crash.

mod tables;

use std::io::ErrorKind::{InvalidData, UnexpectedEof};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use farcall_base::{Error, ErrorKind, Result};
use farcall_sealed::Sealer;
use farcall_services::store::{Change, Changed, Condition, Entry, Version};
use farcall_system::random_bytes::random_bytes;
use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableDatabase, ReadableTable};
use rustix::io::Errno;

use super::folder::Folder;
use crate::options::Settings;
use crate::state::{Numbers, State};
use tables::{ENTRIES, SEAL, Tables, page};

/// What fails when the file cannot be used.
pub const OPERATION: &str = "use the store";
/// Of the table in memory: it is small, and the system keeps its file in memory as well.
const CACHE_BYTES: usize = 16 << 20;
/// What shows that a key is the right one: this text, sealed under its own name.
const CHECK: &str = "farcall store";

/// What a batch consists of.
pub enum Work {
    Write { conditions: Vec<Condition>, changes: Vec<Change> },
    Read { prefix: String, after: Option<String>, limit: usize },
}

/// What became of each.
pub enum Answer {
    Write(Result<Option<Version>>),
    Read(Result<Vec<Entry>>),
}

/// A file that is open.
pub struct StoreFile {
    database: Database,
    sealer: Sealer,
    path: PathBuf,
    /// Held as long as the file is open.
    _folder: Folder,
}

impl StoreFile {
    /// Opens the file, makes it if it is absent, and removes the keys whose leases ended with
    /// an earlier process.
    ///
    /// # Errors
    /// `Damaged`, `Unavailable`, `PermissionDenied`, `NotFound`, `System`: why there is no store.
    pub fn open(settings: &Settings) -> Result<(StoreFile, Numbers)> {
        let folder = Folder::open(&settings.folder()?)?;
        let path = folder.table();
        let file = folder.open_table()?;
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        let open = || {
            let backend = FileBackend::new(file).map_err(fault)?;
            builder.create_with_backend(backend).map_err(fault)
        };
        let opened = guarded(open).and_then(|database| {
            guarded(|| {
                let (sealer, numbers) = prepare(&database, &folder, settings)?;
                Ok((database, sealer, numbers))
            })
        });
        let (database, sealer, numbers) = opened.map_err(|error| at(error, &path))?;
        Ok((StoreFile { database, sealer, path, _folder: folder }, numbers))
    }

    /// Does all of a batch, and gives what became of each part; or nothing of it, with an error.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn serve(
        &self,
        state: &mut State,
        work: Vec<Work>,
        told: &mut Vec<Changed>,
    ) -> Result<Vec<Answer>> {
        let is_written = work.iter().any(|one| matches!(one, Work::Write { .. }));
        let served =
            guarded(|| if is_written { self.write(state, work, told) } else { self.read(work) });
        served.map_err(|error| at(error, &self.path))
    }

    fn write(
        &self,
        state: &mut State,
        work: Vec<Work>,
        told: &mut Vec<Changed>,
    ) -> Result<Vec<Answer>> {
        // By default a commit is on the disk when it returns.
        let transaction = self.database.begin_write().map_err(fault)?;
        let before = state.numbers;
        let mut tables = Tables::open(&transaction)?;
        let mut answers = Vec::with_capacity(work.len());
        for one in work {
            answers.push(match one {
                Work::Write { conditions, changes } => {
                    let done = tables.write(state, &self.sealer, &conditions, changes, told)?;
                    Answer::Write(done)
                }
                Work::Read { prefix, after, limit } => {
                    Answer::Read(self.page(&tables.entries, &prefix, after.as_deref(), limit)?)
                }
            });
        }
        // A batch in which no condition held leaves the disk alone.
        if state.numbers == before {
            drop(tables);
            transaction.abort().map_err(fault)?;
            return Ok(answers);
        }
        tables.keep(state.numbers)?;
        drop(tables);
        transaction.commit().map_err(fault)?;
        Ok(answers)
    }

    fn read(&self, work: Vec<Work>) -> Result<Vec<Answer>> {
        let transaction = self.database.begin_read().map_err(fault)?;
        let entries = transaction.open_table(ENTRIES).map_err(fault)?;
        let reads = work.into_iter().filter_map(|one| match one {
            Work::Read { prefix, after, limit } => Some((prefix, after, limit)),
            Work::Write { .. } => None,
        });
        let read = |(prefix, after, limit): (String, Option<String>, usize)| {
            self.page(&entries, &prefix, after.as_deref(), limit).map(Answer::Read)
        };
        reads.map(read).collect()
    }

    /// An inner error is that of one value, an outer one the file's.
    fn page(
        &self,
        entries: &impl ReadableTable<&'static str, &'static [u8]>,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Result<Vec<Entry>>> {
        let sealed = page(entries, prefix, after, limit)?;
        let open = |entry: Entry| {
            let opened = self.sealer.open(&entry.key, entry.value);
            let value = opened.map_err(|error| at(error.with("key", &entry.key), &self.path))?;
            Ok(Entry { value, ..entry })
        };
        Ok(sealed.into_iter().map(open).collect())
    }
}

/// What is done when a file was opened: its key is checked, and what ended with an earlier process
/// is removed.
fn prepare(database: &Database, folder: &Folder, settings: &Settings) -> Result<(Sealer, Numbers)> {
    let transaction = database.begin_write().map_err(fault)?;
    let mut seal = transaction.open_table(SEAL).map_err(fault)?;
    let check = seal.get(CHECK).map_err(fault)?.map(|check| check.value().to_vec());
    let sealer = folder.sealer(&settings.key_file, check.is_none())?;
    match check {
        Some(check) => drop(sealer.open(CHECK, check).map_err(|_| {
            let message = "the key file is not the one that the store was written with";
            Error::new(ErrorKind::Damaged, OPERATION, message)
                .fix("put the right key file back, or move the directory of the store away")
        })?),
        None => {
            let check = sealer.seal(random_bytes()?, CHECK, CHECK.as_bytes());
            seal.insert(CHECK, check.as_slice()).map_err(fault)?;
        }
    }
    drop(seal);
    let mut tables = Tables::open(&transaction)?;
    let numbers = tables.end_leases()?;
    tables.keep(numbers)?;
    drop(tables);
    transaction.commit().map_err(fault)?;
    Ok((sealer, numbers))
}

/// Works on the file. redb panics at some kinds of damage: that is an error like others here.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(broken("it cannot be read")))
}

fn at(error: Error, path: &std::path::Path) -> Error {
    error.with("file", path.display())
}

fn broken(message: impl Into<String>) -> Error {
    let message = format!("the file is damaged: {}", message.into());
    Error::new(ErrorKind::Damaged, OPERATION, message)
        .fix("move the directory of the store away, or put a copy of it back; what it kept is lost")
}

/// What is wrong with a file.
pub fn fault(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::Corrupted(message) => broken(message),
        redb::Error::UpgradeRequired(version) => broken(format!("its format is {version}")),
        redb::Error::Io(error) if is_full(&error) => {
            let message = "the disk with the store is full";
            Error::new(ErrorKind::LimitExceeded, OPERATION, message)
                .source(error)
                .fix("free disk space, or set folder of store-file in farcall.toml to another disk")
        }
        // It is cut off, or another kind of file.
        redb::Error::Io(error) if matches!(error.kind(), InvalidData | UnexpectedEof) => {
            broken(error.to_string())
        }
        redb::Error::Io(error) => Error::system(OPERATION, error),
        error @ (redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableDoesNotExist(_)) => broken(error.to_string()),
        redb::Error::DatabaseAlreadyOpen => {
            Error::new(ErrorKind::Unavailable, OPERATION, "another process has the file open")
                .fix("stop it: `fuser FILE` shows which")
                .retryable()
        }
        other => Error::new(ErrorKind::System, OPERATION, other.to_string()),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    let full = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    full.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
