//! What is said besides a code: to standard error, or to the files that the configuration names.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use farcall_client::{PerProcess, printable};
use farcall_configuration::config::LogFile;

/// Levels, as Ninf-G counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// What ends the program.
    Fatal,
    /// What an entry reports.
    Error,
    /// What may be a mistake.
    Warning,
    /// What happens.
    Information,
    /// What helps to find mistakes.
    Debug,
}

const ALL: [Level; 6] =
    [Level::Off, Level::Fatal, Level::Error, Level::Warning, Level::Information, Level::Debug];

/// What a line is about; each group has a level of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What the functions report.
    Grpc,
    /// What the library does by itself.
    Internal,
    /// What goes to servers and comes from them.
    Protocol,
}

/// Not read yet: programs may err before they initialise.
const UNREAD: u8 = u8::MAX;
static WANTED: [AtomicU8; 3] = [const { AtomicU8::new(UNREAD) }; 3];

/// Numbers of files that are looked at for one that is free.
const NUMBERS_TRIED: u32 = 1000;

/// Where lines go, where that is not standard error. A fork writes there: its parent's files are
/// its parent's.
static FILES: PerProcess<Mutex<Option<Files>>> = PerProcess::new();

/// Files that are written one after the other, and again from the first.
pub struct Files {
    path: String,
    several: bool,
    suffix: Option<String>,
    /// Whether files that were there before may be started again.
    overwrites: bool,
    /// Numbers of those that this process began.
    own: BTreeSet<u32>,
    files_max: u32,
    bytes_max: u64,
    number: u32,
    bytes: u64,
    file: File,
}

impl Level {
    /// A level by its number or its name.
    pub fn read(text: &str) -> Option<Level> {
        let number = text.trim().parse().ok().and_then(|number: usize| ALL.get(number)).copied();
        number.or_else(|| {
            ALL.into_iter().find(|level| format!("{level:?}").eq_ignore_ascii_case(text.trim()))
        })
    }
}

impl Files {
    /// Opens the first file. In its name, %h stands for the host, %p for the process and %t for the
    /// seconds since 1970.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn open(wanted: &LogFile, path: &str, host: &str) -> io::Result<Files> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let path = path.replace("%h", host).replace("%p", &std::process::id().to_string());
        let path = path.replace("%t", &seconds.to_string());
        let several = wanted.files_max != Some(1);
        let files_max = wanted.files_max.unwrap_or(u32::MAX);
        let bytes_max = wanted.bytes_max.unwrap_or(u64::MAX);
        let suffix = wanted.suffix.clone();
        let overwrites = wanted.overwrite_directory;
        let first = name(&path, several, suffix.as_deref(), 0);
        let file = if overwrites { File::create(&first)? } else { append(&first)? };
        let bytes = file.metadata()?.len();
        let own = BTreeSet::from([0]);
        Ok(Files {
            path,
            several,
            suffix,
            overwrites,
            own,
            files_max,
            bytes_max,
            number: 0,
            bytes,
            file,
        })
    }

    fn name(&self, number: u32) -> String {
        name(&self.path, self.several, self.suffix.as_deref(), number)
    }

    /// The number of the file that follows: one that is there and not ours is left alone, unless it
    /// may be overwritten.
    fn following(&self) -> u32 {
        let is_free = |number: &u32| {
            self.overwrites || self.own.contains(number) || !Path::new(&self.name(*number)).exists()
        };
        let tried = self.files_max.min(NUMBERS_TRIED);
        let mut numbers = (1..=tried).map(|step| self.number.wrapping_add(step) % self.files_max);
        numbers.find(is_free).unwrap_or(self.number)
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn write(&mut self, line: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.number = self.following();
            self.own.insert(self.number);
            self.file = File::create(self.name(self.number))?;
            self.bytes = 0;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(line.as_bytes())
    }
}

fn append(name: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(name)
}

/// Files of a log that has several have a number behind their name, and behind that their suffix.
fn name(path: &str, several: bool, suffix: Option<&str>, number: u32) -> String {
    let numbered = if several { format!("{path}.{number:03}") } else { path.to_owned() };
    suffix.filter(|_| several).map_or(numbered.clone(), |suffix| format!("{numbered}.{suffix}"))
}

fn set(files: Option<Files>) {
    *FILES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner) = files;
}

