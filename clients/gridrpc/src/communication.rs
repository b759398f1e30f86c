//! The communication log (`commLog_*`): what goes to a server and comes from it, in files of its
//! own.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use farcall_client::printable;
use farcall_configuration::config::Server as Section;

use crate::log::{self, Files, Group, Level};

/// Where it goes.
enum Kept {
    Nowhere,
    StandardError,
    In(Box<Mutex<Files>>),
}

/// That of one server.
pub struct CommunicationLog(Kept);

impl CommunicationLog {
    /// What the server's section wants. A file that cannot be written is told of, and the rest goes
    /// on.
    pub fn of(section: Option<&Section>, host: &str) -> CommunicationLog {
        let Some(wanted) = section.and_then(|section| section.communication_log.as_ref()) else {
            return CommunicationLog(Kept::Nowhere);
        };
        let Some(path) = wanted.path.as_deref().filter(|path| *path != "stderr") else {
            return CommunicationLog(Kept::StandardError);
        };
        match Files::open(wanted, path, host) {
            Ok(files) => CommunicationLog(Kept::In(Box::new(Mutex::new(files)))),
            Err(error) => {
                log::write(
                    Group::Internal,
                    Level::Error,
                    &format!("commLog_filePath {path}: {error}"),
                );
                CommunicationLog(Kept::Nowhere)
            }
        }
    }

    /// Whether anybody wants it.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        log::wants(Group::Protocol, Level::Debug) || !matches!(self.0, Kept::Nowhere)
    }

    /// Writes what `words` makes, where anybody wants it.
    #[inline]
    pub fn write(&self, words: impl FnOnce() -> String) {
        if self.is_wanted() {
            self.write_words(&words());
        }
    }

    fn write_words(&self, words: &str) {
        let words = printable(words);
        log::write(Group::Protocol, Level::Debug, &words);
        let line = format!("{} {words}\n", log::now());
        // That nobody can read it is no reason to fail.
        let _ = match &self.0 {
            Kept::Nowhere => Ok(()),
            Kept::StandardError => std::io::stderr().write_all(line.as_bytes()),
            Kept::In(files) => files.lock().unwrap_or_else(PoisonError::into_inner).write(&line),
        };
    }
}
