//! A launcher that has a batch system run its jobs, by the commands of its site: Slurm, Grid
//! Engine, PBS, LSF (docs/how-to/slurm.md, docs/how-to/other-batch-systems.md).
//!
//! All jobs of a launcher have one random name, so that one question tells how they all are, and
//! one command ends whatever was ever submitted; each carries the number of its submission, so that
//! a job is found whose submission did not say its id. What is said and we do not understand
//! changes nothing: unknown is not dead.

mod answers;
mod end;
mod gridengine;
mod look;
mod lsf;
mod nodes;
mod pbs;
mod size;
mod slurm;
mod system;

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;

use crate::action::{Action, Command, Ended, Event, Launcher, Outcome};
use crate::job::Job;
use crate::jobs::{JOBS_MAX, Jobs, Status};
use crate::request::Request;

use answers::{Fit, Row, Rows, State};
use end::Closing;
use look::Looks;
pub use system::System;
use system::{may_be_there, words};

/// The batch systems that come with Farcall, by the names of their launchers.
pub const SYSTEMS: [&str; 4] = ["slurm", "gridengine", "pbs", "lsf"];

/// The batch system of that name, for jobs of that user; without a user's name, what needs one is
/// not asked.
pub fn system(name: &str, user: &str) -> Option<Box<dyn System>> {
    Some(match name {
        "slurm" => Box::new(slurm::Slurm::new(user)),
        "gridengine" => Box::new(gridengine::GridEngine::new(user)),
        "pbs" => Box::new(pbs::Pbs),
        "lsf" => Box::new(lsf::Lsf),
        _ => return None,
    })
}

/// Most submissions at a time.
const SUBMITTED_AT_ONCE: usize = 8;

/// What differs between launchers and sites.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of all jobs: random, of letters, digits and `-`.
    pub name: String,
    /// The shortest time between two queries of the queue, ...
    pub interval_min: Duration,
    /// ... and the longest.
    pub interval_max: Duration,
    /// For how long a job that nobody has seen yet may be missing.
    pub settle: Duration,
    /// For how long a command may take: half of it where it only looks.
    pub limit: Duration,
}

impl Settings {
    /// What is right for a site.
    pub fn new(name: String) -> Settings {
        Settings {
            name,
            interval_min: Duration::from_secs(1),
            interval_max: Duration::from_secs(30),
            settle: Duration::from_secs(30),
            limit: Duration::from_secs(120),
        }
    }
}

/// Where a submission is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// In line to be submitted.
    Waits,
    /// It is being submitted.
    Submitted,
    /// Nobody knows whether there is a job: since when, in how many looks it was not there, and
    /// what its submission said.
    Doubtful { since: Instant, misses: u32, words: String },
    /// The batch system has it, under this id.
    Known(String),
    /// There was none when the driver was told; if there is one now, it is cancelled.
    Refused,
}

/// A job that is not over.
struct Submission {
    request: String,
    job: Job,
    phase: Phase,
    since: Instant,
    /// It was in the queue.
    was_seen: bool,
    was_active: bool,
    /// Looks without garbage in which it was not there, and since when.
    misses: u32,
    missed_since: Option<Instant>,
    /// Somebody wants to know how it is: by a look after this one, which may have begun before that
    /// was in doubt. The first and the last who asked, since it was told.
    asked_after: Option<(u64, u64)>,
    /// What it is asked about already.
    is_inquired: bool,
    /// The words for its end, while its exit status is asked for.
    end: Option<String>,
    /// It is to end, and who wants that.
    is_unwanted: bool,
    cancels: u32,
    bridges: Option<Bridges>,
    /// Its driver was told that it is too large.
    was_told_size: bool,
    /// No more jobs are taken for now: when it is asked again, and the pause after that.
    pause: Option<(Instant, Duration)>,
}

/// Steps that are connected with a command here, one on each node.
struct Bridges {
    nodes: usize,
    running: usize,
    is_success: bool,
}

/// What a command was run for.
#[derive(Clone, Debug)]
enum Errand {
    Submit(u64),
    Look,
    Notes,
    Cancel,
    Controller(u64),
    Accounting(u64),
    /// What a job may have.
    Limits(usize),
    /// See `end`.
    CancelAll,
    LookAtRest,
}

