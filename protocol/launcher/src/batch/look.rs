//! Looking at the queue, and what follows from what is seen there.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;

use crate::action::{Action, Bridged, Outcome, Start};
use crate::job::{Job, timed_out};
use crate::jobs::Status;

use super::answers::{CANCELLED, FAILED, TIMED_OUT};
use super::{Batch, Bridges, Errand, Phase, Row, State, Submission, words};

/// Looks that must miss a job before anybody is asked about it, ...
const MISSES_ASKED: u32 = 2;
/// ... and before it counts as gone where nobody knows it.
const MISSES_GONE: u32 = 3;
/// How often a job is cancelled that does not go.
const CANCELS_MAX: u32 = 20;
/// Time after which failing looks are worth a word.
const FAILING: Duration = Duration::from_secs(60);
/// Time between two questions for places in line, and the like: the answer may name all jobs of the
/// site.
const NOTES: Duration = Duration::from_secs(60);

/// How often is looked, and how that went.
pub struct Looks {
    /// When the next is due.
    next: Option<Instant>,
    /// The time between this and the one after it.
    interval: Duration,
    /// How many have begun.
    begun: u64,
    failing_since: Option<Instant>,
    was_said: bool,
    /// What is known of jobs that wait, by id.
    pub notes: BTreeMap<String, String>,
    notes_asked: Option<Instant>,
}

impl Looks {
    pub fn new(interval: Duration) -> Looks {
        let notes = BTreeMap::new();
        Looks {
            next: None,
            interval,
            begun: 0,
            failing_since: None,
            was_said: false,
            notes,
            notes_asked: None,
        }
    }

    /// Something is about to change.
    pub fn soon(&mut self, now: Instant, interval: Duration) {
        self.interval = interval;
        self.next = Some(self.next.map_or(now + interval, |next| next.min(now + interval)));
    }
}

/// What a look has to say of a job.
enum News {
    Nothing,
    Is(Status, String),
    /// Ask the controller for the exit status first.
    Ended(String),
}

impl Batch {
    fn is_looked_for(submission: &Submission) -> bool {
        matches!(submission.phase, Phase::Known(_) | Phase::Doubtful { .. } | Phase::Refused)
    }

    pub(super) fn next_look(&self) -> Option<Instant> {
        let is_needed = self.submissions.values().any(Self::is_looked_for);
        let runs = self.runs(|errand| matches!(errand, Errand::Look)) > 0;
        self.looks.next.filter(|_| is_needed && !runs)
    }

    pub(super) fn look(&mut self, now: Instant) {
        if self.closing.is_some() || self.next_look().is_none_or(|at| now < at) {
            return;
        }
        self.looks.next = None;
        self.looks.begun += 1;
        self.run(Errand::Look, self.system.look(&self.settings.name));
        let is_due = self.looks.notes_asked.is_none_or(|at| now.since(at) >= NOTES);
        let waits = |submission: &Submission| submission.was_seen && !submission.was_active;
        if is_due
            && self.submissions.values().any(waits)
            && let Some(command) = self.system.notes(&self.settings.name)
        {
            self.looks.notes_asked = Some(now);
            self.run(Errand::Notes, command);
        }
    }

    /// Somebody asks for a job, perhaps because it does no more what it should: what the queue says
    /// of it next is told, changed or not. While it is ending, that is nothing yet; nor is what a
    /// look says that had begun before.
    pub(super) fn look_again(&mut self, now: Instant, id: &str) {
        if let Some(submission) =
            self.number_of(id).and_then(|number| self.submissions.get_mut(&number))
        {
            let begun = self.looks.begun;
            submission.asked_after.get_or_insert((begun, begun)).1 = begun;
            self.looks.next = Some(now);
        }
    }

    /// The longest time between two checks that all jobs are content with.
    fn interval_max(&self) -> Duration {
        let wanted =
            self.submissions.values().filter_map(|submission| submission.job.status_polling);
        let wanted = wanted
            .min()
            .map_or(self.settings.interval_max, |seconds| Duration::from_secs(seconds.into()));
        wanted.clamp(
            self.settings.interval_min,
            self.settings.interval_max.max(self.settings.interval_min),
        )
    }

