//! The table of calls. Each call is looked up a dozen times on its way, so that its key says where
//! it stands.

use slab::Slab;

/// A call's number in this server, by which older calls come first, and its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    number: u64,
    place: usize,
}

/// CallTable, found without a search.
pub struct CallTable<T> {
    places: Slab<(u64, Box<T>)>,
}

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        CallTable { places: Slab::new() }
    }
}

impl<T> CallTable<T> {
    /// Enters a call under a number that no other has or had.
    pub fn insert(&mut self, number: u64, call: Box<T>) -> CallKey {
        CallKey { number, place: self.places.insert((number, call)) }
    }

    /// A call, unless it has ended.
    pub fn get(&self, key: &CallKey) -> Option<&T> {
        // Another call may stand in its place by now.
        self.places
            .get(key.place)
            .filter(|(number, _)| *number == key.number)
            .map(|(_, call)| &**call)
    }

    /// As [`CallTable::get`], to change it.
    pub fn get_mut(&mut self, key: &CallKey) -> Option<&mut T> {
        self.places
            .get_mut(key.place)
            .filter(|(number, _)| *number == key.number)
            .map(|(_, call)| &mut **call)
    }

    /// Whether a call is not over.
    pub fn contains_key(&self, key: &CallKey) -> bool {
        self.get(key).is_some()
    }

    /// Takes a call out.
    pub fn remove(&mut self, key: &CallKey) -> Option<Box<T>> {
        self.contains_key(key).then(|| self.places.remove(key.place).1)
    }

    /// All calls, in no order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().map(|(_, (_, call))| &**call)
    }

    /// All calls, the oldest first.
    pub fn by_age(&self) -> Vec<(CallKey, &T)> {
        let mut calls: Vec<(CallKey, &T)> = self
            .places
            .iter()
            .map(|(place, (number, call))| (CallKey { number: *number, place }, &**call))
            .collect();
        calls.sort_by_key(|(key, _)| *key);
        calls
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_not_found_whoever_stands_in_its_place() {
        let mut calls = CallTable::default();
        let first = calls.insert(5, Box::new('a'));
        let second = calls.insert(6, Box::new('b'));
        assert_eq!(calls.remove(&first).as_deref(), Some(&'a'));
        let third = calls.insert(7, Box::new('c'));
        assert!(third.place == first.place && first < second && second < third);
        assert!(
            !calls.contains_key(&first)
                && calls.get_mut(&first).is_none()
                && calls.remove(&first).is_none()
        );
        assert!(calls.get(&third) == Some(&'c') && calls.len() == 2);
        assert_eq!(calls.by_age(), [(second, &'b'), (third, &'c')]);
        assert!(calls.values().eq(&['c', 'b']) && !calls.is_empty());
    }
}
