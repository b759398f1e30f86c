//! A member's end: its clock, and what it sends until it waits.

use std::io::{BufReader, Read, Write};

use farcall_base::Result;
use farcall_wide_engines::{Destination, Rank};

use crate::frames::{Declared, ToHub, ToMember};
use crate::model::MessageCost;

/// Bytes that are kept before they are written.
const BATCH_BYTES: usize = 64 << 10;

/// What a member's second thread does when a message has arrived: it takes the message, and gives what
/// goes out.
pub trait Arrival {
    /// A message has come.
    ///
    /// # Errors
    /// What ends the run.
    fn arrive(&mut self, from: Rank, message: &[u8]) -> Result<Vec<(Destination, Vec<u8>)>>;
}

/// A member in virtual time. Its program runs, until it waits, as if it were alone.
#[derive(Debug)]
pub struct VirtualMember<S> {
    from: BufReader<S>,
    to: S,
    /// The program's clock, in nanoseconds.
    clock: u64,
    /// Until when the processor is taken by messages.
    taken: u64,
    /// Nothing else happens before this.
    horizon: u64,
    /// What a message costs the processor.
    message: MessageCost,
    /// Nanoseconds of all work so far.
    work: u64,
    /// What the hub is to know.
    batch: Vec<u8>,
}

impl<S: Read + Write> VirtualMember<S> {
    /// One whose hub is at the other end of these; waits until it may run.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn join(from: S, to: S, message: MessageCost) -> Result<VirtualMember<S>> {
        let mut member = VirtualMember {
            from: BufReader::new(from),
            to,
            clock: 0,
            taken: 0,
            horizon: 0,
            message,
            work: 0,
            batch: Vec::new(),
        };
        member.say(&ToHub::Wait(Some(0), "its beginning".into()))?;
        member.flush()?;
        match ToMember::read(&mut member.from)? {
            ToMember::Go(now, horizon) | ToMember::Deliver(now, horizon, ..) => {
                member.clock = now;
                member.horizon = horizon;
            }
        }
        Ok(member)
    }

    /// The program's clock, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.clock
    }

    /// The program computes.
    pub fn work(&mut self, time: u64) {
        self.clock = self.clock.saturating_add(time);
        self.work = self.work.saturating_add(time);
    }

    /// Has what came before the program's clock arrive.
    ///
    /// # Errors
    /// `ConnectionLost`; what an arrival says.
    pub fn settle(&mut self, arrival: &mut impl Arrival) -> Result<()> {
        while self.clock > self.horizon {
            self.say(&ToHub::Wait(Some(self.clock), "work".into()))?;
            self.exchange(arrival, true)?;
        }
        Ok(())
    }

    /// Sends a message; [`VirtualMember::settle`] was called before.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn send(&mut self, to: Destination, message: Vec<u8>) -> Result<()> {
        self.clock = self.clock.saturating_add(self.message.of(message.len()));
        self.horizon = self.horizon.min(self.clock);
        self.say(&ToHub::Send(self.clock, to, message))
    }

    /// Waits for what arrives next; the program goes on from then.
    ///
    /// # Errors
    /// `ConnectionLost`, also when the run ends; what an arrival says.
    pub fn wait(&mut self, arrival: &mut impl Arrival, what: &str) -> Result<()> {
        self.say(&ToHub::Wait(None, what.to_owned()))?;
        self.exchange(arrival, false)
    }

    /// Tells the hub of a thing.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn declare(&mut self, declared: Declared) -> Result<()> {
        self.say(&ToHub::Declare(declared))
    }

    /// Says what the run has found.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn answer(&mut self, text: &str) -> Result<()> {
        self.say(&ToHub::Answer(text.to_owned()))
    }

    /// The program ends, maybe with an error that ends the run.
    ///
    /// # Errors
    /// `ConnectionLost`.
    pub fn end(&mut self, error: Option<String>) -> Result<()> {
        let last = match error {
            Some(error) => ToHub::Fail(error),
            None => ToHub::End(self.clock, self.work),
        };
        self.say(&last)?;
        self.flush()
    }

    /// Says what was kept, and takes what the hub says next. What the processor does for a message
    /// lengthens work; a program that waits goes on behind it.
    fn exchange(&mut self, arrival: &mut impl Arrival, is_working: bool) -> Result<()> {
        self.flush()?;
        match ToMember::read(&mut self.from)? {
            ToMember::Go(now, horizon) => {
                self.clock = self.clock.max(now);
                self.horizon = horizon;
            }
            ToMember::Deliver(now, horizon, from, message) => {
                let begin = now.max(self.taken);
                // The program's clock was there when it began to wait.
                let begin = if is_working { begin } else { begin.max(self.clock) };
                let mut at = begin.saturating_add(self.message.of(message.len()));
                for (to, message) in arrival.arrive(from, &message)? {
                    at = at.saturating_add(self.message.of(message.len()));
                    self.say(&ToHub::Send(at, to, message))?;
                }
                self.taken = at;
                self.clock = if is_working { self.clock.saturating_add(at - begin) } else { at };
                self.horizon = horizon.min(at);
            }
        }
        Ok(())
    }

    fn say(&mut self, what: &ToHub) -> Result<()> {
        what.write(&mut self.batch);
        if self.batch.len() > BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let lost = |error: std::io::Error| {
            farcall_base::Error::new(
                farcall_base::ErrorKind::ConnectionLost,
                "speak in a run",
                "`farcall run` has gone",
            )
            .source(error)
        };
        self.to.write_all(&self.batch).and_then(|()| self.to.flush()).map_err(lost)?;
        self.batch.clear();
        Ok(())
    }
}
