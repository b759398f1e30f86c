//! Splits many calls of a kind over servers: each goes where it ends first, those before it
//! included.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use farcall_base::{Instant, Result};

use super::choice::{Ranked, SUSPECT_COST, nobody};
use super::{Candidate, Grant, Granted, Placement, Question};
use crate::GrantId;

/// Calls that are split at a time: more are asked for again.
pub const CALLS_MAX: u32 = 65_536;

/// A server's next place for a call.
struct Place {
    ends_s: f64,
    index: usize,
    taken: u32,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        // Of those that end together, the one that has fewer: the better server before the next.
        let by_end = self.ends_s.total_cmp(&other.ends_s);
        by_end.then(self.taken.cmp(&other.taken)).then(self.index.cmp(&other.index))
    }
}

impl Placement {
    /// Servers for so many calls of a kind, the best first, each with how many it is to have. They
    /// are not followed one by one: what they do to the servers is in the next reports. Of a
    /// routine that never ran nothing is known to split by, and one call is placed.
    ///
    /// # Errors
    /// As [`Placement::handle_question`].
    pub fn handle_questions(
        &mut self,
        now: Instant,
        question: &Question,
        calls: u32,
    ) -> Result<Grant> {
        if calls <= 1 || !self.runs.is_known(&question.contract) {
            return self.handle_question(now, question);
        }
        let mut ranked: Vec<Ranked> = Vec::new();
        self.rank_all(now, question, |one| ranked.push(one));
        ranked.sort_by(Ranked::compare);
        let is_up = |one: &Ranked| one.cost < SUSPECT_COST;
        if ranked.iter().any(is_up) {
            ranked.retain(is_up);
        }
        ranked.truncate(self.limits.servers_in_share.max(1));
        if ranked.is_empty() {
            return Err(nobody());
        }
        let best: Vec<Candidate> = ranked.into_iter().map(|one| one.candidate).collect();
        let shares = self.split(&best, f64::from(question.processors), calls.min(CALLS_MAX));
        self.last_grant += 1;
        let turn = self.last_grant;
        let mut servers = Vec::with_capacity(best.len());
        for (candidate, calls) in best.into_iter().zip(shares) {
            let candidate = self.with_error(now, question, candidate);
            let chosen = self.members.change(candidate.member, |member| {
                member.turn = if calls > 0 { turn } else { member.turn };
                member.report.addresses.clone()
            });
            servers.extend(chosen.map(|addresses| Granted { addresses, candidate, calls }));
        }
        Ok(Grant { id: GrantId(turn), servers })
    }

    /// How many calls each is to have.
    fn split(&self, best: &[Candidate], processors: f64, calls: u32) -> Vec<u32> {
        let mut shares = vec![0; best.len()];
        let places = best.iter().enumerate();
        let places =
            places.map(|(index, one)| Reverse(Place { ends_s: one.total_s(), index, taken: 0 }));
        let mut places: BinaryHeap<Reverse<Place>> = places.collect();
        for _ in 0..calls {
            let Some(Reverse(place)) = places.pop() else { break };
            let one = &best[place.index];
            shares[place.index] += 1;
            let all = self.members.get(one.member).map_or(1, |member| member.report.processors);
            let at_a_time = (f64::from(all) / processors.max(1.0)).floor().max(1.0);
            let taken = place.taken + 1;
            let rounds = (f64::from(taken) / at_a_time).floor();
            let ends_s = one.total_s() + rounds * one.run_s;
            places.push(Reverse(Place { ends_s, index: place.index, taken }));
        }
        shares
    }
}
