//! Executables whose pilot is gone. Why is known to whoever looks at the queue: it is asked before
//! they are reported.

use std::time::Duration;

use farcall_base::{Error, ExecutableId};
use farcall_wire::Failure;

use super::Turn;
use crate::state::{Asked, Number, Standing, TRIES_MAX};

/// How long the answer is waited for: calls that run again elsewhere wait, too.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Pause before the second question, for a batch system that has not noticed the job's end yet: the
/// program may see it first.
const SECOND_AFTER: Duration = Duration::from_secs(1);

impl Turn<'_> {
    /// A pilot is gone, and these with it: the launcher is asked what became of their job, if
    /// anybody runs or waits.
    pub(super) fn ask_why(&mut self, number: Number, executables: Vec<ExecutableId>, how: &str) {
        let Some(kind) = self.state.jobs.get(&number).map(|job| job.kind.clone()) else { return };
        let waits = self.state.waiting_of(&kind) > 0;
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        let is_asked = job.lost.is_asked();
        let is_needed = is_asked || !executables.is_empty() || (waits && job.slots.has_doubtful());
        job.lost.add(executables, how);
        let launcher = kind.launcher;
        let may_know = matches!(job.standing, Standing::Pending | Standing::Active)
            && !job.unwanted
            && is_needed;
        let id = job.id.clone().filter(|_| may_know && self.state.closing.is_none());
        let Some(id) = id.filter(|_| self.state.launchers.contains_key(&launcher)) else {
            return self.tell_why(number);
        };
        if !is_asked {
            job.lost.wait_until(self.now + ANSWER_MAX);
            self.ask(&launcher, Asked::Status, format!("JOB_STATUS {id}"));
        }
    }

    /// A launcher says that a job goes on. Why its pilots are gone may be known a little later: the
    /// launcher is asked once more before that is taken for all there is to know.
    pub(super) fn goes_on(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        if !job.lost.goes_on(self.now + SECOND_AFTER) {
            self.tell_why(number);
        }
    }

    /// Asks once more about jobs for which it is time.
    pub(super) fn ask_again(&mut self) {
        let mut due = Vec::new();
        for job in self.state.jobs.values_mut() {
            if job.lost.is_second_due(self.now) && self.state.closing.is_none() {
                due.extend(job.id.clone().map(|id| (job.kind.launcher.clone(), id)));
            }
        }
        for (launcher, id) in due {
            self.ask(&launcher, Asked::Status, format!("JOB_STATUS {id}"));
        }
    }

    /// Reports them, with what is known of their job.
    pub(super) fn tell_why(&mut self, number: Number) {
        let Some(job) = self.state.jobs.get_mut(&number) else { return };
        let lost = job.lost.take();
        let were_doubtful = job.slots.settle_doubtful(job.standing);
        let id = job.id.as_deref().unwrap_or("?");
        let why = match job.standing {
            Standing::Over if !job.text.is_empty() => {
                format!("its job {id} has ended: {}; ", job.text)
            }
            Standing::Pending if !job.text.is_empty() => {
                format!("its job {id} is waiting again: {}; ", job.text)
            }
            _ => String::new(),
        };
        for (executable, how) in lost {
            self.lose(executable, &format!("{why}{how}"));
        }
        self.end_if_left(number);
        if were_doubtful {
            self.serve();
        }
    }

    /// Those that nobody has answered for.
    pub(super) fn tell_late(&mut self) {
        let late: Vec<Number> = self
            .state
            .jobs
            .iter()
            .filter(|(_, job)| job.lost.is_late(self.now))
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            self.tell_why(number);
            self.forget_unless_piloted(number);
        }
    }

    /// A launcher that had worked is gone: what had not begun is asked for again, of a new one.
    pub(super) fn begin_anew(&mut self, launcher: &str, error: &Error) {
        let of_it = self.state.jobs.iter().filter(|(_, job)| job.kind.launcher == launcher);
        for number in of_it.map(|(number, _)| *number).collect::<Vec<_>>() {
            if let Some(job) = self.state.jobs.get_mut(&number) {
                job.standing = Standing::Over;
                // The next launcher may give its name to another job; and what it said last is of
                // no worth.
                job.id = None;
                job.text.clear();
            }
            self.tell_why(number);
            self.forget_unless_piloted(number);
        }
        let kinds = self.state.waiting.keys().filter(|kind| kind.launcher == launcher);
        for kind in kinds.cloned().collect::<Vec<_>>() {
            let waiting = self.state.waiting.get(&kind).cloned().unwrap_or_default();
            for executable in waiting {
                let Some(entry) = self.state.executables.get_mut(&executable) else { continue };
                entry.tries += 1;
                if entry.tries >= TRIES_MAX {
                    self.leave_line(&kind, executable);
                    self.fail(executable, Error::from(Failure::from(error)));
                }
            }
            self.serve();
        }
    }
}
