//! Hearing from the directory that what is published is not what it was.

use std::sync::Arc;

use farcall_base::{Error, Result};
use farcall_services::directory::{PublishedRoutine, Request, Response};

use super::{Driver, Message};
use crate::step::{Surroundings, Union};

/// What is published, as far as we know, and whether the directory is to tell when it is another.
#[derive(Default)]
pub struct DirectoryWatch {
    revision: u64,
    is_watched: bool,
}

impl DirectoryWatch {
    /// Grows when something else is published.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether the directory is to tell.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }
}

impl Driver {
    /// The directory tells of a change, or that it cannot.
    pub(super) fn directory_changed(&mut self, answer: Result<Response>) {
        match answer {
            Ok(Response::Changed { revision }) => {
                self.server.directory_changed();
                self.directory = DirectoryWatch { revision, is_watched: false };
            }
            Err(error) if error.is_retryable() => self.directory.is_watched = false,
            // The directory is gone: the node is stopping.
            Ok(_) | Err(_) => {}
        }
    }

    /// Asks the directory to tell of the next change, unless it was asked. One that is too busy is
    /// asked again later.
    pub(super) fn watch_directory(&mut self) {
        if !self.directory.is_watched
            && let Ok(reply) = self.sender.reply(Message::Changed)
        {
            self.directory.is_watched = true;
            self.services
                .directory
                .ask(Request::Watch { revision: self.directory.revision }, reply);
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

/// The directory's answer to a question for one routine.
pub fn resolved(response: Response) -> Result<Arc<PublishedRoutine>> {
    match response {
        Response::Resolved(routine) => Ok(routine),
        _ => Err(Error::internal("ask the directory", "it sent the wrong kind of answer")),
    }
}

/// The directory's answer to what is to be held.
pub fn held(response: Response) -> Result<Vec<Arc<PublishedRoutine>>> {
    match response {
        Response::Held(routines) => Ok(routines),
        _ => Err(Error::internal("ask the directory", "it sent the wrong kind of answer")),
    }
}

/// The directory's answer to a question for everything, of others, too.
pub fn union(response: Response) -> Result<Union> {
    match response {
        Response::Union(own, others) => Ok(Union { own, others }),
        _ => Err(Error::internal("ask the directory", "it sent the wrong kind of answer")),
    }
}

/// The directory's answer to a question for everything of this node.
pub fn listing(response: Response) -> Result<Vec<Arc<PublishedRoutine>>> {
    match response {
        Response::Listing(routines) => Ok(routines),
        _ => Err(Error::internal("ask the directory", "it sent the wrong kind of answer")),
    }
}
