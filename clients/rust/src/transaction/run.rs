//! A transaction at its server, as long as somebody here has it or a result of it.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_base::{Result, TransactionId};
use farcall_wire::{Reply, Request, TransactionEnd, TransactionReply, TransactionRequest};

use super::{FOR_EVER, deadline};
use crate::client::Client;
use crate::data::{Data, wrong_answer};
use crate::session::Session;

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is being written down.
    Written,
    /// The server has it.
    Begun,
    /// It was empty, or its begin failed.
    Never,
    /// It was ended, or dropped, before it began.
    Dropped,
    /// It was ended by this program.
    Ended,
}

/// What of a transaction is at the server; that ends it with this.
pub(crate) struct Run {
    pub id: TransactionId,
    session: Arc<Session>,
    phase: AtomicU8,
    is_left: AtomicBool,
    /// Whether the server has it, or may have.
    is_sent: AtomicBool,
    inputs: Mutex<Inputs>,
    /// The question how it ended, where that was asked at its begin.
    question: Mutex<Option<u64>>,
    end: Mutex<Option<TransactionEnd>>,
}

/// What its calls are called with.
#[derive(Default)]
struct Inputs {
    /// Data that was put for it.
    own: Vec<Data>,
    /// Data that the program has, too.
    _given: Vec<Data>,
}

impl Run {
    pub fn new(client: &Client, id: TransactionId) -> Run {
        Run {
            id,
            session: client.session().clone(),
            phase: AtomicU8::new(Phase::Written as u8),
            is_left: AtomicBool::new(false),
            is_sent: AtomicBool::new(false),
            question: Mutex::default(),
            inputs: Mutex::default(),
            end: Mutex::default(),
        }
    }

    pub fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Acquire);
        [Phase::Written, Phase::Begun, Phase::Dropped, Phase::Ended]
            .into_iter()
            .find(|one| *one as u8 == phase)
            .unwrap_or(Phase::Never)
    }

    /// The server has it, or will.
    pub fn begins(&self) {
        self.phase.store(Phase::Begun as u8, Ordering::Release);
    }

    /// The server does not have it.
    pub fn never(&self) {
        self.phase.store(Phase::Never as u8, Ordering::Release);
    }

    /// It will not begin.
    pub fn drops(&self) {
        if self.phase() == Phase::Written {
            self.phase.store(Phase::Dropped as u8, Ordering::Release);
        }
    }

    /// The server has it, or may have; or refused it, and nothing of it runs.
    pub fn set_sent(&self, is_sent: bool) {
        self.is_sent.store(is_sent, Ordering::Relaxed);
    }

    /// Whether calls of it may have run.
    pub fn may_have_run(&self) -> bool {
        self.is_sent.load(Ordering::Relaxed)
    }

    /// Its inputs stay as long as this: what was put for it, and what the program has, too.
    pub fn keeps(&self, own: Vec<Data>, given: Vec<Data>) {
        *lock(&self.inputs) = Inputs { own, _given: given };
    }

    /// It is not ended with this, and what was put for it stays.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        lock(&self.inputs).own.iter().for_each(Data::leave);
    }

    /// It is ended: nothing needs its inputs any more.
    pub fn ends(&self) {
        self.phase.store(Phase::Ended as u8, Ordering::Release);
        let inputs = std::mem::take(&mut *lock(&self.inputs));
        inputs.own.iter().for_each(|one| self.session.drop_data(one.id()));
    }

    /// Whether it is known to be over.
    pub fn is_over(&self) -> bool {
        lock(&self.end).is_some()
    }

    /// Waits for its end.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<TransactionEnd>> {
        if let Some(end) = &*lock(&self.end) {
            return Ok(Some(end.clone()));
        }
        let asked = lock(&self.question).take();
        let answer = match asked {
            Some(question) => self.answer(question, timeout)?,
            None => self.session.ask_for(&self.how_it_ends(), timeout, FOR_EVER)?,
        };
        let end = match answer {
            None => return Ok(None),
            Some(Reply::Transaction(TransactionReply::Over(end))) => end,
            Some(Reply::Failed(failure)) => return Err(failure.into()),
            Some(_) => return Err(wrong_answer()),
        };
        *lock(&self.end) = Some(end.clone());
        Ok(Some(end))
    }

    fn how_it_ends(&self) -> Request {
        Request::Transaction(TransactionRequest::Await(self.id))
    }

    /// Asks how it ends; the next wait has the answer.
    pub fn asks(&self) -> Result<()> {
        let question = self.session.begin_for(&self.how_it_ends(), FOR_EVER)?;
        *lock(&self.question) = Some(question);
        Ok(())
    }

    /// Nobody wants that answer any more.
    pub fn asks_no_more(&self) {
        if let Some(question) = lock(&self.question).take() {
            self.session.forget(question);
        }
    }

    fn answer(&self, question: u64, timeout: Option<Duration>) -> Result<Option<Reply>> {
        let answer = self.session.answer(question, deadline(timeout))?;
        if answer.is_none() {
            *lock(&self.question) = Some(question);
        }
        Ok(answer)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.asks_no_more();
        if self.phase() == Phase::Begun && !self.is_left.load(Ordering::Relaxed) {
            self.session.drop_transaction(self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
