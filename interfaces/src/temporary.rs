//! Where temporary files go, and how they go.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Folders that are tried again at a time; of more, those that have waited longest are given up.
const LEFT_MAX: usize = 4096;

/// Folders that could not be removed yet.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes a folder with all that is in it. To look into it takes a descriptor: where none is to be had, it is tried again
/// with the next one, and by [`remove_left`].
pub fn remove(folder: &Path) {
    remove_all(Some(folder), |folder| std::fs::remove_dir_all(folder));
}

/// Tries again what could not be removed before: to be called at the end.
pub fn remove_left() {
    remove_all(None, |folder| std::fs::remove_dir_all(folder));
}

fn remove_all(one_more: Option<&Path>, remove: impl Fn(&Path) -> io::Result<()>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.extend(one_more.map(Path::to_path_buf));
    left.retain(|folder| remove(folder).is_err_and(|error| passes(&error)));
    let too_many = left.len().saturating_sub(LEFT_MAX);
    left.drain(..too_many);
}

/// Whether what failed may do later: nothing was wrong with the folder.
fn passes(error: &io::Error) -> bool {
    let of_the_moment = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    of_the_moment.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// `$TMPDIR`; or `/tmp` where that is no folder that can be written to: batch systems and shells pass on what another host
/// has.
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
        let (first, second) = (base.join("first"), base.join("second"));
        for folder in [&first, &second] {
            std::fs::create_dir_all(folder.join("inside")).expect("folders can be made");
        }
        let fails = |errno: Errno| move |_: &Path| Err(io::Error::from_raw_os_error(errno.raw_os_error()));
        remove_all(Some(&first), fails(Errno::MFILE));
        assert!(first.exists());
        remove(&second);
        assert!(!first.exists() && !second.exists(), "the next one takes it along");
        // What is wrong with the folder itself is given up.
        std::fs::create_dir(&first).expect("folders can be made");
        remove_all(Some(&first), fails(Errno::ACCESS));
        remove_left();
        assert!(first.exists());
        std::fs::remove_dir_all(base).expect("folders can be removed");
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
