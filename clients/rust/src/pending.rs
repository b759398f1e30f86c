//! A call under way, as programs see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};

use crate::argument::Passed;
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::results::Outputs;
use crate::session::{Conditions, earlier};

/// Time after a call's deadline in which the server's own word on it counts still: it says more than ours. Then the
/// caller hears that its time is over, whatever the server does.
const LAST_WORD: Duration = Duration::from_millis(250);

/// A call under way. Dropping it asks the server to end the call, and waits for nothing: the call's arrays are not used any
/// more.
pub struct PendingCall {
    client: Client,
    number: u64,
    deadline: Option<Instant>,
    contract: Arc<Contract>,
    collected: bool,
}

impl PendingCall {
    /// Opens a call; `None` when the server does not take one more within `wait`.
    pub(crate) fn open(
        client: Client,
        contract: &Arc<Contract>,
        passed: Passed,
        options: &CallOptions,
        wait: Option<Duration>,
    ) -> Result<Option<PendingCall>> {
        let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let conditions = Conditions { deadline, announced: options.announced };
        let Some(number) = client.session().open(contract, passed, conditions, wait)? else { return Ok(None) };
        Ok(Some(PendingCall { client, number, deadline, contract: contract.clone(), collected: false }))
    }

    /// Sees the call on its way, as far as the server takes it.
    pub(crate) fn push(self) -> PendingCall {
        self.client.session().push(self.deadline);
        self
    }

    /// The call's number, as [`Client::next_finished`] tells it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the call is over; never waits.
    ///
    /// # Errors
    /// The call's own error if it failed: then it is collected.
    pub fn poll(&mut self) -> Result<Option<Outputs>> {
        self.client.process()?;
        self.collect(Some(Instant::now()))
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// As [`PendingCall::poll`].
    pub fn wait_for(&mut self, timeout: Duration) -> Result<Option<Outputs>> {
        self.collect(Instant::now().checked_add(timeout))
    }

    fn collect(&mut self, until: Option<Instant>) -> Result<Option<Outputs>> {
        if self.collected {
            return Err(Error::new(ErrorKind::NotFound, "wait for a call", "its outcome was collected before"));
        }
        let last = self.deadline.map(|deadline| deadline.checked_add(LAST_WORD).unwrap_or(deadline));
        match self.client.session().wait(self.number, earlier(until, last))? {
            Some(outcome) => {
                self.collected = true;
                if outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::InterfaceChanged) {
                    self.client.forget(&self.contract);
                }
                outcome.map(Some)
            }
            None if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                self.collected = true;
                self.client.session().abandon(self.number);
                Err(Error::new(ErrorKind::TimedOut, "call", "its time is over")
                    .with("routine", &self.contract.name)
                    .fix("give it a longer timeout"))
            }
            None => Ok(None),
        }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// Whatever became of the call.
    pub fn wait(mut self) -> Result<Outputs> {
        let outputs = self.collect(None)?;
        outputs.ok_or_else(|| Error::internal("wait for a call", "waiting without a deadline ended early"))
    }

    /// Asks the server to end the call; its outcome is still to be collected.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn cancel(&self) -> Result<()> {
        self.client.session().cancel(self.number)
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if !self.collected {
            // Whoever drops a call wants neither its results nor its error, but its memory back.
            self.client.session().abandon(self.number);
        }
    }
}
