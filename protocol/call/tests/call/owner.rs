//! An owner of a connection over a queue of bytes: it opens calls, serves calls, and checks every
//! byte that comes.

use std::collections::BTreeMap;

use farcall_base::{CallId, ChannelId, Error, ErrorKind, Random, Result, SeededRandom};
use farcall_call::{Connection, Event, Place, Setup, Side, Transmit};
use farcall_wire::*;

/// A call as one end sees it.
pub struct Call {
    pub id: CallId,
    pub arguments: Vec<Argument>,
    pub results: Vec<Argument>,
    /// Bytes of the other end's data that came, per slot.
    came: BTreeMap<u16, u64>,
    pub complete: bool,
    /// The outcome was sent (acceptor) or came (opener).
    pub ended: bool,
    pub failed: bool,
}

/// One end.
pub struct Owner {
    pub connection: Connection,
    reader: FrameReader,
    buffer: Vec<u8>,
    /// Bytes on their way to the peer.
    pub out: Vec<u8>,
    pub ours: BTreeMap<ChannelId, Call>,
    pub theirs: BTreeMap<ChannelId, Call>,
    /// Of calls of ours and of theirs.
    pub finished: Vec<CallId>,
    pub served: Vec<CallId>,
}

/// What stands at a place of a call's data: any mistake of slot, side, call or offset shows.
fn byte(id: CallId, side: Side, slot: u16, offset: u64) -> u8 {
    let seed =
        u64::from(id.0[0]) << 32 | u64::from(id.0[1]) << 24 | u64::from(slot) << 1 | (side as u64);
    SeededRandom::new(seed << 20 ^ offset).next() as u8
}

fn slots(arguments: &[Argument]) -> BTreeMap<u16, u64> {
    let blocks = |(slot, argument): (usize, &Argument)| match argument {
        Argument::Blocks(Some(bytes)) if *bytes > 0 => Some((slot as u16, *bytes)),
        _ => None,
    };
    arguments.iter().enumerate().filter_map(blocks).collect()
}

impl Call {
    fn new(id: CallId, arguments: Vec<Argument>) -> Call {
        let results = Vec::new();
        let came = BTreeMap::new();
        Call { id, arguments, results, came, complete: false, ended: false, failed: false }
    }

    /// Everything announced came, and nothing else.
    fn check_all_came(&self, announced: &[Argument]) {
        assert_eq!(self.came, slots(announced), "{}", self.id);
    }
}

pub fn hello(credit: u64) -> Hello {
    let limits = HelloLimits {
        control_bytes_max: 4096,
        data_bytes_max: 4096,
        channels_max: 5,
        initial_credit: credit,
        ..HelloLimits::default()
    };
    let role = Role::Client;
    let byte_order = ByteOrder::Little;
    Hello {
        role,
        byte_order,
        product: "".into(),
        features: vec![],
        limits,
        host: "".into(),
        principal: None,
        token: None,
        attributes: vec![],
    }
}

impl Owner {
    pub fn new(initiator: bool, credit: u64) -> Owner {
        Owner {
            connection: Connection::new(Setup { hello: hello(credit), initiator, token: None }),
            reader: FrameReader::new(4096, 4096),
            buffer: Vec::new(),
            out: PREFACE.to_vec(),
            ours: BTreeMap::new(),
            theirs: BTreeMap::new(),
            finished: Vec::new(),
            served: Vec::new(),
        }
    }

