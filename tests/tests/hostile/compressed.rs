//! Compressed data that lies, by hand: the connection ends with a reason that names the argument.

use farcall_base::ErrorKind;
use farcall_tests::{Directory, Raw, Server, Transport, battery};
use farcall_wire::{
    Argument, COMPRESSION, CompressedHead, Flags, FrameHeader, FrameKind, Hello, PREFACE,
};

use crate::hostile::{header, interface, long, open, says, serves, start};

/// Array bytes of the one call.
const BYTES: u32 = 4096;

/// A peer that names the feature, or not, and has opened a call with an array in blocks.
fn opened(server: &Server, features: Vec<String>) -> Raw {
    let mut raw = Raw::connect(server);
    raw.send(&PREFACE);
    let hello = Hello { features, ..raw.hello() };
    raw.message(FrameKind::Hello, 0, &hello);
    raw.expect(FrameKind::Hello);
    let reply = interface(&mut raw, "touch");
    let arguments = vec![long((BYTES / 8).into()), Argument::Blocks(Some(BYTES.into()))];
    raw.message(FrameKind::Open, 1, &open(&reply, arguments));
    raw
}

fn named() -> Vec<String> {
    vec![COMPRESSION.to_owned()]
}

/// Sends the first data frame of the array, which claims to stand for `bytes`.
fn send(raw: &mut Raw, bytes: u32, flags: Flags, body: &[u8]) {
    let body = [&CompressedHead { bytes, width: 8 }.encode(), body].concat();
    let flags = flags.with(Flags::COMPRESSED);
    let length = body.len() as u32;
    let header = FrameHeader { slot: 1, sequence: 1, flags, ..header(FrameKind::Data, 1, length) };
    raw.send(&Raw::framed(header, &body));
}

/// An LZ4 block of so many zeros: one of them, repeated, and five at the end as they are (the
/// format wants that).
fn zeros(count: usize) -> Vec<u8> {
    let mut block = vec![0x1f, 0, 1, 0];
    let mut more = count - 1 - 5 - 4 - 15;
    while more >= 255 {
        block.push(255);
        more -= 255;
    }
    block.extend([more as u8, 0x50, 0, 0, 0, 0, 0]);
    block
}

pub fn frames_that_lie_end_the_connection(transport: Transport) {
    let server = start(transport);
    // As it should be, so that the rest fails for the right reason.
    let mut raw = opened(&server, named());
    send(&mut raw, BYTES, Flags::END, &zeros(BYTES as usize));
    raw.expect(FrameKind::Result);
    let slot = &["slot: 1"][..];
    let cases = [
        (
            "the array ends in it, and it does not say so",
            BYTES,
            Flags::default(),
            "more or less data than",
        ),
        ("more than is left of the array", BYTES + 8, Flags::END, "more or less data than"),
        ("a bomb", u32::MAX, Flags::END, "more bytes than a frame may have"),
        ("less than its bytes give", BYTES - 8, Flags::default(), "damaged"),
    ];
    for (what, bytes, flags, words) in cases {
        let mut raw = opened(&server, named());
        send(&mut raw, bytes, flags, &zeros(BYTES as usize));
        println!("{what}");
        says(&mut raw, ErrorKind::Protocol, &[slot, &[words]].concat());
    }
    // More than the credit, which the array as a whole has.
    let mut raw = opened(&server, named());
    send(&mut raw, 2 << 20, Flags::END, &zeros(2 << 20));
    says(&mut raw, ErrorKind::Protocol, &["credit"]);
    // Nobody agreed on it.
    let mut raw = opened(&server, Vec::new());
    send(&mut raw, BYTES, Flags::END, &zeros(BYTES as usize));
    says(&mut raw, ErrorKind::Protocol, &["without the feature", "slot: 1"]);
    serves(&server);
}

#[test]
fn tcp() {
    frames_that_lie_end_the_connection(Transport::Tcp);
}

#[test]
fn tls() {
    frames_that_lie_end_the_connection(Transport::Tls);
}

/// A server over TCP whose manifest has this choice.
fn choosing(choice: &str) -> Server {
    let directory = Directory::new();
    let slots = [("directory", "directory"), ("spawner-local", "spawner"), ("rpc-server", "rpc")];
    let section = |(name, slot): (&str, &str)| {
        let options =
            if slot == "rpc" { format!("compression = \"{choice}\"\n") } else { String::new() };
        format!("[[plugin]]\nname = \"{name}\"\nslot = \"{slot}\"\n[plugin.options]\n{options}\n")
    };
    let manifest = directory.write("farcall.toml", &slots.map(section).concat());
    Server::start(Transport::Tcp, &[battery(false)], &["--manifest", manifest.to_str().unwrap()])
}

/// A server that was told to leave it takes none, whatever its clients name.
#[test]
fn a_server_without_the_feature_takes_none() {
    let server = choosing("off");
    let mut raw = opened(&server, named());
    send(&mut raw, BYTES, Flags::END, &zeros(BYTES as usize));
    says(&mut raw, ErrorKind::Protocol, &["without the feature"]);
    serves(&server);
}

/// What comes back is compressed for whom it was agreed with, and for nobody else.
#[test]
fn a_server_that_always_compresses_does_so() {
    let server = choosing("always");
    for (features, flags, most) in
        [(named(), Flags::END.with(Flags::COMPRESSED), 200), (Vec::new(), Flags::END, BYTES)]
    {
        let mut raw = opened(&server, features);
        raw.data(1, 1, 1, true, &[0; BYTES as usize]);
        raw.expect(FrameKind::Result);
        let (header, _) = raw.frame().unwrap();
        assert_eq!((header.kind, header.flags), (FrameKind::Data as u8, flags));
        assert!(header.length <= most, "{header:?}");
    }
}
