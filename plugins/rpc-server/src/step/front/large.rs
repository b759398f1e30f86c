//! Questions whose answers are large. A connection is given one such answer at a time, when the one
//! before has left, and a principal's connections a few together: whoever asks faster than it reads
//! makes nothing grow but the line of its questions.

use farcall_base::{ChannelId, ConnectionId};

use crate::state::{Action, Large, LargeQuestions, PrincipalNumber};
use crate::step::{Server, Surroundings};

impl Server {
    /// A question with a large answer came.
    pub(in crate::step) fn ask_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        large: Large,
    ) {
        if self.state.front.ask_large(connection, channel, large) {
            self.answer_next_large(surroundings, connection);
        }
    }

    /// Frames left: the last large answer may be among them.
    pub(in crate::step) fn settle_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
    ) {
        let Some(next) = self.state.front.large_has_left(connection) else { return };
        self.answer_next_large(surroundings, connection);
        next.into_iter().for_each(|next| self.answer_next_large(surroundings, next));
    }

    /// A connection is gone: another of its principal's has its turn.
    pub(in crate::step) fn forget_large(
        &mut self,
        surroundings: &mut dyn Surroundings,
        number: Option<PrincipalNumber>,
        large: &LargeQuestions,
    ) {
        if let Some(next) = self.state.front.forget_large(number, large) {
            self.answer_next_large(surroundings, next);
        }
    }

    /// Answers the first large question of a connection that waits, if it may.
    fn answer_next_large(&mut self, surroundings: &mut dyn Surroundings, connection: ConnectionId) {
        let answer_bytes_max = u64::from(self.state.limits.hello.control_bytes_max);
        let next = self.state.front.next_large(connection, answer_bytes_max);
        let Some((channel, large)) = next else { return };
        match large {
            Large::List => self.state.out.act(Action::List { connection, channel }),
            Large::Status => self.tell_status(surroundings, connection, channel),
            Large::Kept => self.tell_kept(surroundings, connection, channel),
            Large::State(question) => {
                self.state.out.act(Action::State { connection, channel, question });
            }
        }
    }
}
