//! Where temporary files go, and how they go.

mod removal;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use removal::Removed;

/// Folders that are tried again at a time; of more, those that have waited longest are given up.
const LEFT_MAX: usize = 4096;
/// Files that are removed while somebody waits, which takes a few milliseconds. More are removed
/// beside.
const ENTRIES_AT_ONCE: u32 = 500;
/// So long one folder is removed beside, and so long its end is waited for at the end of the
/// process. Whoever looks for what servers have left removes the rest.
const BESIDE_MAX: Duration = Duration::from_secs(600);
const END_MAX: Duration = Duration::from_secs(10);

/// Folders that are to go.
struct Left {
    /// Those that could not be removed yet.
    again: Vec<PathBuf>,
    /// Those that take long.
    large: VecDeque<PathBuf>,
    /// Whether a thread removes these.
    is_removing: bool,
}

static LEFT: Mutex<Left> =
    Mutex::new(Left { again: Vec::new(), large: VecDeque::new(), is_removing: false });
/// Told when the thread has ended.
static REMOVED: Condvar = Condvar::new();

/// Removes a folder with all that is in it: at once, or where there is much in it, beside. To look
/// into it takes a descriptor: where none is to be had, it is tried again with the next one, and by
/// [`remove_left`].
pub fn remove(folder: &Path) {
    remove_each(Some(folder), at_once);
}

/// Tries again what could not be removed before, and waits a while for what is removed beside: to
/// be called at the end.
pub fn remove_left() {
    remove_each(None, at_once);
    let _ = REMOVED.wait_timeout_while(left(), END_MAX, |left| left.is_removing);
}

/// Removes a folder with all that is in it, however much that is, while the caller waits.
///
/// # Errors
/// What the system says.
pub fn remove_now(folder: &Path) -> io::Result<()> {
    removal::remove(folder, || true).map(drop)
}

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn at_once(folder: &Path) -> io::Result<Removed> {
    let mut entries = 0..ENTRIES_AT_ONCE;
    removal::remove(folder, || entries.next().is_some())
}

fn remove_each(one_more: Option<&Path>, remove: impl Fn(&Path) -> io::Result<Removed>) {
    let mut left = left();
    let all = std::mem::take(&mut left.again).into_iter().chain(one_more.map(Path::to_path_buf));
    for folder in all {
        match remove(&folder) {
            Ok(Removed::All) => {}
            Ok(Removed::Part) => left.large.push_back(folder),
            Err(error) if passes(&error) => left.again.push(folder),
            // Something is wrong with the folder.
            Err(_) => {}
        }
    }
    let too_many = left.again.len().saturating_sub(LEFT_MAX);
    left.again.drain(..too_many);
    if !left.large.is_empty() && !left.is_removing {
        let thread = std::thread::Builder::new().name("farcall-removal".to_owned());
        left.is_removing = thread.spawn(remove_large).is_ok();
    }
}

/// Removes what takes long, until there is no more of it.
fn remove_large() {
    loop {
        let mut all = left();
        let Some(folder) = all.large.pop_front() else {
            all.is_removing = false;
            REMOVED.notify_all();
            return;
        };
        drop(all);
        let begin = Instant::now();
        if removal::remove(&folder, || begin.elapsed() < BESIDE_MAX)
            .is_err_and(|error| passes(&error))
        {
            left().again.push(folder);
        }
    }
}

/// Whether what failed may do later: nothing was wrong with the folder.
fn passes(error: &io::Error) -> bool {
    let of_the_moment = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    of_the_moment.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// `$TMPDIR`; or `/tmp` where that is no folder that can be written to: batch systems and shells
/// pass on what another host has.
pub fn folder() -> PathBuf {
    usable(std::env::temp_dir())
}

fn usable(named: PathBuf) -> PathBuf {
    let is_usable = named.is_dir() && access(&named, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if is_usable { named } else { PathBuf::from("/tmp") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_removed_for_want_of_descriptors_is_removed_later() {
        let base = std::env::temp_dir().join(format!("farcall-left-{}", std::process::id()));
        let first = base.join("first");
        let second = base.join("second");
        for folder in [&first, &second] {
            std::fs::create_dir_all(folder.join("inside")).expect("folders can be made");
        }
        let fails =
            |errno: Errno| move |_: &Path| Err(io::Error::from_raw_os_error(errno.raw_os_error()));
        remove_each(Some(&first), fails(Errno::MFILE));
        assert!(first.exists());
        remove(&second);
        assert!(!first.exists() && !second.exists(), "the next one takes it along");
        // What is wrong with the folder itself is given up.
        std::fs::create_dir(&first).expect("folders can be made");
        remove_each(Some(&first), fails(Errno::ACCESS));
        remove_left();
        assert!(first.exists());
        std::fs::remove_dir_all(base).expect("folders can be removed");
    }

    #[test]
    fn whoever_removes_many_files_does_not_wait_for_all_of_them() {
        let base = std::env::temp_dir().join(format!("farcall-many-{}", std::process::id()));
        std::fs::create_dir_all(&base).expect("folders can be made");
        (0..5 * ENTRIES_AT_ONCE)
            .for_each(|number| drop(std::fs::File::create(base.join(number.to_string()))));
        remove_each(Some(&base), |folder| {
            let outcome = at_once(folder);
            assert_eq!(outcome.as_ref().ok(), Some(&Removed::Part));
            outcome
        });
        remove_left();
        assert!(!base.exists());
    }

    #[test]
    fn a_folder_of_another_host_is_gone_round() {
        let here = std::env::current_dir().expect("tests run in a folder");
        assert_eq!(usable(here.clone()), here);
        for wrong in [here.join("nowhere"), here.join("Cargo.toml")] {
            assert_eq!(usable(wrong), PathBuf::from("/tmp"));
        }
    }
}
