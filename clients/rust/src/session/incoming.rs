//! Files among the results of a call: they come beside the caller's files and replace them when all is there.

use farcall_base::{Error, ErrorKind, Result};
use farcall_wire::Argument as WireArgument;

use crate::files::{Beside, Received, Sink, Target};
use crate::marshal::Marshalled;
use crate::results::Output;

/// The files of one call.
#[derive(Default)]
pub struct Incoming {
    coming: Vec<(u16, Sink)>,
    complete: Vec<Beside>,
}

impl Incoming {
    /// One comes as data frames.
    pub fn expect(&mut self, data: &Marshalled, slot: usize, length: Option<u64>) -> Result<()> {
        let sink = Sink::new(target(data, slot)?, length.unwrap_or(0))?;
        self.coming.push((slot as u16, sink));
        Ok(())
    }

    /// One that comes so.
    pub fn sink(&mut self, slot: u16) -> Option<&mut Sink> {
        self.coming.iter_mut().find(|(of, _)| *of == slot).map(|(_, sink)| sink)
    }

    /// Bytes of those that come, and how many of them are missing.
    pub fn progress(&self) -> (u64, u64) {
        let sinks = self.coming.iter().map(|(_, sink)| sink.progress());
        sinks.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    /// What became of the file of a parameter.
    pub fn take(&mut self, data: &Marshalled, slot: usize, argument: WireArgument) -> Result<Output> {
        let sink = match argument {
            WireArgument::Null | WireArgument::Absent => return Ok(Output::Null),
            WireArgument::Inline(bytes) => {
                let mut sink = Sink::new(target(data, slot)?, bytes.len() as u64)?;
                sink.take(&bytes)?;
                sink
            }
            WireArgument::Blocks(_) => {
                let place = self.coming.iter().position(|(of, _)| usize::from(*of) == slot);
                self.coming.swap_remove(place.ok_or_else(unwanted)?).1
            }
            _ => return Err(unwanted()),
        };
        Ok(match sink.finish()? {
            Received::Content(content) => Output::Text(Some(content)),
            Received::File(beside, bytes) => {
                self.complete.push(beside);
                Output::Written(vec![bytes])
            }
        })
    }

    /// The call has succeeded.
    pub fn replace(&mut self) -> Result<()> {
        self.complete.drain(..).try_for_each(Beside::replace)
    }
}

fn target(data: &Marshalled, slot: usize) -> Result<&Target> {
    data.targets.iter().find(|(of, _)| *of == slot).map(|(_, target)| target).ok_or_else(unwanted)
}

fn unwanted() -> Error {
    Error::new(ErrorKind::Protocol, "take the results", "data that was not asked for like this")
}
