//! How a byte stream behaves.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::AsFd;

use farcall_base::{Random, SeededRandom};

use crate::rig::{Progress, Rig, is_later, pattern, receive};

/// No transport may take more than this from a sender whose reader does not read.
const BUFFERED_MAX: usize = 64 << 20;

/// Sends and receives of random lengths: what comes out is what went in.
pub fn bytes_arrive_whole_and_in_order(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let sent = pattern(300_000, 1);
    let mut received = Vec::new();
    let mut at = 0;
    let mut random = SeededRandom::new(2);
    rig.until("partial sends and receives", || {
        let mut lengths = || 1 + (random.next() % 9000) as usize;
        let offer = lengths().min(sent.len() - at);
        let mut room = vec![0; lengths()];
        let mut progress = Progress::Nothing;
        if offer > 0 {
            match one.send(&[IoSlice::new(&sent[at..at + offer])], &[]) {
                Ok(count) => (at, progress) = (at + count, Progress::Moved),
                Err(error) => assert!(is_later(&error), "{error}"),
            }
        }
        match receive(&mut *other, &mut room) {
            Ok(0) => panic!("the stream ended early"),
            Ok(count) => {
                received.extend_from_slice(&room[..count]);
                progress = Progress::Moved;
            }
            Err(error) => assert!(is_later(&error), "{error}"),
        }
        if received.len() == sent.len() { Progress::Done } else { progress }
    });
    assert!(received == sent);
}

/// Parts are sent and filled in order, empty ones included.
pub fn vectors_are_one_run_of_bytes(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let parts =
        [IoSlice::new(b"abc"), IoSlice::new(b""), IoSlice::new(b"defgh"), IoSlice::new(b"i")];
    assert_eq!(one.send(&parts, &[]).unwrap(), 9, "an empty stream has room for nine bytes");
    let mut first = [0; 2];
    let mut second = [0; 0];
    let mut third = [0; 20];
    let mut count = 0;
    rig.until("receive a vector", || {
        let mut room = [
            IoSliceMut::new(&mut first),
            IoSliceMut::new(&mut second),
            IoSliceMut::new(&mut third),
        ];
        match other.receive(&mut room, &mut Vec::new()) {
            Ok(bytes) => {
                count = bytes;
                Progress::Done
            }
            Err(error) => Progress::unless_broken(&error),
        }
    });
    assert_eq!((count, &first, &third[..7]), (9, b"ab", b"cdefghi".as_slice()));
}

/// A dropped end delivers what it sent, then the end, again and again.
pub fn end_of_stream_comes_after_the_last_byte(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let sent = pattern(1000, 3);
    rig.send_all(&mut *one, &sent);
    drop(one);
    assert!(rig.receive_exactly(&mut *other, 1000) == sent);
    rig.until("end of stream", || match receive(&mut *other, &mut [0; 10]) {
        Ok(0) => Progress::Done,
        Ok(count) => panic!("{count} bytes that nobody sent"),
        Err(error) => Progress::unless_broken(&error),
    });
    assert_eq!(receive(&mut *other, &mut [0; 10]).unwrap(), 0, "the end stays the end");
}

