//! The caller's files: read while a call is on its way, replaced when it has succeeded.

mod coming;
mod several;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::content::{CHECKSUM_BYTES, ContentCheck, ContentReader, Outgoing};
use farcall_link::contents::{ContentsReader, Promised};
use rustix::fs::{Access, OFlags, access};

pub use coming::{Came, Coming};
pub use several::Contents;

/// Names tried for a file beside the caller's.
const NAMES_MAX: usize = 100;
/// Longest content of a file that has another size than it says: it is held while it is sent.
const MADE_UP_BYTES_MAX: u64 = 16 << 20;

/// A content that a call sends.
pub struct SentFile {
    /// The parameter's.
    pub slot: usize,
    /// Where it is read from; `None`: from memory.
    path: Option<PathBuf>,
    reader: Box<dyn Outgoing>,
}

impl SentFile {
    /// The file at `path`, as it is now.
    pub fn open(slot: usize, path: &[u8]) -> Result<SentFile> {
        let path = Path::new(OsStr::from_bytes(path));
        Ok(SentFile { slot, path: Some(path.to_path_buf()), reader: Box::new(opened(path)?) })
    }

    /// The files at these paths, one after the other; `None` is NULL. Each is opened when its turn
    /// comes.
    pub fn several(slot: usize, paths: &[Option<Vec<u8>>]) -> Result<SentFile> {
        let promised =
            |path: &Option<Vec<u8>>| path.as_ref().map(|path| promised(path)).transpose();
        let contents = paths.iter().map(promised).collect::<Result<Vec<_>>>()?;
        Ok(SentFile { slot, path: None, reader: Box::new(ContentsReader::new(contents)) })
    }

    /// A content of the caller's own.
    pub fn of_bytes(slot: usize, bytes: Vec<u8>) -> SentFile {
        SentFile { slot, path: None, reader: Box::new(ContentReader::of_bytes(bytes)) }
    }

    /// Texts of the caller's, one after the other; `None` is NULL.
    pub fn texts(slot: usize, texts: &[Option<Vec<u8>>]) -> SentFile {
        let promised = |text: &Vec<u8>| {
            let text = text.clone();
            let bytes = text.len() as u64;
            Promised { bytes, open: Box::new(move || Ok(ContentReader::of_bytes(text))) }
        };
        let contents = texts.iter().map(|text| text.as_ref().map(promised)).collect();
        SentFile { slot, path: None, reader: Box::new(ContentsReader::new(contents)) }
    }

    /// What travels of it next.
    pub fn reader(&mut self) -> &mut dyn Outgoing {
        &mut *self.reader
    }

    /// Bytes that travel, and how many of them are left.
    pub fn progress(&self) -> (u64, u64) {
        (self.reader.travelling(), self.reader.left())
    }

    /// Why what was sent is not what was promised.
    pub fn trouble(&self) -> Option<Error> {
        let error = Error::from(farcall_wire::Failure::from(self.reader.trouble()?));
        Some(self.path.iter().fold(error, |error, path| error.with("file", path.display())))
    }
}

/// The file at `path`, as it is now.
fn opened(path: &Path) -> Result<ContentReader> {
    // The usual name of an empty file, though it is a device.
    if path == Path::new("/dev/null") {
        return Ok(ContentReader::of_bytes(Vec::new()));
    }
    // Nothing that is no file must keep us waiting.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| trouble("read", path, &error))?;
    let failed = |error: std::io::Error| trouble("read", path, &error);
    let data = file.metadata().map_err(failed)?;
    check_ordinary("read", path, &data)?;
    match is_made_up(&file, data.len()).map_err(failed)? {
        true => Ok(ContentReader::of_bytes(all_of(&file, path)?)),
        false => ContentReader::of_file(file),
    }
}

/// A file that is opened again when it is to be sent: a program has not as many descriptors as
/// files.
fn promised(path: &[u8]) -> Result<Promised> {
    let path = Path::new(OsStr::from_bytes(path)).to_path_buf();
    let content = opened(&path)?;
    let bytes = content.travelling() - CHECKSUM_BYTES;
    let open = move || opened(&path).map_err(|error| error.with("file", path.display()));
    Ok(Promised { bytes, open: Box::new(open) })
}

/// Where a content that comes back goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// To the caller, as bytes.
    Memory,
    /// To a file.
    File(Replaced),
}

/// A file of the caller's that is made or replaced.
#[derive(Clone, Debug)]
pub struct Replaced {
    path: PathBuf,
    /// Of the file that already exists.
    permissions: Option<Permissions>,
}

impl Target {
    /// The file at `path`, which need not be there yet. A call must not be lost for a wrong folder:
    /// all that can be known is checked now.
    pub fn file(path: &[u8]) -> Result<Target> {
        let given = Path::new(OsStr::from_bytes(path));
        let cannot = |error: std::io::Error| trouble("write", given, &error);
        // What a link leads to is replaced, and not the link.
        let path = match given.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::path::absolute(given).map_err(cannot)?
            }
            Err(error) => return Err(cannot(error)),
        };
        let permissions = match path.metadata() {
            Ok(data) => {
                check_ordinary("write", given, &data)?;
                access(&path, Access::WRITE_OK).map_err(|errno| cannot(errno.into()))?;
                Some(data.permissions())
            }
            Err(_) => None,
        };
        let folder = path.parent().filter(|_| path.file_name().is_some());
        let folder = folder.ok_or_else(|| cannot(std::io::ErrorKind::IsADirectory.into()))?;
        access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| cannot(errno.into()))?;
        Ok(Target::File(Replaced { path, permissions }))
    }

    /// Whether what comes last would be all that is left of both.
    pub fn is_same_file(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::File(one), Target::File(another)) => one.path == another.path,
            _ => false,
        }
    }
}