    /// Opens a call; its channel, unless the peer allows no more.
    pub fn open(&mut self, open: Open) -> Option<ChannelId> {
        let channel = match self.connection.open(&open) {
            Ok(channel) => channel,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
                return None;
            }
        };
        let before = self.ours.insert(channel, Call::new(open.call, open.arguments));
        assert!(before.is_none(), "{channel} was given out twice");
        Some(channel)
    }

    /// Ends a call of the peer's, with these results if all its arguments are there.
    pub fn respond(&mut self, channel: ChannelId, results: Vec<Argument>) {
        let call = self.theirs.get_mut(&channel).unwrap();
        assert!(!call.ended);
        call.ended = true;
        let refused = Error::new(ErrorKind::Cancelled, "call", "not all is there");
        let failure = (!call.complete).then(|| Failure::from(&refused));
        call.results = if call.complete { results } else { vec![] };
        let results = call.results.clone();
        let times = CallTimes::default();
        self.served.push(call.id);
        self.connection.respond(channel, &CallResult { failure, results, times, attributes: None });
    }

    /// Puts the next frame on the stream; false if there is none.
    pub fn transmit(&mut self) -> bool {
        let Some(transmit) = self.connection.poll_transmit() else { return false };
        let (header, body) = match transmit {
            Transmit::Control { header, body, .. } => (header, body),
            Transmit::Data { header, place } => (header, self.data(&header, &place)),
        };
        let header = FrameHeader { length: body.len() as u32, ..header };
        self.out.extend(header.encode());
        self.out.extend(&body);
        self.out.resize(self.out.len() + padding(header.length), 0);
        true
    }

    fn data(&self, header: &FrameHeader, place: &Place) -> Vec<u8> {
        let call = if place.side == Side::Arguments {
            &self.ours[&place.channel]
        } else {
            &self.theirs[&place.channel]
        };
        (0..u64::from(header.length))
            .map(|at| byte(call.id, place.side, place.slot, place.offset + at))
            .collect()
    }

    /// Takes bytes of the stream.
    ///
    /// # Errors
    /// The peer broke a rule.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend(bytes);
        while self.step()? {
            self.take_events();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<bool> {
        match self.reader.step(&self.buffer)? {
            Step::Need { consumed, .. } => {
                self.buffer.drain(..consumed);
                return Ok(false);
            }
            Step::Control { header, start, consumed } => {
                self.connection
                    .handle_control(&header, &self.buffer[start..][..header.length as usize])?;
                self.buffer.drain(..consumed);
            }
            Step::Data { header, left, consumed } => {
                self.buffer.drain(..consumed);
                // Asked even when no byte is there yet, as an owner does that prepares to receive.
                let place = self.connection.place(&header, header.length - left)?;
                let count = self.buffer.len().min(left as usize);
                let bytes: Vec<u8> = self.buffer.drain(..count).collect();
                if let Some(place) = place.filter(|_| count > 0) {
                    self.take_data(&place, &bytes);
                }
                self.reader.data_received(count as u32);
                self.connection.data_arrived(&header, header.length - left + count as u32)?;
                return Ok(count > 0);
            }
        }
        Ok(true)
    }

    fn take_data(&mut self, place: &Place, bytes: &[u8]) {
        let table = if place.side == Side::Arguments { &mut self.theirs } else { &mut self.ours };
        let call = table.get_mut(&place.channel).unwrap();
        let came = call.came.entry(place.slot).or_default();
        assert_eq!(*came, place.offset, "{} slot {}: a piece is missing", call.id, place.slot);
        *came += bytes.len() as u64;
        for (at, got) in bytes.iter().enumerate() {
            assert_eq!(
                *got,
                byte(call.id, place.side, place.slot, place.offset + at as u64),
                "{}",
                call.id
            );
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Opened(channel, open) => {
                    let before = self.theirs.insert(channel, Call::new(open.call, open.arguments));
                    assert!(before.is_none_or(|call| call.ended), "{channel} is open");
                }
                Event::ArgumentsComplete(channel) => {
                    let call = self.theirs.get_mut(&channel).unwrap();
                    assert!(!call.complete && !call.ended);
                    call.complete = true;
                    call.check_all_came(&call.arguments);
                }
                Event::CancelRequested(channel) if !self.theirs[&channel].ended => {
                    self.respond(channel, vec![])
                }
                Event::Resulted(channel, result) => {
                    let call = self.ours.get_mut(&channel).unwrap();
                    assert!(!call.ended, "{} has two outcomes", call.id);
                    (call.ended, call.failed, call.results) =
                        (true, result.failure.is_some(), result.results);
                }
                Event::Finished(channel) => {
                    let call = self.ours.remove(&channel).unwrap();
                    assert!(call.ended, "{} finished without an outcome", call.id);
                    call.check_all_came(&call.results);
                    self.finished.push(call.id);
                }
                Event::Ready(_) => {}
                event => panic!("unexpected: {event:?}"),
            }
        }
    }
}
