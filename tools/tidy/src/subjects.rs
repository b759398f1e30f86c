//! Subjects of commits: at most 72 characters, and a plain verb first.

use std::path::Path;
use std::process::Command;

use crate::tree::Violation;

/// What shows in a list of commits.
const CHARACTERS_MAX: usize = 72;

/// The list of verbs. The rule holds from the commit on that added it.
pub const VERBS: &str = "tools/tidy/verbs.txt";

/// A commit.
pub struct Commit {
    /// Its short name.
    pub name: String,
    /// The first line of its message.
    pub subject: String,
}

/// The commits that the rule is for, merges aside. None without git or its log: a release is no
/// repository.
pub fn commits(root: &Path) -> Vec<Commit> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let since = || {
        git(&["log", "--diff-filter=A", "--format=%H", "--", VERBS])?
            .lines()
            .last()
            .map(str::to_string)
    };
    let Some(since) = since() else { return Vec::new() };
    let log =
        git(&["log", "--no-merges", "--format=%h %s", "HEAD", "--not", &format!("{since}^@")]);
    log.unwrap_or_default().lines().filter_map(read).collect()
}

fn read(line: &str) -> Option<Commit> {
    let (name, subject) = line.split_once(' ')?;
    Some(Commit { name: name.to_string(), subject: subject.to_string() })
}

/// Reads the list: verbs, separated by white space, `#` comments.
pub fn read_verbs(list: &str) -> Vec<&str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
}

/// Commits whose subject is too long, or begins with another word.
pub fn violations(commits: &[Commit], verbs: &[&str]) -> Vec<Violation> {
    commits.iter().flat_map(|commit| judge(commit, verbs)).collect()
}

fn judge(commit: &Commit, verbs: &[&str]) -> Vec<Violation> {
    let first = commit.subject.split(' ').next().unwrap_or_default();
    let length = commit.subject.chars().count();
    let mut problems = Vec::new();
    if length > CHARACTERS_MAX {
        problems.push(format!(
            "the subject has {length} characters, {CHARACTERS_MAX} at most; shorten it"
        ));
    }
    if !verbs.iter().any(|verb| is_capitalized(first, verb)) {
        problems.push(format!(
            "`{first}` is no plain verb; begin with one of {VERBS}, or add one that everybody uses"
        ));
    }
    problems
        .into_iter()
        .map(|problem| Violation::new(format!("commit {}", commit.name), problem))
        .collect()
}

fn is_capitalized(word: &str, verb: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.to_lowercase() == verb
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(subject: &str) -> usize {
        let commit = Commit { name: "1234567".to_string(), subject: subject.to_string() };
        violations(&[commit], &read_verbs("# add\nfix move\n")).len()
    }

    #[test]
    fn a_subject_is_short_and_begins_with_a_plain_verb() {
        assert_eq!(problems("Fix what was wrong"), 0);
        for odd in ["fix it", "Fixed it", "Add it", "Have it be moved", "client: fix it", ""] {
            assert_eq!(problems(odd), 1, "{odd}");
        }
        assert_eq!(problems(&format!("Move {}", "é".repeat(67))), 0);
        assert_eq!(problems(&format!("Move {}", "é".repeat(68))), 1);
    }

    #[test]
    fn without_a_log_there_is_nothing_to_check() {
        assert!(commits(Path::new("/nowhere")).is_empty());
        assert!(commits(&std::env::temp_dir()).is_empty());
    }
}
