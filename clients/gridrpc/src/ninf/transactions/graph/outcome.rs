//! What became of a graph: which of its calls returned, and what of their results goes to the
//! program's memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use farcall_client::{
    Error, ErrorKind, Output, Outputs, PendingCall, Result, TimelineState, TransactionEnd,
};

use crate::code::{Failure, Outcome};
use crate::connecting::Connection;
use crate::information::MeasuredCall;

use super::super::Came;
use super::super::recording::Recorded;
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
    /// Writes results to the program's memory, and tells what failed. As from here, a call that
    /// used the same memory as an earlier one that failed changes nothing there.
    ///
    /// # Safety
    /// Results may be written to where the arguments of the calls say.
    pub unsafe fn settle(self, graph: &Graph<'_>, is_cancelled: bool) -> Came {
        let steps = graph.steps;
        let returned = self.returned(graph);
        let Ended { fetched, end } = self;
        // The caller tells that it was cancelled.
        let mut failed = if is_cancelled { Vec::new() } else { failures(graph, end, &returned) };
        let mut kept = BTreeSet::new();
        for (call, step) in steps.iter().enumerate() {
            if returned.contains(&call) && step.after.is_subset(&kept) {
                kept.insert(call);
            }
        }
        for (wanted, fetched) in graph.results.iter().zip(fetched) {
            if !kept.contains(&wanted.call) {
                continue;
            }
            // SAFETY: the caller's promise.
            let filled = fetched.and_then(|outputs| unsafe { fill(wanted, &outputs) });
            if let Err(error) = filled {
                failed.push((wanted.call, failure(graph, wanted.call, error)));
            }
        }
        failed.sort_by_key(|(call, _)| *call);
        let themselves: BTreeSet<usize> = failed.iter().map(|(call, _)| *call).collect();
        let did_not_run = |call: &usize| !returned.contains(call) && !themselves.contains(call);
        Came {
            kept_back: (0..steps.len()).filter(did_not_run).count(),
            dropped: returned.difference(&kept).count(),
            failures: failed.into_iter().map(|(_, failure)| failure).collect(),
        }
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

/// The calls that failed, and did not only lack what another was to make.
fn failures(
    graph: &Graph<'_>,
    end: Result<TransactionEnd>,
    returned: &BTreeSet<usize>,
) -> Vec<(usize, Failure)> {
    let end = match end {
        Ok(end) => end,
        Err(error) => return vec![(0, failure(graph, 0, error))],
    };
    let told = end.failures.into_iter().map(|one| (one.call as usize, one.failure));
    told.filter(|(call, _)| graph.sources[*call].is_subset(returned))
        .map(|(call, said)| (call, failure(graph, call, Error::from(said))))
        .collect()
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
