//! Built executables by content, in a directory of the user's own.
//!
//! ```text
//! <key>.headers            headers that the build with these inputs included, one path per line
//! <module>-<key'>          the executable; key' = key and the bytes of those headers
//! building-<pid>-<n>/      a build under way (workspace.rs); old ones are swept out
//! ```
//! A file gets its name when it is complete and on the disk: a reader sees a whole one or none. An
//! executable that is there already stays, since a server that runs it has granted that very file
//! to its routines (Landlock's rules name inodes).

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;
use sha2::{Digest, Sha256};

use super::plan::Key;
use super::workspace::Workspace;

/// Bytes of a key in a name: 128 bits are plenty to tell builds apart, and keep names short.
const KEY_BYTES: usize = 16;
/// Executables kept; the longest unused go first.
const EXECUTABLES_MAX: usize = 128;
/// A build directory older than this belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// Nothing is removed that was used this recently: a server may be about to start it.
const FRESH: Duration = Duration::from_secs(3600);
/// Headers of one module, at most.
const HEADERS_MAX: usize = 10_000;
/// An executable larger than this is a mistake.
const EXECUTABLE_BYTES_MAX: u64 = 4 << 30;
/// One header, or the list of them, at most.
const HEADER_BYTES_MAX: u64 = 64 << 20;

/// The directory.
pub(crate) struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// Opens the cache, making its directory if needed. Refuses one that others could put programs
    /// into.
    pub fn open(directory: &Path) -> Result<Cache> {
        const ELSEWHERE: &str = "set XDG_CACHE_HOME to a writable directory of yours";
        let failed = |error| {
            Error::system("open the build cache", error)
                .with("directory", directory.display())
                .fix(ELSEWHERE)
        };
        let directory = super::absolute(directory)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        directory.parent().map_or(Ok(()), keep_to_oneself).map_err(failed)?;
        let metadata =
            open_folder(&directory).and_then(|folder| folder.metadata()).map_err(failed)?;
        // SAFETY: a system call without arguments that cannot fail.
        let own = metadata.uid() == unsafe { libc::geteuid() };
        if !own {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "open the build cache",
                "it belongs to another user",
            )
            .with("directory", directory.display())
            .with("owner", format!("uid {}", metadata.uid()))
            .fix(format!("ask its owner to give it to you (chown), or {ELSEWHERE}")));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "open the build cache",
                "other users can write to it",
            )
            .with("directory", directory.display())
            .fix("remove that permission with `chmod go-w`"));
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

    /// Where its directory is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes a finished executable in, a copy of it: what a linker has left may be somebody else's
    /// to change. Gives its final path.
    pub fn store(
        &self,
        module: &str,
        key: Key,
        executable: &File,
        headers: &[PathBuf],
    ) -> Result<PathBuf> {
        let failed = |error| Error::system("store the executable", error);
        let path = self.executable_file(module, key, headers).ok_or_else(|| unusable(headers))?;
        if executable.metadata().map_err(failed)?.len() > EXECUTABLE_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "store the executable",
                "it has more than 4 GiB",
            ));
        }
        let draft = Workspace::new(&self.directory, None)?;
        let copy = draft.write("executable", &mut executable.take(EXECUTABLE_BYTES_MAX))?;
        // Whatever the umask: the directory is its owner's alone, and a module's own user runs what
        // is in it.
        fs::set_permissions(&copy, Permissions::from_mode(0o755)).map_err(failed)?;
        name_once(&copy, &path).map_err(failed)?;
        let list: Vec<u8> = headers
            .iter()
            .flat_map(|header| [header.as_os_str().as_bytes(), b"\n"].concat())
            .collect();
        let file = draft.write("headers", &mut list.as_slice())?;
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
        // The name is for people who look at `ps`; it comes from an IDL file and must not lead out
        // of the directory.
        let name: String =
            module.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
        Some(self.directory.join(format!("{name}-{}", hexadecimal(&hash.finalize()))))
    }

    /// Removes what has not been used for longest, and what dead builds left. Failures are the next
    /// sweep's business.
    fn sweep(&self) {
        let Ok(listing) = fs::read_dir(&self.directory) else { return };
        let now = SystemTime::now();
        let mut aged: Vec<(Duration, PathBuf)> = Vec::new();
        for item in listing.flatten() {
            let Ok(metadata) = item.metadata() else { continue };
            let age = metadata
                .modified()
                .ok()
                .and_then(|time| now.duration_since(time).ok())
                .unwrap_or_default();
            // What has another name is not ours to remove.
            match made_here(&item.file_name()) {
                Some(Made::Build) if metadata.is_dir() && age > ABANDONED => {
                    drop(fs::remove_dir_all(item.path()))
                }
                Some(Made::File) if metadata.is_file() && age > FRESH => {
                    aged.push((age, item.path()))
                }
                _ => {}
            }
        }
        aged.sort();
        // Each executable has its list of headers beside it.
        aged.iter().skip(2 * EXECUTABLES_MAX).for_each(|(_, path)| drop(fs::remove_file(path)));
    }
}

