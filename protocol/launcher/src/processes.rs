//! A launcher whose jobs are processes of its own: programs of this host, or `ssh`s that run one
//! elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;

use crate::action::{Action, Bridged, Ended, Event, Launcher, Start};
use crate::job::{Job, timed_out};
use crate::jobs::{Jobs, Status};
use crate::request::Request;

/// Time that a program has to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// Most jobs at a time.
const PROCESSES_MAX: usize = 1000;
/// Time after which a launcher that is to end gives up on what does not.
const END: Duration = Duration::from_secs(15);

/// What a job that asks for GPUs is told.
const NO_GPUS: &str = "F gpus: this launcher knows of no GPUs: use one of a batch system, or set \
    gpus in the options of spawner-local for calls on the server's own host";

/// Where the programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// On this host.
    Here,
    /// On the hosts that the jobs name.
    There,
}

/// A job that is not over.
struct Running {
    request: String,
    /// It has begun.
    is_there: bool,
    /// For how long it may run from then on.
    minutes: Option<u32>,
    /// When its time is over.
    until: Option<Instant>,
    /// Why it was stopped.
    why: Option<String>,
    /// When it is killed.
    kill: Option<Instant>,
}

/// See the module.
pub struct Processes {
    place: Where,
    jobs: Jobs,
    running: BTreeMap<String, Running>,
    created: u64,
    /// When this launcher ends whatever happens.
    closing: Option<Instant>,
    is_asked: bool,
    has_ended: bool,
}

impl Processes {
    /// A launcher without jobs.
    pub fn new(place: Where) -> Processes {
        Processes {
            place,
            jobs: Jobs::default(),
            running: BTreeMap::new(),
            created: 0,
            closing: None,
            is_asked: false,
            has_ended: false,
        }
    }

    fn create(&mut self, request: String, job: Job) {
        if self.place == Where::There && job.hostname.is_empty() {
            return self
                .jobs
                .reply("F hostname: this launcher needs the name of an ssh host".to_owned());
        }
        if job.resources.slot.gpus.is_some() {
            return self.jobs.reply(NO_GPUS.to_owned());
        }
        if self.running.len() >= PROCESSES_MAX {
            return self
                .jobs
                .reply(format!("F there are {PROCESSES_MAX} jobs already: cancel some of them"));
        }
        self.created += 1;
        let id = format!("{}", self.created);
        let running = Running {
            request,
            is_there: false,
            minutes: job.resources.minutes_max,
            until: None,
            why: None,
            kill: None,
        };
        self.running.insert(id.clone(), running);
        self.jobs.reply("S".to_owned());
        let start = match (self.place, job.bridge.clone()) {
            (Where::There, _) => Start::There(Box::new(job)),
            (Where::Here, None) => Start::Here(Box::new(job)),
            (Where::Here, Some(bridge)) => Start::Bridged(Box::new(Bridged::new(
                &job,
                &bridge,
                job.program.words(),
                job.shape.slots(),
            ))),
        };
        self.jobs.actions.push_back(Action::Start(id, start));
    }

    fn stop(&mut self, now: Instant, id: &str, why: &str) {
        let Some(running) = self.running.get_mut(id).filter(|running| running.why.is_none()) else {
            return;
        };
        running.why = Some(why.to_owned());
        running.kill = Some(now + GRACE);
        self.jobs.actions.push_back(Action::Stop(id.to_owned()));
    }

    fn close(&mut self, now: Instant) {
        if self.closing.is_none() {
            self.closing = Some(now + END);
            let ids: Vec<String> = self.running.keys().cloned().collect();
            ids.iter().for_each(|id| self.stop(now, id, "cancelled"));
        }
        self.end_if_empty(now);
    }

    fn end_if_empty(&mut self, now: Instant) {
        let Some(until) = self.closing.filter(|_| !self.has_ended) else { return };
        let is_empty = self.running.is_empty();
        if is_empty || now >= until {
            self.has_ended = true;
            if self.is_asked {
                self.jobs.reply("S".to_owned());
            }
            self.jobs.actions.push_back(Action::End(is_empty));
        }
    }

    fn started(&mut self, now: Instant, id: &str) {
        let Some(running) = self.running.get_mut(id) else { return };
        running.is_there = true;
        running.until =
            running.minutes.map(|minutes| now + Duration::from_secs(60 * u64::from(minutes)));
        let request = running.request.clone();
        self.jobs.created(&request, id);
        self.jobs.update(id, Status::Active, "running");
    }

    fn ended(&mut self, id: &str, ended: &Ended) {
        let Some(running) = self.running.remove(id) else { return };
        let text = running.why.as_deref().unwrap_or(&ended.text);
        if !running.is_there {
            return self.jobs.refused(&running.request, text);
        }
        let is_success = ended.is_success && running.why.is_none();
        self.jobs.update(id, if is_success { Status::Done } else { Status::Failed }, text);
    }

    fn look(&mut self, now: Instant) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| now >= at);
        let late = self.running.iter().filter(|(_, running)| is_due(running.until));
        let late: Vec<(String, String)> =
            late.map(|(id, running)| (id.clone(), timed_out(running.minutes))).collect();
        for (id, why) in late {
            self.stop(now, &id, &why);
        }
        for (id, running) in &mut self.running {
            if is_due(running.kill) {
                running.kill = None;
                self.jobs.actions.push_back(Action::Kill(id.clone()));
            }
        }
    }
}

impl Launcher for Processes {
    fn handle_request(&mut self, now: Instant, request: Request) {
        if self.closing.is_some() {
            return self.jobs.reply("F this launcher is stopping".to_owned());
        }
        match self.jobs.answer(request, &["slots", "mpi", "bridge", "resources"]) {
            Some(Request::JobCreate(id, job)) => {
                if let Ok(job) = *job {
                    self.create(id, job);
                }
            }
            Some(Request::JobDestroy(id)) => {
                self.jobs.reply("S".to_owned());
                self.stop(now, &id, "cancelled");
            }
            Some(Request::Exit) => {
                self.is_asked = true;
                self.close(now);
            }
            _ => {}
        }
    }

    fn handle_event(&mut self, now: Instant, event: Event) {
        match event {
            Event::Closed => self.close(now),
            Event::Started(id) => self.started(now, &id),
            Event::Ended(id, ended) => self.ended(&id, &ended),
            Event::Ran(..) | Event::Woken => {}
        }
        self.look(now);
        self.end_if_empty(now);
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.jobs.actions.pop_front()
    }

    fn wake(&self) -> Option<Instant> {
        let until = |running: &Running| running.until.filter(|_| running.why.is_none());
        let of_jobs =
            self.running.values().flat_map(|running| [until(running), running.kill]).flatten();
        of_jobs.chain(self.closing.filter(|_| !self.has_ended)).min()
    }
}
