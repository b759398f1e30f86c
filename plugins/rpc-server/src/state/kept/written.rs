//! What is written of calls in the results folder, and what is to be done there.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ChannelId, ConnectionId, ExecutableId};
use farcall_wire::{Keep, Open, Resume};

use super::Finished;
use crate::state::CallKey;

/// What is to be done in the results folder.
pub enum ResultsOrder {
    /// Write down that a call was accepted; tell [`crate::step::Server::recorded`].
    Record(Box<Accepted>, CallKey),
    /// Write down that it begins; tell [`crate::step::Server::begun`] for the executable that is
    /// kept for it.
    Begin(CallId, ExecutableId),
    /// Write its outcome down; tell [`crate::step::Server::stored`].
    Store {
        /// What the call was.
        written: Box<Written>,
        /// Its outcome.
        finished: Arc<Finished>,
        /// For how long it is kept yet.
        left: Duration,
    },
    /// Read the arrays among the arguments of a call; tell [`crate::step::Server::loaded`].
    Load(CallId, CallKey),
    /// Read an outcome; tell [`crate::step::Server::read_back`].
    Fetch {
        /// Whose.
        call: CallId,
        /// In memory of whom.
        principal: String,
        /// Where it goes.
        client: (ConnectionId, ChannelId),
        /// Whether the client wants to know what the call was.
        describe: bool,
    },
    /// Remove what is written of a call; tell [`crate::step::Server::erased`] if somebody waits for
    /// that.
    Erase(CallId, Option<(ConnectionId, ChannelId)>),
}

/// What is written of a call beside its outcome.
#[derive(Clone)]
pub struct Written {
    /// What the call was.
    pub resume: Resume,
    /// `module/name`.
    pub routine: String,
    /// Whose it is.
    pub principal: String,
    /// For how long after its end it is kept.
    pub keep: Keep,
}

/// An accepted call as another server needs it to run it.
pub struct Accepted {
    /// What is said of it to whoever asks.
    pub written: Written,
    /// The request, with the time that is left to it.
    pub open: Open,
    /// Where its client is, for people.
    pub address: String,
    /// Whether its caller is the server's own user.
    pub owns_server: bool,
    /// The certificate that its caller showed, if any.
    pub certificate: Option<Arc<str>>,
    /// Whether it is a call on an object, which ends with its server.
    pub on_object: bool,
    /// Whether an executable has it.
    pub has_begun: bool,
}
