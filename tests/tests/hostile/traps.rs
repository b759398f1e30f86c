//! Shared memory that is a trap.

use std::os::fd::{AsFd, OwnedFd};

use farcall_base::{Error, ErrorKind};
use farcall_tests::{Raw, Server, Transport, eventually, failure_of};
use farcall_wire::message::decode;
use farcall_wire::{Argument, CallResult, FrameKind, Goodbye, Open};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use super::{header, interface, long, open, says, serves, share, start};

/// A memfd of this size.
pub(super) fn memory(bytes: u64, seals: SealFlags) -> OwnedFd {
    let memory = memfd_create("hostile", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&memory, bytes).unwrap();
    fcntl_add_seals(&memory, seals).unwrap();
    memory
}

/// Shares `memory`, said to be `bytes` long, and calls `touch` on `n` numbers in it.
fn call_shared(
    server: &Server,
    memory: &OwnedFd,
    bytes: u64,
    place: (u32, u64, u64),
    n: i64,
) -> Raw {
    let mut raw = Raw::greeted(server);
    let reply = interface(&mut raw, "touch");
    raw.send_with(&share(1, bytes), memory.as_fd());
    let (segment, offset, length) = place;
    let array = Argument::Shared(segment, offset, length);
    let wanted = Some(vec![Argument::Absent, array.clone()]);
    raw.message(FrameKind::Open, 1, &Open { wanted, ..open(&reply, vec![long(n), array]) });
    raw
}

/// How a call on bad memory may end: refused, or the connection ended; never with numbers, never
/// with a dead server.
fn refused(mut raw: Raw) -> Error {
    loop {
        let Some((header, body)) = raw.frame() else { panic!("closed without a reason") };
        match FrameKind::from_code(header.kind) {
            Some(FrameKind::Result) => return failure_of(&body),
            Some(FrameKind::Goodbye) => {
                return decode::<Goodbye>("Goodbye", &body).unwrap().failure.unwrap().into();
            }
            _ => {}
        }
    }
}

pub(super) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

#[test]
fn shared_memory_that_is_a_trap() {
    let server = start(Transport::Unix);
    // The right way works, so that the wrong ones fail for the right reason.
    let good = memory(8192, SEALS);
    let mut raw = call_shared(&server, &good, 8192, (1, 0, 8000), 1000);
    let result: CallResult = decode("Result", &raw.expect(FrameKind::Result)).unwrap();
    assert_eq!(result.failure, None);
    // Not sealed: it could shrink under the routine, which would die of SIGBUS.
    let unsealed = memory(8192, SealFlags::empty());
    let error = refused(call_shared(&server, &unsealed, 8192, (1, 0, 8000), 1000));
    assert!(error.to_string().contains("F_SEAL_SHRINK"), "{error}");
    // Smaller than announced: beyond its end lies SIGBUS.
    let small = memory(4096, SEALS);
    let error = refused(call_shared(&server, &small, 8192, (1, 0, 8000), 1000));
    assert_ne!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    // No memory at all.
    let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
    let error = refused(call_shared(&server, &null, 8192, (1, 0, 8000), 1000));
    assert_ne!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    // An offset whose end wraps around; beyond the end; too short for the array; crooked; another
    // segment.
    let top = u64::MAX - 15;
    for place in [
        (1, top, 8000),
        (1, 4096, 8000),
        (1, 0, u64::MAX),
        (1, 0, 4000),
        (1, 8, 8000),
        (2, 0, 8000),
    ] {
        let error = refused(call_shared(&server, &good, 8192, place, 1000));
        let kinds = [ErrorKind::Protocol, ErrorKind::InvalidArgument];
        assert!(kinds.contains(&error.kind()), "{place:?}: {error}");
    }
    // A segment of more bytes than a memory has, and one number for two segments.
    let error = refused(call_shared(&server, &good, u64::MAX, (1, 0, 8000), 1000));
    assert_ne!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    let mut raw = Raw::greeted(&server);
    raw.send_with(&share(1, 8192), good.as_fd());
    raw.send_with(&share(1, 8192), good.as_fd());
    says(&mut raw, ErrorKind::Protocol, &["twice"]);
    serves(&server);
}

#[test]
fn descriptors_that_nobody_asked_for_are_closed() {
    let server = start(Transport::Unix);
    serves(&server);
    let before = server.descriptors();
    let good = memory(4096, SEALS);
    let mut raw = Raw::greeted(&server);
    // A ping needs no descriptor. A server that kept them all would run out, so it ends the
    // connection.
    let ping = Raw::framed(header(FrameKind::Ping, 0, 0), &[]);
    for _ in 0..500 {
        raw.send_with(&ping, good.as_fd());
    }
    says(&mut raw, ErrorKind::Protocol, &["descriptors"]);
    drop(raw);
    assert!(
        eventually(|| server.descriptors() <= before),
        "{} after {before}",
        server.descriptors()
    );
    serves(&server);
}
