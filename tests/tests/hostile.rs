//! Peers that break the rules, by hand and on purpose: each gets a Goodbye with the reason or a
//! closed connection, and the server serves on as if nothing had happened.

mod compressed;
mod executables;
mod replays;
mod sharing;
mod sizes;
mod stalls;

use std::os::fd::{AsFd, OwnedFd};

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Random, SeededRandom};
use farcall_tests::{PATIENCE, Raw, Server, Transport, battery, eventually, failure_of, trouble};
use farcall_wire::message::{decode, encode};
use farcall_wire::{
    Argument, Attribute, CallResult, Flags, FrameHeader, FrameKind, Goodbye, Hello, HelloLimits,
    InterfaceReply, Open, PREFACE, Reply, Request, Role, Share, Stage, Window,
};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

farcall_tests::over_all! {
    strangers_who_do_not_speak_farcall
    whoever_talks_on_still_learns_why
    greetings_that_are_wrong
    frames_that_break_the_rules
    messages_that_lie
    calls_that_do_not_fit_are_answered_and_the_connection_lives
    data_that_nobody_asked_for
    clients_that_vanish
    clients_that_are_killed
    two_hundred_hostile_connections_leak_nothing
    random_bytes_of_every_kind
}

fn start(transport: Transport) -> Server {
    Server::start(transport, &[battery(false), trouble(false)], &[])
}

/// The server is alive and well.
fn serves(server: &Server) {
    let outputs = server.client().routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
}

/// The last thing the server says is a reason of this kind with these words.
fn says(raw: &mut Raw, kind: ErrorKind, words: &[&str]) {
    let error =
        raw.goodbye().unwrap_or_else(|| panic!("closed without a reason; {words:?} was expected"));
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "\"{word}\" is missing in: {text}");
    }
}

fn strangers_who_do_not_speak_farcall(transport: Transport) {
    let server = start(transport);
    // Another protocol; a version of ours that does not exist yet; the right name cut short and
    // then nothing.
    let mut raw = Raw::connect(&server);
    raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    says(&mut raw, ErrorKind::Protocol, &["Farcall"]);
    let mut raw = Raw::connect(&server);
    raw.send(b"FARCALL\x02");
    says(&mut raw, ErrorKind::Version, &["2"]);
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE[..5]);
    drop(raw);
    // A whole memory's worth of zeros.
    let mut raw = Raw::connect(&server);
    raw.send(&vec![0; 1 << 20]);
    raw.goodbye();
    serves(&server);
}

/// A socket that is closed while bytes lie in it takes back what it sent, if they come in time for
/// that.
fn whoever_talks_on_still_learns_why(transport: Transport) {
    let server = start(transport);
    serves(&server);
    let before = server.descriptors();
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut raw = Raw::connect(&server);
        raw.send(b"GET / HTTP/1.1\r\n");
        for _ in 0..64 {
            raw.send(&[b'x'; 64 << 10]);
        }
        says(&mut raw, ErrorKind::Protocol, &["Farcall"]);
        open.push(raw);
    }
    // Whoever does not close then is cut off; others are served meanwhile.
    serves(&server);
    assert!(
        eventually(|| server.descriptors() <= before),
        "{} after {before}",
        server.descriptors()
    );
}

