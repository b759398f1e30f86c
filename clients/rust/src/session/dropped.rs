//! Data and transactions that the program dropped: the server is told of them when something else is
//! said, or at once where nobody holds the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use farcall_base::{DataId, TransactionId};
use farcall_wire::{Request, TransactionRequest};

use super::{Core, Session};
use crate::clock::now;

/// Ids that one request names at most.
const IDS_MAX: usize = 1000;

/// What was dropped.
#[derive(Default)]
pub(super) struct DroppedData {
    ids: Mutex<Vec<DataId>>,
    transactions: Mutex<Vec<TransactionId>>,
    has_any: AtomicBool,
}

fn taken<T>(all: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
}

impl DroppedData {
    /// Has the server delete what was dropped, and waits for no answer.
    #[inline]
    pub(super) fn delete(&self, core: &mut Core, patience: Duration) {
        if self.has_any.load(Ordering::Relaxed) {
            self.delete_all(core, patience);
        }
    }

    #[cold]
    fn delete_all(&self, core: &mut Core, patience: Duration) {
        if !core.is_up() {
            return;
        }
        self.has_any.store(false, Ordering::Relaxed);
        // A transaction's inputs go behind it.
        let transactions = taken(&self.transactions);
        let ends = transactions
            .chunks(IDS_MAX)
            .map(|some| Request::Transaction(TransactionRequest::End(some.to_vec())));
        let ids = taken(&self.ids);
        let deletes = ids.chunks(IDS_MAX).map(|some| Request::DeleteData(some.to_vec()));
        for request in ends.chain(deletes) {
            if let Ok((question, _)) = core.caller.ask(&request, patience, now()) {
                core.caller.drop_question(question);
            }
        }
    }
}

impl Session {
    /// Data is needed no longer. This may be called by who holds the connection.
    pub fn drop_data(&self, id: DataId) {
        if self.is_foreign() {
            return;
        }
        self.dropped.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.tell_of_dropped();
    }

    /// A transaction is needed no longer. This may be called by who holds the connection.
    pub fn drop_transaction(&self, id: TransactionId) {
        if self.is_foreign() {
            return;
        }
        self.dropped.transactions.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.tell_of_dropped();
    }

    fn tell_of_dropped(&self) {
        self.dropped.has_any.store(true, Ordering::Relaxed);
        let core = match self.core.try_lock() {
            Ok(core) => Some(core),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            // Who holds it says it soon.
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(mut core) = core {
            self.advance(&mut core);
        }
    }
}
