//! The store of the node, as the driver asks it.

use std::time::{Duration, SystemTime};

use farcall_base::{Error, Result};
use farcall_idl::data::DataKind;
use farcall_link::line::FetchedData;
use farcall_services::mailbox::Reply;
use farcall_services::store::{Changed, Entry, LeaseId, Request, StoreHandle, Version};

use farcall_system::owner;

use super::connected::Due;
use super::{Driver, Message};
use crate::state::{Action, LineNumber, State, Store, Tag, TakenInput, Ticket};

/// What comes from the store.
pub enum Stored {
    /// A write is done, or not.
    Written(Ticket, Result<Option<Version>>),
    /// A page was read.
    Read(Ticket, Result<Vec<Entry>>),
    /// There is a lease.
    Lease(Result<LeaseId>),
    /// Something changed.
    Changed(Changed),
}

impl Driver {
    /// Transactions that are to be kept are written to this store, and taken up from it.
    ///
    /// # Errors
    /// The store takes no requests.
    pub fn keep_in(&mut self, store: StoreHandle, node: &str) -> Result<()> {
        let changed = |changed| Message::Stored(Stored::Changed(changed));
        store.watch(State::watched(), self.sender.port(changed))?;
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since_1970_us = since_1970.map_or(0, |time| time.as_micros() as u64);
        self.state.handle_store(Store {
            name: store.name().to_owned(),
            node: node.to_owned(),
            process: owner::of_this_process()
                .map_err(|error| Error::system("name this process", error))?,
            zero_us: since_1970_us.saturating_sub(self.now().0 / 1000),
        });
        self.store = Some(store);
        Ok(())
    }

    /// The store has answered, or told something.
    pub(super) fn stored(&mut self, stored: Stored) {
        let now = self.now();
        match stored {
            Stored::Written(ticket, outcome) => self.state.handle_written(now, ticket, outcome),
            Stored::Read(ticket, outcome) => self.state.handle_read(now, ticket, outcome),
            Stored::Lease(outcome) => self.state.handle_lease(now, outcome),
            Stored::Changed(change) => self.state.handle_changed(change),
        }
    }

    /// Asks the store. Where there is no room for its answer, that is the answer.
    pub(super) fn ask_store(&mut self, action: Action) {
        let Some(store) = self.store.clone() else { return };
        match action {
            Action::Write(ticket, conditions, changes) => {
                let stored = move |outcome| Message::Stored(Stored::Written(ticket, outcome));
                match self.sender.reply(stored) {
                    Ok(reply) => store.ask(Request::Write { conditions, changes, reply }),
                    Err(error) => self.state.handle_written(self.now(), ticket, Err(error)),
                }
            }
            Action::Read(ticket, prefix, after, limit) => {
                let stored = move |outcome| Message::Stored(Stored::Read(ticket, outcome));
                match self.sender.reply(stored) {
                    Ok(reply) => store.ask(Request::Read { prefix, after, limit, reply }),
                    Err(error) => self.state.handle_read(self.now(), ticket, Err(error)),
                }
            }
            Action::Look(process) => self.state.handle_process(owner::has_ended(&process)),
            _ => {
                let stored = |outcome| Message::Stored(Stored::Lease(outcome));
                let time = Duration::from_millis(self.state.owner_lease_ms());
                let reply: Result<Reply<LeaseId>> = self.sender.reply(stored);
                match reply {
                    Ok(reply) => store.ask(Request::Lease { time, reply }),
                    Err(error) => self.state.handle_lease(self.now(), Err(error)),
                }
            }
        }
    }

    /// Puts an input at a server again.
    pub(super) fn give(
        &mut self,
        number: LineNumber,
        (call, id): (farcall_base::CallId, farcall_base::DataId),
        input: &TakenInput,
    ) -> Option<LineNumber> {
        let tag = Tag::Given(farcall_graph::DataNumber(input.input));
        self.say(number, Due::Answer(tag), |line| {
            let kind = DataKind::of_routine(&input.kind).ok_or_else(|| {
                farcall_base::Error::internal("put an input again", "its type is unknown")
            })?;
            let data = FetchedData::of(kind, &input.extents, &input.elements)?;
            line.put((call, id), &data, None).map(Some)
        })
    }

    /// Has people told what they should know.
    pub(super) fn say_warnings(&mut self) {
        for warning in self.state.take_warnings() {
            self.services.server.warn(warning);
        }
    }
}
