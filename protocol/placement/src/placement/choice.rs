//! Chooses servers for a call.

use std::cmp::Ordering;

use farcall_base::{Error, ErrorKind, Instant, Result};

use super::{Candidate, Grant, Granted, Placement, Question};
use crate::member::{Presence, Presences};
use crate::paths::{Bytes, Direction};

/// A server that is silent for longer than usual comes after all others: more than any call lasts.
pub(super) const SUSPECT_COST: f64 = 1e15;

/// A candidate and what the policy says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub cost: f64,
    pub candidate: Candidate,
}

impl Ranked {
    fn is_before(&self, other: &Ranked) -> bool {
        self.compare(other) == Ordering::Less
    }

    pub fn compare(&self, other: &Ranked) -> Ordering {
        let by_cost = self.cost.total_cmp(&other.cost);
        by_cost.then(self.candidate.turn.cmp(&other.candidate.turn))
    }
}

impl Placement {
    /// Servers for a call, the best first; it counts as placed on the first from now on.
    ///
    /// # Errors
    /// `NotFound` where no server that is there publishes the routine; `LimitExceeded` where too
    /// many grants have no outcome yet.
    pub fn handle_question(&mut self, now: Instant, question: &Question) -> Result<Grant> {
        if self.open.len() >= self.limits.grants_max {
            self.drop_unused(now);
        }
        if self.open.len() >= self.limits.grants_max {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "place a call",
                "too many calls were placed and are not known to have ended",
            )
            .with("limit", format!("grants_max = {}", self.limits.grants_max))
            .fix("wait for some of them, or raise grants_max"));
        }
        let best = self.best(now, question);
        if best.is_empty() {
            return Err(nobody());
        }
        Ok(self.grant(now, question, best))
    }

    /// All servers that publish the routine, the best first, and nothing is placed.
    pub fn explain(&mut self, now: Instant, question: &Question) -> Vec<Candidate> {
        let mut ranked = Vec::new();
        self.rank_all(now, question, |one| ranked.push(one));
        ranked.sort_by(Ranked::compare);
        ranked.into_iter().map(|one| self.with_error(now, question, one.candidate)).collect()
    }

    fn best(&mut self, now: Instant, question: &Question) -> Vec<Candidate> {
        let count = self.limits.servers_in_grant.max(1);
        let mut best: Vec<Ranked> = Vec::with_capacity(count + 1);
        self.rank_all(now, question, |one| {
            if best.len() == count && !one.is_before(&best[count - 1]) {
                return;
            }
            let at = best.partition_point(|other| !one.is_before(other));
            best.insert(at, one);
            best.truncate(count);
        });
        best.into_iter().map(|one| self.with_error(now, question, one.candidate)).collect()
    }

    /// Each server that could run the call.
    pub(super) fn rank_all(
        &mut self,
        now: Instant,
        question: &Question,
        mut found: impl FnMut(Ranked),
    ) {
        let common_s = self.runs.log_common(&question.contract, &question.work).exp();
        let mut of_size = self.runs.of_size(&question.contract, &question.work);
        let presences = Presences::at(now, &self.limits);
        let processors = f64::from(question.processors);
        let mut ways = self.paths.ways(question.site);
        ways.reach(self.members.sites());
        let bytes = Bytes { there: question.bytes_in, back: question.bytes_out };
        for offer in self.offers.of(&question.contract) {
            let hot = self.members.hot(offer.member);
            let presence = presences.of(hot.heard);
            let is_out = !hot.is_open || presence == Presence::Gone;
            if is_out || question.without.contains(&offer.member) {
                continue;
            }
            let cold_s = if offer.is_warm { 0.0 } else { hot.start_s };
            let seconds = ways.seconds(now, hot.site, bytes);
            let candidate = Candidate {
                member: offer.member,
                wait_s: hot.wait_s(now, processors) + cold_s,
                send_s: seconds.there,
                run_s: common_s * offer.factor * of_size.factor(offer.member),
                return_s: seconds.back,
                error_s: 0.0,
                load: hot.load(),
                turn: hot.turn,
            };
            let mut cost = self.policy.cost(&candidate, question);
            if presence == Presence::Suspect {
                cost += SUSPECT_COST;
            }
            found(Ranked { cost, candidate });
        }
    }

    /// With what the prediction may be wrong by; worked out for those that are answered only.
    pub(super) fn with_error(
        &mut self,
        now: Instant,
        question: &Question,
        one: Candidate,
    ) -> Candidate {
        let run = self.runs.predict(one.member, &question.contract, &question.work);
        let site = self.members.get(one.member).map(|member| member.report.site);
        let site = site.unwrap_or(question.site);
        let there = Direction { from: question.site, to: site };
        let back = Direction { from: site, to: question.site };
        let send = self.paths.predict(now, there, question.bytes_in).error;
        let back = self.paths.predict(now, back, question.bytes_out).error;
        // The parts err by themselves: their squares add up.
        let squares = run.error.powi(2) + send.powi(2) + back.powi(2) + (one.wait_s * 0.3).powi(2);
        Candidate { error_s: squares.sqrt(), ..one }
    }

    fn grant(&mut self, now: Instant, question: &Question, best: Vec<Candidate>) -> Grant {
        let granted: Vec<Granted> = best
            .iter()
            .filter_map(|candidate| {
                let member = self.members.get(candidate.member)?;
                let addresses = member.report.addresses.clone();
                let calls = u32::from(candidate.member == best[0].member);
                Some(Granted { addresses, candidate: *candidate, calls })
            })
            .collect();
        let id = self.open_grant(now, question, &best[0]);
        Grant { id, servers: granted }
    }
}

pub(super) fn nobody() -> Error {
    Error::new(ErrorKind::NotFound, "place a call", "no server that can be reached publishes it")
        .fix("see `farcall servers`; publish the routine, or wait until a server is back")
}
