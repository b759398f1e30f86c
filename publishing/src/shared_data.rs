//! What is said of a library whose routines share data: calls run in several processes, and each
//! has that data for itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use farcall_executable::image::needed_files;
use farcall_executable::library::written_data;
use farcall_services::directory::{ImageKind, Part, Publication};

use crate::shipped;
use crate::source::Source;

/// Variables that are named.
const NAMED_MAX: usize = 3;
/// What Farcall links into executables.
const OWN_LIBRARY: &str = "libfarcall";

/// A line for each library of a module that keeps data between calls, and where that is to be
/// changed; nothing for what comes with Farcall, which is known, and for the system's libraries.
pub fn shared_data_note(publication: &Publication, source: &Source) -> String {
    if shipped::is_shipped(source.path()) {
        return String::new();
    }
    let parts = publication.parts.iter().filter(|part| may_part(part));
    let files: BTreeSet<PathBuf> = parts.flat_map(libraries).collect();
    files.iter().filter_map(|file| note(file)).collect()
}

/// Whether calls of a part's routines may run in several processes.
fn may_part(part: &Part) -> bool {
    part.executable.executables_max != 1
        && part.routines.iter().any(|one| one.routine.interface.class.is_empty())
}

/// The libraries that a part loads, but for the system's, and those that only lie beside them.
fn libraries(part: &Part) -> Vec<PathBuf> {
    let kind = &part.executable.kind;
    if matches!(kind, ImageKind::Interpreted { .. }) {
        return Vec::new();
    }
    let program = match kind {
        ImageKind::Linked { path } => Path::new(path).canonicalize().ok(),
        _ => None,
    };
    let is_own = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Some(file) == program.as_ref() || name.starts_with(OWN_LIBRARY)
    };
    needed_files(kind).into_iter().filter(|file| !is_own(file)).collect()
}

/// The names of the variables that a library keeps between calls, for people; `None` for one
/// without any, and where there is no such library.
pub fn kept_data(file: &Path) -> Option<String> {
    let data = written_data(file);
    let (first, rest) = data.split_at(data.len().min(NAMED_MAX));
    if first.is_empty() {
        return None;
    }
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    Some(format!("{}{more}", first.join(", ")))
}

fn note(file: &Path) -> Option<String> {
    let data = kept_data(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Some(format!(
        "note: {name} keeps data between calls ({data}), and calls run in several processes: if \
         routines share it, make them methods of a class, or write executables_max = 1; into the \
         interface file\n"
    ))
}
