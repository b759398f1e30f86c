//! Functions of the caller's that routines call run here, in the thread that waits for their call.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_peer::Caller;

use super::Session;
use super::program::Program;
use crate::callback::{Answer, Callback, Taken};
use crate::clock::{now, since};

type Run = farcall_peer::Run<Program>;

thread_local! {
    /// The sessions and calls whose functions this thread runs, from the outermost to the
    /// innermost.
    static WITHIN: RefCell<Vec<(usize, CallId)>> = const { RefCell::new(Vec::new()) };
}

/// What callbacks of one call took so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallbackTimes {
    /// How many there were.
    pub count: u32,
    /// Until all of their arguments had come.
    pub arguments: Duration,
    /// While the functions ran.
    pub calculation: Duration,
    /// Until their results had left.
    pub results: Duration,
    /// Since when arguments come that are not there yet.
    pub arguments_since: Option<Instant>,
    /// Since when results leave that have not left yet.
    pub results_since: Option<Instant>,
}

/// A function of the caller's, and what it is called with.
pub struct Function {
    pub function: Arc<dyn Callback>,
    pub taken: Taken,
}

/// What there is for a thread that waits for a call.
pub enum Turn<T> {
    /// A function to run.
    Callback(Box<Run>),
    /// What it waits for.
    Over(T),
}

impl Session {
    /// Waits as [`Session::wait_until`], and runs the functions meanwhile that the routine of a
    /// call calls.
    #[inline(always)]
    pub(super) fn wait_and_run<T>(
        &self,
        number: u64,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Caller<Program>) -> Option<T>,
    ) -> Result<Option<T>> {
        loop {
            let turn =
                self.wait_until(deadline, |core| match core.caller.next_callback(number) {
                    Some(run) => Some(Turn::Callback(run)),
                    None => ready(&mut core.caller).map(Turn::Over),
                })?;
            match turn {
                Some(Turn::Callback(run)) => self.run(&run),
                Some(Turn::Over(found)) => return Ok(Some(found)),
                None => return Ok(None),
            }
        }
    }

    /// What callbacks of a call took so far.
    pub fn callback_times(&self, number: u64) -> CallbackTimes {
        let times = self.lock().caller.callback_times(number);
        CallbackTimes {
            count: times.count,
            arguments: times.arguments,
            calculation: times.calculation,
            results: times.results,
            arguments_since: times.arguments_since.map(since),
            results_since: times.results_since.map(since),
        }
    }

    /// Nobody asks for that any more.
    pub fn forget_callbacks(&self, number: u64) {
        self.lock().caller.forget_callbacks(number);
    }

    /// The call of this connection's whose function this thread runs, the innermost one. A call
    /// that it makes meanwhile is part of that: so the server knows who waits for whom
    /// (spec/call.md, section 6.1).
    pub(super) fn within(&self) -> Option<CallId> {
        WITHIN.with_borrow(|within| {
            within.iter().rev().find(|(of, _)| *of == self.identity()).map(|(_, call)| *call)
        })
    }

    /// Differs from that of every other session, for as long as one of its functions runs.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Runs a function of the caller's. Nothing is locked meanwhile: it may make calls itself.
    fn run(&self, run: &Run) {
        let begun = Instant::now();
        WITHIN.with_borrow_mut(|within| within.push((self.identity(), run.parent())));
        let answer =
            match catch_unwind(AssertUnwindSafe(|| run.callback.function.run(&run.callback.taken)))
            {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => Answer::failed(&error),
                Err(_) => {
                    Answer::failed(&refused(ErrorKind::RoutineFailed, "the function panicked"))
                }
            };
        WITHIN.with_borrow_mut(Vec::pop);
        let mut core = self.enter();
        let sending = Some(answer.sending).filter(|sending| !sending.is_empty());
        core.caller.answer_callback(run, &answer.result, sending, (begun.elapsed(), now()));
        self.advance(&mut core);
    }
}

fn refused(kind: ErrorKind, message: &'static str) -> Error {
    Error::new(kind, "run a callback", message)
}
