//! How slow each server is, whatever it runs.

use std::collections::HashMap;

use super::Deviation;
use crate::MemberId;
use crate::pair_hash::PairHash;

/// A sum that follows its parts.
#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn replace(&mut self, before: Option<f64>, after: Option<f64>) {
        self.sum += after.unwrap_or(0.0) - before.unwrap_or(0.0);
        self.count += f64::from(u8::from(after.is_some())) - f64::from(u8::from(before.is_some()));
    }

    fn value(&self) -> f64 {
        if self.count > 0.5 { self.sum / self.count } else { 0.0 }
    }
}

/// All servers. The means over them are kept up to date: each prediction needs them.
#[derive(Debug, Default)]
pub struct Servers {
    servers: HashMap<MemberId, Deviation, PairHash>,
    measured: Mean,
    claimed: Mean,
}

impl Servers {
    /// The logarithm of a server's slowness. One of which nothing was measured is taken for the
    /// mean of the others, as far as it does not claim to be faster or slower than they do.
    pub fn value(&self, member: MemberId) -> f64 {
        let deviation = self.servers.get(&member).copied().unwrap_or_default();
        deviation.value(self.claimed.value(), self.measured.value())
    }

    /// A measurement.
    pub fn observe(&mut self, member: MemberId, left: f64, weight: f64) {
        self.change(member, |deviation| deviation.observe(left, weight));
    }

    /// A server ran a routine that had no curve before: the curve begins with what the server is
    /// taken for now, so that this must not change when others are measured.
    pub fn take_for_granted(&mut self, member: MemberId, weight: f64) {
        let is_measured =
            self.servers.get(&member).is_some_and(|deviation| deviation.measured().is_some());
        if !is_measured {
            self.observe(member, self.value(member), weight);
        }
    }

    /// What a server says of itself; whether it said something else before.
    pub fn claim(&mut self, member: MemberId, claim: f64) -> bool {
        let before = self.servers.get(&member).and_then(Deviation::claimed);
        self.change(member, |deviation| deviation.claim(claim));
        before != Some(claim)
    }

    /// A server is gone.
    pub fn forget(&mut self, member: MemberId) {
        self.change(member, |deviation| *deviation = Deviation::default());
        self.servers.remove(&member);
    }

    fn change(&mut self, member: MemberId, change: impl FnOnce(&mut Deviation)) {
        let deviation = self.servers.entry(member).or_default();
        let before = *deviation;
        change(deviation);
        self.measured.replace(before.measured(), deviation.measured());
        self.claimed.replace(before.claimed(), deviation.claimed());
    }
}
