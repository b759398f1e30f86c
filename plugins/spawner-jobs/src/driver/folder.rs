//! Where jobs find their tickets: one folder each, which nobody but this user looks into.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use farcall_base::{Error, Result};
use farcall_system::{owner, temporary};

/// Names the folder.
const VARIABLE: &str = "FARCALL_JOBS";
/// What is shown of a job's output.
const WORDS_BYTES_MAX: u64 = 1000;

pub(super) struct Folder {
    base: PathBuf,
    swept: bool,
}

/// Where tickets lie that no manifest names a folder for.
pub(crate) fn default_folder() -> PathBuf {
    Folder::new("").base
}

impl Folder {
    /// The one that the manifest names, or the user's.
    pub(super) fn new(named: &str) -> Folder {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let home =
            || variable("HOME").unwrap_or_else(std::env::temp_dir).join(".farcall").join("jobs");
        let base = match named {
            "" => variable(VARIABLE).unwrap_or_else(home),
            named => PathBuf::from(named),
        };
        Folder { base: std::path::absolute(&base).unwrap_or(base), swept: false }
    }

    /// Makes it where there is none, and removes what servers left in it that were killed.
    pub(super) fn prepare(&mut self) -> Result<PathBuf> {
        private(&self.base)?;
        if !std::mem::replace(&mut self.swept, true) {
            sweep(&self.base);
        }
        Ok(self.base.clone())
    }

    pub(super) fn of(&self, job: &str) -> PathBuf {
        self.base.join(job)
    }

    pub(super) fn ticket_of(&self, job: &str) -> PathBuf {
        self.of(job).join("ticket")
    }

    pub(super) fn output_file_of(&self, job: &str) -> PathBuf {
        self.of(job).join("output")
    }

    /// Makes a job's, with its ticket.
    pub(super) fn make(&self, job: &str, ticket: &str) -> Result<()> {
        let folder = self.of(job);
        private(&self.base)?;
        owner::make(&folder).map_err(|error| unprepared(error, &folder))?;
        write_private(&self.ticket_of(job), ticket)
    }

    /// Removes a job's.
    pub(super) fn remove(&self, job: &str) {
        // What cannot be removed is this user's to see.
        temporary::remove(&self.of(job));
    }

    /// Removes the whole, unless another server has something in it.
    pub(super) fn leave(&self) {
        temporary::remove_left();
        let _ = fs::remove_dir(&self.base);
        if let Some(own) = self.base.parent().filter(|folder| folder.ends_with(".farcall")) {
            let _ = fs::remove_dir(own);
        }
    }

    /// The end of what a job wrote, in one line.
    pub(super) fn output_of(&self, job: &str) -> String {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(self.output_file_of(job))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(WORDS_BYTES_MAX)))?;
            let mut bytes = Vec::new();
            file.take(WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let text = String::from_utf8_lossy(&read().unwrap_or_default()).trim().replace('\n', "; ");
        text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    }
}

const ELSEWHERE: &str = "set a directory that the jobs' hosts can see: FARCALL_JOBS, or folder of \
    spawner-jobs in farcall.toml";

/// Removes the folders of jobs, and of gates, whose servers are dead.
fn sweep(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let own = rustix::process::geteuid().as_raw();
    let is_own = |entry: &fs::DirEntry| {
        entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == own)
    };
    for entry in entries.filter(|entry| is_own(entry) && owner::is_left_behind(&entry.path())) {
        temporary::remove(&entry.path());
    }
}

fn private(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| {
        Error::system("prepare a job", error).with("path", path.display()).fix(ELSEWHERE)
    })
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).and_then(
        |mut file| {
            file.write_all(text.as_bytes())?;
            // Other hosts are to see it.
            file.sync_all()
        },
    );
    written.map_err(|error| unprepared(error, path))
}

fn unprepared(error: std::io::Error, path: &Path) -> Error {
    let fix = format!("free space there, or {ELSEWHERE}");
    Error::system("prepare a job", error).with("path", path.display()).fix(fix)
}
