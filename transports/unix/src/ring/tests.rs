//! The battery over rings, and what only rings can get wrong.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::time::Duration;

use farcall_base::{Random, SeededRandom};
use farcall_transport_battery::Rig;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::memory::Ground;
use super::*;

mod model;

fn sockets() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap()
}

fn rings() -> (Box<dyn ByteStream>, Box<dyn ByteStream>) {
    let (one, other) = sockets();
    let one = offer(one, Proof::Inherited).unwrap();
    (one, accept(other, Proof::Inherited).unwrap())
}

fn rig() -> Rig {
    let rest = || std::thread::sleep(Duration::from_micros(20));
    Rig { pair: Box::new(rings), pass_time: Box::new(rest) }
}

mod over_rings {
    farcall_transport_battery::stamp!(super::super::rig);
}

/// Two ends of our own, with their insides in reach.
fn ends() -> (Flow<Mapping, Beside>, Flow<Mapping, Beside>) {
    let (one, other) = sockets();
    let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
    let first = bell();
    let second = bell();
    let memory = RingMemory::create().unwrap();
    let same = RingMemory::adopt(memory.descriptor().unwrap().try_clone().unwrap()).unwrap();
    let clones = (first.try_clone().unwrap(), second.try_clone().unwrap());
    let end = |memory, socket, bell, peer_bell| {
        let socket = unix_stream(socket, Proof::Inherited).unwrap();
        Flow::new(memory, Beside { socket, bell, peer_bell })
    };
    let one = end(memory, one, first, second);
    let other = end(same, other, clones.1, clones.0);
    (one, other)
}

/// Whether the bell was struck since the last question.
fn was_rung(flow: &Flow<Mapping, Beside>) -> bool {
    rustix::io::read(&flow.side.bell, &mut [0; 8]).is_ok()
}

#[test]
fn a_sleeper_is_rung_once_and_whoever_is_awake_never() {
    let (mut one, mut other) = ends();
    one.send(&[IoSlice::new(b"first")], &[]).unwrap();
    assert!(was_rung(&other), "it slept from the beginning");
    one.send(&[IoSlice::new(b"second")], &[]).unwrap();
    assert!(!was_rung(&other), "it has not looked yet: it knows that there is something");
    let mut room = [0; 11];
    assert_eq!(other.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()).unwrap(), 11);
    one.send(&[IoSlice::new(b"third")], &[]).unwrap();
    assert!(!was_rung(&other), "it got as much as it had room for: it will look again");
    assert_eq!(other.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()).unwrap(), 5);
    one.send(&[IoSlice::new(b"fourth")], &[]).unwrap();
    assert!(was_rung(&other), "it got less, so it may sleep");
    assert!(!was_rung(&one), "nobody wrote to it");
}

#[test]
fn a_sender_that_found_no_room_is_rung_when_there_is_some() {
    let (mut one, mut other) = ends();
    let full = vec![7; Mapping::CAPACITY as usize];
    assert_eq!(one.send(&[IoSlice::new(&full)], &[]).unwrap(), full.len());
    assert_eq!(one.send(&[IoSlice::new(b"x")], &[]).unwrap_err().kind(), IoErrorKind::WouldBlock);
    assert!(!was_rung(&one));
    other.receive(&mut [IoSliceMut::new(&mut [0; 1])], &mut Vec::new()).unwrap();
    assert!(was_rung(&one));
    assert_eq!(one.send(&[IoSlice::new(b"xy")], &[]).unwrap(), 1);
}

#[test]
fn the_bytes_of_both_sides_of_the_wrap_arrive() {
    let (mut one, mut other) = ends();
    // Positions wrap too, after 2⁶⁴ bytes: both ends stand just before.
    for end in [&mut one, &mut other] {
        (end.sent, end.received) = (u64::MAX - 100, u64::MAX - 100);
        end.memory.outgoing().set_head(end.sent);
        end.memory.incoming().set_tail(end.received);
    }
    let (reader, _writer) = std::io::pipe().unwrap();
    for round in 0..2000_u32 {
        let text = format!("message {round} of some length").repeat(1 + round as usize % 7);
        one.send(&[IoSlice::new(text.as_bytes())], &[reader.as_fd()]).unwrap();
        let mut room = vec![0; text.len()];
        let mut descriptors = Vec::new();
        assert_eq!(
            other.receive(&mut [IoSliceMut::new(&mut room)], &mut descriptors).unwrap(),
            text.len()
        );
        assert_eq!((room, descriptors.len()), (text.into_bytes(), 1));
    }
}