/// See the module.
pub struct Batch {
    system: Box<dyn System>,
    settings: Settings,
    jobs: Jobs,
    submissions: BTreeMap<u64, Submission>,
    created: u64,
    errands: BTreeMap<u64, Errand>,
    begun: u64,
    looks: Looks,
    closing: Option<Closing>,
    /// A submission has ended that was not refused.
    may_have_jobs: bool,
}

impl Batch {
    /// A launcher without jobs.
    pub fn new(system: Box<dyn System>, settings: Settings) -> Batch {
        let looks = Looks::new(settings.interval_min);
        Batch {
            system,
            settings,
            jobs: Jobs::default(),
            submissions: BTreeMap::new(),
            created: 0,
            errands: BTreeMap::new(),
            begun: 0,
            looks,
            closing: None,
            may_have_jobs: false,
        }
    }

    fn run(&mut self, errand: Errand, mut command: Command) {
        command.limit = match errand {
            Errand::Submit(_) | Errand::Cancel | Errand::CancelAll => self.settings.limit,
            // Jobs wait for these answers.
            Errand::Limits(_) => self.settings.limit / 12,
            _ => self.settings.limit / 2,
        };
        self.begun += 1;
        self.errands.insert(self.begun, errand);
        self.jobs.actions.push_back(Action::Run(self.begun, command));
    }

    fn runs(&self, is_one: impl Fn(&Errand) -> bool) -> usize {
        self.errands.values().filter(|errand| is_one(errand)).count()
    }

    fn create(&mut self, now: Instant, request: String, job: Job) {
        if self.submissions.len() >= JOBS_MAX {
            return self
                .jobs
                .reply(format!("F there are {JOBS_MAX} jobs already: cancel some of them"));
        }
        if job.bridge.is_some() && !self.system.features().contains(&"bridge") {
            let why = "F bridge: this batch system connects no streams with a command here";
            return self.jobs.reply(why.to_owned());
        }
        let options = &job.resources.options;
        if let Some(option) = options.iter().find(|option| self.system.is_ours(option)) {
            return self.jobs.reply(format!(
                "F option: {option} is not allowed: a job is one submission of this launcher"
            ));
        }
        self.created += 1;
        let submission = Submission {
            request,
            job,
            phase: Phase::Waits,
            since: now,
            was_seen: false,
            was_active: false,
            misses: 0,
            missed_since: None,
            asked_after: None,
            is_inquired: false,
            end: None,
            is_unwanted: false,
            cancels: 0,
            bridges: None,
            was_told_size: false,
            pause: None,
        };
        self.submissions.insert(self.created, submission);
        self.jobs.reply("S".to_owned());
        self.submit_next(now);
    }

    fn submit_next(&mut self, now: Instant) {
        if self.closing.is_some() || !self.are_limits_known(now) {
            return;
        }
        self.size_those_that_wait();
        while self.runs(|errand| matches!(errand, Errand::Submit(_))) < SUBMITTED_AT_ONCE {
            let next = self.submissions.iter_mut().find(|(_, submission)| submission.is_next(now));
            let Some((number, submission)) = next else { return };
            submission.phase = Phase::Submitted;
            let number = *number;
            let command = self.system.submit(&submission.job, &self.settings.name, number);
            self.run(Errand::Submit(number), command);
        }
    }

    fn submitted(&mut self, now: Instant, number: u64, outcome: &Outcome) {
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        submission.since = now;
        self.may_have_jobs |= may_be_there(outcome);
        if let Some(id) = self.system.submitted(outcome) {
            self.adopt(now, number, id);
        } else if may_be_there(outcome) {
            submission.phase = Phase::Doubtful { since: now, misses: 0, words: words(outcome) };
        } else {
            self.refused(now, number, outcome);
        }
        self.looks.soon(now, self.settings.interval_min);
    }

