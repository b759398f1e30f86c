//! Clients that stand still in the middle of a call.

use std::time::{Duration, Instant};

use farcall_base::ErrorKind;
use farcall_tests::{Directory, Raw, Server, Transport, battery, eventually, failure_of, manifest, trouble};
use farcall_wire::{Argument, FrameHeader, FrameKind};

use crate::{header, interface, long, open, serves, with_call};

/// A server that waits only so long.
fn impatient(transport: Transport, directory: &Directory) -> Server {
    let manifest = directory.write("farcall.toml", &manifest("stall_ms = 300\ngreeting_ms = 300"));
    Server::start(transport, &[battery(false), trouble(false)], &["--manifest", manifest.to_str().unwrap()])
}

fn a_client_that_stops_sending_is_told(transport: Transport) {
    let directory = Directory::new();
    let server = impatient(transport, &directory);
    let mut raw = with_call(&server, 64 << 10);
    let begun = Instant::now();
    // A part of the array comes, a little later: the time runs from there.
    std::thread::sleep(Duration::from_millis(200));
    raw.data(1, 1, 1, false, &[0; 4096]);
    let error = failure_of(&raw.expect(FrameKind::Result));
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("stopped sending") && error.is_retryable(), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
    // The connection lives: once the client has given the call up, it may make another.
    raw.send(&Raw::framed(FrameHeader { sequence: 2, ..header(FrameKind::Cancel, 1, 0) }, &[]));
    let reply = interface(&mut raw, "touch");
    raw.message(FrameKind::Open, 3, &open(&reply, vec![long(1), Argument::Inline(vec![0; 8].into())]));
    raw.expect(FrameKind::Result);
    serves(&server);
}

fn a_client_that_does_not_take_its_results_is_cut_off(transport: Transport) {
    let directory = Directory::new();
    let server = impatient(transport, &directory);
    serves(&server);
    let descriptors = server.descriptors();
    // More than all queues on the way take.
    let (frames, bytes) = (16, 4_usize << 20);
    let mut raw = with_call(&server, (frames * bytes) as u64);
    raw.expect(FrameKind::Window);
    let frame = vec![0; bytes];
    (1..=frames).for_each(|number| raw.data(1, 1, number as u32, number == frames, &frame));
    assert!(eventually(|| server.descriptors() > descriptors), "it is connected");
    assert!(eventually(|| server.descriptors() <= descriptors), "the connection stays");
    assert!(raw.goodbye().is_none(), "there was no room for a word");
    serves(&server);
}

#[test]
fn unix() {
    a_client_that_stops_sending_is_told(Transport::Unix);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Unix);
}

#[test]
fn tcp() {
    a_client_that_stops_sending_is_told(Transport::Tcp);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Tcp);
}

#[test]
fn tls() {
    a_client_that_stops_sending_is_told(Transport::Tls);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Tls);
}
