//! One call that is kept.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, Instant};
use farcall_wire::{Keep, KeptNote};

use super::{Accepted, ClientKey, Finished};
use crate::state::CallKey;

/// How far a kept call is.
pub enum Outcome {
    /// An earlier server accepted it, and it has not begun: its arguments are in the results
    /// folder.
    Parked(Box<Accepted>),
    /// It is open.
    Open(CallKey),
    /// It has ended, and its outcome lies in memory.
    Ended(Arc<Finished>),
    /// It has ended, and its outcome lies in the results folder.
    Stored {
        /// Whether it failed.
        failed: bool,
    },
}

/// What the results folder says of a call that is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing, or it is about to.
    #[default]
    No,
    /// That it waits: another server would run it.
    Waits,
    /// That it has begun: no other server runs it.
    Began,
}

/// A call that is kept.
pub struct Kept {
    /// Whose.
    pub principal: String,
    /// `module/name`.
    pub routine: String,
    /// For how long, and where.
    pub keep: Keep,
    /// Who made it, if that may come back under its name.
    pub client: Option<ClientKey>,
    /// Whether its client asked for this call to be kept; otherwise all of its connection's are.
    pub asked: bool,
    /// Whether all its arguments came: from then on it is kept.
    pub accepted: bool,
    /// How far it is.
    pub outcome: Outcome,
    /// What is counted for it.
    pub bytes: u64,
    /// When it is forgotten.
    pub expires: Option<Instant>,
    /// Who waits for the outcome until that is in the results folder.
    pub waits: Option<(ConnectionId, ChannelId)>,
    /// The certificate that its caller showed, if any.
    pub certificate: Option<Arc<str>>,
    /// What the results folder says of it while it is not over.
    pub recorded: Recorded,
    /// Whether its outcome is being written to the results folder.
    pub storing: bool,
    /// Whether the log has said that its outcome could not be written.
    pub complained: bool,
    /// What its client says of it, for lists.
    pub note: Option<KeptNote>,
}

impl Kept {
    /// Whether what was said of it so far would survive the server now.
    pub fn is_on_disk(&self) -> bool {
        match &self.outcome {
            Outcome::Parked(_) | Outcome::Stored { .. } => true,
            Outcome::Open(_) => self.recorded != Recorded::No,
            Outcome::Ended(_) => false,
        }
    }

    /// Whether its outcome is still to be written to the results folder.
    pub fn is_unstored(&self) -> bool {
        self.keep.durable && matches!(self.outcome, Outcome::Ended(_))
    }
}
