//! Strings and functions among the arguments of a call.

use farcall_base::Result;
use farcall_wire::Argument as WireArgument;

use super::One;
use crate::argument::Argument;

impl One<'_> {
    pub(super) fn function(&mut self, argument: &Argument<'_>) -> Result<()> {
        match argument {
            Argument::Callback(_) => Ok(()),
            Argument::Null => {
                self.call.arguments[self.index] = WireArgument::Null;
                Ok(())
            }
            _ => Err(self.wrong("the interface wants a function here")),
        }
    }

    pub(super) fn text(&mut self, argument: &Argument<'_>) -> Result<()> {
        if self.parameter.mode.is_input() {
            self.call.arguments[self.index] = match argument {
                Argument::Text(text) if text.contains(&0) => {
                    return Err(self.wrong("a string contains a NUL"));
                }
                Argument::Text(text) => WireArgument::Inline(text.as_slice().into()),
                Argument::Null | Argument::Unset => WireArgument::Null,
                _ => return Err(self.wrong("the interface wants a string here")),
            };
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }

    pub(super) fn texts(&mut self, argument: &Argument<'_>, count: u64) -> Result<()> {
        if self.parameter.mode.is_input() {
            self.call.arguments[self.index] = match argument {
                Argument::Texts(texts) if texts.len() as u64 != count => {
                    return Err(self
                        .wrong("the number of strings differs")
                        .with("given", texts.len())
                        .with("needed", count));
                }
                Argument::Texts(texts) => WireArgument::Texts(
                    texts.iter().map(|text| text.clone().map(Into::into)).collect(),
                ),
                Argument::Null | Argument::Unset => WireArgument::Null,
                _ => return Err(self.wrong("the interface wants an array of strings here")),
            };
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }
}
