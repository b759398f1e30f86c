//! Removes a folder with all that is in it, however deep and wide somebody else has made it: with
//! two descriptors, no recursion, and no path that grows.
//!
//! What lies deeper than the folder's own entries is first moved up to be one of them, by a rename
//! of its folder. So each folder is moved once and emptied once, and no name is ever followed.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RawDir, SeekFrom, chmod, openat, renameat, seek, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes of names that are read at a time.
const NAMES_BYTES: usize = 8 << 10;
/// Names that are tried for a folder that is moved up.
const TRIES_MAX: u32 = 64;

/// Looks at one folder that find files and no folders. One removes them all; some file systems give
/// what is open another name.
const LOOKS_MAX: u32 = 16;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// The folder is gone.
    All,
    /// There is more in it than was to be removed now.
    Part,
}

/// Removes a folder, as long as `may_go_on`, which is asked for each entry.
///
/// # Errors
/// What the system says; the rest of the folder stays.
pub(super) fn remove(folder: &Path, may_go_on: impl FnMut() -> bool) -> io::Result<Removed> {
    let root = match open_folder(CWD, folder) {
        Ok(root) => root,
        Err(Errno::NOENT) => return Ok(Removed::All),
        // Something else has its name.
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Ok(unlinkat(CWD, folder, AtFlags::empty()).map(|()| Removed::All)?);
        }
        Err(errno) => return Err(errno.into()),
    };
    let mut removal = Removal { root, may_go_on, last_name: first_name(), folders: 0 };
    if removal.empty_root()? == Removed::Part {
        return Ok(Removed::Part);
    }
    gone(unlinkat(CWD, folder, AtFlags::REMOVEDIR))?;
    Ok(Removed::All)
}

struct Removal<M> {
    root: OwnedFd,
    may_go_on: M,
    /// Names that begin here are tried first.
    last_name: u64,
    /// Folders that were removed or moved.
    folders: u64,
}

impl<M: FnMut() -> bool> Removal<M> {
    /// Until a look finds nothing: what is moved up may come before the place that was reached, or
    /// behind it.
    fn empty_root(&mut self) -> io::Result<Removed> {
        let root = self.root.try_clone()?;
        let mut looks = 0..LOOKS_MAX;
        let mut folders = self.folders;
        loop {
            match self.look(&root, Self::take_apart)? {
                None => return Ok(Removed::Part),
                Some(0) => return Ok(Removed::All),
                Some(_) if self.folders > folders => looks = 0..LOOKS_MAX,
                Some(_) if looks.next().is_none() => return Err(Errno::NOTEMPTY.into()),
                Some(_) => {}
            }
            folders = self.folders;
        }
    }

    /// Removes what is no folder, and does `with_folder` to each that is. How many entries there
    /// were; `None` if it may not go on.
    fn look(
        &mut self,
        folder: &OwnedFd,
        with_folder: impl Fn(&mut Self, &OwnedFd, &CStr) -> io::Result<Removed>,
    ) -> io::Result<Option<u64>> {
        let mut names = [MaybeUninit::uninit(); NAMES_BYTES];
        seek(folder, SeekFrom::Start(0))?;
        let mut entries = RawDir::new(folder, &mut names);
        let mut count = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            if !(self.may_go_on)() {
                return Ok(None);
            }
            count += 1;
            match unlinkat(folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) => {
                    if with_folder(self, folder, name)? == Removed::Part {
                        return Ok(None);
                    }
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Some(count))
    }

