//! How long calls run, as this server learned from those that ran (spec/placement.md, section 3).

use farcall_idl::values::ByteValues;
use farcall_placement::{Crowd, Crowding, Limits, MemberId, RunTimes, Work, threads_for};
use farcall_wire::Argument;
use xxhash_rust::xxh3::Xxh3Default;

use crate::state::{Call, State};

/// This server, in what it learned: it knows of no other.
const HERE: MemberId = MemberId(0);

/// What was learned.
#[derive(Debug)]
pub struct Times {
    runs: RunTimes,
    /// How many calls there were lately.
    crowd: Crowd,
}

impl Default for Times {
    fn default() -> Times {
        Times { runs: RunTimes::new(&Limits::default()), crowd: Crowd::default() }
    }
}

impl Times {
    /// Seconds that a call is expected to run.
    pub(crate) fn predict(&self, call: &Call) -> f64 {
        self.runs.predict(HERE, &call.routine.contract, &work_of(call)).seconds
    }

    /// How many threads make calls like this one take the least time. It has come, and with it
    /// there are so many.
    pub(crate) fn threads(&mut self, call: &Call, processors: u32, calls: u32) -> u32 {
        let takes = self.predict(call);
        let calls = self.crowd.handle_call(call.times.queued, calls, takes);
        let work = work_of(call);
        let contract = &call.routine.contract;
        let gain = |threads| self.runs.gain(contract, &work, threads);
        threads_for(Crowding { processors, calls }, gain)
    }

    /// It ran so long.
    pub(crate) fn observe(&mut self, call: &Call, seconds: f64) {
        self.runs.observe(HERE, &call.routine.contract, &work_of(call), seconds);
    }
}

/// How much a call has to do. A formula that fails for its values counts as none.
fn work_of(call: &Call) -> Work {
    let interface = &call.routine.routine.interface;
    let given: Vec<Option<&[u8]>> = call.open.arguments.iter().map(inline).collect();
    let values = ByteValues::new(interface, given.as_slice());
    let operations = interface.complexity.as_ref();
    let operations = operations.and_then(|formula| formula.evaluate_real(&values).ok());
    let operations = operations.filter(|operations| operations.is_finite());
    let mut sizes = Xxh3Default::new();
    for bytes in given.into_iter().flatten() {
        sizes.update(&(bytes.len() as u64).to_le_bytes());
        sizes.update(bytes);
    }
    Work {
        amount: operations.unwrap_or(call.layout.array_bytes() as f64).max(1.0),
        sizes: sizes.digest(),
        threads: call.run.share.threads.unwrap_or(call.run.share.processors).max(1),
    }
}

fn inline(argument: &Argument) -> Option<&[u8]> {
    match argument {
        Argument::Inline(bytes) => Some(bytes.as_slice()),
        _ => None,
    }
}

impl State {
    /// Seconds that a call is expected to run which is to wait, as exactly as the order needs it.
    pub(crate) fn expected_run(&self, call: &Call) -> f64 {
        if self.queue.needs_run_times() {
            self.queue.times.predict(call)
        } else {
            call.routine.typical_s()
        }
    }
}