    /// The batch system has a job of ours.
    fn adopt(&mut self, now: Instant, number: u64, id: String) {
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        submission.since = now;
        let was_refused = submission.phase == Phase::Refused;
        submission.phase = Phase::Known(id.clone());
        if was_refused {
            submission.is_unwanted = true;
            self.run(Errand::Cancel, self.system.cancel(&id));
        } else {
            self.jobs.created(&submission.request.clone(), &id);
            self.jobs.update(&id, Status::Pending, "submitted");
        }
    }

    fn number_of(&self, id: &str) -> Option<u64> {
        let is_it = |submission: &Submission| match &submission.phase {
            Phase::Known(known) => known == id,
            _ => false,
        };
        self.submissions.iter().find(|(_, submission)| is_it(submission)).map(|(number, _)| *number)
    }

    /// A job is to end. That is said again at each look until it has.
    fn cancel(&mut self, now: Instant, id: &str) {
        let Some(submission) =
            self.number_of(id).and_then(|number| self.submissions.get_mut(&number))
        else {
            return;
        };
        if !submission.is_unwanted {
            submission.is_unwanted = true;
            self.run(Errand::Cancel, self.system.cancel(id));
            self.looks.soon(now, self.settings.interval_min);
        }
    }

    /// A step that is connected with a command here has ended: with the last of them ends the job.
    fn bridge_ended(&mut self, now: Instant, key: &str, ended: &Ended) {
        let Some((id, _)) = key.split_once('/') else { return };
        let Some(submission) =
            self.number_of(id).and_then(|number| self.submissions.get_mut(&number))
        else {
            return;
        };
        let Some(bridges) = &mut submission.bridges else { return };
        bridges.running = bridges.running.saturating_sub(1);
        bridges.is_success &= ended.is_success;
        if bridges.running > 0 {
            return;
        }
        let (status, text) = if bridges.is_success {
            (Status::Done, "completed")
        } else {
            (Status::Failed, &*ended.text)
        };
        self.jobs.update(id, status, text);
        self.cancel(now, id);
    }

    fn ran(&mut self, now: Instant, run: u64, outcome: &Outcome) {
        match self.errands.remove(&run) {
            Some(Errand::Submit(number)) => {
                self.submitted(now, number, outcome);
                self.submit_next(now);
            }
            Some(Errand::Limits(question)) => {
                self.system.limits_told(question, outcome);
                self.submit_next(now);
            }
            Some(Errand::Look) => self.looked(now, outcome),
            Some(Errand::Notes) => self.looks.notes = self.system.read_notes(outcome),
            Some(Errand::Controller(number)) => self.controller_told(number, outcome),
            Some(Errand::Accounting(number)) => self.accounting_told(now, number, outcome),
            Some(Errand::CancelAll) => self.cancelled_all(now, outcome),
            Some(Errand::LookAtRest) => self.looked_at_rest(now, outcome),
            Some(Errand::Cancel) | None => {}
        }
    }
}

impl Launcher for Batch {
    fn handle_request(&mut self, now: Instant, request: Request) {
        if self.closing.is_some() {
            return self.jobs.reply("F this launcher is stopping".to_owned());
        }
        if let Request::JobStatus(id) = &request {
            self.look_again(now, id);
        }
        match self.jobs.answer(request, self.system.features()) {
            Some(Request::JobCreate(id, job)) => {
                if let Ok(job) = *job {
                    self.create(now, id, job);
                }
            }
            Some(Request::JobDestroy(id)) => {
                self.jobs.reply("S".to_owned());
                self.cancel(now, &id);
            }
            Some(Request::Exit) => self.close(now, true),
            _ => {}
        }
    }

    fn handle_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Closed => self.close(now, false),
            Event::Ran(run, outcome) => self.ran(now, run, &outcome),
            Event::Ended(key, ended) => self.bridge_ended(now, &key, &ended),
            Event::Started(_) | Event::Woken => {}
        }
        self.go_on_closing(now);
        if self.next_try().is_some_and(|at| at <= now) {
            self.submit_next(now);
        }
        self.look(now);
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.jobs.actions.pop_front()
    }

    fn wake(&self) -> Option<Instant> {
        match &self.closing {
            Some(closing) => closing.wake(),
            None => self.next_look().into_iter().chain(self.next_try()).min(),
        }
    }
}
