//! Clients that vanish or are killed in the middle of things, and what is left of them.

use farcall_base::{Random, SeededRandom};
use farcall_tests::{PATIENCE, Raw, Server, Transport, eventually};
use farcall_wire::{Argument, FrameHeader, FrameKind, Stage};

use super::{header, interface, open, serves, start, with_call};

pub(super) fn clients_that_vanish(transport: Transport) {
    let server = start(transport);
    serves(&server);
    let before = server.descriptors();
    for (sent, wait) in [(0, false), (100_000, false), (100_000, true), (1 << 20, true)] {
        // In the middle of an upload, at the border of a frame and inside of one.
        let mut raw = with_call(&server, 64 << 20);
        raw.send(
            &FrameHeader { slot: 1, sequence: 1, ..header(FrameKind::Data, 1, 1 << 20) }.encode(),
        );
        raw.send(&vec![1; sent]);
        if wait {
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        drop(raw);
        serves(&server);
    }
    // In the middle of a result: its head was read, and the first of its bytes.
    let mut raw = with_call(&server, 800_000);
    raw.data(1, 1, 1, true, &vec![0; 800_000]);
    raw.expect(FrameKind::Result);
    drop(raw);
    // While its routine runs: the executable is not left to itself.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "forever");
    raw.message(
        FrameKind::Open,
        1,
        &open(&reply, vec![Argument::Inline(1_i32.to_ne_bytes().as_slice().into())]),
    );
    let runs = || {
        server
            .client()
            .status(PATIENCE)
            .unwrap()
            .calls
            .iter()
            .any(|call| call.stage == Stage::Running)
    };
    assert!(eventually(runs), "the routine does not begin");
    let running = server.processes().len();
    drop(raw);
    assert!(eventually(|| server.processes().len() < running), "a routine runs on for nobody");
    serves(&server);
    // What a gone client used is given back: at most the pool and the executables of both modules
    // are more than before.
    assert!(
        eventually(|| server.descriptors() <= before + 8),
        "{} after {before}",
        server.descriptors()
    );
}

pub(super) fn two_hundred_hostile_connections_leak_nothing(transport: Transport) {
    let server = start(transport);
    let mut random = SeededRandom::new(20);
    let mut round = |index: usize| match index % 5 {
        0 => drop(Raw::connect(&server)),
        1 => {
            let mut raw = Raw::connect(&server);
            raw.send(&random.bytes16());
        }
        2 => {
            let mut raw = Raw::greeted(&server);
            raw.send(&header(FrameKind::Request, 1, u32::MAX).encode());
            raw.goodbye();
        }
        3 => {
            let mut raw = with_call(&server, 32 << 20);
            raw.data(1, 1, 1, false, &vec![0; 50_000]);
        }
        _ => {
            let mut raw = with_call(&server, 8192);
            raw.data(1, 7, 9, true, &[0; 8]);
            raw.goodbye();
        }
    };
    (0..10).for_each(&mut round);
    serves(&server);
    let idle = |server: &Server| (server.descriptors(), server.mappings());
    let mut before = idle(&server);
    // What is left of the first ten goes as their ends arrive.
    eventually(|| std::mem::replace(&mut before, idle(&server)) == before);
    (0..200).for_each(&mut round);
    serves(&server);
    let (descriptors, mappings) = before;
    assert!(
        eventually(|| server.descriptors() <= descriptors),
        "{} after {descriptors}",
        server.descriptors()
    );
    assert!(eventually(|| server.mappings() <= mappings), "{} after {mappings}", server.mappings());
}

/// Run again as a process of its own by the test below, which kills it in the middle of an upload.
#[test]
fn as_a_client_that_is_killed() {
    let Ok(address) = std::env::var("FARCALL_TEST_ADDRESS") else { return };
    let token = std::env::var_os("FARCALL_TEST_TOKEN").map(Into::into);
    let timeout = std::time::Duration::from_secs(10);
    let client =
        farcall_client::Client::connect_to(&address.parse().unwrap(), token, timeout).unwrap();
    let touch = client.routine("touch").unwrap();
    let x = vec![1.0; 4 << 20];
    println!("begun");
    loop {
        touch.call([("x", farcall_client::Array::vector(&x).into())]).unwrap();
    }
}

pub(super) fn clients_that_are_killed(transport: Transport) {
    use std::io::BufRead;
    let server = start(transport);
    serves(&server);
    let before = (server.descriptors(), server.mappings());
    for delay in [0, 3, 10, 30, 50, 80] {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["hostile::vanished::as_a_client_that_is_killed", "--exact", "--nocapture"]);
        command.env("FARCALL_TEST_ADDRESS", server.address());
        // None of its calls waits for it to come back, with memory of theirs.
        command.env("FARCALL_RECONNECT", "0");
        if let Some(token) = server.token() {
            command.env("FARCALL_TEST_TOKEN", token);
        }
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let lines =
            std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(
            lines.take(10).any(|line| line.contains("begun")),
            "the client never came to its calls"
        );
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        serves(&server);
    }
    // At most a second executable, and what the pool keeps of the last client's 32 MB, are more
    // than before.
    let settled = || server.descriptors() <= before.0 + 5 && server.mappings() <= before.1 + 2;
    assert!(
        eventually(settled),
        "{} and {} after {before:?}",
        server.descriptors(),
        server.mappings()
    );
}
