//! What a routine prints, printed here while its call goes on.

use std::time::Duration;

use farcall_client::{News, Outputs, PendingCall, print_output};

/// Waits for the end of a call, and prints what its routine prints.
pub fn printing(mut pending: PendingCall) -> farcall_client::Result<Outputs> {
    while pass_on(&mut pending, None)? {}
    pending.wait()
}

/// Prints what a routine printed within the time; whether there may be more.
pub fn pass_on(pending: &mut PendingCall, wait: Option<Duration>) -> farcall_client::Result<bool> {
    match pending.next_news(wait)? {
        Some(News::Stdout(bytes)) => print_output(&mut std::io::stdout(), &bytes),
        Some(News::Stderr(bytes)) => print_output(&mut std::io::stderr(), &bytes),
        Some(News::Over) | None => return Ok(false),
        Some(_) => {}
    }
    Ok(true)
}
