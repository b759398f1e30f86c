//! Files that somebody publishes: those that were sent have a place of their own, and what is
//! published is noted for the server's next life.

use std::path::{Path, PathBuf};

use farcall_base::{Error, Result};
use farcall_rpc_server::Orderer;
use farcall_services::directory::{Request, RoutineData};
use farcall_wire::{Failure, ModuleReport, PublishedFiles};

use super::Publisher;
use crate::exposed::OwnFile;
use crate::making::{Made, Maker};
use crate::python::Interpreters;
use crate::store::{self, Placed, Record, Store};

/// A file that somebody publishes.
pub(super) struct Given {
    /// The file, on this host.
    pub file: String,
    /// As its publisher named it.
    named: String,
    /// What messages call it, of one that was sent.
    known_as: Option<String>,
    /// Where it was put, if it was sent.
    pub placed: Option<Placed>,
    /// Whether it is published again when the server is started again.
    stays: Stays,
}

/// Whether it is published again when the server is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    Yes,
    No,
}

impl Given {
    /// A file of this host.
    pub fn there(file: String, stays: Stays) -> Given {
        Given { named: file.clone(), file, known_as: None, placed: None, stays }
    }
}

/// A module that an earlier life of the server was told to have published whenever it starts.
pub struct Remade {
    record: Record,
    made: Result<Made>,
}

/// Makes what is to be published again from a server's folder. That takes as long as compilers do,
/// and comes before the server takes clients.
pub fn remade(
    folder: Option<PathBuf>,
    interpreters: &Interpreters,
    own: &[OwnFile],
) -> Vec<Remade> {
    let interpreters = interpreters.clone();
    let maker = Maker { interpreters, own: own.into(), was_sent: true };
    let make = |record: Record| Remade { made: maker.reload(&record.module, &record.file), record };
    store::staying(folder).into_iter().map(make).collect()
}

impl Given {
    /// Words of the server's with the files as their publisher has them: its copies are nothing that
    /// anybody could open and mend.
    fn told(&self, words: &str) -> String {
        let file = Path::new(&self.file);
        let (Some(known), Some(here)) = (self.known_as.as_deref(), file.parent()) else {
            return words.to_owned();
        };
        let there = Path::new(known).parent().unwrap_or(Path::new(""));
        let here = here.display().to_string() + "/";
        let there = there.join("").display().to_string();
        words.replace(&self.file, known).replace(&here, &there)
    }

    /// An error, the same.
    fn named_for(&self, error: &Error) -> Error {
        let mut failure = Failure::from(error);
        failure.message = self.told(&failure.message);
        failure.fix = failure.fix.map(|fix| self.told(&fix));
        for (_, value) in &mut failure.context {
            *value = self.told(value);
        }
        failure.into()
    }
}

impl Publisher {
    /// Has what is sent kept in a folder; none where there is no place for it. What was made again
    /// is published again.
    ///
    /// # Errors
    /// When the directory does not answer.
    pub fn keep_in(&mut self, folder: Option<PathBuf>, remade: Vec<Remade>) -> Result<()> {
        let (store, gone) = Store::open(folder);
        self.store = store;
        self.ask(Request::Note(gone))?;
        for Remade { record, made } in remade {
            if self.claims.get(&record.module).is_some() {
                continue;
            }
            let owner = Some(record.owner);
            let published = made.and_then(|made| self.publish(&made.file, owner, made.publication));
            if let Err(error) = published {
                let module = &record.module;
                (self.notice)(&format!(
                    "{module}, which was published with --stay, is skipped: {error}"
                ));
            }
        }
        Ok(())
    }

    /// Files that were sent, in their place.
    pub(super) fn placed(&mut self, sent: PublishedFiles, by: &Orderer) -> Result<Given> {
        let PublishedFiles { files, stays, there, known_as, publication } = sent;
        let stays = if stays { Stays::Yes } else { Stays::No };
        if let Some(file) = there.filter(|_| files.is_empty()) {
            return Ok(Given::there(file, stays));
        }
        let (placed, named) = match publication.filter(|_| files.is_empty()) {
            Some(id) => self.uploads.complete(&id, &by.principal)?,
            None => {
                let placed = self.store.place(&files)?;
                (placed, files.into_iter().next().map(|first| first.name).unwrap_or_default())
            }
        };
        let file = placed.main.display().to_string();
        Ok(Given { file, named, known_as, placed: Some(placed), stays })
    }

    /// Publishes what was made of a file, and notes it.
    pub(super) fn publish_given(
        &mut self,
        given: &Given,
        made: Result<Made>,
        by: &Orderer,
    ) -> Result<ModuleReport> {
        let published = made.and_then(|made| self.publish_made(given, made, by));
        if let (Err(_), Some(placed)) = (&published, &given.placed) {
            self.store.discard(placed);
        }
        match published {
            Ok(report) => Ok(ModuleReport { warnings: given.told(&report.warnings), ..report }),
            Err(error) => Err(given.named_for(&error)),
        }
    }

    /// Others may have published by that name meanwhile.
    fn publish_made(&mut self, given: &Given, made: Made, by: &Orderer) -> Result<ModuleReport> {
        self.claims.check(&made.report.module, by)?;
        let name = |one: &RoutineData| one.routine.interface.name.clone();
        let record = Record {
            module: made.report.module.clone(),
            routines: made.publication.all_routines().map(name).collect(),
            owner: by.principal.clone(),
            file: made.file.clone(),
            named: given.named.clone(),
            stays: given.stays == Stays::Yes,
        };
        let noted = self.store.note(&record, given.placed.as_ref());
        if given.stays == Stays::Yes {
            noted?;
        }
        self.publish(&made.file, Some(by.principal.clone()), made.publication)?;
        Ok(made.report)
    }
}
