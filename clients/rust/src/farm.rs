//! Many running calls of one routine, each for one element of something: task farming.
//!
//! A farm starts calls one after the other and tells of those that have ended, in the order in which
//! they end. Nothing runs beside it: the thread that asks for the next outcome reads the connections, as for
//! any call. Its calls are told to nobody else, so that it goes beside event loops and futures of the
//! same client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Error, Result};
use farcall_peer::Audience;
use rustc_hash::FxHashMap;

use crate::argument::{Argument, Destination, Passed};
use crate::client::CallOptions;
use crate::pending::{Farmed, PendingCall};
use crate::results::Outputs;
use crate::routine::Routine;
use crate::session::earlier;

/// Each farm of this process has a number of its own.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// How often calls are looked at that go on after they were told of: nobody tells of room at a server.
const LOOK: Duration = Duration::from_millis(20);

/// Running calls of one routine. Dropping it asks the servers to end them, unless they are kept, and
/// waits for nothing.
pub struct Farm {
    routine: Routine,
    options: CallOptions,
    /// Who is told of its calls.
    audience: Audience,
    /// By their numbers.
    calls: FxHashMap<u64, Begun>,
    /// When which call times out, the first in front; also of calls that have ended already.
    deadlines: VecDeque<(Instant, u64)>,
    /// Numbers of calls of which there is something to tell.
    told: VecDeque<u64>,
    /// Those that were told of and go on: one looks for another server, or waits for room there.
    unsettled: Vec<u64>,
    /// Those that could not be made.
    failed: VecDeque<(u64, Error)>,
}

struct Begun {
    element: u64,
    call: PendingCall,
}

/// What became of the call for an element.
pub struct Outcome {
    /// The element, as it was counted when the call was started.
    pub element: u64,
    /// Its results, or why there are none.
    pub results: Result<Outputs>,
}

impl Farm {
    /// One without calls. All are made with these options; with a label, each has its element behind
    /// it: `sweep[17]`.
    pub fn new(routine: &Routine, options: CallOptions) -> Farm {
        Farm {
            routine: routine.clone(),
            options,
            audience: Audience::farm(NEXT.fetch_add(1, Ordering::Relaxed)),
            calls: FxHashMap::default(),
            deadlines: VecDeque::new(),
            told: VecDeque::new(),
            unsettled: Vec::new(),
            failed: VecDeque::new(),
        }
    }

    /// What it calls.
    pub fn routine(&self) -> &Routine {
        &self.routine
    }

    /// Calls whose outcome was not taken.
    pub fn under_way(&self) -> usize {
        self.calls.len() + self.failed.len()
    }

    /// Starts the call for an element, with arguments as for [`Routine::call_positional`]; false if no
    /// server is found for it within `wait`, or none has room for one more. While calls of this farm
    /// are running, it does not wait for room: their outcomes make some. What is wrong with the
    /// arguments is the outcome of that call.
    ///
    /// It may leave with later ones: [`Farm::send`] has it leave at once.
    ///
    /// # Safety
    /// As for [`Routine::start_borrowed`], until the outcome of the element was taken, or the farm was
    /// dropped.
    pub unsafe fn start(
        &mut self,
        element: u64,
        arguments: Vec<Argument<'_>>,
        destinations: Vec<Destination<'_>>,
        wait: Duration,
    ) -> bool {
        // SAFETY: the caller's promise.
        let mut passed = unsafe { Passed::borrowed(arguments, destinations) };
        passed.label =
            self.options.label.as_ref().map(|label| Arc::from(format!("{label}[{element}]")));
        let room = if self.calls.is_empty() { wait } else { Duration::ZERO };
        let opened = PendingCall::open(
            self.routine.client.clone(),
            &self.routine.contract,
            passed,
            &self.options,
            Some(wait),
            Some(Farmed { farm: self.audience, room }),
        );
        match opened {
            Ok(Some(call)) => {
                let number = call.number();
                if let Some(moment) = call.last_moment() {
                    self.deadlines.push_back((moment, number));
                }
                self.calls.insert(number, Begun { element, call });
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.fail(element, error);
                true
            }
        }
    }

    /// The call for an element cannot be made.
    pub fn fail(&mut self, element: u64, error: Error) {
        self.failed.push_back((element, error));
    }

    /// All that were started leave, as far as the servers take it.
    pub fn send(&self) {
        self.routine.client.view().send_gathered();
    }

    /// The outcome of one that has ended; waits for at most `timeout` (`None`: for ever). `None` if
    /// none has by then, or none is running. Functions that calls pass run meanwhile.
    pub fn next(&mut self, timeout: Option<Duration>) -> Option<Outcome> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if timeout == Some(Duration::ZERO) {
            // What ends a connection is the outcome of its calls.
            let _ = self.routine.client.process();
        }
        loop {
            if let Some(outcome) = self.next_received() {
                return Some(outcome);
            }
            if self.calls.is_empty() {
                return None;
            }
            if let Some(outcome) = self.overdue() {
                return Some(outcome);
            }
            let again = (!self.unsettled.is_empty()).then(|| Instant::now() + LOOK);
            let deadline = self.deadlines.front().map(|(moment, _)| *moment);
            let wait = earlier(earlier(until, deadline), again);
            match self.routine.client.next_finished_of(self.audience, wait) {
                Ok(Some(number)) => self.told.push_back(number),
                Ok(None) if until.is_some_and(|until| until <= Instant::now()) => return None,
                Ok(None) => self.told.extend(self.unsettled.drain(..)),
                Err(error) => return self.lost(error),
            }
        }
    }

    /// The same of what has been received already, without waiting or receiving.
    pub fn next_received(&mut self) -> Option<Outcome> {
        if let Some((element, error)) = self.failed.pop_front() {
            return Some(Outcome { element, results: Err(error) });
        }
        if self.told.is_empty() {
            self.routine.client.view().take_farmed(self.audience, &mut self.told);
        }
        while let Some(number) = self.told.pop_front() {
            if let Some(outcome) = self.collect(number) {
                return Some(outcome);
            }
        }
        None
    }

    /// The outcome of a call of which there was something to tell.
    fn collect(&mut self, number: u64) -> Option<Outcome> {
        match self.calls.get_mut(&number)?.call.outcome().transpose() {
            Some(results) => self.end(number, results),
            None => {
                if !self.unsettled.contains(&number) {
                    self.unsettled.push(number);
                }
                None
            }
        }
    }

    fn end(&mut self, number: u64, results: Result<Outputs>) -> Option<Outcome> {
        let Begun { element, .. } = self.calls.remove(&number)?;
        Some(Outcome { element, results })
    }

    /// The first of those that have timed out.
    fn overdue(&mut self) -> Option<Outcome> {
        loop {
            let (moment, number) = *self.deadlines.front()?;
            if self.calls.contains_key(&number) && moment > Instant::now() {
                return None;
            }
            self.deadlines.pop_front();
            if let Some(outcome) = self.collect(number) {
                return Some(outcome);
            }
        }
    }

    /// All connections are gone, and every call that is left knows why.
    fn lost(&mut self, error: Error) -> Option<Outcome> {
        let number = *self.calls.keys().next()?;
        let outcome = self.collect(number);
        outcome.or_else(|| self.end(number, Err(error)))
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        self.calls.clear();
        self.routine.client.view().forget_farm(self.audience);
    }
}
