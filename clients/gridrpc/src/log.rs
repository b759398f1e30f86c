//! What is said besides a code: to standard error, as far as `$NG_LOG_LEVEL` wants it.

use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

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

impl Level {
    /// A level by its number or its name.
    pub fn read(text: &str) -> Option<Level> {
        let number = text.trim().parse().ok().and_then(|number: usize| ALL.get(number)).copied();
        number.or_else(|| ALL.into_iter().find(|level| format!("{level:?}").eq_ignore_ascii_case(text.trim())))
    }
}

/// Takes a level, which the configuration has.
pub fn begin(level: u8) {
    WANTED.store(level, Ordering::Relaxed);
}

fn wanted() -> u8 {
    if WANTED.load(Ordering::Relaxed) == UNREAD {
        let wanted = std::env::var("NG_LOG_LEVEL").ok().and_then(|text| Level::read(&text));
        begin(wanted.unwrap_or(Level::Error) as u8);
    }
    WANTED.load(Ordering::Relaxed)
}

/// Writes one line. A standard error that nobody reads is no reason to fail.
pub fn write(level: Level, words: &str) {
    if level as u8 <= wanted() {
        let _ = writeln!(std::io::stderr(), "farcall: {level:?}: {words}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_numbers_and_names() {
        assert_eq!(Level::read("0"), Some(Level::Off));
        assert_eq!(Level::read(" warning "), Some(Level::Warning));
        assert_eq!(Level::read("Debug"), Some(Level::Debug));
        assert!(Level::read("6").is_none() && Level::read("loud").is_none());
    }
}
