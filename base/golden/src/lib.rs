//! Golden conversations: scripts of events, each with what a state machine said to it, that are
//! played again and compared.
//!
//! A line that begins with `> ` is an event; what it leads to stands below it, each line behind the
//! conversation's mark. Comments (`#`), settings and blank lines stay as they are.
//! `FARCALL_REWRITE=1` writes what is said now into the files: commit a changed one only when you
//! understand the change.

mod damage;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use damage::damage;

/// Set to rewrite the scripts instead of comparing with them.
const REWRITE: &str = "FARCALL_REWRITE";
/// Set to a number: fuzz loops do so many times their rounds.
const FUZZ_TIMES: &str = "FARCALL_FUZZ_TIMES";
/// How an event's line begins.
const EVENT: &str = "> ";

/// How many rounds a fuzz loop does that has so many in the test suite: `make fuzz` asks for more.
/// Its seeds are fixed, so that a longer run begins as a short one.
pub fn fuzz_rounds(count: u64) -> u64 {
    let times = std::env::var(FUZZ_TIMES).ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    count.saturating_mul(times)
}

/// A state machine that a script talks to.
pub trait Conversation {
    /// How a line begins that the machine said.
    const MARK: &'static str = "< ";

    /// Begins; what a script sets stands in it.
    fn begin(script: &str) -> Self;

    /// An event, without its `> `; what it led to, by the line.
    fn event(&mut self, event: &str) -> Vec<String>;

    /// The script is over: the place for what must hold then.
    fn end(self)
    where
        Self: Sized,
    {
    }
}

/// Plays all scripts in `tests/golden` of a package; its folder is `env!("CARGO_MANIFEST_DIR")`.
///
/// # Panics
/// When one says something else than before, or there are fewer than `at_least`.
pub fn play_all<C: Conversation>(package: &str, at_least: usize) {
    let folder = Path::new(package).join("tests/golden");
    let mut scripts: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    scripts.sort();
    assert!(scripts.len() >= at_least, "{}: the conversations are gone", folder.display());
    for path in &scripts {
        let kept =
            fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let now = play::<C>(&kept);
        if std::env::var_os(REWRITE).is_some() {
            fs::write(path, now).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if let Some(difference) = difference(&kept, &now) {
            panic!("{}, {difference}\n{REWRITE}=1 rewrites it", path.display());
        }
    }
    // Past what keeps the words of tests that pass: `make test` counts the conversations of one as
    // checks.
    let _ = writeln!(
        std::io::stderr(),
        "{} checks: conversations of {}",
        scripts.len(),
        folder.display()
    );
}

/// The script with what the machine says now.
fn play<C: Conversation>(script: &str) -> String {
    let mut conversation = C::begin(script);
    let mut text = String::new();
    for line in script.lines().filter(|line| !line.starts_with(C::MARK)) {
        text += line;
        text += "\n";
        let said = line.strip_prefix(EVENT).map(|event| conversation.event(event));
        for line in said.into_iter().flatten() {
            text += &format!("{}{line}\n", C::MARK);
        }
    }
    conversation.end();
    text
}

/// The first line that differs, as it was and as it is.
fn difference(kept: &str, now: &str) -> Option<String> {
    if kept == now {
        return None;
    }
    let line = kept.lines().zip(now.lines()).take_while(|(kept, now)| kept == now).count();
    let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    Some(format!("line {}:\n  kept: {}\n  now:  {}", line + 1, show(kept), show(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts events, from where the script says.
    struct Counter(usize);

    impl Conversation for Counter {
        fn begin(script: &str) -> Counter {
            Counter(script.lines().filter(|line| line.starts_with("! ")).count())
        }

        fn event(&mut self, event: &str) -> Vec<String> {
            self.0 += 1;
            event.split_whitespace().map(|word| format!("{} {word}", self.0)).collect()
        }

        fn end(self) {
            assert!(self.0 < 100, "the end is seen");
        }
    }

    const SCRIPT: &str = "# A comment.\n! setting\n\n> a b\n< 2 a\n< 2 b\n>\n> c\n< 3 c\n";

    #[test]
    fn what_was_said_is_said_again_and_the_rest_stays() {
        assert_eq!(play::<Counter>(SCRIPT), SCRIPT);
        let stale = SCRIPT.replace("< 2 a\n", "< something else\n< and more\n");
        assert_eq!(play::<Counter>(&stale), SCRIPT);
    }

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(difference(SCRIPT, SCRIPT), None);
        let other = SCRIPT.replace("< 3 c", "< 4 c");
        assert_eq!(
            difference(SCRIPT, &other).as_deref(),
            Some("line 9:\n  kept: < 3 c\n  now:  < 4 c")
        );
        assert_eq!(
            difference(SCRIPT, "# A comment.\n").as_deref(),
            Some("line 2:\n  kept: ! setting\n  now:  (nothing)")
        );
        // Nothing but the end of the last line.
        assert!(difference(SCRIPT, SCRIPT.trim_end()).is_some());
    }

    #[test]
    fn a_folder_without_scripts_is_no_success() {
        let missing = std::panic::catch_unwind(|| play_all::<Counter>("/nowhere", 0));
        assert!(missing.is_err());
    }
}
