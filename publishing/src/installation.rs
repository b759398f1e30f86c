//! Where the parts of an installation lie, seen from this program.

use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};

/// The variable that names the folder with `libfarcall.so`, where it is not beside the program.
const LIBRARY_DIRECTORY_VARIABLE: &str = "FARCALL_LIBRARY_DIRECTORY";

/// The folder of this program.
pub fn program_directory() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf))
        .unwrap_or_default()
}

/// Where `libfarcall.so` lies, which executables are linked with.
///
/// # Errors
/// `Unavailable`.
pub fn library_directory() -> Result<PathBuf> {
    let named = std::env::var_os(LIBRARY_DIRECTORY_VARIABLE).map(PathBuf::from);
    let here = program_directory();
    let places = [named, Some(here.join("../lib")), Some(here.clone()), brought_directory()];
    let found = places.into_iter().flatten().find(|place| place.join("libfarcall.so").exists());
    found.map(|place| std::fs::canonicalize(&place).unwrap_or(place)).ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "link an executable",
            "libfarcall.so is not next to \
            the farcall program",
        )
        .with("looked in", here.join("../lib").display())
        .fix(format!(
            "install all of Farcall, or set {LIBRARY_DIRECTORY_VARIABLE} to its directory; \
                for an ssh host, run `farcall connect HOST --library`"
        ))
    })
}

/// Where `farcall connect --library` puts them for a program that was brought: beside it, under its
/// name.
fn brought_directory() -> Option<PathBuf> {
    let mut program = std::env::current_exe().ok()?.into_os_string();
    program.push(".lib");
    Some(PathBuf::from(program))
}

/// Where the headers lie that code may include.
pub fn include_directories() -> Vec<PathBuf> {
    let brought = brought_directory().map(|folder| folder.join("include"));
    [Some(program_directory().join("../include")), brought]
        .into_iter()
        .flatten()
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Where executables that were linked are kept.
///
/// # Errors
/// `System` when it cannot be made.
pub fn cache_directory() -> Result<PathBuf> {
    let cache =
        std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_dir())
        .map(|home| home.join(".cache"));
    let base = cache.or(home).unwrap_or_else(|| {
        farcall_transport_unix::default_socket_path()
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default()
    });
    let folder = base.join("farcall");
    std::fs::create_dir_all(&folder).map_err(|error| {
        Error::system("make the build cache", error)
            .with("folder", folder.display())
            .fix("set XDG_CACHE_HOME to a writable directory of yours")
    })?;
    Ok(folder.join("executables"))
}
