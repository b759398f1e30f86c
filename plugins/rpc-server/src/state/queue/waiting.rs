//! Calls that wait, one behind the other. One that ends leaves without a search, however many there
//! are: a client may cancel a hundred thousand.

use std::collections::VecDeque;

use super::Rank;
use crate::state::CallKey;

/// Empty places that are kept beside as many as there are calls.
const SPARE: usize = 32;

/// Where a call stands: by its rank, and then by this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    rank: Rank,
    number: i64,
}

/// A line of calls.
#[derive(Debug, Default)]
pub struct WaitingLine {
    /// In the order of their turns; a call that has left in the middle leaves an empty place. There
    /// is a call at both ends.
    places: VecDeque<(Turn, Option<CallKey>)>,
    calls: usize,
}

impl WaitingLine {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.calls
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// Those that wait, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = CallKey> {
        self.places.iter().filter_map(|(_, key)| *key)
    }

    /// The first.
    pub fn front(&self) -> Option<CallKey> {
        self.places.front().and_then(|(_, key)| *key)
    }

    /// The last.
    pub fn back(&self) -> Option<CallKey> {
        self.places.back().and_then(|(_, key)| *key)
    }

    /// A call takes its place behind all that have its rank: its turn.
    pub fn push_last(&mut self, key: CallKey, rank: Rank) -> Turn {
        // Nearly always at the end.
        let at = match self.places.back() {
            Some((last, _)) if last.rank > rank => {
                self.places.partition_point(|(turn, _)| turn.rank <= rank)
            }
            _ => self.places.len(),
        };
        let before =
            at.checked_sub(1).map(|before| self.places[before].0).filter(|turn| turn.rank == rank);
        self.put(at, Turn { rank, number: before.map_or(0, |turn| turn.number + 1) }, key)
    }

    /// A call takes its place before all that have its rank: its turn.
    pub fn push_first(&mut self, key: CallKey, rank: Rank) -> Turn {
        let at = self.places.partition_point(|(turn, _)| turn.rank < rank);
        let behind = self.places.get(at).map(|(turn, _)| *turn).filter(|turn| turn.rank == rank);
        self.put(at, Turn { rank, number: behind.map_or(0, |turn| turn.number - 1) }, key)
    }

    fn put(&mut self, at: usize, turn: Turn, key: CallKey) -> Turn {
        self.places.insert(at, (turn, Some(key)));
        self.calls += 1;
        turn
    }

    /// The first leaves.
    pub fn pop_front(&mut self) -> Option<CallKey> {
        let first = self.places.pop_front()?.1;
        self.calls -= usize::from(first.is_some());
        self.trim();
        first
    }

    /// A call leaves that was given this turn; whether it still stood here.
    pub fn remove(&mut self, key: CallKey, turn: Turn) -> bool {
        let Ok(at) = self.places.binary_search_by_key(&turn, |(turn, _)| *turn) else {
            return false;
        };
        // Its turn may be another's by now.
        if self.places[at].1 != Some(key) {
            return false;
        }
        self.places[at].1 = None;
        self.calls -= 1;
        self.trim();
        // Each of these moves pays for one that has left, so that leaving costs the same however
        // long the line is.
        if self.places.len() > 2 * self.calls + SPARE {
            self.places.retain(|(_, key)| key.is_some());
        }
        true
    }

    fn trim(&mut self) {
        while self.places.front().is_some_and(|(_, key)| key.is_none()) {
            self.places.pop_front();
        }
        while self.places.back().is_some_and(|(_, key)| key.is_none()) {
            self.places.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::CallTable;

    fn keys(count: u64) -> Vec<CallKey> {
        let mut calls = CallTable::default();
        (0..count).map(|number| calls.insert(number, Box::new(()))).collect()
    }

    fn all(line: &WaitingLine) -> Vec<CallKey> {
        line.iter().collect()
    }

    #[test]
    fn the_deepest_are_first_and_those_that_came_back_before_their_equals() {
        let key = keys(6);
        let mut line = WaitingLine::default();
        line.push_last(key[0], Rank::of_weight(0));
        line.push_last(key[1], Rank::of_weight(2));
        line.push_last(key[2], Rank::of_weight(1));
        line.push_last(key[3], Rank::of_weight(2));
        line.push_first(key[4], Rank::of_weight(1));
        line.push_first(key[5], Rank::of_weight(0));
        assert_eq!(all(&line), [key[1], key[3], key[4], key[2], key[5], key[0]]);
        assert_eq!((line.front(), line.back(), line.len()), (Some(key[1]), Some(key[0]), 6));
        assert_eq!(std::iter::from_fn(|| line.pop_front()).count(), 6);
        assert!(line.is_empty() && line.front().is_none());
    }

    #[test]
    fn whoever_leaves_is_found_by_its_turn_and_nobody_else() {
        let key = keys(4);
        let mut line = WaitingLine::default();
        let turns: Vec<Turn> =
            key[..3].iter().map(|key| line.push_last(*key, Rank::of_weight(0))).collect();
        assert!(line.remove(key[1], turns[1]) && !line.remove(key[1], turns[1]));
        assert_eq!((all(&line), line.len()), (vec![key[0], key[2]], 2));
        assert_eq!(line.pop_front(), Some(key[0]));
        // The empty place behind it went with it, and its number is given out again.
        assert_eq!((line.front(), line.len()), (Some(key[2]), 1));
        assert!(!line.remove(key[0], turns[0]));
        line.push_first(key[3], Rank::of_weight(0));
        assert!(!line.remove(key[1], turns[1]), "that turn is another's now");
        assert_eq!(all(&line), [key[3], key[2]]);
    }

    #[test]
    fn empty_places_are_bounded_in_whatever_order_calls_leave() {
        const COUNT: u64 = 10_000;
        let key = keys(COUNT);
        let mut line = WaitingLine::default();
        let mut left: Vec<(CallKey, Turn)> =
            key.iter().map(|key| (*key, line.push_last(*key, Rank::of_weight(0)))).collect();
        let mut random = farcall_base::SeededRandom::new(7);
        while !left.is_empty() {
            let at = (farcall_base::Random::next(&mut random) % left.len() as u64) as usize;
            let (key, turn) = left.swap_remove(at);
            assert!(line.remove(key, turn));
            assert_eq!(line.len(), left.len());
            assert!(line.places.len() <= 2 * left.len() + SPARE);
        }
    }
}
