//! What clients have under way, counted where frames come and answers are made
//! (`state/under_way.rs`).

use farcall_base::{Bytes, ChannelId, ConnectionId, Error, ErrorKind, Instant, Result};

use crate::step::Server;

impl Server {
    /// A question came in the frame that came last.
    pub(super) fn count_question(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        channel: ChannelId,
    ) {
        let bytes = self.state.frame_bytes;
        let Some(peer) = self.state.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        // What a routine asks is not made to wait: the call around it might hold what it waits for.
        peer.asked.presses |= peer.inside.is_some();
        self.state.under_way.asked((connection, number), channel, bytes, &mut peer.asked, now);
    }

    /// It has its answer, which waits to leave.
    pub(super) fn count_answer(&mut self, connection: ConnectionId, channel: ChannelId) {
        let Some(peer) = self.state.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        peer.large.leaves |= peer.large.current == Some(channel);
        let waiting = peer.connection.answers_bytes() as u64;
        self.state.under_way.count_answers((connection, number), waiting, &mut peer.asked);
        self.state.under_way.answered((connection, number), channel, &mut peer.asked);
        self.wake();
    }

    /// Answers may have left.
    pub(super) fn count_answers(&mut self, connection: ConnectionId) {
        let Some(peer) = self.state.peers.get_mut(&connection) else { return };
        let Some(number) = peer.number else { return };
        let waiting = peer.connection.answers_bytes() as u64;
        self.state.under_way.count_answers((connection, number), waiting, &mut peer.asked);
        self.wake();
    }

    /// The driver looks at those again that may be read.
    pub(super) fn wake(&mut self) {
        self.state.out.touch_all(self.state.under_way.take_woken());
    }

    /// Reads those all the same that have waited for long: what is too much is refused from now on.
    pub(super) fn look_at_paused(&mut self, now: Instant) {
        while let Some(connection) = self.state.under_way.look(now) {
            if let Some(peer) = self.state.peers.get_mut(&connection) {
                peer.asked.presses = true;
                self.state.out.touch(connection);
            }
        }
    }

    /// Refuses what whoever is at the other end asks, where its principal has too much under way.
    pub(super) fn check_under_way(
        &self,
        connection: ConnectionId,
        operation: &'static str,
    ) -> Result<()> {
        let Some(peer) = self.state.peers.get(&connection) else { return Ok(()) };
        let Some(number) =
            peer.number.filter(|number| self.state.under_way.is_too_much(*number, &peer.asked))
        else {
            return Ok(());
        };
        Err(Error::new(
            ErrorKind::LimitExceeded,
            operation,
            "this user's running calls and requests use too much memory",
        )
        .with("bytes", Bytes(self.state.under_way.bound(number)))
        .fix("wait until some of them have finished; a server with more memory accepts more")
        .retryable())
    }
}
