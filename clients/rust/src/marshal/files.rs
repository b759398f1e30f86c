//! Files among the arguments: what is sent, and where what comes back goes.

use farcall_base::Result;
use farcall_idl::interface::Mode;
use farcall_wire::Argument as WireArgument;

use super::{INLINE_MAX, One};
use crate::argument::Argument;
use crate::files::{SentFile, Target};

impl One<'_> {
    pub(super) fn file(&mut self, argument: &Argument<'_>) -> Result<()> {
        let named = |error: farcall_base::Error| error.with("parameter", &self.parameter.name);
        let (sent, target) = match (argument, self.parameter.mode) {
            (Argument::Null, _) => {
                // The routine gets NULL, whatever it would do with the file.
                if self.parameter.mode.is_input() {
                    self.call.arguments[self.index] = WireArgument::Null;
                }
                self.want(WireArgument::Null);
                return Ok(());
            }
            (Argument::Unset, Mode::Out) => (None, Target::Memory),
            (Argument::Unset, _) => return Err(self.wrong("a file is missing").fix("pass its path, or its content")),
            (Argument::Text(path), Mode::Out) => (None, Target::file(path).map_err(named)?),
            (Argument::Text(path), Mode::InOut) => {
                let target = Target::file(path).map_err(named)?;
                (Some(SentFile::open(self.index, path).map_err(named)?), target)
            }
            (Argument::Text(path), _) => (Some(SentFile::open(self.index, path).map_err(named)?), Target::Memory),
            (Argument::Raw(content), Mode::In | Mode::InOut) => {
                (Some(SentFile::of_bytes(self.index, content.clone())), Target::Memory)
            }
            _ => return Err(self.wrong("the interface wants a file here").fix("pass its path, or its content")),
        };
        if let Some(mut sent) = sent {
            let bytes = sent.reader().travelling();
            if bytes <= INLINE_MAX {
                self.call.arguments[self.index] = WireArgument::Inline(sent.reader().inline()?);
            } else {
                self.call.arguments[self.index] = WireArgument::Blocks(Some(bytes));
            }
            self.call.files.push(sent);
        }
        if self.parameter.mode.is_output() {
            if self.call.targets.iter().any(|(_, known)| known.is_same_file(&target)) {
                return Err(self.wrong("another result goes to the same file").fix("name a file of its own for each"));
            }
            self.want(WireArgument::Blocks(None));
            self.call.targets.push((self.index, target));
        }
        Ok(())
    }
}
