//! Calls begin, and begin again when the peer wants their interface fetched first.

use farcall_base::{CallId, Random, Result};
use farcall_wire::{Reply, Request};

use super::{Caller, Made, OpenCall, Terms};
use crate::application::{Application, Reached};
use crate::recovery::Known;

/// How often a call is opened again whose interface the peer wants fetched first (spec/call.md,
/// section 7). One order to reload changes what is published once per module, and a client that
/// asks in between is asked again.
const ATTEMPTS_MAX: u8 = 8;

impl<A: Application> Caller<A> {
    /// Opens a call. `id` is its id if that is to be known to others; another is drawn without.
    ///
    /// # Errors
    /// As [`Application::open`].
    pub fn open(
        &mut self,
        number: u64,
        call: A::Call,
        id: Option<CallId>,
        terms: Terms,
    ) -> Result<()> {
        self.begin(number, call, id, (terms, ATTEMPTS_MAX))
    }

    pub(super) fn open_made(&mut self, made: Made<A>) -> Result<()> {
        let Made { number, call, terms, attempts_left, id } = made;
        self.begin(number, call, id, (terms, attempts_left))
    }

    #[inline]
    fn begin(
        &mut self,
        number: u64,
        mut call: A::Call,
        given: Option<CallId>,
        (terms, attempts_left): (Terms, u8),
    ) -> Result<()> {
        let id = given.unwrap_or_else(|| CallId(self.random.bytes16()));
        let (channel, transfer) = self.application.open(&mut call, id, &mut self.connection)?;
        if terms.has_news {
            self.news.expect(number);
        }
        if terms.passes_functions {
            self.callbacks.expect(id, channel);
        }
        self.outcomes.begin(number, channel);
        // Nothing of it has left, or of what was opened before: at least one more byte must.
        let is_idempotent = terms.is_idempotent;
        let made = Made { number, call, terms, attempts_left, id: given };
        let mut call = OpenCall::new(id, made, transfer);
        call.sent_at = self.bytes_made + 1;
        call.known = Known { is_idempotent, is_ours: true, ..Known::default() };
        self.calls.put(channel, call);
        Ok(())
    }

    /// Asks for the interface of a call again.
    pub(super) fn fetch(&mut self, made: Made<A>) {
        let routine = self.application.routine(&made.call).to_owned();
        match self.connection.request(&Request::Interface(routine)) {
            Ok(channel) => {
                self.outcomes.begin(made.number, channel);
                self.fetching.insert(channel, made);
            }
            Err(error) => self.conclude(made.number, made.terms.announced, Err(error)),
        }
    }

    /// Makes a call again whose interface came, if that is still the one that its arguments were
    /// made for.
    pub(super) fn repeat(&mut self, made: Made<A>, reply: Reply) {
        let number = made.number;
        let announced = made.terms.announced;
        let attempts_left = made.attempts_left.saturating_sub(1);
        let opened = match self.application.renewed(&made.call, reply) {
            Ok(()) => self.open_made(Made { attempts_left, ..made }),
            Err(error) => {
                // Nothing ran there, as the peer itself says.
                let reached = Reached { is_told: true, ..Reached::default() };
                self.application.failed(number, made.call, None, reached);
                Err(error)
            }
        };
        if let Err(error) = opened {
            self.conclude(number, announced, Err(error));
        }
    }
}
