//! How a transaction begins: its arrays are put, its message is sent right behind them, and then
//! the answers are waited for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_wire::{Failure, Reply, Request, TransactionBegin, TransactionRequest};
use rustc_hash::FxHashMap;

use super::inputs::CopiedArray;
use super::recording::{Recording, Wanted};
use super::{Run, State, Transaction, deadline};
use crate::array::Array;
use crate::client::{CallOptions, Client, ended_early};
use crate::contract::Contract;
use crate::data::{Data, wrong_answer};
use crate::pending::PendingCall;

/// Arrays whose arrival was not confirmed yet, at most: each has a channel of the connection.
const UNCONFIRMED_MAX: usize = 256;
/// What a message has around the graph.
const ENVELOPE_BYTES: usize = 128;

/// How a transaction begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin {
    /// For how long the transaction and its results stay when it and the connection have ended;
    /// it goes on without this program, too. By default it ends with the connection.
    pub keep: Option<Duration>,
    /// Time until the server has accepted it and has its arrays; none by default.
    pub timeout: Option<Duration>,
}

impl Transaction {
    /// Sends it: its arrays, and behind them its calls, without waiting in between. When this
    /// returns, the server has both, and the calls run. An empty transaction sends nothing.
    ///
    /// # Errors
    /// What is wrong with it, in which case nothing has run: `InvalidArgument`, `NotFound`,
    /// `InterfaceChanged`, `LimitExceeded`. `TimedOut`, `ConnectionLost`.
    pub fn begin(&self, how: &Begin) -> Result<()> {
        self.begin_together(how, None)
    }

    /// The same, with `behind` done when all is sent, and before the server's answer is waited for:
    /// what that fetches, and how the transaction ends, comes without another round trip. The
    /// results must have been named before ([`Transaction::result`]).
    ///
    /// # Errors
    /// As [`Transaction::begin`].
    pub fn begin_and<T>(&self, how: &Begin, behind: impl FnOnce() -> T) -> Result<Option<T>> {
        let mut behind = Some(behind);
        let mut done = None;
        self.begin_together(how, Some(&mut || done = behind.take().map(|behind| behind())))?;
        Ok(done)
    }

    /// Whether calls of it may have run, also if its begin failed. They have not if it was refused,
    /// or not sent.
    pub fn may_have_run(&self) -> bool {
        self.run.may_have_run()
    }

    fn begin_together(&self, how: &Begin, behind: Behind<'_>) -> Result<()> {
        let mut state = self.lock();
        let State::Written(recording) = &mut *state else {
            return Err(state.unusable("begin a transaction"));
        };
        match self.begin_written(recording, how, behind) {
            Ok(wanted) => {
                *state = State::Begun(wanted);
                Ok(())
            }
            Err(error) => {
                *state = State::Refused(error.to_string());
                Err(error)
            }
        }
    }

    fn begin_written(
        &self,
        recording: &mut Recording,
        how: &Begin,
        behind: Behind<'_>,
    ) -> Result<Wanted> {
        if recording.is_empty() {
            self.run.never();
            return Ok(Wanted::default());
        }
        let beginning = Beginning {
            client: &self.client,
            run: &self.run,
            keep: how.keep,
            until: deadline(how.timeout),
            is_limited: how.timeout.is_some(),
            contracts: FxHashMap::default(),
        };
        let begun = beginning.begin(recording, behind);
        if let Err(error) = &begun {
            if error.kind() == ErrorKind::InterfaceChanged {
                recording.contracts().iter().for_each(|contract| self.client.forget(contract));
            }
            self.run.asks_no_more();
            self.run.never();
        }
        begun
    }
}

/// What is done when a transaction was sent.
type Behind<'b> = Option<&'b mut dyn FnMut()>;

/// A transaction that is being sent.
struct Beginning<'a> {
    client: &'a Client,
    run: &'a Arc<Run>,
    keep: Option<Duration>,
    until: Option<Instant>,
    is_limited: bool,
    /// Of the routines that take arrays of these kinds.
    contracts: FxHashMap<DataKind, Arc<Contract>>,
}

