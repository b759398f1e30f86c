//! Runs the scripts in `tests/golden` and compares what they say; FARCALL_REWRITE=1 writes it anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::conversation::Conversation;

/// The script with what each of its commands says below it. Commands begin with `> `; other lines but comments and
/// empty ones are output, and made anew.
fn run(script: &str) -> String {
    let mut text = String::new();
    let mut conversation = Conversation::default();
    for line in script.lines() {
        match line.strip_prefix("> ") {
            Some(command) => {
                writeln!(text, "{line}").unwrap();
                conversation.obey(command);
                for said in conversation.said.drain(..) {
                    writeln!(text, "  {said}").unwrap();
                }
            }
            None if line.starts_with("  ") => {}
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    text
}

fn check(path: &Path) {
    let kept = std::fs::read_to_string(path).unwrap();
    let now = run(&kept);
    if std::env::var_os("FARCALL_REWRITE").is_some() {
        std::fs::write(path, &now).unwrap();
    } else if now != kept {
        let line = now.lines().zip(kept.lines()).position(|(now, kept)| now != kept).unwrap_or(0);
        let show = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
        panic!("{path:?}, line {}:\n  now:  {}\n  kept: {}", line + 1, show(&now), show(&kept));
    }
}

#[test]
fn scripts_say_what_they_said() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    assert!(scripts.len() >= 10, "the scripts are gone");
    scripts.iter().for_each(|path| check(path));
}
