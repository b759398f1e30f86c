//! Plain files, read on somebody's word: what is none, or has no end, must not hold up or fill the process that reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a plain file, or a link to one.
///
/// # Errors
/// What the system says; `InvalidInput` for a device, a pipe, a socket or a folder.
pub fn open(path: &Path) -> io::Result<File> {
    // NONBLOCK: a pipe would not open before somebody writes to it. It means nothing to a plain file.
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).expect("open flags fit a C int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Judged on the open file, so that nothing can change between the look and the use.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"));
    }
    Ok(file)
}

/// Whether every user of this host may read a file, by its mode and those of all folders above.
pub fn is_public(path: &Path) -> bool {
    let has = |path: &Path, bits: u32| std::fs::metadata(path).is_ok_and(|data| data.mode() & bits == bits);
    let Ok(real) = path.canonicalize() else { return false };
    has(&real, 0o004) && real.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// The content of a plain file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open`]; `FileTooLarge`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some that say that they are empty have no end.
    open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// The text of a plain file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`read`]; `InvalidData` for what is no UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_are_read_and_never_more_than_the_limit() {
        let folder = std::env::temp_dir().join(format!("farcall-plain-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        std::fs::write(path("text"), "words").unwrap();
        std::os::unix::fs::symlink("text", path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(read_text(&path("text"), 5).unwrap() + &read_text(&path("link"), 9).unwrap(), "wordswords");
        assert_eq!(read(&path("text"), 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // Without the guards, these would never come back: nobody writes to the pipe.
        for name in ["zero", "pipe", "."] {
            assert_eq!(read(&path(name), 9).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        assert_eq!(read(&path("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        // One that says that it is empty.
        assert_eq!(read(Path::new("/proc/self/maps"), 9).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
