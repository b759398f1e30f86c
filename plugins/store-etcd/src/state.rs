//! What the plugin knows: its leases, and when each is to be kept next.
//!
//! - A lease is kept three times in its time, so that two failures do not end it.
//! - A lease that etcd has ended leaves the table, and is kept no more.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::Instant;
use farcall_services::store::LeaseId;

/// Parts of its time after which a lease is kept again.
const PARTS: u32 = 3;
/// The shortest time between two attempts.
const LEAST: Duration = Duration::from_millis(100);

/// The leases of this process.
#[derive(Debug, Default)]
pub struct State {
    leases: BTreeMap<LeaseId, Held>,
}

#[derive(Debug)]
struct Held {
    time: Duration,
    due: Instant,
}

impl Held {
    fn part(&self) -> Duration {
        (self.time / PARTS).max(LEAST)
    }
}

impl State {
    /// A lease has begun, or was kept: etcd ends it after this time.
    pub fn handle_kept(&mut self, now: Instant, lease: LeaseId, time: Duration) {
        let held = Held { time, due: now };
        let due = now + held.part();
        self.leases.insert(lease, Held { due, ..held });
    }

    /// It could not be kept: nobody answered.
    pub fn handle_failed(&mut self, now: Instant, lease: LeaseId) {
        if let Some(held) = self.leases.get_mut(&lease) {
            held.due = now + held.part() / 2;
        }
    }

    /// etcd does not know it any more.
    pub fn handle_ended(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
    }

    /// Those that are to be kept now, each with the time that an attempt may take.
    pub fn due(&self, now: Instant) -> Vec<(LeaseId, Duration)> {
        let due = self.leases.iter().filter(|(_, held)| held.due <= now);
        due.map(|(lease, held)| (*lease, held.part())).collect()
    }

    /// When the next one is.
    pub fn next_due(&self) -> Option<Instant> {
        self.leases.values().map(|held| held.due).min()
    }

    /// All of them.
    pub fn leases(&self) -> Vec<LeaseId> {
        self.leases.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_kept_in_time_and_until_it_has_ended() {
        let mut state = State::default();
        let [one, other] = [LeaseId(1), LeaseId(2)];
        let second = Duration::from_secs(1);
        let start = Instant(0);
        state.handle_kept(start, one, second * 3);
        state.handle_kept(start, other, second * 6);
        assert_eq!(state.next_due(), Some(start + second));
        assert_eq!(state.due(start), []);
        assert_eq!(state.due(start + second), [(one, second)]);
        state.handle_failed(start + second, one);
        assert_eq!(state.next_due(), Some(start + second + second / 2));
        state.handle_kept(start + second + second / 2, one, second * 3);
        assert_eq!(state.due(start + second * 2), [(other, second * 2)]);
        state.handle_ended(other);
        assert_eq!(state.leases(), [one]);
        state.handle_ended(one);
        assert_eq!(state.next_due(), None);
    }
}
