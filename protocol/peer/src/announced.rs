//! Calls that their owners are to be told of, each once, in order. One whose outcome was taken
//! already leaves without a search: a program may have a hundred thousand under way.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

/// Numbers that are kept beside as many as are to be told.
const SPARE: usize = 64;

/// Who is told of a call. A small number, since it travels with every call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Audience(u32);

impl Audience {
    /// Who has it asks for it.
    pub const NOBODY: Audience = Audience(0);
    /// Every program that asks for the next one.
    pub const EVERYBODY: Audience = Audience(1);

    /// Those that have this farm alone: its calls are nobody else's business.
    pub fn farm(number: u32) -> Audience {
        Audience(number.saturating_add(2))
    }

    /// Whether it is a farm.
    pub fn is_farm(self) -> bool {
        self.0 > 1
    }
}

/// What there is to tell.
#[derive(Debug, Default)]
pub struct Announced {
    to_tell: FxHashSet<u64>,
    /// Their order. A number that is not to be told any more is left out when its turn comes.
    line: VecDeque<u64>,
    /// Calls of farms. One that has news and then ends may stand there twice: a farm knows which
    /// of its calls are running.
    farms: FxHashMap<Audience, VecDeque<u64>>,
}

impl Announced {
    /// Whether there is nothing that everybody is to be told.
    pub fn is_empty(&self) -> bool {
        self.to_tell.is_empty()
    }

    /// There is something of a call, unless its owner is to be told already.
    #[inline]
    pub fn add(&mut self, audience: Audience, number: u64) {
        if audience == Audience::NOBODY {
            return;
        }
        if audience != Audience::EVERYBODY {
            // One that has ended wants to hear of nothing.
            if let Some(line) = self.farms.get_mut(&audience) {
                line.push_back(number);
            }
        } else if self.to_tell.insert(number) {
            self.line.push_back(number);
        }
    }

    /// All there is of a farm's, in order, which it is told with this.
    pub fn take_farmed(&mut self, farm: Audience, told: &mut VecDeque<u64>) {
        if let Some(line) = self.farms.get_mut(&farm) {
            told.append(line);
        }
    }

    /// A farm begins, or has ended.
    pub fn tell_farm(&mut self, farm: Audience, is_told: bool) {
        if is_told {
            self.farms.entry(farm).or_default();
        } else {
            self.farms.remove(&farm);
        }
    }

    /// The next one.
    pub fn next(&mut self, audience: Audience) -> Option<u64> {
        if audience.is_farm() {
            return self.farms.get_mut(&audience)?.pop_front();
        }
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

    fn next(announced: &mut Announced) -> Option<u64> {
        announced.next(Audience::EVERYBODY)
    }

    #[test]
    fn each_is_told_once_and_in_order_unless_its_owner_knows() {
        let mut announced = Announced::default();
        [3, 1, 3, 2, 4].into_iter().for_each(|number| announced.add(Audience::EVERYBODY, number));
        announced.remove(1);
        assert_eq!((next(&mut announced), next(&mut announced)), (Some(3), Some(2)));
        // One that is told of again comes last, or where it stood.
        announced.add(Audience::EVERYBODY, 3);
        assert_eq!(
            (next(&mut announced), next(&mut announced), next(&mut announced)),
            (Some(4), Some(3), None)
        );
        assert!(announced.is_empty());
    }

    #[test]
    fn what_owners_know_already_takes_no_memory_in_whatever_order_they_learn_it() {
        const COUNT: u64 = 10_000;
        let mut announced = Announced::default();
        (0..COUNT).for_each(|number| announced.add(Audience::EVERYBODY, number));
        for number in (0..COUNT).rev() {
            announced.remove(number);
            assert!(announced.line.len() <= 2 * number as usize + SPARE);
        }
        assert!(announced.is_empty() && next(&mut announced).is_none());
        // Nobody ever asks what is next, and each is there and taken.
        for number in 0..COUNT {
            announced.add(Audience::EVERYBODY, number);
            announced.remove(number);
            assert!(announced.line.is_empty());
        }
    }

    #[test]
    fn a_farm_alone_is_told_of_its_calls_and_of_none_once_it_has_ended() {
        let mut announced = Announced::default();
        announced.tell_farm(Audience::farm(1), true);
        announced.tell_farm(Audience::farm(2), true);
        announced.add(Audience::farm(1), 5);
        announced.add(Audience::farm(2), 6);
        announced.add(Audience::NOBODY, 7);
        assert!(announced.is_empty() && next(&mut announced).is_none());
        assert_eq!(announced.next(Audience::farm(2)), Some(6));
        assert_eq!(announced.next(Audience::farm(2)), None);
        let mut told = VecDeque::new();
        announced.take_farmed(Audience::farm(1), &mut told);
        announced.take_farmed(Audience::farm(3), &mut told);
        assert_eq!(told, [5]);
        announced.tell_farm(Audience::farm(1), false);
        announced.add(Audience::farm(1), 8);
        assert_eq!(announced.next(Audience::farm(1)), None);
        assert_eq!(announced.farms.len(), 1);
    }
}
