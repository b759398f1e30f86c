//! What a routine prints, printed here while its call goes on.

use std::time::Duration;

use farcall_client::{News, Outputs, PendingCall, print_output};

/// Waits for the end of a call, and prints what its routine prints.
pub fn printing(pending: &mut PendingCall) -> farcall_client::Result<Outputs> {
    while pass_on(pending, None)? != Passed::Nothing {}
    pending.wait_in_place()
}

/// What came of a running call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Nothing more for now.
    Nothing,
    /// Its routine began.
    Begin,
    /// Output, which is printed, or other news.
    Other,
}

/// Takes the next news of a call within the time, and prints what its routine printed.
pub fn pass_on(
    pending: &mut PendingCall,
    wait: Option<Duration>,
) -> farcall_client::Result<Passed> {
    match pending.next_news(wait)? {
        Some(News::Stdout(bytes)) => print_output(&mut std::io::stdout(), &bytes),
        Some(News::Stderr(bytes)) => print_output(&mut std::io::stderr(), &bytes),
        Some(News::Over) | None => return Ok(Passed::Nothing),
        Some(News::Started) => return Ok(Passed::Begin),
        Some(_) => {}
    }
    Ok(Passed::Other)
}