impl Beginning<'_> {
    fn begin(mut self, recording: &mut Recording, behind: Behind<'_>) -> Result<Wanted> {
        if self.keep.is_some() && self.client.has_list() {
            return Err(ends_with_program());
        }
        let (message, wanted) = recording.finish();
        let graph = message.encode();
        drop(message);
        let session = self.client.session().clone();
        let limit = session.control_bytes_max();
        if graph.len() + ENVELOPE_BYTES > limit {
            let message = "the transaction is too long for one message";
            return Err(Error::new(ErrorKind::LimitExceeded, "begin a transaction", message)
                .with("message", Bytes(graph.len() as u64))
                .with("limit", Bytes(limit as u64))
                .fix(
                    "divide the work into several transactions, or raise control_bytes_max of the \
                     server",
                ));
        }
        let (arrays, given) = recording.inputs.take();
        let mut own = Vec::new();
        let mut puts = VecDeque::new();
        for array in arrays {
            if puts.len() >= UNCONFIRMED_MAX {
                self.confirm(puts.pop_front())?;
            }
            let (data, put) = self.put(array)?;
            own.push(data);
            puts.push_back(put);
        }
        let keep_us = self.keep.map(|keep| u64::try_from(keep.as_micros()).unwrap_or(u64::MAX));
        let begin = TransactionBegin { id: self.run.id, graph, keep_us };
        let request = Request::Transaction(TransactionRequest::Begin(Box::new(begin)));
        let question = session.begin(&request)?;
        self.run.set_sent(true);
        let begun = self.follow(behind).and_then(|()| self.answer(question, puts));
        if let Err(error) = begun {
            // It may run, or be about to.
            session.forget(question);
            session.drop_transaction(self.run.id);
            return Err(error);
        }
        self.run.keeps(own, given);
        self.run.begins();
        if self.keep.is_some() {
            self.run.leave();
        }
        Ok(wanted)
    }

    /// What follows without waiting.
    fn follow(&self, behind: Behind<'_>) -> Result<()> {
        let Some(behind) = behind else { return Ok(()) };
        // What is fetched is asked for behind the transaction: it is there by then.
        self.run.begins();
        behind();
        self.run.asks()
    }

    /// Sends an array, which is an input from then on.
    fn put(&mut self, array: CopiedArray) -> Result<(Data, PendingCall)> {
        let CopiedArray { id, kind, extents, bytes } = array;
        let contract = self.contracts.entry(kind);
        let contract =
            contract.or_insert_with(|| Arc::new(Contract::local(kind.interface()))).clone();
        let data = Data::named(self.client, id, kind);
        let array = Array::of_shared_bytes(bytes, kind.element, &extents, kind.order);
        data.has_extents(extents);
        let options =
            CallOptions { timeout: self.left(), lease: self.keep, ..CallOptions::default() };
        let put = PendingCall::put(&data, &contract, array.into(), &options)?;
        Ok((data, put))
    }

    /// What is left of the time.
    fn left(&self) -> Option<Duration> {
        let until = self.until?;
        // Nothing is no limit.
        Some(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)))
    }

    /// Waits until the server has an array.
    fn confirm(&self, put: Option<PendingCall>) -> Result<()> {
        let told = |error: Error| error.with("transaction", self.run.id);
        match put {
            Some(put) => put.wait().map(drop).map_err(told),
            None => Ok(()),
        }
    }

    /// Whether the server has the transaction, though it says that it does not take it: the connection
    /// was lost before the first answer came, and it was asked again.
    fn runs(&self, failure: &Failure) -> bool {
        let may_be_known = failure.kind == ErrorKind::InvalidArgument.code();
        let is_known = || self.client.transactions_of(&[self.run.id]);
        may_be_known && is_known().is_ok_and(|found| !found.is_empty())
    }

    /// Waits until the server has accepted the transaction, and has its arrays.
    fn answer(&self, question: u64, puts: VecDeque<PendingCall>) -> Result<()> {
        match self.client.session().answer(question, self.until)? {
            Some(Reply::Done) => {}
            Some(Reply::Failed(failure)) if self.runs(&failure) => {}
            Some(Reply::Failed(failure)) => {
                self.run.set_sent(false);
                // An array that the server did not take says more than its lack.
                for mut put in puts {
                    put.poll()?;
                }
                return Err(failure.into());
            }
            Some(_) => return Err(wrong_answer()),
            None if self.is_limited => {
                let message = "the server has not accepted the transaction in time";
                return Err(Error::new(ErrorKind::TimedOut, "begin a transaction", message)
                    .fix("raise the time limit"));
            }
            None => return Err(ended_early()),
        }
        puts.into_iter().try_for_each(|put| self.confirm(Some(put)))
    }
}

fn ends_with_program() -> Error {
    let message = "the server of a list ends with the program, and cannot keep a transaction";
    Error::new(ErrorKind::InvalidArgument, "begin a transaction", message)
        .fix("begin it by a connection to one server of the list")
}
