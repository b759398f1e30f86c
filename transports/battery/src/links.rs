//! How frames travel over a transport: whole, in order, data in place.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use farcall_link::compression::Compression;
use farcall_link::memory::Region;
use farcall_link::packing::Packing;
use farcall_link::strided::{Axis, Strided};
use farcall_link::{Link, READ_AHEAD, Received};
use farcall_wire::{Flags, FrameHeader, FrameKind, PREFACE};

use crate::recorder::{Recorder, block, exchange, greet, header, link, region};
use crate::rig::{Progress, Rig, pattern};

fn links(rig: &mut Rig) -> (Link, Link) {
    let (one, other) = rig.pair();
    (link(one), link(other))
}

/// Bodies of no bytes, around the read-ahead, and of the limit; headers arrive as they were sent.
pub fn control_frames_of_every_size(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    let sizes = [
        0,
        1,
        7,
        8,
        9,
        READ_AHEAD - 16,
        READ_AHEAD - 1,
        READ_AHEAD,
        READ_AHEAD + 1,
        65_536,
        1 << 20,
        3,
    ];
    greet(&mut one);
    for (index, size) in sizes.iter().enumerate() {
        let head = FrameHeader {
            flags: Flags::END,
            ..header(FrameKind::Request, 7, index as u16, 40 + index as u32)
        };
        one.queue_control(head, &pattern(*size, index as u64), Vec::new());
    }
    let mut recorder = Recorder::default();
    exchange(rig, &mut one, &mut other, &mut recorder, 1 + sizes.len());
    for (index, (frame, size)) in recorder.frames[1..].iter().zip(sizes).enumerate() {
        let expected = header(FrameKind::Request, 7, index as u16, 40 + index as u32);
        assert_eq!(
            frame.header,
            FrameHeader { flags: Flags::END, length: size as u32, ..expected }
        );
        assert!(frame.body == pattern(size, index as u64), "a body of {size} bytes");
    }
    assert_eq!(other.bytes_copied(), 0, "control frames are no array bytes");
}

/// Array bytes go straight to their place: only what came along with a control frame is copied.
pub fn data_lands_in_place(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    let sizes = [1 << 20, (1 << 20) + 1, 4 << 20, (2 << 20) - 5, 1 << 20];
    greet(&mut one);
    for (index, size) in sizes.iter().enumerate() {
        one.queue_control(header(FrameKind::Open, 1, 0, index as u32), &[9; 300], Vec::new());
        one.queue_data(
            header(FrameKind::Data, 1, 3, index as u32),
            [block(&pattern(*size, index as u64))],
        );
    }
    let mut recorder = Recorder::default();
    exchange(rig, &mut one, &mut other, &mut recorder, 1 + 2 * sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        let open = &recorder.frames[1 + 2 * index];
        let data = &recorder.frames[2 + 2 * index];
        assert_eq!((open.header.kind, open.body.len()), (FrameKind::Open as u8, 300));
        assert!(data.body == pattern(*size, index as u64), "data of {size} bytes");
    }
    let bound = (READ_AHEAD * sizes.len()) as u64;
    assert!(
        other.bytes_copied() <= bound,
        "{} bytes copied, at most {bound} are allowed",
        other.bytes_copied()
    );
}

/// Frames of several channels and slots in turn, small and large, in both directions.
pub fn channels_interleave(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    let size = |index: u32| [1usize, 16, 5000, 100_000, 0, 33][index as usize % 6];
    for link in [&mut one, &mut other] {
        greet(link);
        for index in 0..60u32 {
            let head = header(FrameKind::Data, 1 + index % 3, (index % 4) as u16, index);
            // Two blocks per frame, as two runs of a strided array would be.
            let bytes = pattern(size(index), index.into());
            let (first, second) = bytes.split_at(bytes.len() / 3);
            link.queue_data(head, [block(first), block(second)]);
            link.queue_control(
                header(FrameKind::Window, 1 + index % 3, 0, index),
                &[index as u8],
                Vec::new(),
            );
        }
    }
    let mut there = Recorder::default();
    let mut back = Recorder::default();
    exchange(rig, &mut one, &mut other, &mut there, 121);
    exchange(rig, &mut other, &mut one, &mut back, 121);
    for recorder in [there, back] {
        for index in 0..60u32 {
            let data = &recorder.frames[1 + 2 * index as usize];
            let window = &recorder.frames[2 + 2 * index as usize];
            let expected = header(FrameKind::Data, 1 + index % 3, (index % 4) as u16, index);
            assert_eq!(data.header, FrameHeader { length: size(index) as u32, ..expected });
            assert!(data.body == pattern(size(index), index.into()), "frame {index}");
            assert_eq!((window.header.channel.0, window.body[0]), (1 + index % 3, index as u8));
        }
    }
}

