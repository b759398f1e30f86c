//! Calls that a test listens to: when they begin, which takes as long as it takes, and what they
//! print.

use std::time::Duration;

use farcall_client::{CallOptions, News, PendingCall};

/// Longer than anything takes that does not hang, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Options of a call that tells when it begins.
pub fn watched() -> CallOptions {
    CallOptions { progress: true, ..CallOptions::default() }
}

/// What is told first of a watched call: the server has it.
///
/// # Panics
/// When nothing is told.
pub fn first_news(call: &mut PendingCall) -> News {
    let news = call.next_news(Some(PATIENCE)).unwrap_or_else(|error| panic!("{error}"));
    news.expect("news come in time")
}

/// Waits until a watched call was passed on to its executable.
///
/// # Panics
/// When it ends before.
pub fn until_begun(call: &mut PendingCall) {
    loop {
        match first_news(call) {
            News::Started => return,
            News::Over => panic!("it is over before it began"),
            _ => {}
        }
    }
}

/// What a call prints from now to its end, on either output.
///
/// # Panics
/// When it says nothing for long.
pub fn rest_of_output(call: &mut PendingCall) -> String {
    let mut said = Vec::new();
    loop {
        match first_news(call) {
            News::Stdout(bytes) | News::Stderr(bytes) => said.extend(bytes),
            News::Over => return String::from_utf8_lossy(&said).into_owned(),
            _ => {}
        }
    }
}

/// How many bytes of output its listener was told, and how many he was told that he missed.
///
/// # Panics
/// When a note of what was missed says it in another way.
pub fn told_and_missed(output: &str) -> (usize, usize) {
    let mut parts = output.split("\n[farcall: ");
    let mut told = parts.next().expect("there is always one").len();
    let mut missed = 0;
    for part in parts {
        let (note, rest) = part.split_once("]\n").expect("a note is a line");
        let number = note.split(' ').next().and_then(|number| number.parse::<usize>().ok());
        missed += number.expect("a note begins with a number");
        told += rest.len();
    }
    (told, missed)
}