fn greetings_that_are_wrong(transport: Transport) {
    let server = start(transport);
    let greet = |change: &dyn Fn(Hello) -> Hello| {
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        let hello = change(raw.hello());
        raw.message(FrameKind::Hello, 0, &hello);
        raw
    };
    let big = if cfg!(target_endian = "big") {
        farcall_wire::ByteOrder::Little
    } else {
        farcall_wire::ByteOrder::Big
    };
    says(
        &mut greet(&|hello| Hello { byte_order: big, ..hello }),
        ErrorKind::Version,
        &["byte order"],
    );
    let demand = Attribute { name: "teleport".into(), critical: true, value: vec![] };
    let mut raw = greet(&|hello| Hello { attributes: vec![demand.clone()], ..hello });
    says(&mut raw, ErrorKind::Version, &["teleport"]);
    // Limits that leave no room: every answer would have to be cut into nothing.
    for limits in [
        HelloLimits { control_bytes_max: 0, ..HelloLimits::default() },
        HelloLimits { data_bytes_max: 0, ..HelloLimits::default() },
        HelloLimits { channels_max: 0, ..HelloLimits::default() },
    ] {
        says(&mut greet(&|hello| Hello { limits, ..hello }), ErrorKind::Protocol, &["limits"]);
    }
    // A Hello that never ends, one that is no Hello, and a question before any.
    let long = "x".repeat(100_000);
    let mut raw = greet(&|hello| Hello { product: long.clone(), ..hello });
    let error = raw.goodbye().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Protocol | ErrorKind::LimitExceeded), "{error}");
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE);
    raw.message(FrameKind::Hello, 0, &vec![1, 2, 3]);
    says(&mut raw, ErrorKind::Protocol, &["Hello"]);
    let mut raw = Raw::connect(&server);
    raw.send(&PREFACE);
    raw.message(FrameKind::Request, 1, &Request::List);
    says(&mut raw, ErrorKind::Protocol, &["before its Hello"]);
    // Two of them.
    let mut raw = Raw::greeted(&server);
    let hello = raw.hello();
    raw.message(FrameKind::Hello, 0, &hello);
    says(&mut raw, ErrorKind::Protocol, &["second Hello"]);
    // Whoever claims to be a server or an executable is no client of this one.
    for role in [Role::Server, Role::Executable] {
        let mut raw = greet(&|hello| Hello { role, ..hello });
        raw.message(FrameKind::Request, 1, &Request::Interface("f_int".into()));
        // It may be answered as any client, but never trusted as more.
        let (header, _) = raw.frame().expect("an answer");
        assert_ne!(header.kind, FrameKind::Open as u8, "nobody runs routines on a stranger");
    }
    serves(&server);
}

fn header(kind: FrameKind, channel: u32, length: u32) -> FrameHeader {
    FrameHeader::new(kind, ChannelId(channel), length)
}

