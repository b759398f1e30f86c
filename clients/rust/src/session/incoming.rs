//! Files among the results of a call: they come beside the caller's files and replace them when all
//! is there.

use farcall_base::{Error, ErrorKind, Result};
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

/// So many bytes come for the targets of a parameter.
fn coming(data: &Marshalled, slot: usize, travelling: u64, is_array: bool) -> Result<Coming> {
    let targets: Vec<&Target> =
        data.targets.iter().filter(|(of, _)| *of == slot).map(|(_, target)| target).collect();
    match targets.as_slice() {
        _ if is_array => Coming::several(targets.into_iter().cloned().collect(), travelling),
        [target] => Coming::one(target, travelling),
        _ => Err(unwanted()),
    }
}

impl Incoming {
    /// Data frames come for a parameter that is a file, or an array of them.
    pub fn expect(
        &mut self,
        data: &Marshalled,
        slot: usize,
        length: Option<u64>,
        is_array: bool,
    ) -> Result<()> {
        let coming = coming(data, slot, length.unwrap_or(0), is_array)?;
        self.coming.push((slot as u16, coming));
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

    /// What became of the files of a parameter.
    pub fn take(
        &mut self,
        data: &Marshalled,
        slot: usize,
        argument: WireArgument,
        is_array: bool,
    ) -> Result<Output> {
        let coming = match argument {
            WireArgument::Null | WireArgument::Absent => return Ok(Output::Null),
            WireArgument::Inline(bytes) => {
                let mut coming = coming(data, slot, bytes.len() as u64, is_array)?;
                coming.take(&bytes)?;
                coming
            }
            WireArgument::Blocks(_) => {
                let place = self.coming.iter().position(|(of, _)| usize::from(*of) == slot);
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
