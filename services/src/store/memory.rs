//! A store in memory, for tests and the simulator: the same answers as the stores that last, by a
//! clock that the caller has.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use farcall_base::{Instant, Result};

use super::{
    Change, Changed, Condition, Entry, LeaseId, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Request, Version,
    Watches, check_key, check_lease, check_prefix, check_write, full, no_such_lease,
};

/// The tables. A lease ends when nobody has called [`MemoryStore::keep`] for its time: so a test
/// decides which owner has died.
pub struct MemoryStore {
    entries: BTreeMap<String, Kept>,
    /// Each with its time, and when it ends.
    leases: BTreeMap<LeaseId, (Duration, Instant)>,
    last_lease: u64,
    last_version: u64,
    bytes: u64,
    bytes_max: u64,
    watches: Watches,
}

struct Kept {
    value: Vec<u8>,
    version: Version,
    lease: Option<LeaseId>,
}

impl MemoryStore {
    /// An empty store for this many bytes of keys and values.
    pub fn new(bytes_max: u64) -> MemoryStore {
        MemoryStore {
            entries: BTreeMap::new(),
            leases: BTreeMap::new(),
            last_lease: 0,
            last_version: 0,
            bytes: 0,
            bytes_max,
            watches: Watches::default(),
        }
    }

    /// Answers a request.
    pub fn handle(&mut self, now: Instant, request: Request) {
        self.tick(now);
        match request {
            Request::Write { conditions, changes, reply } => {
                reply.answer(self.write(now, &conditions, changes));
            }
            Request::Read { prefix, after, limit, reply } => {
                reply.answer(self.read(now, &prefix, after.as_deref(), limit));
            }
            Request::Lease { time, reply } => reply.answer(self.lease(now, time)),
            Request::Watch { prefix, port } => self.watches.add(prefix, port),
        }
    }

    /// Does all changes, or none (`None`).
    ///
    /// # Errors
    /// As [`Request`] says.
    pub fn write(
        &mut self,
        now: Instant,
        conditions: &[Condition],
        changes: Vec<Change>,
    ) -> Result<Option<Version>> {
        self.tick(now);
        check_write(conditions, &changes)?;
        if !conditions.iter().all(|condition| self.holds(condition)) {
            return Ok(None);
        }
        self.check_leases(&changes)?;
        if self.bytes_after(&changes) > self.bytes_max {
            return Err(full(self.bytes_max));
        }
        self.last_version += 1;
        let version = Version(self.last_version);
        for change in changes {
            match change {
                Change::Put { key, value, lease } => {
                    self.remove(&key);
                    self.bytes += bytes_of(&key, &value);
                    self.watches.tell(&Changed::Put(key.clone()));
                    self.entries.insert(key, Kept { value, version, lease });
                }
                Change::Delete { key } => self.delete(&key),
                Change::DeleteAll { prefix } => self.delete_all(&prefix),
            }
        }
        Ok(Some(version))
    }

    /// One page.
    ///
    /// # Errors
    /// As [`Request`] says.
    pub fn read(
        &mut self,
        now: Instant,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.tick(now);
        check_prefix(prefix)?;
        after.map_or(Ok(()), check_key)?;
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut bytes = 0;
        let range = self.entries.range::<str, _>((from, Bound::Unbounded));
        let page = range.take_while(|(key, kept)| {
            let has_room = bytes < PAGE_BYTES_MAX;
            bytes += kept.value.len();
            has_room && key.starts_with(prefix)
        });
        let entry = |(key, kept): (&String, &Kept)| Entry {
            key: key.clone(),
            value: kept.value.clone(),
            version: kept.version,
        };
        Ok(page.take(limit.min(PAGE_ENTRIES_MAX)).map(entry).collect())
    }

    /// Begins a lease.
    ///
    /// # Errors
    /// As [`Request`] says.
    pub fn lease(&mut self, now: Instant, time: Duration) -> Result<LeaseId> {
        check_lease(time)?;
        self.last_lease += 1;
        let lease = LeaseId(self.last_lease);
        self.leases.insert(lease, (time, now + time));
        Ok(lease)
    }

    /// Keeps a lease for its time from now on.
    ///
    /// # Errors
    /// `NotFound`: it has ended.
    pub fn keep(&mut self, now: Instant, lease: LeaseId) -> Result<()> {
        self.tick(now);
        let (time, end) = self.leases.get_mut(&lease).ok_or_else(|| no_such_lease(lease))?;
        *end = now + *time;
        Ok(())
    }

    /// Ends a lease at once: its keys go.
    pub fn end(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
        let leased = self.entries.iter().filter(|(_, kept)| kept.lease == Some(lease));
        let keys: Vec<String> = leased.map(|(key, _)| key.clone()).collect();
        if !keys.is_empty() {
            self.last_version += 1;
        }
        keys.iter().for_each(|key| self.delete(key));
    }

    /// Tells of changes from now on.
    pub fn watch(&mut self, prefix: String, port: crate::mailbox::Port<Changed>) {
        self.watches.add(prefix, port);
    }

    /// Ends leases whose time has passed, and tells watches whose mailboxes were full.
    pub fn tick(&mut self, now: Instant) {
        let past = self.leases.iter().filter(|(_, (_, end))| *end <= now);
        for lease in past.map(|(lease, _)| *lease).collect::<Vec<_>>() {
            self.end(lease);
        }
        self.watches.settle();
    }

    /// When the next lease ends.
    pub fn next_tick(&self) -> Option<Instant> {
        self.leases.values().map(|(_, end)| *end).min()
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Absent(key) => !self.entries.contains_key(key),
            Condition::Is(key, version) => {
                self.entries.get(key).is_some_and(|kept| kept.version == *version)
            }
        }
    }

    fn check_leases(&self, changes: &[Change]) -> Result<()> {
        for change in changes {
            if let Change::Put { lease: Some(lease), .. } = change
                && !self.leases.contains_key(lease)
            {
                return Err(no_such_lease(*lease));
            }
        }
        Ok(())
    }

    fn bytes_after(&self, changes: &[Change]) -> u64 {
        let mut bytes = self.bytes;
        let freed = |key: &String| self.entries.get(key).map_or(0, |old| bytes_of(key, &old.value));
        for change in changes {
            match change {
                Change::Put { key, value, .. } => {
                    bytes = (bytes + bytes_of(key, value)).saturating_sub(freed(key));
                }
                // What two changes delete is counted twice: a full store is then found one write
                // later.
                Change::Delete { key } => bytes = bytes.saturating_sub(freed(key)),
                Change::DeleteAll { prefix } => {
                    let gone: u64 = self.keys(prefix).iter().map(freed).sum();
                    bytes = bytes.saturating_sub(gone);
                }
            }
        }
        bytes
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        let range = self.entries.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        range.take_while(|(key, _)| key.starts_with(prefix)).map(|(key, _)| key.clone()).collect()
    }

    fn delete_all(&mut self, prefix: &str) {
        self.keys(prefix).iter().for_each(|key| self.delete(key));
    }

    fn delete(&mut self, key: &str) {
        if self.remove(key) {
            self.watches.tell(&Changed::Gone(key.to_owned()));
        }
    }

    fn remove(&mut self, key: &str) -> bool {
        let Some(old) = self.entries.remove(key) else { return false };
        self.bytes -= bytes_of(key, &old.value);
        true
    }
}

fn bytes_of(key: &str, value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
