//! The files of one call: the routine gets the path of a private file in its process's folder, with the content that
//! came. They are removed when the call is over; of a process that dies, its spawner removes them.

use std::ffi::CString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::Interface;
use farcall_interfaces::content::{CHECKSUM_BYTES, ContentCheck, ContentReader};
use farcall_interfaces::memory::{Block, Region, Space};
use farcall_interfaces::packing::Packing;
use farcall_interfaces::spawner::files_folder;
use farcall_interfaces::strided::Strided;
use rustix::process::{Resource, getrlimit};

use super::call::Place;
use crate::confine;
use farcall_native::invoke::Slot;

/// Bytes written at a time, so that the checksum finds them in the processor's cache.
const PIECE_BYTES: usize = 256 << 10;

/// A content that came with a call, its checksum included.
#[derive(Clone)]
pub struct Content {
    pub region: Arc<dyn Region>,
    pub offset: usize,
    pub bytes: usize,
}

impl Content {
    /// All of it, to be filled.
    pub fn space(&self) -> Result<Space> {
        Space::of(&*self.region, self.offset, self.bytes)
    }

    /// All of it, to be received.
    pub fn receive(&self) -> Result<Packing> {
        Packing::new(self.region.clone(), self.offset, &Strided::contiguous(self.bytes as u64))
    }

    /// Writes it to a file, if it is what was sent.
    fn write(&self, file: &mut File) -> Result<()> {
        let mut check = ContentCheck::new(self.bytes as u64)?;
        let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let bytes = self.bytes as u64 - CHECKSUM_BYTES;
        // To try would end this process by a signal.
        if bytes > most {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "take a file",
                "it is larger than its module may have one",
            )
            .with("bytes", bytes)
            .with("limits.file_bytes_max", most)
            .fix("pass a smaller file, or raise that limit in the server's farcall.toml"));
        }
        let block = Block::of(&self.region, self.offset, self.bytes)?;
        for begin in (0..self.bytes).step_by(PIECE_BYTES) {
            let piece = block.part(begin, PIECE_BYTES.min(self.bytes - begin));
            file.write_all(check.take(piece.bytes())).map_err(|error| cannot("write", &error))?;
        }
        check.finish()
    }
}

/// The files of a call that runs.
#[derive(Default)]
pub struct CallFiles {
    folder: Option<PathBuf>,
    /// By parameter.
    paths: Vec<Option<CString>>,
}

impl CallFiles {
    /// Makes those that the routine takes.
    pub fn make(interface: &Interface, places: &[Place]) -> Result<CallFiles> {
        let mut files = CallFiles::default();
        if !places.iter().any(|place| matches!(place, Place::File(_))) {
            return Ok(files);
        }
        let folder = make_folder()?;
        files.folder = Some(folder.clone());
        for (parameter, place) in interface.parameters.iter().zip(places) {
            let Place::File(content) = place else {
                files.paths.push(None);
                continue;
            };
            let path = folder.join(&parameter.name);
            let named = |error: Error| error.with("parameter", &parameter.name);
            if let Some(content) = content {
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
                let mut file = file.map_err(|error| named(cannot("make", &error)))?;
                content.write(&mut file).map_err(named)?;
            }
            let path = CString::new(path.as_os_str().as_bytes());
            files.paths.push(Some(path.map_err(|_| Error::internal("make a file", "its path has a NUL"))?));
        }
        Ok(files)
    }

    /// What the routine gets for a parameter: the path, and its length without the NUL.
    pub fn slot(&self, index: usize) -> Slot {
        match self.paths.get(index) {
            Some(Some(path)) => Slot::new(path.as_ptr().cast_mut().cast(), path.as_bytes().len()),
            _ => Slot::null(),
        }
    }

    /// What the routine left there; `None` where it left nothing.
    pub fn left(&self, index: usize) -> Result<Option<ContentReader>> {
        let Some(Some(path)) = self.paths.get(index) else { return Ok(None) };
        let path = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        let fact = |error: Error| error.with("file", path.file_name().unwrap_or_default().display());
        // It may have left anything, and nothing that is no file must keep us waiting.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fact(left_wrong(&error.to_string()))),
        };
        let is_file = file.metadata().map_err(|error| Error::system("read a file", error))?.is_file();
        if !is_file {
            return Err(fact(left_wrong("it is no ordinary file")));
        }
        ContentReader::of_file(file).map(Some)
    }
}

impl Drop for CallFiles {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What is left of it goes with the module's working folder.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// A folder of this process's own; one call at a time has it.
fn make_folder() -> Result<PathBuf> {
    let base = confine::rules()?.folder.as_ref().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(files_folder(std::process::id()));
    let make = || DirBuilder::new().mode(0o700).create(&folder);
    let made = make().or_else(|error| match error.kind() {
        // Of a process before us that had our number, or of a call that could not be cleaned up after.
        std::io::ErrorKind::AlreadyExists => std::fs::remove_dir_all(&folder).and_then(|()| make()),
        _ => Err(error),
    });
    made.map(|()| folder).map_err(|error| cannot("make a folder for", &error))
}

fn left_wrong(why: &str) -> Error {
    let message = format!("the file that it left cannot be read: {why}");
    Error::new(ErrorKind::RoutineFailed, "run a routine", message)
        .fix("the routine must leave an ordinary file at the path that it was given")
}

fn cannot(what: &str, error: &std::io::Error) -> Error {
    let message = format!("the server's host cannot {what} the call's files: {error}");
    let full = matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let advice = match full {
        true => "free space in the folder for temporary files there, or set TMPDIR to another one for the server",
        false => "see that the server's folder for temporary files (TMPDIR) can be written to",
    };
    Error::new(ErrorKind::System, "take a file", message).fix(advice)
}
