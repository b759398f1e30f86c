//! Copies of programs for a module's user, who cannot reach them where they lie. The server may
//! read more than that user, and than the publisher: so what is copied is the very file that was
//! published, and never what a link has led to since.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// How each program begins that a linker has made (elf.h).
const ELF: [u8; 4] = *b"\x7fELF";
/// Its user alone reads it, and may run it.
const MODE: u32 = 0o500;

/// A published program, if it is among the files that were `found` then, by the paths without links
/// that they had.
///
/// # Errors
/// `InvalidInput` for anything else: another's file has its name now, or leads there.
pub(super) fn open_published(program: &Path, found: &[String]) -> io::Result<File> {
    // NONBLOCK: a pipe would not open before somebody writes to it.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(program) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(is_another()),
        opened => opened?,
    };
    let real = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let is_published = found.iter().any(|path| real == Path::new(path));
    if !is_published || !is_program(&mut file)? || !belongs_there(&file, &real)? {
        return Err(is_another());
    }
    Ok(file)
}

fn is_another() -> io::Error {
    let message = "the program changed after it was published: publish it again";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn is_program(file: &mut File) -> io::Result<bool> {
    let mut begin = Vec::new();
    if file.metadata()?.is_file() {
        file.by_ref().take(ELF.len() as u64).read_to_end(&mut begin)?;
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(begin == ELF)
}

/// Whether it is its folder's owner's, or everybody may read it: a hard link to another's private
/// file is neither.
fn belongs_there(file: &File, path: &Path) -> io::Result<bool> {
    let data = file.metadata()?;
    let folder =
        std::fs::symlink_metadata(path.parent().map_or_else(PathBuf::new, Path::to_path_buf))?;
    Ok(data.uid() == folder.uid() || data.mode() & 0o004 != 0)
}

/// Into a folder of another user's: nothing that lies there is followed or written over.
pub(super) fn copy_program(mut from: File, to: &Path, (user, group): (u32, u32)) -> io::Result<()> {
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to)?;
    fchown(&to, Some(user), Some(group))?;
    to.set_permissions(std::fs::Permissions::from_mode(MODE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_published_program_is_copied_and_nothing_else_that_has_its_name() {
        let base = std::env::temp_dir()
            .join(format!("farcall-copies-{}", std::process::id()))
            .join("within");
        std::fs::create_dir_all(&base).unwrap();
        let base = base.canonicalize().unwrap();
        let at = |name: &str| base.join(name);
        std::fs::write(at("secret"), [&ELF[..], b"secret"].concat()).unwrap();
        std::fs::write(at("text"), "no program").unwrap();
        let found = [at("program"), at("text")].map(|path| path.display().to_string());
        let opened = |name: &str| open_published(&at(name), &found);
        assert!(opened("text").is_err() && opened("secret").is_err());
        std::os::unix::fs::symlink(at("secret"), at("program")).unwrap();
        assert!(opened("program").is_err(), "a link is followed");
        std::fs::remove_file(at("program")).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, at("program"), kind, mode, 0).unwrap();
        assert!(opened("program").is_err(), "a pipe is read");
        std::fs::remove_file(at("program")).unwrap();
        std::fs::write(at("program"), [&ELF[..], b"program"].concat()).unwrap();
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        copy_program(opened("program").unwrap(), &at("copy"), own).unwrap();
        assert_eq!(std::fs::read(at("copy")).unwrap(), [&ELF[..], b"program"].concat());
        assert_eq!(std::fs::metadata(at("copy")).unwrap().mode() & 0o7777, MODE);
        assert!(
            copy_program(opened("program").unwrap(), &at("copy"), own).is_err(),
            "something is written over"
        );
        // The folder is exchanged with a link to another.
        std::fs::rename(&base, base.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink(base.with_extension("moved"), &base).unwrap();
        assert!(opened("program").is_err(), "a folder's link is followed");
        std::fs::remove_dir_all(base.parent().unwrap()).unwrap();
    }
}
