//! Local interface files of Ninf-G: which functions which hosts have, and where their stub
//! executables are.
//!
//! Two forms are read: `.nrf` of Ninf-G 4 and 5 (XML), and `.ngdef` or LDIF of Ninf-G 2 (lines,
//! with the XML of a function in base64). What a function takes is known from its server when it is
//! called; the file's word is compared with that, so that a file that has become old is noticed.

mod describe;
mod ldif;
mod write;
mod xml;

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;

pub use describe::{Argument, Class, DataType, Method};
pub use write::{Stub, ldif, nrf};

/// Longest file.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Functions that one file may describe.
const FUNCTIONS_MAX: usize = 10_000;

/// A function, or a class of remote objects, on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The host that it was made on.
    pub hostname: String,
    /// `module/function`.
    pub name: String,
    /// Its stub executable, on that host.
    pub path: PathBuf,
    /// What it takes, where the file says so.
    pub class: Option<Class>,
}

/// Reads an interface file of either form.
///
/// # Errors
/// `NotFound` and other errors of the file; `InvalidSource` with the place; `LimitExceeded`.
pub fn load(file: &Path) -> Result<Vec<Description>> {
    let bytes = plain_file::read(file, FILE_BYTES_MAX).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::InvalidInput => ErrorKind::InvalidArgument,
            std::io::ErrorKind::FileTooLarge => ErrorKind::LimitExceeded,
            std::io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            _ => ErrorKind::System,
        };
        Error::new(kind, "read an interface file", error.to_string())
            .with("file", file.display())
            .fix("copy the file that ng_gen_nrf wrote on the server to this path")
    })?;
    parse(&bytes).map_err(|error| error.with("file", file.display()))
}

/// Reads the bytes of an interface file.
///
/// # Errors
/// `InvalidSource` with the place; `LimitExceeded`.
pub fn parse(bytes: &[u8]) -> Result<Vec<Description>> {
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8 text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = if text.trim_start().starts_with('<') {
        xml::remote_information(text)?
    } else {
        ldif::records(text)?
    };
    if found.len() > FUNCTIONS_MAX {
        let message =
            format!("it describes {} functions, the limit is {FUNCTIONS_MAX}", found.len());
        return Err(Error::new(ErrorKind::LimitExceeded, "read an interface file", message));
    }
    Ok(found)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSource, "read an interface file", message)
        .fix("write it again with ng_gen_nrf on the host of the stub executable")
}

#[cfg(test)]
#[path = "interface_files/tests.rs"]
mod tests;
