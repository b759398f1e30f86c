//! Calls that go on without this program, and their outcomes: made by it before, or by another that
//! told it their ids.

use std::sync::Arc;
use std::time::Instant;

use farcall_base::{CallId, Result};
use farcall_wire::Failure;

use super::program::terms;
use super::{Conditions, Session};
use crate::contract::Contract;

impl Session {
    /// An id for a call that is to be found again by it.
    pub fn fresh_id(&self) -> CallId {
        CallId(self.lock().caller.random())
    }

    /// Takes a call up by its id; waits until the server has said what it was. `None` at the
    /// deadline.
    pub fn seek(
        &self,
        id: CallId,
        conditions: Conditions,
        deadline: Option<Instant>,
    ) -> Result<Option<(u64, Arc<Contract>)>> {
        let Some(number) = self.begin_seek(id, conditions, deadline)? else { return Ok(None) };
        let found = self.wait_until(deadline, |core| core.caller.found(number));
        if !matches!(found, Ok(Some(Ok(_)))) {
            let mut core = self.enter();
            core.caller.detach(number);
            self.advance(&mut core);
        }
        found?.transpose().map(|found| found.map(|contract| (number, contract)))
    }

    /// The same without waiting for what the server says: it comes with the outcome.
    pub fn begin_seek(
        &self,
        id: CallId,
        conditions: Conditions,
        deadline: Option<Instant>,
    ) -> Result<Option<u64>> {
        let back = self.wait_until(deadline, |core| core.is_up().then_some(()))?;
        let mut core = self.enter();
        if back.is_none() || !core.is_up() {
            return Ok(None);
        }
        let number = core.next_number;
        core.caller.seek(number, id, terms(&conditions, None), conditions)?;
        core.next_number += 1;
        self.advance(&mut core);
        Ok(Some(number))
    }

    /// Waits until the server has said that a call goes on without us, or it is over. False at the
    /// deadline.
    pub fn wait_kept(&self, number: u64, deadline: Option<Instant>) -> Result<bool> {
        let kept = self.wait_until(deadline, |core| core.caller.is_kept(number).then_some(()))?;
        Ok(kept.is_some())
    }

    /// Whether the server ever said that a call goes on without us.
    pub fn was_kept(&self, number: u64) -> bool {
        self.lock().caller.was_kept(number)
    }

    /// Why a call is over that the server never said it keeps; its outcome is still to be
    /// collected.
    pub fn refusal(&self, number: u64) -> Option<Failure> {
        self.lock().caller.refusal(number)
    }

    /// Nobody asks any more whether a call was kept.
    pub fn forget_kept(&self, number: u64) {
        self.lock().caller.forget_kept(number);
    }

    /// Leaves a call that is kept to the server, which goes on with it; false if it would end with
    /// us.
    pub fn leave(&self, number: u64) -> bool {
        let mut core = self.enter();
        let kept = core.caller.is_kept(number);
        if kept {
            core.caller.detach(number);
            self.advance(&mut core);
        }
        kept
    }
}
