//! Which files are scanned: those that are named, and those of a language below directories.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_fortran::SOURCES_MAX;

use super::OPERATION;

/// Directories in one another at most.
const DEPTH_MAX: usize = 16;
/// Endings of Fortran sources, in lower case.
pub const FORTRAN: [&str; 8] = ["f", "for", "ftn", "f77", "f90", "f95", "f03", "f08"];
/// Endings of C headers.
pub const HEADERS: [&str; 1] = ["h"];

/// The name of what is made of a source or a directory.
pub fn stem(path: &Path) -> String {
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = if full.is_dir() { full.file_name() } else { path.file_stem() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// All sources, those of a directory in the order of their names.
///
/// # Errors
/// `LimitExceeded`, `InvalidSource` for a directory without any, `System`.
pub fn files(paths: &[PathBuf], endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        below(path, 0, endings, &mut files)?;
        if files.len() == before {
            let message = "the directory has no Fortran source";
            return Err(Error::new(ErrorKind::InvalidSource, OPERATION, message)
                .with("directory", path.display())
                .fix(format!("pass files that end in one of: .{} .h", FORTRAN.join(" ."))));
        }
    }
    Ok(files)
}

/// Whether any file below one of the paths, or a path itself, has one of these endings.
pub fn has(paths: &[PathBuf], endings: &[&str]) -> bool {
    paths.iter().any(|path| {
        let mut found = Vec::new();
        let is_there = path.is_dir() && below(path, 0, endings, &mut found).is_ok();
        is_ending(path, endings) || is_there && !found.is_empty()
    })
}

fn below(folder: &Path, depth: usize, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::system(OPERATION, error).with("directory", folder.display());
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(failed)?;
    entries.sort();
    for entry in entries {
        // A link may lead back here.
        let is_link = entry.is_symlink();
        if entry.is_dir() && !is_link && depth < DEPTH_MAX {
            below(&entry, depth + 1, endings, files)?;
        } else if entry.is_file() && is_ending(&entry, endings) {
            files.push(entry);
        }
        if files.len() > SOURCES_MAX {
            let message = format!("more than {SOURCES_MAX} sources");
            return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
                .with("directory", folder.display())
                .fix("scan one directory after the other"));
        }
    }
    Ok(())
}

/// Whether a file has one of these endings.
pub fn is_ending(file: &Path, endings: &[&str]) -> bool {
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| endings.contains(&ending.as_str()))
}
