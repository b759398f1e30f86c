//! Calls that wait for processors.

use std::collections::BTreeMap;

use super::{Fit, QueuePolicy, QueuedCall, Rank, Turns, UserId};

/// A call that others with fewer processors passed so often passes nobody's place on any more: all
/// wait until it has enough.
const PASSED_MAX: u32 = 500;

/// The call that runs next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next<K> {
    /// Which.
    pub key: K,
    /// What is known of it.
    pub call: QueuedCall,
}

/// Where a call stands: by its rank, and then in the order in which calls came.
type Place = (Rank, u64);

#[derive(Debug)]
struct Waiting<K> {
    key: K,
    call: QueuedCall,
    /// How many passed it.
    passed: u32,
}

/// The calls of one user, by the processors that they take.
type OfUser<K> = BTreeMap<u32, BTreeMap<Place, Waiting<K>>>;

/// All calls that wait for a server's processors.
#[derive(Debug)]
pub struct Line<K> {
    policy: Box<dyn QueuePolicy>,
    users: BTreeMap<UserId, OfUser<K>>,
    turns: Turns,
    number: u64,
    calls: usize,
}

impl<K: Copy + PartialEq> Line<K> {
    /// Nobody waits yet.
    pub fn new(policy: Box<dyn QueuePolicy>) -> Line<K> {
        Line { policy, users: BTreeMap::new(), turns: Turns::default(), number: 0, calls: 0 }
    }

    /// A call waits. One that wants more processors than there are waits for all of them: pass at
    /// most those.
    pub fn push(&mut self, key: K, call: QueuedCall) {
        self.number += 1;
        self.calls += 1;
        let place = (self.policy.rank(&call), self.number);
        if !self.users.contains_key(&call.user) {
            self.turns.enter(call.user);
        }
        let of_user = self.users.entry(call.user).or_default();
        let alike = of_user.entry(call.processors).or_default();
        alike.insert(place, Waiting { key, call, passed: 0 });
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.calls
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// Processor-seconds of all that wait.
    pub fn backlog_s(&self) -> f64 {
        let alike = self.users.values().flat_map(BTreeMap::values);
        let calls = alike.flat_map(BTreeMap::values).map(|waiting| &waiting.call);
        calls.map(|call| call.run_s * f64::from(call.processors)).sum()
    }

    /// The call that runs next on so many free processors; its user pays for what it is expected to
    /// take.
    pub fn pop(&mut self, free: u32) -> Option<Next<K>> {
        if self.calls == 0 || free == 0 {
            return None;
        }
        for user in self.turns.order(self.users.keys().copied()) {
            match self.choose(user, free) {
                Choice::Call(processors, place) => return self.leave(user, processors, place),
                Choice::Hold => return None,
                Choice::Nothing => {}
            }
        }
        None
    }

    /// A call took more or less than was expected.
    pub fn correct(&mut self, user: UserId, processor_seconds: f64) {
        self.turns.charge(user, processor_seconds);
    }

    /// A call leaves without having run; whether it waited.
    pub fn remove(&mut self, key: K, call: &QueuedCall) -> bool {
        let Some(alike) =
            self.users.get_mut(&call.user).and_then(|user| user.get_mut(&call.processors))
        else {
            return false;
        };
        let found = alike.iter().find(|(_, waiting)| waiting.key == key).map(|(place, _)| *place);
        found.is_some_and(|place| self.take(call.user, call.processors, place).is_some())
    }

    fn choose(&self, user: UserId, free: u32) -> Choice {
        let heads = self.users[&user].iter().filter_map(|(processors, alike)| {
            let (place, waiting) = alike.first_key_value()?;
            Some((*processors, *place, waiting.passed))
        });
        let Some(first) = heads.clone().min_by_key(|(_, place, _)| *place) else {
            return Choice::Nothing;
        };
        let has_room = |processors: u32| processors <= free;
        if has_room(first.0) && self.policy.fit() != Fit::Most {
            return Choice::Call(first.0, first.1);
        }
        if self.policy.fit() == Fit::InOrder || !has_room(first.0) && first.2 >= PASSED_MAX {
            return Choice::Hold;
        }
        let fitting = heads.filter(|(processors, ..)| has_room(*processors));
        let chosen = match self.policy.fit() {
            Fit::Most => fitting.max_by_key(|(processors, ..)| *processors),
            _ => fitting.min_by_key(|(_, place, _)| *place),
        };
        chosen.map_or(Choice::Nothing, |(processors, place, _)| Choice::Call(processors, place))
    }

    fn leave(&mut self, user: UserId, processors: u32, place: Place) -> Option<Next<K>> {
        let waiting = self.take(user, processors, place)?;
        self.turns.charge(user, waiting.call.run_s * f64::from(processors));
        self.count_passed(user, place);
        Some(Next { key: waiting.key, call: waiting.call })
    }

    /// The heads that a call left standing.
    fn count_passed(&mut self, user: UserId, place: Place) {
        for alike in self.users.get_mut(&user).into_iter().flat_map(BTreeMap::values_mut) {
            if let Some(mut head) = alike.first_entry().filter(|head| *head.key() < place) {
                head.get_mut().passed += 1;
            }
        }
    }

    fn take(&mut self, user: UserId, processors: u32, place: Place) -> Option<Waiting<K>> {
        let of_user = self.users.get_mut(&user)?;
        let alike = of_user.get_mut(&processors)?;
        let waiting = alike.remove(&place)?;
        if alike.is_empty() {
            of_user.remove(&processors);
        }
        if of_user.is_empty() {
            self.users.remove(&user);
        }
        self.calls -= 1;
        Some(waiting)
    }
}

/// What becomes of a user's turn.
enum Choice {
    /// This call runs: its processors, and its place among those that take as many.
    Call(u32, Place),
    /// Nobody runs: the first waits for processors, and none may pass it.
    Hold,
    /// Another user's turn.
    Nothing,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::queue::{FirstCome, FitMostProcessors, FitProcessors, ShortestFirst};
    use farcall_base::Instant;

