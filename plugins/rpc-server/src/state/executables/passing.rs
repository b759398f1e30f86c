//! Results of launched executables on their way here: who sends, and who waits for its turn.
//!
//! Many executables that a launcher started end at the same time, as those of a sweep do. If all of
//! them sent at once, the first result would be here as late as the last: its client would send the
//! next call as late, and all would rest meanwhile.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{ChannelId, ExecutableId, Instant};

/// What an executable sends without a turn: small results take no detour.
pub const FREE_BYTES: u64 = 64 << 10;
/// So many send at a time: enough that nodes with slower networks than the server's fill it, few
/// enough that the first is soon here.
const SENDERS_MAX: usize = 16;
/// Who takes longer holds up nobody any more: its network or its node may be slow.
const TURN_MAX: Duration = Duration::from_millis(500);

/// Whose results: an executable, and the call's channel there.
pub type Sender = (ExecutableId, ChannelId);

/// Who sends and who waits, each in the order in which their routines ended.
///
/// Invariant: those in `sending` are in the order of the ends of their turns, and no more than
/// `SENDERS_MAX`.
#[derive(Debug, Default)]
pub struct Passing {
    sending: VecDeque<(Instant, Sender)>,
    waiting: VecDeque<Sender>,
}

impl Passing {
    /// It is ready to send.
    pub fn wait(&mut self, sender: Sender) {
        self.waiting.push_back(sender);
    }

    /// Whose turn it is; from now on it sends.
    pub fn next(&mut self, now: Instant) -> Option<Sender> {
        while self.sending.pop_front_if(|(until, _)| *until <= now).is_some() {}
        let sender =
            if self.sending.len() < SENDERS_MAX { self.waiting.pop_front() } else { None }?;
        self.sending.push_back((now + TURN_MAX, sender));
        Some(sender)
    }

    /// When somebody may have a turn who has none now.
    pub fn next_due(&self) -> Option<Instant> {
        let next = || self.sending.front().map_or(Instant::default(), |(until, _)| *until);
        (!self.waiting.is_empty()).then(next)
    }

    /// A call's results are here.
    pub fn came(&mut self, sender: Sender) {
        self.forget(|other| *other == sender);
    }

    /// Nothing comes from it any more.
    pub fn gone(&mut self, executable: ExecutableId) {
        self.forget(|(other, _)| *other == executable);
    }

    fn forget(&mut self, is_over: impl Fn(&Sender) -> bool) {
        self.waiting.retain(|sender| !is_over(sender));
        self.sending.retain(|(_, sender)| !is_over(sender));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(executable: usize) -> Sender {
        (ExecutableId(executable as u64), ChannelId(1))
    }

    #[test]
    fn they_send_in_order_and_so_many_at_a_time() {
        let mut passing = Passing::default();
        let now = Instant::default();
        (0..SENDERS_MAX + 4).for_each(|executable| passing.wait(sender(executable)));
        assert!((0..SENDERS_MAX).all(|executable| passing.next(now) == Some(sender(executable))));
        assert_eq!(passing.next(now), None);
        passing.came(sender(7));
        assert_eq!((passing.next(now), passing.next(now)), (Some(sender(SENDERS_MAX)), None));
        passing.gone(sender(SENDERS_MAX + 1).0);
        passing.gone(sender(0).0);
        assert_eq!(passing.next(now), Some(sender(SENDERS_MAX + 2)));
        // Those who take longer hold up nobody.
        assert_eq!((passing.next(now), passing.next_due()), (None, Some(now + TURN_MAX)));
        assert_eq!(passing.next(now + TURN_MAX), Some(sender(SENDERS_MAX + 3)));
        assert_eq!(passing.next_due(), None);
    }
}
