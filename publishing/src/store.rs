//! Where a server keeps files that were sent to it to be published, and notes what was published
//! while it runs. When it is started again, what is to stay is published again, and of the rest it
//! is known that it was there.
//!
//! `NUMBER/record.json` says what was published, and beside it are the files that were sent. A
//! publication has a folder of its own, so that processes of an older one keep their files.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::directory::GoneModule;
use farcall_wire::PublishedFile;
use serde_json::{Value, json};

/// Modules of earlier lives of the server that are remembered: the newest.
const GONE_MAX: usize = 100;
/// Files of one publication.
const FILES_MAX: usize = 1000;
const RECORD: &str = "record.json";
const FILES: &str = "files";
const OPERATION: &str = "keep published files";

/// What was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The module.
    pub module: String,
    /// The names of its routines.
    pub routines: Vec<String>,
    /// The principal that published it.
    pub owner: String,
    /// The file that it is made from, on this host.
    pub file: PathBuf,
    /// How its publisher named that.
    pub named: String,
    /// Whether it is published again when the server is started again.
    pub stays: bool,
}

/// Files that were sent, in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    number: u64,
    /// The one that is to be published.
    pub main: PathBuf,
}

/// What is to be published again of what an earlier life of a server left in its folder; the folder
/// stays as it is.
pub fn staying(folder: Option<PathBuf>) -> Vec<Record> {
    let store = Store { folder, ..Store::default() };
    let mut numbers = store.numbers();
    numbers.sort_unstable();
    let records = numbers.into_iter().rev().filter_map(|number| store.read(number));
    let mut staying: Vec<Record> = Vec::new();
    for record in records.filter(|record| record.stays) {
        if staying.iter().all(|known| known.module != record.module) {
            staying.push(record);
        }
    }
    staying
}

/// Removes the files of what does not stay, which are needed no longer than their server. That it
/// was published is known on.
pub fn release(folder: Option<PathBuf>) {
    let store = Store { folder, ..Store::default() };
    for number in store.numbers() {
        match store.read(number) {
            Some(record) if !record.stays => store.remove_files(number),
            Some(_) => {}
            // It was on its way.
            None => store.remove(number),
        }
    }
}

/// The folder.
#[derive(Debug, Default)]
pub struct Store {
    /// None where this server has no place for it.
    folder: Option<PathBuf>,
    next: u64,
    /// The folders of the modules that are published now.
    held: BTreeMap<String, u64>,
}

impl Store {
    /// The folder, if there is one.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// Takes a folder, which need not be there. What is not needed any more in it is removed; gives
    /// the modules that were there, and are not any more.
    pub fn open(folder: Option<PathBuf>) -> (Store, Vec<GoneModule>) {
        let mut store = Store { folder, next: 1, held: BTreeMap::new() };
        let mut gone: Vec<GoneModule> = Vec::new();
        let mut numbers = store.numbers();
        numbers.sort_unstable();
        store.next = numbers.last().map_or(1, |last| last + 1);
        for number in numbers.into_iter().rev() {
            match store.read(number) {
                Some(record) if record.stays && !store.held.contains_key(&record.module) => {
                    store.held.insert(record.module, number);
                }
                Some(record) if gone.len() < GONE_MAX => {
                    store.remove_files(number);
                    gone.push(GoneModule {
                        module: record.module,
                        routines: record.routines,
                        file: record.named,
                    });
                }
                _ => store.remove(number),
            }
        }
        (store, gone)
    }

    /// Puts files that were sent into a place of their own.
    ///
    /// # Errors
    /// `InvalidArgument` for names that lead elsewhere, `Unavailable` without a folder, `System`.
    pub fn place(&mut self, files: &[PublishedFile]) -> Result<Placed> {
        let first = files.first().ok_or_else(|| wrong("the order has no files"))?;
        if files.len() > FILES_MAX {
            return Err(wrong(format!("the order has more than {FILES_MAX} files")));
        }
        files.iter().try_for_each(|file| check_name(&file.name))?;
        let number = self.begin()?;
        let folder = self.path(number)?.join(FILES);
        let main = folder.join(&first.name);
        let written = files.iter().try_for_each(|file| write(&folder.join(&file.name), file));
        match written {
            Ok(()) => Ok(Placed { number, main }),
            Err(error) => {
                self.remove(number);
                Err(Error::system(OPERATION, error).with("folder", folder.display()))
            }
        }
    }

