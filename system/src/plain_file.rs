//! Plain files, read on somebody's word: what is none, or has no end, must not hold up or fill the
//! process that reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};

/// NONBLOCK: a pipe would not open before somebody writes to it. It means nothing to a plain file.
const FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Opens a plain file, or a link to one.
///
/// # Errors
/// What the system says; `InvalidInput` for a device, a pipe, a socket or a folder.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, FLAGS)
}

/// Opens a plain file, or what a link leads to, and says where that lies, by a path without links:
/// of the file that is open, whatever has been put into its place meanwhile.
///
/// # Errors
/// As [`open`]; `NotFound` for one that has been moved or removed since.
pub fn open_real(path: &Path) -> io::Result<(File, PathBuf)> {
    let real = path.canonicalize()?;
    let file = open_with(&real, FLAGS | OFlags::NOFOLLOW)?;
    if path_of(&file)? != real {
        return Err(io::Error::new(io::ErrorKind::NotFound, "another file replaced it meanwhile"));
    }
    Ok((file, real))
}

/// Where an open file, or folder, lies.
///
/// # Errors
/// Where there is no /proc.
pub fn path_of(open: impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd()))
}

/// Opens a plain file of an open folder that somebody else may write to: the file itself, never
/// what a link leads to, and none that has another name elsewhere.
///
/// # Errors
/// As [`open`].
pub fn open_in(folder: impl AsFd, name: &Path) -> io::Result<File> {
    let file =
        File::from(openat(folder, name, OFlags::RDONLY | OFlags::NOFOLLOW | FLAGS, Mode::empty())?);
    let data = file.metadata()?;
    if data.is_file() && data.nlink() == 1 { Ok(file) } else { Err(none()) }
}

fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = i32::try_from(flags.bits()).expect("open flags fit a C int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Judged on the open file, so that nothing can change between the look and the use.
    if file.metadata()?.is_file() { Ok(file) } else { Err(none()) }
}

fn none() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// Whether every user of this host may read a file, by its mode and those of all folders above.
pub fn is_public(path: &Path) -> bool {
    let has = |path: &Path, bits: u32| {
        std::fs::metadata(path).is_ok_and(|data| data.mode() & bits == bits)
    };
    let Ok(real) = path.canonicalize() else { return false };
    has(&real, 0o004) && real.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// The content of a plain file of at most `bytes_max` bytes.
///
/// # Errors
/// As [`open`]; `FileTooLarge`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, bytes_max)
}

/// The same of an open file.
///
/// # Errors
/// What the system says; `FileTooLarge`.
pub fn read_open(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some that say that they are empty have no end.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {bytes_max} bytes"),
        ));
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
        assert_eq!(
            read_text(&path("text"), 5).unwrap() + &read_text(&path("link"), 9).unwrap(),
            "wordswords"
        );
        assert_eq!(read(&path("text"), 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // Without the guards, these would never come back: nobody writes to the pipe.
        for name in ["zero", "pipe", "."] {
            assert_eq!(
                read(&path(name), 9).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
        assert_eq!(read(&path("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        // One that says that it is empty.
        assert_eq!(
            read(Path::new("/proc/self/maps"), 9).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_open_is_named_and_links_in_folders_of_others_are_none() {
        let folder = std::env::temp_dir().join(format!("farcall-real-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        std::fs::write(folder.join("text"), "words").unwrap();
        std::os::unix::fs::symlink("text", folder.join("link")).unwrap();
        let (file, real) = open_real(&folder.join("link")).unwrap();
        assert_eq!(
            (real.as_path(), path_of(&file).unwrap().as_path()),
            (&*folder.join("text"), &*folder.join("text"))
        );
        let open = File::open(&folder).unwrap();
        assert_eq!(read_open(open_in(&open, Path::new("text")).unwrap(), 9).unwrap(), b"words");
        assert!(open_in(&open, Path::new("link")).is_err());
        std::fs::hard_link(folder.join("text"), folder.join("other")).unwrap();
        assert_eq!(
            open_in(&open, Path::new("text")).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
