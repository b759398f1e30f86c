//! Which process a folder belongs to that several hosts may see: what a process left behind that
//! was killed can be told from what is in use.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// In the folder.
const FILE: &str = "owner";
/// How a folder's name begins until that file is in it; its owner follows.
const UNFINISHED: &str = "unfinished ";

/// What a process that ended meanwhile is read as (errno(3)).
const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// Makes a folder that belongs to this process from its first moment: killed whenever, this process
/// leaves nothing that
/// [`is_left_behind`] does not find.
///
/// # Errors
/// When it cannot be made or written, or there is one already that is not empty.
pub fn make(folder: &Path) -> io::Result<()> {
    let (Some(base), Some(name)) = (folder.parent(), folder.file_name().and_then(OsStr::to_str))
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let owner = of_this_process()?;
    let unfinished = base.join(format!("{UNFINISHED}{owner} {name}"));
    DirBuilder::new().mode(0o700).create(&unfinished)?;
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(unfinished.join(FILE))?;
        writeln!(file, "{owner}")?;
        fs::rename(&unfinished, folder)
    };
    write().inspect_err(|_| {
        // By what takes no descriptor: there may be none left, which is why it failed.
        let _ = fs::remove_file(unfinished.join(FILE));
        let _ = fs::remove_dir(&unfinished);
    })
}

/// This process, as [`has_ended`] reads it. Read once: later there may be no descriptor for it. A fork
/// is another.
///
/// # Errors
/// When the system does not say, for lack of descriptors above all.
pub fn of_this_process() -> io::Result<String> {
    static OWN: Mutex<Option<(u32, String)>> = Mutex::new(None);
    let mut known = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    if let Some((_, owner)) = known.as_ref().filter(|(of, _)| *of == pid) {
        return Ok(owner.clone());
    }
    let owner = of_process(pid)?;
    *known = Some((pid, owner.clone()));
    Ok(owner)
}

/// Whether the folder belongs to a process that ended here. One of another host, or of another
/// container, cannot be judged, and neither can one from before this host was started: their
/// folders are not.
pub fn is_left_behind(folder: &Path) -> bool {
    let named =
        folder.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(UNFINISHED));
    let owner = named
        .map(str::to_owned)
        .or_else(|| fs::read_to_string(folder.join(FILE)).ok())
        .unwrap_or_default();
    has_ended(&owner)
}

/// Whether this is a process of this host that has ended. One of another host, or of another container,
/// cannot be judged, and neither can one from before this host was started: they have not.
pub fn has_ended(process: &str) -> bool {
    let Ok(here) = here() else { return false };
    let Some(words) = process.trim_end().strip_prefix(&here).filter(|_| !here.is_empty()) else {
        return false;
    };
    let mut words = words.split_whitespace();
    let (Some(pid), Some(begun)) = (words.next().and_then(|pid| pid.parse().ok()), words.next())
    else {
        return false;
    };
    of_process(pid).is_ok_and(|now| now != format!("{here} {pid} {begun}"))
}

/// The host since its start, and those of its processes that see one another; empty where the host
/// does not say.
///
/// # Errors
/// When it cannot be asked now, for lack of descriptors above all.
fn here() -> io::Result<String> {
    let boot = told(fs::read_to_string("/proc/sys/kernel/random/boot_id"))?.unwrap_or_default();
    let processes = told(fs::read_link("/proc/self/ns/pid"))?.unwrap_or_default();
    Ok(if boot.is_empty() { boot } else { format!("{} {}", boot.trim_end(), processes.display()) })
}

/// A process, which no other is taken for that gets its number later.
fn of_process(pid: u32) -> io::Result<String> {
    let status = told(fs::read_to_string(format!("/proc/{pid}/stat")))?.unwrap_or_default();
    // Field 22 of proc(5), counted after the name, which may hold anything.
    let begun = status
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19))
        .unwrap_or("gone");
    Ok(format!("{} {pid} {begun}", here()?))
}

/// What a file of the system says; nothing where there is none, or none for us.
fn told<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(said) => Ok(Some(said)),
        Err(error) if error.raw_os_error() == Some(ESRCH) => Ok(None),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Owners' lines, and whether what is theirs is left behind.
    fn owners() -> Vec<(String, bool)> {
        let own = of_this_process().expect("it can be read");
        let here = here().expect("it can be read");
        let mut other = std::process::Command::new("true").spawn().expect("programs can be run");
        other.wait().expect("it ends");
        let dead = format!("{here} {} 7", other.id());
        let later = format!("{own}0");
        let elsewhere = own.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
        vec![
            (dead, true),
            (later, true),
            (own, false),
            (elsewhere, false),
            ("nonsense".into(), false),
        ]
    }

    fn base(name: &str) -> std::path::PathBuf {
        let base =
            std::env::temp_dir().join(format!("farcall-owner-{name}-{}", std::process::id()));
        fs::create_dir_all(&base).expect("folders can be made");
        base
    }

    #[test]
    fn a_folder_is_left_behind_when_its_process_has_ended_here() {
        let base = base("made");
        assert!(!is_left_behind(&base), "nobody says whose it is");
        let folder = base.join("job-1");
        make(&folder).expect("it can be made");
        assert!(!is_left_behind(&folder), "we live");
        assert_eq!(fs::read_dir(&base).expect("it can be read").count(), 1, "nothing is beside it");
        make(&folder).expect_err("there is one already");
        assert_eq!(fs::read_dir(&base).expect("it can be read").count(), 1, "nothing is beside it");
        for (line, is_left) in owners() {
            fs::write(folder.join(FILE), format!("{line}\n")).expect("it can be written");
            assert_eq!(is_left_behind(&folder), is_left, "{line}");
        }
        fs::remove_dir_all(base).expect("folders can be removed");
    }

    #[test]
    fn a_folder_whose_process_was_killed_while_it_made_it_is_left_behind() {
        let base = base("unfinished");
        for (line, is_left) in owners() {
            let folder = base.join(format!("{UNFINISHED}{line} job-1"));
            fs::create_dir(&folder).expect("it can be made");
            assert_eq!(is_left_behind(&folder), is_left, "{line}");
        }
        fs::remove_dir_all(base).expect("folders can be removed");
    }
}
