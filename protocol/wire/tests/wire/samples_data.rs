//! Frames about data in `spec/vectors/wire.json`.

use std::time::Duration;

use farcall_base::{DataId, Error, ErrorKind};
use farcall_wire::*;

use crate::body::Body;
use crate::samples::{Sample, open, sample};

pub const FIRST: DataId = DataId(*b"data-of-the-call");
pub const SECOND: DataId = DataId(*b"what-stays-there");

pub fn stays() -> Vec<Sample> {
    let there = DataStatus {
        id: FIRST,
        state: DataState::There,
        kind: "data:double:2:row".into(),
        extents: vec![100, 50],
        bytes: 40_000,
        left_us: Some(60_000_000),
        principal: "anna".into(),
        failure: None,
    };
    let error = Error::new(ErrorKind::RoutineCrashed, "run a routine", "it was killed");
    let lost = DataStatus {
        id: SECOND,
        state: DataState::Failed,
        extents: vec![],
        left_us: None,
        failure: Some((&error).into()),
        ..there.clone()
    };
    let makes = Open {
        arguments: vec![Argument::Data(FIRST), Argument::Absent],
        wanted: Some(vec![Argument::Absent, Argument::Data(SECOND)]),
        attributes: Some(vec![lease_attribute(Duration::from_secs(60))]),
        ..open()
    };
    let key = TicketKey([0xce; 32]);
    let ticket = key.ticket(FIRST, "b.example", 1_800_000_000_000_000);
    let keyed = Open { attributes: Some(vec![key.attribute()]), ..makes.clone() };
    let shown = Resume {
        describe: Some(true),
        attributes: Some(vec![ticket.attribute()]),
        ..Resume::new(FIRST.as_call())
    };
    let pull = PullRequest {
        data: SECOND,
        source: FIRST,
        addresses: vec!["tls://a.example:7000".into()],
        ticket,
        bytes_max: 40_000,
        key: Some([0xcf; 32]),
    };
    let asked = |what: Request| Body::Request(what);
    vec![
        sample("open/data", "from data, to data", 1, 0, Body::Open(makes)),
        sample("open/ticket-key", "data that others may pull", 1, 0, Body::Open(keyed)),
        sample("resume/ticket", "what a ticket is for", 1, 0, Body::Resume(shown)),
        sample("request/pull", "have this sent", 1, 0, asked(Request::Pull(Box::new(pull)))),
        sample("request/data", "how is this?", 1, 0, asked(Request::Data(vec![FIRST]))),
        sample("request/all-data", "which do I have?", 1, 0, asked(Request::Data(vec![]))),
        sample("request/delete-data", "away", 1, 0, asked(Request::DeleteData(vec![SECOND]))),
        sample("reply/data", "two", 1, 0, Body::Reply(Reply::Data(vec![there, lost]))),
    ]
}
