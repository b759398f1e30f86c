//! Transactions by their ids, and lists of them: at whichever server they are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result, TransactionId};
use farcall_wire::{
    Reply, Timeline, TimelineRow, TimelineState, TransactionReply, TransactionRequest,
    TransactionResult, TransactionStatus,
};

use super::{ask, check_feature};
use crate::client::Client;
use crate::data::wrong_answer;
use crate::session::Session;
use crate::view::ByServer;

/// Time in which a node takes a transaction up whose own node was lost, and between two questions.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(30);
const ASKED_AGAIN: Duration = Duration::from_millis(200);

/// When and where one call of a transaction ran. Times count from the transaction's begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedCall {
    /// In full.
    pub routine: Arc<str>,
    /// How far it is.
    pub state: TimelineState,
    /// How often it was opened.
    pub attempts: u32,
    /// Where it was opened last, or has returned.
    pub server: Option<Arc<str>>,
    /// When all that it uses was there, or was being made.
    pub ready: Option<Duration>,
    /// When it was opened.
    pub opened: Option<Duration>,
    /// When its routine began.
    pub begun: Option<Duration>,
    /// When it ended.
    pub ended: Option<Duration>,
}

impl Client {
    /// This user's transactions at the server, the oldest first, at most 1000; and those of the
    /// servers that it knows, behind them.
    ///
    /// # Errors
    /// `Version`, `TimedOut`, `ConnectionLost`.
    pub fn transactions(&self) -> Result<Vec<TransactionStatus>> {
        let ByServer { answers, .. } = self.transactions_by_server(&[])?;
        Ok(answers.into_iter().flat_map(|(_, all)| all).collect())
    }

    /// Of this user's transactions those of these ids, and without any ids all, at most 1000, by
    /// the server that runs them: the one that was connected to first.
    ///
    /// # Errors
    /// As [`Client::transactions`].
    pub fn transactions_by_server(
        &self,
        ids: &[TransactionId],
    ) -> Result<ByServer<Vec<TransactionStatus>>> {
        check_feature(self.session())?;
        let ids = ids.to_vec();
        self.of_each(self.session().patience(), move |session| {
            // Others may be older.
            if check_feature(&session).is_err() { Ok(Vec::new()) } else { list(&session, &ids) }
        })
    }

    /// Of these transactions those that the server that was connected to has.
    ///
    /// # Errors
    /// As [`Client::transactions`].
    pub fn transactions_of(&self, ids: &[TransactionId]) -> Result<Vec<TransactionStatus>> {
        list(self.session(), ids).map_err(|error| error.with("server", self.address()))
    }

    /// When and where the calls of a transaction ran, in their order.
    ///
    /// # Errors
    /// `NotFound`; as [`Client::transactions`].
    pub fn timeline(&self, id: TransactionId) -> Result<Vec<TimedCall>> {
        let mut calls = Vec::new();
        loop {
            let from = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            let request = TransactionRequest::Timeline(id, from);
            let Reply::Transaction(TransactionReply::Timeline(page)) =
                self.ask_transaction(&request)?
            else {
                return Err(wrong_answer());
            };
            let before = calls.len();
            read_page(&page, &mut calls)?;
            if calls.len() >= page.calls as usize || calls.len() == before {
                return Ok(calls);
            }
        }
    }

    /// The results of a transaction that were wanted, in the order of its calls.
    ///
    /// # Errors
    /// `NotFound`; as [`Client::transactions`].
    pub fn transaction_results(&self, id: TransactionId) -> Result<Vec<TransactionResult>> {
        let mut results = Vec::new();
        loop {
            let from = u32::try_from(results.len()).unwrap_or(u32::MAX);
            let request = TransactionRequest::Results(id, from);
            let Reply::Transaction(TransactionReply::Results(page)) =
                self.ask_transaction(&request)?
            else {
                return Err(wrong_answer());
            };
            let is_last = page.rows.is_empty();
            results.extend(page.rows);
            if results.len() >= page.results as usize || is_last {
                return Ok(results);
            }
        }
    }

