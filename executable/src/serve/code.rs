//! The code that a process runs, and where its modules come from.

use farcall_base::Result;
use farcall_wire::Publication;

use super::module::{LoadedModule, Source};
use super::zygote::Preloaded;
use crate::entry::LinkedEntries;

/// What this process can run before it is told what to.
#[derive(Default)]
pub struct Code {
    /// What it brings along; an executable that brings nothing opens libraries.
    pub(crate) own: Own,
    /// The module that a zygote loaded.
    pub(crate) preloaded: Option<Preloaded>,
}

/// The code that a program has in itself.
#[derive(Default)]
pub(crate) enum Own {
    /// None: that of the generic host.
    #[default]
    Nothing,
    /// The table of a linked executable.
    Linked(LinkedEntries),
    /// A function for all routines.
    Hosted(super::hosted::Function),
}

impl Own {
    pub(super) fn source(&self) -> Source<'_> {
        match self {
            Own::Nothing => Source::Libraries,
            Own::Linked(entries) => Source::Linked(entries),
            Own::Hosted(function) => Source::Hosted(*function),
        }
    }
}

impl Code {
    /// The module that the server names: the one at hand, if it is that.
    pub(super) fn load(&mut self, publication: &Publication) -> Result<LoadedModule> {
        // Whether it is to be an object changes nothing of what was loaded.
        let same = |known: &Publication| {
            known.module == publication.module && known.libraries == publication.libraries
        };
        match self.preloaded.take().filter(|preloaded| same(&preloaded.publication)) {
            Some(preloaded) => Ok(preloaded.module.adopted()),
            None => {
                crate::confine::begin_call();
                LoadedModule::load(publication, self.own.source())
            }
        }
    }
}
