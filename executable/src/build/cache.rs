//! Built executables by content, in a directory of the user's own.
//!
//! ```text
//! <key>.headers            headers that the build with these inputs included, one path per line
//! <module>-<key'>          the executable; key' = key and the bytes of those headers
//! building-<pid>-<n>/      a build under way; old ones are swept out
//! ```
//! Files appear by rename: a reader sees a whole one or none. Two builds of the same inputs rename equal files.

use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use farcall_base::{Error, ErrorKind, Result};
use farcall_interfaces::plain_file;
use sha2::{Digest, Sha256};

use super::plan::Key;

/// Executables kept; the longest unused go first.
const EXECUTABLES_MAX: usize = 128;
/// A build directory older than this belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// Nothing is removed that was used this recently: a server may be about to start it.
const FRESH: Duration = Duration::from_secs(3600);
/// Headers of one module, at most; beyond that it is built each time.
const HEADERS_MAX: usize = 10_000;
/// One header, or the list of them, at most; beyond that, too, it is built each time.
const HEADER_BYTES_MAX: u64 = 64 << 20;

/// The directory.
pub(crate) struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// Opens the cache, making its directory if needed. Refuses one that others could put programs into.
    pub fn open(directory: &Path) -> Result<Cache> {
        const ELSEWHERE: &str = "set XDG_CACHE_HOME to a directory of your own that can be written to";
        let failed =
            |error| Error::system("open the build cache", error).with("directory", directory.display()).fix(ELSEWHERE);
        let directory = super::absolute(directory)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        let metadata = fs::metadata(&directory).map_err(failed)?;
        // SAFETY: a system call without arguments that cannot fail.
        let own = metadata.uid() == unsafe { libc::geteuid() };
        if !own {
            return Err(Error::new(ErrorKind::PermissionDenied, "open the build cache", "it belongs to another user")
                .with("directory", directory.display())
                .with("owner", format!("uid {}", metadata.uid()))
                .fix(format!("have its owner give it to you (chown), or {ELSEWHERE}")));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(Error::new(ErrorKind::PermissionDenied, "open the build cache", "others can write to it")
                .with("directory", directory.display())
                .fix("take that right from them: `chmod go-w` it"));
        }
        Ok(Cache { directory })
    }

    /// The executable built from these inputs and from the headers as they are now.
    pub fn find(&self, module: &str, key: Key) -> Option<PathBuf> {
        let listed = plain_file::read(&self.headers_file(key), HEADER_BYTES_MAX).ok()?;
        let headers: Vec<PathBuf> = listed
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line)))
            .collect();
        let path = self.executable_file(module, key, &headers)?;
        // Its time says when it was last used; the sweep goes by it.
        let _ = File::open(&path).ok()?.set_modified(SystemTime::now());
        Some(path)
    }

    /// A directory for a build, removed when dropped.
    pub fn workspace(&self) -> Result<Workspace> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("building-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = self.directory.join(name);
        // A process of this id may have died here long ago.
        let _ = fs::remove_dir_all(&path);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Error::system("open the build cache", error).with("directory", path.display()))?;
        Ok(Workspace(path))
    }

    /// Takes a finished executable in; gives its final path.
    pub fn store(&self, module: &str, key: Key, executable: &Path, headers: &[PathBuf]) -> Result<PathBuf> {
        let failed = |error| Error::system("store the executable", error);
        let path = self
            .executable_file(module, key, headers)
            .ok_or_else(|| Error::internal("store the executable", "a header vanished during the build"))?;
        // Whatever the umask: the directory is its owner's alone, and a module's own user runs what is in it.
        open_made(executable).and_then(|file| file.set_permissions(Permissions::from_mode(0o755))).map_err(failed)?;
        fs::rename(executable, &path).map_err(failed)?;
        let list: Vec<u8> = headers.iter().flat_map(|header| [header.as_os_str().as_bytes(), b"\n"].concat()).collect();
        // Not where a compiler wrote: what lies there may lead anywhere.
        let draft = self.workspace()?;
        let file = draft.path().join("headers");
        fs::write(&file, list).map_err(failed)?;
        fs::rename(file, self.headers_file(key)).map_err(failed)?;
        self.sweep();
        Ok(path)
    }

    fn headers_file(&self, key: Key) -> PathBuf {
        self.directory.join(format!("{}.headers", hexadecimal(&key.0)))
    }

    /// Where the executable for these headers is; `None` if one of them cannot be read.
    fn executable_file(&self, module: &str, key: Key, headers: &[PathBuf]) -> Option<PathBuf> {
        if headers.len() > HEADERS_MAX {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update(key.0);
        for header in headers {
            hash.update(header.as_os_str().as_bytes());
            hash.update(Sha256::digest(plain_file::read(header, HEADER_BYTES_MAX).ok()?));
        }
        // The name is for people who look at `ps`; it comes from an IDL file and must not lead out of the directory.
        let name: String = module.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
        Some(self.directory.join(format!("{name}-{}", hexadecimal(&hash.finalize()))))
    }

    /// Removes what has not been used for longest, and what dead builds left. Failures are the next sweep's business.
    fn sweep(&self) {
        let Ok(listing) = fs::read_dir(&self.directory) else { return };
        let now = SystemTime::now();
        let mut aged: Vec<(Duration, PathBuf)> = Vec::new();
        for item in listing.flatten() {
            let Ok(metadata) = item.metadata() else { continue };
            let age = metadata.modified().ok().and_then(|time| now.duration_since(time).ok()).unwrap_or_default();
            let building = item.file_name().as_bytes().starts_with(b"building-");
            match (metadata.is_dir(), building) {
                (true, true) if age > ABANDONED => drop(fs::remove_dir_all(item.path())),
                (false, false) if age > FRESH => aged.push((age, item.path())),
                _ => {}
            }
        }
        aged.sort();
        // Each executable has its list of headers beside it.
        aged.iter().skip(2 * EXECUTABLES_MAX).for_each(|(_, path)| drop(fs::remove_file(path)));
    }
}

/// The directory of a build under way.
pub(crate) struct Workspace(PathBuf);

impl Workspace {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    // 128 bits are plenty to tell builds apart, and keep names short.
    bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a linker has made: a file of its own, and no link to somebody else's.
fn open_made(executable: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(executable)?;
    let data = file.metadata()?;
    if data.is_file() && data.nlink() == 1 {
        return Ok(file);
    }
    Err(std::io::Error::other("the linker left something else than a program"))
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
