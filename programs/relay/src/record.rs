//! The record of a server that `ssh` began: on which host it is. It lies where all login nodes of a
//! cluster see it, in the user's home, so that a connection that lands on another node finds the
//! server, and what it holds.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often a server that lives says so.
pub const RENEWAL: Duration = Duration::from_secs(30);
/// When one that has not said so is taken for dead: a home of the network's may stand still for
/// minutes.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// What their names begin with.
const PREFIX: &str = "server-";
/// Longest record.
const BYTES_MAX: u64 = 16 << 10;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What its host calls itself.
    pub host: String,
    /// The server's process, which tells two servers of one host apart.
    pub process: u32,
    /// Where it listens, on that host.
    pub socket: PathBuf,
    /// Its program, on that host.
    pub program: PathBuf,
}

/// A record that was found.
pub struct Found {
    pub record: Record,
    /// Whether its server has said so lately that it lives.
    pub is_fresh: bool,
}

/// What this host calls itself.
pub fn own_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The folders that may lie in a home, in the order in which the program is looked for
/// (clients/rust/src/ssh/program.rs).
fn folders() -> impl Iterator<Item = PathBuf> {
    let of =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = of("HOME");
    let cache = of("XDG_CACHE_HOME").or_else(|| Some(home.as_ref()?.join(".cache")));
    let folders = [
        of("FARCALL_CACHE"),
        cache.map(|cache| cache.join("farcall")),
        home.map(|home| home.join(".farcall")),
    ];
    folders.into_iter().flatten().filter(|folder| folder.is_absolute())
}

fn file_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{PREFIX}{name}"))
}

/// The record of the server of that name, if there is one.
pub fn find(name: &str) -> Option<Found> {
    folders().find_map(|folder| found_in(&file_in(&folder, name)))
}

/// All records in a folder.
pub fn all_in(folder: &Path) -> Vec<Found> {
    let is_record = |file: &PathBuf| {
        file.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX)).is_some()
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(is_record).filter_map(|file| found_in(&file)).collect()
}

fn found_in(file: &Path) -> Option<Found> {
    let status = fs::metadata(file)
        .ok()
        .filter(|status| status.uid() == farcall_transport_unix::own_uid())?;
    let record = Record::read(file)?;
    let silence =
        now_in(file.parent()?).duration_since(status.modified().ok()?).unwrap_or_default();
    Some(Found { record, is_fresh: silence < SILENCE_MAX })
}

/// Where a record of that name can be kept: in the first folder that can be written to.
pub fn place(name: &str) -> Option<PathBuf> {
    let can_be_written =
        |folder: &PathBuf| fs::create_dir_all(folder).and_then(|()| check_written(folder)).is_ok();
    folders().find(can_be_written).map(|folder| file_in(&folder, name))
}

/// Fails where nothing can be written into a folder: a disk that is full lets files be made, and
/// takes no byte.
///
/// # Errors
/// What the system says.
pub fn check_written(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".try-{}", std::process::id()));
    let written = fs::write(&file, "x");
    let _ = fs::remove_file(file);
    written
}

/// The time as the folder's file system has it, which may be another host's.
fn now_in(folder: &Path) -> SystemTime {
    let file = folder.join(format!(".now-{}", std::process::id()));
    let made = File::create(&file).and_then(|made| made.metadata()?.modified());
    let _ = fs::remove_file(file);
    made.unwrap_or_else(|_| SystemTime::now())
}

impl Record {
    fn read(file: &Path) -> Option<Record> {
        let file = File::open(file).ok()?;
        let text = std::io::read_to_string(std::io::Read::take(file, BYTES_MAX)).ok()?;
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Some(Record {
            host: value("host").filter(|host| is_host(host))?.to_owned(),
            process: value("process")?.parse().ok()?,
            socket: value("socket")?.into(),
            program: value("program")?.into(),
        })
    }

    /// Writes it: complete, or not at all.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        let socket = self.socket.display();
        let program = self.program.display();
        let text = format!(
            "host {}\nprocess {}\nsocket {socket}\nprogram {program}\n",
            self.host, self.process
        );
        let fresh = file.with_extension(format!("{}-{}", self.host, std::process::id()));
        let written =
            File::options().create(true).write(true).truncate(true).mode(0o600).open(&fresh);
        let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
        let written = written.and_then(|()| fs::rename(&fresh, file));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        written
    }

    /// Says that its server lives.
    pub fn renew(&self, file: &Path) {
        // The file system's own time. Another server's is another's to renew; a full or sick home
        // is no reason to fail.
        if Record::read(file).is_some_and(|found| found == *self) {
            let times = rustix::fs::Timestamps { last_access: NOW, last_modification: NOW };
            let _ =
                rustix::fs::utimensat(rustix::fs::CWD, file, &times, rustix::fs::AtFlags::empty());
        }
    }

    /// Removes it, and no other's.
    pub fn remove(&self, file: &Path) {
        if Record::read(file).is_some_and(|found| found == *self) {
            let _ = fs::remove_file(file);
        }
    }
}

const NOW: rustix::fs::Timespec =
    rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW as _ };

/// Whether it may be a host's name, which goes into a command.
fn is_host(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    !text.is_empty() && text.len() <= 255 && !text.starts_with('-') && text.chars().all(is_word)
}
