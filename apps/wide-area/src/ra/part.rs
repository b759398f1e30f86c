//! What one member owns of a database that is computed, and how updates change it.

use super::board::Board;
use super::database::{Counts, Databases};
use super::index::positions;

/// A score that is not decided yet.
const UNKNOWN: i8 = i8::MIN;

/// Bytes of an update as it travels.
pub const UPDATE_BYTES: usize = 5;

/// Which positions a member owns: every `step`-th one from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    first: u64,
    step: u64,
    count: u64,
}

impl Share {
    /// The share of one of several members: index modulo members, which spreads every kind of
    /// position evenly.
    pub fn cyclic(positions: u64, rank: u64, members: u64) -> Share {
        let step = members.max(1);
        Share { first: rank, step, count: positions.saturating_sub(rank).div_ceil(step) }
    }

    /// Who owns a position under [`Share::cyclic`].
    pub fn owner(index: u64, members: u64) -> u64 {
        index % members.max(1)
    }

    /// Positions in it.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The index of its position number `local`.
    pub fn index(&self, local: usize) -> u64 {
        self.first + local as u64 * self.step
    }

    /// Where a position is in it; none if another member owns it.
    pub fn local(&self, index: u64) -> Option<usize> {
        let behind = index.checked_sub(self.first)?;
        let local = behind / self.step;
        (behind % self.step == 0 && local < self.count).then_some(local as usize)
    }
}

/// News for the owner of a position: one of its moves has this outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The position that has the move.
    pub index: u32,
    /// What the move gains: the opposite of the score behind it.
    pub outcome: i8,
}

impl Update {
    /// The update as it travels.
    pub fn to_bytes(self) -> [u8; UPDATE_BYTES] {
        let [a, b, c, d] = self.index.to_le_bytes();
        [a, b, c, d, self.outcome as u8]
    }

    /// The update of these bytes.
    pub fn from_bytes(bytes: [u8; UPDATE_BYTES]) -> Update {
        let [a, b, c, d, outcome] = bytes;
        Update { index: u32::from_le_bytes([a, b, c, d]), outcome: outcome as i8 }
    }
}

/// The positions of one member in the database of some number of stones: three bytes each.
#[derive(Clone, Debug)]
pub struct Part {
    stones: usize,
    share: Share,
    scores: Vec<i8>,
    /// The best outcome of the moves that are decided.
    best: Vec<i8>,
    /// Moves without a capture whose outcome is not known yet.
    open: Vec<u8>,
}

impl Part {
    /// Undecided positions. `stones` is one more than the finished databases have.
    pub fn new(stones: usize, share: Share) -> Part {
        let count = share.len();
        let scores = vec![UNKNOWN; count];
        Part { stones, share, scores, best: vec![UNKNOWN; count], open: vec![0; count] }
    }

    /// Which positions are in it.
    pub fn share(&self) -> Share {
        self.share
    }

    /// The scores, of which undecided ones mean nothing until [`Part::finish`].
    pub fn scores(&self) -> &[i8] {
        &self.scores
    }

    /// Looks at the moves of the local positions `range`: those with a capture are decided by
    /// smaller databases, the others are open. Returns the operations done.
    pub fn initialize(&mut self, done: &Databases, range: std::ops::Range<usize>) -> u64 {
        let mut operations = 0;
        for local in range.start..range.end.min(self.scores.len()) {
            let board = Board::of_index(self.stones, self.share.index(local));
            operations += 1;
            if board.is_over() {
                self.best[local] = -(self.stones as i8);
                continue;
            }
            for made in board.moves().iter().flatten() {
                operations += 1;
                if made.captured == 0 {
                    self.open[local] += 1;
                } else if let Some(outcome) = done.outcome(made) {
                    self.best[local] = self.best[local].max(outcome);
                }
            }
        }
        operations
    }

    /// Decides the local positions `range` that have a score of ±`level` without news from others,
    /// and sends what follows. Levels go from the number of stones down to 1. Returns the
    /// operations done.
    pub fn decide(
        &mut self,
        level: i8,
        range: std::ops::Range<usize>,
        send: &mut impl FnMut(Update),
    ) -> u64 {
        let mut operations = 0;
        for local in range.start..range.end.min(self.scores.len()) {
            operations += self.settle(local, level, send);
        }
        operations
    }

    /// Applies an update to a position of this share, at the level of its outcome, and sends what
    /// follows. Returns the operations done; none for a position of another member.
    pub fn apply(&mut self, update: Update, send: &mut impl FnMut(Update)) -> u64 {
        let Some(local) = self.share.local(u64::from(update.index)) else { return 0 };
        if self.scores[local] != UNKNOWN {
            return 1;
        }
        self.open[local] = self.open[local].saturating_sub(1);
        self.best[local] = self.best[local].max(update.outcome);
        1 + self.settle(local, update.outcome.saturating_abs(), send)
    }

    /// Decides a position if this level decides it, and tells the positions before it.
    fn settle(&mut self, local: usize, level: i8, send: &mut impl FnMut(Update)) -> u64 {
        let best = self.best[local];
        let is_won = best == level;
        let is_lost = best == -level && self.open[local] == 0;
        if self.scores[local] != UNKNOWN || !(is_won || is_lost) {
            return 0;
        }
        self.scores[local] = best;
        let board = Board::of_index(self.stones, self.share.index(local));
        let mut operations = 1;
        board.unmoves(|before| {
            operations += 1;
            send(Update { index: before.index() as u32, outcome: -best });
        });
        operations
    }

    /// Gives all undecided positions the score 0, after the last level: no move of theirs gains
    /// more, and they have one that gains as much, or play without end.
    pub fn finish(&mut self) {
        for score in &mut self.scores {
            if *score == UNKNOWN {
                *score = 0;
            }
        }
    }

    /// How many positions of the part have which score.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::new(self.stones);
        counts.count(&self.scores);
        counts
    }

    /// Whether a share of these positions fits the index of an update.
    pub(super) fn fits(stones: usize) -> bool {
        u32::try_from(positions(stones)).is_ok()
    }
}
