//! Questions whose answers are large.

use std::collections::VecDeque;

use farcall_base::ChannelId;
use farcall_wire::StateQuestion;

/// A question whose answer may be as long as a message may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Large {
    /// All interfaces.
    List,
    /// What is going on.
    Status,
    /// What is kept.
    Kept,
    /// How the server is, for other servers.
    State(StateQuestion),
}

/// Large questions of one connection: they are answered one after the other.
#[derive(Default)]
pub struct LargeQuestions {
    /// Those that wait for their turn.
    pub waiting: VecDeque<(ChannelId, Large)>,
    /// The one that is being answered: no further one is before its answer has left.
    pub current: Option<ChannelId>,
    /// Whether its answer is made, and on its way.
    pub leaves: bool,
}
