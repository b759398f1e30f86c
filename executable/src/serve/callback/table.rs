//! The calls of the client's functions that the running call has made.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use farcall_base::{ChannelId, Error, ErrorKind, Result};
use farcall_call::Connection;
use farcall_link::Link;
use farcall_wire::{CallResult, Open};

use super::Outgoing;

/// Threads of a routine for which a failure is kept; where more ask for none, the call fails for
/// one of these.
const FAILURES_MAX: usize = 4096;

/// Those that run, those that have ended, and how.
#[derive(Default)]
pub struct Callbacks {
    running: BTreeMap<ChannelId, Box<Outgoing>>,
    /// By their numbers, until the thread that made them has taken the outcome.
    over: BTreeMap<u64, Result<()>>,
    made: u64,
    /// The first of the call that failed in each thread, until that thread has heard of it.
    failures: Vec<(ThreadId, Error)>,
}

impl Callbacks {
    /// Opens a call, under its number.
    pub(super) fn open(
        &mut self,
        connection: &mut Connection,
        mut call: Outgoing,
        open: impl FnOnce(u64) -> Open,
    ) -> Result<u64> {
        self.made += 1;
        call.ticket = self.made;
        let channel = connection.open(&open(call.ticket))?;
        self.running.insert(channel, Box::new(call));
        Ok(self.made)
    }

    pub fn get_mut(&mut self, channel: ChannelId) -> Option<&mut Outgoing> {
        self.running.get_mut(&channel).map(|call| &mut **call)
    }

    /// The head of an outcome came; its arrays may follow.
    pub fn resulted(&mut self, channel: ChannelId, result: CallResult) {
        if let Some(call) = self.get_mut(channel)
            && let Err(error) = call.resulted(result)
        {
            call.receiving.clear();
            call.trouble = Some(error);
        }
    }

    /// All of it is there.
    pub fn finished(&mut self, channel: ChannelId) {
        if let Some(call) = self.running.remove(&channel) {
            self.over.insert(call.ticket, call.trouble.map_or(Ok(()), Err));
        }
    }

    pub(super) fn take_outcome(&mut self, ticket: u64) -> Option<Result<()>> {
        self.over.remove(&ticket)
    }

    /// Keeps the failure for the thread that called: others call back at the same time, and ask for
    /// theirs.
    pub(super) fn failed(&mut self, error: Error) {
        let me = std::thread::current().id();
        let failures = &mut self.failures;
        if failures.len() < FAILURES_MAX && failures.iter().all(|(thread, _)| *thread != me) {
            failures.push((me, error));
        }
    }

    /// What this thread has not heard of yet.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        let me = std::thread::current().id();
        let position = self.failures.iter().position(|(thread, _)| *thread == me)?;
        Some(self.failures.remove(position).1)
    }

    /// The routine has returned: threads that still wait for callbacks get nothing, and nothing is
    /// read or written that was theirs. What becomes of the call, if one failed and nobody asked
    /// for it.
    pub fn end(&mut self, connection: &mut Connection, link: &mut Link) -> Result<()> {
        self.over.clear();
        for channel in std::mem::take(&mut self.running).into_keys() {
            connection.cancel(channel);
            link.copy_queued()?;
        }
        match std::mem::take(&mut self.failures).into_iter().next() {
            None => Ok(()),
            Some((_, error)) => Err(unnoticed(&error)),
        }
    }
}

fn unnoticed(error: &Error) -> Error {
    let why = "the callback raised an exception and the routine did not check for it";
    let words = format!("{why}: {}", error.message());
    let failed = Error::new(ErrorKind::RoutineFailed, "run a routine", words);
    error.context().iter().fold(failed, |failed, (key, value)| failed.with(key.clone(), value))
}
