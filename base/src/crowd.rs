//! Who goes when a table is full: whoever takes the most places in it loses one.
//!
//! A table that drops its oldest entry lets one host that connects quickly push out everybody else.
//! Here each entry belongs to a key (an address, a user), and the key with the most entries loses
//! one: first one of the lowest stage, then the oldest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many entries a key has, which of them goes first, and the key.
type Place<Key, Stage> = (usize, Reverse<(Stage, u64)>, Key);

/// Entries by number, each with a key and a stage. Numbers grow with time.
pub struct Crowd<Key, Stage> {
    entries: BTreeMap<u64, (Key, Stage)>,
    by_key: BTreeMap<Key, BTreeSet<(Stage, u64)>>,
    /// The last one loses: most entries, then the lowest stage and the oldest entry.
    order: BTreeSet<Place<Key, Stage>>,
}

impl<Key: Ord, Stage: Ord> Default for Crowd<Key, Stage> {
    fn default() -> Self {
        Crowd { entries: BTreeMap::new(), by_key: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<Key: Ord + Clone, Stage: Ord + Copy> Crowd<Key, Stage> {
    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries of one key.
    pub fn len_of(&self, key: &Key) -> usize {
        self.by_key.get(key).map_or(0, BTreeSet::len)
    }

    /// Enters one; a number that is there already is moved.
    pub fn insert(&mut self, number: u64, key: Key, stage: Stage) {
        self.remove(number);
        self.forget_order(&key);
        self.by_key.entry(key.clone()).or_default().insert((stage, number));
        self.keep_order(&key);
        self.entries.insert(number, (key, stage));
    }

    /// Takes one out; whether it was there.
    pub fn remove(&mut self, number: u64) -> bool {
        let Some((key, stage)) = self.entries.remove(&number) else { return false };
        self.forget_order(&key);
        if let Some(entries) = self.by_key.get_mut(&key) {
            entries.remove(&(stage, number));
            if entries.is_empty() {
                self.by_key.remove(&key);
            }
        }
        self.keep_order(&key);
        true
    }

    /// Takes out the entry that goes when there is no room.
    pub fn evict(&mut self) -> Option<u64> {
        let (_, Reverse((_, number)), _) = self.order.last()?;
        let number = *number;
        self.remove(number);
        Some(number)
    }

    fn place(&self, key: &Key) -> Option<Place<Key, Stage>> {
        let entries = self.by_key.get(key)?;
        Some((entries.len(), Reverse(*entries.first()?), key.clone()))
    }

    fn forget_order(&mut self, key: &Key) {
        if let Some(place) = self.place(key) {
            self.order.remove(&place);
        }
    }

    fn keep_order(&mut self, key: &Key) {
        self.order.extend(self.place(key));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn crowd(entries: &[(u64, &'static str, u8)]) -> Crowd<&'static str, u8> {
        let mut crowd = Crowd::default();
        entries.iter().for_each(|(number, key, stage)| crowd.insert(*number, *key, *stage));
        crowd
    }

    #[test]
    fn the_key_with_the_most_entries_loses_the_oldest_of_the_lowest_stage() {
        let mut crowd = crowd(&[(1, "old", 0), (2, "many", 1), (3, "many", 0), (4, "many", 0)]);
        assert_eq!([crowd.evict(), crowd.evict()], [Some(3), Some(4)]);
        // One each: now the stage decides, and then the age.
        assert_eq!([crowd.evict(), crowd.evict(), crowd.evict()], [Some(1), Some(2), None]);
        assert!(crowd.is_empty() && crowd.by_key.is_empty() && crowd.order.is_empty());
    }

    #[test]
    fn an_entry_that_goes_on_keeps_its_number_and_gets_a_higher_stage() {
        let mut crowd = crowd(&[(1, "a", 0), (2, "a", 0)]);
        crowd.insert(1, "a", 1);
        assert_eq!((crowd.len(), crowd.len_of(&"a"), crowd.evict()), (2, 2, Some(2)));
        assert!(crowd.remove(1) && !crowd.remove(1));
        assert!(crowd.order.is_empty());
    }
}
