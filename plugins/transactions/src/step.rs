//! What the plugin decides: questions and answers come in with the time, what to do comes out. Pure.

mod ask;
mod begin;
mod build;
mod damaged;
mod keep;
mod leave;
mod moves;
mod place;
mod run;
mod take;
mod take_up;

pub use moves::MoveFailure;

use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant, TransactionId};
use farcall_services::transactions::{Asker, ClientName};
use farcall_wire::{Failure, Reply, TransactionRequest};

use crate::state::{Action, Phase, QuestionNumber, State, TransactionNumber};

impl State {
    /// A client asks.
    pub fn handle_asked(
        &mut self,
        now: Instant,
        question: QuestionNumber,
        asker: Asker,
        request: TransactionRequest,
    ) {
        let principal = asker.principal.clone();
        let Some(request) = self.look_elsewhere(question, &principal, request) else { return };
        let answer = match request {
            TransactionRequest::Begin(begin) => match self.begin(now, question, asker, *begin) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            TransactionRequest::Await(id) => match self.wait(question, &id, &principal) {
                Ok(None) => return,
                Ok(Some(over)) => Ok(over),
                Err(error) => Err(error),
            },
            TransactionRequest::List(ids) => Ok(self.list(now, &ids, &principal)),
            TransactionRequest::Timeline(id, first) => self.timeline(&id, first, &principal),
            TransactionRequest::Results(id, first) => self.results(&id, first, &principal),
            TransactionRequest::End(ids) => {
                self.end_damaged(&ids, &principal);
                let mine = ids.iter().filter_map(|id| self.of(id, &principal));
                for number in mine.collect::<Vec<_>>() {
                    self.end(number, &ended());
                }
                if self.waits_to_leave(question, &ids) {
                    return;
                }
                Ok(Reply::Done)
            }
        };
        self.out.push_back(Action::Answer(question, answer));
    }

    /// A connection that had asked something is closed.
    pub fn handle_left(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        may_return: Option<Duration>,
    ) {
        let mine = self.entries().filter(|(_, entry)| entry.owner.connection == Some(connection));
        for number in mine.map(|(number, _)| number).collect::<Vec<_>>() {
            let Some(entry) = self.entry_mut(number) else { continue };
            entry.owner.connection = None;
            entry.owner.may_return = may_return;
            entry.set_expiry(now);
            self.reschedule(number);
        }
        self.tick(now);
    }

    /// A client has come back.
    pub fn handle_back(&mut self, client: &ClientName, connection: ConnectionId) {
        let mine = self.entries().filter(|(_, entry)| entry.owner.client.as_ref() == Some(client));
        for number in mine.map(|(number, _)| number).collect::<Vec<_>>() {
            let Some(entry) = self.entry_mut(number) else { continue };
            entry.owner.connection = Some(connection);
            entry.expires = None;
            self.reschedule(number);
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        for number in self.due(now) {
            let Some(entry) = self.entry_mut(number) else { continue };
            if entry.expires.is_some_and(|at| at <= now) {
                self.end(number, &ended());
            } else if entry.is_taken_up() {
                self.try_servers_again(now, number);
            } else {
                self.dial_again(now, number);
                self.hurry(now, number);
            }
        }
        while let Some((at, ticket)) = self.keeping.retries.first().copied() {
            if at > now {
                break;
            }
            self.keeping.retries.pop_first();
            self.ask_again(ticket);
        }
    }

    /// A transaction goes, with all that is left of it.
    pub(crate) fn end(&mut self, number: TransactionNumber, why: &Error) {
        let owner = self.owner_of(number);
        let Some(id) = self.forget(number, why) else { return };
        self.out.push_back(Action::Leave(number));
        if let Some(owner) = owner {
            self.erase(id, owner);
        }
    }

    /// A transaction is not here any more, and all who wait for it are told why.
    pub(crate) fn forget(
        &mut self,
        number: TransactionNumber,
        why: &Error,
    ) -> Option<TransactionId> {
        let entry = self.remove(number)?;
        self.keeping.journals.remove(&number);
        let why = Failure::from(why);
        let beginning = match entry.phase {
            Phase::Beginning(beginning) => beginning.questions,
            Phase::Running(_) => Vec::new(),
        };
        for question in beginning.into_iter().chain(entry.awaiting) {
            self.out.push_back(Action::Answer(question, Err(why.clone().into())));
        }
        Some(entry.id)
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Cancelled, "wait for a transaction", "it was ended")
}

fn not_there(id: &TransactionId) -> Error {
    Error::new(ErrorKind::NotFound, "find a transaction", "the server has no such transaction")
        .with("transaction", id)
        .fix(
            "it was ended, its time has passed, or it belongs to another user: `farcall transactions` \
            lists yours",
        )
}
