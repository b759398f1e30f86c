//! The files of one call: the routine gets the path of a private file in its process's folder, with
//! the content that came. They are removed when the call is over; of a process that dies, its
//! spawner removes them.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{Interface, Mode};
use farcall_idl::layout::{CallLayout, ParameterLayout};
use farcall_link::content::{CHECKSUM_BYTES, ContentCheck, ContentReader, Outgoing};
use farcall_link::contents::{ContentsParts, ContentsReader, Part, Promised};
use farcall_link::memory::{Block, Region, Space};
use farcall_link::packing::Packing;
use farcall_link::strided::Strided;
use farcall_services::spawner::files_folder;
use farcall_system::temporary;
use rustix::process::{Resource, getrlimit};

use super::call::Place;
use crate::confine;
use farcall_native::invoke::Slot;

/// Bytes written at a time, so that the checksum finds them in the processor's cache.
const PIECE_BYTES: usize = 256 << 10;
/// Files of one parameter at most.
const FILES_MAX: u64 = 65536;

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
        let mut writing = Writing::new(self.bytes as u64)?;
        self.pieces(|piece| writing.write(file, piece))?;
        writing.check.finish()
    }

    /// Writes the contents of an array to files of their own: their paths, `None` for NULL.
    fn write_several(
        &self,
        count: u64,
        path: impl Fn(usize) -> PathBuf,
    ) -> Result<Vec<Option<CString>>> {
        let mut parts = ContentsParts::new(count, self.bytes as u64)?;
        let mut paths = Vec::new();
        let mut writing = None;
        let mut take = |part: Part<'_>| -> Result<()> {
            match part {
                Part::Begins(None) => paths.push(None),
                Part::Begins(Some(length)) => {
                    let path = path(paths.len());
                    writing = Some((Writing::new(length)?, new_file(&path)?));
                    paths.push(Some(c_path(&path)?));
                }
                Part::Bytes(bytes) => {
                    if let Some((writing, file)) = &mut writing {
                        writing.write(file, bytes)?;
                    }
                }
                Part::Ends => {
                    writing.take().map_or(Ok(()), |(writing, _)| writing.check.finish())?
                }
            }
            Ok(())
        };
        let mut all = |mut bytes: &[u8]| -> Result<()> {
            while let Some(part) = parts.next(&mut bytes)? {
                take(part)?;
            }
            Ok(())
        };
        self.pieces(&mut all)?;
        all(&[])?;
        parts.finish()?;
        Ok(paths)
    }

    /// All of it in pieces.
    pub(super) fn pieces(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let block = Block::of(&self.region, self.offset, self.bytes)?;
        for begin in (0..self.bytes).step_by(PIECE_BYTES) {
            take(block.part(begin, PIECE_BYTES.min(self.bytes - begin)).bytes())?;
        }
        Ok(())
    }
}

/// A content on its way into a file.
struct Writing {
    check: ContentCheck,
}

impl Writing {
    /// Of so many bytes, the checksum's included.
    fn new(travelling: u64) -> Result<Writing> {
        let check = ContentCheck::new(travelling)?;
        let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        let bytes = travelling - CHECKSUM_BYTES;
        // To try would end this process by a signal.
        if bytes > most {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "take a file",
                "the file is larger than the limit of its module",
            )
            .with("bytes", bytes)
            .with("limits.file_bytes_max", most)
            .fix("pass a smaller file, or raise the limit in the server's farcall.toml"));
        }
        Ok(Writing { check })
    }

    fn write(&mut self, file: &mut File, bytes: &[u8]) -> Result<()> {
        file.write_all(self.check.take(bytes)).map_err(|error| cannot("write", &error))
    }
}

/// The files of a call that runs.
#[derive(Default)]
pub struct CallFiles {
    folder: Option<PathBuf>,
    /// By parameter.
    paths: Vec<Paths>,
    /// Of parameters that are to be open.
    streams: Vec<(usize, Stream)>,
}

