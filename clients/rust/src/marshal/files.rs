//! Files among the arguments: what is sent, and where what comes back goes.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::Mode;
use farcall_wire::Argument as WireArgument;

use super::{INLINE_MAX, One};
use crate::argument::Argument;
use crate::files::{SentFile, Target};

/// Files of one parameter at most.
const FILES_MAX: u64 = 65536;

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
            (Argument::Unset, _) => {
                return Err(self.wrong("a file is missing").fix("pass its path, or its content"));
            }
            (Argument::Text(path), Mode::Out) => (None, Target::file(path).map_err(named)?),
            (Argument::Text(path), Mode::InOut) => {
                let target = Target::file(path).map_err(named)?;
                (Some(SentFile::open(self.index, path).map_err(named)?), target)
            }
            (Argument::Text(path), _) => {
                (Some(SentFile::open(self.index, path).map_err(named)?), Target::Memory)
            }
            (Argument::Raw(content), Mode::In | Mode::InOut) => {
                (Some(SentFile::of_bytes(self.index, content.clone())), Target::Memory)
            }
            _ => {
                return Err(self
                    .wrong("the interface wants a file here")
                    .fix("pass its path, or its content"));
            }
        };
        self.send_files(sent)?;
        self.receive_files(target)
    }

    /// An array of files: their paths, or nothing where the contents are to come back.
    pub(super) fn files(&mut self, argument: &Argument<'_>, count: u64) -> Result<()> {
        let named = |error: farcall_base::Error| error.with("parameter", &self.parameter.name);
        if count > FILES_MAX {
            let message = "one parameter has too many files";
            return Err(Error::new(ErrorKind::LimitExceeded, "call", message)
                .with("parameter", &self.parameter.name)
                .with("files", count)
                .with("limit", FILES_MAX)
                .fix("make several calls, or pass one archive"));
        }
        let paths = match argument {
            Argument::Null => return self.file(argument),
            Argument::Texts(paths) if paths.len() as u64 != count => {
                return Err(self
                    .wrong("the number of files differs")
                    .with("given", paths.len())
                    .with("needed", count));
            }
            Argument::Texts(paths) => paths.as_slice(),
            Argument::Unset if self.parameter.mode == Mode::Out => {
                return (0..count).try_for_each(|_| self.receive_files(Target::Memory));
            }
            Argument::Unset => return Err(self.wrong("files are missing").fix("pass their paths")),
            _ => {
                return Err(self
                    .wrong("the interface wants an array of files here")
                    .fix("pass their paths"));
            }
        };
        if self.parameter.mode.is_input() {
            let sent = SentFile::several(self.index, paths).map_err(named)?;
            self.send_files(Some(sent))?;
        }
        if !self.parameter.mode.is_output() {
            return Ok(());
        }
        self.want(WireArgument::Blocks(None));
        for path in paths {
            let target = match (path, self.parameter.mode) {
                (Some(path), _) => Target::file(path).map_err(named)?,
                // It is NULL for the routine, too: nothing comes back.
                (None, Mode::InOut) => Target::Memory,
                (None, _) => {
                    return Err(self
                        .wrong("a file has no path")
                        .fix("name a different file for each"));
                }
            };
            self.receive_files(target)?;
        }
        Ok(())
    }

    pub(super) fn send_files(&mut self, sent: Option<SentFile>) -> Result<()> {
        let Some(mut sent) = sent else { return Ok(()) };
        let bytes = sent.reader().travelling();
        if bytes <= INLINE_MAX {
            self.call.arguments[self.index] = WireArgument::Inline(sent.reader().inline()?);
        } else {
            self.call.arguments[self.index] = WireArgument::Blocks(Some(bytes));
        }
        self.call.files.push(sent);
        Ok(())
    }

    fn receive_files(&mut self, target: Target) -> Result<()> {
        if !self.parameter.mode.is_output() {
            return Ok(());
        }
        if self.call.targets.iter().any(|(_, known)| known.is_same_file(&target)) {
            return Err(self
                .wrong("another result has the same file")
                .fix("name a different file for each"));
        }
        self.want(WireArgument::Blocks(None));
        self.call.targets.push((self.index, target));
        Ok(())
    }
}
