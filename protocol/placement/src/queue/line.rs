//! Calls that wait for processors.

use std::cmp::Reverse;
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

/// Who runs next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chosen<K> {
    /// This call.
    Call(Next<K>),
    /// Nobody: the first waits for processors, and none may pass it.
    Held,
    /// Nobody: none that waits could run.
    Nobody,
}

impl<K> Chosen<K> {
    /// The call, if there is one.
    pub fn call(self) -> Option<Next<K>> {
        match self {
            Chosen::Call(next) => Some(next),
            Chosen::Held | Chosen::Nobody => None,
        }
    }
}

/// Where a call stands: by its rank, and then in the order in which calls came.
type Place<K> = (Rank, K);

/// What calls share that stand behind one another: what runs them, and the processors that they
/// take.
type Kind<G> = (G, u32);

#[derive(Debug)]
struct Waiting {
    call: QueuedCall,
    /// How many passed it.
    passed: u32,
}

/// The calls of one user.
type OfUser<K, G> = BTreeMap<Kind<G>, BTreeMap<Place<K>, Waiting>>;

/// All calls that wait for a server's processors. Keys of calls that came later are larger.
///
/// Calls of a group `G` need the same to run beside processors: a process of their module.
#[derive(Debug)]
pub struct Line<K, G = ()> {
    policy: Box<dyn QueuePolicy>,
    users: BTreeMap<UserId, OfUser<K, G>>,
    turns: Turns,
    calls: usize,
}

impl<K: Copy + Ord, G: Copy + Ord> Line<K, G> {
    /// Nobody waits yet.
    pub fn new(policy: Box<dyn QueuePolicy>) -> Line<K, G> {
        Line { policy, users: BTreeMap::new(), turns: Turns::default(), calls: 0 }
    }

    /// Whether the order depends on how long calls run.
    pub fn needs_run_times(&self) -> bool {
        self.policy.needs_run_times()
    }

    /// A call waits. One that wants more processors than there are waits for all of them: pass at
    /// most those.
    pub fn push(&mut self, key: K, group: G, call: QueuedCall) {
        if !self.users.contains_key(&call.user) {
            self.turns.enter(call.user);
        }
        let place = (self.policy.rank(&call), key);
        let of_user = self.users.entry(call.user).or_default();
        let alike = of_user.entry((group, call.processors)).or_default();
        let is_new = alike.insert(place, Waiting { call, passed: 0 }).is_none();
        self.calls += usize::from(is_new);
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
        calls.map(QueuedCall::processor_seconds).sum()
    }

    /// The call that runs next on so many free processors, of those groups that have all else that
    /// they need; its user pays for what it is expected to take.
    pub fn pop(&mut self, free: u32, is_ready: impl Fn(G) -> bool) -> Chosen<K> {
        if self.calls == 0 {
            return Chosen::Nobody;
        }
        let order = self.turns.order(self.users.keys().copied());
        if let Some(first) = order.first() {
            self.turns.raise_floor(*first);
        }
        for user in order {
            match self.choose(user, free, &is_ready) {
                Choice::Call(kind, place) => {
                    return self.leave(user, kind, place).map_or(Chosen::Nobody, Chosen::Call);
                }
                Choice::Hold => return Chosen::Held,
                Choice::Nothing => {}
            }
        }
        Chosen::Nobody
    }

    /// The call that would be next of these groups, if there were processors for all.
    pub fn first(&self, is_ready: impl Fn(G) -> bool) -> Option<(G, K)> {
        let order = self.turns.order(self.users.keys().copied());
        let chosen = |user| match self.choose(user, u32::MAX, &is_ready) {
            Choice::Call((group, _), (_, key)) => Some((group, key)),
            Choice::Hold | Choice::Nothing => None,
        };
        order.into_iter().find_map(chosen)
    }

    /// A call runs that did not have to wait: its user pays for what it is expected to take.
    pub fn pass(&mut self, user: UserId, processor_seconds: f64) {
        self.turns.enter(user);
        if self.calls == 0 {
            self.turns.raise_floor(user);
        }
        self.turns.charge(user, processor_seconds);
    }

    /// A call took more or less than was expected.
    pub fn correct(&mut self, user: UserId, processor_seconds: f64) {
        self.turns.charge(user, processor_seconds);
    }

    /// A call leaves without having run; whether it waited.
    pub fn remove(&mut self, key: K, group: G, call: &QueuedCall) -> bool {
        let place = (self.policy.rank(call), key);
        self.take(call.user, (group, call.processors), place).is_some()
    }

    fn choose(&self, user: UserId, free: u32, is_ready: &impl Fn(G) -> bool) -> Choice<K, G> {
        let ready = self.users[&user].iter().filter(|((group, _), _)| is_ready(*group));
        let heads = ready.filter_map(|(kind, alike)| {
            let (place, waiting) = alike.first_key_value()?;
            Some((*kind, *place, waiting.passed))
        });
        let Some(first) = heads.clone().min_by_key(|(_, place, _)| *place) else {
            return Choice::Nothing;
        };
        let has_room = |(_, processors): Kind<G>| processors <= free;
        if has_room(first.0) && self.policy.fit() != Fit::Most {
            return Choice::Call(first.0, first.1);
        }
        if self.policy.fit() == Fit::InOrder || !has_room(first.0) && first.2 >= PASSED_MAX {
            return Choice::Hold;
        }
        let fitting = heads.filter(|(kind, ..)| has_room(*kind));
        let chosen = match self.policy.fit() {
            // Of equals the one that came first.
            Fit::Most => {
                fitting.max_by_key(|((_, processors), place, _)| (*processors, Reverse(*place)))
            }
            _ => fitting.min_by_key(|(_, place, _)| *place),
        };
        chosen.map_or(Choice::Nothing, |(kind, place, _)| Choice::Call(kind, place))
    }

