//! Calls that go on without the program that made them, at whichever server they are.

use std::sync::Arc;
use std::time::Instant;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_wire::{KeptCall, RESUME, Reply, Request};

use super::{CallOptions, Client, Keep, ended_early};
use crate::pending::PendingCall;
use crate::session::Session;
use crate::view::{ByServer, Server, Unanswered, hinting};

impl Client {
    /// Names a call that is to be kept, and says how.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep(&self, keep: Keep) -> Result<(CallId, Option<farcall_wire::Keep>)> {
        self.check_keeps("keep a call")?;
        let after_end_us = u64::try_from(keep.after_end.as_micros()).unwrap_or(u64::MAX);
        Ok((
            hinting(self.session().fresh_id(), None),
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
        let begun = Instant::now();
        let at_hint = |server: &Arc<Server>, session| {
            PendingCall::seek(self.clone(), (server, session), id, options, patience)
        };
        let wait = options.timeout.map_or(patience, |timeout| timeout.min(patience));
        if let Some(call) = self.at_hint(id, wait, at_hint)? {
            return Ok(call);
        }
        let took = begun.elapsed();
        let patience = patience.saturating_sub(took);
        let timeout = options.timeout.map(|timeout| timeout.saturating_sub(took));
        let options = &CallOptions { timeout, ..options.clone() };
        let home = (self.view().home(), self.session().clone());
        match PendingCall::seek(self.clone(), home, id, options, patience) {
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
        let patience = self.session().patience();
        if self.at_hint(id, patience, |_, session| forget_at(&session, id))?.is_some() {
            return Ok(());
        }
        match forget_at(self.session(), id) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.forget_elsewhere(id, error.with("server", self.address()))
            }
            done => done.map_err(|error| error.with("server", self.address())),
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
        let ByServer { answers, unanswered } = self.kept_by_server()?;
        Ok((answers.into_iter().flat_map(|(_, calls)| calls).collect(), unanswered))
    }

    /// The same by the server that keeps them, the one that was connected to first.
    ///
    /// # Errors
    /// As [`Client::kept`].
    pub fn kept_by_server(&self) -> Result<ByServer<Vec<KeptCall>>> {
        self.check_keeps("list kept calls")?;
        self.of_each(self.session().patience(), |session| {
            match session.ask(&Request::Kept, None)? {
                Some(Reply::Kept(calls)) => Ok(calls),
                Some(Reply::Failed(failure)) => Err(failure.into()),
                Some(_) => Err(wrong_answer("list kept calls")),
                None => Err(ended_early()),
            }
        })
    }
}

/// Has this server forget a kept call.
pub(crate) fn forget_at(session: &Session, id: CallId) -> Result<()> {
    match session.ask(&Request::Forget(id), None)? {
        Some(Reply::Done) => Ok(()),
        Some(Reply::Failed(failure)) => Err(failure.into()),
        Some(_) => Err(wrong_answer("forget a call")),
        None => Err(ended_early()),
    }
}

fn wrong_answer(operation: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, operation, "the server sent the wrong kind of answer")
}
