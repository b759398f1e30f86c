//! Executables that break the rules, against a real server: what they say costs the call that they
//! run, and nothing else.
//!
//! The server's host program is this test program, run again as [`as_an_executable_that_lies`]. It
//! keeps the rules until a call of `f_int` says by its argument which one it is to break.

use std::io::{IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use farcall_base::{CallId, ErrorKind, Random, SeededRandom};
use farcall_client::{CallOptions, Client, Error};
use farcall_link::stream::{ByteStream, Proof};
use farcall_tests::{
    Directory, PATIENCE, Raw, Server, Transport, battery, eventually, manifest_of,
};
use farcall_transport_unix::ring;
use farcall_wire::message::{decode, encode};
use farcall_wire::{
    Argument, CallResult, CallTimes, Failure, Flags, FrameHeader, FrameKind, HEADER_BYTES, Open,
    PREFACE, Reply, Request, Role, Share, Window, padding,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt,
};

use crate::hostile::header;

/// What it does when it begins; by the manifest, since nobody has called yet.
const BEGINNING: &str = "FARCALL_TEST_BEGINNING";
/// The file for which an honest call waits.
const RELEASE: &str = "FARCALL_TEST_RELEASE";
/// The argument of that call.
const PATIENT: i32 = -1;

/// An executable's connection, and the memory of its rings, if it has them.
struct Line {
    stream: Stream,
    /// Of rings: their memory, and the server's bell.
    rings: Option<(std::fs::File, OwnedFd)>,
}

enum Stream {
    Ring(Box<dyn ByteStream>),
    Socket(TcpStream),
}

impl Line {
    fn inherited() -> Line {
        let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).unwrap();
        if sockopt::socket_domain(&socket).unwrap() != AddressFamily::UNIX {
            return Line { stream: Stream::Socket(socket.into()), rings: None };
        }
        let rings = Some(offered(&socket));
        Line { stream: Stream::Ring(ring::accept(socket, Proof::Inherited).unwrap()), rings }
    }

    fn send(&mut self, bytes: &[u8]) {
        match &mut self.stream {
            Stream::Socket(socket) => drop(std::io::Write::write_all(socket, bytes)),
            Stream::Ring(stream) => drop(stream.send(&[IoSlice::new(bytes)], &[])),
        }
    }

    /// Bytes with a descriptor, where there is a way for it.
    fn send_with(&mut self, bytes: &[u8], descriptor: &OwnedFd) {
        match &mut self.stream {
            Stream::Socket(_) => self.send(bytes),
            Stream::Ring(stream) => {
                drop(stream.send(&[IoSlice::new(bytes)], &[descriptor.as_fd()]))
            }
        }
    }

    /// So many bytes; `None` at the end.
    fn read(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            filled += match &mut self.stream {
                Stream::Socket(socket) => {
                    std::io::Read::read(socket, &mut bytes[filled..]).ok().filter(|got| *got > 0)?
                }
                Stream::Ring(stream) => receive(&mut **stream, &mut bytes[filled..])?,
            };
        }
        Some(bytes)
    }

    fn frame(&mut self) -> Option<(FrameHeader, Vec<u8>)> {
        let header = FrameHeader::decode(&self.read(HEADER_BYTES)?.try_into().unwrap());
        let body = self.read(header.length as usize)?;
        self.read(padding(header.length))?;
        Some((header, body))
    }

    /// Writes into the head of the rings: what is there is the other end's, or says what this end
    /// did.
    fn scribble(&self, offset: u64, bytes: &[u8]) {
        if let Some((memory, _)) = &self.rings {
            memory.write_all_at(bytes, offset).unwrap();
        }
    }

    fn word(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        if let Some((memory, _)) = &self.rings {
            memory.read_exact_at(&mut bytes, offset).unwrap();
        }
        u64::from_ne_bytes(bytes)
    }

    /// Wakes the server, which may then look at what was scribbled.
    fn strike(&self) {
        if let Some((_, bell)) = &self.rings {
            rustix::io::write(bell, &1_u64.to_ne_bytes()).unwrap();
        }
    }
}

/// The memory of rings and the bell of the server that offers them, taken from the message without
/// taking the message.
fn offered(socket: &OwnedFd) -> (std::fs::File, OwnedFd) {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut first = [0; 8];
    recvmsg(socket, &mut [IoSliceMut::new(&mut first)], &mut control, RecvFlags::PEEK).unwrap();
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let [memory, _, bell] = <[OwnedFd; 3]>::try_from(descriptors.collect::<Vec<_>>()).unwrap();
    (memory.into(), bell)
}

