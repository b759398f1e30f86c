//! Pilots: the programs of jobs, which start executables where they are.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId};
use farcall_services::spawner::{ExitHow, Exited};
use farcall_wire::{PILOT_VERSION, PilotHello};

use super::{Action, Turn};
use crate::resources::TAKES_CALLS;
use crate::state::{Job, Number, Pilot, Place, UNANSWERED_MAX};

/// Slots of one pilot: more than any host has processors.
const SLOTS_MAX: u32 = 16_384;

impl Turn<'_> {
    /// One said who it is. One of a job that is over, or that speaks another version, is sent away.
    pub(super) fn pilot_came(&mut self, number: Number, hello: PilotHello) {
        let job = self.state.job_named(&hello.job);
        let open = |job: &Number| self.state.jobs.get(job).is_some_and(Job::is_open);
        let room = self.state.pilots.len() < self.state.settings.pilots_max
            && self.state.closing.is_none();
        let Some(job) = job.filter(open).filter(|_| room && hello.version == PILOT_VERSION) else {
            return self.act(Action::DropPilot { pilot: number });
        };
        let slots = hello.slots.clamp(1, SLOTS_MAX);
        if let Some(job) = self.state.jobs.get_mut(&job) {
            job.pilot_came(slots, self.now);
        }
        self.state.changed = true;
        let host = hello.host.chars().filter(|c| !c.is_control()).take(64).collect();
        let running = Default::default();
        let idle_since = Some(self.now);
        let leaving = false;
        let asked_next = self.now + self.state.settings.ask_every();
        let asks_for_time = |job: &Job| job.kind.resources.wall_time.is_some();
        let takes_until = self.state.jobs.get(&job).is_some_and(asks_for_time);
        let takes_until = takes_until.then(|| self.now + TAKES_CALLS);
        let unanswered = 0;
        let pilot = Pilot {
            job,
            slots,
            host,
            running,
            idle_since,
            leaving,
            asked_next,
            unanswered,
            takes_until,
        };
        self.state.pilots.insert(number, pilot);
        self.fill(number);
    }

    /// Gives a pilot as many of those that wait as it has room for.
    pub(super) fn fill(&mut self, number: Number) {
        let Some(pilot) = self.state.pilots.get_mut(&number) else { return };
        let Some(job) = self.state.jobs.get(&pilot.job).filter(|job| !job.unwanted) else { return };
        let Some(line) = self.state.waiting.get_mut(&job.kind) else { return };
        while pilot.has_room(self.now)
            && let Some(executable) = line.pop_front()
        {
            pilot.running.insert(executable);
            pilot.idle_since = None;
            if let Some(entry) = self.state.executables.get_mut(&executable) {
                entry.place = Place::Starting(number);
            }
            self.actions.push(Action::StartAt { pilot: number, executable });
            self.state.changed = true;
        }
    }

    /// An executable is no longer at a pilot.
    fn leave_pilot(&mut self, number: Number, executable: ExecutableId) {
        let Some(pilot) = self.state.pilots.get_mut(&number) else { return };
        pilot.running.remove(&executable);
        if pilot.running.is_empty() {
            pilot.idle_since = Some(self.now);
        }
        self.state.changed = true;
        let kind = self.state.jobs.get(&pilot.job).map(|job| job.kind.clone());
        let Some(kind) = kind else { return };
        let waiting = self.state.waiting_of(&kind);
        self.fill(number);
        // The job that comes for one that is here now is not needed.
        if self.state.waiting_of(&kind) < waiting {
            self.end_surplus(&kind);
        }
    }

    fn is_at(&self, executable: ExecutableId, number: Number) -> bool {
        let place = self.state.executables.get(&executable).map(|entry| entry.place);
        matches!(place, Some(Place::Starting(pilot) | Place::Running(pilot)) if pilot == number)
    }

    pub(super) fn pilot_failed(&mut self, number: Number, executable: ExecutableId, error: Error) {
        if self.is_at(executable, number) {
            self.fail(executable, error);
            self.leave_pilot(number, executable);
        }
    }

    pub(super) fn pilot_reaped(&mut self, number: Number, exited: Exited) {
        let executable = exited.executable;
        if !self.is_at(executable, number) {
            return;
        }
        let Some(entry) = self.state.executables.remove(&executable) else { return };
        if exited.how == ExitHow::Lost {
            // A node of MPI's is gone: what is left of the job can start no more processes.
            self.end_pilot(number);
            if let Some(job) = self.state.pilots.get(&number).map(|pilot| pilot.job) {
                self.end_job(job);
            }
        }
        match entry.place {
            Place::Running(_) => self.act(Action::ReportExited(Box::new(exited))),
            _ => {
                let message = format!("its executable {} before it was connected", exited.how);
                let error = Error::new(ErrorKind::Unavailable, "start an executable", message);
                let said = exited.stderr.text();
                let error = if said.trim().is_empty() {
                    error
                } else {
                    error.with("stderr", said.trim_end())
                };
                self.act(Action::ReportFailed { executable, error });
            }
        }
        self.leave_pilot(number, executable);
    }

    /// The connection to an executable came, by whoever has its job's certificate.
    pub(super) fn line_came(&mut self, job: &str, executable: ExecutableId) {
        let place = self.state.executables.get(&executable).map(|entry| entry.place);
        let pilot = match place {
            Some(Place::Starting(pilot)) => Some(pilot),
            _ => None,
        };
        let of_job = |pilot: &Number| {
            let job_of =
                self.state.pilots.get(pilot).and_then(|pilot| self.state.jobs.get(&pilot.job));
            job_of.is_some_and(|known| known.name == job)
        };
        match (pilot.filter(of_job), self.state.executables.get_mut(&executable)) {
            (Some(pilot), Some(entry)) => {
                entry.place = Place::Running(pilot);
                self.act(Action::ReportStarted { executable });
            }
            _ => self.act(Action::DropLine { executable }),
        }
    }

    /// A pilot is gone, with its host or without.
    pub(super) fn pilot_lost(&mut self, number: Number, why: &str) {
        let Some(pilot) = self.state.pilots.remove(&number) else { return };
        self.state.changed = true;
        let lost = format!("the program of the job on {} has ended: {why}", pilot.host);
        let mut ran = Vec::new();
        for executable in pilot.running.iter().copied() {
            match self.state.executables.get(&executable).map(|entry| entry.place) {
                Some(Place::Running(_)) => ran.push(executable),
                _ => {
                    let error =
                        Error::new(ErrorKind::Unavailable, "start an executable", lost.clone());
                    self.wait_again(executable, error);
                }
            }
        }
        let Some(job) = self.state.jobs.get_mut(&pilot.job) else { return };
        job.pilot_left(&pilot);
        self.ask_why(pilot.job, ran, &lost);
        self.forget_unless_piloted(pilot.job);
        self.serve();
    }

    pub(super) fn end_pilot(&mut self, number: Number) {
        let Some(pilot) = self.state.pilots.get_mut(&number) else { return };
        if !std::mem::replace(&mut pilot.leaving, true) {
            self.act(Action::EndPilot { pilot: number });
        }
    }

    /// Whoever says anything is there.
    pub(super) fn pilot_said(&mut self, number: Number) {
        let asked_next = self.now + self.state.settings.ask_every();
        if let Some(pilot) = self.state.pilots.get_mut(&number) {
            pilot.unanswered = 0;
            pilot.asked_next = asked_next;
        }
    }

    /// A host that loses its power, or a program that hangs, does not end its connection.
    pub(super) fn ask_pilots(&mut self) {
        let asked_next = self.now + self.state.settings.ask_every();
        let mut silent = Vec::new();
        for (number, pilot) in
            self.state.pilots.iter_mut().filter(|(_, pilot)| pilot.asked_next <= self.now)
        {
            if pilot.unanswered >= UNANSWERED_MAX {
                silent.push((*number, pilot.job));
                continue;
            }
            pilot.unanswered += 1;
            pilot.asked_next = asked_next;
            self.actions.push(Action::AskPilot { pilot: *number });
        }
        for (pilot, job) in silent {
            let seconds = self.state.settings.silence_ms / 1000;
            self.act(Action::DropPilot { pilot });
            self.pilot_lost(pilot, &format!("it did not answer for {seconds} s"));
            // What hangs does not end by itself.
            if !self.state.has_pilots(job) {
                self.end_job(job);
            }
        }
    }

    /// Pilots without executables end after a while: what they run in is others' to use.
    pub(super) fn end_idle_pilots(&mut self) {
        let is_due = |pilot: &Pilot| {
            let launcher = self.state.jobs.get(&pilot.job).map_or("", |job| &job.kind.launcher);
            let idle: Duration = self.state.settings.idle(launcher);
            !pilot.leaving && pilot.idle_since.is_some_and(|since| since + idle <= self.now)
        };
        let due: Vec<Number> = self
            .state
            .pilots
            .iter()
            .filter(|(_, pilot)| is_due(pilot))
            .map(|(number, _)| *number)
            .collect();
        for pilot in due {
            self.end_pilot(pilot);
        }
    }
}