    /// A place for files that come in pieces; the first one is to be published.
    ///
    /// # Errors
    /// As [`Store::place`].
    pub fn begin_files(&mut self, first: &str) -> Result<Placed> {
        check_name(first)?;
        let number = self.begin()?;
        let main = self.path(number)?.join(FILES).join(first);
        Ok(Placed { number, main })
    }

    /// What comes next in one of them.
    ///
    /// # Errors
    /// As [`Store::place`].
    pub fn append(&mut self, placed: &Placed, name: &str, content: &[u8]) -> Result<()> {
        check_name(name)?;
        let path = self.path(placed.number)?.join(FILES).join(name);
        let written = make_folder(&path).and_then(|()| {
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(0o600).open(&path)?.write_all(content)
        });
        written.map_err(|error| Error::system(OPERATION, error).with("file", path.display()))
    }

    /// What was placed could not be published.
    pub fn discard(&mut self, placed: &Placed) {
        self.remove(placed.number);
    }

    /// A module is published; `placed` is where its files lie, if they were sent. What it was
    /// before is forgotten.
    ///
    /// # Errors
    /// As [`Store::place`].
    pub fn note(&mut self, record: &Record, placed: Option<&Placed>) -> Result<()> {
        let number = placed.map_or_else(|| self.begin(), |placed| Ok(placed.number))?;
        let path = self.path(number)?.join(RECORD);
        let written = fs::write(&path, text_of(record));
        written.map_err(|error| Error::system(OPERATION, error).with("file", path.display()))?;
        let older = self.numbers().into_iter().filter(|other| {
            *other != number && self.read(*other).is_some_and(|known| known.module == record.module)
        });
        older.collect::<Vec<_>>().into_iter().for_each(|other| self.remove(other));
        self.held.insert(record.module.clone(), number);
        Ok(())
    }

    /// A module is withdrawn.
    pub fn forget(&mut self, module: &str) {
        if let Some(number) = self.held.remove(module) {
            self.remove(number);
        }
    }

    fn begin(&mut self) -> Result<u64> {
        let number = self.next;
        let folder = self.path(number)?;
        self.next += 1;
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&folder);
        made.map_err(|error| Error::system(OPERATION, error).with("folder", folder.display()))?;
        Ok(number)
    }

    fn path(&self, number: u64) -> Result<PathBuf> {
        let folder = self.folder.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, OPERATION, "this server has no folder for them")
                .fix("set HOME or XDG_STATE_HOME for the server")
        })?;
        Ok(folder.join(number.to_string()))
    }

    fn numbers(&self) -> Vec<u64> {
        let entries = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
        entries.into_iter().flatten().flatten().filter_map(number).collect()
    }

    fn read(&self, number: u64) -> Option<Record> {
        let text = fs::read(self.path(number).ok()?.join(RECORD)).ok()?;
        record_of(&serde_json::from_slice(&text).ok()?)
    }

    /// What cannot be removed harms nobody.
    fn remove(&self, number: u64) {
        if let Ok(path) = self.path(number) {
            let _ = fs::remove_dir_all(path);
        }
    }

    fn remove_files(&self, number: u64) {
        if let Ok(path) = self.path(number) {
            let _ = fs::remove_dir_all(path.join(FILES));
        }
    }
}

fn write(path: &Path, file: &PublishedFile) -> std::io::Result<()> {
    make_folder(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)?.write_all(&file.content)
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    DirBuilder::new().mode(0o700).recursive(true).create(folder)
}

/// A name that leads anywhere but below the folder is nobody's mistake.
fn check_name(name: &str) -> Result<()> {
    let mut parts = Path::new(name).components().peekable();
    let is_below = parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)));
    if is_below && !name.contains('\0') {
        return Ok(());
    }
    Err(wrong(format!("\"{}\" does not lie below the file's folder", name.escape_debug())))
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "publish files", message)
}

fn text_of(record: &Record) -> String {
    json!({
        "module": record.module,
        "routines": record.routines,
        "owner": record.owner,
        "file": record.file.to_string_lossy(),
        "named": record.named,
        "stays": record.stays,
    })
    .to_string()
}

fn record_of(value: &Value) -> Option<Record> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let routines = value["routines"].as_array()?.iter();
    Some(Record {
        module: text("module")?,
        routines: routines.filter_map(Value::as_str).map(str::to_owned).collect(),
        owner: text("owner")?,
        file: text("file")?.into(),
        named: text("named")?,
        stays: value["stays"].as_bool()?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "store_tests.rs"]
mod tests;
