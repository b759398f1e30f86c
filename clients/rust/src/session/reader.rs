//! Who of the waiting threads reads for all, and what is known to it.

use super::polling::Polling;
use super::sleep::Sleep;

/// The role of the reader: one thread has it at a time, the others follow.
#[derive(Debug)]
pub(super) struct Reader {
    /// Whether a thread has the role.
    pub(super) is_reading: bool,
    /// Whether it waits for room as well, or was nudged to.
    pub(super) watches_room: bool,
    /// Whether there may be more to receive than the socket tells of: a stream that decrypts holds
    /// some.
    pub(super) has_more: bool,
    /// Threads that wait for the reader to do their work.
    pub(super) followers: usize,
    /// When the reader looks for frames before it sleeps.
    pub(super) polling: Polling,
    /// Whether it may wait and receive in one system call.
    pub(super) sleep: Sleep,
}

impl Reader {
    /// Of a connection that was just made.
    pub(super) fn new() -> Reader {
        Reader {
            is_reading: false,
            watches_room: false,
            has_more: true,
            followers: 0,
            polling: Polling::default(),
            sleep: Sleep::default(),
        }
    }

    /// There is another connection.
    pub(super) fn restart(&mut self) {
        self.watches_room = false;
        self.has_more = true;
    }

    /// Whether the reader must be nudged, as it sleeps and would not see this: the connection's
    /// end, or bytes that wait for room.
    pub(super) fn is_to_be_nudged(&mut self, is_up: bool, is_unsent: bool) -> bool {
        let is_nudged = self.is_reading && (!is_up || is_unsent && !self.watches_room);
        self.watches_room |= is_nudged;
        self.sleep.is_shared |= is_nudged;
        is_nudged
    }
}
