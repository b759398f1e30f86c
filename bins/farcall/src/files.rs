//! Arrays in files: NumPy's and Matrix Market's formats, by the file's ending.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use farcall_formats::data::ARRAY_BYTES_MAX;
use farcall_formats::{Data, Fits, Format, mtx, npy};

/// Bytes of a Matrix Market file at most.
const TEXT_BYTES_MAX: u64 = 4 << 30;

fn format_of(path: &Path) -> Result<Format> {
    Format::of(&path.to_string_lossy())
}

/// Reads the array of a file, if its shape fits; `-` is standard input, in NumPy's format.
///
/// # Errors
/// `NotFound`, `InvalidArgument` for a file that is not what its name says, `LimitExceeded`; what
/// `fits` says.
pub fn read(path: &Path, fits: Fits<'_>) -> Result<Data> {
    if path == Path::new("-") {
        return bounded(Format::NumPy, &mut std::io::stdin().lock(), ARRAY_BYTES_MAX, path, fits);
    }
    let format = format_of(path)?;
    let mut file = File::open(path).map_err(|error| unreadable(path, error))?;
    let about = file.metadata().map_err(|error| unreadable(path, error))?;
    match format {
        Format::NumPy if about.is_file() => npy::read(&mut file, about.len(), fits)
            .map_err(|error| error.with("file", path.display())),
        // A pipe has no length: its bytes are counted first.
        Format::NumPy => bounded(format, &mut file, ARRAY_BYTES_MAX, path, fits),
        Format::MatrixMarket => bounded(format, &mut file, TEXT_BYTES_MAX, path, fits),
    }
}

fn bounded(
    format: Format,
    source: &mut dyn Read,
    limit: u64,
    path: &Path,
    fits: Fits<'_>,
) -> Result<Data> {
    let read = format.read(source, limit, &|error| Error::system("read a file", error), fits);
    let too_long = || {
        Error::new(
            ErrorKind::LimitExceeded,
            "read a file",
            format!("it has more than {limit} bytes"),
        )
    };
    read.and_then(|data| data.ok_or_else(too_long))
        .map_err(|error| error.with("file", path.display()))
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    failed("read a file", path, error)
}

fn failed(operation: &'static str, path: &Path, error: std::io::Error) -> Error {
    let (kind, message) = match error.kind() {
        std::io::ErrorKind::NotFound if operation == "write a file" => {
            (ErrorKind::NotFound, "there is no such directory".to_owned())
        }
        std::io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such file".to_owned()),
        std::io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, error.to_string()),
        _ => (ErrorKind::System, error.to_string()),
    };
    Error::new(kind, operation, message).with("file", path.display()).source(error)
}

/// A file that is made before the call, so that nothing can hinder it afterwards, and gets its name
/// with its content. Until then it has none, so that it goes with this program however that ends;
/// where a file system wants names, a partial one.
pub struct Pending {
    path: PathBuf,
    /// Its name for a moment before it is put in its place; from the beginning where it needs one.
    partial: PathBuf,
    file: Option<File>,
    named: bool,
    format: Format,
}

impl Pending {
    /// Makes it beside the place where it is to be.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown ending; `System` when there is no such folder or it is not
    /// ours.
    pub fn create(path: &Path) -> Result<Pending> {
        let format = format_of(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = path.with_file_name(name);
        let (file, named) = match unnamed_beside(path) {
            Ok(file) => (file, false),
            // The system or the file system knows no files without names; other mistakes come
            // again.
            Err(_) => (File::create(&partial).map_err(|error| unwritable(path, error))?, true),
        };
        Ok(Pending { path: path.to_path_buf(), partial, file: Some(file), named, format })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the array and puts the file in its place.
    ///
    /// # Errors
    /// `System` when the disk is full; `InvalidArgument` for an array that the format cannot hold.
    pub fn write(mut self, data: &Data) -> Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let mut out = BufWriter::new(file);
        match self.format {
            Format::NumPy => npy::write(&mut out, data),
            Format::MatrixMarket => mtx::write(&mut out, data),
        }
        .map_err(|error| error.with("file", self.path.display()))?;
        let done = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|file| self.put(&file));
        done.map_err(|error| unwritable(&self.path, error))
    }

    /// Gives the file its name. A new name cannot replace another file, so it is made beside and
    /// moved.
    fn put(&self, file: &File) -> std::io::Result<()> {
        if !self.named {
            let own = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::linkat(CWD, own, CWD, &self.partial, AtFlags::SYMLINK_FOLLOW)?;
        }
        std::fs::rename(&self.partial, &self.path)
    }
}

/// Where a file will be, however its folder is named.
pub fn place_of(path: &Path) -> PathBuf {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    folder.join(path.file_name().unwrap_or_default())
}

/// A file without a name in the folder where `path` is to be.
fn unnamed_beside(path: &Path) -> std::io::Result<File> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666))?.into())
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    failed("write a file", path, error)
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After success there is nothing of that name any more.
        let _ = std::fs::remove_file(&self.partial);
    }
}
