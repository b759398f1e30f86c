//! Streams over one: what one side sends comes to the other, however it is cut; what is hostile
//! ends it.

#![allow(clippy::unwrap_used)]

use farcall_base::{Random, SeededRandom};
use farcall_golden::fuzz_rounds;

use super::*;

/// Passes at most `most` bytes from one to the other.
fn pass(from: &mut Streams, to: &mut Streams, most: usize) -> usize {
    let bytes = from.poll_transmit();
    let count = bytes.len().min(most);
    let bytes = bytes[..count].to_vec();
    to.handle_bytes(&bytes).unwrap();
    from.transmitted(count);
    count
}

fn both() -> (Streams, Streams) {
    (Streams::new(StreamsSide::Opens), Streams::new(StreamsSide::Takes))
}

fn pass_all(a: &mut Streams, b: &mut Streams) {
    while pass(a, b, usize::MAX) + pass(b, a, usize::MAX) > 0 {}
}

#[test]
fn a_stream_ends_when_both_have_said_all() {
    let (mut near, mut far) = both();
    let one = near.open().unwrap();
    assert_eq!(near.send(one, b"hello"), 5);
    near.end(one);
    pass_all(&mut near, &mut far);
    assert_eq!(far.poll_news(), Some(StreamsNews::Opened(one)));
    assert_eq!((far.came(one), far.has_ended(one)), (&b"hello"[..], false));
    far.take(one, 5);
    assert!(far.has_ended(one) && far.is_open(one));
    assert_eq!(far.send(one, b"bye"), 3);
    far.end(one);
    assert!(!far.is_open(one) && near.is_open(one));
    pass_all(&mut near, &mut far);
    assert_eq!(near.came(one), b"bye");
    near.take(one, 3);
    assert!(!near.is_open(one));
    assert_eq!(near.open().unwrap(), 2);
}

#[test]
fn one_that_nobody_reads_holds_up_nobody_else() {
    let (mut near, mut far) = both();
    let slow = near.open().unwrap();
    let fast = near.open().unwrap();
    let piece = vec![7; STREAM_FRAME_BYTES_MAX];
    let mut of_slow = 0;
    for _ in 0..100 {
        of_slow += near.send(slow, &piece);
        let of_fast = near.send(fast, &piece);
        pass_all(&mut near, &mut far);
        let came = far.open.get(&fast).unwrap().came.len();
        assert_eq!(came, of_fast);
        far.take(fast, came);
        pass_all(&mut near, &mut far);
    }
    assert_eq!((of_slow, near.room(slow)), (STREAM_CREDIT_BYTES, 0));
    assert!(near.room(fast) > 0);
}

#[test]
fn what_leads_nowhere_is_refused() {
    let (mut near, mut far) = both();
    let one = near.open().unwrap();
    pass_all(&mut near, &mut far);
    far.refuse(one);
    // What was on its way meanwhile is nobody's.
    near.send(one, b"lost");
    near.end(one);
    pass_all(&mut near, &mut far);
    assert_eq!((near.poll_news(), near.is_open(one)), (Some(StreamsNews::Refused(one)), false));
    assert!(!far.is_open(one) && far.has_ended(one));
}

#[test]
fn what_start_up_files_print_goes_by() {
    let (mut near, mut far) = both();
    far.handle_bytes(b"Welcome\nfarcall streams 2\n\nfarcall str").unwrap();
    assert!(!far.has_begun() && far.noise().starts_with(b"Welcome"));
    near.open().unwrap();
    for byte in near.poll_transmit().to_vec() {
        far.handle_bytes(&[byte]).unwrap();
    }
    assert!(far.has_begun() && far.poll_news() == Some(StreamsNews::Opened(1)));
    let mut endless = Streams::new(StreamsSide::Takes);
    let said = (0..1000).find_map(|_| endless.handle_bytes(&[b'y'; 1000]).err()).unwrap();
    assert!(said.to_string().contains("sent too much"), "{said}");
}