fn receive(stream: &mut dyn ByteStream, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match stream.receive(&mut [IoSliceMut::new(bytes)], &mut Vec::new()) {
            Ok(count) if count > 0 => return Some(count),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => return None,
        }
        let mut watched = vec![PollFd::from_borrowed_fd(stream.readiness()?, PollFlags::IN)];
        watched.extend(
            stream.hangup().map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)),
        );
        poll(&mut watched, Some(&Timespec { tv_sec: 20, tv_nsec: 0 }))
            .ok()
            .filter(|ready| *ready > 0)?;
        let _ = rustix::io::read(stream.readiness()?, &mut [0; 8]);
    }
}

/// Where words lie in the first page of the rings' memory (transports/unix/src/ring/memory.rs):
/// five lines for each end, ours is the second, and then the turnstile.
mod place {
    pub const SERVERS_HEAD: u64 = 0;
    pub const SERVERS_TAIL: u64 = 64;
    pub const HEAD: u64 = 320;
    pub const TAIL: u64 = 384;
    pub const RIDERS: u64 = 448;
    pub const CLOSED: u64 = 512;
    pub const TURNSTILE: u64 = 640;
    pub const END: u64 = 704;
}

fn greeting() -> Vec<u8> {
    Raw::greeting(Role::Executable)
}

/// A result with these values.
fn result(channel: u32, results: Vec<Argument>) -> Vec<u8> {
    let result =
        CallResult { failure: None, results, times: CallTimes::default(), attributes: None };
    Raw::encoded(FrameKind::Result, channel, &result)
}

fn number(value: i32) -> Argument {
    Argument::Inline(value.to_ne_bytes().as_slice().into())
}

fn framed(kind: FrameKind, channel: u32, body: &[u8]) -> Vec<u8> {
    Raw::framed(header(kind, channel, body.len() as u32), body)
}

/// Run again as a process of its own: by the server, as its host program.
#[test]
fn as_an_executable_that_lies() {
    if std::env::var("FARCALL_SOCKET").as_deref() != Ok("0") {
        return;
    }
    let mut line = Line::inherited();
    let beginning = std::env::var(BEGINNING).unwrap_or_default();
    match beginning.as_str() {
        "stranger" => line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "silent" => {}
        "early" => {
            line.send(&[PREFACE.to_vec(), Raw::encoded(FrameKind::Reply, 2, &Reply::Done)].concat())
        }
        "garbage" => {
            line.send(&[PREFACE.to_vec(), framed(FrameKind::Hello, 0, &[0xff; 64])].concat())
        }
        _ => line.send(&greeting()),
    }
    line.read(PREFACE.len()).unwrap();
    while let Some((header, body)) = line.frame() {
        match FrameKind::from_code(header.kind) {
            Some(FrameKind::Request) => load(&mut line, &beginning, header.channel.0, &body),
            Some(FrameKind::Open) => {
                let open: Open = decode("Open", &body).unwrap();
                answer(&mut line, header.channel.0, &open);
            }
            _ => {}
        }
    }
}

fn load(line: &mut Line, beginning: &str, channel: u32, body: &[u8]) {
    assert!(matches!(decode("Request", body).unwrap(), Request::Load(_)));
    let failure = || Error::new(ErrorKind::Unavailable, "load a module", "it does not like it");
    let reply = match beginning {
        "list" => Reply::List(Vec::new()),
        "unwilling" => Reply::Failed(Failure::from(&failure())),
        _ => Reply::Done,
    };
    // Sent as the first frame of its channel, and to one that nobody opened.
    let channel = if beginning == "elsewhere" { channel + 2 } else { channel };
    line.send(&Raw::encoded(FrameKind::Reply, channel, &reply));
}

