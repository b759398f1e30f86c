//! Predictions that are asked for again and again: of calls that do the same.
//!
//! A kind is a routine with one amount of work. For each server that publishes the routine, its own
//! factor lies ready, so that a decision among a thousand servers reads a table.

use std::collections::{BTreeMap, BTreeSet};

use crate::run_times::{RunTimes, Work};
use crate::{Contract, MemberId};

/// What tells one kind from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    contract: Contract,
    sizes: u64,
    threads: u32,
}

/// Calls that do the same.
#[derive(Debug)]
pub struct Kind {
    work: Work,
    /// The servers that publish the routine, by their numbers.
    pub servers: Vec<KindOnServer>,
    /// Seconds that all servers share.
    pub common_s: f64,
    last_used: u64,
}

/// One kind on one server.
#[derive(Clone, Copy, Debug)]
pub struct KindOnServer {
    /// The server.
    pub member: MemberId,
    /// Its factor on the time that all share.
    pub factor: f64,
    /// Whether the routine has an executable there.
    pub is_warm: bool,
}

/// A server that publishes a routine.
#[derive(Clone, Copy, Debug)]
pub struct Publisher {
    /// The server.
    pub member: MemberId,
    /// Whether the routine has an executable there.
    pub is_warm: bool,
}

impl Kind {
    fn server_mut(&mut self, member: MemberId) -> Option<&mut KindOnServer> {
        let at = self.servers.binary_search_by_key(&member, |server| server.member).ok()?;
        Some(&mut self.servers[at])
    }
}

/// The kinds that were asked for lately.
#[derive(Debug, Default)]
pub struct Kinds {
    kinds: BTreeMap<Key, Kind>,
    uses: u64,
    kinds_max: usize,
}

impl Kinds {
    /// None yet.
    pub fn new(kinds_max: usize) -> Kinds {
        Kinds { kinds_max: kinds_max.max(1), ..Kinds::default() }
    }

    /// The kind of a call; `publishers` are asked only where it is new.
    pub fn of(
        &mut self,
        contract: &Contract,
        work: &Work,
        runs: &RunTimes,
        publishers: impl FnOnce() -> Vec<Publisher>,
    ) -> &Kind {
        self.uses += 1;
        let key = Key { contract: *contract, sizes: work.sizes, threads: work.threads };
        if !self.kinds.contains_key(&key) {
            self.forget_one();
        }
        let kind = self.kinds.entry(key).or_insert_with(|| {
            let on_server = |publisher: Publisher| KindOnServer {
                member: publisher.member,
                factor: runs.log_own(publisher.member, contract, work).exp(),
                is_warm: publisher.is_warm,
            };
            let servers = publishers().into_iter().map(on_server).collect();
            let common_s = runs.log_common(contract, work).exp();
            Kind { work: *work, servers, common_s, last_used: 0 }
        });
        kind.last_used = self.uses;
        kind
    }

    /// A call ran on a server: what is known of the server, and of the routine, is another.
    pub fn handle_run(&mut self, member: MemberId, contract: &Contract, runs: &RunTimes) {
        for (key, kind) in &mut self.kinds {
            if key.contract == *contract {
                kind.common_s = runs.log_common(contract, &kind.work).exp();
            }
            let own = runs.log_own(member, &key.contract, &kind.work);
            if let Some(server) = kind.server_mut(member) {
                server.factor = own.exp();
            }
        }
    }

    /// A server has other executables than before.
    pub fn handle_warmth(&mut self, member: MemberId, warm: &BTreeSet<Contract>) {
        for (key, kind) in &mut self.kinds {
            if let Some(server) = kind.server_mut(member) {
                server.is_warm = warm.contains(&key.contract);
            }
        }
    }

    /// Who publishes what is another.
    pub fn clear(&mut self) {
        self.kinds.clear();
    }

    fn forget_one(&mut self) {
        if self.kinds.len() < self.kinds_max {
            return;
        }
        let oldest = self.kinds.iter().min_by_key(|(_, kind)| kind.last_used).map(|(key, _)| *key);
        oldest.map(|key| self.kinds.remove(&key));
    }
}
