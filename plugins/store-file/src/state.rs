//! What the plugin knows beside the file.
//!
//! - `numbers` are those of the file as it was committed last, or as the batch that is being written
//!   will leave it.
//! - Leases are only here: they end with the process.

use std::collections::BTreeSet;

use farcall_services::store::LeaseId;

/// Numbers that the file keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Of the last write.
    pub version: u64,
    /// Of all keys and values.
    pub bytes: u64,
}

/// The tables.
#[derive(Debug, Default)]
pub struct State {
    /// Bytes of all keys and values, at most.
    pub bytes_max: u64,
    /// What the file keeps.
    pub numbers: Numbers,
    leases: BTreeSet<LeaseId>,
    last_lease: u64,
}

impl State {
    /// No lease yet.
    pub fn new(bytes_max: u64) -> State {
        State { bytes_max, ..State::default() }
    }

    /// Begins a lease, which ends with the process.
    pub fn lease(&mut self) -> LeaseId {
        self.last_lease += 1;
        let lease = LeaseId(self.last_lease);
        self.leases.insert(lease);
        lease
    }

    /// Whether it has begun.
    pub fn has_lease(&self, lease: LeaseId) -> bool {
        self.leases.contains(&lease)
    }
}
