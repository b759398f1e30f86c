//! What happened on the network and when, to compare one run with its replay.

use farcall_base::Instant;

use crate::network::LinkId;

/// Most events kept; later ones still enter the fingerprint.
pub const TRACE_MAX: usize = 1 << 20;

/// Something that happened on a link. `from_near` names the direction: from the near end of the
/// pair to the far one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A stream took bytes to send.
    Sent {
        /// Which link.
        link: LinkId,
        /// Which direction.
        from_near: bool,
        /// How many.
        bytes: usize,
    },
    /// A segment was lost and will be sent again.
    Lost {
        /// Which link.
        link: LinkId,
        /// Which direction.
        from_near: bool,
    },
    /// A segment came to the receiving end.
    Arrived {
        /// Which link.
        link: LinkId,
        /// Which direction.
        from_near: bool,
        /// How many bytes.
        bytes: usize,
    },
    /// The end of the stream came to the receiving end.
    Closed {
        /// Which link.
        link: LinkId,
        /// Which direction.
        from_near: bool,
    },
    /// The link broke, by command or because a segment was lost too often.
    Crashed {
        /// Which link.
        link: LinkId,
    },
}

/// Events in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    events: Vec<(Instant, Event)>,
    fingerprint: u64,
}

impl Trace {
    /// The first [`TRACE_MAX`] events with their times.
    pub fn events(&self) -> &[(Instant, Event)] {
        &self.events
    }

    /// A number that differs, but for rare accidents, when any event, time or order differs.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(crate) fn record(&mut self, at: Instant, event: Event) {
        let (kind, link, from_near, bytes) = match event {
            Event::Sent { link, from_near, bytes } => (1, link, from_near, bytes),
            Event::Lost { link, from_near } => (2, link, from_near, 0),
            Event::Arrived { link, from_near, bytes } => (3, link, from_near, bytes),
            Event::Closed { link, from_near } => (4, link, from_near, 0),
            Event::Crashed { link } => (5, link, false, 0),
        };
        for word in [at.0, kind, u64::from(link.0), u64::from(from_near), bytes as u64] {
            self.fingerprint = mix(self.fingerprint ^ word);
        }
        if self.events.len() < TRACE_MAX {
            self.events.push((at, event));
        }
    }
}

/// The mixing step of SplitMix64, written out because std's hashers may change from one release to
/// the next.
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