fn answer(line: &mut Line, channel: u32, open: &Open) {
    let Argument::Inline(bytes) = &open.arguments[0] else { panic!("{open:?}") };
    let x = i32::from_ne_bytes(bytes.as_slice().try_into().unwrap());
    if x == PATIENT {
        let file = std::env::var(RELEASE).unwrap();
        while !Path::new(&file).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    if let Some(lie) = usize::try_from(x - FIRST_LIE).ok().and_then(|lie| LIES.get(lie)) {
        (lie.tell)(line, channel, open);
        if lie.of_rings {
            // What it would hear is what it said itself.
            std::thread::sleep(Duration::from_secs(20));
        }
        return;
    }
    if x >= FIRST_NOISE {
        make_noise(line, x);
    }
    line.send(&result(channel, vec![Argument::Absent, number(x.wrapping_mul(2))]));
}

/// Random words in the head of the rings: here and there, or all over it.
fn make_noise(line: &Line, seed: i32) {
    let mut random = SeededRandom::new(seed as u64);
    for _ in 0..1 + random.next() % 20 {
        let offset = random.next() % (place::END / 8) * 8;
        let word = random.next() >> (random.next() % 64);
        line.scribble(offset, &word.to_ne_bytes());
        line.strike();
    }
}

/// Arguments from here on ask for lies.
const FIRST_LIE: i32 = 1_000_000;
/// And from here on for noise, with the seed.
const FIRST_NOISE: i32 = 1_500_000_000;

/// What is said instead of a result, and what the caller hears of it.
struct Lie {
    what: &'static str,
    tell: fn(&mut Line, u32, &Open),
    says: &'static [&'static str],
    /// Told over rings only.
    of_rings: bool,
}

const fn lie(
    what: &'static str,
    says: &'static [&'static str],
    tell: fn(&mut Line, u32, &Open),
) -> Lie {
    Lie { what, tell, says, of_rings: false }
}

const fn ring_lie(
    what: &'static str,
    says: &'static [&'static str],
    tell: fn(&mut Line, u32, &Open),
) -> Lie {
    Lie { what, tell, says, of_rings: true }
}

