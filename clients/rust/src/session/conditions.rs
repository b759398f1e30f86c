//! How calls are to be made.

use std::time::{Duration, Instant};

use farcall_base::{CallId, DataId, ObjectId, Resources};
use farcall_peer::Audience;
use farcall_wire::{Keep, wants};

/// How a call was placed: if it fails, its arguments are kept to make it elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacedAs {
    /// It was not: it belongs to its server.
    #[default]
    Nowhere,
    /// With others like it.
    OneOfMany,
    /// Alone: its transfers are measured.
    Alone,
}

/// How a call is to be made.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// Who hears of its end by [`super::Session::next_finished`].
    pub announced: Audience,
    /// What the server is to tell of the call: bits of [`farcall_wire::wants`].
    pub wants: u8,
    /// Whether its arrays are copied first.
    pub copied: bool,
    /// How it was placed.
    pub placed: PlacedAs,
    /// What placed it; 0: nobody was asked.
    pub grant: u64,
    /// Apart, since calls are moved.
    pub special: Option<Box<Special>>,
}

/// Results that stay at the server.
#[derive(Clone, Debug)]
pub struct Stays {
    /// Their ids, by parameter.
    pub ids: Vec<(usize, DataId)>,
    /// For how long they stay without us.
    pub lease: Option<Duration>,
}

/// What few calls ask for.
#[derive(Clone, Debug, Default)]
pub struct Special {
    /// How long its routine may run, if that is bounded.
    pub run_timeout: Option<Duration>,
    /// Its id, and how its outcome is kept, if it is.
    pub keep: Option<(CallId, Option<Keep>)>,
    /// The object that it is on.
    pub on: Option<ObjectId>,
    /// Processes that MPI is to start for it; 0 to say nothing.
    pub ranks: u32,
    /// What it is given, where that is asked for.
    pub resources: Option<Resources>,
    /// Results that stay at the server.
    pub stays: Option<Stays>,
    /// The call inside whose function it is made: [`super::Session::open`] finds that out.
    pub within: Option<CallId>,
}

impl Conditions {
    /// Whether the server is to tell something while the call is under way.
    pub fn has_news(&self) -> bool {
        self.wants & (wants::PROGRESS | wants::OUTPUT) != 0
    }

    #[inline]
    pub fn special(&self) -> Option<&Special> {
        self.special.as_deref()
    }

    #[inline]
    pub fn special_mut(&mut self) -> &mut Special {
        self.special.get_or_insert_default()
    }

    /// The ids of results that stay, by parameter.
    pub fn stays(&self) -> &[(usize, DataId)] {
        let stays = self.special().and_then(|special| special.stays.as_ref());
        stays.map_or(&[], |stays| stays.ids.as_slice())
    }

    /// Its id, if others know it.
    #[inline]
    pub fn id(&self) -> Option<CallId> {
        self.special()?.keep.map(|(id, _)| id)
    }
}
