//! What is said of a library whose routines share data: calls run in several processes, and each
//! has that data for itself.

use std::path::Path;

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
    let mut files: Vec<&String> =
        publication.parts.iter().filter(|part| may_part(part)).flat_map(libraries).collect();
    files.sort();
    files.dedup();
    files.into_iter().filter_map(|file| note(Path::new(file))).collect()
}

/// Whether calls of a part's routines may run in several processes.
fn may_part(part: &Part) -> bool {
    part.executable.executables_max != 1
        && part.routines.iter().any(|one| one.routine.interface.class.is_empty())
}

/// The libraries that a part loads, but for the system's.
fn libraries(part: &Part) -> impl Iterator<Item = &String> {
    let program = match &part.executable.kind {
        ImageKind::Linked { path } => Some(path),
        ImageKind::GenericHost { .. } | ImageKind::Interpreted { .. } => None,
    };
    let is_python = matches!(part.executable.kind, ImageKind::Interpreted { .. });
    part.executable.readable.iter().filter(move |file| {
        let name = file.rsplit('/').next().unwrap_or_default();
        !is_python && Some(*file) != program && !name.starts_with(OWN_LIBRARY)
    })
}

fn note(file: &Path) -> Option<String> {
    let data = written_data(file);
    let (first, rest) = data.split_at(data.len().min(NAMED_MAX));
    if first.is_empty() {
        return None;
    }
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Some(format!(
        "note: {name} keeps data between calls ({}{more}), and calls run in several processes: if \
         routines share it, make them methods of a class, or write executables_max = 1; into the \
         interface file\n",
        first.join(", ")
    ))
}
