//! Servers that break the rules: their clients hear what was wrong, hang up, and have lost nothing
//! else.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use farcall_base::{ChannelId, ErrorKind};
use farcall_client::{Client, Error};
use farcall_tests::{Directory, Raw, Server, Transport, battery};
use farcall_wire::{
    Flags, FrameHeader, FrameKind, HEADER_BYTES, PREFACE, Reply, Role, Share, padding,
};

fn hello() -> Vec<u8> {
    Raw::greeting(Role::Server)
}

fn read_frame(stream: &mut UnixStream) -> Option<FrameKind> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header).ok()?;
    let header = FrameHeader::decode(&header);
    let mut body = vec![0; header.length as usize + padding(header.length)];
    stream.read_exact(&mut body).ok()?;
    FrameKind::from_code(header.kind)
}

/// Greets the client, and says `lie` once it asks for a routine; whether the client hung up then.
fn lie(listener: &UnixListener, lie: &[u8]) -> bool {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.read_exact(&mut [0; PREFACE.len()]).unwrap();
    assert_eq!(read_frame(&mut stream), Some(FrameKind::Hello));
    stream.write_all(&hello()).unwrap();
    while read_frame(&mut stream) != Some(FrameKind::Request) {}
    let _ = stream.write_all(lie);
    // Its end, or a reset: not a pause.
    let rest = stream.read_to_end(&mut Vec::new());
    rest.err().is_none_or(|error| error.kind() != std::io::ErrorKind::WouldBlock)
}

/// What a client says that such a server answers.
fn hears(folder: &Directory, words: &[u8]) -> Error {
    let path = folder.0.join("liar.sock");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        let liar = scope.spawn(|| lie(&listener, words));
        let address = format!("unix:{}", path.display()).parse().unwrap();
        let client = Client::connect_to(&address, None, Duration::from_secs(10)).unwrap();
        let error = client.routine("anything").err().unwrap();
        assert!(client.routines().is_err(), "the connection is over");
        assert!(liar.join().unwrap(), "the client stays connected: {error}");
        error
    })
}

fn framed(kind: FrameKind, channel: u32, body: &[u8]) -> Vec<u8> {
    Raw::framed(FrameHeader::new(kind, ChannelId(channel), body.len() as u32), body)
}

#[test]
fn a_server_that_breaks_the_rules_is_left() {
    let good = Server::start(Transport::Unix, &[battery(false)], &[]);
    let client = good.client();
    let folder = Directory::new();
    let announced = |kind, length| FrameHeader::new(kind, ChannelId(1), length).encode().to_vec();
    let strange = FrameHeader {
        kind: 99,
        flags: Flags::CRITICAL,
        ..FrameHeader::new(FrameKind::Ping, ChannelId(0), 0)
    };
    let cases: [(&str, Vec<u8>); 11] = [
        ("an answer to a question of nobody's", Raw::encoded(FrameKind::Reply, 77, &Reply::Done)),
        ("an answer on a channel of its own", Raw::encoded(FrameKind::Reply, 2, &Reply::Done)),
        ("a result of no call", framed(FrameKind::Result, 1, &[0xa0])),
        ("data of no call", framed(FrameKind::Data, 1, &[0; 64])),
        ("an answer that is no CBOR", framed(FrameKind::Reply, 1, &[0xff; 3])),
        ("an answer of 4 GiB", announced(FrameKind::Reply, u32::MAX)),
        ("data of 4 GiB", announced(FrameKind::Data, u32::MAX)),
        ("a kind that must be known", Raw::framed(strange, &[])),
        ("a second greeting", hello()[PREFACE.len()..].to_vec()),
        (
            "memory without a descriptor",
            Raw::encoded(FrameKind::Share, 0, &Share { segment: 1, bytes: 4096 }),
        ),
        ("memory taken back that was never given", Raw::encoded(FrameKind::Unshare, 0, &7_u32)),
    ];
    for (case, words) in cases {
        let error = hears(&folder, &words);
        assert!(
            matches!(error.kind(), ErrorKind::Protocol | ErrorKind::Version),
            "{case}: {error}"
        );
        assert!(error.message().len() > 10, "{case}: {error}");
        // The same program's connection to another server goes on.
        let outputs = client.routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
        assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
    }
}
