//! Questions whose answers are large. A connection is given one such answer at a time, when the one
//! before has left, and a principal's connections a few together: whoever asks faster than it reads
//! makes nothing grow but the line of its questions.

use farcall_base::{ChannelId, ConnectionId};

use crate::state::{Action, Large, LargeQuestions, PrincipalNumber};
use crate::step::{Server, Surroundings};

/// Bytes of answers that may wait on a connection when the next large one is made.
const WAITING_MAX: usize = 4 << 10;

impl Server {
    /// A question with a large answer came.
    pub(super) fn ask_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        large: Large,
    ) {
        if let Some(peer) = self.state.peers.get_mut(&connection) {
            peer.large.waiting.push_back((channel, large));
            self.answer_next_large(surroundings, connection);
        }
    }

    /// Frames left: the last large answer may be among them.
    pub(super) fn settle_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
    ) {
        let Some(peer) = self.state.peers.get_mut(&connection) else { return };
        let has_left = peer.large.leaves && peer.connection.answers_bytes() <= WAITING_MAX;
        let Some(number) = peer.number.filter(|_| has_left) else { return };
        (peer.large.current, peer.large.leaves) = (None, false);
        let next = self.state.under_way.end_large(number);
        self.answer_next_large(surroundings, connection);
        next.into_iter().for_each(|next| self.answer_next_large(surroundings, next));
    }

    /// A connection is gone: another of its principal's has its turn.
    pub(super) fn forget_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: Option<PrincipalNumber>,
        large: &LargeQuestions,
    ) {
        let Some(number) = number.filter(|_| large.current.is_some()) else { return };
        if let Some(next) = self.state.under_way.end_large(number) {
            self.answer_next_large(surroundings, next);
        }
    }

    /// Answers the first large question of a connection that waits, if it may.
    fn answer_next_large(&mut self, surroundings: &mut dyn Surroundings, connection: ConnectionId) {
        let answer_bytes_max = u64::from(self.state.limits.hello.control_bytes_max);
        let Some(peer) = self.state.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number.filter(|_| peer.large.current.is_none()) else { return };
        let Some((channel, large)) = peer.large.waiting.front().copied() else { return };
        if !self.state.under_way.begin_large(connection, number, answer_bytes_max) {
            return;
        }
        peer.large.waiting.pop_front();
        if peer.large.waiting.is_empty() {
            // What a flood made long is given back.
            peer.large.waiting.shrink_to_fit();
        }
        peer.large.current = Some(channel);
        match large {
            Large::List => self.state.out.act(Action::List { connection, channel }),
            Large::Status => self.tell_status(surroundings, connection, channel),
            Large::Kept => self.tell_kept(surroundings, connection, channel),
        }
    }
}