#[test]
fn impossible_positions_break_the_stream_and_nothing_else() {
    // More bytes than the ring holds. Fewer are the peer's own, whatever they are.
    for head in [Mapping::CAPACITY + 1, 1 << 63, u64::MAX] {
        let (one, mut other) = ends();
        one.memory.outgoing().set_head(head);
        let error =
            other.receive(&mut [IoSliceMut::new(&mut [0; 8])], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::InvalidData);
    }
    // Ahead of what was sent, or behind it by more than the ring holds.
    for tail in [1, Mapping::CAPACITY + 1, 1 << 63, (Mapping::CAPACITY + 1).wrapping_neg()] {
        let (mut one, other) = ends();
        other.memory.incoming().set_tail(tail);
        assert_eq!(
            one.send(&[IoSlice::new(b"abc")], &[]).unwrap_err().kind(),
            IoErrorKind::InvalidData
        );
        other.memory.incoming().set_tail(0);
        let error = one.send(&[IoSlice::new(b"abc")], &[]).unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::BrokenPipe, "a broken stream stays broken");
    }
}

#[test]
fn descriptors_that_were_never_announced_or_never_sent_break_the_stream() {
    let (mut one, mut other) = ends();
    one.send(&[IoSlice::new(b"abc")], &[]).unwrap();
    one.memory.outgoing().add_rider();
    let error = other.receive(&mut [IoSliceMut::new(&mut [0; 8])], &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.kind(),
        IoErrorKind::InvalidData,
        "the socket has nothing: nobody waits for it for ever"
    );
    let (mut one, mut other) = ends();
    let (reader, _writer) = std::io::pipe().unwrap();
    let far = (1_u64 << 40).to_le_bytes();
    one.side.socket.send(&[IoSlice::new(&far)], &[reader.as_fd()]).unwrap();
    one.memory.outgoing().add_rider();
    one.send(&[IoSlice::new(b"abc")], &[]).unwrap();
    let error = other.receive(&mut [IoSliceMut::new(&mut [0; 8])], &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), IoErrorKind::InvalidData);
}

/// What a lying end does next: words in the head of the rings, its own or the other's; descriptors
/// with any position; bytes by the rules; a stroke.
fn lie(
    random: &mut SeededRandom,
    head: &std::fs::File,
    liar: &mut Flow<Mapping, Beside>,
    pipe: &OwnedFd,
) {
    match random.next() % 8 {
        0..4 => {
            let place = random.next() % 96 * 8;
            let word = match random.next() % 3 {
                0 => random.next(),
                1 => random.next() >> (random.next() % 64),
                _ => liar
                    .sent
                    .wrapping_add(random.next() % (2 * Mapping::CAPACITY))
                    .wrapping_sub(Mapping::CAPACITY),
            };
            head.write_all_at(&word.to_ne_bytes(), place).unwrap();
        }
        4 => {
            let position = [liar.sent, random.next()][(random.next() % 2) as usize].to_le_bytes();
            let _ = liar.side.socket.send(
                &[IoSlice::new(&position[..1 + (random.next() % 8) as usize])],
                &[pipe.as_fd()],
            );
        }
        5 => liar.memory.outgoing().add_rider(),
        6 => liar.side.strike(),
        _ => drop(liar.send(&[IoSlice::new(&vec![7; (random.next() % 300) as usize])], &[])),
    }
}

/// Whatever the other end writes into the memory that both share: nothing panics or waits, no more
/// arrives than there is room for, and what is broken stays broken.
#[test]
fn fuzz_of_the_head_by_a_lying_end() {
    let (_reader, pipe) = rustix::pipe::pipe().unwrap();
    let mut broken = 0;
    let mut whole = 0;
    for seed in 0..farcall_golden::fuzz_rounds(2000) {
        let mut random = SeededRandom::new(seed);
        let (mut honest, mut liar) = ends();
        let head = std::fs::File::from(honest.memory.descriptor().unwrap().try_clone().unwrap());
        for _ in 0..40 {
            lie(&mut random, &head, &mut liar, &pipe);
            let mut room = vec![0; 1 + (random.next() % 200) as usize];
            let mut descriptors = Vec::new();
            let before = honest.received;
            match honest.receive(&mut [IoSliceMut::new(&mut room)], &mut descriptors) {
                Ok(count) => assert!(
                    count <= room.len() && honest.received == before + count as u64,
                    "seed {seed}"
                ),
                Err(error) => {
                    let known = [IoErrorKind::WouldBlock, IoErrorKind::InvalidData];
                    assert!(known.contains(&error.kind()), "seed {seed}: {error}");
                }
            }
            let was_broken = honest.broken;
            let outcome = honest.send(&[IoSlice::new(&room)], &[]);
            assert!(!was_broken || outcome.is_err(), "seed {seed}: a broken stream sends");
            assert!(
                outcome.is_err() || outcome.is_ok_and(|count| count <= room.len()),
                "seed {seed}"
            );
            assert!(honest.riders.len() <= 40, "seed {seed}: descriptors pile up");
        }
        *(if honest.broken { &mut broken } else { &mut whole }) += 1;
    }
    assert!(broken > 100 && whole > 100, "{broken} broken, {whole} whole");
}