fn frames_that_break_the_rules(transport: Transport) {
    let server = start(transport);
    type Case = (&'static str, Vec<u8>, ErrorKind, &'static [&'static str]);
    let unknown = FrameHeader { kind: 99, flags: Flags::CRITICAL, ..header(FrameKind::Ping, 0, 0) };
    let huge = header(FrameKind::Request, 1, u32::MAX);
    let cases: Vec<Case> = vec![
        (
            "a body of 4 GiB is announced",
            huge.encode().to_vec(),
            ErrorKind::Protocol,
            &["limit: 1 MiB"],
        ),
        (
            "a kind that must be known and is not",
            Raw::framed(unknown, &[]),
            ErrorKind::Version,
            &["99"],
        ),
        (
            "a call without a channel",
            Raw::encoded(FrameKind::Open, 0, &0),
            ErrorKind::Protocol,
            &["channel"],
        ),
        (
            "a ping on a call's channel",
            Raw::framed(header(FrameKind::Ping, 1, 0), &[]),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "an answer to no question",
            Raw::encoded(FrameKind::Reply, 2, &Reply::Done),
            ErrorKind::Protocol,
            &[],
        ),
        ("a result of no call", Raw::encoded(FrameKind::Result, 2, &0), ErrorKind::Protocol, &[]),
        (
            "a channel number of ours",
            Raw::encoded(FrameKind::Request, 2, &Request::List),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a message that is no CBOR",
            Raw::framed(header(FrameKind::Request, 1, 3), &[0xff; 3]),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a text of 2^60 bytes",
            Raw::framed(header(FrameKind::Request, 1, 9), TEXT),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "a list of 2^60 entries",
            Raw::framed(header(FrameKind::Open, 1, 11), LIST),
            ErrorKind::Protocol,
            &[],
        ),
        (
            "memory taken back that was never given",
            Raw::encoded(FrameKind::Unshare, 0, &7),
            ErrorKind::Protocol,
            &[],
        ),
        ("memory without a descriptor", share(1, 4096), ErrorKind::Protocol, &["descriptor"]),
    ];
    for (case, bytes, kind, words) in cases {
        eprintln!("{case}");
        let mut raw = Raw::greeted(&server);
        raw.send(&bytes);
        says(&mut raw, kind, words);
    }
    // A frame of an unknown kind that may be skipped is skipped, body and all.
    let mut raw = Raw::greeted(&server);
    raw.send(&Raw::framed(FrameHeader { kind: 99, ..header(FrameKind::Ping, 0, 5) }, b"later"));
    raw.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
    raw.expect(FrameKind::Pong);
    // Credit for a call that just ended may have been under way.
    raw.send(&Raw::encoded(FrameKind::Window, 1, &Window { credit: 1 << 20, next_sequence: 0 }));
    raw.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
    raw.expect(FrameKind::Pong);
    // Nothing follows a Goodbye.
    let mut raw = Raw::greeted(&server);
    raw.message(FrameKind::Goodbye, 0, &Goodbye { failure: None });
    assert!(raw.goodbye().is_none_or(|error| error.kind() == ErrorKind::Protocol));
    serves(&server);
}

/// A CBOR text that says to be 2^60 bytes long, and has none.
const TEXT: &[u8] = &[0x7b, 0x10, 0, 0, 0, 0, 0, 0, 0];
/// A map whose key 4 is a list of 2^60.
const LIST: &[u8] = &[0xa1, 0x04, 0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0];

fn share(segment: u32, bytes: u64) -> Vec<u8> {
    Raw::encoded(FrameKind::Share, 0, &Share { segment, bytes })
}

/// What one must know to call a routine by hand.
fn interface(raw: &mut Raw, name: &str) -> InterfaceReply {
    raw.message(FrameKind::Request, 101, &Request::Interface(name.into()));
    match decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() {
        Reply::Interface(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn open(reply: &InterfaceReply, arguments: Vec<Argument>) -> Open {
    Open {
        call: CallId([9; 16]),
        routine: reply.name.clone(),
        contract: reply.contract,
        arguments,
        wanted: None,
        remaining_us: None,
        result_credit: None,
        parent: None,
        principal: None,
        trace: None,
        attributes: None,
    }
}

fn long(value: i64) -> Argument {
    Argument::Inline(value.to_ne_bytes().as_slice().into())
}

fn messages_that_lie(transport: Transport) {
    let server = start(transport);
    // More arguments than any interface has.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    raw.message(FrameKind::Open, 1, &open(&reply, vec![Argument::Absent; 5000]));
    let (header, body) = raw.frame().unwrap();
    let error = match FrameKind::from_code(header.kind) {
        Some(FrameKind::Result) => failure_of(&body),
        Some(FrameKind::Goodbye) => {
            Error::from(decode::<Goodbye>("Goodbye", &body).unwrap().failure.unwrap())
        }
        other => panic!("{other:?}"),
    };
    assert!(!error.to_string().is_empty());
    // Two calls on one channel.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    let call = open(&reply, vec![long(1 << 20), Argument::Blocks(Some(8 << 20))]);
    raw.message(FrameKind::Open, 1, &call);
    raw.message(FrameKind::Open, 1, &call);
    says(&mut raw, ErrorKind::Protocol, &[]);
    // An argument in memory that was never shared.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    raw.message(FrameKind::Open, 1, &open(&reply, vec![long(1000), Argument::Shared(5, 0, 8000)]));
    says(&mut raw, ErrorKind::Protocol, &["memory"]);
    serves(&server);
}

fn calls_that_do_not_fit_are_answered_and_the_connection_lives(transport: Transport) {
    let server = start(transport);
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    let stale = InterfaceReply { contract: [0; 32], ..reply.clone() };
    let unknown = InterfaceReply { name: "battery/nowhere".into(), ..reply.clone() };
    let bytes = |count: usize| Argument::Inline(vec![0; count].into());
    let absent = || Argument::Absent;
    let cases: Vec<(&str, Open, ErrorKind)> = vec![
        ("too few arguments", open(&reply, vec![long(1)]), ErrorKind::InvalidArgument),
        ("too many", open(&reply, vec![long(1), bytes(8), absent()]), ErrorKind::InvalidArgument),
        (
            "a size of half a number",
            open(&reply, vec![bytes(4), bytes(8)]),
            ErrorKind::InvalidArgument,
        ),
        ("no size", open(&reply, vec![absent(), bytes(8)]), ErrorKind::InvalidArgument),
        ("a negative size", open(&reply, vec![long(-1), bytes(8)]), ErrorKind::InvalidArgument),
        ("a short array", open(&reply, vec![long(2), bytes(8)]), ErrorKind::InvalidArgument),
        ("a long array", open(&reply, vec![long(1), bytes(16)]), ErrorKind::InvalidArgument),
        ("no array", open(&reply, vec![long(1), absent()]), ErrorKind::InvalidArgument),
        (
            "a wrong length",
            open(&reply, vec![long(2), Argument::Blocks(Some(8))]),
            ErrorKind::InvalidArgument,
        ),
        (
            "a handle",
            open(&reply, vec![long(1), Argument::Handle(vec![1])]),
            ErrorKind::InvalidArgument,
        ),
        (
            "a URL",
            open(&reply, vec![long(1), Argument::Url("file:/etc/passwd".into())]),
            ErrorKind::PermissionDenied,
        ),
        (
            "no URL",
            open(&reply, vec![long(1), Argument::Url("/etc/passwd".into())]),
            ErrorKind::InvalidArgument,
        ),
        (
            "texts",
            open(&reply, vec![long(1), Argument::Texts(vec![None])]),
            ErrorKind::InvalidArgument,
        ),
        ("another contract", open(&stale, vec![long(1), bytes(8)]), ErrorKind::InterfaceChanged),
        ("another routine", open(&unknown, vec![long(1), bytes(8)]), ErrorKind::InterfaceChanged),
        (
            "too few wishes",
            Open { wanted: Some(vec![absent()]), ..open(&reply, vec![long(1), bytes(8)]) },
            ErrorKind::InvalidArgument,
        ),
        (
            "a result wanted as a URL",
            Open {
                wanted: Some(vec![absent(), Argument::Url("file:///tmp/x".into())]),
                ..open(&reply, vec![long(1), bytes(8)])
            },
            ErrorKind::InvalidArgument,
        ),
    ];
    for (case, open, kind) in cases {
        raw.message(FrameKind::Open, 1, &open);
        let error = failure_of(&raw.expect(FrameKind::Result));
        assert_eq!(error.kind(), kind, "{case}: {error}");
        abandon(&mut raw, &open);
    }
    let mut raw = sizes::are_refused(&server, raw, &reply);
    // And the right one, by the same connection.
    let call = open(
        &reply,
        vec![
            long(2),
            Argument::Inline([1.5_f64, 2.5].iter().flat_map(|x| x.to_ne_bytes()).collect()),
        ],
    );
    raw.message(FrameKind::Open, 1, &call);
    let result: CallResult = decode("Result", &raw.expect(FrameKind::Result)).unwrap();
    let wanted: Vec<u8> = [2.5_f64, 3.5].iter().flat_map(|x| x.to_ne_bytes()).collect();
    assert_eq!(result.results[1], Argument::Inline(wanted.into()), "{:?}", result.failure);
    serves(&server);
}

/// A call that was refused is over once its opener says that no more data comes.
fn abandon(raw: &mut Raw, open: &Open) {
    if open.arguments.iter().any(|argument| matches!(argument, Argument::Blocks(_))) {
        raw.send(&Raw::framed(FrameHeader { sequence: 1, ..header(FrameKind::Cancel, 1, 0) }, &[]));
    }
}

/// A connection with a call of `bytes` bytes open on channel 1, slot 1.
fn with_call(server: &Server, bytes: u64) -> Raw {
    let mut raw = Raw::greeted(server);
    let reply = interface(&mut raw, "touch");
    let call = open(&reply, vec![long((bytes / 8) as i64), Argument::Blocks(Some(bytes))]);
    raw.message(FrameKind::Open, 1, &call);
    raw
}

fn data_that_nobody_asked_for(transport: Transport) {
    let server = start(transport);
    let mib = 1_u64 << 20;
    // No such call; unknown slot; a slot that is not an array; a number from the future; a number
    // of the past.
    let mut raw = Raw::greeted(&server);
    raw.data(1, 0, 0, true, &[0; 64]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    for slot in [0, 2, 65_535] {
        let mut raw = with_call(&server, mib);
        raw.data(1, slot, 1, false, &[0; 64]);
        says(&mut raw, ErrorKind::Protocol, &[]);
    }
    for sequence in [0, 2, u32::MAX] {
        let mut raw = with_call(&server, mib);
        raw.data(1, 1, sequence, false, &[0; 64]);
        says(&mut raw, ErrorKind::Protocol, &[]);
    }
    // More than was announced; an end before the end; no end at the end.
    let mut raw = with_call(&server, 8192);
    raw.data(1, 1, 1, true, &[0; 8200]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    let mut raw = with_call(&server, 8192);
    raw.data(1, 1, 1, true, &[0; 4096]);
    says(&mut raw, ErrorKind::Protocol, &[]);
    // A frame longer than the server takes: not a byte of it is read.
    let mut raw = with_call(&server, 64 * mib);
    raw.send(
        &FrameHeader { slot: 1, sequence: 1, ..header(FrameKind::Data, 1, 64 << 20) }.encode(),
    );
    says(&mut raw, ErrorKind::Protocol, &["limit: 4 MiB"]);
    serves(&server);
}

fn clients_that_vanish(transport: Transport) {
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

fn two_hundred_hostile_connections_leak_nothing(transport: Transport) {
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

fn random_bytes_of_every_kind(transport: Transport) {
    let server = start(transport);
    let mut random = SeededRandom::new(4711);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..40).flat_map(|_| random.bytes16()).collect();
        // After the preface; after the greeting; as a frame's body whose header is right.
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        raw.send(&bytes);
        drop(raw);
        let mut raw = Raw::greeted(&server);
        raw.send(&bytes);
        drop(raw);
        let mut raw = Raw::greeted(&server);
        let kind = FrameKind::from_code(1 + bytes[0] % 15).unwrap();
        let channel = u32::from(bytes[1] % 4);
        raw.send(&Raw::framed(header(kind, channel, bytes.len() as u32), &bytes));
        drop(raw);
    }
    // A good message with single bits turned: closer to the truth, and worse.
    let good = encode(&Raw::connect(&server).hello());
    for bit in (0..good.len() * 8).step_by(3) {
        let mut body = good.clone();
        body[bit / 8] ^= 1 << (bit % 8);
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        raw.send(&Raw::framed(header(FrameKind::Hello, 0, body.len() as u32), &body));
        drop(raw);
    }
    serves(&server);
}

/// A memfd of this size.
fn memory(bytes: u64, seals: SealFlags) -> OwnedFd {
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

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

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

fn clients_that_are_killed(transport: Transport) {
    use std::io::BufRead;
    let server = start(transport);
    serves(&server);
    let before = (server.descriptors(), server.mappings());
    for delay in [0, 3, 10, 30, 50, 80] {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["hostile::as_a_client_that_is_killed", "--exact", "--nocapture"]);
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
