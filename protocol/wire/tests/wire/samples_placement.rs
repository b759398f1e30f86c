//! Frames about placement in `spec/vectors/wire.json`.

use farcall_wire::*;

use crate::body::Body;
use crate::samples::{Sample, sample};

pub fn placement() -> Vec<Sample> {
    let asked = |what: Request| Body::Request(what);
    let told = |what: Reply| Body::Reply(what);
    let state = StateQuestion { known: Some(7), wanted: vec![[0xc0; 32]], asker: None };
    let refused = DroppedAddress {
        address: "tls://other:7070".into(),
        reason: "the certificate does not name this host".into(),
    };
    let answer =
        ReportAnswer { wants_offers: true, wanted: vec![[0xc0; 32]], dropped: vec![refused] };
    let placed = PlacedServer {
        name: "tls://b:7070".into(),
        addresses: vec!["tls://b:7070".into()],
        run_s: 2.5,
        calls: 1,
        ..PlacedServer::default()
    };
    let grant = PlaceAnswer {
        grant: 1 << 40,
        valid_us: 500_000,
        servers: vec![placed],
        ..PlaceAnswer::default()
    };
    let known = ServerState { name: "tls://b:7070".into(), processors: 8, ..Default::default() };
    let token = RelayToken([0x70; 32]);
    let ticket = RelayTicket { token, addresses: vec!["tls://meta:7070".into()] };
    vec![
        sample("request/report", "so I am", 1, 0, asked(Request::Report(Box::new(report())))),
        sample("request/state", "how are you?", 1, 0, asked(Request::State(state))),
        sample("request/place", "where?", 1, 0, asked(Request::Place(Box::new(question())))),
        sample("request/outcomes", "it ran", 1, 0, asked(Request::Outcomes(vec![outcome()]))),
        sample(
            "request/servers",
            "who is there?",
            1,
            0,
            asked(Request::Servers("laptop".into(), "home".into())),
        ),
        sample("reply/reported", "tell me more", 1, 0, told(Reply::Reported(answer))),
        sample("reply/state", "so I am", 1, 0, told(Reply::State(Box::new(report())))),
        sample("reply/placed", "there", 1, 0, told(Reply::Placed(Box::new(grant)))),
        sample("reply/servers", "one", 1, 0, told(Reply::Servers(vec![known]))),
        sample("request/relay", "lead me", 1, 0, asked(Request::Relay("tls://b".into()))),
        sample("request/dial-back", "which streams?", 1, 0, asked(Request::DialBack)),
        sample("reply/relay", "come in", 1, 0, told(Reply::Relay(ticket))),
        sample("reply/dial-back", "this one", 1, 0, told(Reply::DialBack(vec![token]))),
    ]
}

fn report() -> ServerReport {
    ServerReport {
        name: "tls://b:7070".into(),
        addresses: vec!["tls://b:7070".into()],
        host: "b".into(),
        site: "east".into(),
        instance: *b"0123456789abcdef",
        processors: 8,
        busy: 2.0,
        offers: Some(vec![OfferedRoutine {
            name: "lapack/dgesv".into(),
            contract: [0xc0; 32],
            in_jobs: false,
            hops: None,
        }]),
        runs: vec![RanCall {
            routine: [0xc0; 32],
            sizes: 1,
            amount: 1e9,
            threads: 2,
            seconds: 0.5,
            waited_s: 0.0,
            grant: Some(1 << 40),
        }],
        ..ServerReport::default()
    }
}

fn question() -> PlaceQuestion {
    PlaceQuestion {
        name: "lapack/dgesv".into(),
        contract: [0xc0; 32],
        amount: 1e9,
        processors: 1,
        bytes_in: 8e6,
        calls: 1,
        outcomes: vec![outcome()],
        ..PlaceQuestion::default()
    }
}

fn outcome() -> CallOutcome {
    CallOutcome {
        grant: 1 << 40,
        server: "tls://b:7070".into(),
        sent: Some(MeasuredTransfer { bytes: 8e6, seconds: 0.25 }),
        host: "laptop".into(),
        ..CallOutcome::default()
    }
}
