//! Calls that go on without this program, and their outcomes: made by it before, or by another that told it their ids.

use std::sync::Arc;
use std::time::Instant;

use farcall_base::{Bytes, CallId, ChannelId, Error, ErrorKind, Random, Result};
use farcall_wire::{Argument as WireArgument, CallResult, Failure, Reply, Resume};

use super::flight::{Call, InFlight, Outcome};
use super::recovery::Known;
use super::tables::{Abandoned, Tables};
use super::{Conditions, Session};
use crate::argument::Passed;
use crate::contract::Contract;
use crate::marshal::{Marshalled, results_of};

/// A call that was asked for by its id: whether the server has it is not known yet.
pub struct Sought {
    pub(super) number: u64,
    pub(super) id: CallId,
    pub(super) conditions: Conditions,
}

impl Session {
    /// An id for a call that is to be found again by it.
    pub fn fresh_id(&self) -> CallId {
        CallId(self.lock().tables.random.bytes16())
    }

    /// Takes a call up by its id; waits until the server has said what it was. `None` at the deadline.
    pub fn seek(
        &self,
        id: CallId,
        conditions: Conditions,
        deadline: Option<Instant>,
    ) -> Result<Option<(u64, Arc<Contract>)>> {
        let number = {
            let back = self.wait_until(deadline, |core| core.is_up().then_some(()))?;
            let mut core = self.enter();
            if back.is_none() || !core.is_up() {
                return Ok(None);
            }
            let number = core.next_number;
            core.tables.seek(Sought { number, id, conditions })?;
            core.next_number += 1;
            self.advance(&mut core);
            number
        };
        let found = self.wait_until(deadline, |core| core.tables.found(number));
        if !matches!(found, Ok(Some(Ok(_)))) {
            let mut core = self.enter();
            core.tables.detach(number);
            self.advance(&mut core);
        }
        found?.transpose().map(|found| found.map(|contract| (number, contract)))
    }

    /// Waits until the server has said that a call goes on without us, or it is over. False at the deadline.
    pub fn wait_kept(&self, number: u64, deadline: Option<Instant>) -> Result<bool> {
        let kept = self.wait_until(deadline, |core| core.tables.is_kept(number).then_some(()))?;
        Ok(kept.is_some())
    }

    /// Whether the server ever said that a call goes on without us.
    pub fn was_kept(&self, number: u64) -> bool {
        self.lock().tables.acknowledged.contains(&number)
    }

    /// Why a call is over that the server never said it keeps; its outcome is still to be collected.
    pub fn refusal(&self, number: u64) -> Option<Failure> {
        let core = self.lock();
        let failed = core.tables.finished.get(&number).and_then(|outcome| outcome.as_ref().err());
        failed.filter(|_| !core.tables.acknowledged.contains(&number)).map(Failure::from)
    }

    /// Nobody asks any more whether a call was kept.
    pub fn forget_kept(&self, number: u64) {
        self.lock().tables.acknowledged.remove(&number);
    }

    /// Leaves a call that is kept to the server, which goes on with it; false if it would end with us.
    pub fn leave(&self, number: u64) -> bool {
        let mut core = self.enter();
        let kept = core.tables.is_kept(number);
        if kept {
            core.tables.detach(number);
            self.advance(&mut core);
        }
        kept
    }
}

impl Tables {
    /// Asks for a call by its id; while the connection is lost, as soon as there is another.
    pub(super) fn seek(&mut self, sought: Sought) -> Result<()> {
        let channel = self.connection.resume(&Resume { describe: Some(true), ..Resume::new(sought.id) })?;
        if sought.conditions.has_news() {
            self.news.expect(sought.number);
        }
        self.channels.insert(sought.number, channel);
        self.seeking.insert(channel, sought);
        Ok(())
    }