    pub(super) fn looked(&mut self, now: Instant, outcome: &Outcome) {
        let before = self.jobs.actions.len();
        match self.system.rows(&self.settings.name, outcome) {
            Some(rows) => {
                self.looks.failing_since = None;
                self.looks.was_said = false;
                let seen: Vec<u64> =
                    rows.rows.iter().filter_map(|row| self.seen(now, row)).collect();
                if !rows.has_garbage {
                    self.missed(now, &seen);
                }
            }
            None => self.failed_to_look(now, &words(outcome)),
        }
        // Where nothing happens, look less often.
        let is_quiet = self.jobs.actions.len() == before;
        let longer =
            if is_quiet { self.looks.interval.mul_f64(1.5) } else { self.settings.interval_min };
        let is_awaited =
            self.submissions.values().any(|submission| submission.asked_after.is_some());
        self.looks.interval =
            if is_awaited { self.settings.interval_min } else { longer.min(self.interval_max()) };
        // Whoever asked during this look waits for the next one.
        let begun = self.looks.begun;
        let is_asked = |one: &Submission| one.asked_after.is_some_and(|(_, last)| last == begun);
        let is_due = self.submissions.values().any(is_asked);
        self.looks.next = Some(if is_due { now } else { now + self.looks.interval });
    }

    /// No news: the jobs stay as they are, and after a while their users are told why they hear
    /// nothing.
    fn failed_to_look(&mut self, now: Instant, words: &str) {
        let since = *self.looks.failing_since.get_or_insert(now);
        if now.since(since) < FAILING || self.looks.was_said {
            return;
        }
        self.looks.was_said = true;
        let known = self.submissions.values().filter_map(|submission| match &submission.phase {
            Phase::Known(id) => Some(id.clone()),
            _ => None,
        });
        for id in known.collect::<Vec<_>>() {
            // No news is no end.
            let status = self.jobs.status(&id).unwrap_or(Status::Pending);
            let look = self.system.names().look;
            let text = format!("{}; {look} has failed for a minute: {words}", self.jobs.text(&id));
            self.jobs.update(&id, status, &text);
        }
    }

    /// A job stands in the queue: whose it is.
    fn seen(&mut self, now: Instant, row: &Row) -> Option<u64> {
        let is_doubtful = |number: &u64| {
            let phase = self.submissions.get(number).map(|submission| &submission.phase);
            matches!(phase, Some(Phase::Doubtful { .. } | Phase::Refused))
        };
        let number = match row.number.filter(is_doubtful) {
            Some(number) => {
                self.adopt(now, number, row.id.clone());
                number
            }
            None => self.number_of(&row.id)?,
        };
        let note = self.looks.notes.get(&row.id).cloned();
        let begun = self.looks.begun;
        let submission = self.submissions.get_mut(&number)?;
        submission.was_seen = true;
        submission.misses = 0;
        submission.missed_since = None;
        let mut news = news(submission, row, note);
        match (submission.asked_after, &news) {
            // What makes somebody ask may have come afterwards.
            (Some((first, _)), News::Is(Status::Pending | Status::Active, _)) if first >= begun => {
                news = News::Nothing
            }
            // Who asks again and again hears each time what the last look before has seen.
            (Some((_, last)), News::Is(..)) => {
                submission.asked_after = Some((last, last)).filter(|_| last >= begun);
                self.jobs.say_again(&row.id);
            }
            _ => {}
        }
        match news {
            News::Nothing => {}
            News::Is(Status::Pending, text) => {
                self.is_now(number, &row.id, Status::Pending, &text);
                self.tell_size(number, row);
            }
            News::Is(status, text) => self.is_now(number, &row.id, status, &text),
            News::Ended(text) => self.inquire(number, &row.id, Some(text)),
        }
        self.after_look(number, row);
        Some(number)
    }

