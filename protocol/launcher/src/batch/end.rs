//! The end of the launcher: nothing that it ever submitted may stay.

use std::time::Duration;

use farcall_base::Instant;

use crate::action::{Action, Outcome};

use super::{Batch, Errand, Phase, State};

/// Time after which it ends whatever is left, and says so.
const END: Duration = Duration::from_secs(180);

/// How far it is.
pub struct Closing {
    /// When it ends whatever happens.
    until: Instant,
    /// When the next step is due; `None` while a command runs.
    next: Option<Instant>,
    /// It was asked to, and answers.
    is_asked: bool,
    /// Everything was cancelled once since the last submission ended.
    is_cancelled: bool,
    has_ended: bool,
}

impl Closing {
    pub fn wake(&self) -> Option<Instant> {
        (!self.has_ended).then(|| self.next.unwrap_or(self.until))
    }
}

impl Batch {
    pub(super) fn close(&mut self, now: Instant, is_asked: bool) {
        if self.closing.is_none() {
            let until = now + END;
            self.closing = Some(Closing {
                until,
                next: Some(now),
                is_asked,
                is_cancelled: false,
                has_ended: false,
            });
            // What waits for its submission never was a job.
            self.submissions.retain(|_, submission| submission.phase != Phase::Waits);
        }
        self.go_on_closing(now);
    }

    pub(super) fn go_on_closing(&mut self, now: Instant) {
        let submits = self.runs(|errand| matches!(errand, Errand::Submit(_))) > 0;
        let Some(closing) = self.closing.as_mut().filter(|closing| !closing.has_ended) else {
            return;
        };
        if now >= closing.until {
            let advice = self.system.advice(&self.settings.name);
            self.jobs.remark(&format!("farcall: some jobs may still exist: {advice}"));
            return self.end(false);
        }
        if closing.next.is_none_or(|next| now < next) {
            return;
        }
        closing.next = None;
        if !self.may_have_jobs && !submits {
            self.end(true);
        } else if submits {
            // It may be about to have a job; meanwhile the others go.
            self.run(Errand::CancelAll, self.system.cancel_all(&self.settings.name));
        } else if closing.is_cancelled {
            self.run(Errand::LookAtRest, self.system.look(&self.settings.name));
        } else {
            closing.is_cancelled = true;
            self.run(Errand::CancelAll, self.system.cancel_all(&self.settings.name));
        }
    }

    fn closing_next(&mut self, at: Instant) {
        if let Some(closing) = &mut self.closing {
            closing.next = Some(at);
        }
    }

    pub(super) fn cancelled_all(&mut self, now: Instant, outcome: &Outcome) {
        let is_cancelled = self.system.is_cancelled(outcome);
        if let Some(closing) = &mut self.closing {
            closing.is_cancelled &= is_cancelled;
        }
        let waits = !is_cancelled || self.runs(|errand| matches!(errand, Errand::Submit(_))) > 0;
        self.closing_next(if waits { now + self.settings.interval_min } else { now });
    }

    /// Whether anything is left.
    pub(super) fn looked_at_rest(&mut self, now: Instant, outcome: &Outcome) {
        let rows = self.system.rows(&self.settings.name, outcome);
        let rows = rows.filter(|rows| !rows.has_garbage);
        let is_over = |state: State| matches!(state, State::Over(..) | State::Ends);
        // Of one whose submission was cut off nobody knows whether the controller has it in its hands
        // still.
        let is_doubtful = self.submissions.values().any(|submission| match &submission.phase {
            Phase::Doubtful { since, .. } => now.since(*since) < self.settings.settle,
            _ => false,
        });
        match rows {
            Some(rows) if rows.rows.iter().all(|row| is_over(row.state)) && !is_doubtful => {
                self.end(true)
            }
            _ => {
                if let Some(closing) = &mut self.closing {
                    closing.is_cancelled = false;
                }
                self.closing_next(now + self.settings.interval_min);
            }
        }
    }

    fn end(&mut self, is_clean: bool) {
        let Some(closing) = &mut self.closing else { return };
        closing.has_ended = true;
        if closing.is_asked {
            self.jobs.reply("S".to_owned());
        }
        self.jobs.actions.push_back(Action::End(is_clean));
    }
}
