//! What is said besides a code: to standard error, or to the files that the configuration names.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use farcall_client::PerProcess;
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

const ALL: [Level; 6] = [Level::Off, Level::Fatal, Level::Error, Level::Warning, Level::Information, Level::Debug];

/// Not read yet: programs may err before they initialise.
const UNREAD: u8 = u8::MAX;
static WANTED: AtomicU8 = AtomicU8::new(UNREAD);

/// Where lines go, where that is not standard error. A fork writes there: its parent's files are its parent's.
static FILES: PerProcess<Mutex<Option<Files>>> = PerProcess::new();

/// Files that are written one after the other, and again from the first.
struct Files {
    path: String,
    several: bool,
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
        number.or_else(|| ALL.into_iter().find(|level| format!("{level:?}").eq_ignore_ascii_case(text.trim())))
    }
}

impl Files {
    fn open(wanted: &LogFile, path: &str, host: &str) -> io::Result<Files> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let path = path.replace("%h", host).replace("%p", &std::process::id().to_string());
        let path = path.replace("%t", &seconds.to_string());
        let several = wanted.files_max != Some(1);
        let (files_max, bytes_max) = (wanted.files_max.unwrap_or(u32::MAX), wanted.bytes_max.unwrap_or(u64::MAX));
        let file = append(&name(&path, several, 0))?;
        let bytes = file.metadata()?.len();
        Ok(Files { path, several, files_max, bytes_max, number: 0, bytes, file })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.number = (self.number + 1) % self.files_max;
            self.file = File::create(name(&self.path, self.several, self.number))?;
            self.bytes = 0;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(line.as_bytes())
    }
}

fn append(name: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(name)
}

/// Files of a log that has several have a number behind their name.
fn name(path: &str, several: bool, number: u32) -> String {
    if several { format!("{path}.{number:03}") } else { path.to_owned() }
}

fn set(files: Option<Files>) {
    *FILES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner) = files;
}

/// Takes the level and the files that the configuration has. In a file's name, %h stands for the host, %p for the process
/// and %t for the seconds since 1970.
///
/// # Errors
/// Why the file cannot be written.
pub fn begin(level: u8, wanted: &LogFile, host: &str) -> io::Result<()> {
    WANTED.store(level, Ordering::Relaxed);
    let path = wanted.path.as_deref().filter(|path| *path != "stderr");
    set(path.map(|path| Files::open(wanted, path, host)).transpose()?);
    Ok(())
}

/// From now on, what is said goes to standard error again.
pub fn end() {
    set(None);
}

fn wanted() -> u8 {
    if WANTED.load(Ordering::Relaxed) == UNREAD {
        let wanted = std::env::var("NG_LOG_LEVEL").ok().and_then(|text| Level::read(&text));
        WANTED.store(wanted.unwrap_or(Level::Error) as u8, Ordering::Relaxed);
    }
    WANTED.load(Ordering::Relaxed)
}

/// Writes one line. That nobody can read it is no reason to fail.
pub fn write(level: Level, words: &str) {
    if level as u8 <= wanted() {
        write_line(level, words);
    }
}

/// Warns of what is said once, and so also to whom logs nothing but errors.
pub fn warn_once(words: &str) {
    if wanted() >= Level::Error as u8 {
        write_line(Level::Warning, words);
    }
}

fn write_line(level: Level, words: &str) {
    let line = format!("farcall: {level:?}: {words}\n");
    let mut files = FILES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let written = files.as_mut().map(|files| files.write(&line));
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
        assert_eq!((read("log-here.000"), read("log-here.001")), ("third\n".to_owned(), "second\n".to_owned()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
