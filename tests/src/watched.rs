//! Calls whose beginning a test waits for: how long one takes to begin is nobody's promise.

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
