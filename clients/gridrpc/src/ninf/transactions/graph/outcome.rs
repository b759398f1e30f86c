//! What became of a graph: which of its calls returned, and what of their results goes to the
//! program's memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use farcall_client::{
    Error, ErrorKind, Output, Outputs, PendingCall, Result, TimelineState, TransactionEnd,
};

use crate::code::{Failure, Outcome};
use crate::connecting::Connection;
use crate::information::MeasuredCall;

use super::super::local::{Known, go_on};
use super::super::recording::Recorded;
use super::super::{Came, Ending};
use super::{Graph, Wanted};
use crate::ninf::ninf;

/// A result that was waited for.
pub type Fetched = Result<Outputs>;

/// A graph whose calls have ended.
pub struct Ended {
    /// One for each result that is wanted.
    pub fetched: Vec<Fetched>,
    pub end: Result<TransactionEnd>,
}

/// Waits for a result of this call.
pub fn collect(
    call: &Recorded,
    connection: &Arc<Connection>,
    pending: &mut PendingCall,
) -> Outcome<Fetched> {
    let context = ninf().context()?;
    let measured = MeasuredCall::begun(Instant::now());
    let mut known = context.sessions.enter(connection, pending.number(), measured)?;
    let fetched = pending.wait_in_place();
    if let Ok(outputs) = &fetched {
        let routine = pending.routine();
        known.measured.ended(call.handle.binding, routine.interface(), outputs.times());
        known.server = outputs.server_name();
    }
    Ok(fetched)
}

impl Ended {
    /// How it ended.
    pub fn in_words(&self) -> String {
        match &self.end {
            Ok(end) => format!("{} of its calls did not return", end.failed),
            Err(error) => error.to_string(),
        }
    }

    /// Writes results to the program's memory, and tells what failed. As without a server that runs
    /// graphs, a call that used the same memory as an earlier one that failed changes nothing
    /// there. Calls for which the server had no room run from here.
    ///
    /// # Safety
    /// Results may be written to where the arguments of the calls say.
    pub unsafe fn settle(self, graph: &Graph<'_>, ending: &Arc<Ending>) -> Outcome<Came> {
        let mut returned = self.returned(graph);
        let Ended { fetched, end } = self;
        let mut fetched: Vec<Option<Fetched>> = fetched.into_iter().map(Some).collect();
        let mut failed = BTreeMap::new();
        let mut ended = graph.others(&returned);
        match end {
            Ok(end) => {
                ended.retain(|call| graph.sources[*call].is_subset(&returned));
                failed = failures(graph, end, &ended);
                graph.add_untold(&ended, &mut failed, &mut fetched);
                ended.retain(|call| !failed.get(call).is_some_and(lacks_room));
                graph.prepare_to_go_on(&mut returned, &mut ended, &mut failed);
                failed.retain(|call, _| ended.contains(call));
            }
            // The caller tells that it was cancelled.
            Err(_) if ending.is_cancelled() => {}
            Err(error) => drop(ended.first().map(|first| failed.insert(*first, error))),
        }
        let failures: Vec<Failure> =
            failed.into_iter().map(|(call, error)| failure(graph, call, error)).collect();
        let mut fill = |call: usize| {
            graph.results_of(call).try_for_each(|index| {
                let Some(fetched) = fetched[index].take() else { return Ok(()) };
                let wanted = &graph.results[index];
                // SAFETY: the caller's promise.
                let filled = fetched.and_then(|outputs| unsafe { fill(wanted, &outputs) });
                filled.map_err(|error| failure(graph, call, error))
            })
        };
        let known = Known { returned, ended, fill: &mut fill };
        // SAFETY: as above.
        let mut came = unsafe { go_on(graph.steps, ending, known) }?;
        came.failures.splice(0..0, failures);
        Ok(came)
    }

    /// The calls that returned, as far as is known.
    fn returned(&self, graph: &Graph<'_>) -> BTreeSet<usize> {
        let all = 0..graph.steps.len();
        let shown = |end: &TransactionEnd| end.failures.len() >= end.failed as usize;
        match &self.end {
            Ok(end) if shown(end) => {
                let failed: BTreeSet<usize> =
                    end.failures.iter().map(|one| one.call as usize).collect();
                all.filter(|call| !failed.contains(call)).collect()
            }
            // Only the first ones were told.
            Ok(_) => {
                let timeline = graph.transaction.timeline().unwrap_or_default();
                let rows = all.zip(timeline);
                rows.filter(|(_, row)| row.state == TimelineState::Returned)
                    .map(|(call, _)| call)
                    .collect()
            }
            Err(_) => self.surely_returned(graph),
        }
    }

    /// The calls whose results are here, and those whose results these took.
    fn surely_returned(&self, graph: &Graph<'_>) -> BTreeSet<usize> {
        let fetched = graph.results.iter().zip(&self.fetched);
        let mut returned: BTreeSet<usize> =
            fetched.filter(|(_, one)| one.is_ok()).map(|(wanted, _)| wanted.call).collect();
        for call in (0..graph.steps.len()).rev() {
            if returned.contains(&call) {
                returned.extend(&graph.sources[call]);
            }
        }
        returned
    }
}

