//! Fixed-seed fuzz: a peer that keeps the rules most of the time and breaks each of them now and
//! then. Nothing panics, no queue grows.

use std::collections::BTreeMap;

use farcall_base::{CallId, ChannelId, Random, Result, SeededRandom};
use farcall_call::{Connection, Event, Setup};
use farcall_golden::fuzz_rounds;
use farcall_wire::message::encode;
use farcall_wire::*;

use crate::owner::hello;

fn argument(random: &mut SeededRandom) -> Argument {
    match random.next() % 6 {
        0 => Argument::Blocks(None),
        1 if random.next().is_multiple_of(8) => {
            Argument::Shared(random.next() as u32 % 3, 0, random.next() % 5000)
        }
        2 => Argument::Inline(vec![1; 9].into()),
        3 => Argument::Blocks(Some(random.next() >> (random.next() % 64))),
        _ => Argument::Blocks(Some(random.next() % 900)),
    }
}

fn arguments(random: &mut SeededRandom) -> Vec<Argument> {
    (0..random.next() % 4).map(|_| argument(random)).collect()
}

fn open(random: &mut SeededRandom) -> Open {
    Open {
        result_credit: random.next().is_multiple_of(2).then(|| random.next() % 5000),
        ..Open::new(CallId(random.bytes16()), "r".into(), [0; 32], arguments(random))
    }
}

/// What the hostile peer knows of a channel, so that it can keep the rules.
#[derive(Default)]
struct Line {
    sequence: u32,
    /// Bytes of each slot still to send; `None` for a slot of unknown length.
    left: BTreeMap<u16, Option<u64>>,
}

impl Line {
    fn announce(&mut self, arguments: &[Argument]) {
        for (slot, argument) in arguments.iter().enumerate() {
            match *argument {
                Argument::Blocks(Some(0)) => {}
                Argument::Blocks(left) => drop(self.left.insert(slot as u16, left)),
                _ => {}
            }
        }
    }
}

struct Victim {
    connection: Connection,
    random: SeededRandom,
    /// The calls that the peer opened, and those that the victim opened.
    asked: BTreeMap<u32, Line>,
    asking: BTreeMap<u32, Line>,
    first: u32,
}

/// A frame before anything is changed about it.
struct Frame {
    header: FrameHeader,
    body: Vec<u8>,
}

impl Victim {
    fn new(seed: u64) -> Victim {
        let initiator = seed.is_multiple_of(2);
        let mut connection = Connection::new(Setup { hello: hello(2000), initiator, token: None });
        let header = FrameHeader::new(FrameKind::Hello, ChannelId(0), 0);
        connection.handle_control(&header, &encode(&hello(2000))).unwrap();
        while connection.poll_event().is_some() {}
        let first = if initiator { 2 } else { 1 };
        let asked = BTreeMap::new();
        let asking = BTreeMap::new();
        Victim { connection, random: SeededRandom::new(seed), asked, asking, first }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.next().is_multiple_of(one_in)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next() % end
    }

    fn on(&mut self, kind: FrameKind, channel: u32, body: Vec<u8>) -> Frame {
        let line = self.asked.get_mut(&channel).or(self.asking.get_mut(&channel));
        let sequence = line.map_or(0, |line| {
            line.sequence += 1;
            line.sequence - 1
        });
        Frame {
            header: FrameHeader { sequence, ..FrameHeader::new(kind, ChannelId(channel), 0) },
            body,
        }
    }

    /// Opens a channel that is not open as far as the peer knows.
    fn ask(&mut self) -> Frame {
        let channel = self.first + 2 * self.below(5) as u32;
        if self.asked.contains_key(&channel) {
            return self.word(channel);
        }
        let open = open(&mut self.random);
        let mut line = Line::default();
        match self.below(6) {
            0 => {
                self.asked.insert(channel, line);
                self.on(FrameKind::Request, channel, encode(&Request::List))
            }
            1 => {
                let resume = Resume::new(open.call);
                Frame {
                    header: FrameHeader::new(FrameKind::Resume, ChannelId(channel), 0),
                    body: encode(&resume),
                }
            }
            _ => {
                line.announce(&open.arguments);
                self.asked.insert(channel, line);
                self.on(FrameKind::Open, channel, encode(&open))
            }
        }
    }

    /// A Window, or a Cancel after which the peer sends no more.
    fn word(&mut self, channel: u32) -> Frame {
        if self.chance(3) {
            let frame = self.on(FrameKind::Cancel, channel, vec![]);
            if let Some(line) = self.asked.get_mut(&channel) {
                line.left.clear();
            }
            return frame;
        }
        let credit = self.random.next() >> self.below(64);
        self.on(FrameKind::Window, channel, encode(&Window { credit, next_sequence: 0 }))
    }

    /// Data of some call that has some left.
    fn data(&mut self) -> Option<Frame> {
        let has = |(channel, line): (&u32, &Line)| Some((*channel, *line.left.iter().next()?.0));
        let lines: Vec<(u32, u16)> =
            self.asked.iter().chain(&self.asking).filter_map(has).collect();
        let (channel, slot) = *lines.get(self.below(lines.len().max(1) as u64) as usize)?;
        let table =
            if self.asked.contains_key(&channel) { &mut self.asked } else { &mut self.asking };
        let left = table.get_mut(&channel)?.left.get_mut(&slot)?;
        let most = left.unwrap_or(300).min(300);
        let length = if self.random.next().is_multiple_of(2) {
            most
        } else {
            self.random.next() % (most + 1)
        };
        let end = match left {
            Some(left) => {
                *left -= length;
                *left == 0
            }
            None => self.random.next().is_multiple_of(2),
        };
        if end {
            table.get_mut(&channel)?.left.remove(&slot);
        }
        let mut frame = self.on(FrameKind::Data, channel, vec![]);
        (frame.header.length, frame.header.slot) = (length as u32, slot);
        frame.header.flags = if end { Flags::END } else { Flags::default() };
        Some(frame)
    }