/// Takes the levels, in the order of [`Group`], and the files that the configuration has.
///
/// # Errors
/// Why the file cannot be written.
pub fn begin(levels: [u8; 3], wanted: &LogFile, host: &str) -> io::Result<()> {
    for (known, level) in WANTED.iter().zip(levels) {
        known.store(level, Ordering::Relaxed);
    }
    let path = wanted.path.as_deref().filter(|path| *path != "stderr");
    set(path.map(|path| Files::open(wanted, path, host)).transpose()?);
    Ok(())
}

/// From now on, what is said goes to standard error again.
pub fn end() {
    set(None);
}

#[cold]
fn read_level() -> u8 {
    let wanted = std::env::var("NG_LOG_LEVEL").ok().and_then(|text| Level::read(&text));
    wanted.unwrap_or(Level::Error) as u8
}

/// Whether lines of this level are wanted.
#[inline]
pub fn wants(group: Group, level: Level) -> bool {
    let known = &WANTED[group as usize];
    if known.load(Ordering::Relaxed) == UNREAD {
        known.store(read_level(), Ordering::Relaxed);
    }
    level as u8 <= known.load(Ordering::Relaxed)
}

/// Writes one line. That nobody can read it is no reason to fail.
pub fn write(group: Group, level: Level, words: &str) {
    if wants(group, level) {
        write_line(level, words);
    }
}

/// Warns of what is said once, and so also to whom logs nothing but errors.
pub fn warn_once(words: &str) {
    if wants(Group::Grpc, Level::Error) {
        write_line(Level::Warning, words);
    }
}

/// The time as logs in files have it: seconds since 1970.
pub fn now() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:06}", now.as_secs(), now.subsec_micros())
}

fn write_line(level: Level, words: &str) {
    let line = format!("farcall: {level:?}: {}\n", printable(words));
    let mut files = FILES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let written = files.as_mut().map(|files| files.write(&format!("{} {line}", now())));
    if !matches!(written, Some(Ok(()))) {
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_numbers_and_names() {
        assert_eq!(Level::read("0"), Some(Level::Off));
        assert_eq!(Level::read(" warning "), Some(Level::Warning));
        assert_eq!(Level::read("Debug"), Some(Level::Debug));
        assert!(Level::read("6").is_none() && Level::read("loud").is_none());
    }

    #[test]
    fn full_files_are_followed_by_the_next_and_then_by_the_first() {
        let folder = std::env::temp_dir().join(format!("farcall-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log-%h").to_string_lossy().into_owned();
        let wanted = LogFile { files_max: Some(2), bytes_max: Some(10), ..LogFile::default() };
        let mut files = Files::open(&wanted, &path, "here").unwrap();
        for line in ["first\n", "second\n", "third\n"] {
            files.write(line).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(
            (read("log-here.000"), read("log-here.001")),
            ("third\n".to_owned(), "second\n".to_owned())
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_that_were_there_are_left_alone_unless_they_may_be_overwritten() {
        let folder = std::env::temp_dir().join(format!("farcall-logs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("log").to_string_lossy().into_owned();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let wanted = LogFile {
            files_max: None,
            bytes_max: Some(8),
            suffix: Some("txt".into()),
            ..LogFile::default()
        };
        let written = |wanted: &LogFile| {
            std::fs::write(folder.join("log.000.txt"), "old\n").unwrap();
            std::fs::write(folder.join("log.001.txt"), "theirs\n").unwrap();
            let mut files = Files::open(wanted, &path, "here").unwrap();
            ["one\n", "two\n"].iter().for_each(|line| files.write(line).unwrap());
            ["three\n", "four\n"].iter().for_each(|line| files.write(line).unwrap());
        };
        written(&wanted);
        assert_eq!(
            (read("log.000.txt"), read("log.001.txt")),
            ("old\none\n".to_owned(), "theirs\n".to_owned())
        );
        assert_eq!(
            (read("log.002.txt"), read("log.003.txt")),
            ("two\n".to_owned(), "three\n".to_owned())
        );
        written(&LogFile { overwrite_directory: true, ..wanted });
        assert_eq!(
            (read("log.000.txt"), read("log.001.txt")),
            ("one\ntwo\n".to_owned(), "three\n".to_owned())
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
