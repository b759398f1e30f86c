//! What batch systems say of jobs, whatever their words for it are.

use crate::job::SlotResources;
use crate::jobs::Status;

/// The words for an end by the clock; how long that was is not said here.
pub const TIMED_OUT: &str = "timed out";
/// The words for an end of which the exit status is asked for.
pub const FAILED: &str = "failed";
/// The words for an end that somebody wanted.
pub const CANCELLED: &str = "cancelled";

/// A state, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In line, or again in line.
    Waits,
    /// Its nodes are made ready.
    Begins,
    Runs,
    /// It holds its nodes, and does nothing.
    Pauses,
    /// It is ending.
    Ends,
    /// It is over: how, and in which words.
    Over(Status, &'static str),
    /// It waits again after it ran.
    Requeued,
    /// It is there, and never runs unless somebody looks after it.
    Stuck,
    Unknown,
}

impl State {
    pub fn failed(words: &'static str) -> State {
        State::Over(Status::Failed, words)
    }

    pub fn done() -> State {
        State::Over(Status::Done, "completed")
    }
}

/// A job in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub state: State,
    /// The state in the batch system's word.
    pub word: String,
    /// The number of our submission.
    pub number: Option<u64>,
    /// How many tasks each node has, once the job has said so.
    pub tasks: Vec<u32>,
    /// When it may start, as the batch system guesses.
    pub start: Option<String>,
    pub reason: Option<String>,
}

/// What was said of our jobs.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// Some of it was not understood: who is missing may have been there.
    pub has_garbage: bool,
}

/// What fits a job, and what says so.
#[derive(Debug, PartialEq, Eq)]
pub struct Fit {
    /// Tasks that one job may have at most.
    pub tasks_max: u32,
    /// Slots that a job for calls has best.
    pub block: u32,
    /// Where that is said; empty: nobody says how large a job may be.
    pub place: String,
}

impl Fit {
    /// Why a job of so many tasks is not submitted as it is.
    pub fn why(&self, tasks: u32, slot: &SlotResources) -> String {
        if self.place.is_empty() {
            return format!("a job for calls has {} of {tasks} slots that are wanted", self.block);
        }
        let what = match self.asked(slot) {
            Some(asked) => format!("slots of {asked}"),
            None => "processors".to_owned(),
        };
        let Fit { place, tasks_max, .. } = self;
        format!("{place} gives a job {tasks_max} {what} at most, and {tasks} are wanted")
    }

    /// Why no job gives even one slot what it asks for.
    pub fn why_never(&self, slot: &SlotResources) -> String {
        let asked = self.asked(slot).unwrap_or("a processor".to_owned());
        let place = &self.place;
        format!("{place} never has {asked} for one call: ask for fewer, or for another partition")
    }

    /// `4 cores and 1 GPU`.
    fn asked(&self, slot: &SlotResources) -> Option<String> {
        let counted = |count: u32, one| {
            if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
        };
        let said =
            [slot.cores.map(|cores| counted(cores, "core")), slot.gpus.map(|g| counted(g, "GPU"))];
        let said: Vec<String> = said.into_iter().flatten().collect();
        Some(said.join(" and ")).filter(|said| !said.is_empty())
    }
}
