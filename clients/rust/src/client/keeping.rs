//! Calls that go on without the program that made them, at whichever server they are.

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_wire::{KeptCall, RESUME, Reply, Request};

use super::{CallOptions, Client, Keep, ended_early};
use crate::pending::PendingCall;
use crate::view::Unanswered;

impl Client {
    /// Names a call that is to be kept, and says how.
    pub(crate) fn keep(&self, keep: Keep) -> Result<(CallId, Option<farcall_wire::Keep>)> {
        self.check_keeps("keep a call")?;
        let after_end_us = u64::try_from(keep.after_end.as_micros()).unwrap_or(u64::MAX);
        Ok((
            self.session().fresh_id(),
            Some(farcall_wire::Keep { after_end_us, durable: keep.durable }),
        ))
    }

    fn check_keeps(&self, operation: &'static str) -> Result<()> {
        if self.session().has_feature(RESUME) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, operation, "this server does not keep calls")
            .with("server", self.address())
            .fix("start a newer version of Farcall"))
    }

    /// Takes up a call that was made with [`CallOptions::keep`], by this process or another of the
    /// same user: its outcome is collected as that of any call, as often as it is kept. It stays
    /// with the server until its time has passed, or
    /// [`Client::forget`]. Of the options, `keep` means nothing; `timeout` is for waiting.
    ///
    /// # Errors
    /// `NotFound` for a call that was never accepted, is forgotten, or another user's; `TimedOut`.
    pub fn fetch(&self, id: CallId, options: &CallOptions) -> Result<PendingCall> {
        self.check_keeps("fetch a call")?;
        let patience = self.session().patience();
        let session = self.session().clone();
        match PendingCall::seek(self.clone(), session, id, options, patience) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.fetch_elsewhere(id, options, error.with("server", self.address()))
            }
            sought => sought.map_err(|error| error.with("server", self.address())),
        }
    }

    /// Has the server forget a kept call: a call that is open ends as if cancelled.
    ///
    /// # Errors
    /// As for [`Client::fetch`].
    pub fn forget_call(&self, id: CallId) -> Result<()> {
        self.check_keeps("forget a call")?;
        match self.session().ask(&Request::Forget(id), None)? {
            Some(Reply::Done) => Ok(()),
            Some(Reply::Failed(failure)) => {
                let error = Error::from(failure).with("server", self.address());
                match error.kind() {
                    ErrorKind::NotFound => self.forget_elsewhere(id, error),
                    _ => Err(error),
                }
            }
            Some(_) => Err(Error::new(
                ErrorKind::Protocol,
                "forget a call",
                "the server sent the wrong kind of answer",
            )),
            None => Err(ended_early()),
        }
    }

    /// This user's calls that the server keeps, or will: those that are forgotten next first, at
    /// most 1000; and those of the servers that it knows, behind them.
    ///
    /// # Errors
    /// `Unavailable`, `TimedOut`, `ConnectionLost`.
    pub fn kept(&self) -> Result<Vec<KeptCall>> {
        self.kept_by_all().map(|(calls, _)| calls)
    }

    /// The same, and the servers that did not answer.
    ///
    /// # Errors
    /// As [`Client::kept`].
    pub fn kept_by_all(&self) -> Result<(Vec<KeptCall>, Vec<Unanswered>)> {
        let mut calls = self.kept_here()?;
        let (others, unanswered) = self.kept_elsewhere()?;
        calls.extend(others);
        Ok((calls, unanswered))
    }

    fn kept_here(&self) -> Result<Vec<KeptCall>> {
        self.check_keeps("list kept calls")?;
        match self.session().ask(&Request::Kept, None)? {
            Some(Reply::Kept(calls)) => Ok(calls),
            Some(Reply::Failed(failure)) => {
                Err(Error::from(failure).with("server", self.address()))
            }
            Some(_) => Err(Error::new(
                ErrorKind::Protocol,
                "list kept calls",
                "the server sent the wrong kind of answer",
            )),
            None => Err(ended_early()),
        }
    }
}
