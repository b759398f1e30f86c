//! Frames about transactions in `spec/vectors/wire.json`.

use farcall_base::{Error, ErrorKind, TransactionId};
use farcall_wire::*;

use crate::body::Body;
use crate::samples::{Sample, sample};
use crate::samples_data::{FIRST, SECOND};

const ID: TransactionId = TransactionId(*b"graph-of-3-calls");

fn failure() -> Failure {
    (&Error::new(ErrorKind::RoutineCrashed, "run a routine", "it was killed")).into()
}

pub fn transactions() -> Vec<Sample> {
    asked().into_iter().chain(answered()).collect()
}

fn asked() -> Vec<Sample> {
    let asked = |name, means, what| sample(name, means, 1, 0, Body::Request(what));
    let transaction = |name, means, what| asked(name, means, Request::Transaction(what));
    // An empty map: what a graph contains is not checked here.
    let begin = |keep_us| {
        TransactionRequest::Begin(Box::new(TransactionBegin { id: ID, graph: vec![0xa0], keep_us }))
    };
    let promises = vec![
        Promise { data: FIRST, kind: "data:double:2:row".into() },
        Promise { data: SECOND, kind: "data:int:1:row".into() },
    ];
    vec![
        transaction("request/begin", "run this", begin(None)),
        transaction("request/begin-kept", "and keep it for an hour", begin(Some(3_600_000_000))),
        transaction("request/await", "when is it over?", TransactionRequest::Await(ID)),
        transaction("request/transactions", "how is it?", TransactionRequest::List(vec![ID])),
        transaction(
            "request/all-transactions",
            "which do I have?",
            TransactionRequest::List(vec![]),
        ),
        transaction(
            "request/timeline",
            "when did calls run, from 10,000 on?",
            TransactionRequest::Timeline(ID, 10_000),
        ),
        transaction(
            "request/results",
            "which results were wanted?",
            TransactionRequest::Results(ID, 0),
        ),
        transaction("request/end", "enough of it", TransactionRequest::End(vec![ID])),
        asked(
            "request/promise",
            "two that will come, and stay for a minute",
            Request::Promise(promises, 60_000_000),
        ),
        asked("request/break", "it will not come", Request::Break(vec![SECOND], failure())),
    ]
}

fn row(state: TimelineState) -> TimelineRow {
    TimelineRow {
        routine: 0,
        state,
        attempts: 1,
        server: Some(0),
        ready_us: Some(0),
        opened_us: Some(20),
        begun_us: Some(300),
        ended_us: Some(1_000_000),
    }
}

fn timeline() -> Timeline {
    let waits = TimelineRow {
        attempts: 0,
        server: None,
        ready_us: None,
        opened_us: None,
        begun_us: None,
        ended_us: None,
        ..row(TimelineState::Waits)
    };
    let not_run = TimelineRow {
        routine: 1,
        state: TimelineState::NotRun,
        ended_us: Some(1_000_000),
        ..waits
    };
    Timeline {
        calls: 5,
        servers: vec!["here".into(), "tls://b:7070".into()],
        routines: vec!["lapack/dgetrf".into(), "lapack/dgetrs".into()],
        rows: vec![
            row(TimelineState::Returned),
            TimelineRow { server: Some(1), attempts: 2, ..row(TimelineState::Failed) },
            TimelineRow { ended_us: None, ..row(TimelineState::Open) },
            waits,
            not_run,
        ],
    }
}

fn answered() -> Vec<Sample> {
    let answered =
        |name, means, what| sample(name, means, 1, 0, Body::Reply(Reply::Transaction(what)));
    let failures = vec![CallFailure { call: 1, failure: failure() }];
    let runs = TransactionStatus {
        id: ID,
        is_over: false,
        calls: 5,
        returned: 1,
        failed: 0,
        age_us: 1_500_000,
        left_us: None,
        principal: "anna".into(),
        failure: None,
    };
    let over = TransactionStatus {
        id: TransactionId(*b"another-of-hers!"),
        is_over: true,
        returned: 3,
        failed: 2,
        left_us: Some(3_600_000_000),
        failure: Some(failure()),
        ..runs.clone()
    };
    let results = TransactionResults {
        results: 1,
        rows: vec![TransactionResult {
            call: 3,
            routine: "lapack/dgetrs".into(),
            parameter: "b".into(),
            data: FIRST,
        }],
    };
    let well = TransactionEnd::default();
    let ended = TransactionEnd { failed: 2, failures };
    vec![
        answered("reply/over", "all calls returned", TransactionReply::Over(well)),
        answered("reply/over-failed", "two did not", TransactionReply::Over(ended)),
        answered("reply/transactions", "two", TransactionReply::List(vec![runs, over])),
        answered("reply/timeline", "all states", TransactionReply::Timeline(Box::new(timeline()))),
        answered("reply/results", "one", TransactionReply::Results(Box::new(results))),
    ]
}
