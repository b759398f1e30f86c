//! How a call ends that an executable works on: its code hears of it where it asks, and has a while
//! to end by itself; any other ends with its process, since nothing else stops it.

use farcall_base::{ChannelId, ExecutableId, Instant};
use farcall_wire::Notice;

use crate::step::{Server, Surroundings};

/// Bytes of a routine's words on its progress.
const WORDS_BYTES_MAX: usize = 1024;

impl Server {
    /// The call that an executable works on is to end.
    pub(in crate::step) fn end_running(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
    ) {
        let grace = self.state.limits.cancel_grace;
        let Some(record) = self.state.executables.get_mut(&executable) else { return };
        // Those before it are over, though their outcomes may not have been read.
        let Some(running) = record.line.back() else {
            return self.stop_executable(executable);
        };
        let connection = record.connection.filter(|_| record.asks && !grace.is_zero());
        let Some(connection) = connection else {
            // The routine is not told: it would go on, and might return before it is stopped.
            self.abandon_inside(surroundings, running.key);
            return self.stop_executable(executable);
        };
        if !self.state.executables.begin_grace(executable, surroundings.now() + grace) {
            return;
        }
        if let Some(peer) = self.state.front.peer_mut(connection) {
            peer.connection.cancel(running.channel);
            self.state.out.touch(connection);
        }
        // It may wait for calls of its own, and is to go on.
        self.end_inside(surroundings, running.key);
    }

    /// When the first executable is ended that was told to end its call.
    pub(in crate::step) fn next_grace(&self) -> Option<Instant> {
        self.state.executables.next_grace()
    }

    /// Ends those whose code did not hear of it in time.
    pub(in crate::step) fn end_graces(
        &mut self,
        surroundings: &mut dyn Surroundings,
        now: Instant,
    ) {
        for executable in self.state.executables.late(now) {
            let running =
                self.state.executables.get(&executable).and_then(|record| record.line.back());
            if let Some(running) = running {
                self.abandon_inside(surroundings, running.key);
            }
            self.stop_executable(executable);
        }
    }

    /// A routine said how far it is: that is told to the client, if he wants to know.
    pub(in crate::step) fn executable_noticed(
        &mut self,
        executable: ExecutableId,
        channel: ChannelId,
        notice: Notice,
    ) {
        let Notice::Progress(done, mut words) = notice else { return };
        let Some(key) = self.in_line(executable, channel) else { return };
        if self.state.calls.get(&key).is_some_and(|call| call.wants.progress) {
            words.truncate(words.floor_char_boundary(WORDS_BYTES_MAX));
            self.notify(
                key,
                &Notice::Progress(if done > 0.0 { done.min(1.0) } else { 0.0 }, words),
            );
        }
    }
}
