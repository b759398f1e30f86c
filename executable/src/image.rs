//! What a process that runs a module opens before it serves: libraries, programs, sources. It may
//! read these, and nothing beside them. Found out on the host where it is to run, which may be a
//! node of a cluster.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use farcall_services::directory::ImageKind;
use farcall_system::plain_file;

use crate::library::{
    files_of_libraries, files_of_program, needed_by_libraries, needed_by_program,
};

/// Entries of a file's folder that are looked at for what it can import.
const SOURCES_MAX: usize = 10_000;

/// Whether a file is Python's.
pub fn is_python(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py")
}

/// The files that the loader opens for what runs a module: it may read these, and nothing beside
/// them.
pub fn loaded_files(kind: &ImageKind) -> Vec<String> {
    let files = match kind {
        ImageKind::GenericHost { libraries } => files_of_libraries(libraries),
        ImageKind::Linked { path } => files_of_program(Path::new(path)),
        // It says itself what it reads; what its source imports lies beside that.
        ImageKind::Interpreted { program, .. } => {
            let beside = source_of(kind).map(|file| sources(&file)).unwrap_or_default();
            files_of_program(Path::new(program)).into_iter().chain(beside).collect()
        }
    };
    texts(files)
}

/// The libraries that a module loads, and its program: none that only lie beside them, which may be
/// those of other modules.
pub fn needed_files(kind: &ImageKind) -> Vec<PathBuf> {
    let files = match kind {
        ImageKind::GenericHost { libraries } => needed_by_libraries(libraries),
        ImageKind::Linked { path } => needed_by_program(Path::new(path)),
        ImageKind::Interpreted { program, .. } => needed_by_program(Path::new(program)),
    };
    files.into_iter().collect()
}

/// Folders in which an interpreter looks for what the source imports: it reads their names.
pub fn listed_folders(kind: &ImageKind) -> Vec<String> {
    let folder = source_of(kind).and_then(|file| file.parent()?.canonicalize().ok());
    texts(folder.into_iter().filter(|folder| folder.parent().is_some()).collect())
}

/// The Python file that an image runs.
fn source_of(kind: &ImageKind) -> Option<PathBuf> {
    let ImageKind::Interpreted { arguments, .. } = kind else { return None };
    arguments.last().map(PathBuf::from).filter(|file| is_python(file))
}

/// A path with a line break cannot be passed on.
fn texts(paths: Vec<PathBuf>) -> Vec<String> {
    paths
        .iter()
        .filter_map(|path| path.to_str())
        .filter(|path| !path.contains('\n'))
        .map(str::to_owned)
        .collect()
}

/// A file, and what it can import from beside it: other files of Python, and packages with all that
/// is in them. Nothing else that lies there, and nothing of others: of those, and behind links that
/// lead out of the folder, only files that everybody may read.
pub fn sources(file: &Path) -> Vec<PathBuf> {
    let Ok(own) = file.canonicalize() else { return Vec::new() };
    let folder = own.parent();
    let owner = owner(&own);
    // Judged by what a link leads to, and granted as that: a link may lead elsewhere by the time it
    // is asked again.
    let may_import = |real: &PathBuf| {
        let is_own =
            folder.is_some_and(|folder| real.starts_with(folder)) && self::owner(real) == owner;
        let is_package = || is_own && real.join("__init__.py").is_file();
        if is_python_file(real) { is_own || plain_file::is_public(real) } else { is_package() }
    };
    let entries =
        file.parent().into_iter().flat_map(std::fs::read_dir).flatten().flatten().take(SOURCES_MAX);
    let named = |path: &PathBuf| is_python_file(path) || path.is_dir();
    let beside =
        entries.map(|entry| entry.path()).filter(named).filter_map(|path| path.canonicalize().ok());
    std::iter::once(own.clone()).chain(beside.filter(may_import)).collect()
}

fn is_python_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| ["py", "pyi", "so"].iter().any(|known| extension == *known))
}

fn owner(path: &Path) -> Option<u32> {
    std::fs::metadata(path).map(|data| data.uid()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_imports_what_is_its_owners_or_everybodys() {
        let place = std::env::temp_dir().join(format!("farcall-sources-{}", std::process::id()));
        for name in ["here/own", "here/data", "there/package"] {
            std::fs::create_dir_all(place.join(name)).unwrap();
        }
        let place = place.canonicalize().unwrap();
        let write = |name: &str, mode: u32| {
            std::fs::write(place.join(name), "").unwrap();
            std::fs::set_permissions(place.join(name), std::fs::Permissions::from_mode(mode))
                .unwrap();
        };
        for name in [
            "here/file.py",
            "here/beside.py",
            "here/own/__init__.py",
            "there/private.py",
            "there/package/__init__.py",
        ] {
            write(name, 0o600);
        }
        write("here/data/table.csv", 0o644);
        write("there/public.py", 0o644);
        for (link, target) in [
            ("a.py", "there/private.py"),
            ("b.py", "there/public.py"),
            ("c", "there/package"),
            ("d.py", "here/data/table.csv"),
        ] {
            symlink(place.join(target), place.join("here").join(link)).unwrap();
        }
        let mut found = sources(&place.join("here/file.py"));
        found.sort();
        found.dedup();
        let wanted = ["here/beside.py", "here/file.py", "here/own", "there/public.py"]
            .map(|name| place.join(name));
        let is_public = plain_file::is_public(&place.join("there/public.py"));
        let wanted: Vec<PathBuf> =
            wanted.into_iter().filter(|path| is_public || !path.ends_with("public.py")).collect();
        assert_eq!(found, wanted);
        std::fs::remove_dir_all(&place).unwrap();
    }
}
