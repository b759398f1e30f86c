//! Sizes that no machine has.

use farcall_base::{Error, ErrorKind};
use farcall_client::Array;
use farcall_tests::{Directory, Raw, Server, Transport, battery, failure_of, manifest, trouble};
use farcall_wire::{Argument, FrameKind, InterfaceReply};

use crate::hostile::misfits::abandon;
use crate::hostile::{interface, long, open};

/// Sends calls of such sizes; returns a connection that still lives.
pub fn are_refused(server: &Server, mut raw: Raw, reply: &InterfaceReply) -> Raw {
    // Sizes whose bytes exceed 64 bits, or any machine: refused before anything is allocated.
    for n in [i64::MAX, i64::MAX / 8, 1 << 50] {
        raw.message(
            FrameKind::Open,
            1,
            &open(reply, vec![long(n), Argument::Blocks(Some((n as u64).wrapping_mul(8)))]),
        );
        match raw.frame() {
            Some((header, body)) if header.kind == FrameKind::Result as u8 => {
                let error = failure_of(&body);
                let fits =
                    matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::InvalidArgument);
                assert!(fits, "n = {n}: {error}");
                abandon(&mut raw, &open(reply, vec![Argument::Blocks(Some(0))]));
            }
            // A sum of arrays over the limit that the server announced is against the rules of the
            // wire.
            Some((header, _)) => {
                assert_eq!(header.kind, FrameKind::Goodbye as u8);
                raw = Raw::greeted(server);
                interface(&mut raw, "touch");
            }
            None => panic!("closed without a word"),
        }
    }
    raw
}

/// What a server that takes 100,000 bytes does with more: of a program that knows the limit, and of
/// one that ignores it.
fn beyond_the_limit_are_refused(transport: Transport) {
    let directory = Directory::new();
    let manifest = directory.write("farcall.toml", &manifest("call_bytes_max = 100000"));
    let server = Server::start(
        transport,
        &[battery(false), trouble(false)],
        &["--manifest", manifest.to_str().unwrap()],
    );
    let client = server.client();
    let touch = |count: usize| {
        let x = vec![1.0; count];
        let outputs = client.routine("touch").unwrap().call([("x", Array::vector(&x).into())])?;
        outputs.array::<f64>("x").map(|x| x.to_vec())
    };
    let error = touch(20_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{transport:?}: {error}");
    assert!(error.to_string().contains("call_bytes_max"), "{transport:?}: {error}");
    assert_eq!(touch(10_000).unwrap(), vec![2.0; 10_000], "{transport:?}");
    // Arrays that are announced, against what the greeting said.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "touch");
    raw.message(
        FrameKind::Open,
        1,
        &open(&reply, vec![long(20_000), Argument::Blocks(Some(160_000))]),
    );
    let error = is_over_the_limit(&mut raw, transport);
    // Refused as it is announced: nobody has looked at the interface.
    let announced = "the call's arrays are larger than this server accepts";
    assert!(error.to_string().contains(announced), "{transport:?}: {error}");
    // Arrays that only come back: nothing is announced, and the server works out what they take.
    let mut raw = Raw::greeted(&server);
    let reply = interface(&mut raw, "untouched");
    raw.message(FrameKind::Open, 1, &open(&reply, vec![long(20_000), Argument::Absent]));
    is_over_the_limit(&mut raw, transport);
    assert!(touch(10_000).is_ok(), "{transport:?}");
}

fn is_over_the_limit(raw: &mut Raw, transport: Transport) -> Error {
    let error = failure_of(&raw.expect(FrameKind::Result));
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{transport:?}: {error}");
    assert!(error.to_string().contains("call_bytes_max"), "{transport:?}: {error}");
    error
}

#[test]
fn over_every_transport() {
    [Transport::Unix, Transport::Tcp, Transport::Tls]
        .into_iter()
        .for_each(beyond_the_limit_are_refused);
}
