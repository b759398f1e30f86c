//! Memory that is taken back while a call works on it.

use std::os::fd::AsFd;

use farcall_base::{CallId, ErrorKind};
use farcall_tests::{Raw, Transport, eventually};
use farcall_wire::message::decode;
use farcall_wire::{Argument, FrameKind, Open, Reply, Request};

use crate::{SEALS, interface, long, memory, open, says, serves, share, start};

/// A client with 1000 numbers in segment 1, and a call on channel 1 that holds them for so long.
fn holding(server: &farcall_tests::Server, milliseconds: i32) -> Raw {
    let mut raw = Raw::greeted(server);
    let reply = interface(&mut raw, "hold");
    raw.send_with(&share(1, 8192), memory(8192, SEALS).as_fd());
    let array = Argument::Shared(1, 0, 8000);
    let arguments = vec![long(1000), array.clone(), Argument::Inline(milliseconds.to_ne_bytes().as_slice().into())];
    let wanted = Some(vec![Argument::Absent, array, Argument::Absent]);
    raw.message(FrameKind::Open, 1, &Open { wanted, ..open(&reply, arguments) });
    raw
}

#[test]
fn memory_is_taken_back_when_its_call_is_over_and_not_before() {
    let server = start(Transport::Unix);
    let unshare = Raw::encoded(FrameKind::Unshare, 0, &1_u32);
    let mut raw = holding(&server, 0);
    raw.expect(FrameKind::Result);
    raw.send(&unshare);
    raw.send_with(&share(1, 4096), memory(4096, SEALS).as_fd());
    interface(&mut raw, "touch");
    // At once, before the call has reached an executable, and in the middle of its run.
    for pause_ms in [0, 300] {
        let mut raw = holding(&server, 20_000);
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        raw.send(&unshare);
        says(&mut raw, ErrorKind::Protocol, &["open call", "segment: 1"]);
        // Nobody wants its outcome: it does not run on.
        assert!(eventually(|| server.children().len() <= 1), "{:?}", server.children());
        serves(&server);
    }
}

/// Connections inside calls are for the executables that run them.
#[test]
fn a_client_cannot_hand_the_server_a_connection() {
    let server = start(Transport::Unix);
    let mut raw = Raw::greeted(&server);
    let (_own, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let before = server.descriptors();
    raw.send_with(&Raw::encoded(FrameKind::Request, 1, &Request::Nest(CallId([7; 16]))), other.as_fd());
    let Reply::Failed(failure) = decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() else {
        panic!("it was taken")
    };
    let error = farcall_base::Error::from(failure);
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    drop(raw);
    assert!(eventually(|| server.descriptors() < before), "{} after {before}", server.descriptors());
    serves(&server);
}
