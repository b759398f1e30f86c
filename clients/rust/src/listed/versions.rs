//! Which servers of a list publish which version of a routine: where they differ, that is told once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farcall_wire::OfferedRoutine;

use crate::standard_streams::tell;

/// Names in one line.
const NAMES_SHOWN: usize = 3;
/// Digits of a hash that tell versions apart.
const DIGITS: usize = 8;

/// What servers publish: the contract of each routine.
#[derive(Default)]
pub struct Versions(Mutex<State>);

#[derive(Default)]
struct State {
    of: BTreeMap<String, BTreeMap<String, [u8; 32]>>,
    told: BTreeSet<String>,
}

impl Versions {
    /// A server publishes these, and nothing else.
    pub fn publishes(&self, server: &str, offers: &[OfferedRoutine]) {
        let all = offers.iter().map(|one| (one.name.clone(), one.contract)).collect();
        self.lock().of.insert(server.to_owned(), all);
    }

    /// A routine was looked up, and is this version of it.
    pub fn uses(&self, name: &str, contract: &[u8; 32]) {
        let mut state = self.lock();
        let publish = |(server, all): (&String, &BTreeMap<String, [u8; 32]>)| {
            let other = all.get(name).filter(|published| *published != contract)?;
            Some((server.clone(), *other))
        };
        let others: Vec<(String, [u8; 32])> = state.of.iter().filter_map(publish).collect();
        let Some((_, other)) = others.first() else { return };
        if !state.told.insert(name.to_owned()) {
            return;
        }
        drop(state);
        let servers: Vec<&str> =
            others.iter().map(|(server, _)| server.as_str()).take(NAMES_SHOWN).collect();
        let (module, routine) = name.split_once('/').unwrap_or(("", name));
        let digits: String = other.iter().map(|byte| format!("{byte:02x}")).collect();
        tell(&format!(
            "{name} is called where more servers have the same version of it; {} has another one, \
             {module}@{}/{routine}",
            servers.join(", "),
            &digits[..DIGITS]
        ));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
