//! Who asks, and how far they are: see README.md.
//!
//! A client has no answer while its question comes and while the server is asked; once it has one
//! it is only written to.

use std::collections::BTreeMap;

use farcall_base::Instant;
use serde::Deserialize;

/// The options; options.toml says what each means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub listen: String,
    pub beyond_loopback: bool,
    pub clients_max: usize,
    pub request_bytes_max: usize,
    pub patience_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            listen: String::new(),
            beyond_loopback: false,
            clients_max: 16,
            request_bytes_max: 8192,
            patience_ms: 10_000,
        }
    }
}

/// Somebody who asks.
pub struct Client {
    /// What it has sent so far.
    pub question: Vec<u8>,
    /// What it is to be sent, and how much of that has left.
    pub answer: Option<(Vec<u8>, usize)>,
    /// The server is asked on its behalf.
    pub waits: bool,
    /// When it is cut off.
    pub until: Instant,
}

/// Everybody who asks, by number.
pub struct State {
    pub limits: Limits,
    pub clients: BTreeMap<u64, Client>,
    pub next: u64,
}

impl State {
    pub fn new(limits: Limits) -> State {
        State { limits, clients: BTreeMap::new(), next: 0 }
    }
}
