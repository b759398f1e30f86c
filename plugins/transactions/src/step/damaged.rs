//! Transactions that this node has taken, and whose records cannot be believed: nothing of them runs,
//! and their users are told why and can end them.

use farcall_base::{Error, Instant, TransactionId};
use farcall_services::store::Version;
use farcall_wire::{Failure, TransactionStatus};

use crate::state::kept::Head;
use crate::state::{Damaged, State};

impl State {
    /// A transaction that was read cannot go on. This process keeps it from others, who could do no
    /// more with it.
    pub(super) fn is_damaged(
        &mut self,
        id: TransactionId,
        (head, owner): (&Head, Version),
        error: &Error,
    ) {
        let principal = head.principal.clone();
        let damaged =
            Damaged { principal, owner, began_us: head.began_us, failure: Failure::from(error) };
        self.keeping.damaged.insert(id, damaged);
    }

    /// Why a transaction of this principal's does not run, if that is so.
    pub(super) fn damage_of(&self, id: &TransactionId, principal: &str) -> Option<Failure> {
        let known = self.keeping.damaged.get(id);
        known.filter(|known| known.principal == principal).map(|known| known.failure.clone())
    }

    /// Those of these are ended, if they are this principal's.
    pub(super) fn end_damaged(&mut self, ids: &[TransactionId], principal: &str) {
        for id in ids {
            if self.damage_of(id, principal).is_some()
                && let Some(Damaged { owner, .. }) = self.keeping.damaged.remove(id)
            {
                self.erase(*id, owner);
            }
        }
    }

    /// How those of a principal's are.
    pub(super) fn list_damaged(
        &self,
        now: Instant,
        ids: &[TransactionId],
        principal: &str,
    ) -> Vec<TransactionStatus> {
        let now_us = self.keeping.since_1970_us(now);
        let all = self.keeping.damaged.iter().filter(|(_, known)| known.principal == principal);
        let named = all.filter(|(id, _)| ids.is_empty() || ids.contains(id));
        let status = |(id, known): (&TransactionId, &Damaged)| TransactionStatus {
            id: *id,
            is_over: true,
            calls: 0,
            returned: 0,
            failed: 0,
            age_us: now_us.saturating_sub(known.began_us),
            left_us: None,
            principal: known.principal.clone(),
            failure: Some(known.failure.clone()),
        };
        named.map(status).collect()
    }
}
