//! Runs small shell scripts in a compiler's place.
#![allow(clippy::unwrap_used)]

use super::*;

fn run(script: &str, input: Option<&str>, output_bytes_max: usize, time_max: Duration) -> Result<Finished> {
    let words = ["sh", "-c", script].map(String::from);
    Run { words: &words, directory: Path::new("/"), input, output_bytes_max, time_max }.finish()
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn gives_status_output_and_messages() {
    let finished = run("cat; echo trouble >&2; exit 3", Some("text"), 100, PATIENCE).unwrap();
    assert_eq!(finished.status.code(), Some(3));
    assert_eq!(finished.output, b"text");
    assert_eq!(finished.messages, "trouble\n");
}

#[test]
fn bounds_output_and_messages() {
    // Hostile: a macro that expands to gigabytes.
    let error = run("yes | head -c 3000000", None, 1000, PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // A template error of a megabyte: the first lines stay, whole, and the rest is counted.
    let messages = run("yes message | head -c 1000000 >&2", None, 10, PATIENCE).unwrap().messages;
    assert!(messages.len() < MESSAGES_BYTES_MAX + 100);
    assert!(messages.ends_with("more bytes\n") && messages.contains("message\n…"));
}

#[test]
fn ends_what_does_not_end() {
    let begin = Instant::now();
    // A grandchild keeps the pipes open: only a kill of the whole group closes them.
    let error = run("sleep 600 & sleep 600", None, 10, Duration::from_millis(100)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // A program that ends, and leaves another behind with its pipes.
    assert!(run("sleep 600 & exit 0", None, 10, PATIENCE).unwrap().status.success());
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn survives_a_program_that_does_not_read() {
    // More than a pipe holds, and nobody there to read it.
    let input = "x".repeat(1 << 20);
    let finished = run("exec <&-; exit 0", Some(&input), 10, PATIENCE).unwrap();
    assert!(finished.status.success());
}

#[test]
fn tells_a_missing_program_from_a_missing_directory() {
    let missing = ["no-such-compiler-7".to_string()];
    let run = |words, directory| {
        Run { words, directory, input: None, output_bytes_max: 10, time_max: PATIENCE }.finish().unwrap_err()
    };
    let error = run(&missing, Path::new("/"));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.advice().unwrap().contains("install a compiler"));
    let present = ["sh".to_string()];
    assert_eq!(run(&present, Path::new("/no/such/directory")).kind(), ErrorKind::NotFound);
}
