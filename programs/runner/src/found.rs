//! Where platform files and programs are found by their bare names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use farcall_base::{Error, ErrorKind, Result};
use farcall_platform::Platform;

/// Reads a platform: a file, or the bare name of one that comes with Farcall, in `shipped`.
///
/// # Errors
/// `NotFound`; all mistakes of the file, by line and column.
pub fn find_platform(name: &str, shipped: &Path) -> Result<Platform> {
    let path = match name.contains('/') || Path::new(name).is_file() {
        true => PathBuf::from(name),
        false => shipped.join(name.strip_suffix(".toml").unwrap_or(name)).with_extension("toml"),
    };
    let text = std::fs::read_to_string(&path).map_err(|failed| {
        let error = match failed.kind() {
            std::io::ErrorKind::NotFound => {
                let message = "there is no such platform";
                Error::new(ErrorKind::NotFound, "read a platform", message)
                    .with("shipped", names(shipped).join(", "))
            }
            _ => Error::new(ErrorKind::System, "read a platform", "the file cannot be read"),
        };
        error
            .with("platform", name)
            .with("file", path.display())
            .fix("name one that comes with Farcall, or the path of a file")
            .source(failed)
    })?;
    Platform::read(&text, &path.display().to_string()).map_err(Into::into)
}

/// The path of a program: as it is named, or, for a bare name, that of one that comes with Farcall, in
/// `shipped`.
pub fn find_program(name: &OsStr, shipped: &Path) -> OsString {
    let is_bare = !name.as_encoded_bytes().contains(&b'/');
    let path = shipped.join(name);
    if is_bare && path.is_file() { path.into() } else { name.to_owned() }
}

/// The platforms that come with Farcall.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |file: std::fs::DirEntry| Some(file.path().file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = files.filter_map(stem).collect();
    names.sort();
    names
}
