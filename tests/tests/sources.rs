//! Sources that do not send what a server pulls from them, by hand: the pull fails in time and with a
//! reason, the data stays promised, and the server lives.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farcall_base::{CallId, ChannelId, DataId, Error, ErrorKind};
use farcall_link::line::Line;
use farcall_tests::{Directory, Raw};
use farcall_wire::message::encode;
use farcall_wire::{
    Argument, CallResult, CallTimes, DATA, Flags, FrameHeader, FrameKind, InterfaceReply, PULLS,
    RESUME, Reply, Resume, Role, SHARED_RESULTS, Share,
};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::pulls::{KIND, peer, promised, pull, pulled, put, put_as, server, value};
use crate::transactions::ask;

/// Numbers that a source says to have, and their bytes.
const COUNT: usize = 100_000;
const BYTES: u64 = COUNT as u64 * 8;
/// Bytes of one frame.
const PIECE: usize = 32 << 10;
/// How long a source may be silent.
const STALL: Duration = Duration::from_millis(500);
/// By then each pull has failed.
const PATIENCE: Duration = Duration::from_secs(8);

fn framed(kind: FrameKind, sequence: u32, body: &[u8]) -> Vec<u8> {
    let header = FrameHeader::new(kind, ChannelId(1), body.len() as u32);
    Raw::framed(FrameHeader { sequence, ..header }, body)
}

/// What a source says that it has: a type, extents, and where the value is.
fn says(kind: &str, extents: &[i64], value: Argument) -> Vec<u8> {
    let extent = |extent: &i64| Argument::Inline(extent.to_ne_bytes().as_slice().into());
    let interface = InterfaceReply {
        name: kind.to_owned(),
        interface: Vec::new(),
        contract: [0; 32],
        is_placed: None,
    };
    let resume = Resume {
        interface: Some(interface),
        arguments: Some(extents.iter().map(extent).chain([Argument::Absent]).collect()),
        ..Resume::new(CallId([0; 16]))
    };
    let result = CallResult {
        failure: None,
        results: extents.iter().map(|_| Argument::Absent).chain([value]).collect(),
        times: CallTimes::default(),
        attributes: None,
    };
    let first = framed(FrameKind::Resume, 0, &encode(&resume));
    [first, framed(FrameKind::Result, 1, &encode(&result))].concat()
}

/// The numbers that it says to have, in blocks.
fn says_numbers() -> Vec<u8> {
    says(KIND, &[COUNT as i64], Argument::Blocks(Some(BYTES)))
}

/// Sends so many bytes of them, all in numbers that rise from 0; whether the receiver took them.
fn send(raw: &mut Raw, bytes: usize, ends: bool) -> bool {
    let all: Vec<u8> =
        (0..bytes.div_ceil(8)).flat_map(|number| (number as f64).to_ne_bytes()).collect();
    let pieces: Vec<&[u8]> = all[..bytes].chunks(PIECE).collect();
    pieces.iter().zip(2..).all(|(piece, sequence)| {
        let is_last = sequence as usize == pieces.len() + 1;
        let flags = if ends && is_last { Flags::END } else { Flags::default() };
        let header = FrameHeader::new(FrameKind::Data, ChannelId(1), piece.len() as u32);
        raw.try_send(&Raw::framed(FrameHeader { slot: 1, sequence, flags, ..header }, piece))
    })
}

fn greet(raw: &mut Raw) {
    raw.expect(FrameKind::Hello);
    let features = [DATA, RESUME, PULLS, SHARED_RESULTS];
    raw.send(&Raw::greeting_with(Role::Server, &features));
    raw.expect(FrameKind::Resume);
}

/// A source that greets, and does this when it is asked.
fn source(
    folder: &Directory,
    play: impl FnOnce(&mut Raw) + Send + 'static,
) -> (String, JoinHandle<()>) {
    let path = folder.0.join("source");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let mut raw = Raw::accepted(listener.accept().unwrap().0);
        play(&mut raw);
    });
    (format!("unix:{}", path.display()), thread)
}