    /// Ends transactions of this user's, by their ids, at the server that was connected to; one alone
    /// also at one that this knows. Calls that are open are cancelled, and results are deleted.
    ///
    /// # Errors
    /// `NotFound`; as [`Client::transactions`].
    pub fn end_transactions(&self, ids: Vec<TransactionId>) -> Result<()> {
        let is_one = ids.len() == 1;
        let request = TransactionRequest::End(ids);
        let answer = match is_one {
            true => self.ask_transaction(&request),
            false => ask(self.session(), request).map_err(|it| it.with("server", self.address())),
        };
        match answer? {
            Reply::Done => Ok(()),
            _ => Err(wrong_answer()),
        }
    }

    /// What the server says that runs a transaction: the one that was connected to, or one that it
    /// knows. While another node takes the transaction up, it is waited for.
    fn ask_transaction(&self, request: &TransactionRequest) -> Result<Reply> {
        let until = Instant::now() + TAKEN_UP_WITHIN;
        loop {
            let (unknown, is_somewhere) = match self.ask_each(request)? {
                Asked::Answer(answer) => return Ok(answer),
                Asked::Unknown(unknown, is_somewhere) => (unknown, is_somewhere),
            };
            if !is_somewhere || Instant::now() >= until {
                return Err(unknown);
            }
            std::thread::sleep(ASKED_AGAIN);
        }
    }

    fn ask_each(&self, request: &TransactionRequest) -> Result<Asked> {
        let unknown = match ask(self.session(), request.clone()) {
            Ok(answer) => return Ok(Asked::Answer(answer)),
            Err(error) => error.with("server", self.address()),
        };
        if unknown.kind() != ErrorKind::NotFound {
            return Err(unknown);
        }
        let request = request.clone();
        let (answer, unanswered) =
            self.one_of_others(move |_, session| ask(&session, request.clone()))?;
        if let Some(answer) = answer {
            return Ok(Asked::Answer(answer));
        }
        let mut errors = vec![unknown];
        errors.extend(unanswered.into_iter().map(|one| one.error));
        let names_a_node = |error: &Error| error.context().iter().any(|(key, _)| key == "node");
        let is_silent = |error: &Error| error.kind() != ErrorKind::NotFound;
        let is_taken_up = |error: &Error| !is_silent(error) && error.is_retryable();
        let named = errors.iter().position(names_a_node);
        let is_somewhere =
            errors.iter().any(is_taken_up) || (named.is_some() && errors.iter().any(is_silent));
        // Where it is says more than that it is not here.
        Ok(Asked::Unknown(errors.swap_remove(named.unwrap_or(0)), is_somewhere))
    }
}

/// What servers say of a transaction.
enum Asked {
    Answer(Reply),
    /// None of them has it; whether one that did not answer may, or will.
    Unknown(Error, bool),
}

fn list(session: &Session, ids: &[TransactionId]) -> Result<Vec<TransactionStatus>> {
    match ask(session, TransactionRequest::List(ids.to_vec()))? {
        Reply::Transaction(TransactionReply::List(all)) => Ok(all),
        _ => Err(wrong_answer()),
    }
}

/// Appends the calls that an answer tells of.
fn read_page(page: &Timeline, calls: &mut Vec<TimedCall>) -> Result<()> {
    let shared = |names: &[String]| names.iter().map(|one| Arc::from(one.as_str())).collect();
    let servers: Vec<Arc<str>> = shared(&page.servers);
    let routines: Vec<Arc<str>> = shared(&page.routines);
    let time = |us: Option<u64>| us.map(Duration::from_micros);
    for row in &page.rows {
        let TimelineRow { routine, state, attempts, server, .. } = *row;
        let server = server.map(|index| servers.get(index as usize).ok_or_else(wrong_answer));
        calls.push(TimedCall {
            routine: routines.get(routine as usize).ok_or_else(wrong_answer)?.clone(),
            state,
            attempts,
            server: server.transpose()?.cloned(),
            ready: time(row.ready_us),
            opened: time(row.opened_us),
            begun: time(row.begun_us),
            ended: time(row.ended_us),
        });
    }
    Ok(())
}

pub(super) fn not_found(operation: &'static str, id: TransactionId) -> Error {
    Error::new(ErrorKind::NotFound, operation, "the server has no such transaction")
        .with("transaction", id)
        .fix("it was ended, or its time has passed; `farcall transactions` lists yours")
}
