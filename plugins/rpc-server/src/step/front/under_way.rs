//! What clients have under way, counted where frames come and answers are made
//! (`state/front/under_way.rs`).

use farcall_base::{Bytes, ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};

use crate::step::Server;

impl Server {
    /// A question has its answer, which waits to leave.
    pub(in crate::step) fn count_answer(&mut self, connection: ConnectionId, channel: ChannelId) {
        self.state.front.count_answer(connection, channel);
        self.wake();
    }

    /// Answers may have left.
    pub(in crate::step) fn count_answers(&mut self, connection: ConnectionId) {
        self.state.front.count_answers(connection);
        self.wake();
    }

    /// The driver looks at those again that may be read.
    pub(in crate::step) fn wake(&mut self) {
        self.state.out.touch_all(self.state.front.take_woken());
    }

    /// Reads those all the same that have waited for long: what is too much is refused from now on.
    pub(in crate::step) fn look_at_paused(&mut self, now: Instant) {
        while let Some(connection) = self.state.front.press(now) {
            self.state.out.touch(connection);
        }
    }

    /// Refuses what whoever is at the other end asks, where its principal has too much under way.
    pub(in crate::step) fn check_under_way(
        &self,
        connection: ConnectionId,
        operation: &'static str,
    ) -> Result<()> {
        let Some(bound) = self.state.front.has_too_much(connection) else { return Ok(()) };
        Err(Error::new(
            ErrorKind::LimitExceeded,
            operation,
            "this user's running calls and requests use too much memory",
        )
        .with("bytes", Bytes(bound))
        .fix("wait until some of them have finished; a server with more memory accepts more")
        .retryable())
    }
}
