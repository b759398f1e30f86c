//! Questions to the peer, and their answers.

use std::time::Duration;

use farcall_base::{ChannelId, Instant, Result};
use farcall_wire::{Reply, Request};

use super::Caller;
use crate::application::Application;

impl<A: Application> Caller<A> {
    /// Asks the peer, unless the same is asked already: the question's number, and when it expires.
    ///
    /// # Errors
    /// When the connection takes no more.
    pub fn ask(
        &mut self,
        request: &Request,
        patience: Duration,
        now: Instant,
    ) -> Result<(u64, Instant)> {
        if let Some(asked) = self.questions.find(request, now) {
            return Ok(asked);
        }
        let expires = now + patience;
        // While there is no connection, it waits for one; the channel is none's.
        let channel =
            if self.standing.is_lost { ChannelId(0) } else { self.connection.request(request)? };
        Ok((self.questions.add(request.clone(), channel, expires), expires))
    }

    /// The answer to a question is for whoever asked, whenever they look.
    pub fn keep_question(&mut self, question: u64) {
        self.questions.keep(question);
    }

    /// The answer, once: `Some(None)` when another took it, or the question is gone; `None` while
    /// it is awaited.
    #[allow(
        clippy::option_option,
        reason = "an answer that is gone is another thing than one that is awaited"
    )]
    pub fn take_answer(&mut self, question: u64) -> Option<Option<Reply>> {
        self.questions.take(question)
    }

    /// Nobody waits for an answer any more.
    pub fn drop_question(&mut self, question: u64) {
        self.questions.drop(question);
    }
}
