//! Slurm: `sbatch`, `squeue`, `scancel`, and what its site says of limits.

mod answers;
mod commands;
mod limits;
mod script;

use std::collections::BTreeMap;

use farcall_base::Instant;

use super::answers::{Fit, Rows, State};
use super::system::{Names, System};
use crate::action::{Command, Outcome};
use crate::job::{Job, Resources};
use limits::{Limits, Question};

/// The questions about limits, by their numbers.
const QUESTIONS: [Question; 3] =
    [Question::Partitions, Question::Associations, Question::Qualities];

/// See the module.
pub struct Slurm {
    /// Whose account is asked about; empty: none is.
    user: String,
    limits: Limits,
}

impl Slurm {
    pub fn new(user: &str) -> Slurm {
        Slurm { user: user.to_owned(), limits: Limits::default() }
    }

    fn ask(&self, question: Question) -> Command {
        match question {
            Question::Partitions => commands::partitions(),
            Question::Associations => commands::associations(&self.user),
            Question::Qualities => commands::qualities(),
        }
    }
}

impl System for Slurm {
    fn names(&self) -> Names {
        Names { submit: "sbatch", look: "squeue" }
    }

    fn features(&self) -> &'static [&'static str] {
        &["slots", "mpi", "bridge", "queue", "resources"]
    }

    fn is_ours(&self, option: &str) -> bool {
        commands::is_ours(option)
    }

    fn submit(&self, job: &Job, name: &str, number: u64) -> Command {
        commands::sbatch(job, name, number)
    }

    fn submitted(&self, outcome: &Outcome) -> Option<String> {
        answers::submitted(outcome)
    }

    fn is_refused_for_size(&self, outcome: &Outcome) -> bool {
        answers::is_refused_for_size(outcome)
    }

    fn is_refused_for_now(&self, outcome: &Outcome) -> bool {
        answers::is_refused_for_now(outcome)
    }

    fn is_too_large(&self, reason: &str) -> bool {
        answers::is_too_large(reason)
    }

    fn is_never(&self, reason: &str) -> bool {
        answers::is_never(reason)
    }

    fn look(&self, name: &str) -> Command {
        commands::squeue(name)
    }

    fn rows(&self, _: &str, outcome: &Outcome) -> Option<Rows> {
        answers::rows(outcome)
    }

    fn notes(&self, _: &str) -> Option<Command> {
        Some(commands::waiting())
    }

    fn read_notes(&self, outcome: &Outcome) -> BTreeMap<String, String> {
        answers::places(outcome)
    }

    fn cancel(&self, id: &str) -> Command {
        commands::scancel(id)
    }

    fn cancel_all(&self, name: &str) -> Command {
        commands::scancel_all(name)
    }

    fn ask_controller(&self, id: &str) -> Command {
        commands::scontrol(id)
    }

    fn ask_accounting(&self, id: &str) -> Command {
        commands::sacct(id)
    }

    fn told(&self, outcome: &Outcome) -> Option<(State, String)> {
        answers::told(outcome)
    }

    fn advice(&self, name: &str) -> String {
        format!("see `squeue --name={name}`, and `scancel --name={name}`")
    }

    fn cancel_waiting(&self, name: &str) -> Command {
        commands::cancel_waiting(name)
    }

    fn list_waiting(&self, name: &str) -> Command {
        commands::list_waiting(name)
    }

    fn step(&self, job: &Job, id: &str, node: usize, tasks: &[u32]) -> Option<Vec<String>> {
        Some(script::step(job, id, node, tasks))
    }

    fn ask_limits(&mut self, now: Instant) -> Vec<(usize, Command)> {
        let questions = if self.user.is_empty() { &QUESTIONS[..1] } else { &QUESTIONS[..] };
        if !self.limits.are_due(now, questions.len()) {
            return Vec::new();
        }
        questions.iter().map(|question| self.ask(*question)).enumerate().collect()
    }

    fn are_limits_awaited(&self) -> bool {
        self.limits.are_awaited()
    }

    fn limits_told(&mut self, question: usize, outcome: &Outcome) {
        if let Some(question) = QUESTIONS.get(question) {
            self.limits.answered(*question, outcome);
        }
    }

    fn fit(&self, job: &Job) -> Option<Fit> {
        self.limits.fit(job)
    }

    fn minutes_max(&self, resources: &Resources) -> Option<u32> {
        self.limits.minutes_max(resources)
    }
}
