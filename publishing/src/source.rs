//! A file that is to be published, opened once: where it lies is judged, and it is read, by that
//! descriptor.
//!
//! Whoever publishes may have put another file, or a link, into its place since. What that leads to
//! is never read, and nothing that was said of the file is taken for said of that.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;

use crate::shipped;

/// Longest IDL file, before preprocessing.
const FILE_BYTES_MAX: u64 = 4 << 20;
const OPERATION: &str = "read an interface file";

/// An open file.
pub struct Source {
    named: PathBuf,
    path: PathBuf,
    real: PathBuf,
    file: File,
}

impl Source {
    /// Opens it.
    ///
    /// # Errors
    /// `NotFound`, `InvalidArgument` for what is no plain file.
    pub fn open(named: &Path) -> Result<Source> {
        let failed = |error: std::io::Error| explained(named, &error);
        let path = std::path::absolute(named).map_err(failed)?;
        // What lies beside it is looked for in the folder that this is now.
        let path = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => folder.canonicalize().map_err(failed)?.join(name),
            _ => path,
        };
        let file = plain_file::open(&path).map_err(failed)?;
        let real = plain_file::path_of(&file).map_err(failed)?;
        Ok(Source { named: named.to_path_buf(), path, real, file })
    }

    /// As it was named.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// The same from the root; but for the file itself, there are no links in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the open file lies.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The folder that it was named in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its bytes, whatever they are.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut file = &self.file;
        let read =
            file.seek(SeekFrom::Start(0)).and_then(|_| plain_file::read_open(file, FILE_BYTES_MAX));
        read.map_err(|error| explained(&self.named, &error))
    }

    /// Its text. Bytes that are no UTF-8 become the replacement character, which the compiler takes
    /// in comments only.
    ///
    /// # Errors
    /// As [`Source::bytes`].
    pub fn text(&self) -> Result<String> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The same for files of the references, whose code keeps bytes that are no UTF-8:
    /// [`farcall_idl::restore_bytes`] gives them back.
    ///
    /// # Errors
    /// As [`Source::bytes`].
    pub fn old_text(&self) -> Result<String> {
        Ok(farcall_idl::keep_bytes(&self.bytes()?))
    }

    /// Whether it begins so.
    pub fn begins_with(&self, magic: &[u8]) -> bool {
        let mut begin = vec![0; magic.len()];
        self.file.read_exact_at(&mut begin, 0).is_ok() && begin == magic
    }
}

fn explained(named: &Path, error: &std::io::Error) -> Error {
    let told = |kind, words: &str| {
        Error::new(kind, OPERATION, words.to_owned()).with("file", named.display())
    };
    match error.kind() {
        // Somebody meant a library that comes with Farcall.
        std::io::ErrorKind::NotFound if named.extension().is_none() => {
            told(ErrorKind::NotFound, &error.to_string())
                .fix(format!("pass a file, or one of {}", shipped::names()))
        }
        std::io::ErrorKind::NotFound => told(ErrorKind::NotFound, &error.to_string())
            .fix("check the path: a server reads the files of its own host"),
        std::io::ErrorKind::InvalidInput => {
            told(ErrorKind::InvalidArgument, "it is not a regular file")
                .fix("save the text in a file, and pass that")
        }
        std::io::ErrorKind::FileTooLarge => {
            told(ErrorKind::LimitExceeded, "it is longer than 4 MiB")
        }
        _ => told(ErrorKind::System, &error.to_string()),
    }
}
