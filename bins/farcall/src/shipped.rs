//! The interface files that come with Farcall: what is served by default, and what is served when it is named.

use std::path::{Path, PathBuf};

/// The variable that names the folder with these files.
const ROUTINES_VARIABLE: &str = "FARCALL_ROUTINES";
/// The folder within it that is served by name alone: libraries that a machine seldom has, or under other licences.
const BY_NAME: &str = "by-name";

/// The files that are published by default, in order of their names.
pub fn default_files() -> Vec<PathBuf> {
    let by_name = folder().join(BY_NAME);
    all_files().into_iter().filter(|file| !file.starts_with(&by_name)).collect()
}

/// The file that is meant by `fftw` where there is no such file: `fftw.idl` of those that come with Farcall.
pub fn named(file: &Path) -> PathBuf {
    let bare = file.components().count() == 1 && file.extension().is_none() && !file.exists();
    let shipped = || all_files().into_iter().find(|known| known.file_stem() == file.file_stem());
    bare.then(shipped).flatten().unwrap_or_else(|| file.to_path_buf())
}

/// What may be named, for somebody who named something else.
pub fn names() -> String {
    let files = all_files();
    let mut names: Vec<&str> = files.iter().filter_map(|file| file.file_stem()?.to_str()).collect();
    names.sort_unstable();
    names.join(", ")
}

fn folder() -> PathBuf {
    let named = std::env::var_os(ROUTINES_VARIABLE).map(PathBuf::from);
    let program = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    named.unwrap_or_else(|| program.unwrap_or_default().join("../share/farcall/routines"))
}

fn all_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&folder(), &mut files, 2);
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth > 0 {
            collect(&path, files, depth - 1);
        } else if path.extension().is_some_and(|extension| extension == "idl") {
            files.push(path);
        }
    }
}
