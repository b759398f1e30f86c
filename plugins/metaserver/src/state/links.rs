//! Servers that this one dials: metaservers that it reports to, and members that it asks.

use std::time::Duration;

use farcall_base::Instant;
use farcall_wire::{InterfaceReply, RanCall};

/// Which of the dialled servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkNumber(pub usize);

/// What it is dialled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// This node reports to it.
    Join,
    /// It is asked how it is.
    Member,
}

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no connection; it is dialled then.
    Waits(Instant),
    /// It is being made, since then.
    Dials(Instant),
    /// It is there.
    Open,
}

/// Times between attempts to reach a server.
pub struct DialLimits;

impl DialLimits {
    /// After the first failure.
    pub const FIRST: Duration = Duration::from_millis(250);
    /// The longest.
    pub const LAST: Duration = Duration::from_secs(30);
}

/// Clients that a metaserver leads to this node, which dials its ends of their streams.
#[derive(Debug, Default)]
pub struct Led {
    /// Whether it does.
    pub dials_back: bool,
    /// When it is to be asked for streams.
    pub waits_from: Option<Instant>,
}

/// A dialled server.
#[derive(Debug)]
pub struct LinkState {
    /// For what.
    pub kind: LinkKind,
    /// Where.
    pub address: String,
    /// How far.
    pub standing: Standing,
    /// The pause before the next attempt.
    pub pause: Duration,
    /// Why it was not reached last, for people.
    pub trouble: Option<String>,
    /// What the log was told last: it is told once.
    pub warned: Option<String>,
    /// When it was asked or told something that it has not answered.
    pub asked: Option<Instant>,
    /// When it was asked or told something last.
    pub last: Option<Instant>,
    /// Join: the clients that it leads here.
    pub led: Led,
    /// Join: whether it wants to know all that this node publishes.
    pub wants_offers: bool,
    /// Join: contracts whose interfaces it wants; Member: those that are wanted of it.
    pub wanted: Vec<[u8; 32]>,
    /// Join: interfaces for the next report.
    pub interfaces: Vec<InterfaceReply>,
    /// Join: calls that ran, and grants, that it was not told of.
    pub runs: Vec<RanCall>,
    /// Those that have begun to come.
    pub begun: Vec<u64>,
    /// Those that have all arguments.
    pub arrived: Vec<u64>,
    /// Join: processors that calls had, calls, and whether it was draining, as was told last.
    pub told: (f64, u64, bool),
}

impl LinkState {
    /// It was not dialled yet.
    pub fn new(kind: LinkKind, address: &str) -> LinkState {
        LinkState {
            kind,
            address: address.to_owned(),
            standing: Standing::Waits(Instant::default()),
            pause: Duration::ZERO,
            trouble: None,
            warned: None,
            asked: None,
            last: None,
            led: Led::default(),
            wants_offers: true,
            wanted: Vec::new(),
            interfaces: Vec::new(),
            runs: Vec::new(),
            begun: Vec::new(),
            arrived: Vec::new(),
            told: (0.0, 0, false),
        }
    }

    /// Its connection is lost, or was not made: when to dial again, and what is forgotten with it.
    pub fn lose(&mut self, now: Instant, trouble: String) {
        self.pause = (self.pause * 2).clamp(DialLimits::FIRST, DialLimits::LAST);
        self.standing = Standing::Waits(now + self.pause);
        self.trouble = Some(trouble);
        self.asked = None;
        self.led = Led::default();
        self.wants_offers = true;
        self.wanted.clear();
        self.interfaces.clear();
        (self.runs, self.begun, self.arrived) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// It is there.
    pub fn open(&mut self) {
        self.standing = Standing::Open;
        self.trouble = None;
    }

    /// It answers.
    pub fn answered(&mut self) {
        self.pause = Duration::ZERO;
        self.warned = None;
    }

    /// Whether a connection is there.
    pub fn is_open(&self) -> bool {
        self.standing == Standing::Open
    }
}
