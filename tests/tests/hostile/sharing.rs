//! Memory that is taken back while a call works on it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind};
use farcall_client::Stage;
use farcall_tests::{
    Directory, Raw, Server, Transport, battery, eventually, failure_of, manifest, trouble,
};
use farcall_wire::message::decode;
use farcall_wire::{Argument, CallResult, FrameKind, Open, Reply, Request};
use rustix::fs::{SealFlags, fcntl_add_seals};

use crate::hostile::traps::{SEALS, memory};
use crate::hostile::{interface, long, open, says, serves, share, start};

/// A client with 1000 numbers in segment 1, and a call on channel 1 that holds them for so long.
fn holding(server: &farcall_tests::Server, milliseconds: i32) -> Raw {
    let mut raw = Raw::greeted(server);
    let reply = interface(&mut raw, "hold");
    raw.send_with(&share(1, 8192), memory(8192, SEALS).as_fd());
    let array = Argument::Shared(1, 0, 8000);
    let arguments = vec![
        long(1000),
        array.clone(),
        Argument::Inline(milliseconds.to_ne_bytes().as_slice().into()),
    ];
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

/// Most bytes of an array of the calls below: more than is worth a system call, so that results are
/// written to the memory.
const NUMBERS: i64 = 100_000;
const BYTES: u64 = 8 * NUMBERS as u64;

/// A client that shares memory which it may still seal.
fn sharing(server: &Server) -> (Raw, OwnedFd) {
    let mut raw = Raw::greeted(server);
    let memory = memory(BYTES, SealFlags::SHRINK | SealFlags::GROW);
    raw.send_with(&share(1, BYTES), memory.as_fd());
    // It is checked now.
    interface(&mut raw, "hold");
    (raw, memory)
}

fn call_in_it(raw: &mut Raw, milliseconds: i32) {
    let reply = interface(raw, "hold");
    let array = Argument::Shared(1, 0, BYTES);
    let arguments = vec![
        long(NUMBERS),
        array.clone(),
        Argument::Inline(milliseconds.to_ne_bytes().as_slice().into()),
    ];
    let wanted = Some(vec![Argument::Absent, array, Argument::Absent]);
    raw.message(FrameKind::Open, 1, &Open { wanted, ..open(&reply, arguments) });
}

/// What a client seals between a check and a call costs that call.
fn sealed_before_its_call(server: &Server) -> Error {
    let (mut raw, memory) = sharing(server);
    fcntl_add_seals(&memory, SealFlags::WRITE).unwrap();
    call_in_it(&mut raw, 0);
    let error = failure_of(&raw.expect(FrameKind::Result));
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.to_string().contains("memory that is read-only"), "{error}");
    // The connection is as it was.
    interface(&mut raw, "touch");
    error
}

#[test]
fn memory_that_is_sealed_later_costs_no_executable() {
    let server = start(Transport::Unix);
    sealed_before_its_call(&server);
    let before = server.children();
    assert_eq!(before.len(), 1);
    sealed_before_its_call(&server);
    assert_eq!(server.children(), before);
}

/// Results of executables that share no memory are written by the server.
#[test]
fn memory_that_is_sealed_later_costs_no_far_executable() {
    let folder = Directory::new();
    let local = "launchers.local = { dial = \"tls\", reached_at = [\"localhost\"] }";
    let jobs = folder.0.join("jobs");
    let jobs = format!(
        "slot = \"jobs\"\n[plugin.options]\nfolder = {jobs:?}\ndefault = \"local\"\n{local}\n"
    );
    let text = manifest("") + "[[plugin]]\nname = \"spawner-jobs\"\n" + &jobs;
    let file = folder.write("farcall.toml", &text);
    let server = Server::start(
        Transport::Unix,
        &[battery(false), trouble(false)],
        &["--manifest", file.to_str().unwrap()],
    );
    serves(&server);
    sealed_before_its_call(&server);
    // In the middle of it: what is mapped already may still be written.
    let (mut raw, memory) = sharing(&server);
    call_in_it(&mut raw, 500);
    let client = server.client();
    let runs = || {
        client
            .status(Duration::from_secs(10))
            .unwrap()
            .calls
            .iter()
            .any(|call| call.stage == Stage::Running)
    };
    assert!(eventually(runs));
    fcntl_add_seals(&memory, SealFlags::FUTURE_WRITE).unwrap();
    let result: CallResult = decode("Result", &raw.expect(FrameKind::Result)).unwrap();
    assert_eq!(result.failure, None);
    let mut first = [0; 8];
    rustix::io::pread(&memory, &mut first, 0).unwrap();
    assert_eq!(f64::from_ne_bytes(first), 1.0, "the routine adds one to the first number");
    serves(&server);
}

/// Connections inside calls are for the executables that run them.
#[test]
fn a_client_cannot_hand_the_server_a_connection() {
    let server = start(Transport::Unix);
    let mut raw = Raw::greeted(&server);
    let (_own, other) = std::os::unix::net::UnixStream::pair().unwrap();
    let before = server.descriptors();
    raw.send_with(
        &Raw::encoded(FrameKind::Request, 1, &Request::Nest(CallId([7; 16]))),
        other.as_fd(),
    );
    let Reply::Failed(failure) = decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() else {
        panic!("it was taken")
    };
    let error = farcall_base::Error::from(failure);
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    drop(raw);
    assert!(
        eventually(|| server.descriptors() < before),
        "{} after {before}",
        server.descriptors()
    );
    serves(&server);
}
