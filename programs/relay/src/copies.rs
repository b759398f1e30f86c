//! Copies of the program that `ssh` brought here, one for each version: old ones that nobody uses
//! go, so that they do not fill a home.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::record;

/// How many stay, by their last use: this one, and those of other machines of the same user.
const KEPT: usize = 3;
/// What their names begin with, before the 32 digits of what is in them
/// (docs/decisions/0022-ssh.md).
const PROGRAM: &str = "farcall-";
/// The same of a library's folder, to which a link beside the program leads.
const LIBRARY: &str = "library-";
const DIGITS: usize = 32;

/// Removes copies beside this program, with what belongs to them, but for those used last and those
/// that run: on this host, or on another that shares the folder and has said so. Where this program
/// is no copy, nothing is removed. What cannot be removed is the next server's business.
pub fn remove_old() {
    let Ok(own) = std::env::current_exe() else { return };
    let Some(folder) = own.parent().filter(|_| has_digits(&own, PROGRAM)) else { return };
    let mut copies: Vec<(SystemTime, PathBuf)> =
        entries(folder, PROGRAM).filter_map(|path| Some((last_use(&path)?, path))).collect();
    if copies.len() <= KEPT {
        return;
    }
    copies.sort_by(|a, b| b.cmp(a));
    let used = used_programs(folder);
    let is_used =
        |path: &Path| path == own || identity(path).is_some_and(|own| used.contains(&own));
    for (_, path) in copies.into_iter().skip(KEPT).filter(|(_, path)| !is_used(path)) {
        // The program last: what is left of a removal that was interrupted is found by its name.
        let _ = fs::remove_dir_all(with_suffix(&path, "-routines"));
        let _ = fs::remove_file(with_suffix(&path, ".lib"));
        let _ = fs::remove_file(&path);
    }
    remove_libraries(folder);
}

/// A file, whatever it is called.
type Identity = (u64, u64);

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|status| (status.dev(), status.ino()))
}

/// What processes of this host run, and servers of others.
fn used_programs(folder: &Path) -> Vec<Identity> {
    let processes =
        fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path().join("exe"));
    let servers = record::all_in(folder)
        .into_iter()
        .filter(|found| found.is_fresh)
        .map(|found| found.record.program);
    processes.chain(servers).filter_map(|program| identity(&program)).collect()
}

/// Removes libraries to which no program's link leads any more.
fn remove_libraries(folder: &Path) {
    let links = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    let linked: Vec<PathBuf> = links.collect();
    for library in entries(folder, LIBRARY) {
        if !linked.iter().any(|target| target.file_name() == library.file_name()) {
            let _ = fs::remove_dir_all(library);
        }
    }
}

/// What lies in a folder and is named by its content.
fn entries(folder: &Path, prefix: &'static str) -> impl Iterator<Item = PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(move |path| has_digits(path, prefix))
}

fn has_digits(path: &Path, prefix: &str) -> bool {
    let digits =
        path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(prefix));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// A client that finds a program touches it.
fn last_use(path: &Path) -> Option<SystemTime> {
    let status = fs::symlink_metadata(path).ok().filter(|status| status.is_file())?;
    status.modified().ok()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
