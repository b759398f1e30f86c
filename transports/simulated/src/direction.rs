//! One direction of a link: bytes that wait, fly and have arrived. Pure: says when things will
//! happen, keeps no clock.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::time::Duration;

use farcall_base::{Instant, Random, SeededRandom};

use crate::network::LinkPlan;

/// Bytes of a TCP segment on an Ethernet.
pub const SEGMENT_BYTES: usize = 1460;
/// A lost segment is sent again after this, then after twice, four times … as long: TCP's minimum
/// on Linux.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// Retries after which the link counts as broken.
const RETRIES_MAX: u32 = 8;

/// What will happen to what was sent.
pub enum Fate {
    /// It arrives then; it was lost this often on the way.
    Arrives { at: Instant, losses: u32 },
    /// It was lost too often; the sender gives up then.
    GivesUp { at: Instant },
    /// It waits behind something that will never arrive.
    Never,
}

/// What flies.
enum Cargo {
    Segment(Vec<u8>),
    End,
}

/// The state of one direction.
pub struct Direction {
    plan: LinkPlan,
    random: SeededRandom,
    /// When the sender's wire is free again.
    wire_free: Instant,
    /// Nothing arrives before what was sent earlier.
    last_arrival: Instant,
    flying: VecDeque<Cargo>,
    arrived: VecDeque<u8>,
    /// Bytes sent whose room the sender has not got back yet.
    outstanding: usize,
    ended: bool,
    end_arrived: bool,
    given_up: bool,
    reader_gone: bool,
}

impl Direction {
    pub fn new(plan: LinkPlan, random: SeededRandom) -> Direction {
        Direction {
            plan,
            random,
            wire_free: Instant::default(),
            last_arrival: Instant::default(),
            flying: VecDeque::new(),
            arrived: VecDeque::new(),
            outstanding: 0,
            ended: false,
            end_arrived: false,
            given_up: false,
            reader_gone: false,
        }
    }

    /// What is sent from now on waits until then.
    pub fn silence(&mut self, until: Instant) {
        self.wire_free = self.wire_free.max(until);
    }

    pub fn set_rate(&mut self, bytes_per_s: u64) {
        self.plan.rate_bytes_per_s = bytes_per_s;
    }

    /// Takes as many bytes as there is room for and calls `fate` for every segment made of them.
    pub fn send(
        &mut self,
        now: Instant,
        parts: &[IoSlice<'_>],
        mut fate: impl FnMut(Fate),
    ) -> io::Result<usize> {
        let room = self.plan.queue_bytes.saturating_sub(self.outstanding);
        let offered: usize = parts.iter().map(|part| part.len()).sum();
        if room == 0 && offered > 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut bytes = parts.iter().flat_map(|part| part.iter().copied()).take(room);
        let mut taken = 0;
        loop {
            let segment: Vec<u8> = bytes.by_ref().take(SEGMENT_BYTES).collect();
            if segment.is_empty() {
                break;
            }
            taken += segment.len();
            fate(self.launch(now, Cargo::Segment(segment)));
        }
        self.outstanding += taken;
        Ok(taken)
    }

    /// No more will be sent: the end flies behind the last segment.
    pub fn end(&mut self, now: Instant) -> Option<Fate> {
        let first = !std::mem::replace(&mut self.ended, true);
        first.then(|| self.launch(now, Cargo::End))
    }

    fn launch(&mut self, now: Instant, cargo: Cargo) -> Fate {
        if self.given_up {
            return Fate::Never;
        }
        let bytes = if let Cargo::Segment(segment) = &cargo { segment.len() } else { 0 };
        self.wire_free = self.wire_free.max(now) + self.time_on_wire(bytes);
        let mut at = self.wire_free + self.delay();
        let mut losses = 0;
        while self.is_lost() {
            at = at + RETRY_AFTER * (1 << losses);
            losses += 1;
            if losses > RETRIES_MAX {
                self.given_up = true;
                return Fate::GivesUp { at };
            }
        }
        self.last_arrival = self.last_arrival.max(at);
        self.flying.push_back(cargo);
        Fate::Arrives { at: self.last_arrival, losses }
    }

    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.plan.delay_us)
    }

    fn time_on_wire(&self, bytes: usize) -> Duration {
        match self.plan.rate_bytes_per_s {
            0 => Duration::ZERO,
            rate => Duration::from_nanos((bytes as u64).saturating_mul(1_000_000_000) / rate),
        }
    }

    fn is_lost(&mut self) -> bool {
        // 53 bits are what an f64 holds exactly.
        let draw = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        draw < self.plan.loss
    }

    /// The next of what flies is there. `Some(bytes)` for a segment, `None` for the end.
    pub fn arrive(&mut self) -> Option<usize> {
        match self.flying.pop_front() {
            Some(Cargo::Segment(segment)) => {
                if !self.reader_gone {
                    self.arrived.extend(&segment);
                }
                Some(segment.len())
            }
            Some(Cargo::End) | None => {
                self.end_arrived = true;
                None
            }
        }
    }

    /// Takes bytes that have arrived; the room they leave is the sender's once
    /// [`Direction::room_returned`] is called.
    pub fn receive(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if self.arrived.is_empty() && !self.end_arrived && parts.iter().any(|part| !part.is_empty())
        {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // VecDeque's own Read takes no more than its first slice; the loop takes what there is for
        // every part.
        let mut taken = 0;
        for part in parts {
            let mut filled = 0;
            while filled < part.len() && !self.arrived.is_empty() {
                filled += io::Read::read(&mut self.arrived, &mut part[filled..])?;
            }
            taken += filled;
        }
        Ok(taken)
    }

    pub fn room_returned(&mut self, bytes: usize) {
        self.outstanding -= bytes.min(self.outstanding);
    }

    /// Nobody will read what arrives.
    pub fn abandon(&mut self) {
        self.reader_gone = true;
        self.arrived = VecDeque::new();
    }

    /// Whether the receiver has been told that nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.end_arrived
    }

    /// Everything under way and unread is gone.
    pub fn clear(&mut self) {
        self.flying.clear();
        self.arrived = VecDeque::new();
        self.outstanding = 0;
    }
}
