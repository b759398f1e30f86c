//! What will happen, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::network::FlowKey;
use super::super::time::Time;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A client calls.
    Call {
        /// Its kind.
        crowd: usize,
        /// Which of them.
        client: u32,
    },
    /// A call of a Poisson process comes.
    Arrival {
        /// Whose.
        crowd: usize,
    },
    /// The first byte of a transfer has come through.
    Flow {
        /// Which.
        flow: FlowKey,
    },
    /// A call of a server has run, if nothing changed since it was foreseen.
    RunEnd {
        /// Where.
        server: usize,
        /// What was foreseen then.
        epoch: u64,
    },
    /// A server tells how it is.
    Report {
        /// Which.
        server: usize,
    },
    /// Something goes wrong.
    Fault {
        /// Its number in the plan.
        fault: usize,
    },
}

/// All of it.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    number: u64,
}

impl Events {
    /// Something will happen; what is foreseen first happens first of what happens at once.
    pub fn push(&mut self, time: Time, event: Event) {
        self.number += 1;
        self.heap.push(Reverse((time, self.number, event)));
    }

    /// When the next thing happens.
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    /// The next thing.
    pub fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse((.., event))| event)
    }
}