const LIES: &[Lie] = &[
    lie("a frame of 4 GiB", &["limit"], |line, channel, _| {
        line.send(&header(FrameKind::Result, channel, u32::MAX).encode());
    }),
    lie("data of 4 GiB", &["limit"], |line, channel, _| {
        line.send(&header(FrameKind::Data, channel, u32::MAX).encode());
    }),
    lie("a kind that must be known", &["99"], |line, _, _| {
        line.send(&Raw::framed(
            FrameHeader { kind: 99, flags: Flags::CRITICAL, ..header(FrameKind::Ping, 0, 0) },
            &[],
        ));
    }),
    lie("a result that is no CBOR", &["Result"], |line, channel, _| {
        line.send(&framed(FrameKind::Result, channel, &[0xff; 9]));
    }),
    lie("a result of a call that nobody opened", &[], |line, channel, _| {
        line.send(&result(channel + 2, vec![Argument::Absent, number(6)]));
    }),
    lie("a result on a channel of its own", &[], |line, channel, _| {
        line.send(&result(channel + 1, vec![Argument::Absent, number(6)]));
    }),
    lie("a reply to a call", &[], |line, channel, _| {
        line.send(&Raw::encoded(FrameKind::Reply, channel, &Reply::Done));
    }),
    lie("a frame out of line", &[], |line, channel, _| {
        let body = encode(&CallResult {
            failure: None,
            results: vec![Argument::Absent, number(6)],
            times: CallTimes::default(),
            attributes: None,
        });
        let header =
            FrameHeader { sequence: 7, ..header(FrameKind::Result, channel, body.len() as u32) };
        line.send(&Raw::framed(header, &body));
    }),
    lie("data before any result", &[], |line, channel, _| {
        line.send(&framed(FrameKind::Data, channel, &[0; 64]));
    }),
    lie("too few results", &["number of results"], |line, channel, _| {
        line.send(&result(channel, vec![Argument::Absent]));
    }),
    lie("too many results", &["number of results"], |line, channel, _| {
        line.send(&result(channel, vec![Argument::Absent, number(6), number(6)]));
    }),
    lie("a result of the wrong size", &["wrong length", "parameter: r"], |line, channel, _| {
        line.send(&result(channel, vec![Argument::Absent, Argument::Inline(vec![1; 3].into())]));
    }),
    lie("a scalar of a terabyte", &[], |line, channel, _| {
        line.send(&result(channel, vec![Argument::Absent, Argument::Blocks(Some(1 << 40))]));
    }),
    lie("a result in memory that nobody shared", &[], |line, channel, _| {
        line.send(&result(channel, vec![Argument::Absent, Argument::Shared(77, 0, 4)]));
    }),
    lie("a result in a file of the server's", &[], |line, channel, _| {
        line.send(&result(
            channel,
            vec![Argument::Absent, Argument::Url("file:///etc/shadow".into())],
        ));
    }),
    lie("a second greeting", &["Hello"], |line, _, _| line.send(&greeting()[PREFACE.len()..])),
    lie("memory without a descriptor", &["descriptor"], |line, _, _| {
        line.send(&Raw::encoded(FrameKind::Share, 0, &Share { segment: 1, bytes: 4096 }));
    }),
    lie("memory taken back that was never given", &[], |line, _, _| {
        line.send(&Raw::encoded(FrameKind::Unshare, 0, &7_u32));
    }),
    lie("credit beyond all measure", &[], |line, channel, _| {
        line.send(&Raw::encoded(
            FrameKind::Window,
            channel,
            &Window { credit: u64::MAX, next_sequence: 0 },
        ));
        line.send(&Raw::encoded(
            FrameKind::Window,
            channel,
            &Window { credit: u64::MAX, next_sequence: 0 },
        ));
        line.send(&framed(FrameKind::Reply, 9, &[]));
    }),
    lie("a connection inside another's call, without its end", &["descriptor"], |line, _, _| {
        line.send(&Raw::encoded(FrameKind::Request, 2, &Request::Nest(CallId([7; 16]))));
    }),
    lie("random bytes", &[], |line, _, open| {
        let mut random = SeededRandom::new(open.call.0[0].into());
        line.send(&(0..40).flat_map(|_| random.bytes16()).collect::<Vec<_>>());
    }),
    ring_lie("more bytes than the ring holds", &["invalid positions"], |line, _, _| {
        line.scribble(place::HEAD, &(line.word(place::HEAD) + (64 << 10) + 1).to_ne_bytes());
        line.strike();
    }),
    ring_lie("more bytes read than were sent", &[], |line, channel, _| {
        line.scribble(place::TAIL, &(line.word(place::TAIL) + (1 << 40)).to_ne_bytes());
        // The server looks when it has something to send, which an answer to this is.
        line.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
        line.send(&framed(FrameKind::Data, channel, &[0; 64]));
    }),
    ring_lie("descriptors that were never sent", &["invalid positions"], |line, _, _| {
        line.scribble(place::RIDERS, &(line.word(place::RIDERS) + 1).to_ne_bytes());
        line.send(&Raw::framed(header(FrameKind::Ping, 0, 0), &[]));
    }),
    ring_lie("the end of a ring, though the socket is open", &[], |line, _, _| {
        line.scribble(place::CLOSED, &1_u32.to_ne_bytes());
        line.strike();
    }),
    ring_lie("a pipe for a memory", &["memory"], |line, _, _| {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        line.send_with(
            &Raw::encoded(FrameKind::Share, 0, &Share { segment: 1, bytes: 4096 }),
            &reader,
        );
    }),
    ring_lie(
        "what the server says of itself is changed, and then nonsense",
        &[],
        |line, channel, _| {
            line.scribble(place::SERVERS_HEAD, &u64::MAX.to_ne_bytes());
            line.scribble(place::SERVERS_TAIL, &u64::MAX.to_ne_bytes());
            line.scribble(place::TURNSTILE, &u64::MAX.to_ne_bytes());
            line.send(&framed(FrameKind::Result, channel, &[0xff; 9]));
        },
    ),
];

/// A server whose executables are this program; what only looks into a module is the real one.
struct Liars {
    server: Server,
    folder: Directory,
}

impl Liars {
    fn new(connection: &str, beginning: &str) -> Liars {
        let folder = Directory::new();
        let release = folder.0.join("release");
        let program = std::env::current_exe().unwrap();
        let name = "hostile::executables::as_an_executable_that_lies";
        let liar = program.display();
        let host = farcall_tests::program();
        let script = format!(
            "test \"$1\" = --check && exec '{}' host --check; \
             exec '{liar}' {name} --exact --nocapture",
            host.display()
        );
        let spawner = format!(
            "host_command = [\"/bin/sh\", \"-c\", '''{script}''', \"sh\"]\nzygotes_max = \
             0\nconnection = \"{connection}\"\nenvironment = {{ {BEGINNING} = \"{beginning}\", \
             {RELEASE} = \"{}\" }}\n",
            release.display()
        );
        let patience = if beginning == "silent" { 1000 } else { 10_000 };
        let server = format!("greeting_ms = {patience}\nexecutables_max = 2");
        let manifest = folder.write("farcall.toml", &manifest_of(&server, &spawner));
        let options = ["--manifest", manifest.to_str().unwrap()];
        Liars { server: Server::start(Transport::Unix, &[battery(false)], &options), folder }
    }