/// Reads on until the receiver hangs up; a receiver that does not ends the test.
fn until_left(raw: &mut Raw) {
    while raw.frame().is_some() {}
}

struct World {
    folder: Directory,
    line: Line,
    _receiver: farcall_tests::Server,
}

impl World {
    fn new() -> World {
        let folder = Directory::new();
        let options = format!("pull_stall_ms = {}", STALL.as_millis());
        let receiver = server(&folder, "receiver", &options);
        let line = peer(&receiver, &[DATA, PULLS]);
        World { folder, line, _receiver: receiver }
    }

    fn pull(&mut self, play: impl FnOnce(&mut Raw) + Send + 'static) -> (DataId, Option<Error>) {
        let (address, thread) = source(&self.folder, play);
        let data = promised(&mut self.line);
        let reply = ask(&mut self.line, &pull(data, DataId([3; 16]), &address, BYTES));
        thread.join().unwrap();
        match reply {
            Reply::Done => (data, None),
            Reply::Failed(failure) => (data, Some(failure.into())),
            other => panic!("{other:?}"),
        }
    }

    /// A pull from such a source fails for this reason, and the data may be put there.
    fn fails(
        &mut self,
        (kind, why): (ErrorKind, &str),
        play: impl FnOnce(&mut Raw) + Send + 'static,
    ) {
        let began = Instant::now();
        let (data, error) = self.pull(play);
        let error = error.unwrap_or_else(|| panic!("it was pulled, and not: {why}"));
        assert_eq!(error.kind(), kind, "{why}: {error}");
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert!(began.elapsed() < PATIENCE, "{why}: {:?}", began.elapsed());
        put_as(&mut self.line, data, 3);
        assert_eq!(value(&mut self.line, data, 2), 2.0);
    }

    /// The same for a source that says something, and sends this many bytes.
    fn fails_on(&mut self, why: (ErrorKind, &str), said: Vec<u8>, bytes: usize) {
        self.fails(why, move |raw| {
            greet(raw);
            raw.send(&said);
            send(raw, bytes, true);
            until_left(raw);
        });
    }
}

/// What it should do, so that all others fail for the right reason.
#[test]
fn a_source_by_hand_is_one() {
    let mut world = World::new();
    let (data, error) = world.pull(|raw| {
        greet(raw);
        raw.send(&says_numbers());
        assert!(send(raw, BYTES as usize, true));
        until_left(raw);
    });
    assert!(error.is_none(), "{error:?}");
    assert_eq!(value(&mut world.line, data, COUNT - 1), (COUNT - 1) as f64);
}

#[test]
fn a_source_that_is_cut_off_or_stalls_is_left() {
    let mut world = World::new();
    world.fails((ErrorKind::ConnectionLost, "closed the connection"), |raw| {
        greet(raw);
        raw.send(&says_numbers());
        send(raw, BYTES as usize / 2, false);
    });
    world.fails((ErrorKind::TimedOut, "stopped to send it"), |raw| {
        greet(raw);
        raw.send(&says_numbers());
        send(raw, BYTES as usize / 2, false);
        until_left(raw);
    });
    world.fails((ErrorKind::TimedOut, "stopped to send it"), |raw| {
        greet(raw);
        raw.send(&says_numbers());
        until_left(raw);
    });
    let silent = (ErrorKind::TimedOut, "does not answer");
    world.fails(silent, until_left);
    world.fails(silent, |raw| {
        greet(raw);
        until_left(raw);
    });
}