    /// What is to be done about a job that is there still.
    fn after_look(&mut self, number: u64, row: &Row) {
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        if submission.is_unwanted && submission.cancels < CANCELS_MAX && row.state != State::Ends {
            submission.cancels += 1;
            // The first was sent when it became unwanted; a controller may have been busy.
            if submission.cancels > 1 {
                self.run(Errand::Cancel, self.system.cancel(&row.id));
            }
            return;
        }
        let Some(bridge) = submission.job.bridge.clone() else { return };
        if row.state != State::Runs || submission.bridges.is_some() || row.tasks.is_empty() {
            return;
        }
        // One copy starts the ranks of all nodes.
        let is_mpi = submission.job.shape.is_mpi();
        let copies = if is_mpi { &[submission.job.shape.slots()][..] } else { &row.tasks[..] };
        let nodes = copies.len();
        submission.bridges = Some(Bridges { nodes, running: nodes, is_success: true });
        for (node, slots) in copies.iter().enumerate() {
            let step = self.system.step(&submission.job, &row.id, node, &row.tasks);
            let Some(words) = step else { return };
            let start =
                Start::Bridged(Box::new(Bridged::new(&submission.job, &bridge, words, *slots)));
            self.jobs.actions.push_back(Action::Start(format!("{}/{node}", row.id), start));
        }
    }

    /// Says how a job is; one that is over is forgotten here.
    pub(super) fn is_now(&mut self, number: u64, id: &str, status: Status, text: &str) {
        self.jobs.update(id, status, text);
        if !status.is_final() {
            return;
        }
        let Some(submission) = self.submissions.remove(&number) else { return };
        let bridges = submission.bridges.filter(|bridges| bridges.running > 0);
        for node in 0..bridges.map_or(0, |bridges| bridges.nodes) {
            self.jobs.actions.push_back(Action::Kill(format!("{id}/{node}")));
        }
    }

