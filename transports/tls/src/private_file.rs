//! Files with a private key: read only if nobody else can read or change them.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use farcall_base::{Error, ErrorKind, Result};

const OPERATION: &str = "read a private key";
/// No bundle of three certificates and a key is as long.
const BYTES_MAX: u64 = 64 << 10;
const OTHERS: u32 = 0o077;
/// What certificates and keys begin with.
const PEM: &str = "-----BEGIN ";

/// The text of a file that belongs to this user (or root), and that others can neither read nor
/// change.
///
/// # Errors
/// `NotFound`, `PermissionDenied` with the command that mends it, `InvalidSource` when it is no
/// text or too long.
pub fn read(path: &Path) -> Result<String> {
    read_file(path).map_err(|error| error.with("path", path.display()))
}

fn read_file(path: &Path) -> Result<String> {
    // NONBLOCK: opening a pipe that somebody put there must not wait for ever.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("open flags fit a C int");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let kind = if missing { ErrorKind::NotFound } else { ErrorKind::System };
        let message = if missing { "there is no such file".to_owned() } else { error.to_string() };
        Error::new(kind, OPERATION, message).source(error)
    })?;
    // Judged on the open file, so that nothing can change between the look and the use.
    let status = file.metadata().map_err(|error| Error::system(OPERATION, error))?;
    if !status.is_file() {
        return Err(Error::new(ErrorKind::PermissionDenied, OPERATION, "it is not a regular file")
            .fix("check the path"));
    }
    let mut text = String::new();
    let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
    // Before anybody is told to change its mode or owner: a wrong path may lead to any file of the
    // system.
    if !matches!(read, Ok(count) if count as u64 <= BYTES_MAX && text.contains(PEM)) {
        return Err(Error::new(
            ErrorKind::InvalidSource,
            OPERATION,
            "this file does not have certificates and a key",
        )
        .fix("check the path, and use the file that `farcall ca` created"));
    }
    judge(path, &status)?;
    Ok(text)
}

fn judge(path: &Path, status: &std::fs::Metadata) -> Result<()> {
    let refuse = |message: String, fix: String| {
        Err(Error::new(ErrorKind::PermissionDenied, OPERATION, message).fix(fix))
    };
    let own = rustix::process::geteuid().as_raw();
    if status.uid() != own && status.uid() != 0 {
        let fix = format!("use a file that you own: chown {own} {}", path.display());
        return refuse(format!("it belongs to uid {}, not to you", status.uid()), fix);
    }
    if status.mode() & OTHERS != 0 {
        let message =
            format!("other users can read or change it (mode {:o})", status.mode() & 0o7777);
        let fix = format!(
            "chmod 600 {}; if others may have read it, get a new one (farcall ca renew)",
            path.display()
        );
        return refuse(message, fix);
    }
    Ok(())
}
