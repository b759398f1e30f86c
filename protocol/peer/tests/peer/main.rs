//! Golden conversations of the caller: greeting, calls, callbacks, kept calls, resume and recovery,
//! heartbeat.
#![allow(clippy::unwrap_used)]

mod conversation;
mod program;
mod server;

#[test]
fn conversations_say_what_they_said() {
    farcall_golden::play_all::<conversation::Conversation>(env!("CARGO_MANIFEST_DIR"), 7);
}