#[test]
fn what_breaks_the_rules_is_named() {
    let frame = |kind: u8, value: usize, number: u32| {
        let value = (value as u32).to_le_bytes();
        [&[kind, value[0], value[1], value[2]], &number.to_le_bytes()[..]].concat()
    };
    let more = STREAM_FRAME_BYTES_MAX + 1;
    for (frames, reason) in [
        (vec![frame(OPEN, 0, 2)], "is out of order"),
        (vec![frame(DATA, 1, 1)], "was never opened"),
        (vec![frame(OPEN, 0, 1), frame(DATA, more, 1)], "has no credit"),
        (vec![frame(OPEN, 0, 1), frame(END, 0, 1), frame(DATA, 1, 1)], "has no credit"),
        (vec![frame(OPEN, 0, 1), frame(CREDIT, 1, 1)], "that were never sent"),
        (vec![frame(OPEN, 0, 1), frame(9, 0, 1)], "unknown frame kind 9"),
        (vec![frame(OPEN, 0, 1), frame(REFUSE, 0, 1)], "unknown frame kind 5"),
    ] {
        let mut far = Streams::new(StreamsSide::Takes);
        far.handle_bytes(STREAMS_MARK).unwrap();
        let said = far.handle_bytes(&frames.concat()).unwrap_err().to_string();
        assert!(said.contains(reason), "{said}");
    }
    let mut far = Streams::new(StreamsSide::Takes);
    far.handle_bytes(STREAMS_MARK).unwrap();
    far.handle_bytes(&frame(OPEN, 0, 1)).unwrap();
    let piece = [frame(DATA, STREAM_FRAME_BYTES_MAX, 1), vec![0; STREAM_FRAME_BYTES_MAX]].concat();
    let passed = (0..100).take_while(|_| far.handle_bytes(&piece).is_ok()).count();
    assert_eq!(passed, STREAM_CREDIT_BYTES / STREAM_FRAME_BYTES_MAX);
}

/// Each stream's bytes are `number + position`, so that any that is lost, twice or elsewhere shows.
fn value(number: StreamNumber, position: usize) -> u8 {
    (number as usize + position) as u8
}

/// One end in a random test: what it has sent and read of each stream.
struct End {
    streams: Streams,
    sent: BTreeMap<StreamNumber, usize>,
    read: BTreeMap<StreamNumber, usize>,
}

impl End {
    fn new(side: StreamsSide) -> End {
        End { streams: Streams::new(side), sent: BTreeMap::new(), read: BTreeMap::new() }
    }

    fn turn(&mut self, random: &mut SeededRandom, wanted: usize) {
        while let Some(news) = self.streams.poll_news() {
            let StreamsNews::Opened(number) = news else { panic!("{news:?}") };
            self.sent.insert(number, 0);
        }
        for (number, sent) in &mut self.sent {
            let most = (random.next() % 100_000) as usize;
            let bytes: Vec<u8> =
                (*sent..(*sent + most).min(wanted)).map(|at| value(*number, at)).collect();
            *sent += self.streams.send(*number, &bytes);
            if *sent == wanted {
                self.streams.end(*number);
            }
            let came = self.streams.came(*number);
            let count = came.len().min((random.next() % 150_000) as usize);
            let read = self.read.entry(*number).or_default();
            assert!(
                came[..count]
                    .iter()
                    .enumerate()
                    .all(|(at, byte)| *byte == value(*number, *read + at))
            );
            *read += count;
            self.streams.take(*number, count);
        }
    }
}

#[test]
fn fuzz_of_orders_brings_all_bytes_once() {
    for seed in 0..fuzz_rounds(20) {
        let mut random = SeededRandom::new(seed);
        let mut near = End::new(StreamsSide::Opens);
        let mut far = End::new(StreamsSide::Takes);
        let wanted = (random.next() % 3_000_000) as usize;
        for _ in 0..1 + random.next() % 8 {
            let number = near.streams.open().unwrap();
            near.sent.insert(number, 0);
        }
        let mut turns = 0;
        let is_open = |end: &End| end.sent.keys().any(|number| end.streams.is_open(*number));
        while is_open(&near) || is_open(&far) || far.sent.is_empty() {
            near.turn(&mut random, wanted);
            far.turn(&mut random, wanted);
            pass(&mut near.streams, &mut far.streams, (random.next() % 300_000) as usize);
            pass(&mut far.streams, &mut near.streams, (random.next() % 300_000) as usize);
            turns += 1;
            assert!(turns < 100_000, "seed {seed}");
        }
        let of_all = |end: &End| end.read.values().all(|read| *read == wanted);
        assert!(of_all(&near) && of_all(&far), "seed {seed}");
    }
}

#[test]
fn fuzz_of_hostile_bytes_is_refused_or_bounded() {
    for seed in 0..fuzz_rounds(500) {
        let mut random = SeededRandom::new(seed);
        let mut far =
            Streams::new(if seed % 2 == 0 { StreamsSide::Takes } else { StreamsSide::Opens });
        far.handle_bytes(STREAMS_MARK).unwrap();
        for _ in 0..200 {
            // Mostly frames that might be some.
            let mut frame =
                vec![(random.next() % 7) as u8, random.next() as u8, random.next() as u8 % 2, 0];
            frame.extend((random.next() as u32 % 4).to_le_bytes());
            frame.extend(vec![0; random.next() as usize % 600]);
            if far.handle_bytes(&frame).is_err() {
                break;
            }
        }
        let kept: usize = far.open.values().map(|stream| stream.came.len()).sum();
        assert!(
            kept <= far.open.len() * STREAM_CREDIT_BYTES && far.waiting() < OUTBOX_BYTES_END,
            "seed {seed}"
        );
    }
}