    /// An answer to some question of the victim's; whether it fits is up to luck.
    fn answer(&mut self) -> Option<Frame> {
        let channels: Vec<u32> = self.asking.keys().copied().collect();
        let channel = *channels.get(self.below(channels.len().max(1) as u64) as usize)?;
        Some(match self.below(8) {
            0 => self.on(FrameKind::Reply, channel, encode(&Reply::Done)),
            1..4 => self.on(FrameKind::Notice, channel, encode(&Notice::Started)),
            4 => self.word(channel),
            _ => {
                let results = arguments(&mut self.random);
                let times = CallTimes::default();
                let result = CallResult { failure: None, results, times, attributes: None };
                let frame = self.on(FrameKind::Result, channel, encode(&result));
                self.asking.get_mut(&channel)?.announce(&result.results);
                frame
            }
        })
    }

    fn of_connection(&mut self) -> Frame {
        let segment = self.below(3) as u32;
        match self.below(5) {
            0 => self.on(FrameKind::Share, 0, encode(&Share { segment, bytes: 9000 })),
            1 => self.on(FrameKind::Unshare, 0, encode(&segment)),
            2 if self.chance(20) => {
                self.on(FrameKind::Goodbye, 0, encode(&Goodbye { failure: None }))
            }
            3 => self.on(FrameKind::Pong, 0, vec![]),
            _ => self.on(FrameKind::Ping, 0, vec![]),
        }
    }

    fn frame(&mut self) -> Frame {
        let frame = match self.below(12) {
            0..3 => Some(self.ask()),
            3..8 => self.data(),
            8..11 => self.answer(),
            _ => Some(self.of_connection()),
        };
        frame.unwrap_or_else(|| self.on(FrameKind::Ping, 0, vec![]))
    }

    /// Breaks a rule: any field of the header, any byte of the body.
    fn spoil(&mut self, frame: &mut Frame) {
        let header = &mut frame.header;
        match self.random.next() % 7 {
            0 => header.kind = (self.random.next() % 18) as u8,
            1 => header.flags = Flags(self.random.next() as u8),
            2 => header.slot = (self.random.next() % 5) as u16,
            3 => header.channel = ChannelId((self.random.next() % 12) as u32),
            4 => header.sequence = self.random.next() as u32,
            5 => header.length = (self.random.next() % 9000) as u32,
            _ if frame.body.is_empty() => {}
            _ => {
                let at = (self.random.next() % frame.body.len() as u64) as usize;
                frame.body[at] = self.random.next() as u8;
            }
        }
    }

    fn feed(&mut self) -> Result<()> {
        let mut frame = self.frame();
        if self.chance(20) {
            self.spoil(&mut frame);
        }
        let Frame { header, body } = frame;
        if header.kind == FrameKind::Data as u8 && header.length > 0 {
            self.connection.place(&header, 0)?;
            return self.connection.data_arrived(&header, header.length);
        }
        self.connection.handle_control(&FrameHeader { length: body.len() as u32, ..header }, &body)
    }

    /// The owner does something with what came, or of itself.
    fn own(&mut self) {
        let mut events = 0;
        while let Some(event) = self.connection.poll_event() {
            events += 1;
            match event {
                Event::Opened(channel, _) if self.chance(3) => self.respond(channel),
                Event::CancelRequested(channel) => self.respond(channel),
                Event::Requested(channel, _) => self.reply(channel),
                Event::Finished(channel) | Event::Replied(channel, _) => {
                    drop(self.asking.remove(&channel.0))
                }
                _ => {}
            }
        }
        assert!(events <= 2, "{events} events of one frame");
        let channel = ChannelId(self.below(8) as u32);
        match self.below(12) {
            0 => self.respond(channel),
            1 => self.connection.cancel(channel),
            2 => {
                let open = open(&mut self.random);
                if let Ok(channel) = self.connection.open(&open) {
                    self.asking.insert(channel.0, Line::default());
                }
            }
            3 => drop(
                self.connection
                    .request(&Request::List)
                    .map(|new| self.asking.insert(new.0, Line::default())),
            ),
            4 => self.connection.grant(channel, 9000),
            5..9 => drop(self.connection.poll_transmit()),
            _ => {}
        }
    }

    fn respond(&mut self, channel: ChannelId) {
        let results = arguments(&mut self.random);
        let times = CallTimes::default();
        self.connection
            .respond(channel, &CallResult { failure: None, results, times, attributes: None });
        self.forget(channel);
    }

    fn reply(&mut self, channel: ChannelId) {
        self.connection.reply(channel, &Reply::Done);
        self.forget(channel);
    }

    /// The peer may use the number again once all it announced is there.
    fn forget(&mut self, channel: ChannelId) {
        if self.asked.get(&channel.0).is_some_and(|line| line.left.is_empty()) {
            self.asked.remove(&channel.0);
        }
    }
}

#[test]
fn plausible_and_hostile_frames() {
    let mut fed = 0;
    let mut refused = 0;
    for seed in 0..fuzz_rounds(20_000) {
        let mut victim = Victim::new(seed);
        for _ in 0..60 {
            fed += 1;
            if victim.feed().is_err() {
                refused += 1;
                break;
            }
            victim.own();
            assert!(victim.connection.channels_open() <= 10, "seed {seed}: five in each direction");
            assert!(victim.connection.waiting_bytes() < 100_000, "seed {seed}");
        }
    }
    // Were conversations refused at their first frames, the later states would never be met.
    assert!(fed > 6 * refused && refused > 1_000, "{refused} of {fed} refused");
}
