//! One connection of a transaction to a server, and what is to come over it.

use std::collections::HashMap;

use farcall_base::ChannelId;
use farcall_graph::CallNumber;
use farcall_link::line::Line;

use super::moving::MoveNumber;
use crate::state::Tag;

/// What is to come on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// An answer, or the outcome of a call.
    Answer(Tag),
    /// A value that is being moved.
    Fetched(MoveNumber),
    /// The word that it was put there.
    Put(MoveNumber),
    /// The word that its server has pulled it.
    Pulled(MoveNumber),
}

/// A connection.
pub struct Connected {
    pub line: Line,
    due: HashMap<ChannelId, Due>,
    calls: HashMap<(CallNumber, u32), ChannelId>,
}

impl Connected {
    /// Nothing is to come yet.
    pub fn new(line: Line) -> Connected {
        Connected { line, due: HashMap::new(), calls: HashMap::new() }
    }

    /// This is to come on a channel.
    pub fn await_on(&mut self, channel: ChannelId, due: Due) {
        self.due.insert(channel, due);
        if let Due::Answer(Tag::Call(call, attempt) | Tag::TakenUp(call, attempt)) = due {
            self.calls.insert((call, attempt), channel);
        }
    }

    /// It has come: what it is.
    pub fn take(&mut self, channel: ChannelId) -> Option<Due> {
        let due = self.due.remove(&channel)?;
        if let Due::Answer(Tag::Call(call, attempt) | Tag::TakenUp(call, attempt)) = due {
            self.calls.remove(&(call, attempt));
        }
        Some(due)
    }

    /// The server has the call that was taken up on a channel: it is one like others now.
    pub fn taken_up(&mut self, channel: ChannelId) {
        if let Some(Due::Answer(Tag::TakenUp(call, attempt))) = self.due.get(&channel).copied() {
            self.due.insert(channel, Due::Answer(Tag::Call(call, attempt)));
        }
    }

    /// The channel of a call that is open.
    pub fn channel_of(&self, call: CallNumber, attempt: u32) -> Option<ChannelId> {
        self.calls.get(&(call, attempt)).copied()
    }

    /// Moves that it takes part in.
    pub fn moves(&self) -> impl Iterator<Item = MoveNumber> {
        self.due.values().filter_map(|due| match due {
            Due::Fetched(moved) | Due::Put(moved) | Due::Pulled(moved) => Some(*moved),
            Due::Answer(_) => None,
        })
    }
}
