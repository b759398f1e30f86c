//! Which process a folder belongs to that several hosts may see: what a process left behind that was killed can be told from
//! what is in use.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// In the folder.
const FILE: &str = "owner";

/// Writes into the folder that it belongs to this process.
///
/// # Errors
/// When it cannot be written.
pub fn own(folder: &Path) -> io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(FILE))?;
    writeln!(file, "{}", of_process(std::process::id()))
}

/// Whether the folder belongs to a process that ended here. One of another host, or of another container, cannot be judged,
/// and neither can one from before this host was started: their folders are not.
pub fn is_left_behind(folder: &Path) -> bool {
    let Ok(line) = std::fs::read_to_string(folder.join(FILE)) else { return false };
    let (line, here) = (line.trim_end(), here());
    let Some(pid) = line.strip_prefix(&here).and_then(|rest| rest.trim_start().split(' ').next()?.parse().ok()) else {
        return false;
    };
    !here.is_empty() && line != of_process(pid)
}

/// The host since its start, and those of its processes that see one another.
fn here() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if boot.is_empty() { boot } else { format!("{} {}", boot.trim_end(), processes.display()) }
}

/// A process, which no other is taken for that gets its number later.
fn of_process(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Field 22 of proc(5), counted after the name, which may hold anything.
    let begun = status.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).unwrap_or("gone");
    format!("{} {pid} {begun}", here())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_left_behind_when_its_process_has_ended_here() {
        let folder = std::env::temp_dir().join(format!("farcall-owner-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folders can be made");
        assert!(!is_left_behind(&folder), "nobody says whose it is");
        own(&folder).expect("it can be written");
        assert!(!is_left_behind(&folder), "we live");
        let own = of_process(std::process::id());
        let mut other = std::process::Command::new("true").spawn().expect("programs can be run");
        other.wait().expect("it ends");
        let (dead, later) = (format!("{} {} 7", here(), other.id()), format!("{own}0"));
        let elsewhere = own.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
        for (line, is_left) in [(dead, true), (later, true), (elsewhere, false), ("nonsense".into(), false)] {
            std::fs::write(folder.join(FILE), &line).expect("it can be written");
            assert_eq!(is_left_behind(&folder), is_left, "{line}");
        }
        std::fs::remove_dir_all(folder).expect("folders can be removed");
    }
}
