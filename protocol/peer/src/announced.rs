//! Calls that their owners are to be told of, each once, in order. One whose outcome was taken
//! already leaves without a search: a program may have a hundred thousand under way.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

/// Numbers that are kept beside as many as are to be told.
const SPARE: usize = 64;

/// What there is to tell.
#[derive(Debug, Default)]
pub struct Announced {
    to_tell: FxHashSet<u64>,
    /// Their order. A number that is not to be told any more is left out when its turn comes.
    line: VecDeque<u64>,
}

impl Announced {
    /// Whether nobody is to be told of anything.
    pub fn is_empty(&self) -> bool {
        self.to_tell.is_empty()
    }

    /// There is something of a call, unless its owner is to be told already.
    pub fn add(&mut self, number: u64) {
        if self.to_tell.insert(number) {
            self.line.push_back(number);
        }
    }

    /// The next one.
    pub fn next(&mut self) -> Option<u64> {
        while let Some(number) = self.line.pop_front() {
            if self.to_tell.remove(&number) {
                return Some(number);
            }
        }
        None
    }

    /// Its owner knows already.
    pub fn remove(&mut self, number: u64) {
        if self.to_tell.is_empty() || !self.to_tell.remove(&number) {
            return;
        }
        if self.line.front() == Some(&number) {
            self.line.pop_front();
        }
        // Each of these moves pays for one that has left.
        if self.line.len() > 2 * self.to_tell.len() + SPARE {
            self.line.retain(|number| self.to_tell.contains(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_in_order_unless_its_owner_knows() {
        let mut announced = Announced::default();
        [3, 1, 3, 2, 4].into_iter().for_each(|number| announced.add(number));
        announced.remove(1);
        assert_eq!((announced.next(), announced.next()), (Some(3), Some(2)));
        // One that is told of again comes last, or where it stood.
        announced.add(3);
        assert_eq!(
            (announced.next(), announced.next(), announced.next()),
            (Some(4), Some(3), None)
        );
        assert!(announced.is_empty());
    }

    #[test]
    fn what_owners_know_already_takes_no_memory_in_whatever_order_they_learn_it() {
        const COUNT: u64 = 10_000;
        let mut announced = Announced::default();
        (0..COUNT).for_each(|number| announced.add(number));
        for number in (0..COUNT).rev() {
            announced.remove(number);
            assert!(announced.line.len() <= 2 * number as usize + SPARE);
        }
        assert!(announced.is_empty() && announced.next().is_none());
        // Nobody ever asks what is next, and each is there and taken.
        for number in 0..COUNT {
            announced.add(number);
            announced.remove(number);
            assert!(announced.line.is_empty());
        }
    }
}
