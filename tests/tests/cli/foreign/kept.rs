//! What the server says of data and transactions.

use farcall_base::{DataId, ErrorKind, TransactionId};
use farcall_wire::{
    CallFailure, DataState, DataStatus, Reply, Timeline, TimelineRow, TimelineState,
    TransactionEnd, TransactionReply, TransactionRequest, TransactionResult, TransactionResults,
    TransactionStatus,
};

use super::{MOST, failure, marked};

const MANY: u32 = u32::MAX;

/// Data, of a type that is unknown and of one that is known.
pub fn data() -> Vec<DataStatus> {
    let one = DataStatus {
        id: DataId([7; 16]),
        state: DataState::Failed,
        kind: marked("data:double:2:row\n"),
        extents: vec![u64::MAX],
        bytes: u64::MAX,
        left_us: Some(u64::MAX),
        principal: marked("anna\n"),
        failure: Some(failure(ErrorKind::RoutineFailed)),
    };
    let known = DataStatus { kind: "data:double:2:row".to_owned(), ..one.clone() };
    vec![one, known]
}

fn status() -> TransactionStatus {
    TransactionStatus {
        id: TransactionId([7; 16]),
        is_over: true,
        calls: MANY,
        returned: MANY,
        failed: MANY,
        age_us: MOST,
        left_us: Some(MOST),
        principal: marked("anna\n"),
        failure: Some(failure(ErrorKind::RoutineFailed)),
    }
}

fn timeline() -> Timeline {
    let row = TimelineRow {
        routine: 0,
        state: TimelineState::NotRun,
        attempts: MANY,
        server: Some(0),
        ready_us: Some(MOST),
        opened_us: Some(MOST),
        begun_us: None,
        ended_us: Some(0),
    };
    Timeline {
        calls: 2,
        servers: vec![marked("tls://b:1\n")],
        routines: vec![marked("peer/routine\n")],
        rows: vec![row, TimelineRow { server: None, ..row }],
    }
}

/// The answer to what is asked about transactions.
pub fn answer(request: &TransactionRequest) -> Reply {
    let result = TransactionResult {
        call: MANY,
        routine: marked("peer/routine\n"),
        parameter: marked("x\n"),
        data: DataId([7; 16]),
    };
    let results = TransactionResults { results: 1, rows: vec![result] };
    let lost = CallFailure { call: MANY, failure: failure(ErrorKind::RoutineFailed) };
    Reply::Transaction(match request {
        TransactionRequest::Begin(_) | TransactionRequest::End(_) => return Reply::Done,
        TransactionRequest::Await(_) => {
            TransactionReply::Over(TransactionEnd { failed: MANY, failures: vec![lost] })
        }
        TransactionRequest::List(_) => TransactionReply::List(vec![status()]),
        TransactionRequest::Timeline(..) => TransactionReply::Timeline(Box::new(timeline())),
        TransactionRequest::Results(..) => TransactionReply::Results(Box::new(results)),
    })
}
