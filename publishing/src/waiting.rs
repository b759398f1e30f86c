//! Orders that take long: which are under way, and which wait. Pure.
//!
//! Nobody waits for somebody else's compilers: each principal has one such order under way, and the
//! next one waits for it. Those who may administer are never held up by others.

use std::collections::{BTreeMap, VecDeque};

/// Orders under way of those who may not administer.
const UNDER_WAY_MAX: usize = 8;
/// Orders of one principal that wait.
const WAITING_OF_ONE_MAX: usize = 8;
/// Orders that wait in all.
const WAITING_MAX: usize = 64;

/// Whose an order is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whose {
    /// The principal.
    pub principal: String,
    /// Whether they may administer.
    pub administers: bool,
}

/// All of them.
pub struct Waiting<T> {
    under_way: BTreeMap<u64, Whose>,
    waiting: VecDeque<(Whose, T)>,
    next: u64,
}

impl<T> Default for Waiting<T> {
    fn default() -> Waiting<T> {
        Waiting { under_way: BTreeMap::new(), waiting: VecDeque::new(), next: 0 }
    }
}

impl<T> Waiting<T> {
    /// One more order; given back where too many wait.
    pub fn push(&mut self, whose: Whose, order: T) -> Result<(), T> {
        let of_one = self.waiting.iter().filter(|(other, _)| *other == whose).count();
        if of_one >= WAITING_OF_ONE_MAX || (self.waiting.len() >= WAITING_MAX && !whose.administers)
        {
            return Err(order);
        }
        self.waiting.push_back((whose, order));
        Ok(())
    }

    /// The next order that can begin, if one can, and its number.
    pub fn begin(&mut self) -> Option<(u64, T)> {
        let at = self.waiting.iter().position(|(whose, _)| self.can_begin(whose))?;
        let (whose, order) = self.waiting.remove(at)?;
        self.next += 1;
        self.under_way.insert(self.next, whose);
        Some((self.next, order))
    }

    fn can_begin(&self, whose: &Whose) -> bool {
        let others = self.under_way.values().filter(|other| !other.administers).count();
        !self.under_way.values().any(|other| other == whose)
            && (whose.administers || others < UNDER_WAY_MAX)
    }

    /// An order is over.
    pub fn end(&mut self, number: u64) {
        self.under_way.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(principal: &str, administers: bool) -> Whose {
        Whose { principal: principal.to_owned(), administers }
    }

    #[test]
    fn each_has_one_order_under_way_and_nobody_waits_for_another() {
        let mut waiting = Waiting::default();
        for (principal, order) in [("anna", 1), ("anna", 2), ("bert", 3)] {
            assert_eq!(waiting.push(of(principal, false), order), Ok(()));
        }
        let begun: Vec<i32> =
            std::iter::from_fn(|| waiting.begin()).map(|(_, order)| order).collect();
        assert_eq!(begun, [1, 3]);
        waiting.end(1);
        assert_eq!(waiting.begin(), Some((3, 2)));
    }

    #[test]
    fn a_crowd_of_publishers_holds_up_no_administrator() {
        let mut waiting = Waiting::default();
        for number in 0..UNDER_WAY_MAX + WAITING_MAX {
            assert_eq!(waiting.push(of(&format!("user {number}"), false), number), Ok(()));
            waiting.begin();
        }
        assert_eq!(waiting.push(of("one more", false), 1), Err(1));
        assert_eq!(waiting.push(of("admin", true), 2), Ok(()));
        assert_eq!(waiting.begin().map(|(_, order)| order), Some(2));
        for number in 0..WAITING_OF_ONE_MAX {
            assert_eq!(waiting.push(of("admin", true), number), Ok(()));
        }
        assert_eq!(waiting.push(of("admin", true), 9), Err(9));
    }
}