    /// Whether the server has a call, once it has said so: what it calls, or why not. Its outcome is collected then.
    fn found(&mut self, number: u64) -> Option<Result<Arc<Contract>>> {
        if let Some(outcome) = self.finished.remove(&number) {
            return match outcome {
                Ok(outputs) => {
                    let contract = self.contracts.remove(&number);
                    self.finished.insert(number, Ok(outputs));
                    contract.map(Ok)
                }
                // A call that has failed is found, and its failure is its outcome.
                Err(error) => match self.contracts.remove(&number) {
                    Some(contract) => {
                        self.finished.insert(number, Err(error));
                        Some(Ok(contract))
                    }
                    None => Some(Err(error)),
                },
            };
        }
        self.contracts.remove(&number).map(Ok)
    }

    /// The server has a call that we asked for.
    pub fn agreed(&mut self, channel: ChannelId, resume: Resume) {
        let Some(sought) = self.seeking.remove(&channel) else { return self.agreed_again(channel) };
        let (number, announced) = (sought.number, sought.conditions.announced);
        let limit = self.connection.peer().map_or(u64::MAX, |peer| peer.limits.call_bytes_max);
        match flight(sought, resume, Bytes(limit)) {
            Ok(flight) => {
                self.contracts.insert(number, flight.call.contract.clone());
                self.acknowledged.insert(number);
                self.calls.insert(channel, Box::new(flight));
            }
            Err(error) => {
                // What still comes is thrown away.
                self.abandoned.insert(channel, Abandoned::default());
                self.conclude(number, announced, Err(error));
            }
        }
    }

    /// The server has no call that we asked for, or does not give it to us.
    pub fn refused(&mut self, channel: ChannelId, result: &CallResult) {
        let Some(sought) = self.seeking.remove(&channel) else { return };
        let nothing = || Error::new(ErrorKind::Protocol, "fetch a call", "the server sent an outcome of nothing");
        let error = result.failure.clone().map_or_else(nothing, Error::from);
        self.conclude(sought.number, sought.conditions.announced, Err(error));
    }

    /// The connection ends before the server has said whether it has a call.
    pub fn lost(&mut self, sought: &Sought, outcome: Outcome) {
        self.conclude(sought.number, sought.conditions.announced, outcome);
    }

    /// Whether the server has said that a call goes on without us, or nothing can be lost of it any more.
    fn is_kept(&self, number: u64) -> bool {
        match self.channels.get(&number) {
            Some(channel) => self.calls.get(channel).is_some_and(|flight| flight.is_kept || flight.result.is_some()),
            None => true,
        }
    }

    /// Lets go of a call without having it ended.
    fn detach(&mut self, number: u64) {
        self.take_finished(number);
        self.contracts.remove(&number);
        let Some(channel) = self.channels.remove(&number) else { return };
        self.seeking.remove(&channel);
        self.fetching.remove(&channel);
        if let Some(flight) = self.calls.remove(&channel) {
            self.abandoned.insert(channel, Abandoned { id: None, _memory: flight.shared_memory() });
        }
    }
}

/// A call that somebody else made, as far as its results are ours.
fn flight(sought: Sought, resume: Resume, limit: Bytes) -> Result<InFlight> {
    let Sought { number, id, conditions } = sought;
    let untold = || Error::new(ErrorKind::Protocol, "fetch a call", "the server did not say what it was");
    let contract = Contract::of_reply(Reply::Interface(resume.interface.ok_or_else(untold)?))?;
    let data = sizes(&contract, &resume.arguments.ok_or_else(untold)?, limit)?;
    // Its arguments are not here: it cannot be made again.
    let call = Call {
        number,
        contract: Arc::new(contract),
        passed: Passed::owned(Vec::new()),
        conditions,
        attempts_left: 0,
        id: Some(id),
    };
    let known = Known { sent_whole: true, ..Known::default() };
    Ok(InFlight { is_kept: true, known, ..InFlight::new(id, call, data) })
}

fn sizes(contract: &Contract, arguments: &[WireArgument], limit: Bytes) -> Result<Marshalled> {
    let bytes: Vec<Option<&[u8]>> = arguments
        .iter()
        .map(|argument| match argument {
            WireArgument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        })
        .collect();
    if bytes.len() != contract.interface.parameters.len() {
        return Err(Error::new(ErrorKind::Protocol, "fetch a call", "the server told another number of arguments"));
    }
    results_of(contract, contract.sizer.resolve(&contract.interface, &bytes, limit)?)
}
