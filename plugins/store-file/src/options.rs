//! The options; options.toml says what each means.

use std::path::PathBuf;

use farcall_base::{Error, ErrorKind, Result};
use farcall_kernel::Options;
use serde::Deserialize;

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "options.toml documents each")]
pub struct Settings {
    pub folder: String,
    pub key_file: String,
    pub bytes_max: u64,
    pub requests_max: usize,
    pub watches_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            folder: String::new(),
            key_file: String::new(),
            bytes_max: 1 << 30,
            requests_max: 256,
            watches_max: 64,
        }
    }
}

impl Settings {
    /// Reads and checks them.
    ///
    /// # Errors
    /// `InvalidSource` with the place of what is wrong.
    pub fn read(options: &Options) -> Result<Settings> {
        let read: Settings = options.read()?;
        options.check_least(&[
            ("bytes_max", read.bytes_max, 1),
            ("requests_max", read.requests_max as u64, 1),
            ("watches_max", read.watches_max as u64, 1),
        ])?;
        Ok(read)
    }

    /// Where the store lies.
    ///
    /// # Errors
    /// `Unavailable`: nowhere.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        if !self.folder.is_empty() {
            return Ok(PathBuf::from(&self.folder));
        }
        let message = "there is no directory for it: this user has no home directory";
        Err(Error::new(ErrorKind::Unavailable, "open the store", message)
            .fix("set folder of store-file in farcall.toml"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings> {
        Settings::read(&Options::from_text("farcall.toml", text).unwrap())
    }

    #[test]
    fn the_documented_options_are_the_defaults() {
        assert_eq!(read(include_str!("options.toml")).unwrap(), Settings::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place() {
        let none = read("requests_max = 0").unwrap_err();
        assert!(none.to_string().contains("requests_max"), "{none}");
    }
}
