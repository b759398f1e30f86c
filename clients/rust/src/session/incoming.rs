//! Files and long texts among the results of a call: files come beside the caller's and replace them
//! when all is there.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Parameter};
use farcall_idl::layout::ParameterLayout;
use farcall_wire::Argument as WireArgument;
use smallvec::smallvec;

use crate::files::{Beside, Came, Coming, Received, Target};
use crate::marshal::Marshalled;
use crate::results::Output;

/// The files of one call.
#[derive(Default)]
pub struct Incoming {
    coming: Vec<(u16, Coming)>,
    complete: Vec<Beside>,
}

/// What comes for a parameter.
#[derive(Clone, Copy)]
pub struct Expected {
    slot: usize,
    /// Of files or texts; `None`: one.
    count: Option<u64>,
    is_text: bool,
}

impl Expected {
    /// As the interface and the sizes of the call say.
    pub fn of(slot: usize, parameter: &Parameter, layout: &ParameterLayout) -> Expected {
        let count = match layout {
            ParameterLayout::TextArray { count } => Some(*count),
            _ => None,
        };
        Expected { slot, count, is_text: parameter.element == ElementType::String }
    }

    /// So many bytes come for its targets.
    fn coming(&self, data: &Marshalled, travelling: u64) -> Result<Coming> {
        let own = data.targets.iter().filter(|(of, _)| *of == self.slot);
        let mut targets: Vec<Target> = own.map(|(_, target)| target.clone()).collect();
        if self.is_text {
            targets = vec![Target::Memory; self.count.unwrap_or(1) as usize];
        }
        match targets.as_slice() {
            _ if self.count.is_some() => Coming::several(targets, travelling),
            [target] => Coming::one(target, travelling),
            _ => Err(unwanted()),
        }
    }
}

impl Incoming {
    /// Data frames come for a parameter that is a file or text, or an array of them.
    pub fn expect(
        &mut self,
        data: &Marshalled,
        expected: Expected,
        length: Option<u64>,
    ) -> Result<()> {
        let coming = expected.coming(data, length.unwrap_or(0))?;
        self.coming.push((expected.slot as u16, coming));
        Ok(())
    }

    /// What comes so.
    pub fn coming(&mut self, slot: u16) -> Option<&mut Coming> {
        self.coming.iter_mut().find(|(of, _)| *of == slot).map(|(_, coming)| coming)
    }

    /// Bytes of those that come, and how many of them are missing.
    pub fn progress(&self) -> (u64, u64) {
        let all = self.coming.iter().map(|(_, coming)| coming.progress());
        all.fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    /// What became of the files or texts of a parameter.
    pub fn take(
        &mut self,
        data: &Marshalled,
        expected: Expected,
        argument: WireArgument,
    ) -> Result<Output> {
        let coming = match argument {
            WireArgument::Null | WireArgument::Absent => return Ok(Output::Null),
            WireArgument::Inline(bytes) => {
                let mut coming = expected.coming(data, bytes.len() as u64)?;
                coming.take(&bytes)?;
                coming
            }
            WireArgument::Blocks(_) => {
                let place =
                    self.coming.iter().position(|(of, _)| usize::from(*of) == expected.slot);
                self.coming.swap_remove(place.ok_or_else(unwanted)?).1
            }
            _ => return Err(unwanted()),
        };
        Ok(match coming.finish()? {
            Came::One(Received::Content(content)) => Output::Text(Some(content)),
            Came::One(Received::File(beside, bytes)) => {
                self.complete.push(beside);
                Output::Written(smallvec![bytes])
            }
            Came::Several(received) => self.several(received),
        })
    }

    /// Contents that are the caller's; or how many files there were to replace.
    fn several(&mut self, received: Vec<Option<Received>>) -> Output {
        let count = received.len() as u64;
        let mut written = false;
        let mut contents = Vec::new();
        for one in received {
            match one {
                None => contents.push(None),
                Some(Received::Content(content)) => contents.push(Some(content)),
                Some(Received::File(beside, _)) => {
                    written = true;
                    self.complete.push(beside);
                }
            }
        }
        if written { Output::Written(smallvec![count]) } else { Output::Texts(contents) }
    }

    /// The call has succeeded.
    pub fn replace(&mut self) -> Result<()> {
        self.complete.drain(..).try_for_each(Beside::replace)
    }
}

fn unwanted() -> Error {
    Error::new(
        ErrorKind::Protocol,
        "receive the results",
        "data arrived in a form that was not requested",
    )
}