/// Where the files of a parameter lie.
enum Paths {
    /// It is no file, or the routine gets NULL.
    None,
    One(CString),
    /// Of an array, with what the routine gets: the address of each.
    Several(Vec<Option<CString>>, Vec<*mut u8>),
}

impl CallFiles {
    /// Makes those that the routine takes.
    pub fn make(interface: &Interface, layout: &CallLayout, places: &[Place]) -> Result<CallFiles> {
        let mut files = CallFiles::default();
        if !places.iter().any(|place| matches!(place, Place::File(_))) {
            return Ok(files);
        }
        let folder = make_folder()?;
        files.folder = Some(folder.clone());
        let all = interface.parameters.iter().zip(&layout.parameters).zip(places);
        for ((parameter, layout), place) in all {
            let path = folder.join(&parameter.name);
            let made = match (place, layout) {
                (Place::File(content), ParameterLayout::TextArray { count }) => {
                    several(&path, content.as_ref(), *count)
                }
                (Place::File(content), _) => one(&path, content.as_ref()),
                _ => Ok(Paths::None),
            };
            let named = |error: Error| error.with("parameter", &parameter.name);
            let made = made.map_err(named)?;
            if let (Paths::One(path), true) = (&made, parameter.stream) {
                files
                    .streams
                    .push((files.paths.len(), Stream::open(path, parameter.mode).map_err(named)?));
            }
            files.paths.push(made);
        }
        Ok(files)
    }

    /// Closes what was opened for the routine, so that all it wrote is in the files.
    pub fn close(&mut self) -> Result<()> {
        std::mem::take(&mut self.streams).into_iter().try_for_each(|(_, stream)| stream.close())
    }

    /// What the routine gets for a parameter: the path, and its length without the NUL; the paths
    /// of an array; or the open file.
    pub fn slot(&self, index: usize) -> Slot {
        if let Some((_, stream)) = self.streams.iter().find(|(of, _)| *of == index) {
            return Slot::new(stream.0.as_ptr().cast(), 0);
        }
        match self.paths.get(index) {
            Some(Paths::One(path)) => {
                Slot::new(path.as_ptr().cast_mut().cast(), path.as_bytes().len())
            }
            Some(Paths::Several(_, pointers)) if !pointers.is_empty() => {
                Slot::new(pointers.as_ptr().cast_mut().cast(), 0)
            }
            _ => Slot::null(),
        }
    }

    /// What the routine left there; `None` where it left nothing, or got NULL.
    pub fn left(&self, index: usize) -> Result<Option<Box<dyn Outgoing>>> {
        match self.paths.get(index) {
            Some(Paths::One(path)) => {
                Ok(left_at(path)?.map(|content| Box::new(content) as Box<dyn Outgoing>))
            }
            Some(Paths::Several(paths, _)) => {
                let promised = |path: &Option<CString>| path.as_ref().map_or(Ok(None), promised);
                let contents = paths.iter().map(promised).collect::<Result<Vec<_>>>()?;
                Ok(Some(Box::new(ContentsReader::new(contents))))
            }
            _ => Ok(None),
        }
    }

    /// Itself, where results are opened as they are sent; otherwise its files go now.
    pub fn if_needed(self, sending: &BTreeMap<u16, Box<dyn Outgoing>>) -> Option<CallFiles> {
        let several = |paths: &Paths| matches!(paths, Paths::Several(..));
        (!sending.is_empty() && self.paths.iter().any(several)).then_some(self)
    }
}

/// An open file of the C library (`filepointer`).
struct Stream(NonNull<libc::FILE>);

impl Stream {
    fn open(path: &CStr, mode: Mode) -> Result<Stream> {
        let how = match mode {
            Mode::In => c"r",
            Mode::InOut => c"r+",
            Mode::Out | Mode::Work => c"w+",
        };
        // SAFETY: two texts that end with a NUL.
        let opened = NonNull::new(unsafe { libc::fopen(path.as_ptr(), how.as_ptr()) });
        opened.map(Stream).ok_or_else(|| cannot("open", &std::io::Error::last_os_error()))
    }

