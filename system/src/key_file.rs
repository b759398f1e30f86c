//! Files with a secret key: 64 hexadecimal digits, for one user's eyes.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};
use rustix::fs::OFlags;

use crate::random_bytes::random_bytes;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Of a file that is read at most: the digits and some white space.
const TEXT_BYTES_MAX: u64 = 2 * KEY_BYTES as u64 + 16;

/// How one is made by hand.
const MADE_BY: &str = "(umask 077; openssl rand -hex 32 > FILE)";

/// Reads a key. The file must belong to this user or to root, and nobody else may read or write it.
///
/// # Errors
/// `NotFound`; `PermissionDenied` for a file of another user or one that others may use;
/// `InvalidSource` for one that has no key; `System`.
pub fn read(path: &Path) -> Result<[u8; KEY_BYTES]> {
    let bytes = read_secret(path, TEXT_BYTES_MAX)?;
    let key = std::str::from_utf8(&bytes).ok().and_then(|text| parse(text.trim()));
    key.ok_or_else(|| {
        let message = "it has no key: 64 hexadecimal digits are expected";
        Error::new(ErrorKind::InvalidSource, READ, message)
            .with("path", path.display())
            .fix(format!("check the path; a new key is made by {MADE_BY}"))
    })
}

/// Reads a secret of any kind from a file, under the same rules: at most so many bytes of it.
///
/// # Errors
/// As [`read`].
pub fn read_secret(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let at = |error: Error| error.with("path", path.display());
    // Neither a link nor a pipe that somebody else put there.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let flags = i32::try_from(flags).expect("open flags fit a C int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| at(unopened(error)))?;
    let status = file.metadata().map_err(|error| at(Error::system(READ, error)))?;
    judge(&status, path).map_err(at)?;
    let mut bytes = Vec::new();
    let read = file.take(bytes_max).read_to_end(&mut bytes);
    read.map_err(|error| at(Error::system(READ, error)))?;
    Ok(bytes)
}

/// Makes a file with a fresh key. One that is there already is left alone.
///
/// # Errors
/// `AlreadyExists` within `System`, and what else the system says.
pub fn create(path: &Path) -> Result<[u8; KEY_BYTES]> {
    let key = random_bytes::<KEY_BYTES>()?;
    let mut text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    let system =
        |error: io::Error| Error::system("make a key file", error).with("path", path.display());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(system)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let written = written.and_then(|()| match path.parent() {
        // Its name is to outlast a power cut, as all that is sealed with it.
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    });
    written.map_err(|error| {
        // A full disk may have taken a part of it, which is no key.
        let _ = std::fs::remove_file(path);
        system(error)
    })?;
    Ok(key)
}

const READ: &str = "read the key file";

fn unopened(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        let fix = format!("name the file with the key, or make one by {MADE_BY}");
        return Error::new(ErrorKind::NotFound, READ, "there is no such file").fix(fix);
    }
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        let fix = "name the file itself: others could exchange what a link points to";
        return Error::new(ErrorKind::PermissionDenied, READ, "it is a symbolic link").fix(fix);
    }
    Error::system(READ, error)
}

fn judge(status: &Metadata, path: &Path) -> Result<()> {
    let refused = |message: String| Error::new(ErrorKind::PermissionDenied, READ, message);
    if !status.is_file() {
        return Err(Error::new(ErrorKind::InvalidSource, READ, "it is not a regular file"));
    }
    let own = rustix::process::geteuid().as_raw();
    if status.uid() != own && status.uid() != 0 {
        let message = format!("it belongs to user {}, who could exchange it", status.uid());
        return Err(refused(message).fix(format!("give it to user {own} (chown)")));
    }
    let mode = status.mode() & 0o777;
    if mode & 0o077 != 0 {
        let message = format!("others may use it: its mode is {mode:03o}");
        return Err(refused(message).fix(format!("run `chmod 600 {}`", path.display())));
    }
    Ok(())
}

fn parse(text: &str) -> Option<[u8; KEY_BYTES]> {
    if text.len() != 2 * KEY_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |index: usize| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..KEY_BYTES).map(byte).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_made_and_only_where_it_is_secret() {
        let folder = std::env::temp_dir().join(format!("farcall-key-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("key");
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        let key = create(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), key);
        assert!(create(&path).is_err(), "it is left alone");
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        for wrong in [0o640, 0o604, 0o660] {
            mode(wrong);
            let error = read(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        mode(0o600);
        std::os::unix::fs::symlink("key", folder.join("link")).unwrap();
        assert_eq!(read(&folder.join("link")).unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(read(&folder).unwrap_err().kind(), ErrorKind::InvalidSource);
        for text in ["", "12", &"g".repeat(64), &"0".repeat(66)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::InvalidSource, "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let path = std::env::temp_dir().join(format!("farcall-their-key-{}", std::process::id()));
        create(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().contains("user 12345"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}