/// A handler that offers little space at a time (a strided array) gets the same bytes.
pub fn data_is_placed_piece_by_piece(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    let bytes = pattern(100_003, 1);
    greet(&mut one);
    one.queue_data(header(FrameKind::Data, 1, 0, 0), bytes.chunks(777).map(block));
    one.queue_control(header(FrameKind::Ping, 0, 0, 0), b"", Vec::new());
    let mut recorder = Recorder { space_bytes_max: 1000, ..Recorder::default() };
    exchange(rig, &mut one, &mut other, &mut recorder, 3);
    assert!(recorder.frames[1].body == bytes);
}

/// Compressed frames come as if they had come as they were: whole, piece by piece, or unwanted.
pub fn compressed_data_comes_as_it_was(rig: &mut Rig) {
    for space_bytes_max in [usize::MAX, 1000, 0] {
        let (mut one, mut other) = links(rig);
        one.compress(Compression::Always);
        other.compress(Compression::Always);
        greet(&mut one);
        let curve: Vec<u8> =
            (0..100_003).flat_map(|index| f64::from(index / 7).sqrt().to_le_bytes()).collect();
        let bodies = [&curve[..], &curve[..5000], &curve[..104], &pattern(300_000, 1)];
        let head = FrameHeader { flags: Flags::END, ..header(FrameKind::Data, 1, 0, 7) };
        for body in bodies {
            let axes = [Axis { count: body.len() as u64 / 8, stride: 8 }].into_iter().collect();
            let array = Strided { offset: 0, element_bytes: 8, axes };
            let region: Arc<dyn Region> = Arc::new(region(body));
            let mut packing = Packing::new(region, 0, &array).unwrap();
            one.queue_array(FrameHeader { length: body.len() as u32, ..head }, &mut packing)
                .unwrap();
        }
        one.queue_control(header(FrameKind::Ping, 0, 0, 0), b"after", Vec::new());
        let bytes: usize = bodies.iter().map(|body| body.len()).sum();
        assert!(one.bytes_queued() < bytes / 10 * 7, "{} of {bytes}", one.bytes_queued());
        let mut recorder = Recorder { space_bytes_max, ..Recorder::default() };
        exchange(rig, &mut one, &mut other, &mut recorder, 6);
        for (frame, body) in recorder.frames[1..].iter().zip(bodies) {
            assert_eq!(frame.header, FrameHeader { length: body.len() as u32, ..head });
            assert!(space_bytes_max == 0 || frame.body == body, "{} bytes", body.len());
        }
        assert_eq!(recorder.frames[5].body, b"after");
    }
}

/// Data that nobody wants passes by, and the frames behind it are found.
pub fn unwanted_data_is_thrown_away(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    greet(&mut one);
    one.queue_data(header(FrameKind::Data, 1, 0, 0), [block(&pattern(1_000_001, 1))]);
    one.queue_control(header(FrameKind::Ping, 0, 0, 0), b"after", Vec::new());
    let mut recorder = Recorder { space_bytes_max: 0, ..Recorder::default() };
    exchange(rig, &mut one, &mut other, &mut recorder, 3);
    assert_eq!(recorder.frames[2].body, b"after");
}