    fn call(user: u32, at: u64, run_s: f64, processors: u32) -> QueuedCall {
        let arrived = Instant(at * 1_000_000_000);
        QueuedCall { user: UserId(user), arrived, run_s, processors, deadline: None }
    }

    fn order(policy: impl QueuePolicy + 'static, calls: &[QueuedCall], free: u32) -> Vec<usize> {
        let mut line = Line::new(Box::new(policy));
        calls.iter().enumerate().for_each(|(key, call)| line.push(key, *call));
        std::iter::from_fn(|| line.pop(free)).map(|next| next.key).collect()
    }

    #[test]
    fn first_come_lets_nobody_pass() {
        let calls = [call(0, 0, 1.0, 1), call(0, 1, 1.0, 8), call(0, 2, 1.0, 1)];
        assert_eq!(order(FirstCome, &calls, 4), [0]);
        assert_eq!(order(FirstCome, &calls, 8), [0, 1, 2]);
    }

    #[test]
    fn the_shortest_passes_and_the_longest_is_not_passed_for_ever() {
        let calls = [call(0, 0, 10.0, 1), call(0, 1, 0.1, 1), call(0, 400, 0.1, 1)];
        assert_eq!(order(ShortestFirst::default(), &calls, 1), [1, 0, 2]);
    }

    #[test]
    fn those_that_fit_pass_those_that_do_not() {
        let calls = [call(0, 0, 1.0, 8), call(0, 1, 1.0, 2), call(0, 2, 1.0, 4)];
        assert_eq!(order(FitProcessors, &calls, 4), [1, 2]);
        assert_eq!(order(FitMostProcessors, &calls, 4), [2, 1]);
    }

    #[test]
    fn a_call_that_was_passed_too_often_holds_the_place_for_itself() {
        let mut line = Line::new(Box::new(FitProcessors));
        line.push(0, call(0, 0, 1.0, 8));
        for key in 1..=u64::from(PASSED_MAX) + 1 {
            line.push(key, call(0, key, 1.0, 1));
        }
        let passed = std::iter::from_fn(|| line.pop(4)).count();
        assert_eq!(passed, PASSED_MAX as usize);
        assert_eq!(line.pop(8).map(|next| next.key), Some(0));
    }

    #[test]
    fn ten_thousand_calls_of_one_user_do_not_delay_another() {
        let mut line = Line::new(Box::new(FirstCome));
        for key in 0..10_000 {
            line.push(key, call(1, 0, 1.0, 1));
        }
        for _ in 0..5_000 {
            line.pop(1);
        }
        line.push(10_000, call(2, 100, 1.0, 1));
        let next: Vec<u64> = (0..2).filter_map(|_| line.pop(1)).map(|next| next.key).collect();
        assert!(next.contains(&10_000), "{next:?}");
    }

    #[test]
    fn whoever_leaves_is_gone() {
        let mut line = Line::new(Box::new(FirstCome));
        line.push(1, call(0, 0, 1.0, 1));
        assert!(line.remove(1, &call(0, 0, 1.0, 1)) && !line.remove(1, &call(0, 0, 1.0, 1)));
        assert!(line.is_empty() && line.pop(1).is_none());
    }
}
