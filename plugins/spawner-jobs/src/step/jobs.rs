//! Jobs: asked for, named by their launcher, over.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, ExecutableId};
use farcall_wire::Failure;

use super::{Action, Turn};
use crate::state::{Asked, Job, Kind, Number, Place, Standing};

impl Turn<'_> {
    /// Jobs come soon for those that wait and that none comes for, as far as more may wait: others
    /// are asked for when one of these has begun.
    pub(super) fn gather(&mut self) {
        if self.state.closing.is_some() {
            return;
        }
        let at = self.now + Duration::from_millis(self.state.settings.gather_ms);
        let state = &mut *self.state;
        let is_due = |kind: &&Kind| {
            !state.gathering.contains_key(kind) && state.missing(kind) > 0 && state.may_ask(kind)
        };
        let due: Vec<Kind> = state.waiting.keys().filter(is_due).cloned().collect();
        state.gathering.extend(due.into_iter().map(|kind| (kind, at)));
    }

    /// Asks for as many slots as executables wait that none comes for.
    pub(super) fn ask_for_jobs(&mut self, kind: &Kind) {
        while self.state.may_ask(kind)
            && let Some(next) = self.state.next_job(kind)
        {
            let number = self.state.number();
            let name = format!("{}-{number}", self.state.mark);
            let until = self.now + Duration::from_millis(self.state.settings.submit_ms);
            let job = Job::new(kind.clone(), next, name, self.now, until);
            self.state.jobs.insert(number, job);
            self.state.changed = true;
            self.act(Action::Prepare { job: number });
        }
    }

    /// A job is larger than its launcher can ever have it: others of at most so many slots take
    /// its place.
    pub(super) fn job_too_large(&mut self, number: Number, most: u32) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        // A launcher that says so of a job that fits would be asked for ever.
        if most == 0 || most >= job.slots.wanted() || job.unwanted {
            return;
        }
        let kind = job.kind.clone();
        let is_named = job.id.is_some();
        if !is_named {
            job.standing = Standing::Over;
        }
        let size = self.state.sizes.entry((kind.clone(), job.purpose)).or_insert(most);
        *size = most.min(*size);
        if is_named {
            self.end_job(number);
        } else {
            self.forget_unless_piloted(number);
        }
        self.ask_for_jobs(&kind);
    }

    /// Its folder and ticket are there.
    pub(super) fn prepared(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        if job.unwanted {
            return self.forget_job(number);
        }
        let launcher = job.kind.launcher.clone();
        self.need_launcher(&launcher);
        self.await_answer(&launcher, Asked::Create(number));
        self.act(Action::Create { job: number });
    }

    /// It will never run: those that it was for fail.
    pub(super) fn job_failed(&mut self, number: Number, error: &Error) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        job.standing = Standing::Over;
        let kind = job.kind.clone();
        let coming = job.slots.coming();
        // What a launcher refuses that never made a job, it refuses for all.
        let works = self.state.launchers.get(&kind.launcher).is_some_and(|entry| entry.works);
        self.tell_why(number);
        self.fail_excess(&kind, if works { coming } else { u32::MAX }, error);
        self.forget_unless_piloted(number);
    }

    /// Fails as many of those that wait as no job comes for, `most` at most.
    pub(super) fn fail_excess(&mut self, kind: &Kind, most: u32, error: &Error) {
        let excess = self.state.missing(kind).min(most as usize);
        let failing: Vec<ExecutableId> = self
            .state
            .waiting
            .get_mut(kind)
            .map_or_else(Vec::new, |line| line.drain(..excess).collect());
        for executable in failing {
            self.fail(executable, Error::from(Failure::from(error)));
        }
    }

    /// Its launcher says how it stands.
    pub(super) fn job_stands(&mut self, number: Number, standing: &str, text: &str) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        self.state.changed = true;
        job.text = text.to_owned();
        match standing {
            "PENDING" => {
                job.waits();
                self.tell_why(number);
            }
            "ACTIVE" => {
                job.runs(self.now);
                self.goes_on(number);
            }
            "DONE" | "FAILED" => self.job_over(number),
            // A later version may know more.
            _ => {}
        }
    }

    fn job_over(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        if job.standing == Standing::Over {
            return;
        }
        job.ends();
        let kind = job.kind.clone();
        let wanted = job.slots.wanted();
        if job.lost.is_asked() {
            self.tell_why(number);
        } else if !job.slots.were_served() && !job.unwanted {
            let said = if job.text.is_empty() { String::new() } else { format!(": {}", job.text) };
            let message = format!("its job ended before its program connected{said}");
            let error = Error::new(ErrorKind::Unavailable, "start an executable", message)
                .with("launcher", &kind.launcher)
                .with("job", job.id.as_deref().unwrap_or("?"));
            let error = if job.said.is_empty() { error } else { error.with("output", &job.said) };
            self.fail_excess(&kind, wanted, &error);
        }
        self.forget_unless_piloted(number);
        // Others come for those that it leaves.
        self.serve();
    }

    /// An administrator wants it to end.
    pub(super) fn cancel(&mut self, number: Number) {
        let pilots: Vec<Number> = self
            .state
            .pilots
            .iter()
            .filter(|(_, pilot)| pilot.job == number)
            .map(|(n, _)| *n)
            .collect();
        let job = self.state.jobs.get(&number);
        let left = job.map(|job| (job.kind.clone(), job.slots.coming()));
        self.end_job(number);
        for pilot in pilots {
            self.end_pilot(pilot);
        }
        if let Some((kind, coming)) = left {
            let error = Error::new(
                ErrorKind::Cancelled,
                "start an executable",
                "an administrator cancelled its job",
            );
            self.fail_excess(&kind, coming, &error);
        }
    }

    /// Tells its launcher to end it; one whose name it has not said yet is ended when it does.
    pub(super) fn end_job(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        let told = std::mem::replace(&mut job.unwanted, true);
        self.state.changed = true;
        let launcher = job.kind.launcher.clone();
        let id = job.id.clone();
        let over = job.standing == Standing::Over;
        if let Some(id) = id.filter(|_| !told && !over) {
            self.ask(&launcher, Asked::Destroy, format!("JOB_DESTROY {id}"));
        }
    }

    /// Ends jobs that have not begun and that nobody waits for any more.
    pub(super) fn end_surplus(&mut self, kind: &Kind) {
        let waiting = self.state.waiting_of(kind);
        let mut expected = self.state.expected(kind);
        let idle = |number: &Number| !self.state.has_pilots(*number);
        let jobs: Vec<Number> = self
            .state
            .jobs
            .iter()
            .filter(|(_, job)| job.kind == *kind && !job.unwanted)
            .map(|(n, _)| *n)
            .collect();
        let jobs: Vec<Number> = jobs.into_iter().rev().filter(idle).collect();
        for number in jobs {
            let Some(job) =
                self.state.jobs.get(&number).filter(|job| job.standing != Standing::Over)
            else {
                continue;
            };
            let coming = job.slots.coming() as usize;
            if expected >= waiting + coming {
                expected -= coming;
                self.end_job(number);
            }
        }
    }

    pub(super) fn fail_late_jobs(&mut self) {
        let late: Vec<Number> = self
            .state
            .jobs
            .iter()
            .filter(|(_, job)| job.is_submission_late(self.now))
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            let launcher =
                self.state.jobs.get(&number).map_or(String::new(), |job| job.kind.launcher.clone());
            let seconds = self.state.settings.submit_ms / 1000;
            let message =
                format!("its launcher did not report the state of the job within {seconds} s");
            let error = Error::new(ErrorKind::TimedOut, "start an executable", message)
                .with("launcher", launcher)
                .fix(
                    "check that the batch system answers, or raise submit_ms of spawner-jobs in \
                    farcall.toml",
                );
            self.job_failed(number, &error);
        }
    }

    /// Jobs that run, and whose programs do not come.
    pub(super) fn tell_of_absent(&mut self) {
        for job in self.state.jobs.values_mut() {
            self.state.changed |= job.is_absence_due(self.now);
        }
    }

    /// Pilots that have not come with the others may not come: their node died before they could.
    /// Its batch system may not know.
    pub(super) fn give_up_missing(&mut self) {
        let mut late = Vec::new();
        for (number, job) in &mut self.state.jobs {
            if job.slots.give_up_missing(self.now) {
                late.push(*number);
            }
        }
        for number in late {
            self.state.changed = true;
            if !self.state.has_pilots(number) {
                self.end_job(number);
            }
            self.serve();
        }
    }

    /// A job whose last pilot left, while others never came or died with their node, does not end
    /// by itself until its batch system finds that node dead, which takes minutes. Nobody needs it,
    /// unless some of its own may still come for those who wait.
    pub(super) fn end_if_left(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get(&number) else { return };
        let is_left = job.waits_for_node() && job.lost.is_empty() && !self.state.has_pilots(number);
        let brings_more = job.slots.coming() > 0 && self.state.waiting_of(&job.kind) > 0;
        if is_left && !brings_more {
            self.end_job(number);
        }
    }

    pub(super) fn forget_unless_piloted(&mut self, number: Number) {
        let is_over = |job: &Job| job.standing == Standing::Over && job.lost.is_empty();
        let over = self.state.jobs.get(&number).is_some_and(is_over);
        if over && !self.state.has_pilots(number) {
            self.forget_job(number);
        }
    }

    pub(super) fn forget_job(&mut self, number: Number) {
        if let Some(job) = self.state.jobs.remove(&number) {
            self.state.changed = true;
            self.act(Action::Remove { job: job.name });
        }
    }

    /// Executables that were to be started by a pilot wait again.
    pub(super) fn wait_again(&mut self, executable: ExecutableId, error: Error) {
        let Some(entry) = self.state.executables.get_mut(&executable) else { return };
        entry.tries += 1;
        if entry.tries >= crate::state::TRIES_MAX || self.state.closing.is_some() {
            return self.fail(executable, error);
        }
        entry.place = Place::Waiting;
        let kind = entry.kind.clone();
        self.state.waiting.entry(kind).or_default().push_front(executable);
    }
}
