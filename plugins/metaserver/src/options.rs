//! The options; options.toml says what each means.

use farcall_base::Result;
use farcall_kernel::Options;
use farcall_placement::{Limits, policy};
use serde::Deserialize;

use crate::milliseconds;

/// What the manifest and the command line say.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "options.toml documents each")]
pub struct Settings {
    pub join: Vec<String>,
    pub members: Vec<String>,
    pub name: String,
    pub addresses: Vec<String>,
    pub site: String,
    pub placement: String,
    pub learned_file: String,
    pub members_max: usize,
    pub routines_of_one_max: usize,
    pub interfaces_bytes_max: usize,
    pub routines_max: usize,
    pub paths_max: usize,
    pub grants_max: usize,
    pub suspect_ms: u64,
    pub gone_ms: u64,
    pub grant_valid_ms: u64,
    pub report_ms: u64,
    pub patience_ms: u64,
    pub requests_max: usize,
    pub relayed_max: usize,
    pub relayed_of_one_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            join: Vec::new(),
            members: Vec::new(),
            name: String::new(),
            addresses: Vec::new(),
            site: String::new(),
            placement: "finish-first".to_owned(),
            learned_file: String::new(),
            members_max: 4096,
            routines_of_one_max: 10_000,
            interfaces_bytes_max: 128 << 20,
            routines_max: 4096,
            paths_max: 65_536,
            grants_max: 65_536,
            suspect_ms: 5000,
            gone_ms: 20_000,
            grant_valid_ms: 1000,
            report_ms: 1000,
            patience_ms: 10_000,
            requests_max: 4096,
            relayed_max: 1024,
            relayed_of_one_max: 256,
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
            ("members_max", read.members_max as u64, 1),
            ("routines_of_one_max", read.routines_of_one_max as u64, 1),
            ("routines_max", read.routines_max as u64, 1),
            ("paths_max", read.paths_max as u64, 1),
            ("grants_max", read.grants_max as u64, 1),
            ("suspect_ms", read.suspect_ms, 100),
            ("gone_ms", read.gone_ms, 100),
            ("report_ms", read.report_ms, 100),
            ("patience_ms", read.patience_ms, 1),
            ("requests_max", read.requests_max as u64, 1),
        ])?;
        if policy::by_name(&read.placement).is_none() {
            let names = policy::NAMES.join(", ");
            let message = format!("\"{}\" is no placement policy", read.placement);
            return Err(options.wrong("placement", message).fix(format!("write one of {names}")));
        }
        for (key, addresses) in [("join", &read.join), ("members", &read.members)] {
            let is_known = |one: &String| one.starts_with("tls://") || one.starts_with("unix:");
            if let Some(wrong) = addresses.iter().find(|one| !is_known(one)) {
                let message =
                    format!("\"{}\" is no address that a server dials", wrong.escape_debug());
                let error = options.wrong(key, message);
                return Err(error.fix("write tls://HOST:PORT, or unix:PATH on this host"));
            }
        }
        Ok(read)
    }

    /// What bounds the tables of the placement.
    pub fn limits(&self) -> Limits {
        Limits {
            members_max: self.members_max,
            routines_max: self.routines_max,
            paths_max: self.paths_max,
            grants_max: self.grants_max,
            suspect_after: milliseconds(self.suspect_ms),
            gone_after: milliseconds(self.gone_ms.max(self.suspect_ms)),
            ..Limits::default()
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
        let documented = read(include_str!("options.toml")).unwrap();
        assert_eq!(documented, Settings::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place_and_the_fix() {
        let policy = read("placement = \"fastest\"").unwrap_err();
        assert!(policy.to_string().contains("\"fastest\" is no placement policy"), "{policy}");
        assert!(policy.advice().unwrap().contains("finish-first, load-only"), "{policy}");
        let address = read("join = [\"ssh://b\"]").unwrap_err();
        assert!(address.to_string().contains("\"ssh://b\" is no address"), "{address}");
        let unknown = read("member = []").unwrap_err();
        assert!(unknown.to_string().contains("members"), "{unknown}");
    }
}