    fn release(&self) {
        self.folder.write("release", "");
    }
}

fn call(client: &Client, x: i32) -> Result<i32, Error> {
    call_within(client, x, PATIENCE)
}

fn call_within(client: &Client, x: i32, timeout: Duration) -> Result<i32, Error> {
    let options = CallOptions { timeout: Some(timeout), ..CallOptions::default() };
    client.routine("f_int").unwrap().call_with([("x", x.into())], &options)?.scalar("r")
}

fn lies_cost_the_call_that_hears_them(connection: &str) {
    let liars = Liars::new(connection, "");
    let client = liars.server.client();
    let patient = client
        .routine("f_int")
        .unwrap()
        .start([("x", PATIENT.into())], &CallOptions::default())
        .unwrap();
    let over_rings = connection == "unix";
    for (number, lie) in LIES.iter().enumerate().filter(|(_, lie)| over_rings || !lie.of_rings) {
        let Err(error) = call(&client, FIRST_LIE + number as i32) else {
            panic!("{}: believed", lie.what)
        };
        println!("{}: {} {error}", lie.what, error.kind().name());
        // Unavailable: one that leaves had not begun the call, and the next that got it left as
        // well.
        let kinds =
            [ErrorKind::Protocol, ErrorKind::Version, ErrorKind::Internal, ErrorKind::Unavailable];
        assert!(kinds.contains(&error.kind()), "{}: {error}", lie.what);
        assert!(error.message().len() > 10, "{}: {error}", lie.what);
        for word in lie.says {
            assert!(
                error.to_string().contains(word),
                "{}: \"{word}\" is missing in: {error}",
                lie.what
            );
        }
        // The same connection's next call runs, in an executable that is honest so far.
        assert_eq!(call(&client, 21).unwrap(), 42, "{}", lie.what);
    }
    liars.release();
    // One that was under way all the time lost nothing.
    assert_eq!(patient.wait().unwrap().scalar::<i32>("r").unwrap(), 2 * PATIENT);
    assert!(eventually(|| liars.server.children().len() <= 2), "{:?}", liars.server.children());
}

#[test]
fn lies_cost_the_call_that_hears_them_over_rings() {
    lies_cost_the_call_that_hears_them("unix");
}

#[test]
fn lies_cost_the_call_that_hears_them_over_tcp() {
    lies_cost_the_call_that_hears_them("tcp");
}

#[test]
fn executables_that_lie_when_they_begin_are_not_served_with() {
    let beginnings = [
        ("stranger", "Farcall"),
        ("silent", "Hello"),
        ("early", ""),
        ("garbage", ""),
        ("list", "the wrong kind of answer"),
        ("elsewhere", ""),
        ("unwilling", "does not like it"),
    ];
    for (beginning, word) in beginnings {
        for connection in ["unix", "tcp"] {
            let liars = Liars::new(connection, beginning);
            let client = liars.server.client();
            let error = call(&client, 4).err().unwrap();
            println!("{beginning}: {} {error}", error.kind().name());
            // Not because the call's own time was over.
            assert!(!error.to_string().contains("timed out after"), "{beginning}: {error}");
            assert!(error.to_string().contains(word), "{beginning}: {error}");
            // The server lives, and the next call is told as much.
            assert!(!client.routines().unwrap().is_empty());
            assert!(eventually(|| liars.server.children().is_empty()), "{beginning}: it stays");
        }
    }
}

/// Whatever becomes of the calls of an executable that makes noise, others' have their results.
#[test]
fn noise_in_the_head_of_rings_harms_nobody_else() {
    let liars = Liars::new("unix", "");
    let client = liars.server.client();
    let patient = client
        .routine("f_int")
        .unwrap()
        .start([("x", PATIENT.into())], &CallOptions::default())
        .unwrap();
    let mut failures = 0;
    for seed in 0..30 {
        failures += i32::from(
            call_within(&client, FIRST_NOISE + seed, Duration::from_millis(200)).is_err(),
        );
        // It may be the same executable, whose rings are as they are now; one that is stopped comes
        // back in another.
        let _ = call_within(&client, 1, Duration::from_millis(200));
        assert_eq!(call(&client, 21).unwrap(), 42, "seed {seed}");
    }
    assert!(failures > 0, "the noise was never heard");
    liars.release();
    assert_eq!(patient.wait().unwrap().scalar::<i32>("r").unwrap(), 2 * PATIENT);
}
