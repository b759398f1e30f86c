//! Transactions by their ids, and lists of them: at whichever server they are.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result, TransactionId};
use farcall_wire::{
    Reply, Request, Timeline, TimelineRow, TimelineState, TransactionReply, TransactionRequest,
    TransactionResult, TransactionStatus,
};

use super::{ask, check_feature};
use crate::client::{Client, ended_early};
use crate::data::wrong_answer;
use crate::session::Session;
use crate::view::ByServer;

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
            let TransactionReply::Timeline(page) = self.ask_transaction(request)? else {
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
            let TransactionReply::Results(page) = self.ask_transaction(request)? else {
                return Err(wrong_answer());
            };
            let is_last = page.rows.is_empty();
            results.extend(page.rows);
            if results.len() >= page.results as usize || is_last {
                return Ok(results);
            }
        }
    }

    /// Ends transactions of this user's at the server that was connected to, by their ids: calls
    /// that are open are cancelled, and results are deleted.
    ///
    /// # Errors
    /// As [`Client::transactions`].
    pub fn end_transactions(&self, ids: Vec<TransactionId>) -> Result<()> {
        check_feature(self.session())?;
        let request = Request::Transaction(TransactionRequest::End(ids));
        match self.session().ask(&request, None)? {
            Some(Reply::Done) => Ok(()),
            Some(Reply::Failed(failure)) => Err(failure.into()),
            Some(_) => Err(wrong_answer()),
            None => Err(ended_early()),
        }
    }

    fn ask_transaction(&self, request: TransactionRequest) -> Result<TransactionReply> {
        ask(self.session(), request).map_err(|error| error.with("server", self.address()))
    }
}

fn list(session: &Session, ids: &[TransactionId]) -> Result<Vec<TransactionStatus>> {
    match ask(session, TransactionRequest::List(ids.to_vec()))? {
        TransactionReply::List(all) => Ok(all),
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
