//! The interface files and Python modules that come with Farcall: what is served by default, and what is served when
//! it is named.

use std::path::{Path, PathBuf};

use farcall_base::{Error, Result};

/// The variable that names the folder with these files.
pub const ROUTINES_VARIABLE: &str = "FARCALL_ROUTINES";
/// The files that are served by default, for a program that came to a host alone.
const EMBEDDED: [(&str, &str); 5] = [
    ("blas.idl", include_str!("../../routines/lapack/blas.idl")),
    ("eigen.idl", include_str!("../../routines/lapack/eigen.idl")),
    ("ep.c", include_str!("../../routines/ep/ep.c")),
    ("ep.idl", include_str!("../../routines/ep/ep.idl")),
    ("lapack.idl", include_str!("../../routines/lapack/lapack.idl")),
];
/// The folder within it that is served by name alone: libraries that a machine seldom has or that are
/// under other licences, and Python modules, which need an interpreter.
const BY_NAME: &str = "by-name";

/// The files that are published by default, in order of their names.
pub fn default_files() -> Vec<PathBuf> {
    let by_name = folder().join(BY_NAME);
    all_files().into_iter().filter(|file| !file.starts_with(&by_name)).collect()
}

/// Writes the files that are served by default beside this program, which came here alone: into a
/// folder of its name.
///
/// # Errors
/// `System` when they cannot be written.
pub fn unpack() -> Result<PathBuf> {
    let system = |error| Error::system("unpack interface files", error);
    let program = std::env::current_exe().map_err(system)?;
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push("-routines");
    let folder = program.with_file_name(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    // Complete or not there: others may do the same.
    let fresh = folder.with_extension(format!("{}", std::process::id()));
    let make = || -> std::io::Result<()> {
        std::fs::create_dir(&fresh)?;
        EMBEDDED.iter().try_for_each(|(name, text)| std::fs::write(fresh.join(name), text))?;
        std::fs::rename(&fresh, &folder)
    };
    let made = make();
    if made.is_err() {
        let _ = std::fs::remove_dir_all(&fresh);
    }
    if folder.is_dir() { Ok(folder) } else { made.map(|()| folder).map_err(system) }
}

/// Whether a file comes with Farcall, by a path without links: whoever put a link into its place
/// would have it called so.
pub fn is_shipped(file: &Path) -> bool {
    let unpacked = std::env::current_exe().ok().map(|program| {
        let mut name = program.file_name().unwrap_or_default().to_owned();
        name.push("-routines");
        program.with_file_name(name)
    });
    let program =
        std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    // Where the program itself says, and not where a variable does.
    let installed = program.map(|folder| folder.join("../share/farcall/routines"));
    [unpacked, installed]
        .into_iter()
        .flatten()
        .filter_map(|folder| folder.canonicalize().ok())
        .any(|folder| file.starts_with(folder))
}

/// The file that is meant by `fftw` where there is no such file: `fftw.idl` of those that come with
/// Farcall.
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

/// Whether they lie where an installation has them.
pub fn is_installed() -> bool {
    folder().is_dir()
}

fn folder() -> PathBuf {
    let named = std::env::var_os(ROUTINES_VARIABLE).map(PathBuf::from);
    let program =
        std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
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
        } else if is_module(&path) {
            files.push(path);
        }
    }
}

/// Whether a file is one that may be named. Python files are modules in one folder alone: elsewhere
/// they are data and packages of others.
fn is_module(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("idl") => true,
        Some("py") => path.parent().is_some_and(|folder| folder.ends_with(BY_NAME)),
        _ => false,
    }
}
