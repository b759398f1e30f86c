//! One of the threads that wait reads for all of them; the others follow it.

use std::os::fd::OwnedFd;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::events::silence;
use super::polling::{GAP, POLL, Try};
use super::{Core, Session};

impl Session {
    /// Waits for the socket, or to be nudged.
    fn wait_for(&self, socket: &OwnedFd, flags: PollFlags, timeout: Option<Duration>) {
        let timeout = timeout.and_then(|timeout| rustix::event::Timespec::try_from(timeout).ok());
        let mut waited = [PollFd::new(socket, flags), PollFd::new(&self.nudge, PollFlags::IN)];
        // Errors and interruptions look like readiness: the next receive tells.
        let _ = poll(&mut waited, timeout.as_ref());
        if !waited[1].revents().is_empty() {
            silence(&self.nudge);
        }
    }

    pub(super) fn follow<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, Core> {
        core.reader.followers += 1;
        core.reader.sleep.is_shared = true;
        let mut core = match left {
            None => self.changed.wait(core).unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                self.changed.wait_timeout(core, left).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        core.reader.followers -= 1;
        core
    }

    /// Looks for frames for a moment, without going to sleep; whether any came, or others left
    /// something to send.
    fn poll<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        left: Option<Duration>,
    ) -> (MutexGuard<'a, Core>, bool) {
        let before = core.link.bytes_received();
        let mut looked = Instant::now();
        let until = looked + left.map_or(POLL, |left| left.min(POLL));
        let mut outcome = Try::Nothing;
        loop {
            core.receive();
            if core.link.bytes_received() != before || !core.is_up() || core.link.bytes_queued() > 0
            {
                core.reader.polling.tried(outcome);
                return (core, true);
            }
            let now = Instant::now();
            outcome = if outcome == Try::Miss || now - looked > GAP { Try::Miss } else { Try::Hit };
            if now >= until {
                core.reader.polling.tried(Try::Miss);
                return (core, false);
            }
            looked = now;
            drop(core);
            std::hint::spin_loop();
            core = self.lock();
        }
    }

    pub(super) fn lead<'a>(
        &'a self,
        mut core: MutexGuard<'a, Core>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, Core> {
        core.reader.is_reading = true;
        if core.link.bytes_queued() == 0 && core.reader.polling.is_due() {
            let polled;
            (core, polled) = self.poll(core, left);
            if polled {
                core.reader.is_reading = false;
                self.advance(&mut core);
                return core;
            }
        }
        let Some(mut left) = core.check_pulse(left) else {
            core.reader.is_reading = false;
            self.advance(&mut core);
            return core;
        };
        let woken;
        (core, woken) = self.sleep(core, &mut left);
        if woken {
            core.reader.is_reading = false;
            core.receive();
            self.advance(&mut core);
            return core;
        }
        core.reader.watches_room = core.link.bytes_queued() > 0;
        let flags =
            if core.reader.watches_room { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let left = if core.reader.has_more { Some(Duration::ZERO) } else { left };
        let socket = core.registration.socket.clone();
        let before = core.link.bytes_received();
        drop(core);
        self.wait_for(&socket, flags, left);
        let mut core = self.lock();
        core.reader.is_reading = false;
        core.receive();
        core.reader.sleep.is_long &= core.link.bytes_received() == before;
        self.advance(&mut core);
        core
    }
}