    fn close(self) -> Result<()> {
        let file = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: the interface has the routine leave it open.
        match unsafe { libc::fclose(file.as_ptr()) } {
            0 => Ok(()),
            _ => Err(cannot("write", &std::io::Error::last_os_error())),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: as for `close`.
        unsafe { libc::fclose(self.0.as_ptr()) };
    }
}

/// A file with the content that came, if one did.
fn one(path: &Path, content: Option<&Content>) -> Result<Paths> {
    if let Some(content) = content {
        content.write(&mut new_file(path)?)?;
    }
    Ok(Paths::One(c_path(path)?))
}

/// `count` files: with the contents that came, where they came with any.
fn several(path: &Path, content: Option<&Content>, count: u64) -> Result<Paths> {
    let numbered = |index: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{index}"));
        PathBuf::from(name)
    };
    let paths = match content {
        Some(content) => content.write_several(count, numbered)?,
        None if count > FILES_MAX => return Err(too_many(count)),
        None => (0..count as usize)
            .map(|index| c_path(&numbered(index)).map(Some))
            .collect::<Result<_>>()?,
    };
    let address = |path: &Option<CString>| {
        path.as_ref().map_or(std::ptr::null_mut(), |path| path.as_ptr().cast_mut().cast())
    };
    let pointers = paths.iter().map(address).collect();
    Ok(Paths::Several(paths, pointers))
}

fn too_many(count: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, "take files", "one parameter has too many files")
        .with("files", count)
        .with("limit", FILES_MAX)
}

fn new_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| cannot("make", &error))
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::internal("make a file", "its path contains a NUL"))
}

/// What the routine left at a path.
fn left_at(path: &CStr) -> Result<Option<ContentReader>> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
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
        return Err(fact(left_wrong("it is not a regular file")));
    }
    ContentReader::of_file(file).map(Some)
}

/// The same, opened again when its turn comes: a process has not as many descriptors as files.
fn promised(path: &CString) -> Result<Option<Promised>> {
    let Some(content) = left_at(path)? else { return Ok(None) };
    let bytes = content.travelling() - CHECKSUM_BYTES;
    let path = path.clone();
    let open = move || left_at(&path)?.ok_or_else(|| left_wrong("it is gone"));
    Ok(Some(Promised { bytes, open: Box::new(open) }))
}

impl Drop for CallFiles {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What is left of it goes with the module's working folder.
            let _ = temporary::remove_now(folder);
        }
    }
}

/// A folder of this process's own; one call at a time has it.
fn make_folder() -> Result<PathBuf> {
    let base = confine::rules()?.folder.as_ref().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = base.join(files_folder(std::process::id()));
    let make = || DirBuilder::new().mode(0o700).create(&folder);
    let made = make().or_else(|error| match error.kind() {
        // Of a process before us that had our number, or of a call that could not be cleaned up
        // after.
        std::io::ErrorKind::AlreadyExists => temporary::remove_now(&folder).and_then(|()| make()),
        _ => Err(error),
    });
    made.map(|()| folder).map_err(|error| cannot("make a folder for", &error))
}

fn left_wrong(why: &str) -> Error {
    let message = format!("the file that the routine wrote cannot be read: {why}");
    Error::new(ErrorKind::RoutineFailed, "run a routine", message)
        .fix("the routine must leave a regular file at the path that it received")
}

fn cannot(what: &str, error: &std::io::Error) -> Error {
    let message = format!("the server's host cannot {what} the call's files: {error}");
    let full =
        matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
    let advice = match full {
        true => {
            "free disk space in the server's temporary directory, or set TMPDIR to another one \
                for the server"
        }
        false => "check that the server's temporary directory (TMPDIR) is writable",
    };
    Error::new(ErrorKind::System, "take a file", message).fix(advice)
}