/// A content that comes back.
pub struct Content {
    check: ContentCheck,
    into: Into,
    trouble: Option<Error>,
}

enum Into {
    Memory(Vec<u8>),
    File(Beside),
}

/// A content that has come.
pub enum Received {
    /// It is the caller's.
    Content(Vec<u8>),
    /// It is to replace the caller's file; so many bytes.
    File(Beside, u64),
}

impl Content {
    /// For so many bytes, the checksum's included.
    pub fn new(target: &Target, travelling: u64) -> Result<Content> {
        let into = match target {
            Target::Memory => Into::Memory(Vec::new()),
            Target::File(replaced) => Into::File(Beside::make(replaced)?),
        };
        Ok(Content { check: ContentCheck::new(travelling)?, into, trouble: None })
    }

    /// Takes bytes. The rest still comes after one that could not be kept.
    pub fn take(&mut self, bytes: &[u8]) {
        let content = self.check.take(bytes);
        let kept = match &mut self.into {
            _ if self.trouble.is_some() => Ok(()),
            Into::Memory(all) => {
                all.try_reserve(content.len()).map_err(|_| no_room(all.len())).map(|()| {
                    all.extend_from_slice(content);
                })
            }
            Into::File(beside) => beside
                .file
                .write_all(content)
                .map_err(|error| trouble("write", &beside.target, &error)),
        };
        if let Err(error) = kept {
            self.trouble = Some(error);
        }
    }

    /// All came.
    pub fn finish(mut self) -> Result<Received> {
        if let Some(error) = self.trouble.take() {
            return Err(error);
        }
        self.check.finish()?;
        Ok(match self.into {
            Into::Memory(content) => Received::Content(content),
            Into::File(beside) => {
                let bytes = beside
                    .file
                    .metadata()
                    .map_err(|error| trouble("write", &beside.target, &error))?
                    .len();
                Received::File(beside, bytes)
            }
        })
    }
}

/// A new file beside the one that it is to replace; removed if it does not.
pub struct Beside {
    file: File,
    path: Option<PathBuf>,
    target: PathBuf,
}

impl Beside {
    fn make(replaced: &Replaced) -> Result<Beside> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let target = replaced.path.clone();
        let cannot = |error| trouble("write", &target, &error);
        // A new file gets what the user's mask leaves of this.
        let mode = if replaced.permissions.is_some() { 0o600 } else { 0o666 };
        for _ in 0..NAMES_MAX {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!(".farcall-{}-{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
                Ok(file) => {
                    let beside = Beside { file, path: Some(path), target: target.clone() };
                    if let Some(permissions) = &replaced.permissions {
                        beside
                            .file
                            .set_permissions(Permissions::from_mode(permissions.mode()))
                            .map_err(cannot)?;
                    }
                    return Ok(beside);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot(error)),
            }
        }
        Err(cannot(std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Puts it in the place of the caller's.
    pub fn replace(mut self) -> Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        std::fs::rename(&path, &self.target).map_err(|error| {
            self.path = Some(path.clone());
            trouble("write", &self.target, &error)
        })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a file has another size than it says. The kernel writes those of /proc, which say 0, and
/// of /sys, which say a page, as they are read.
fn is_made_up(file: &File, bytes: u64) -> std::io::Result<bool> {
    let has_last = file.read_at(&mut [0], bytes.saturating_sub(1))? > 0;
    Ok(has_last != (bytes > 0))
}

/// What such a file says now.
fn all_of(file: &File, path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let read = file.take(MADE_UP_BYTES_MAX + 1).read_to_end(&mut content);
    read.map_err(|error| trouble("read", path, &error))?;
    if content.len() as u64 > MADE_UP_BYTES_MAX {
        let why = "it is larger than 16 MiB, and its size changes";
        return Err(
            cannot(ErrorKind::LimitExceeded, "read", path, why).fix("copy it, and pass the copy")
        );
    }
    Ok(content)
}

fn check_ordinary(what: &'static str, path: &Path, data: &std::fs::Metadata) -> Result<()> {
    if data.is_file() {
        return Ok(());
    }
    let found = if data.is_dir() { "it is a folder" } else { "it is not a regular file" };
    Err(cannot(ErrorKind::InvalidArgument, what, path, found).fix("pass a regular file"))
}

fn cannot(kind: ErrorKind, what: &'static str, path: &Path, why: &str) -> Error {
    Error::new(
        kind,
        "call",
        format!("the file cannot be {}: {why}", if what == "read" { "read" } else { "written" }),
    )
    .with("file", path.display())
}

/// What the caller is told of a file of his that the system refuses.
fn trouble(what: &'static str, path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind as Io;
    let (kind, advice) = match error.kind() {
        Io::NotFound if what == "read" => (
            ErrorKind::NotFound,
            "check that it exists: relative paths start at the program's working directory",
        ),
        Io::NotFound | Io::NotADirectory => (ErrorKind::NotFound, "create its directory first"),
        Io::PermissionDenied | Io::ReadOnlyFilesystem => {
            (ErrorKind::PermissionDenied, "check the permissions of the file and of its directory")
        }
        Io::StorageFull | Io::QuotaExceeded => {
            (ErrorKind::System, "free disk space, or use a file on another disk")
        }
        Io::IsADirectory => (ErrorKind::InvalidArgument, "pass a regular file"),
        _ => (ErrorKind::System, "check the file and its directory"),
    };
    cannot(kind, what, path, &error.to_string()).fix(advice)
}

fn no_room(bytes: usize) -> Error {
    let message = format!("there is no memory for more than {bytes} bytes of its content");
    Error::new(ErrorKind::LimitExceeded, "receive a file", message).fix("name a file for it")
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