#[test]
fn a_process_that_dies_without_a_word_ends_the_stream() {
    let (mut one, mut other) = ends();
    other.send(&[IoSlice::new(b"last words")], &[]).unwrap();
    // What the kernel does for a killed process: its descriptors close, its memory stays as it was.
    let (unused, _) = sockets();
    other.side.socket = unix_stream(unused, Proof::Inherited).unwrap();
    let hangup = one.side.socket.descriptor().try_clone_to_owned().unwrap();
    let mut watched = [PollFd::new(&hangup, PollFlags::RDHUP)];
    assert_eq!(
        poll(&mut watched, Some(&rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 })).unwrap(),
        1
    );
    let mut room = [0; 32];
    assert_eq!(one.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()).unwrap(), 10);
    assert_eq!(one.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()).unwrap(), 0);
    let block = vec![0; Mapping::CAPACITY as usize];
    while one.send(&[IoSlice::new(&block)], &[]).is_ok() {}
    assert_eq!(one.send(&[IoSlice::new(&block)], &[]).unwrap_err().kind(), IoErrorKind::BrokenPipe);
}

#[test]
fn a_peer_that_offers_no_ring_is_spoken_to_over_the_socket() {
    let (one, other) = sockets();
    let mut one = unix_stream(one, Proof::Inherited).unwrap();
    one.send(&[IoSlice::new(b"FCRINGED, or not")], &[]).unwrap();
    let mut other = accept(other, Proof::Inherited).unwrap();
    let mut room = [0; 32];
    assert_eq!(other.receive(&mut [IoSliceMut::new(&mut room)], &mut Vec::new()).unwrap(), 16);
    assert!(other.hangup().is_none());
}

#[test]
fn what_was_sent_before_the_offer_was_taken_rings() {
    let (one, other) = sockets();
    let mut one = offer(one, Proof::Inherited).unwrap();
    one.send(&[IoSlice::new(b"early")], &[]).unwrap();
    let other = accept(other, Proof::Inherited).unwrap();
    wait(&*other);
}

/// Whoever is faster than the end that made the offer: its first bytes ring all the same.
#[test]
fn what_was_sent_while_the_offer_was_made_rings() {
    for _ in 0..5000 {
        let (one, other) = sockets();
        let quick = std::thread::spawn(move || {
            let mut other = accept(other, Proof::Inherited).unwrap();
            other.send(&[IoSlice::new(b"quick")], &[]).unwrap();
            other
        });
        let one = offer(one, Proof::Inherited).unwrap();
        wait(&*one);
        drop(quick.join().unwrap());
    }
}

#[test]
fn an_offer_without_its_memory_is_refused() {
    let (one, other) = sockets();
    let mut one = unix_stream(one, Proof::Inherited).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    one.send(&[IoSlice::new(&OFFER)], &[reader.as_fd()]).unwrap();
    assert_eq!(accept(other, Proof::Inherited).err().unwrap().kind(), ErrorKind::Protocol);
    let (one, other) = sockets();
    let mut one = unix_stream(one, Proof::Inherited).unwrap();
    one.send(&[IoSlice::new(&OFFER)], &[reader.as_fd(), writer.as_fd(), writer.as_fd()]).unwrap();
    assert_eq!(
        accept(other, Proof::Inherited).err().unwrap().kind(),
        ErrorKind::Protocol,
        "a pipe is no memory"
    );
}

/// Two threads that sleep on their bells: a lost wake-up hangs this test.
#[test]
fn no_wake_up_is_lost_between_processes_that_sleep() {
    const ROUNDS: usize = 100_000;
    let (one, other) = rings();
    let echo = std::thread::spawn(move || echo(other, ROUNDS));
    play(one, ROUNDS);
    echo.join().unwrap();
}

fn wait(stream: &dyn ByteStream) {
    let mut watched = [PollFd::from_borrowed_fd(stream.readiness().unwrap(), PollFlags::IN)];
    let ready =
        poll(&mut watched, Some(&rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap();
    assert_eq!(ready, 1, "nobody rang");
    let _ = rustix::io::read(stream.readiness().unwrap(), &mut [0; 8]);
}

fn receive_some(stream: &mut dyn ByteStream, room: &mut [u8]) -> usize {
    loop {
        match stream.receive(&mut [IoSliceMut::new(room)], &mut Vec::new()) {
            Ok(count) => return count,
            Err(error) if error.kind() == IoErrorKind::WouldBlock => wait(stream),
            Err(error) => panic!("{error}"),
        }
    }
}

fn play(mut stream: Box<dyn ByteStream>, rounds: usize) {
    for round in 0..rounds {
        stream.send(&[IoSlice::new(&round.to_le_bytes())], &[]).unwrap();
        let mut answer = [0; 8];
        let mut got = 0;
        while got < 8 {
            got += receive_some(&mut *stream, &mut answer[got..]);
        }
        assert_eq!(usize::from_le_bytes(answer), round);
    }
}

fn echo(mut stream: Box<dyn ByteStream>, rounds: usize) {
    let mut left = rounds * 8;
    let mut room = [0; 64];
    while left > 0 {
        let count = receive_some(&mut *stream, &mut room);
        stream.send(&[IoSlice::new(&room[..count])], &[]).unwrap();
        left -= count;
    }
}
