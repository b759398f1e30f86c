//! Hearing from the directory that what is published is not what it was.

use std::sync::Arc;

use farcall_base::Result;
use farcall_services::directory::{PublishedRoutine, Request, Response};

use super::{Driver, Message};
use crate::step::Surroundings;

impl Driver {
    /// The directory tells of a change, or that it cannot.
    pub(super) fn directory_changed(&mut self, answer: Result<Response>) {
        match answer {
            Ok(Response::Changed { revision }) => {
                self.server.directory_changed();
                (self.revision, self.is_watching) = (revision, false);
            }
            Err(error) if error.is_retryable() => self.is_watching = false,
            // The directory is gone: the node is stopping.
            Ok(_) | Err(_) => {}
        }
    }

    /// Asks the directory to tell of the next change, unless it was asked. One that is too busy is
    /// asked again later.
    pub(super) fn watch_directory(&mut self) {
        if !self.is_watching
            && let Ok(reply) = self.sender.reply(Message::Changed)
        {
            self.is_watching = true;
            self.services.directory.ask(Request::Watch { revision: self.revision }, reply);
        }
    }

    /// Asks what there is for calls of an earlier server that wait.
    pub(super) fn ask_to_readmit(&mut self) {
        match self.sender.reply(Message::Readmitted) {
            Ok(reply) => self.services.directory.ask(Request::List, reply),
            Err(_) => self.server.readmit_later(self.world.now()),
        }
    }

    /// What there is.
    pub(super) fn readmit(&mut self, routines: Result<Vec<Arc<PublishedRoutine>>>) {
        match routines {
            Ok(routines) => {
                // Of those that are taken up now, some may be of callers who lost their
                // certificates meanwhile.
                self.look_at_kept();
                self.server.readmit(&mut self.world, &routines, &self.options.access);
            }
            Err(_) => self.server.readmit_later(self.world.now()),
        }
    }
}
