//! The store that all nodes share, as the real ones are: an answer may be lost, whether the write was
//! done or not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant, Random, SeededRandom};
use farcall_services::store::{Changed, LeaseId, MemoryStore};

use super::net::{Asked, Stored};
use crate::state::kept::OWNERS;

/// Bytes that it takes.
const BYTES_MAX: u64 = 1 << 26;

/// The store.
pub struct SharedStore {
    pub store: MemoryStore,
    /// Nobody reaches it.
    pub is_away: bool,
    /// These nodes do not.
    pub cut: BTreeSet<usize>,
    /// Answers that are lost on the way to a node.
    pub unanswered: BTreeMap<usize, u64>,
    owners: BTreeSet<String>,
}

impl SharedStore {
    pub fn new() -> SharedStore {
        SharedStore {
            store: MemoryStore::new(BYTES_MAX),
            is_away: false,
            cut: BTreeSet::new(),
            unanswered: BTreeMap::new(),
            owners: BTreeSet::new(),
        }
    }

    /// Whether a node reaches it.
    pub fn is_reached(&self, node: usize) -> bool {
        !self.is_away && !self.cut.contains(&node)
    }

    /// Answers a node. The second is whether that takes its time.
    pub fn answer(
        &mut self,
        now: Instant,
        node: usize,
        asked: Asked,
        random: &mut SeededRandom,
    ) -> (Stored, bool) {
        let error = |message| Error::new(ErrorKind::Unavailable, "ask the store", message);
        if !self.is_reached(node) {
            return (refused(&asked, error("it is away").retryable()), true);
        }
        let lost = self.unanswered.get_mut(&node).filter(|left| **left > 0);
        if let Some(left) = lost {
            *left -= 1;
            let refusal = refused(&asked, error("its answer was lost"));
            if random.next().is_multiple_of(2) {
                self.carry_out(now, asked);
            }
            return (refusal, true);
        }
        (self.carry_out(now, asked), false)
    }

    fn carry_out(&mut self, now: Instant, asked: Asked) -> Stored {
        match asked {
            Asked::Write(ticket, conditions, changes) => {
                Stored::Written(ticket, self.store.write(now, &conditions, changes))
            }
            Asked::Read(ticket, prefix, after, limit) => {
                let page = self.store.read(now, &prefix, after.as_deref(), limit);
                Stored::Read(ticket, page)
            }
            Asked::Lease => Stored::Lease(self.store.lease(now, LEASE)),
        }
    }

    /// Owners that went since this was asked last.
    pub fn changes(&mut self, now: Instant) -> Vec<Changed> {
        let page = self.store.read(now, OWNERS, None, 1000).unwrap();
        let owners: BTreeSet<String> = page.into_iter().map(|entry| entry.key).collect();
        let gone = self.owners.difference(&owners).cloned().map(Changed::Gone).collect();
        self.owners = owners;
        gone
    }

    /// A node keeps its lease; whether it has it still.
    pub fn keep(&mut self, now: Instant, node: usize, lease: LeaseId) -> bool {
        !self.is_reached(node) || self.store.keep(now, lease).is_ok()
    }

    /// All keys that there are.
    pub fn keys(&mut self, now: Instant) -> Vec<String> {
        let page = self.store.read(now, "", None, 1000).unwrap();
        page.into_iter().map(|entry| entry.key).collect()
    }
}

/// How long leases last.
pub const LEASE: Duration = Duration::from_secs(3);

fn refused(asked: &Asked, error: Error) -> Stored {
    match asked {
        Asked::Write(ticket, ..) => Stored::Written(*ticket, Err(error)),
        Asked::Read(ticket, ..) => Stored::Read(*ticket, Err(error)),
        Asked::Lease => Stored::Lease(Err(error)),
    }
}