/// Why these failed, as far as it was told.
fn failures(
    graph: &Graph<'_>,
    end: TransactionEnd,
    failed: &BTreeSet<usize>,
) -> BTreeMap<usize, Error> {
    let told = end.failures.into_iter().map(|one| (one.call as usize, one.failure));
    told.filter(|(call, _)| failed.contains(call) && *call < graph.steps.len())
        .map(|(call, said)| (call, Error::from(said)))
        .collect()
}

/// Whether a call did not run because its results, and those of others, were too many to be kept at
/// once: from here, one call after the other may have room.
fn lacks_room(error: &Error) -> bool {
    error.kind() == ErrorKind::LimitExceeded && error.is_retryable()
}

fn no_room() -> Error {
    let message = "the server has no room for the results between its calls";
    Error::new(ErrorKind::LimitExceeded, "run a transaction", message)
        .fix("divide the work into several transactions, or raise the limits of the server")
}

impl Graph<'_> {
    /// All calls but these.
    fn others(&self, these: &BTreeSet<usize>) -> BTreeSet<usize> {
        (0..self.steps.len()).filter(|call| !these.contains(call)).collect()
    }

    /// Only the first failures are told, but each result says why it is not there.
    fn add_untold(
        &self,
        ended: &BTreeSet<usize>,
        failed: &mut BTreeMap<usize, Error>,
        fetched: &mut [Option<Fetched>],
    ) {
        for call in ended.iter().filter(|call| !failed.contains_key(call)).collect::<Vec<_>>() {
            let mut results = self.results_of(*call).filter_map(|index| fetched[index].take());
            let said = results.find_map(Result::err);
            let message = "the call failed, and the server did not say why";
            let untold = || Error::new(ErrorKind::RoutineFailed, "run a transaction", message);
            failed.insert(*call, said.unwrap_or_else(untold));
        }
    }

    /// Prepares those to run from here that neither returned nor ended: what they use is here, or is
    /// made again by calls that may run twice. The others end.
    fn prepare_to_go_on(
        &self,
        returned: &mut BTreeSet<usize>,
        ended: &mut BTreeSet<usize>,
        failed: &mut BTreeMap<usize, Error>,
    ) {
        let mut kept_back = ended.clone();
        for (call, step) in self.steps.iter().enumerate() {
            if !step.after.is_disjoint(&kept_back) {
                kept_back.insert(call);
            } else if !returned.contains(&call)
                && !kept_back.contains(&call)
                && !self.can_go_on(call, returned)
            {
                kept_back.insert(call);
                ended.insert(call);
                failed.entry(call).or_insert_with(no_room);
            }
        }
    }

    /// Whether a call can run from here; what has to be made again has not returned, then.
    fn can_go_on(&self, call: usize, returned: &mut BTreeSet<usize>) -> bool {
        let mut needed = vec![call];
        let mut again = BTreeSet::new();
        while let Some(call) = needed.pop() {
            for source in &self.sources[call] {
                if !returned.contains(source) || self.is_here(*source) || again.contains(source) {
                    continue;
                }
                if !self.may_repeat[*source] {
                    return false;
                }
                again.insert(*source);
                needed.push(*source);
            }
        }
        returned.retain(|call| !again.contains(call));
        true
    }

    /// Whether calls that use results of others can run from here whatever has run before.
    pub fn can_always_go_on(&self) -> bool {
        let mut sources = self.sources.iter().flatten().peekable();
        sources.peek().is_some()
            && sources.all(|source| self.may_repeat[*source] || self.is_here(*source))
    }

    /// Whether all results of a call are fetched.
    fn is_here(&self, call: usize) -> bool {
        let spans = self.steps[call].spans.iter().flatten();
        let written = spans.filter(|span| span.written && span.bytes > 0);
        self.results_of(call).len() == written.count()
    }
}

/// The failure of a call, noted where the next one looks.
fn failure(graph: &Graph<'_>, call: usize, error: Error) -> Failure {
    let handle = &graph.steps[call].call.handle;
    handle.server.note(&graph.connection, &error);
    handle.failed(error)
}

/// Writes a result where it is wanted.
///
/// # Safety
/// As for [`Ended::settle`].
unsafe fn fill(wanted: &Wanted<'_>, outputs: &Outputs) -> Result<()> {
    let wrong = || {
        let message = "the server sent another array than was wanted";
        Error::new(ErrorKind::Protocol, "fetch the results of a transaction", message)
    };
    // Its extents, and behind them the array.
    let Some(Output::Array(array)) = outputs.all().last() else { return Err(wrong()) };
    let elements = array.packed(wanted.data.kind().order)?;
    if elements.len() != wanted.place.bytes {
        return Err(wrong());
    }
    // SAFETY: the caller's promise: an array of so many bytes.
    unsafe {
        let place = wanted.place.start as *mut u8;
        place.copy_from_nonoverlapping(elements.as_ptr(), elements.len());
    }
    Ok(())
}