/// Why no executable can be stored that was built with these headers.
fn unusable(headers: &[PathBuf]) -> Error {
    const OPERATION: &str = "store the executable";
    let limit = |message: String| Error::new(ErrorKind::LimitExceeded, OPERATION, message);
    if headers.len() > HEADERS_MAX {
        let message = format!("it includes {} headers, {HEADERS_MAX} at most", headers.len());
        return limit(message).fix("include those headers alone that the module needs");
    }
    let bytes_of = |header: &PathBuf| fs::metadata(header).map_or(0, |found| found.len());
    let large = headers.iter().find(|header| bytes_of(header) > HEADER_BYTES_MAX);
    match large {
        Some(header) => {
            limit(format!("a header has {} bytes, {HEADER_BYTES_MAX} at most", bytes_of(header)))
                .with("header", header.display())
                .fix("put its data into a library or a file that the routine reads, or divide it")
        }
        None => Error::new(
            ErrorKind::InvalidSource,
            OPERATION,
            "a header was removed, or could not be read, during the build",
        )
        .with("headers", headers.len())
        .fix("publish again when nobody changes the headers"),
    }
}

/// Gives a complete file its name, unless another build has come first.
fn name_once(file: &Path, name: &Path) -> std::io::Result<()> {
    // Only what is on the disk may stay for good: after a power cut an empty file would be found
    // under this name.
    File::open(file)?.sync_all()?;
    match fs::hard_link(file, name) {
        // Its time says when it was last used.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            File::open(name)?.set_modified(SystemTime::now())
        }
        // Some file systems have no hard links.
        Err(_) => fs::rename(file, name),
        linked => linked,
    }
}

/// What a name in the directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// An executable or a list of headers.
    File,
    /// A build under way.
    Build,
}

/// What was made under a name of one of our forms; `None` for any other.
fn made_here(name: &OsStr) -> Option<Made> {
    let name = name.to_str()?;
    let is_key = |text: &str| {
        text.len() == 2 * KEY_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((process, count)) =
        name.strip_prefix("building-").and_then(|rest| rest.split_once('-'))
        && is_number(process)
        && is_number(count)
    {
        return Some(Made::Build);
    }
    let is_list = name.strip_suffix(".headers").is_some_and(is_key);
    let is_executable = name.rsplit_once('-').is_some_and(|(_, key)| is_key(key));
    (is_list || is_executable).then_some(Made::File)
}

/// Opens a folder, and no link to another.
fn open_folder(folder: &Path) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(folder);
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP | libc::ENOTDIR) => {
            std::io::Error::other(format!("{} is not a directory, or is a link", folder.display()))
        }
        _ => error,
    })
}

/// The folder above: whoever may write to it could put another in the place of ours. Takes that
/// right from others, where it is our user's own and no place for all, such as /tmp.
fn keep_to_oneself(folder: &Path) -> std::io::Result<()> {
    const STICKY: u32 = 0o1000;
    let opened = open_folder(folder)?;
    let metadata = opened.metadata()?;
    // SAFETY: a system call without arguments that cannot fail.
    let own = metadata.uid() == unsafe { libc::geteuid() };
    match metadata.mode() {
        mode if mode & 0o022 == 0 || mode & STICKY != 0 => Ok(()),
        _ if own => opened.set_permissions(Permissions::from_mode(0o700)),
        _ => Err(std::io::Error::other(format!("other users can write to {}", folder.display()))),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
