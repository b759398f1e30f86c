//! The options; options.toml says what each means.

use farcall_base::Result;
use farcall_kernel::Options;
use serde::Deserialize;

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "options.toml documents each")]
pub struct Settings {
    pub transactions_max: usize,
    pub calls_max: usize,
    pub open_max: usize,
    pub attempts_max: u32,
    pub keep_ms_max: u64,
    pub moved_bytes_max: u64,
    pub pulls_max: usize,
    pub pulled_bytes_max: u64,
    pub pull_ms: u64,
    pub pull_stall_ms: u64,
    pub resume_ms: u64,
    pub kept_inputs_max: u64,
    pub owner_lease_ms: u64,
    pub requests_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            transactions_max: 10_000,
            calls_max: 1_000_000,
            open_max: 64,
            attempts_max: 16,
            keep_ms_max: 604_800_000,
            moved_bytes_max: 1 << 30,
            pulls_max: 64,
            pulled_bytes_max: 4 << 30,
            pull_ms: 600_000,
            pull_stall_ms: 30_000,
            resume_ms: 300_000,
            kept_inputs_max: 256 << 20,
            owner_lease_ms: 3000,
            requests_max: 4096,
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
            ("transactions_max", read.transactions_max as u64, 1),
            ("calls_max", read.calls_max as u64, 1),
            ("open_max", read.open_max as u64, 1),
            ("attempts_max", read.attempts_max.into(), 1),
            ("owner_lease_ms", read.owner_lease_ms, 1000),
            ("requests_max", read.requests_max as u64, 1),
        ])?;
        Ok(read)
    }

    /// The bounds of one transaction.
    pub fn limits(&self) -> farcall_graph::Limits {
        farcall_graph::Limits {
            open_max: self.open_max,
            attempts_max: self.attempts_max,
            ..farcall_graph::Limits::default()
        }
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
        let none = read("open_max = 0").unwrap_err();
        assert!(none.to_string().contains("open_max"), "{none}");
    }
}
