//! The folder of a build under way, in two parts: what we write and compilers read, and what they
//! write and we read.
//!
//! ```text
//! building-<pid>-<n>/
//!     sources/             all generated code, written before a compiler runs; no compiler may write here
//!     made/                objects, rules, the executable, and temporary files of compilers
//! ```
//! A compiler does what somebody's text says. What lies in `made` may be a link to anything, or
//! change while it is looked at: it is opened by the descriptor of the folder, as a plain file, and
//! once.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use farcall_base::{Error, Result};
use farcall_system::plain_file;

/// The directory of a build, removed when dropped.
pub(crate) struct Workspace {
    path: PathBuf,
    made: File,
}

impl Workspace {
    /// A new one in `directory`; `user` and its group are those that compilers run as, where these
    /// are not ours.
    pub fn new(directory: &Path, user: Option<(u32, u32)>) -> Result<Workspace> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("building-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = directory.join(name);
        // A process of this id may have died here long ago.
        let _ = fs::remove_dir_all(&path);
        let failed = |error| {
            Error::system("make a folder for a build", error).with("directory", path.display())
        };
        let mode = if user.is_some() { 0o755 } else { 0o700 };
        let folders = [path.clone(), path.join("sources"), path.join("made")];
        let make = |folder: &PathBuf| {
            DirBuilder::new().mode(mode).create(folder)?;
            // Whatever the umask.
            fs::set_permissions(folder, PermissionsExt::from_mode(mode))
        };
        folders.iter().try_for_each(make).map_err(failed)?;
        if let Some((user, group)) = user {
            std::os::unix::fs::chown(&folders[2], Some(user), Some(group)).map_err(failed)?;
        }
        let made = File::open(&folders[2]).map_err(failed)?;
        Ok(Workspace { path, made })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the sources are.
    pub fn sources(&self) -> PathBuf {
        self.path.join("sources")
    }

    /// Where compilers write.
    pub fn made(&self) -> PathBuf {
        self.path.join("made")
    }

    /// Writes one file of ours, which must not be there yet.
    pub fn write(&self, name: &str, content: &mut dyn Read) -> Result<PathBuf> {
        let file = self.sources().join(name);
        let mut write = || {
            let mut open = OpenOptions::new().write(true).create_new(true).open(&file)?;
            // Whatever the umask: compilers may be another user.
            open.set_permissions(PermissionsExt::from_mode(0o644))?;
            io::copy(content, &mut open)
        };
        write().map_err(|error| {
            Error::system("write generated code", error).with("file", file.display())
        })?;
        Ok(file)
    }

    /// Opens a file that a compiler has made.
    pub fn open(&self, name: &str) -> io::Result<File> {
        plain_file::open_in(&self.made, Path::new(name))
    }

    /// The content of such a file.
    pub fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        plain_file::read_open(self.open(name)?, bytes_max)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn links_that_a_compiler_leaves_lead_nowhere() {
        let folder = std::env::temp_dir().join(format!("farcall-workspace-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let target = folder.join("target");
        fs::write(&target, "of the server's user").unwrap();
        let workspace = Workspace::new(&folder, None).unwrap();
        for (place, name) in [(workspace.made(), "a.o"), (workspace.sources(), "b.c")] {
            std::os::unix::fs::symlink(&target, place.join(name)).unwrap();
        }
        assert!(
            workspace.read("a.o", 100).is_err()
                && workspace.write("b.c", &mut "int x;".as_bytes()).is_err()
        );
        assert_eq!(fs::read_to_string(&target).unwrap(), "of the server's user");
        fs::write(workspace.made().join("c.o"), "object").unwrap();
        assert_eq!(workspace.read("c.o", 100).unwrap(), b"object");
        let path = workspace.path().to_path_buf();
        drop(workspace);
        assert!(!path.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
