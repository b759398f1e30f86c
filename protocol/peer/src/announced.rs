//! Calls that their owners are to be told of, each once, in order. One whose outcome was taken
//! already leaves without a search: a program may have a hundred thousand under way.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

/// Numbers that are kept beside as many as are to be told.
const SPARE: usize = 64;

/// Who is told of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Who has it asks for it.
    #[default]
    Nobody,
    /// Every program that asks for the next one.
    Everybody,
    /// Those that have this farm alone: its calls are nobody else's business.
    Farm(u32),
}

/// What there is to tell.
#[derive(Debug, Default)]
pub struct Announced {
    to_tell: FxHashSet<u64>,
    /// Their order. A number that is not to be told any more is left out when its turn comes.
    line: VecDeque<u64>,
    /// Calls of farms. One that has news and then ends may stand there twice: a farm knows which
    /// of its calls are running.
    farms: FxHashMap<u32, VecDeque<u64>>,
}

impl Announced {
    /// Whether there is nothing that everybody is to be told.
    pub fn is_empty(&self) -> bool {
        self.to_tell.is_empty()
    }

    /// There is something of a call, unless its owner is to be told already.
    #[inline]
    pub fn add(&mut self, audience: Audience, number: u64) {
        match audience {
            Audience::Nobody => {}
            Audience::Everybody => {
                if self.to_tell.insert(number) {
                    self.line.push_back(number);
                }
            }
            // One that has ended wants to hear of nothing.
            Audience::Farm(farm) => {
                if let Some(line) = self.farms.get_mut(&farm) {
                    line.push_back(number);
                }
            }
        }
    }

    /// All there is of a farm's, in order, which it is told with this.
    pub fn take_farmed(&mut self, farm: u32, told: &mut VecDeque<u64>) {
        if let Some(line) = self.farms.get_mut(&farm) {
            told.append(line);
        }
    }

    /// A farm begins, or has ended.
    pub fn tell_farm(&mut self, farm: u32, is_told: bool) {
        if is_told {
            self.farms.entry(farm).or_default();
        } else {
            self.farms.remove(&farm);
        }
    }

    /// The next one.
    pub fn next(&mut self, audience: Audience) -> Option<u64> {
        if let Audience::Farm(farm) = audience {
            return self.farms.get_mut(&farm)?.pop_front();
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
        announced.next(Audience::Everybody)
    }

    #[test]
    fn each_is_told_once_and_in_order_unless_its_owner_knows() {
        let mut announced = Announced::default();
        [3, 1, 3, 2, 4].into_iter().for_each(|number| announced.add(Audience::Everybody, number));
        announced.remove(1);
        assert_eq!((next(&mut announced), next(&mut announced)), (Some(3), Some(2)));
        // One that is told of again comes last, or where it stood.
        announced.add(Audience::Everybody, 3);
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
        (0..COUNT).for_each(|number| announced.add(Audience::Everybody, number));
        for number in (0..COUNT).rev() {
            announced.remove(number);
            assert!(announced.line.len() <= 2 * number as usize + SPARE);
        }
        assert!(announced.is_empty() && next(&mut announced).is_none());
        // Nobody ever asks what is next, and each is there and taken.
        for number in 0..COUNT {
            announced.add(Audience::Everybody, number);
            announced.remove(number);
            assert!(announced.line.is_empty());
        }
    }

    #[test]
    fn a_farm_alone_is_told_of_its_calls_and_of_none_once_it_has_ended() {
        let mut announced = Announced::default();
        announced.tell_farm(1, true);
        announced.tell_farm(2, true);
        announced.add(Audience::Farm(1), 5);
        announced.add(Audience::Farm(2), 6);
        announced.add(Audience::Nobody, 7);
        assert!(announced.is_empty() && next(&mut announced).is_none());
        assert_eq!(announced.next(Audience::Farm(2)), Some(6));
        assert_eq!(announced.next(Audience::Farm(2)), None);
        let mut told = VecDeque::new();
        announced.take_farmed(1, &mut told);
        announced.take_farmed(3, &mut told);
        assert_eq!(told, [5]);
        announced.tell_farm(1, false);
        announced.add(Audience::Farm(1), 8);
        assert_eq!(announced.next(Audience::Farm(1)), None);
        assert_eq!(announced.farms.len(), 1);
    }
}
