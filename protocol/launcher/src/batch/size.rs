//! Jobs that fit: what is asked before one is submitted, and what becomes of one that a batch system
//! refuses or could never begin. Its driver hears how large it may be, and asks again.

use std::time::Duration;

use farcall_base::Instant;

use crate::action::Outcome;
use crate::jobs::Status;

use super::{Batch, Errand, Phase, Row, State, Submission, words};

/// Time until a job is submitted again that was not taken for now, ...
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

impl Batch {
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
        for (question, command) in self.system.ask_limits(now) {
            self.run(Errand::Limits(question), command);
        }
        !self.system.are_limits_awaited()
    }

    /// Jobs that are too large are not submitted, nor for a time that no job may have.
    pub(super) fn size_those_that_wait(&mut self) {
        let mut refusals = Vec::new();
        let waiting = self.submissions.iter_mut().filter(|(_, one)| one.phase == Phase::Waits);
        for (number, submission) in waiting.filter(|(_, one)| one.is_sized()) {
            let resources = &mut submission.job.resources;
            if let Some(most) = self.system.minutes_max(resources) {
                if let Some(needed) = resources.slot.minutes.filter(|needed| *needed > most) {
                    let why = format!(
                        "{needed} min were requested as wall_time, and a job has {most} at most: \
                        ask for less, or for another partition"
                    );
                    refusals.push(Refusal { number: *number, most: None, why });
                    continue;
                }
                resources.minutes_max = resources.minutes_max.map(|minutes| minutes.min(most));
            }
            let Some(fit) = self.system.fit(&submission.job) else { continue };
            let slot = &submission.job.resources.slot;
            if fit.tasks_max == 0 && slot.is_asked() {
                let why = fit.why_never(slot);
                refusals.push(Refusal { number: *number, most: None, why });
                continue;
            }
            let shape = submission.job.shape;
            let best = if shape.together { fit.tasks_max } else { fit.block };
            let most = shape.least().map(|least| best.max(least));
            let is_over = match most {
                Some(most) => shape.count > most,
                None => shape.tasks() > fit.tasks_max,
            };
            if is_over {
                let why = fit.why(shape.tasks(), slot);
                refusals.push(Refusal { number: *number, most, why });
            }
        }
        refusals.into_iter().for_each(|refusal| self.refuse(refusal));
    }

    /// A job was not taken: a smaller one may fit, or the same one later.
    pub(super) fn refused(&mut self, now: Instant, number: u64, outcome: &Outcome) {
        let is_too_large = self.system.is_refused_for_size(outcome);
        let is_for_now = self.system.is_refused_for_now(outcome);
        let Some(submission) = self.submissions.get_mut(&number) else { return };
        let why = words(outcome);
        let is_sized = submission.is_sized();
        let most = submission.half().filter(|_| is_too_large);
        if most.is_none() && is_sized && is_for_now {
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
        if is_told || row.state != State::Waits {
            return;
        }
        let slot = &submission.job.resources.slot;
        if submission.half().is_none() && slot.is_asked() && self.system.is_never(reason) {
            let why = format!("nothing here has what one call asks for: {reason}");
            self.run(Errand::Cancel, self.system.cancel(&row.id));
            return self.is_now(number, &row.id, Status::Failed, &why);
        }
        if !self.system.is_too_large(reason) {
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
