//! What lies behind the lock of a connection: frames come and go, and the connection ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::{QUEUE_BYTES, Received};
use farcall_peer::OpenCall;

use super::asked::Call;
use super::flight::InFlight;
use super::frames::{Receiving, Sending};
use super::program::{Program, terms};
use super::{Conditions, Core, Line, RECEIVE_BUDGET};
use crate::argument::Passed;
use crate::contract::Contract;

impl Core {
    pub(super) fn open(
        &mut self,
        contract: Arc<Contract>,
        passed: Passed,
        conditions: Conditions,
        number: Option<u64>,
    ) -> Result<u64> {
        let is_own = number.is_none();
        let number = number.unwrap_or(self.next_number);
        let id = conditions.id();
        let terms = terms(&conditions, Some(&contract));
        self.caller.open(
            number,
            Call { contract, passed, conditions, is_to_stay: id.is_some(), clock: None, number },
            id,
            terms,
        )?;
        self.next_number += u64::from(is_own);
        Ok(number)
    }

    /// Whether a call that was just opened may leave with later ones; not one whose arrays are to
    /// be sent. Those of a farm are sent on their way by it.
    pub(super) fn may_gather(&mut self, number: u64, contract: &Contract, is_farmed: bool) -> bool {
        if is_farmed {
            let is_short = |call: &OpenCall<Program>| matches!(call.transfer(), InFlight::Short(_));
            return self.caller.open_call(number).is_some_and(is_short)
                && self.gathering.takes_farmed();
        }
        let sends_nothing = |call: &OpenCall<Program>| {
            call.transfer().long().is_none_or(|flight| flight.data.sending.is_empty())
        };
        self.caller.open_call(number).is_some_and(sends_nothing)
            && self.gathering.takes(&contract.pace)
    }

    pub(super) fn check_alive(&self) -> Result<()> {
        match &self.line {
            Line::Up | Line::Lost(_) => Ok(()),
            Line::Dead(error) => Err(copy_of(error)),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.line, Line::Up)
    }

    pub(super) fn put_line(&mut self, line: Line) {
        self.line = line;
        self.stands.store(self.is_up(), Ordering::Relaxed);
    }

    /// The connection is gone: every call ends with the reason.
    pub(super) fn die(&mut self, error: Error) {
        if matches!(self.line, Line::Dead(_)) {
            return;
        }
        self.caller.end_all(|| copy_of(&error));
        self.put_line(Line::Dead(error));
    }

    pub(super) fn receive(&mut self) {
        if !self.is_up() {
            self.reader.has_more = false;
            return;
        }
        let received = self.link.receive(&mut Receiving(&mut self.caller), RECEIVE_BUDGET);
        self.reader.has_more = matches!(received, Ok(Received::More));
        match received {
            Ok(Received::Blocked | Received::More) => {}
            Ok(Received::Closed) => {
                self.broke((self.closed)());
            }
            Err(error) if error.kind() == ErrorKind::ConnectionLost => self.broke(error),
            Err(error) => self.die(error),
        }
        self.settle();
    }

    /// Before a caller has its memory back, no queued frame may name it any more.
    pub(super) fn settle(&mut self) {
        if self.caller.application_mut().names_what_was_given_back()
            && let Err(error) = self.link.copy_queued()
        {
            self.die(error);
        }
    }

    /// Makes frames and sends what the socket takes.
    pub(super) fn pump(&mut self) {
        self.gathering.clear();
        if !self.is_up() {
            return;
        }
        if let Err(error) = self.try_pump() {
            // What the server said last may be in the socket still, and says more than a broken
            // pipe.
            self.receive();
            if !self.is_up() {
                return;
            }
            match error.kind() {
                ErrorKind::ConnectionLost => self.broke(error),
                _ => self.die(error),
            }
        }
    }

    pub(super) fn try_pump(&mut self) -> Result<()> {
        self.link.pump(QUEUE_BYTES, &mut Sending(&mut self.caller)).map(|_| ())
    }

    /// Bytes that the socket took so far, give or take what was queued when the connection was
    /// made.
    pub(super) fn sent(&self) -> u64 {
        self.caller.bytes_made().wrapping_sub(self.link.bytes_queued() as u64)
    }
}

pub(super) fn copy_of(error: &Error) -> Error {
    Error::from(farcall_wire::Failure::from(error))
}
