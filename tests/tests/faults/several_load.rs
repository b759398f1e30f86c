//! A caller of several servers: calls that a metaserver places, some of which may run twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Random, SeededRandom};
use farcall_client::idl::interface::Order as Layout;
use farcall_client::{Array, CallOptions, Client, Error, ErrorKind, PendingCall, Result};

use crate::journal::{Entry, Journal};
use crate::load::{BOUND, Order, connect, judge, numbers};

/// Calls at a time.
pub const DEPTH: usize = 6;
/// The longest pause before a call, in microseconds: faults are to come to their turn.
const PACE_US: u64 = 4000;
/// Calls that fail one after the other before a caller connects again.
const FAILURES_MAX: usize = 20;
/// A pause after a failure: nobody is to make all its calls while servers are away.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether a call may run twice.
pub fn may_run_twice(number: usize) -> bool {
    number.is_multiple_of(3)
}

/// Whether a program that has just connected is told that nobody publishes a routine.
fn is_unknown(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && error.to_string().starts_with("find a routine")
}

struct Caller<'a> {
    order: &'a Order,
    journal: Journal,
    client: Client,
    under_way: VecDeque<(usize, PendingCall)>,
    /// Calls that failed since the last one that did not.
    failures: usize,
    random: SeededRandom,
}

/// Does what this process is for.
pub fn make_calls(order: &Order) {
    let client = connect(&order.address, &order.token).unwrap_or_else(|error| panic!("{error}"));
    let mut caller = Caller {
        order,
        journal: Journal::open(&order.journal),
        client,
        under_way: VecDeque::new(),
        failures: 0,
        random: SeededRandom::new(order.seed ^ order.from as u64),
    };
    for number in order.from..order.to {
        caller.make_room(DEPTH - 1);
        std::thread::sleep(Duration::from_micros(caller.random.next() % PACE_US));
        caller.begin(number);
    }
    caller.make_room(0);
}

impl Caller<'_> {
    /// Waits for the first calls until no more than so many are left.
    fn make_room(&mut self, most: usize) {
        while self.under_way.len() > most {
            let (number, mut call) = self.under_way.pop_front().unwrap();
            let entry = judge(number, call.wait_for(2 * BOUND));
            self.ended(number, &entry);
        }
    }

    fn ended(&mut self, number: usize, entry: &Entry) {
        self.journal.write(number, entry);
        if matches!(entry, Entry::Right) {
            self.failures = 0;
            return;
        }
        self.failures += 1;
        std::thread::sleep(PAUSE);
    }

    fn begin(&mut self, number: usize) {
        if self.failures >= FAILURES_MAX {
            self.failures = 0;
            self.client = connect(&self.order.address, &self.order.token)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        self.journal.write(number, &Entry::Begun);
        match self.start(number) {
            Ok(call) => self.under_way.push_back((number, call)),
            // A metaserver that was started a moment ago has not heard of its servers yet.
            Err(error) if is_unknown(&error) => {
                self.ended(number, &Entry::Failed(error.to_string()));
            }
            Err(error) => self.ended(number, &judge(number, Err(error))),
        }
    }

    fn start(&mut self, number: usize) -> Result<PendingCall> {
        let options = CallOptions { timeout: Some(BOUND), ..CallOptions::default() };
        // Some take a while, so that faults strike while they run.
        let is_long = self.random.next().is_multiple_of(2);
        let pause_us = if is_long { (self.random.next() % 30_000) as i64 } else { 0 };
        let x = numbers(number);
        let elements = [x.len() as u64];
        let arguments = [
            ("number", (number as i64).into()),
            ("pause_us", pause_us.into()),
            ("file", self.order.marks.to_str().unwrap().into()),
            ("x", Array::shared(Arc::new(x), &elements, Layout::Row).into()),
        ];
        let routine = if may_run_twice(number) { "faults/again" } else { "faults/run" };
        self.client.routine(routine)?.start(arguments, &options)
    }
}
