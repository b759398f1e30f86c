//! A server that looks into its files still: what ends it then. Later on `End` sees to that.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_base::{Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::end::ended;
use farcall_publishing::inspection::Giver;

/// Does the work, in which processes end as soon as their giver is gone: when a signal comes, or,
/// of a private server, when standard input ends. The signal stays for whoever looks next.
///
/// # Errors
/// Those of the work; `System` when nobody can watch.
pub fn while_wanted<T>(
    signals: &OwnedFd,
    private: bool,
    work: impl FnOnce(Giver) -> Result<T>,
) -> Result<T> {
    let (over, working) = pipe_with(PipeFlags::CLOEXEC)
        .map_err(|errno| Error::system("make a pipe", errno.into()))?;
    let wanted = Arc::new(());
    let giver = Giver { there: Some(Arc::downgrade(&wanted)), until: None };
    std::thread::scope(|scope| {
        let watch = move || {
            watch(signals, private, &over);
            drop(wanted);
        };
        let thread =
            std::thread::Builder::new().name("beginning".to_owned()).spawn_scoped(scope, watch);
        thread.map_err(|error| Error::system("start a thread", error))?;
        let outcome = work(giver);
        drop(working);
        outcome
    })
}

/// Returns when the server is to end, or when the work is `over`.
fn watch(signals: &OwnedFd, private: bool, over: &OwnedFd) {
    loop {
        let stdin = rustix::stdio::stdin();
        let mut watched =
            vec![PollFd::new(over, PollFlags::empty()), PollFd::new(signals, PollFlags::IN)];
        watched.extend(private.then(|| PollFd::new(&stdin, PollFlags::IN)));
        match poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let ready =
            |index: usize| watched.get(index).is_some_and(|entry| !entry.revents().is_empty());
        if ready(0) || ready(1) || ready(2) && ended(stdin) {
            return;
        }
    }
}
