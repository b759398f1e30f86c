//! Reports of servers and questions of clients, as anybody who is connected may send them: a metaserver
//! takes each in turn and stays within its bounds.
#![no_main]

use std::time::Duration;

use farcall_base::{ConnectionId, Instant};
use farcall_link::hosts::CertifiedHosts;
use farcall_metaserver::Settings;
use farcall_metaserver::state::{QuestionNumber, State};
use farcall_services::directory::Visible;
use farcall_services::placement::{Asker, Request};
use farcall_wire::message::decode;
use libfuzzer_sys::fuzz_target;

fn asker(connection: u64) -> Asker {
    Asker {
        connection: ConnectionId(connection),
        principal: "server:b".to_owned(),
        visible: Visible::All,
        is_own_user: connection % 2 == 0,
        hosts: CertifiedHosts::new(&["b".to_owned()]),
    }
}

/// A request in its own encoding, of a kind that the first byte says.
fn request(bytes: &[u8]) -> Option<Request> {
    let (kind, bytes) = bytes.split_first()?;
    match kind % 4 {
        0 => Some(Request::Report(decode("report", bytes).ok()?)),
        1 => Some(Request::Place(decode("question", bytes).ok()?)),
        2 => Some(Request::Outcomes(decode("outcomes", bytes).ok()?)),
        _ => Some(Request::Servers {
            host: String::from_utf8_lossy(bytes).into_owned(),
            site: String::new(),
        }),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings { members_max: 4, grants_max: 16, ..Settings::default() };
    let mut state = State::new(settings, 1);
    let mut now = Instant(1);
    state.handle_own(now, Ok(Default::default()));
    // Requests stand behind one another, each after a byte.
    for (number, part) in (0..).zip(bytes.split(|byte| *byte == 0xff)) {
        now = now + Duration::from_millis(300);
        if let Some(request) = request(part) {
            state.handle_asked(now, QuestionNumber(number), asker(number % 3), request);
        }
        state.tick(now);
        while state.poll_action().is_some() {}
    }
});
