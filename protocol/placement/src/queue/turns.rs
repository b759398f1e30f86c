//! Users take turns by the processor time that they used.

use std::collections::BTreeMap;

use super::UserId;

/// Users that are remembered though none of their calls waits or runs.
const USERS_MAX: usize = 4_096;

/// Who used how much. A user who comes has used as much as the one who used least: what was left
/// unused yesterday gives no right to all of today.
#[derive(Debug, Default)]
pub struct Turns {
    used: BTreeMap<UserId, f64>,
    /// No active user has used less.
    floor: f64,
}

impl Turns {
    /// A user has calls, who had none.
    pub fn enter(&mut self, user: UserId) {
        let floor = self.floor;
        let used = self.used.entry(user).or_insert(floor);
        *used = used.max(floor);
        if self.used.len() > USERS_MAX {
            self.forget_least();
        }
    }

    /// Those who used least stand at the floor, where they would enter again.
    fn forget_least(&mut self) {
        let least = self.used.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(user, _)| *user);
        least.map(|user| self.used.remove(&user));
    }

    /// Processor-seconds of a call of his that begins; negative where it took less than was
    /// expected.
    pub fn charge(&mut self, user: UserId, processor_seconds: f64) {
        if processor_seconds.is_finite() {
            *self.used.entry(user).or_insert(self.floor) += processor_seconds;
        }
    }

    /// These users, who used least first.
    pub fn order(&self, waiting: impl Iterator<Item = UserId>) -> Vec<UserId> {
        let mut users: Vec<UserId> = waiting.collect();
        users.sort_by(|a, b| self.used(*a).total_cmp(&self.used(*b)));
        users
    }

    /// This user used least of those who are there.
    pub fn raise_floor(&mut self, least: UserId) {
        self.floor = self.floor.max(self.used(least));
    }

    fn used(&self, user: UserId) -> f64 {
        self.used.get(&user).copied().unwrap_or(self.floor)
    }
}
