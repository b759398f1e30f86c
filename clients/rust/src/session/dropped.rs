//! Data that the program dropped: the server is told of it when something else is said, or at once
//! where nobody holds the connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

use farcall_base::DataId;
use farcall_wire::Request;

use super::{Core, Session};
use crate::clock::now;

/// Ids that one request names at most.
const IDS_MAX: usize = 1000;

/// What was dropped.
#[derive(Default)]
pub(super) struct DroppedData {
    ids: Mutex<Vec<DataId>>,
    has_any: AtomicBool,
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
        let ids = std::mem::take(&mut *self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        for some in ids.chunks(IDS_MAX) {
            let request = Request::DeleteData(some.to_vec());
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
