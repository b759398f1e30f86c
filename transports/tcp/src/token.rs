//! The token: 32 random bytes in a file that only its owner can read. Who shows them could read the
//! file.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use rustix::io::Errno;

const BYTES: usize = 32;
/// In the file: two digits per byte and a line end.
const TEXT_BYTES: usize = 2 * BYTES + 1;
const OTHERS: u32 = 0o077;

/// A server's secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<[u8]>);

/// Logs are read by many, so the bytes are not in it.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Draws a token and writes it, in hexadecimal digits, to a new file with mode 0600.
    ///
    /// # Errors
    /// `InvalidArgument` when the file exists, `System` otherwise.
    pub fn create(path: &Path) -> Result<Token> {
        const OPERATION: &str = "write the token file";
        let system =
            |error: io::Error| Error::system(OPERATION, error).with("path", path.display());
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(system)?;
        // create_new (O_EXCL) follows no link that somebody planted, and never takes over a file of
        // theirs.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    OPERATION,
                    "the file exists already",
                )
                .with("path", path.display())
                .fix("use the token in it, or remove it"));
            }
            Err(error) => return Err(system(error)),
        };
        let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(|error| {
            // What a full disk took of it would be no token, and no other could take its place.
            let _ = std::fs::remove_file(path);
            system(error)
        })?;
        Ok(Token(Arc::from(bytes)))
    }

    /// Reads a token file; it must belong to this user (or root) and be readable by nobody else.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` when others can read it or it is theirs, `InvalidSource` when
    /// it holds no token.
    pub fn read(path: &Path) -> Result<Token> {
        const OPERATION: &str = "read the token file";
        let at = |error: Error| error.with("path", path.display());
        // NOFOLLOW and NONBLOCK: neither a link nor a pipe that somebody planted.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).expect("open flags fit a C int");
        let file =
            OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| {
                let missing = error.kind() == io::ErrorKind::NotFound;
                let kind = if missing { ErrorKind::NotFound } else { ErrorKind::System };
                let link = Errno::from_io_error(&error) == Some(Errno::LOOP);
                let message =
                    if link { "it is a symbolic link".to_owned() } else { error.to_string() };
                let fix = match link {
                    true => "name the file itself: others could exchange what a link points to",
                    false => {
                        "check the path: `farcall serve` says where its token file is when it \
                    starts"
                    }
                };
                at(Error::new(kind, OPERATION, message).fix(fix).source(error))
            })?;
        let status = file.metadata().map_err(|error| at(Error::system(OPERATION, error)))?;
        judge(&status).map_err(at)?;
        let mut text = String::new();
        let read = file.take(TEXT_BYTES as u64 + 1).read_to_string(&mut text);
        let bytes = read.ok().and_then(|_| parse(text.trim_end()));
        bytes.map(Token).ok_or_else(|| {
            at(Error::new(
                ErrorKind::InvalidSource,
                OPERATION,
                "this is not a token: 64 hexadecimal digits are \
                expected",
            )
            .fix(
                "check the path; if this is the server's token file, move it away: the server \
                writes a new one",
            ))
        })
    }

    /// What the Hello carries.
    pub fn bytes(&self) -> Arc<[u8]> {
        self.0.clone()
    }
}

/// Judged on the open file, so that nothing can change between the look and the use.
fn judge(status: &std::fs::Metadata) -> Result<()> {
    let refuse = |message: String, fix: &str| {
        Err(Error::new(ErrorKind::PermissionDenied, "read the token file", message).fix(fix))
    };
    let own = rustix::process::geteuid().as_raw();
    if !status.is_file() {
        return refuse("it is not a regular file".into(), "check the path");
    }
    if status.uid() != own && status.uid() != 0 {
        return refuse(
            format!("it belongs to uid {}, not to you", status.uid()),
            "use a token file of your own",
        );
    }
    if status.mode() & OTHERS != 0 {
        let message = format!("others may read or change it (mode {:o})", status.mode() & 0o7777);
        return refuse(
            message,
            "check the path; if this is the token, move it away and start the server again: \
                others may know it by now",
        );
    }
    Ok(())
}

fn parse(text: &str) -> Option<Arc<[u8]>> {
    if text.len() != 2 * BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    (0..BYTES).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()).collect()
}
