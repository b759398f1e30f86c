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

    /// The waiting users, who used least first. The floor rises with the least of them.
    pub fn order(&mut self, waiting: impl Iterator<Item = UserId>) -> Vec<UserId> {
        let floor = self.floor;
        let used = |user: &UserId| self.used.get(user).copied().unwrap_or(floor);
        let mut users: Vec<UserId> = waiting.collect();
        users.sort_by(|a, b| used(a).total_cmp(&used(b)));
        if let Some(first) = users.first() {
            self.floor = floor.max(used(first));
        }
        users
    }
}
