//! A client that waits looks whether its server answers.

use farcall_base::{Clock, Error, ErrorKind};
use farcall_peer::heartbeat::Pulse;

use super::{Client, Line};

impl Client {
    /// Asks a silent server for an answer, and gives it up at last; whether it did anything.
    pub(super) fn feel(&mut self) -> bool {
        if self.pulse.heartbeat.time_limit().is_none() {
            return false;
        }
        match self.line {
            Line::Up if self.open.is_empty() && self.wishes.is_empty() => {
                self.pulse.heartbeat.restart();
                self.pulse.looks_at = None;
                false
            }
            Line::Up => self.look(),
            Line::Greeting { .. } => self.look_at_greeting(),
            Line::Lost { .. } | Line::Dead => false,
        }
    }

    fn moved(&self) -> u64 {
        let Some(link) = &self.link else { return 0 };
        let sent = self.caller.bytes_made().wrapping_sub(link.bytes_queued() as u64);
        link.bytes_received().wrapping_add(sent)
    }

    fn look(&mut self) -> bool {
        let now = self.network.now();
        let mut pulse = self.pulse.heartbeat.look(self.moved(), now);
        let asks = pulse == Pulse::Ask;
        if asks {
            self.caller.ping();
            // A connection that broke is seen when it is read.
            let _ = self.pump();
            self.pulse.heartbeat.asked(self.moved(), 0, now);
            pulse = self.pulse.heartbeat.look(self.moved(), now);
        }
        let Pulse::Wait(pause) = pulse else {
            self.pulse.looks_at = None;
            let silence = self.pulse.heartbeat.silence();
            self.lost(&silence);
            return true;
        };
        self.pulse.heartbeat.waits(pause, now);
        self.pulse.looks_at = pause.map(|pause| now + pause);
        asks
    }

    fn look_at_greeting(&mut self) -> bool {
        let Line::Greeting { attempts, begun, .. } = &self.line else { return false };
        let until = *begun + attempts.patience(*begun);
        self.pulse.looks_at = Some(until);
        if self.network.now() < until {
            return false;
        }
        let Line::Greeting { attempts, begun, .. } = std::mem::replace(&mut self.line, Line::Dead)
        else {
            return false;
        };
        let silent = Error::new(ErrorKind::TimedOut, "connect", "the server does not greet");
        self.attempt_failed(&silent, attempts, begun, true);
        true
    }
}
