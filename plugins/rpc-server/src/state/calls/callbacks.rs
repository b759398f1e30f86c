//! Calls of clients' functions, inside calls that run.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId};
use farcall_idl::callback::CallbackType;
use farcall_idl::layout::CallLayout;
use farcall_wire::{CallResult, Open};

use crate::state::{CallKey, OwnMemory};

/// A place on a connection.
pub type Line = (ConnectionId, ChannelId);

/// One of them.
pub struct Callback {
    /// The call that it belongs to.
    pub outer: CallKey,
    /// Which parameter of that.
    pub slot: u16,
    /// What it takes and gives.
    pub kind: Arc<CallbackType>,
    /// The executable's request.
    pub open: Open,
    /// Sizes.
    pub layout: Arc<CallLayout>,
    /// Memory of ours, of the client's share.
    pub memory: Option<OwnMemory>,
    /// Where it came from.
    pub executable: Line,
    /// Where it was passed on to, once its arguments are complete.
    pub client: Option<Line>,
    /// The client's answer, until its data is complete.
    pub results: Option<Box<CallResult>>,
    /// Whether the executable has the outcome, and only data leaves.
    pub answered: bool,
}

/// All of them, found by either end.
#[derive(Default)]
pub struct Callbacks {
    all: BTreeMap<u64, Box<Callback>>,
    lines: BTreeMap<Line, u64>,
    next: u64,
}

impl Callbacks {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many a call has open.
    pub fn count(&self, outer: CallKey) -> usize {
        self.all.values().filter(|callback| callback.outer == outer).count()
    }

    /// Whether a call has any open.
    pub fn has(&self, outer: CallKey) -> bool {
        self.all.values().any(|callback| callback.outer == outer)
    }

    /// Enters one that came from an executable.
    pub fn insert(&mut self, callback: Callback) {
        self.next += 1;
        self.lines.insert(callback.executable, self.next);
        self.all.insert(self.next, Box::new(callback));
    }

    /// It was passed on: it is found by this line, too.
    pub fn passed(&mut self, from: Line, to: Line) {
        let Some(number) = self.lines.get(&from).copied() else { return };
        if let Some(callback) = self.all.get_mut(&number) {
            callback.client = Some(to);
            self.lines.insert(to, number);
        }
    }

    /// The one with a line.
    pub fn get(&self, line: Line) -> Option<&Callback> {
        self.all.get(self.lines.get(&line)?).map(|callback| &**callback)
    }

    /// As [`Callbacks::get`], to change it.
    pub fn get_mut(&mut self, line: Line) -> Option<&mut Callback> {
        self.all.get_mut(self.lines.get(&line)?).map(|callback| &mut **callback)
    }

    /// Nothing of it is under way at the client's any more: the channel may be that of another.
    pub fn leave_client(&mut self, line: Line) {
        self.lines.remove(&line);
    }

    /// Takes one out.
    pub fn remove(&mut self, line: Line) -> Option<Box<Callback>> {
        let callback = self.all.remove(self.lines.get(&line)?)?;
        let number = self.lines.remove(&callback.executable);
        // The client's channel may be that of another by now.
        if let Some(client) = callback.client
            && self.lines.get(&client).copied() == number
        {
            self.lines.remove(&client);
        }
        Some(callback)
    }

    /// Where those of a call came from.
    pub fn of(&self, outer: CallKey) -> Vec<Line> {
        self.all
            .values()
            .filter(|callback| callback.outer == outer)
            .map(|callback| callback.executable)
            .collect()
    }

    /// Where those came from that were passed on to a connection, and are not answered.
    pub fn with(&self, client: ConnectionId) -> Vec<Line> {
        let open = self
            .all
            .values()
            .filter(|one| !one.answered && one.client.is_some_and(|line| line.0 == client));
        open.map(|one| one.executable).collect()
    }

    /// Where those came from whose outcome was given on a connection.
    pub fn answered_on(&self, connection: ConnectionId) -> Vec<Line> {
        let answered = self
            .all
            .values()
            .filter(|callback| callback.answered && callback.executable.0 == connection);
        answered.map(|callback| callback.executable).collect()
    }

    /// All.
    pub fn values(&self) -> impl Iterator<Item = &Callback> {
        self.all.values().map(|callback| &**callback)
    }
}
