//! A machine: one life of a server, with its executables and, among several, its metaserver.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::time::Duration;

use farcall_base::{CallId, Clock, ExecutableId, Instant};
use farcall_rpc_server::state::MemoryId;
use farcall_transport_simulated::Network;

use crate::metaserver::Metaserver;
use crate::node::Node;
use crate::plan::Plan;
use crate::process::Process;
use crate::spawner::Spawner;

/// An executable of one life of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    pub machine: usize,
    pub executable: ExecutableId,
}

impl Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.machine {
            0 => write!(f, "{}", self.executable),
            machine => write!(f, "{} of machine {machine}", self.executable),
        }
    }
}

/// A machine. When its server is killed it stays, until its executables have ended; the server that
/// is started instead is another one.
pub struct Machine {
    /// Which of the servers it is.
    pub slot: usize,
    /// How far its clock is ahead of the world's.
    ahead: Duration,
    /// The server, as long as it lives.
    pub node: Option<Node>,
    /// Among several servers each has one: it reports by it, or places calls.
    pub metaserver: Option<Metaserver>,
    pub processes: BTreeMap<ExecutableId, Process>,
    pub spawner: Spawner,
    /// Told to end, some of them before they began.
    pub doomed: BTreeSet<ExecutableId>,
    /// Which call each piece of memory belongs to.
    pub owners: BTreeMap<MemoryId, CallId>,
    /// The server stands still: it takes connections, and never answers.
    pub is_frozen: bool,
}

impl Machine {
    /// Its server starts.
    pub fn new(
        plan: &Plan,
        network: &Network,
        (number, slot): (usize, usize),
        ahead: Duration,
    ) -> Machine {
        Machine {
            slot,
            ahead,
            node: Some(Node::new(plan, network, number, ahead)),
            metaserver: None,
            processes: BTreeMap::new(),
            spawner: Spawner::new(),
            doomed: BTreeSet::new(),
            owners: BTreeMap::new(),
            is_frozen: false,
        }
    }

    /// What its clock shows.
    pub fn now(&self, network: &Network) -> Instant {
        network.now() + self.ahead
    }

    /// When it has something to do without being told, by the world's clock.
    pub fn next_tick(&self) -> Option<Instant> {
        let node = self.node.as_ref().filter(|_| !self.is_frozen)?;
        let metaserver = self.metaserver.as_ref().and_then(Metaserver::next_tick);
        let next = node.server.next_tick().into_iter().chain(metaserver).min()?;
        Some(Instant::default() + next.since(Instant::default() + self.ahead))
    }

    /// Memory that was released belongs to no call that a living process works on.
    pub fn check_memory(&mut self) {
        let Some(node) = &mut self.node else { return };
        for released in std::mem::take(&mut node.memory.released) {
            let Some(call) = self.owners.remove(&released) else { continue };
            let writer = self.processes.iter().find(|(_, process)| process.running() == Some(call));
            assert!(
                writer.is_none(),
                "{released:?} of {call:?} is released while {:?} works",
                writer.map(|(id, _)| id)
            );
        }
        self.owners.extend(node.server.state().memory_in_use());
    }

    /// Nothing may be left of calls when all clients have left.
    pub fn check_nothing_left(&self) {
        if let Some(node) = &self.node {
            let left = node.server.state().left_over();
            assert!(left.is_empty(), "the server keeps {left:?}");
            let held = &node.memory.held;
            assert!(held.is_empty(), "memory is never released: {held:?}");
        }
        let objects = self.processes.values().filter(|process| process.is_object()).count();
        assert_eq!(objects, 0, "objects live on that nobody has");
    }

    /// Nothing may be left of executables when they have ended; those of a server that was killed
    /// end by themselves.
    pub fn check_ended(&self) {
        let executables = self.node.as_ref().map_or(0, |node| {
            assert_eq!(node.connections(), 0, "connections leak");
            node.server.state().executables_alive()
        });
        assert_eq!((executables, self.processes.len()), (0, 0), "executables leak");
    }
}
