//! What is known of one server.

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::Instant;

use crate::limits::Limits;
use crate::placement::News;
use crate::{Contract, SiteId};

/// A server is believed at most so many processors: a claim beyond them is one of a mistake.
pub const PROCESSORS_MAX: u32 = 65_536;
/// A load or backlog beyond this is no number of a server that runs.
const BACKLOG_MAX: f64 = 1e9;
/// What a wait that was longer or shorter than predicted counts in the next prediction.
const LEARNING: f64 = 0.3;
/// Seconds after which it counts half: a server that is left alone for it is tried again.
const WAIT_ERROR_HALVES_S: f64 = 5.0;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Where it is.
    pub site: SiteId,
    /// Addresses at which clients reach it, the best first.
    pub addresses: Vec<String>,
    /// Processors that calls may have together.
    pub processors: u32,
    /// Of them, those that calls have.
    pub busy: f64,
    /// Calls that run or wait.
    pub calls: u32,
    /// Processor-seconds that calls before a new one need, as far as it knows.
    pub backlog_s: f64,
    /// Processes that could run, on average, beside Farcall's own: the load that others make.
    pub load: f64,
    /// How long an executable takes to start.
    pub start_s: f64,
    /// Routines that it publishes.
    pub contracts: BTreeSet<Contract>,
    /// Of them, those that have an executable.
    pub warm: BTreeSet<Contract>,
    /// How long jobs waited lately, where calls run in jobs.
    pub job_wait_s: Option<f64>,
    /// Operations a second, where it measured itself.
    pub speed: Option<f64>,
    /// Whether it takes no more calls.
    pub draining: bool,
    /// What came of the calls that were placed on it.
    pub news: News,
}

/// Whether a server is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was heard of lately.
    Up,
    /// It is silent for longer than usual: others come first.
    Suspect,
    /// It is not asked any more.
    Gone,
}

/// Whether servers are there at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Presences {
    gone_since: Instant,
    suspect_since: Instant,
}

impl Presences {
    /// At this moment.
    pub fn at(now: Instant, limits: &Limits) -> Presences {
        let before = |time: Duration| Instant(now.0.saturating_sub(nanos(time)));
        Presences {
            gone_since: before(limits.gone_after),
            suspect_since: before(limits.suspect_after),
        }
    }

    /// Whether one is that was heard of then.
    pub(crate) fn of(self, heard: Instant) -> Presence {
        // At the beginning of time nobody has been silent yet.
        let silent_since = |since: Instant| since.0 > 0 && heard <= since;
        if silent_since(self.gone_since) {
            return Presence::Gone;
        }
        if silent_since(self.suspect_since) { Presence::Suspect } else { Presence::Up }
    }
}

/// What a decision among thousands reads of each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hot {
    /// Whether calls may go there at all.
    pub is_open: bool,
    /// Where it is.
    pub site: SiteId,
    /// When it was heard of.
    pub heard: Instant,
    /// Its number of the last grant.
    pub turn: u64,
    /// How long an executable takes to start.
    pub start_s: f64,
    processors: f64,
    /// Processors that calls have by its report, and with those that were placed since.
    reported: f64,
    busy: f64,
    /// Processor-seconds of its report, and of what was placed since: no report says how far that is.
    backlog_s: f64,
    granted_s: f64,
    extra_s: f64,
    others: f64,
}

impl Hot {
    /// How long a call of so many processors waits before it runs.
    pub fn wait_s(&self, now: Instant, processors: f64) -> f64 {
        let all = self.processors;
        let is_free = self.busy + processors.min(all) <= all;
        if is_free {
            return self.extra_s.max(0.0);
        }
        let passed = now.0.saturating_sub(self.heard.0) as f64 * 1e-9;
        let left = (self.backlog_s - passed * self.reported.min(all)).max(0.0);
        ((left + self.granted_s) / all + self.extra_s).max(0.0)
    }

    /// What processes and calls there are for each processor.
    pub fn load(&self) -> f64 {
        (self.others + self.busy) / self.processors
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A server.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it said last.
    pub report: Report,
    pub(crate) heard: Instant,
    pub(crate) lost: bool,
    /// Processors of grants that its last report did not know.
    pub(crate) granted_processors: f64,
    /// Processor-seconds of them.
    pub(crate) granted_s: f64,
    /// When it was granted last, as a number that grows with each grant.
    pub(crate) turn: u64,
    /// By how many seconds its calls wait longer than its reports say.
    pub(crate) wait_error_s: f64,
}

impl Member {
    pub(crate) fn new(now: Instant, name: String, report: Report) -> Member {
        let mut member = Member {
            name,
            report: Report::default(),
            heard: now,
            lost: false,
            granted_processors: 0.0,
            granted_s: 0.0,
            turn: 0,
            wait_error_s: 0.0,
        };
        member.handle_report(now, report);
        member
    }

    /// What it says is taken within bounds: nobody draws all calls by a number.
    pub(crate) fn handle_report(&mut self, now: Instant, mut report: Report) {
        report.processors = report.processors.clamp(1, PROCESSORS_MAX);
        report.busy = bounded(report.busy);
        report.backlog_s = bounded(report.backlog_s);
        report.load = bounded(report.load);
        report.start_s = bounded(report.start_s);
        report.job_wait_s = report.job_wait_s.map(bounded);
        self.report = report;
        let passed_s = now.0.saturating_sub(self.heard.0) as f64 * 1e-9;
        self.wait_error_s *= (-passed_s / WAIT_ERROR_HALVES_S).exp2();
        self.heard = now;
        self.lost = false;
    }

    /// Whether it is there.
    pub fn presence(&self, now: Instant, limits: &Limits) -> Presence {
        if self.lost { Presence::Gone } else { Presences::at(now, limits).of(self.heard) }
    }

    /// What a decision reads.
    pub fn hot(&self) -> Hot {
        Hot {
            is_open: !self.lost && !self.report.draining,
            site: self.report.site,
            heard: self.heard,
            turn: self.turn,
            start_s: self.report.start_s,
            processors: f64::from(self.report.processors),
            reported: self.report.busy,
            busy: self.report.busy + self.granted_processors,
            backlog_s: self.report.backlog_s,
            granted_s: self.granted_s,
            extra_s: self.report.job_wait_s.unwrap_or(0.0) + self.wait_error_s,
            others: self.report.load,
        }
    }

    /// A call waited; so long it was expected to.
    pub(crate) fn handle_wait(&mut self, measured_s: f64, expected_s: f64) {
        if measured_s.is_finite() {
            self.wait_error_s += (measured_s.max(0.0) - expected_s) * LEARNING;
        }
    }
}

fn bounded(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, BACKLOG_MAX) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_was_not_foreseen_is_forgotten() {
        let mut member = Member::new(Instant(0), "b".to_owned(), Report::default());
        member.handle_wait(10.0, 0.0);
        assert!(member.hot().wait_s(Instant(0), 1.0) > 2.9);
        for second in 1..=60 {
            member.handle_report(Instant(second * 1_000_000_000), Report::default());
        }
        assert!(member.hot().wait_s(Instant(60_000_000_000), 1.0) < 0.01);
    }
}
