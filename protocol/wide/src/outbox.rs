//! Messages that are to go.

use crate::Rank;

/// Who gets a message. The sender never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// One member.
    Member(Rank),
    /// All members of a site, by its number.
    Site(u32),
    /// All members of the run.
    All,
}

/// What an engine wants to be sent, in order.
#[derive(Debug, Default)]
pub struct Outbox {
    messages: Vec<(Destination, Vec<u8>)>,
}

impl Outbox {
    /// One that is empty.
    pub fn new() -> Outbox {
        Outbox::default()
    }

    /// One more message, as an [`Envelope`](crate::Envelope) is written.
    pub fn send(&mut self, to: Destination, message: Vec<u8>) {
        self.messages.push((to, message));
    }

    /// Takes them all.
    pub fn take(&mut self) -> std::vec::Drain<'_, (Destination, Vec<u8>)> {
        self.messages.drain(..)
    }

    /// Whether nothing is to go.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}
