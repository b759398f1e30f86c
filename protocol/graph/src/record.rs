//! What is written of a transaction, so that it goes on after a restart (spec/transactions.md,
//! section 5): rows of calls and values, each with all that must be known of it.

use farcall_base::{Error, ErrorKind, Result};
use minicbor::{Decode, Encode};

use crate::message::decode_whole;
use crate::state::{Call, Phase, Place, Run, Times, Value};
use crate::transaction::Transaction;
use crate::{CallNumber, DataNumber, Ended, Failure, ServerNumber};

/// What is written today.
const VERSION: u32 = 1;

/// Rows that replace those before them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct Record {
    /// How many calls the graph has.
    #[n(1)]
    pub calls: u64,
    /// How many values.
    #[n(2)]
    pub values: u64,
    /// Microseconds since the transaction began.
    #[n(3)]
    pub age_us: u64,
    #[n(4)]
    pub call_rows: Vec<CallRow>,
    #[n(5)]
    pub value_rows: Vec<ValueRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct CallRow {
    #[n(0)]
    pub call: u32,
    #[n(1)]
    pub state: State,
    #[n(2)]
    pub attempts: u32,
    #[n(3)]
    pub runs: Vec<RunRow>,
    #[n(4)]
    pub outcome: Option<Outcome>,
    #[n(5)]
    pub times: Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(crate) enum State {
    #[n(0)]
    Waiting,
    #[n(1)]
    Open,
    #[n(2)]
    Done,
    #[n(3)]
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RunRow {
    #[n(0)]
    pub server: u32,
    #[n(1)]
    pub attempt: u32,
    #[n(2)]
    pub opened_us: u64,
    #[n(3)]
    pub begun_us: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(flat)]
pub(crate) enum Outcome {
    #[n(0)]
    Returned(#[n(0)] u32),
    /// The kind's number, the message, whether the routine may have run.
    #[n(1)]
    Failed(#[n(0)] u16, #[n(1)] String, #[n(2)] bool),
    #[n(2)]
    NotRun(#[n(0)] u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct ValueRow {
    #[n(0)]
    pub data: u32,
    #[n(1)]
    pub is_at_client: bool,
    /// Servers that have it.
    #[n(2)]
    pub servers: Vec<u32>,
    /// Servers that it is on its way to.
    #[n(3)]
    pub coming: Vec<u32>,
    #[n(4)]
    pub wanted: bool,
    /// Servers where it is the program's own.
    #[n(5)]
    pub lent: Vec<u32>,
}

impl Transaction {
    /// What has changed since the last record; `None`: nothing. It must be on disk before any action
    /// is carried out that is polled afterwards: else a call could run without a trace.
    pub fn record(&mut self) -> Option<Vec<u8>> {
        let calls = std::mem::take(&mut self.changes.calls);
        let values = std::mem::take(&mut self.changes.values);
        if calls.is_empty() && values.is_empty() {
            return None;
        }
        Some(self.rows(calls.into_iter(), values.into_iter()))
    }

    /// All that is known, in place of all records before.
    pub fn record_all(&mut self) -> Vec<u8> {
        self.changes = Changes::default();
        self.rows(self.all_calls(), self.all_values())
    }

    fn rows(
        &self,
        calls: impl Iterator<Item = CallNumber>,
        values: impl Iterator<Item = DataNumber>,
    ) -> Vec<u8> {
        let record = Record {
            calls: self.graph.calls() as u64,
            values: self.graph.values() as u64,
            age_us: self.age_us(self.now),
            call_rows: calls.map(|call| CallRow::new(call, self.call(call))).collect(),
            value_rows: values.map(|data| ValueRow::new(data, self.value(data))).collect(),
        };
        minicbor::to_vec((VERSION, record)).expect("memory can be written to")
    }
}

/// What the next record has.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub calls: std::collections::BTreeSet<CallNumber>,
    pub values: std::collections::BTreeSet<DataNumber>,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// `Damaged`, or `Version` for one of another version.
    pub fn decode(bytes: &[u8]) -> Result<Record> {
        let (version, rest) = version(bytes).map_err(|error| broken(error.to_string()))?;
        if version != VERSION {
            let message = format!("its record has version {version}, this program reads {VERSION}");
            return Err(Error::new(ErrorKind::Version, "take up a transaction", message)
                .fix("take it up with the version of Farcall that began it"));
        }
        decode_whole(rest).map_err(broken)
    }

    /// Gives servers other numbers.
    pub fn renumber(&mut self, number: &impl Fn(u32) -> u32) {
        let change = |server: &mut u32| *server = number(*server);
        for row in &mut self.call_rows {
            row.runs.iter_mut().for_each(|run| change(&mut run.server));
            row.times.server.iter_mut().for_each(change);
            if let Some(Outcome::Returned(server)) = &mut row.outcome {
                change(server);
            }
        }
        for row in &mut self.value_rows {
            let all = row.servers.iter_mut().chain(&mut row.coming).chain(&mut row.lent);
            all.for_each(change);
        }
    }
}

/// The version, and the bytes of what comes after it.
fn version(bytes: &[u8]) -> std::result::Result<(u32, &[u8]), minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(bytes);
    if decoder.array()? != Some(2) {
        return Err(minicbor::decode::Error::message("a record has a version and its rows"));
    }
    let version = decoder.u32()?;
    Ok((version, &bytes[decoder.position()..]))
}

/// A record that cannot be believed.
pub(crate) fn broken(detail: impl std::fmt::Display) -> Error {
    let message = format!("its record is damaged: {detail}");
    Error::new(ErrorKind::Damaged, "take up a transaction", message)
        .fix("check the disk of the journal, delete the transaction, and submit it again")
}

impl CallRow {
    fn new(call: CallNumber, known: &Call) -> CallRow {
        let run = |run: &Run| RunRow {
            server: run.server.0,
            attempt: run.attempt,
            opened_us: run.opened_us,
            begun_us: run.begun_us,
        };
        let state = match known.phase {
            Phase::Waiting | Phase::Ready => State::Waiting,
            Phase::Open => State::Open,
            Phase::Done => State::Done,
            Phase::Failed => State::Failed,
        };
        CallRow {
            call: call.0,
            state,
            attempts: known.attempts,
            runs: known.runs.iter().map(run).collect(),
            outcome: known.outcome.as_ref().map(Outcome::new),
            times: known.times,
        }
    }
}

impl Outcome {
    fn new(ended: &Ended) -> Outcome {
        match ended {
            Ended::Returned(server) => Outcome::Returned(server.0),
            Ended::Failed(failure) => {
                Outcome::Failed(failure.kind.code(), failure.message.clone(), failure.has_run)
            }
            Ended::NotRun(call) => Outcome::NotRun(call.0),
        }
    }

    pub fn ended(self) -> Result<Ended> {
        Ok(match self {
            Outcome::Returned(server) => Ended::Returned(ServerNumber(server)),
            Outcome::NotRun(call) => Ended::NotRun(CallNumber(call)),
            Outcome::Failed(code, message, has_run) => {
                let kind = ErrorKind::from_code(code)
                    .ok_or_else(|| broken(format!("an error has the unknown kind {code}")))?;
                Ended::Failed(Failure { kind, message, has_run })
            }
        })
    }
}

impl ValueRow {
    fn new(data: DataNumber, value: &Value) -> ValueRow {
        let server = |place: &Place| match place {
            Place::Server(server) => Some(server.0),
            Place::Client => None,
        };
        ValueRow {
            data: data.0,
            is_at_client: value.places.contains(&Place::Client),
            servers: value.places.iter().filter_map(server).collect(),
            coming: value.coming.keys().map(|server| server.0).collect(),
            wanted: value.wanted,
            lent: value.lent.iter().map(|server| server.0).collect(),
        }
    }
}
