//! The modules that a server begins with.

use std::collections::BTreeSet;
use std::path::PathBuf;

use farcall_base::{Error, ErrorKind, Result};
use farcall_publishing::check_exposed;
use farcall_publishing::exposed::OwnFile;
use farcall_publishing::module::publications;
use farcall_publishing::publisher::Publisher;
use farcall_publishing::python::Interpreters;
use farcall_publishing::shared_data::shared_data_note;
use farcall_publishing::shipped::{self, default_files};
use farcall_publishing::source::Source;

use super::arguments::ServeArguments;
use crate::output::{notice, tell};

/// A module that can be published, and the file that it comes from.
type Compiled = (PathBuf, farcall_services::directory::Publication);

/// All files named must compile. Of the default ones, those whose libraries this machine lacks are
/// left out.
pub(super) fn compile_all(
    arguments: &ServeArguments,
    interpreters: &Interpreters,
) -> Result<Vec<Compiled>> {
    if arguments.only_places() {
        return Ok(Vec::new());
    }
    let named = !arguments.files.is_empty();
    let files = if named {
        arguments.files.iter().map(|file| shipped::named(file)).collect()
    } else {
        default_files()
    };
    let mut compiled_all = Vec::new();
    let mut failed = None;
    let mut told: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let compiled = Source::open(&file)
            .and_then(|source| Ok((publications(&source, interpreters)?, source)));
        match compiled {
            Ok((all, source)) => {
                for (publication, warnings) in all {
                    if !warnings.trim().is_empty() {
                        tell(warnings.trim_end());
                    }
                    let notes = shared_data_note(&publication, &source);
                    // Several modules may use one library.
                    notes.lines().filter(|note| told.insert((*note).to_owned())).for_each(notice);
                    compiled_all.push((file.clone(), publication));
                }
            }
            // Nobody waits for the others either.
            Err(error) if named || error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                notice(&format!("{} is skipped: {error}", file.display()));
                failed = Some(error);
            }
        }
    }
    match failed {
        // The other servers of the list may have what it has not.
        _ if compiled_all.is_empty() && arguments.name_in_list().is_some() => Ok(compiled_all),
        Some(error) if compiled_all.is_empty() => Err(error),
        _ if compiled_all.is_empty() => {
            Err(Error::new(ErrorKind::NotFound, "serve", "there is nothing to publish")
                .fix("pass an interface file: farcall serve FILE.idl"))
        }
        _ => Ok(compiled_all),
    }
}

/// Refuses modules that could open files of the server's own.
pub(super) fn check_all(
    publications: &[Compiled],
    interpreters: &Interpreters,
    own: &[OwnFile],
) -> Result<()> {
    publications
        .iter()
        .try_for_each(|(_, publication)| check_exposed(publication, interpreters, own))
}

/// Module names with their number of routines.
pub(super) fn publish_all(
    publisher: &mut Publisher,
    publications: Vec<Compiled>,
) -> Result<Vec<(String, usize)>> {
    let mut published = Vec::new();
    for (file, publication) in publications {
        let name = publication.module.clone();
        let count = publication.all_routines().count();
        if published.iter().any(|(known, _)| *known == name) {
            return Err(Error::new(
                ErrorKind::InvalidSource,
                "serve",
                format!("two files publish the module \"{name}\""),
            )
            .fix("rename one of them in its Module line"));
        }
        publisher.publish(&file, None, publication)?;
        published.push((name, count));
    }
    Ok(published)
}
