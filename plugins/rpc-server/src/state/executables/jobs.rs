//! Jobs of launchers, as they last told.

use farcall_base::Instant;
use farcall_wire::JobStatus;

/// What launchers last told, and when.
#[derive(Default)]
pub struct Jobs {
    all: Vec<JobStatus>,
    told: Instant,
}

impl Jobs {
    /// They tell again; what they told before.
    pub fn tell(&mut self, now: Instant, jobs: Vec<JobStatus>) -> Vec<JobStatus> {
        self.told = now;
        std::mem::replace(&mut self.all, jobs)
    }

    /// As they were told.
    pub fn all(&self) -> &[JobStatus] {
        &self.all
    }

    /// As they are now. They are told when something changes about them, which the age does all the
    /// time.
    pub fn now(&self, now: Instant) -> Vec<JobStatus> {
        let since = u64::try_from(now.since(self.told).as_micros()).unwrap_or(u64::MAX);
        let aged =
            |job: &JobStatus| JobStatus { age_us: job.age_us.saturating_add(since), ..job.clone() };
        self.all.iter().map(aged).collect()
    }
}