    fn leave(&mut self, user: UserId, kind: Kind<G>, place: Place<K>) -> Option<Next<K>> {
        let call = self.take(user, kind, place)?.call;
        self.turns.charge(user, call.processor_seconds());
        self.count_passed(user, place);
        Some(Next { key: place.1, call })
    }

    /// The heads that a call left standing.
    fn count_passed(&mut self, user: UserId, place: Place<K>) {
        for alike in self.users.get_mut(&user).into_iter().flat_map(BTreeMap::values_mut) {
            if let Some(mut head) = alike.first_entry().filter(|head| *head.key() < place) {
                head.get_mut().passed += 1;
            }
        }
    }

    fn take(&mut self, user: UserId, kind: Kind<G>, place: Place<K>) -> Option<Waiting> {
        let of_user = self.users.get_mut(&user)?;
        let alike = of_user.get_mut(&kind)?;
        let waiting = alike.remove(&place)?;
        if alike.is_empty() {
            of_user.remove(&kind);
        }
        if of_user.is_empty() {
            self.users.remove(&user);
        }
        self.calls -= 1;
        Some(waiting)
    }
}

/// What becomes of a user's turn.
enum Choice<K, G> {
    /// This call runs: its kind, and its place among its like.
    Call(Kind<G>, Place<K>),
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

    fn next(line: &mut Line<u64>, free: u32) -> Option<u64> {
        line.pop(free, |()| true).call().map(|next| next.key)
    }

    fn order(policy: impl QueuePolicy + 'static, calls: &[QueuedCall], free: u32) -> Vec<usize> {
        let mut line = Line::new(Box::new(policy));
        calls.iter().enumerate().for_each(|(key, call)| line.push(key, (), *call));
        std::iter::from_fn(|| line.pop(free, |()| true).call()).map(|next| next.key).collect()
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
        line.push(0, (), call(0, 0, 1.0, 8));
        for key in 1..=u64::from(PASSED_MAX) + 1 {
            line.push(key, (), call(0, key, 1.0, 1));
        }
        let passed = std::iter::from_fn(|| next(&mut line, 4)).count();
        assert_eq!(passed, PASSED_MAX as usize);
        assert_eq!(next(&mut line, 8), Some(0));
    }

    #[test]
    fn ten_thousand_calls_of_one_user_do_not_delay_another() {
        let mut line = Line::new(Box::new(FirstCome));
        for key in 0..10_000 {
            line.push(key, (), call(1, 0, 1.0, 1));
        }
        for _ in 0..5_000 {
            next(&mut line, 1);
        }
        line.push(10_000, (), call(2, 100, 1.0, 1));
        let begun: Vec<u64> = (0..2).filter_map(|_| next(&mut line, 1)).collect();
        assert!(begun.contains(&10_000), "{begun:?}");
    }

    #[test]
    fn whoever_leaves_is_gone() {
        let mut line = Line::new(Box::new(FirstCome));
        line.push(1, (), call(0, 0, 1.0, 1));
        assert!(
            line.remove(1, (), &call(0, 0, 1.0, 1)) && !line.remove(1, (), &call(0, 0, 1.0, 1))
        );
        assert!(line.is_empty() && next(&mut line, 1).is_none());
    }

    #[test]
    fn a_call_whose_group_is_not_ready_holds_nobody() {
        let mut line: Line<u64, char> = Line::new(Box::new(FirstCome));
        line.push(0, 'a', call(0, 0, 1.0, 2));
        line.push(1, 'b', call(0, 1, 1.0, 1));
        assert_eq!(line.first(|_| true), Some(('a', 0)));
        assert_eq!(line.pop(1, |_| true), Chosen::Held);
        assert_eq!(line.pop(1, |group| group == 'c'), Chosen::Nobody);
        assert_eq!(line.pop(1, |group| group == 'b').call().map(|next| next.key), Some(1));
        assert_eq!(line.pop(2, |_| true).call().map(|next| next.key), Some(0));
    }

    #[test]
    fn users_pay_without_waiting_and_yesterday_does_not_count() {
        let mut line = Line::new(Box::new(FirstCome));
        for _ in 0..1_000 {
            line.pass(UserId(1), 1.0);
        }
        // Another comes who used nothing while all was free: he has no more right than the first.
        line.push(0, (), call(1, 0, 1.0, 1));
        line.push(1, (), call(2, 1, 1.0, 1));
        line.push(2, (), call(2, 2, 1.0, 1));
        line.push(3, (), call(1, 3, 1.0, 1));
        let begun: Vec<u64> = (0..4).filter_map(|_| next(&mut line, 1)).collect();
        assert_eq!(begun, [1, 0, 2, 3]);
    }
}
