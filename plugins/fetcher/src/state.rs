//! What the fetcher works on, and what always holds of it.
//!
//! - At most `at_once_max` arrays are fetched, at most `waiting_max` wait; none waits while fewer
//!   are fetched.

use std::collections::VecDeque;

use farcall_services::fetcher::Wanted;
use farcall_system::machine_memory::machine_memory;
use serde::Deserialize;

use crate::source::{Location, Rules};

/// The plugin's options, each explained in `options.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub allow: Vec<Allowed>,
    pub bytes_max: u64,
    pub at_once_max: usize,
    pub waiting_max: usize,
    pub timeout_ms: u64,
    pub certificates: String,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            allow: Vec::new(),
            bytes_max: 0,
            at_once_max: 4,
            waiting_max: 64,
            timeout_ms: 60_000,
            certificates: String::new(),
        }
    }
}

/// Bytes of a file where the manifest does not say: as many, or a part of the memory that there is,
/// where that is less. A file is held up to three times on its way, and several at a time.
const BYTES_MOST: u64 = 1 << 30;
const MEMORY_PART: u64 = 32;

impl Limits {
    /// Bytes of one file.
    pub fn file_bytes_max(&self) -> u64 {
        let open = BYTES_MOST.min(machine_memory().bytes / MEMORY_PART);
        if self.bytes_max == 0 { open } else { self.bytes_max }
    }
}

/// Sources, and who may have arrays fetched from them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    pub from: Vec<String>,
    #[serde(default = "everybody")]
    pub who: Vec<String>,
}

fn everybody() -> Vec<String> {
    vec!["*".to_owned()]
}

/// An array that somebody wants, and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub number: u64,
    pub location: Location,
    pub wanted: Wanted,
}

/// The tables.
pub(crate) struct State {
    pub limits: Limits,
    pub rules: Rules,
    pub fetching: usize,
    pub waiting: VecDeque<Job>,
}

impl State {
    pub fn new(limits: Limits, rules: Rules) -> State {
        State { limits, rules, fetching: 0, waiting: VecDeque::new() }
    }
}
