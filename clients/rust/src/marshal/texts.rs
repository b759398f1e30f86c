//! Strings and functions among the arguments of a call.

use farcall_base::Result;
use farcall_wire::Argument as WireArgument;

use super::{INLINE_MAX, One};
use crate::argument::Argument;
use crate::files::SentFile;

/// Bytes of all texts that travel inside the message of a call (spec/idl.md, section 6.7). Longer
/// ones travel as the contents of files do.
const TEXTS_INLINE_MAX: u64 = 768 << 10;

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
                Argument::Text(text) if self.goes_along(text.len() as u64) => {
                    WireArgument::Inline(text.as_slice().into())
                }
                Argument::Text(text) => {
                    self.want(WireArgument::Blocks(None));
                    let sent = SentFile::of_bytes(self.index, text.clone());
                    return self.send_files(Some(sent));
                }
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
                Argument::Texts(texts) if texts.iter().flatten().any(|text| text.contains(&0)) => {
                    return Err(self.wrong("a string contains a NUL"));
                }
                Argument::Texts(texts) if self.goes_along(bytes_of(texts)) => WireArgument::Texts(
                    texts.iter().map(|text| text.clone().map(Into::into)).collect(),
                ),
                Argument::Texts(texts) => {
                    self.want(WireArgument::Blocks(None));
                    let sent = SentFile::texts(self.index, texts);
                    return self.send_files(Some(sent));
                }
                Argument::Null | Argument::Unset => WireArgument::Null,
                _ => return Err(self.wrong("the interface wants an array of strings here")),
            };
        }
        self.want(WireArgument::Blocks(None));
        Ok(())
    }
}

impl One<'_> {
    /// Whether so many bytes of text still fit the message. What sizes refer to has to be in it.
    fn goes_along(&mut self, bytes: u64) -> bool {
        let all = self.call.text_bytes.saturating_add(bytes);
        let fits = bytes <= INLINE_MAX || all <= TEXTS_INLINE_MAX;
        let fits = fits || self.interface.inline_parameters().contains(&self.index);
        if fits {
            self.call.text_bytes = all;
        }
        fits
    }
}

/// Bytes of texts, with what a message has before each.
fn bytes_of(texts: &[Option<Vec<u8>>]) -> u64 {
    texts.iter().map(|text| text.as_ref().map_or(1, |text| text.len() as u64 + 5)).sum()
}
