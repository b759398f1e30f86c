//! A client that loses its connection: when it dials again, and how it is greeted.

use farcall_base::{Clock, Error, ErrorKind, Instant, Result};
use farcall_link::stream::ByteStream;
use farcall_link::{Control, Received};
use farcall_peer::Greeting;
use farcall_peer::recovery::{Attempts, Next};
use farcall_wire::kept::comes_again;

use super::{Client, Line, Wanted, link};
use crate::frames::Ungreeted;

impl Client {
    /// The connection broke. If there is a way back, the calls wait; otherwise they end.
    pub(super) fn lost(&mut self, error: &Error) {
        if self.comeback.keep.is_zero() || !self.caller.may_return() {
            return self.die(error);
        }
        let now = self.network.now();
        let queued = self.link.take().map_or(0, |link| link.bytes_queued());
        let sent = self.caller.bytes_made().wrapping_sub(queued as u64);
        self.comeback.losses += 1;
        self.caller.part(sent, now);
        let heartbeat = self.pulse.heartbeat.time_limit();
        self.pulse.heartbeat.restart();
        self.pulse.looks_at = None;
        self.line =
            Line::Lost { attempts: Attempts::new(now, self.comeback.keep, heartbeat), next: now };
    }

    /// What it waits for.
    pub fn wants(&self) -> Wanted {
        match self.line {
            Line::Lost { next, .. } if !self.is_paused && next <= self.network.now() => {
                Wanted::Link
            }
            Line::Lost { next, .. } if !self.is_paused => Wanted::Time(next),
            Line::Up | Line::Greeting { .. } if !self.is_paused => {
                self.pulse.looks_at.map_or(Wanted::Nothing, Wanted::Time)
            }
            _ => Wanted::Nothing,
        }
    }

    /// There is another link to the server.
    pub fn dialled(&mut self, stream: Box<dyn ByteStream>) {
        let Line::Lost { attempts, .. } = std::mem::replace(&mut self.line, Line::Dead) else {
            panic!("nobody waits for a link");
        };
        let mut hello = self.hello.clone();
        hello.attributes.push(comes_again(self.comeback.losses));
        self.link = Some(link(stream));
        let begun = self.network.now();
        self.line = Line::Greeting { greeting: Box::new(Greeting::new(hello)), attempts, begun };
    }

    /// Nobody listens there.
    pub fn not_reached(&mut self, error: &Error) {
        if let Line::Lost { attempts, .. } = std::mem::replace(&mut self.line, Line::Dead) {
            self.attempt_failed(error, attempts, self.network.now(), false);
        }
    }

    pub(super) fn greet(&mut self) -> bool {
        let Line::Greeting { mut greeting, attempts, begun } =
            std::mem::replace(&mut self.line, Line::Dead)
        else {
            return false;
        };
        match self.exchange_greetings(&mut greeting) {
            Ok(_) if greeting.is_ready() => {
                self.caller.come_back(greeting.end(), self.network.now());
                (self.line, self.unsent) = (Line::Up, true);
                true
            }
            Ok(moved) => {
                self.line = Line::Greeting { greeting, attempts, begun };
                moved
            }
            Err(error) => {
                self.attempt_failed(&error, attempts, begun, true);
                true
            }
        }
    }

    fn exchange_greetings(&mut self, greeting: &mut Greeting) -> Result<bool> {
        let mut moved = false;
        let Some(link) = &mut self.link else { return Ok(false) };
        let mut greet = || greeting.poll_transmit().inspect(|_| moved = true);
        link.pump(self.queue_bytes, &mut Control(&mut greet))?;
        match link.receive(&mut Ungreeted(greeting, &mut moved), 1)? {
            Received::Closed => Err(Error::new(
                ErrorKind::ConnectionLost,
                "connect",
                "the server closed the connection",
            )),
            _ => Ok(moved),
        }
    }

    /// `met`: whether somebody took the connection.
    pub(super) fn attempt_failed(
        &mut self,
        error: &Error,
        mut attempts: Attempts,
        begun: Instant,
        met: bool,
    ) {
        let now = self.network.now();
        self.link = None;
        self.pulse.looks_at = None;
        match attempts.failed(error, met, begun, now) {
            Next::Pause(pause) => self.line = Line::Lost { attempts, next: now + pause },
            Next::GiveUp => {
                self.die(&Error::new(ErrorKind::ConnectionLost, "connect", "the server is gone"))
            }
        }
    }
}
