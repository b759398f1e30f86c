//! A transaction that is written down: what was decided waits until the record of it is in the
//! store (spec/transactions.md, section 5).

use std::collections::VecDeque;

use farcall_base::{Instant, TransactionId};
use farcall_services::store::{Change, Condition, Version};

use super::Action;
use super::kept::{Head, Keys, Record, record_pieces};

/// Bytes of records after which one record of all rows takes their place, at least.
const RECORDS_BYTES: u64 = 1 << 20;
/// The same, in records of all rows.
const RECORDS_TIMES: u64 = 4;

/// What belongs to the writing of one transaction.
pub struct Journal {
    /// When this process wrote that it runs the transaction.
    pub owner: Version,
    /// Its keys.
    pub keys: Keys,
    /// What its head says.
    pub head: Head,
    /// What was decided, and not written yet.
    pub pending: VecDeque<Action>,
    /// What is carried out when all writes are done.
    flying: VecDeque<Action>,
    /// What is to be written, the first of which is on its way.
    writes: VecDeque<Vec<Change>>,
    /// Whether the list of servers has changed.
    pub has_servers: bool,
    /// Whether the next record is one of all rows.
    pub is_whole: bool,
    /// Records of this epoch follow one of all rows.
    epoch: u32,
    next: u32,
    bytes: u64,
    whole_bytes: u64,
    /// Since when the store does not take a write.
    pub stuck_since: Option<Instant>,
}

impl Journal {
    /// One that begins with a record of all rows.
    pub fn new(id: TransactionId, owner: Version, head: Head, epoch: u32) -> Journal {
        Journal {
            owner,
            keys: Keys(id),
            head,
            pending: VecDeque::new(),
            flying: VecDeque::new(),
            writes: VecDeque::new(),
            has_servers: true,
            is_whole: true,
            epoch,
            next: 0,
            bytes: 0,
            whole_bytes: 0,
            stuck_since: None,
        }
    }

    /// Whether something is being written: until then, nothing is done and no news are taken.
    pub fn is_closed(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Whether all rows are to be written in place of the records.
    pub fn wants_whole(&self) -> bool {
        self.is_whole || self.bytes > RECORDS_BYTES.max(RECORDS_TIMES * self.whole_bytes)
    }

    /// What is to be written from now on. What was decided waits for it.
    pub fn write(&mut self, record: Option<&Record>, is_whole: bool, has_head: bool) {
        let mut changes = Vec::new();
        if has_head {
            changes.push(self.head.put(self.keys));
        }
        let before = self.epoch;
        if let Some(record) = record {
            self.has_servers = false;
            if is_whole {
                self.is_whole = false;
                self.epoch += 1;
                (self.next, self.bytes, self.whole_bytes) = (0, 0, 0);
            }
            for (value, piece) in record_pieces(record).into_iter().zip(0..) {
                self.bytes += value.len() as u64;
                let key = self.keys.record(self.epoch, self.next, piece);
                changes.push(Change::Put { key, value, lease: None });
            }
            self.next += 1;
        }
        if is_whole && record.is_some() {
            (self.whole_bytes, self.bytes) = (self.bytes, 0);
            // Those before it go when it is there as a whole. There are two where an owner ended in
            // the middle of this.
            for epoch in before.saturating_sub(1)..=before {
                changes.push(Change::DeleteAll { prefix: self.keys.records(epoch) });
            }
        }
        self.writes = super::kept::batches(changes).into();
        self.flying = std::mem::take(&mut self.pending);
    }

    /// The write that is on its way. It is done only while this process runs the transaction.
    pub fn current(&self) -> Option<(Vec<Condition>, Vec<Change>)> {
        let changes = self.writes.front()?.clone();
        Some((vec![Condition::Is(self.keys.owner(), self.owner)], changes))
    }

    /// It is done. What may be done now, if no more is to be written.
    pub fn written(&mut self) -> VecDeque<Action> {
        self.writes.pop_front();
        self.stuck_since = None;
        if self.writes.is_empty() { std::mem::take(&mut self.flying) } else { VecDeque::new() }
    }
}