    /// The queue does not have these: all but `seen`.
    fn missed(&mut self, now: Instant, seen: &[u64]) {
        let missing = self.submissions.keys().copied().filter(|number| !seen.contains(number));
        for number in missing.collect::<Vec<_>>() {
            let settle = self.settings.settle;
            let Some(submission) = self.submissions.get_mut(&number) else { continue };
            match &mut submission.phase {
                Phase::Doubtful { since, misses, words } => {
                    *misses += 1;
                    if *misses >= MISSES_GONE && now.since(*since) >= settle {
                        let submit = self.system.names().submit;
                        let words = format!("{submit} did not start a job: {words}");
                        submission.phase = Phase::Refused;
                        submission.since = now;
                        self.jobs.refused(&submission.request, &words);
                    }
                }
                // It may still come, for as long as a controller may take.
                Phase::Refused if now.since(submission.since) >= settle * 20 => {
                    drop(self.submissions.remove(&number))
                }
                Phase::Known(id)
                    if submission.was_seen || now.since(submission.since) >= settle =>
                {
                    submission.misses += 1;
                    submission.missed_since.get_or_insert(now);
                    let id = id.clone();
                    let misses = submission.misses;
                    if misses >= MISSES_ASKED {
                        self.inquire(number, &id, None);
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks the controller about a job: how it ended (`end` says that it has), or whether it knows
    /// it at all.
    fn inquire(&mut self, number: u64, id: &str, end: Option<String>) {
        let Some(submission) =
            self.submissions.get_mut(&number).filter(|submission| !submission.is_inquired)
        else {
            return;
        };
        submission.is_inquired = true;
        submission.end = end;
        self.run(Errand::Controller(number), self.system.ask_controller(id));
    }

    /// The controller has answered, or not: then the accounting is asked, which remembers for
    /// longer.
    pub(super) fn controller_told(&mut self, number: u64, outcome: &Outcome) {
        let told = self.system.told(outcome);
        let Some((id, submission)) = self.known(number) else { return };
        match (submission.end.take(), told) {
            (Some(end), told) => {
                // One that is stuck is there still, and of no use to anybody.
                if matches!(told, Some((State::Waits, _))) {
                    self.run(Errand::Cancel, self.system.cancel(&id));
                }
                let code = told.map(|(_, code)| code).unwrap_or_default();
                self.is_now(number, &id, Status::Failed, &joined(&end, &code));
            }
            (None, Some(told)) => self.told_of_missing(number, &id, told),
            (None, None) => self.run(Errand::Accounting(number), self.system.ask_accounting(&id)),
        }
    }

    /// The last who could know has answered.
    pub(super) fn accounting_told(&mut self, now: Instant, number: u64, outcome: &Outcome) {
        let told = self.system.told(outcome);
        let lag = self.system.remembers_after();
        let Some((id, submission)) = self.known(number) else { return };
        submission.is_inquired = false;
        let is_unwanted = submission.is_unwanted;
        let missed_for = submission.missed_since.map_or(Duration::ZERO, |since| now.since(since));
        let is_gone = submission.misses >= MISSES_GONE && (is_unwanted || missed_for >= lag);
        match told {
            Some(told) => self.told_of_missing(number, &id, told),
            // Of one that never ran, not every accounting says anything.
            None if is_gone && is_unwanted => {
                self.is_now(number, &id, Status::Failed, CANCELLED);
            }
            None if is_gone => {
                let text = "disappeared: neither the queue nor the accounting has it";
                self.is_now(number, &id, Status::Failed, text);
            }
            None => {}
        }
    }

    fn told_of_missing(&mut self, number: u64, id: &str, (state, code): (State, String)) {
        match state {
            State::Over(_, FAILED) if self.is_unwanted(number) => {
                self.is_now(number, id, Status::Failed, CANCELLED);
            }
            State::Over(status, words) => {
                let words = self
                    .submissions
                    .get(&number)
                    .map_or(words.to_owned(), |one| spelt_out(words, &one.job));
                self.is_now(number, id, status, &joined(&words, &code));
            }
            // It lives; the queue did not show it.
            _ => {
                if let Some(submission) = self.submissions.get_mut(&number) {
                    submission.is_inquired = false;
                    submission.misses = 0;
                }
            }
        }
    }

    fn is_unwanted(&self, number: u64) -> bool {
        self.submissions.get(&number).is_some_and(|submission| submission.is_unwanted)
    }

    /// A submission that the batch system has, with its id there.
    fn known(&mut self, number: u64) -> Option<(String, &mut Submission)> {
        let submission = self.submissions.get_mut(&number)?;
        match &submission.phase {
            Phase::Known(id) => Some((id.clone(), submission)),
            _ => None,
        }
    }
}

/// Words and what is behind them.
fn joined(words: &str, code: &str) -> String {
    if code.is_empty() { words.to_owned() } else { format!("{words}: {code}") }
}

/// Says which limit a job reached.
fn spelt_out(words: &str, job: &Job) -> String {
    if words == TIMED_OUT { timed_out(job.resources.minutes_max) } else { words.to_owned() }
}

/// Reads a line as news of a job. What is not known is none.
fn news(submission: &mut Submission, row: &Row, note: Option<String>) -> News {
    let reason = row.reason.as_deref();
    match row.state {
        State::Unknown => News::Nothing,
        State::Waits | State::Requeued => {
            let again = row.state == State::Requeued || submission.was_active;
            let mut text = if again { "requeued".to_owned() } else { "waiting".to_owned() };
            // A place in the queue is nothing to a job that waits for something else.
            let note = note.filter(|_| matches!(reason, None | Some("Priority" | "Resources")));
            reason.iter().for_each(|reason| text += &format!(": {reason}"));
            let between = if reason.is_some() { "; " } else { ": " };
            note.iter().for_each(|note| text += &format!("{between}{note}"));
            row.start.iter().for_each(|start| text += &format!("; may start at {start}"));
            News::Is(Status::Pending, text)
        }
        State::Begins => News::Is(Status::Pending, "its nodes are being prepared".to_owned()),
        State::Runs => {
            submission.was_active = true;
            News::Is(Status::Active, "running".to_owned())
        }
        State::Pauses => News::Is(Status::Active, format!("suspended ({})", row.word)),
        State::Ends => News::Nothing,
        State::Over(Status::Done, words) => News::Is(Status::Done, words.to_owned()),
        State::Over(_, CANCELLED) if submission.is_unwanted => {
            News::Is(Status::Failed, CANCELLED.to_owned())
        }
        State::Stuck => News::Ended(format!("in the error state ({})", row.word)),
        State::Over(_, before) => {
            // Some reasons say the same again, others are left from when it waited.
            let stale = ["NonZeroExitCode", "TimeLimit", "Resources", "Priority", "Dependency"];
            let words = spelt_out(before, &submission.job);
            let text =
                joined(&words, reason.filter(|reason| !stale.contains(reason)).unwrap_or_default());
            if before == FAILED { News::Ended(text) } else { News::Is(Status::Failed, text) }
        }
    }
}
