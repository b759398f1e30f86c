//! Running a transaction's calls from here, each when those have ended that it has to wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::Arc;

use crate::calling::start;
use crate::code::{Failure, Outcome};

use super::super::lock;
use super::super::waiting::wait_for_one;
use super::recording::{Recorded, Step};
use super::{Came, Ending};

/// What is known of calls that a server has run.
pub struct Known<'k> {
    /// Those that returned.
    pub returned: BTreeSet<usize>,
    /// Those that failed, or may have run: they do not run from here.
    pub ended: BTreeSet<usize>,
    /// Writes the results of one that returned to the program's memory.
    pub fill: &'k mut dyn FnMut(usize) -> Outcome<()>,
}

/// Starts a call that was written down: its session.
///
/// # Safety
/// Its arguments are as the interface says until it has ended.
unsafe fn start_call(call: &Recorded) -> Outcome<c_int> {
    // SAFETY: the caller's promise.
    unsafe { start(&call.wanted()?, call.in_turn()) }
}

/// A transaction that runs.
#[derive(Default)]
struct Run {
    ending: Arc<Ending>,
    /// Steps by their sessions.
    under_way: BTreeMap<c_int, usize>,
    begun: BTreeSet<usize>,
    fine: BTreeSet<usize>,
    failures: Vec<Failure>,
}

impl Run {
    /// Starts all that wait for nothing any more.
    ///
    /// # Safety
    /// The arguments of all steps are as their interfaces say until all have ended.
    unsafe fn begin_ready(&mut self, steps: &[Step], known: &mut Known<'_>) -> Outcome<()> {
        for (index, step) in steps.iter().enumerate() {
            let is_over = self.begun.contains(&index) || known.ended.contains(&index);
            if is_over || !step.after.is_subset(&self.fine) {
                continue;
            }
            if known.returned.contains(&index) {
                self.begun.insert(index);
                match (known.fill)(index) {
                    Ok(()) => drop(self.fine.insert(index)),
                    Err(failure) => self.failures.push(failure),
                }
                continue;
            }
            if self.ending.is_cancelled() {
                continue;
            }
            self.begun.insert(index);
            // SAFETY: the caller's promise.
            match unsafe { start_call(&step.call) } {
                Ok(session) => {
                    self.under_way.insert(session, index);
                    self.ending.add(session)?;
                }
                Err(failure) => self.failures.push(failure),
            }
        }
        Ok(())
    }

    /// Waits for one of those under way.
    fn wait(&mut self) -> Outcome<()> {
        let sessions: Vec<c_int> = self.under_way.keys().copied().collect();
        let (session, failure) = wait_for_one(&sessions)?;
        lock(&self.ending.under_way).remove(&session);
        let index = self.under_way.remove(&session);
        match failure {
            None => self.fine.extend(index),
            Some(failure) => self.failures.push(failure),
        }
        Ok(())
    }
}

/// Runs a transaction's calls, and waits for all.
///
/// # Safety
/// As for [`Run::begin_ready`].
pub unsafe fn run(steps: &[Step], ending: &Arc<Ending>) -> Outcome<Came> {
    let mut fill = |_| Ok(());
    let known = Known { returned: BTreeSet::new(), ended: BTreeSet::new(), fill: &mut fill };
    // SAFETY: the caller's promise.
    unsafe { go_on(steps, ending, known) }
}

/// The same where a server has run some of them: what these made is written at their turn.
///
/// # Safety
/// As for [`Run::begin_ready`].
pub unsafe fn go_on(steps: &[Step], ending: &Arc<Ending>, mut known: Known<'_>) -> Outcome<Came> {
    let mut run = Run { ending: ending.clone(), ..Run::default() };
    loop {
        // SAFETY: the caller's promise.
        unsafe { run.begin_ready(steps, &mut known) }?;
        if run.under_way.is_empty() {
            break;
        }
        run.wait()?;
    }
    let did_not_begin = |call: &usize| !run.begun.contains(call) && !known.ended.contains(call);
    let kept_back: Vec<usize> = (0..steps.len()).filter(did_not_begin).collect();
    let dropped = kept_back.iter().filter(|call| known.returned.contains(call)).count();
    Ok(Came { failures: run.failures, kept_back: kept_back.len() - dropped, dropped, missed: 0 })
}
