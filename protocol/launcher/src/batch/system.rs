//! What differs between batch systems: their commands, and how what these answer is read.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;

use super::{Fit, Row, Rows, State};
use crate::action::{Command, Outcome};
use crate::job::{Job, Resources};

/// Names of commands, for people.
pub struct Names {
    /// What submits.
    pub submit: &'static str,
    /// What shows the queue.
    pub look: &'static str,
}

/// A batch system. All jobs of a launcher carry its name, and each the number of its submission.
pub trait System: Send {
    /// Its commands' names.
    fn names(&self) -> Names;

    /// What its launcher can do (spec/launcher.md, section 6).
    fn features(&self) -> &'static [&'static str] {
        &["slots", "mpi", "queue", "resources"]
    }

    /// Whether a user may not add an option: it would have the command do something else.
    fn is_ours(&self, option: &str) -> bool;

    /// Submits a job.
    fn submit(&self, job: &Job, name: &str, number: u64) -> Command;

    /// The id of a job that was submitted, whatever else a site's plugins print.
    fn submitted(&self, outcome: &Outcome) -> Option<String>;

    /// Whether a job was refused for what it asks for: a smaller one may be taken.
    fn is_refused_for_size(&self, outcome: &Outcome) -> bool;

    /// Whether it was refused for a limit that passes.
    fn is_refused_for_now(&self, outcome: &Outcome) -> bool;

    /// Whether a job that waits for this reason does so for ever, because of what it asks for.
    fn is_too_large(&self, reason: &str) -> bool;

    /// All jobs of this launcher, in one question.
    fn look(&self, name: &str) -> Command;

    /// What that answered; `None` where it failed.
    fn rows(&self, name: &str, outcome: &Outcome) -> Option<Rows>;

    /// Why jobs wait, or their places in the queue, if another question says so.
    fn notes(&self, name: &str) -> Option<Command>;

    /// What that answered, by id.
    fn read_notes(&self, outcome: &Outcome) -> BTreeMap<String, String>;

    /// Cancels one job.
    fn cancel(&self, id: &str) -> Command;

    /// Cancels whatever this launcher ever submitted.
    fn cancel_all(&self, name: &str) -> Command;

    /// Whether that has cancelled everything.
    fn is_cancelled(&self, outcome: &Outcome) -> bool {
        outcome.status == Some(0)
    }

    /// Asks the master about a job, ...
    fn ask_controller(&self, id: &str) -> Command;

    /// ... and the accounting.
    fn ask_accounting(&self, id: &str) -> Command;

    /// How a job ended, or that it has not; `None` where that was not said.
    fn told(&self, outcome: &Outcome) -> Option<(State, String)>;

    /// Time until a job that has left the queue is remembered.
    fn remembers_after(&self) -> Duration {
        Duration::ZERO
    }

    /// What a person does about jobs that may be left.
    fn advice(&self, name: &str) -> String;

    /// Cancels what waits of a launcher that was killed, ...
    fn cancel_waiting(&self, name: &str) -> Command;

    /// ... and lists what is left of that.
    fn list_waiting(&self, name: &str) -> Command;

    /// Runs a program on one node of a job that holds them, with its streams here; `tasks` are
    /// those of each node.
    fn step(&self, _: &Job, _id: &str, _node: usize, _tasks: &[u32]) -> Option<Vec<String>> {
        None
    }

    /// Asks what jobs may have, if nobody has for a while.
    fn ask_limits(&mut self, _: Instant) -> Vec<(usize, Command)> {
        Vec::new()
    }

    /// Whether one of these questions has no answer yet.
    fn are_limits_awaited(&self) -> bool {
        false
    }

    /// One of them has.
    fn limits_told(&mut self, _question: usize, _: &Outcome) {}

    /// What fits a job; `None` where nothing is known. Jobs for calls have one processor each where
    /// nobody says how many there are.
    fn fit(&self, _: &Job) -> Option<Fit> {
        Some(Fit { tasks_max: u32::MAX, block: 1, place: String::new() })
    }

    /// Whether a job that waits for this reason does so for ever, because of what its slots ask for.
    fn is_never(&self, reason: &str) -> bool {
        self.is_too_large(reason)
    }

    /// The longest time of a job, in minutes.
    fn minutes_max(&self, _: &Resources) -> Option<u32> {
        None
    }
}

/// A command; its limit is set by who runs it.
pub fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Command {
    Command {
        words: words.into_iter().map(str::to_owned).collect(),
        input: String::new(),
        limit: Duration::ZERO,
    }
}

/// A shell's command line, with words that stand for `$1` and so on in it.
pub fn shell(line: &str, words: &[&str]) -> Command {
    command(["/bin/sh", "-c", line, "farcall"].into_iter().chain(words.iter().copied()))
}

/// Options with their values, where they have one.
pub fn given<const N: usize>(options: [(&str, Option<String>); N]) -> impl Iterator<Item = String> {
    options
        .into_iter()
        .flat_map(|(name, value)| value.map(|value| [name.to_owned(), value]))
        .flatten()
}

/// The last line that is an id, of a command that went well.
pub fn last_line(outcome: &Outcome, is_id: impl Fn(&str) -> bool) -> Option<String> {
    let last = outcome.output.lines().rev().map(str::trim).find(|line| is_id(line));
    last.filter(|_| outcome.status == Some(0)).map(str::to_owned)
}

/// Whether a job may be there all the same: its submission was ended, or heard nothing in time, or
/// what it said makes no sense.
pub fn may_be_there(outcome: &Outcome) -> bool {
    let is_late = outcome.words.to_ascii_lowercase().contains("timed out");
    matches!(outcome.status, None | Some(0)) || is_late
}

/// What commands say last, and say nothing by: `qsub` of Grid Engine.
const EMPTY: [&str; 2] = ["", "Exiting."];

/// The last words of a command, for people.
pub fn words(outcome: &Outcome) -> String {
    let said = outcome.words.lines().rev().find(|line| !EMPTY.contains(&line.trim()));
    let how = || {
        outcome
            .status
            .map_or("it took too long".to_owned(), |status| format!("exit status {status}"))
    };
    said.map_or_else(how, |line| line.trim().to_owned())
}

/// Whether what a command said has one of these, in small letters.
pub fn says(outcome: &Outcome, known: &[&str]) -> bool {
    let words = outcome.words.to_ascii_lowercase();
    known.iter().any(|known| words.contains(known))
}

/// The number of a submission, of a job's name that ends with it: `NAME.7`.
pub fn number_in(name: &str, job: &str) -> Option<u64> {
    job.strip_prefix(name)?.strip_prefix('.')?.parse().ok()
}

/// Rows, of whatever each part of an answer was read as.
pub fn rows_of(read: impl IntoIterator<Item = Option<Row>>) -> Rows {
    let mut rows = Rows { rows: Vec::new(), has_garbage: false };
    for row in read {
        match row {
            Some(row) => rows.rows.push(row),
            None => rows.has_garbage = true,
        }
    }
    rows
}
