//! `farcall ls`: what a server publishes.

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_client::Routine;
use farcall_idl::signature::signature;
use serde_json::{Value, json};

use crate::connection::ServerArguments;
use crate::output::{notice, print, print_json, table};

/// Lists routines.
#[derive(Args)]
pub struct LsArguments {
    /// Only routines whose names match: * stands for any text and ? for one character, in NAME or
    /// MODULE/NAME; may be repeated
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    server: ServerArguments,
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Prints the routines in order of their full names.
pub fn ls(arguments: &LsArguments) -> Result<()> {
    let connection = arguments.server.connect()?;
    let mut routines = connection.client.routines()?;
    let patterns = &arguments.patterns;
    routines.retain(|routine| {
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, routine.name()))
    });
    if routines.is_empty() && !patterns.is_empty() {
        let message = format!("no routine matches {}", patterns.join(" "));
        return Err(Error::new(ErrorKind::NotFound, "list routines", message)
            .fix("`farcall ls` lists all names"));
    }
    if routines.is_empty() {
        notice("this server publishes no routines that you may call");
    }
    routines.sort_by(|a, b| a.name().cmp(b.name()));
    if arguments.json {
        let list: Vec<Value> = routines.iter().map(entry).collect();
        return print_json(&Value::from(list));
    }
    let rows: Vec<_> =
        routines.iter().map(|routine| (routine.name().to_owned(), about(routine))).collect();
    print(|out| table(out, &rows))
}

/// Whether a full name, or its part behind the module, matches a pattern of `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let bare = name.split_once('/').map_or(name, |(_, bare)| bare);
    let pattern: Vec<char> = pattern.chars().collect();
    [name, bare].iter().any(|name| is_like(&pattern, &name.chars().collect::<Vec<_>>()))
}

/// Letter by letter; the last `*` may always take one letter more.
fn is_like(pattern: &[char], name: &[char]) -> bool {
    let mut star = None;
    let mut at = 0;
    let mut seen = 0;
    while seen < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((behind, from)) = star else { return false };
                star = Some((behind, from + 1));
                at = behind;
                seen = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// The first line of the description, or else how the routine is called.
fn about(routine: &Routine) -> String {
    let interface = routine.interface();
    let line = interface.doc.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| signature(interface), |line| line.trim().to_owned())
}

fn entry(routine: &Routine) -> Value {
    let interface = routine.interface();
    json!({"full_name": routine.name(), "signature": signature(interface), "doc": interface.doc})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        for (pattern, name, is_match) in [
            ("dge*", "lapack/dgesv", true),
            ("dge*", "lapack/dsyev", false),
            ("lapack/*", "lapack/dsyev", true),
            ("*sv", "lapack/dgesv", true),
            ("d?esv", "lapack/dgesv", true),
            ("*e*v", "lapack/dgesv", true),
            ("dgesv", "lapack/dgesv", true),
            ("dges", "lapack/dgesv", false),
            ("", "lapack/dgesv", false),
            ("*", "one", true),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