/// Receiving from an empty stream returns at once.
pub fn an_empty_stream_would_block(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    for stream in [&mut one, &mut other] {
        assert_eq!(receive(&mut **stream, &mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

/// Where the stream offers it: waits no longer than it says, and receives what comes, descriptors
/// too, without changing how the stream receives.
pub fn waiting_and_receiving_can_be_one(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let (waiter, sender) = match one.blocking_receive() {
        Some(_) => (&mut one, &mut other),
        None => (&mut other, &mut one),
    };
    let Some(wait) = waiter.blocking_receive() else { return };
    let mut room = [0; 10];
    let mut descriptors = Vec::new();
    let socket = waiter.readiness().unwrap();
    let nothing = wait(socket, &mut room, &mut descriptors).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    let passed = std::fs::File::open("/dev/null").unwrap();
    let sent = if sender.passes_descriptors() { vec![passed.as_fd()] } else { Vec::new() };
    assert_eq!(sender.send(&[IoSlice::new(b"abc")], &sent).unwrap(), 3);
    let mut count = 0;
    rig.until("wait and receive", || match wait(socket, &mut room, &mut descriptors) {
        Ok(bytes) => {
            count = bytes;
            Progress::Done
        }
        Err(error) => Progress::unless_broken(&error),
    });
    assert_eq!((&room[..count], descriptors.len()), (b"abc".as_slice(), sent.len()));
    assert_eq!(receive(&mut **waiter, &mut room).unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// A sender is stopped by a reader that does not read, and goes on when it does; nothing is lost.
pub fn a_full_stream_pushes_back_and_goes_on(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let block = pattern(1 << 16, 4);
    let mut sent = 0;
    let mut idle = 0;
    // TCP makes room while it moves bytes to the other side, so a single refusal is not yet "full".
    while idle < 200 {
        let at = sent % block.len();
        match one.send(&[IoSlice::new(&block[at..])], &[]) {
            Ok(count) => (sent, idle) = (sent + count, 0),
            Err(error) if is_later(&error) => {
                idle += 1;
                (rig.pass_time)();
            }
            Err(error) => panic!("the stream broke: {error}"),
        }
        assert!(sent <= BUFFERED_MAX, "the transport buffers without bound");
    }
    let received = rig.receive_exactly(&mut *other, sent);
    assert!(received.chunks(block.len()).all(|chunk| *chunk == block[..chunk.len()]));
    // What was refused comes first: a stream may have prepared it already.
    let refused = &block[sent % block.len()..];
    rig.send_all(&mut *one, refused);
    assert!(rig.receive_exactly(&mut *other, refused.len()) == refused);
    rig.send_all(&mut *one, b"and on");
    assert_eq!(rig.receive_exactly(&mut *other, 6), b"and on");
}

/// Large transfers in both directions at once do not wait for each other.
pub fn sixteen_mib_both_ways_at_once(rig: &mut Rig) {
    const BYTES: usize = 16 << 20;
    let (mut one, mut other) = rig.pair();
    let there = pattern(BYTES, 5);
    let back = pattern(BYTES, 6);
    let mut sent = [0; 2];
    let mut got = [0; 2];
    let mut received = [vec![0; BYTES], vec![0; BYTES]];
    rig.until("both ways at once", || {
        let mut moved = 0;
        for (index, (stream, bytes)) in
            [(&mut one, &there), (&mut other, &back)].into_iter().enumerate()
        {
            moved +=
                count(stream.send(&[IoSlice::new(&bytes[sent[index]..])], &[]), &mut sent[index]);
            let start = got[index];
            moved += count(receive(&mut **stream, &mut received[index][start..]), &mut got[index]);
        }
        match (got == [BYTES; 2], moved) {
            (true, _) => Progress::Done,
            (false, 0) => Progress::Nothing,
            _ => Progress::Moved,
        }
    });
    assert!(received[0] == back && received[1] == there);
}

fn count(result: std::io::Result<usize>, total: &mut usize) -> usize {
    match result {
        Ok(bytes) => {
            *total += bytes;
            bytes
        }
        Err(error) if is_later(&error) => 0,
        Err(error) => panic!("the stream broke: {error}"),
    }
}

/// When the other end vanishes in the middle of a transfer, both sending and receiving come to an
/// end.
pub fn a_dropped_peer_never_hangs_us(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let block = pattern(1 << 16, 7);
    rig.send_all(&mut *other, &block[..5000]);
    rig.send_all(&mut *one, &block[..5000]);
    // `other` has unread bytes, as a process that is killed would.
    drop(other);
    // A SIGPIPE would end this process and with it the test.
    rig.until("sending to a peer that is gone", || match one.send(&[IoSlice::new(&block)], &[]) {
        Ok(_) => Progress::Moved,
        Err(error) if is_later(&error) => Progress::Nothing,
        Err(_) => Progress::Done,
    });
    // TCP tells of the reset once; from the second time on a careless send raises the signal.
    assert!(one.send(&[IoSlice::new(&block)], &[]).is_err(), "a broken stream stays broken");
    rig.until("receiving from a peer that is gone", || match receive(&mut *one, &mut [0; 1000]) {
        Ok(0) => Progress::Done,
        Ok(_) => Progress::Moved,
        Err(error) if is_later(&error) => Progress::Nothing,
        Err(_) => Progress::Done,
    });
}

/// A descriptor arrives in the receive that returns the first byte it was sent with, open and
/// close-on-exec.
pub fn descriptors_come_with_their_byte(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    if !one.passes_descriptors() {
        return;
    }
    let (mut reader, writer) = std::io::pipe().unwrap();
    one.send(&[IoSlice::new(&[1; 10])], &[]).unwrap();
    one.send(&[IoSlice::new(&[2; 10])], &[writer.as_fd()]).unwrap();
    one.send(&[IoSlice::new(&[3; 10])], &[]).unwrap();
    drop(writer);
    let mut descriptors = Vec::new();
    let mut got = Vec::new();
    // Receives of 4 bytes: the 10th byte is the last before the descriptor's.
    while got.len() < 30 {
        let mut room = [0; 4];
        let count = other.receive(&mut [IoSliceMut::new(&mut room)], &mut descriptors).unwrap();
        got.extend_from_slice(&room[..count]);
        assert_eq!(!descriptors.is_empty(), got.len() > 10, "after {} bytes", got.len());
    }
    assert_eq!(descriptors.len(), 1);
    let flags = rustix::io::fcntl_getfd(&descriptors[0]).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "or every child would inherit it");
    let mut through = std::fs::File::from(descriptors.remove(0));
    through.write_all(b"through").unwrap();
    drop(through);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
}

/// Descriptors that could not arrive are refused before anything is sent.
pub fn impossible_descriptors_are_refused(rig: &mut Rig) {
    let (mut one, mut other) = rig.pair();
    let (reader, _writer) = std::io::pipe().unwrap();
    let many = vec![reader.as_fd(); 300];
    let bytes = [IoSlice::new(b"x")];
    let nothing = [IoSlice::new(b"")];
    if one.passes_descriptors() {
        assert_eq!(
            one.send(&nothing, &many[..1]).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "no byte to ride with"
        );
        assert_eq!(
            one.send(&bytes, &many).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "too many"
        );
    } else {
        assert_eq!(
            one.send(&bytes, &many[..1]).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "they cannot travel"
        );
    }
    (rig.pass_time)();
    assert_eq!(receive(&mut *other, &mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
