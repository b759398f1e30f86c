//! What a step leaves behind for the driver: what it is to do, and where it is to look.

use std::collections::{BTreeSet, VecDeque};

use farcall_base::ConnectionId;

use super::Action;

/// Actions for which there is room all the time.
const ACTIONS_KEPT: usize = 1024;

/// What the driver takes after each step.
#[derive(Default)]
pub struct Outbox {
    actions: VecDeque<Action>,
    touched: BTreeSet<ConnectionId>,
}

impl Outbox {
    /// Has the driver do something, after what it was told before.
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// A connection may have something to send, or is to be closed.
    pub(crate) fn touch(&mut self, connection: ConnectionId) {
        self.touched.insert(connection);
    }

    /// The same for several.
    pub(crate) fn touch_all(&mut self, connections: impl IntoIterator<Item = ConnectionId>) {
        self.touched.extend(connections);
    }

    /// A connection is gone: nobody looks at it any more.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.touched.remove(&connection);
    }

    /// The next thing to do.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front();
        if action.is_none() && self.actions.capacity() > ACTIONS_KEPT {
            // What a crowd made long is given back.
            self.actions = VecDeque::new();
        }
        action
    }

    /// Connections to look at.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<ConnectionId> {
        std::mem::take(&mut self.touched)
    }
}