/// It shows that it lives, for longer than it may be silent.
#[test]
fn a_source_may_make_its_value_for_long() {
    let mut world = World::new();
    let (_, error) = world.pull(|raw| {
        greet(raw);
        let began = Instant::now();
        while began.elapsed() < 4 * STALL {
            raw.expect(FrameKind::Ping);
            raw.send(&Raw::framed(FrameHeader::new(FrameKind::Pong, ChannelId(0), 0), &[]));
        }
        raw.send(&says_numbers());
        assert!(send(raw, BYTES as usize, true));
        until_left(raw);
    });
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn a_source_that_sends_something_else_is_refused() {
    let mut world = World::new();
    let blocks = |bytes: u64| Argument::Blocks(Some(bytes));
    let all = BYTES as usize;
    let numbers = [COUNT as i64];
    world.fails_on((ErrorKind::LimitExceeded, "too large"), says(KIND, &[1], blocks(BYTES + 8)), 0);
    let wrong = |why| (ErrorKind::Protocol, why);
    world.fails_on(wrong("declared length"), says_numbers(), all + 8);
    world.fails_on(wrong("declared length"), says_numbers(), all - 8);
    let shorter = says(KIND, &[COUNT as i64 - 1], blocks(BYTES));
    world.fails_on(wrong("length than its extents say"), shorter, all);
    let integers = says("data:long:1:row", &numbers, blocks(BYTES));
    world.fails_on(wrong("another type"), integers, all);
    let few = Argument::Inline([0; 800].as_slice().into());
    let square = says("data:double:2:row", &[10, 10], few.clone());
    world.fails_on(wrong("another type"), square, 0);
    let none = says("resident/nap", &numbers, blocks(BYTES));
    world.fails_on(wrong("another type"), none, all);
    let more = says(KIND, &[10, 10], few);
    world.fails_on(wrong("number of dimensions"), more, 0);
    world.fails_on(wrong("no extents"), says(KIND, &[-1], blocks(BYTES)), all);
    // Eight times that is 0, modulo 2^64.
    let nothing = Argument::Inline([].as_slice().into());
    world.fails_on(wrong("length than its extents say"), says(KIND, &[1 << 61], nothing), 0);
    world.fails_on(wrong("without its length"), says(KIND, &numbers, Argument::Absent), 0);
    world.fails_on(wrong("not there"), says(KIND, &numbers, Argument::Shared(7, 0, BYTES)), 0);
    // It takes what a good one sends as before.
    let good = server(&world.folder, "good", "");
    let mut owner = peer(&good, &[DATA, PULLS]);
    let data = put(&mut owner, COUNT);
    let here = pulled(&mut world.line, data, good.address(), BYTES).unwrap();
    assert_eq!(value(&mut world.line, here, 5), 5.0);
}

fn memory(bytes: u64, seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create(c"source", flags).unwrap();
    rustix::fs::ftruncate(&memory, bytes).unwrap();
    rustix::fs::fcntl_add_seals(&memory, seals).unwrap();
    memory
}

/// Memory that its source could still change or take away is not taken, nor less than it says.
#[test]
fn a_source_that_shares_other_memory_is_refused() {
    let mut world = World::new();
    let size = BYTES.next_multiple_of(4096);
    let mut shares = |bytes: u64, seals: SealFlags| {
        let memory = memory(bytes, seals);
        world.pull(move |raw| {
            greet(raw);
            let share = Raw::encoded(FrameKind::Share, 0, &Share { segment: 1, bytes: size });
            assert!(raw.send_with(&share, std::os::fd::AsFd::as_fd(&memory)));
            raw.send(&says(KIND, &[COUNT as i64], Argument::Shared(1, 0, BYTES)));
            until_left(raw);
        })
    };
    let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let (_, error) = shares(size, fixed | SealFlags::WRITE);
    assert!(error.is_none(), "{error:?}");
    for (bytes, seals) in [
        (size, fixed),
        (size, SealFlags::WRITE),
        (size, SealFlags::empty()),
        (4096, fixed | SealFlags::WRITE),
    ] {
        let (_, error) = shares(bytes, seals);
        let error = error.unwrap_or_else(|| panic!("{bytes} {seals:?}"));
        assert_eq!(error.kind(), ErrorKind::Protocol, "{bytes} {seals:?}: {error}");
    }
}
