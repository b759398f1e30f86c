//! Whether the server is still there, asked while somebody waits for it.

use std::time::Duration;

use farcall_base::Result;
use farcall_peer::heartbeat::{Heartbeat, Pulse, VARIABLE};

use super::{Core, Session, transit};
use crate::clock::now;

/// With the time limit of `$FARCALL_HEARTBEAT`.
pub fn of_environment() -> Result<Heartbeat> {
    let text = std::env::var_os(VARIABLE);
    Heartbeat::new(text.as_deref().map(|text| text.to_string_lossy()).as_deref())
}

impl Session {
    /// Another time after which a silent server is given up; zero: never.
    pub fn set_heartbeat(&self, limit: Duration) {
        self.lock().heartbeat.limit(limit);
    }
}

impl Core {
    /// How long to wait at most before the server is asked for a sign of life, or given up; `None`
    /// once it is.
    #[allow(clippy::option_option, reason = "a wait without a limit is none")]
    pub(super) fn check_pulse(&mut self, left: Option<Duration>) -> Option<Option<Duration>> {
        let now = now();
        let mut pulse = self.heartbeat.look(self.moved(), now);
        if pulse == Pulse::Ask {
            self.caller.ping();
            self.pump();
            self.heartbeat.asked(self.moved(), self.in_transit(), now);
            pulse = self.heartbeat.look(self.moved(), now);
        }
        if self.heartbeat.awaits_answer() {
            // Seen at each step, so that the answer's time begins when the question has come there,
            // and not much later.
            self.heartbeat.delivering(self.in_transit(), now);
            pulse = self.heartbeat.look(self.moved(), now);
        }
        if pulse == Pulse::Gone {
            // A program that did something else meanwhile has not read the answer yet.
            self.receive();
            self.heartbeat.delivering(self.in_transit(), now);
            pulse = self.heartbeat.look(self.moved(), now);
        }
        match pulse {
            Pulse::Wait(pause) => {
                let pause = pause.into_iter().chain(left).min();
                self.heartbeat.waits(pause, now);
                return Some(pause);
            }
            _ => self.broke(self.heartbeat.silence()),
        }
        None
    }

    /// Bytes that the network has, and the server's machine has not.
    fn in_transit(&self) -> u64 {
        transit::bytes(self.link.stream().readiness())
    }

    /// Bytes that went either way.
    fn moved(&self) -> u64 {
        self.link.bytes_received().wrapping_add(self.sent())
    }
}
