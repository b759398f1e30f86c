//! Jobs that fit: what is asked before one is submitted, and what becomes of one that Slurm
//! refuses or could never begin. Its driver hears how large it may be, and asks again.

use std::time::Duration;

use farcall_base::Instant;

use crate::action::Outcome;

use super::answers::{self, Row, State};
use super::limits::Question;
use super::{Errand, Phase, Slurm, Submission, commands};

/// Time until a job is submitted again that Slurm did not take for now, ...
const PAUSE_MIN: Duration = Duration::from_secs(2);
/// ... and the longest such time.
const PAUSE_MAX: Duration = Duration::from_secs(60);

impl Submission {
    /// Whether it is to be submitted now.
    pub(super) fn is_next(&self, now: Instant) -> bool {
        self.phase == Phase::Waits && self.pause.is_none_or(|(at, _)| at <= now)
    }

    /// Whether its driver listens to what is said of sizes.
    fn is_sized(&self) -> bool {
        self.job.shape.count_min.is_some()
    }
}

/// What a job that was not submitted is told.
struct Refusal {
    number: u64,
    /// A size that fits.
    most: Option<u32>,
    why: String,
}

impl Slurm {
    /// When a job is to be submitted again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        let waiting = self.submissions.values().filter(|one| one.phase == Phase::Waits);
        let next = waiting.filter_map(|one| Some(one.pause?.0)).min();
        next.filter(|_| self.closing.is_none())
    }

    /// Whether what a job may have is known as far as it will be; asks otherwise.
    pub(super) fn are_limits_known(&mut self, now: Instant) -> bool {
        let waits = |one: &Submission| one.phase == Phase::Waits && one.is_sized();
        if !self.submissions.values().any(waits) {
            return true;
        }
        let user = self.settings.user.clone();
        let has_user = !user.is_empty();
        if self.limits.are_due(now, if has_user { 3 } else { 1 }) {
            self.run(Errand::Limits(Question::Partitions), commands::partitions());
            if has_user {
                let accounts = commands::associations(&user);
                self.run(Errand::Limits(Question::Associations), accounts);
                self.run(Errand::Limits(Question::Qualities), commands::qualities());
            }
        }
        !self.limits.are_awaited()
    }

    /// Jobs that are too large are not submitted, nor for a time that no job may have.
    pub(super) fn size_those_that_wait(&mut self) {
        let mut refusals = Vec::new();
        let waiting = self.submissions.iter_mut().filter(|(_, one)| one.phase == Phase::Waits);
        for (number, submission) in waiting.filter(|(_, one)| one.is_sized()) {
            let resources = &mut submission.job.resources;
            if let Some(most) = self.limits.minutes_max(resources) {
                resources.minutes_max = resources.minutes_max.map(|minutes| minutes.min(most));
            }
            let Some(fit) = self.limits.fit(&submission.job) else { continue };
            let shape = submission.job.shape;
            let best = if shape.together { fit.tasks_max } else { fit.block };
            let most = shape.least().map(|least| best.max(least));
            let is_over = match most {
                Some(most) => shape.count > most,
                None => shape.tasks() > fit.tasks_max,
            };
            if is_over {
                let why = format!(
                    "{} gives a job {} processors at most, and {} are wanted",
                    fit.place,
                    fit.tasks_max,
                    shape.tasks()
                );
                refusals.push(Refusal { number: *number, most, why });
            }
        }
        refusals.into_iter().for_each(|refusal| self.refuse(refusal));
    }

    /// Slurm has not taken a job: a smaller one may fit, or the same one later.
    pub(super) fn refused(&mut self, now: Instant, number: u64, outcome: &Outcome) {
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        let why = answers::words(outcome);
        let is_sized = submission.is_sized();
        let most = submission.half().filter(|_| answers::is_refused_for_size(outcome));
        if most.is_none() && is_sized && answers::is_refused_for_now(outcome) {
            let pause = submission.pause.map_or(PAUSE_MIN, |(_, pause)| pause);
            submission.phase = Phase::Waits;
            submission.pause = Some((now + pause, (pause * 2).min(PAUSE_MAX)));
            return self.jobs.delayed(&submission.request, &why);
        }
        self.refuse(Refusal { number, most, why });
    }

    fn refuse(&mut self, refusal: Refusal) {
        let Some(submission) = self.submissions.remove(&refusal.number) else { return };
        if let Some(most) = refusal.most {
            self.jobs.request_too_large(&submission.request, most, &refusal.why);
        }
        self.jobs.refused(&submission.request, &refusal.why);
    }

    /// A job that waits for ever because of its size is worth a word to its driver, once.
    pub(super) fn tell_size(&mut self, number: u64, row: &Row) {
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        let reason = row.reason.as_deref().unwrap_or_default();
        let is_told = submission.was_told_size || submission.is_unwanted;
        if is_told || row.state != State::Waits || !answers::is_too_large(reason) {
            return;
        }
        if let Some(most) = submission.half() {
            submission.was_told_size = true;
            self.jobs.job_too_large(&row.id, most, reason);
        }
    }
}

impl Submission {
    /// Half of what it wants, where that is enough.
    fn half(&self) -> Option<u32> {
        let least = self.job.shape.least()?;
        Some((self.job.shape.count / 2).max(least))
    }
}
