//! Calls inside calls: what is known of each, and of the connections they come over.

use std::collections::BTreeSet;

use farcall_base::{CallId, ConnectionId};

use crate::state::{CallKey, Newcomer};

/// A connection that an executable asked for, to make calls inside the one that it runs.
pub struct Nest {
    /// Whose calls these will be, or why there will be none.
    pub newcomer: Newcomer,
    /// Inside which call.
    pub inside: Option<CallKey>,
}

/// How a call stands to others.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    /// How many calls it stands in; 0 for that of a program.
    pub depth: u32,
    /// How many of these steps routines made, and not functions of clients: `nesting_max` bounds
    /// them.
    pub levels: u32,
    /// The call that made it, and that one's id.
    pub parent: Option<(CallKey, CallId)>,
    /// Open calls that it made.
    pub inner: BTreeSet<CallKey>,
    /// Connections on which it makes them.
    pub connections: Vec<ConnectionId>,
}