/// A receiver may stop after any number of bytes and go on later.
pub fn a_budget_pauses_and_nothing_is_lost(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    greet(&mut one);
    for index in 0..50 {
        one.queue_data(header(FrameKind::Data, 1, 0, index), [block(&pattern(3001, index.into()))]);
    }
    let mut recorder = Recorder::default();
    let mut pauses = 0;
    rig.until("receive with a small budget", || {
        one.flush().unwrap();
        let received = other.receive(&mut recorder, 100).unwrap();
        pauses += u32::from(received == Received::More);
        match received {
            _ if recorder.frames.len() == 51 => Progress::Done,
            Received::More => Progress::Moved,
            _ => Progress::Nothing,
        }
    });
    assert!(pauses > 10, "the budget stops a turn");
    assert!((0..50).all(|index| recorder.frames[1 + index].body == pattern(3001, index as u64)));
}

/// Each Share frame takes its own descriptor, whatever is sent before and behind it.
pub fn descriptors_stay_with_their_frame(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    if !one.stream().passes_descriptors() {
        return;
    }
    greet(&mut one);
    for index in 0..20 {
        let descriptor: OwnedFd = std::io::pipe().unwrap().0.into();
        one.queue_control(
            header(FrameKind::Share, 0, 0, index),
            &[3; 40],
            vec![Arc::new(descriptor)],
        );
        // An odd length: its padding is one more piece behind the descriptor's in the same system
        // call.
        one.queue_data(header(FrameKind::Data, 1, 0, index), [block(&pattern(10_001, 1))]);
    }
    let mut recorder = Recorder::default();
    exchange(rig, &mut one, &mut other, &mut recorder, 41);
    let shares = recorder.frames.iter().filter(|frame| frame.header.kind == FrameKind::Share as u8);
    assert_eq!(shares.map(|frame| frame.descriptors).collect::<Vec<_>>(), vec![1; 20]);
}

/// Frames of a later version that are not critical pass by, bodies and padding included.
pub fn unknown_frames_are_skipped(rig: &mut Rig) {
    let (mut one, other) = rig.pair();
    let mut other = link(other);
    let mut bytes = PREFACE.to_vec();
    bytes.extend(header(FrameKind::Hello, 0, 0, 0).encode());
    for size in [0usize, 1, 10_000, 8] {
        let head =
            FrameHeader { kind: 200, length: size as u32, ..header(FrameKind::Ping, 9, 9, 9) };
        bytes.extend(head.encode());
        bytes.resize(bytes.len() + head.padded_length(), 0xee);
    }
    bytes.extend(header(FrameKind::Ping, 5, 0, 0).encode());
    rig.send_all(&mut *one, &bytes);
    let mut recorder = Recorder::default();
    rig.until("skip unknown frames", || {
        other.receive(&mut recorder, 1 << 20).unwrap();
        if recorder.frames.len() == 2 { Progress::Done } else { Progress::Nothing }
    });
    assert_eq!(recorder.frames[1].header, header(FrameKind::Ping, 5, 0, 0));
}

/// Nothing is received while the buffer is lent; what it comes back with is handled as if the link
/// had received it. Inside a frame it is not lent.
pub fn a_lent_buffer_comes_back_with_frames(rig: &mut Rig) {
    let (mut one, mut other) = links(rig);
    let mut recorder = Recorder::default();
    greet(&mut one);
    exchange(rig, &mut one, &mut other, &mut recorder, 1);
    let mut buffer = other.lend_buffer().unwrap();
    assert!(other.lend_buffer().is_none(), "there is one buffer");
    let head = FrameHeader { length: 3, ..header(FrameKind::Request, 7, 0, 1) };
    let mut bytes = head.encode().to_vec();
    bytes.extend(*b"abc\0\0\0\0\0");
    bytes.extend(&header(FrameKind::Request, 7, 0, 2).encode()[..5]);
    buffer[..bytes.len()].copy_from_slice(&bytes);
    assert_eq!(other.receive(&mut recorder, 1).unwrap(), Received::Blocked);
    other.return_buffer(buffer, bytes.len(), Vec::new());
    assert_eq!(other.receive(&mut recorder, 1).unwrap(), Received::Blocked);
    assert_eq!(recorder.frames.len(), 2);
    assert_eq!(recorder.frames[1].body, b"abc");
    assert!(other.lend_buffer().is_none(), "a header has come in part");
}
