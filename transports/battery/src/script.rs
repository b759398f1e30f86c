//! Parity: one scripted conversation must read the same on every transport, as `script.golden` has
//! it.

use farcall_link::Link;
use farcall_wire::{FrameKind, HEADER_BYTES};

use crate::recorder::{Frame, Recorder, block, exchange, greet, header, link};
use crate::rig::{Rig, pattern};

const GOLDEN: &str = include_str!("script.golden");
/// Set to rewrite the golden file instead of comparing with it; commit a change only when you
/// understand it.
const REWRITE: &str = "FARCALL_REWRITE_GOLDEN";

/// Two calls that overlap, a request, a question of the server's, results in pieces.
pub fn the_script_reads_the_same_on_every_transport(rig: &mut Rig) {
    let (one, other) = rig.pair();
    let mut client = link(one);
    let mut server = link(other);
    let mut at_client = Recorder::default();
    let mut at_server = Recorder::default();
    let mut transcript = String::new();
    greet(&mut client);
    greet(&mut server);
    for act in [open_two_calls, answer_the_first, ask_and_answer_the_second] {
        let (to_server, to_client) = act(&mut client, &mut server);
        turn(
            rig,
            (&mut client, &mut server),
            &mut at_server,
            to_server,
            ("client", &mut transcript),
        );
        turn(
            rig,
            (&mut server, &mut client),
            &mut at_client,
            to_client,
            ("server", &mut transcript),
        );
    }
    if std::env::var_os(REWRITE).is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/script.golden");
        std::fs::write(path, &transcript).unwrap();
    } else {
        assert_eq!(transcript, GOLDEN, "set {REWRITE}=1 to rewrite");
    }
}

/// Frames that each act sends to the server and to the client, the first act's Hello included.
type Counts = (usize, usize);

fn open_two_calls(client: &mut Link, _: &mut Link) -> Counts {
    client.queue_control(header(FrameKind::Request, 1, 0, 0), b"interface of dgesv?", Vec::new());
    client.queue_control(header(FrameKind::Open, 2, 0, 0), &[0xa0; 700], Vec::new());
    client.queue_data(header(FrameKind::Data, 2, 1, 1), [block(&pattern(80_000, 1))]);
    client.queue_control(header(FrameKind::Open, 3, 0, 0), &[0xa1; 5000], Vec::new());
    for piece in 0..3 {
        client.queue_data(
            header(FrameKind::Data, 2, 2, 2 + piece),
            [block(&pattern(50_001, 2 + u64::from(piece)))],
        );
        client.queue_data(header(FrameKind::Data, 3, 1, 1 + piece), [block(&pattern(17, 9))]);
    }
    (11, 1)
}

fn answer_the_first(_: &mut Link, server: &mut Link) -> Counts {
    server.queue_control(header(FrameKind::Reply, 1, 0, 0), &pattern(70_000, 3), Vec::new());
    server.queue_control(header(FrameKind::Window, 2, 0, 0), &[1, 2, 3], Vec::new());
    server.queue_control(header(FrameKind::Result, 2, 0, 1), &[0xb0; 90], Vec::new());
    server.queue_data(header(FrameKind::Data, 2, 2, 2), [block(&pattern(150_003, 4))]);
    (0, 4)
}

fn ask_and_answer_the_second(client: &mut Link, server: &mut Link) -> Counts {
    server.queue_control(header(FrameKind::Notice, 3, 0, 0), b"half done", Vec::new());
    server.queue_data(header(FrameKind::Data, 3, 1, 1), []);
    server.queue_control(header(FrameKind::Result, 3, 0, 2), b"", Vec::new());
    client.queue_control(header(FrameKind::Ping, 0, 0, 1), b"12345678", Vec::new());
    client.queue_control(header(FrameKind::Goodbye, 0, 0, 2), b"bye", Vec::new());
    (2, 3)
}

/// Sends what `links.0` has queued and writes down what `links.1` received.
fn turn(
    rig: &mut Rig,
    links: (&mut Link, &mut Link),
    recorder: &mut Recorder,
    count: usize,
    log: (&str, &mut String),
) {
    let before = recorder.frames.len();
    exchange(rig, links.0, links.1, recorder, before + count);
    for frame in &recorder.frames[before..] {
        log.1.push_str(&format!("{}: {}\n", log.0, line(frame)));
    }
}

fn line(frame: &Frame) -> String {
    let head = &frame.header;
    let kind = FrameKind::from_code(head.kind)
        .map_or_else(|| head.kind.to_string(), |kind| format!("{kind:?}"));
    format!(
        "{kind} channel {} slot {} sequence {} wire {} bytes, body {} bytes, sum {:016x}",
        head.channel,
        head.slot,
        head.sequence,
        HEADER_BYTES + head.padded_length(),
        frame.body.len(),
        sum(&frame.body),
    )
}

/// FNV-1a: a few lines that are the same on every machine.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