    /// Removes a folder of the root's, whose own folders are moved up.
    fn take_apart(&mut self, root: &OwnedFd, name: &CStr) -> io::Result<Removed> {
        let folder = match open_folder(root.as_fd(), name) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(Removed::All),
            Err(errno) => return Err(errno.into()),
        };
        self.folders += 1;
        let mut looks = 0..LOOKS_MAX;
        while self.look(&folder, Self::move_up)?.is_some() {
            match unlinkat(root, name, AtFlags::REMOVEDIR) {
                // The look missed some, which the next one finds.
                Err(Errno::NOTEMPTY | Errno::EXIST) if looks.next().is_some() => {}
                removed => return Ok(gone(removed).map(|()| Removed::All)?),
            }
        }
        Ok(Removed::Part)
    }

    /// Makes a folder one of the root's.
    fn move_up(&mut self, folder: &OwnedFd, name: &CStr) -> io::Result<Removed> {
        let mut outcome = gone(unlinkat(folder, name, AtFlags::REMOVEDIR));
        for _ in 0..TRIES_MAX {
            match outcome {
                Ok(()) => return Ok(Removed::All),
                // Its own entry for the folder above is to be written to.
                Err(Errno::ACCESS) => drop(open_folder(folder.as_fd(), name)?),
                // Or the name is taken.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.last_name = self.last_name.wrapping_add(1);
            outcome = gone(renameat(folder, name, &self.root, format!("{:016x}", self.last_name)));
        }
        outcome.map(|()| Removed::All).map_err(Into::into)
    }
}

/// Nobody who fills a folder knows it before.
fn first_name() -> u64 {
    let mut number = [0; 8];
    let _ = getrandom(&mut number, GetRandomFlags::empty());
    u64::from_ne_bytes(number)
}

/// What is not there any more is removed.
fn gone(outcome: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match outcome {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// A folder itself, and no link to one. If its owner, who we are, has locked himself out, that is
/// undone.
fn open_folder(beside: BorrowedFd<'_>, name: impl Arg + Copy) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let itself = openat(beside, name, flags | OFlags::PATH, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", itself.as_raw_fd());
    let _ = chmod(path, Mode::RWXU);
    openat(&itself, c".", flags | OFlags::RDONLY, Mode::empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("farcall-removal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Folders within one another, of which no path can name the last.
    fn chain(folder: &Path, depth: usize) {
        let mut last = openat(CWD, folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&last, c"d", Mode::RWXU).unwrap();
            openat(&last, c"file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
            last = openat(&last, c"d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn a_deep_folder_goes_on_a_small_stack() {
        let root = folder("deep");
        chain(&root, 3_000);
        let deep = root.clone();
        let thread =
            std::thread::Builder::new().stack_size(64 << 10).spawn(move || remove(&deep, || true));
        assert_eq!(thread.unwrap().join().unwrap().unwrap(), Removed::All);
        assert!(!root.exists());
    }

    #[test]
    fn it_ends_where_it_may_not_go_on_and_is_taken_up_again() {
        let root = folder("parts");
        chain(&root, 50);
        (0..200).for_each(|number| std::fs::write(root.join(number.to_string()), "").unwrap());
        let mut turns = 0;
        loop {
            let mut left = 20;
            let may_go_on = || {
                left -= 1;
                left >= 0
            };
            turns += 1;
            if remove(&root, may_go_on).unwrap() == Removed::All {
                break;
            }
        }
        assert!(turns > 10 && !root.exists(), "{turns}");
    }

    #[test]
    fn what_is_locked_goes_and_what_links_lead_to_stays() {
        let root = folder("links");
        let other = folder("other");
        std::fs::write(other.join("file"), "").unwrap();
        std::fs::create_dir_all(root.join("a/locked/within")).unwrap();
        std::os::unix::fs::symlink(&other, root.join("a/link")).unwrap();
        for locked in ["a/locked/within", "a/locked", "a"] {
            std::fs::set_permissions(root.join(locked), std::fs::Permissions::from_mode(0o0))
                .unwrap();
        }
        let link = root.with_extension("link");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        for each in [&root, &link, &root] {
            assert_eq!(remove(each, || true).unwrap(), Removed::All);
            assert!(each.symlink_metadata().is_err());
        }
        assert!(other.join("file").exists());
        assert_eq!(remove(&other, || true).unwrap(), Removed::All);
    }
}
