//! No text of an answer or a notice is obeyed by a terminal (spec/wire.md, section 11).

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{RelayTicket, RelayToken, TransactionResults};

const MARK: &str = "x\u{1b}]0;y\u{7}\u{9b}\u{202e}\u{2028}";

fn text() -> String {
    MARK.to_owned()
}

fn kept() -> KeptCall {
    KeptCall {
        id: farcall_base::CallId([0; 16]),
        routine: text(),
        state: crate::KeptState::Running,
        bytes: 0,
        left_us: 0,
        durable: false,
        principal: text(),
        note: Some(KeptNote { submitted_us: 0, arguments: text(), label: text() }),
    }
}

fn answer() -> ReportAnswer {
    let dropped = DroppedAddress { address: text(), reason: text() };
    ReportAnswer { dropped: vec![dropped], ..ReportAnswer::default() }
}

fn server() -> ServerReport {
    let offer = OfferedRoutine { name: text(), contract: [0; 32], in_jobs: false, hops: None };
    ServerReport {
        name: text(),
        addresses: vec![text()],
        host: text(),
        site: text(),
        offers: Some(vec![offer]),
        interfaces: None,
        warm: vec![text()],
        metaservers: vec![text(), text()],
        product: text(),
        ..ServerReport::default()
    }
}

fn placed() -> PlaceAnswer {
    let server = PlacedServer {
        name: text(),
        addresses: vec![text()],
        host: text(),
        note: text(),
        ..PlacedServer::default()
    };
    PlaceAnswer { servers: vec![server], metaservers: vec![text()], ..PlaceAnswer::default() }
}

fn known() -> ServerState {
    ServerState {
        name: text(),
        addresses: vec![text()],
        product: text(),
        note: text(),
        ..ServerState::default()
    }
}

fn object() -> ObjectStatus {
    ObjectStatus {
        id: farcall_base::ObjectId([0; 16]),
        principal: text(),
        name: text(),
        state: crate::ObjectState::Idle,
        calls: 0,
        waiting: 0,
        age_ns: 0,
        lease_left_ns: None,
        pid: None,
        reason: Some(text()),
    }
}

fn status() -> Status {
    let call = OpenCall {
        id: farcall_base::CallId([0; 16]),
        principal: text(),
        peer: text(),
        routine: text(),
        stage: crate::Stage::Running,
        age_ns: 0,
    };
    let job = JobStatus {
        launcher: text(),
        id: text(),
        state: text(),
        text: text(),
        hosts: vec![text()],
        ..JobStatus::default()
    };
    Status {
        product: text(),
        calls: vec![call],
        uses: vec![Use { principal: text(), routine: text(), ..Use::default() }],
        modules: vec![ModuleStatus { module: text(), ..ModuleStatus::default() }],
        objects: vec![object()],
        kept: Some(vec![kept()]),
        jobs: Some(vec![job]),
        ..Status::default()
    }
}

fn data() -> DataStatus {
    DataStatus {
        id: farcall_base::DataId([0; 16]),
        state: crate::DataState::Coming,
        kind: text(),
        extents: Vec::new(),
        bytes: 0,
        left_us: None,
        principal: text(),
        failure: None,
    }
}

fn transaction() -> TransactionStatus {
    TransactionStatus {
        id: farcall_base::TransactionId([0; 16]),
        is_over: false,
        calls: 0,
        returned: 0,
        failed: 0,
        age_us: 0,
        left_us: None,
        principal: text(),
        failure: None,
    }
}

fn timeline() -> TransactionReply {
    let servers = vec![text(), text()];
    let routines = vec![text()];
    TransactionReply::Timeline(Box::new(Timeline { servers, routines, ..Timeline::default() }))
}

fn results() -> TransactionReply {
    let data = farcall_base::DataId([0; 16]);
    let row = TransactionResult { call: 0, routine: text(), parameter: text(), data };
    TransactionReply::Results(Box::new(TransactionResults { results: 1, rows: vec![row] }))
}

/// Every text of every answer, wherever it stands: the `Debug` form of what is shown has no
/// marker in it.
#[test]
fn no_text_of_an_answer_is_obeyed() {
    let interface = InterfaceReply {
        name: text(),
        interface: Vec::new(),
        contract: [0; 32],
        is_placed: Some(true),
    };
    let report = ModuleReport { module: text(), routines: 0, warnings: text(), failure: None };
    let ticket = RelayTicket { token: RelayToken([0; 32]), addresses: vec![text()] };
    let replies = [
        (Reply::Status(Box::new(status())), 19),
        (Reply::Kept(vec![kept()]), 4),
        (Reply::Interface(interface.clone()), 1),
        (Reply::List(vec![interface]), 1),
        (Reply::Modules(vec![report]), 2),
        (Reply::Reported(answer()), 2),
        (Reply::State(Box::new(server())), 9),
        (Reply::Placed(Box::new(placed())), 5),
        (Reply::Servers(vec![known()]), 4),
        (Reply::Relay(ticket), 1),
        (Reply::Data(vec![data()]), 2),
        (Reply::Transaction(TransactionReply::List(vec![transaction()])), 1),
        (Reply::Transaction(timeline()), 3),
        (Reply::Transaction(results()), 2),
    ];
    const WRITTEN: &str = "x\\\\x1b]0;y\\\\x07\\\\x9b\\\\u{202e}\\\\u{2028}";
    for (reply, texts) in replies {
        // In the Debug form a backslash of ours is doubled, and one of a marker that stayed is
        // not.
        let shown = format!("{:?}", reply.shown());
        assert!(!shown.replace("\\\\", "").contains("\\u{"), "{shown}");
        assert_eq!(shown.matches(WRITTEN).count(), texts, "{shown}");
    }
}

#[test]
fn no_notice_is_obeyed() {
    for (given, shown) in [(f64::NAN, 0.0), (f64::INFINITY, 1.0), (-1e300, 0.0), (0.25, 0.25)] {
        assert_eq!(
            Notice::Progress(given, String::new()).shown(),
            Notice::Progress(shown, String::new())
        );
    }
    assert_eq!(
        Notice::Progress(0.5, "a\u{1b}\nb".into()).shown(),
        Notice::Progress(0.5, "a\\x1b\\nb".into())
    );
}
