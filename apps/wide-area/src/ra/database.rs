//! Finished databases, and the counts of what they hold.

use super::board::{Board, Move};
use super::part::{Part, Share};

/// The databases of 0, 1, … stones, which every member has whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Databases {
    scores: Vec<Vec<i8>>,
}

impl Default for Databases {
    /// The database of no stones: one position, which gains nothing.
    fn default() -> Self {
        Databases { scores: vec![vec![0]] }
    }
}

impl Databases {
    /// The most stones of a finished database.
    pub fn stones(&self) -> usize {
        self.scores.len() - 1
    }

    /// The score of a position; none if its database is not there yet.
    pub fn score(&self, board: &Board) -> Option<i8> {
        let scores = self.scores.get(board.stones())?;
        scores.get(usize::try_from(board.index()).ok()?).copied()
    }

    /// What a move gains: the stones captured, and what the opponent does not gain after it.
    pub fn outcome(&self, made: &Move) -> Option<i8> {
        self.score(&made.after).map(|score| made.captured as i8 - score)
    }

    /// Appends the database of one stone more, whose scores other members' parts fill.
    pub fn grow(&mut self) {
        let stones = self.scores.len();
        let positions = super::positions(stones) as usize;
        self.scores.push(vec![0; positions]);
    }

    /// Puts scores of one share into the largest database; those behind its end are left out.
    pub fn put(&mut self, share: Share, scores: &[i8]) {
        let Some(all) = self.scores.last_mut() else { return };
        for (local, score) in scores.iter().enumerate().take(share.len()) {
            if let Some(place) = all.get_mut(share.index(local) as usize) {
                *place = *score;
            }
        }
    }

    /// Puts a finished part of this very member.
    pub fn put_part(&mut self, part: &Part) {
        self.put(part.share(), part.scores());
    }

    /// The scores of `stones` stones by index.
    pub fn scores(&self, stones: usize) -> &[i8] {
        self.scores.get(stones).map_or(&[], Vec::as_slice)
    }
}

/// How many positions have which score. Counts of parts add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    stones: usize,
    by_score: Vec<u64>,
}

impl Counts {
    /// No positions of `stones` stones.
    pub fn new(stones: usize) -> Counts {
        Counts { stones, by_score: vec![0; 2 * stones + 1] }
    }

    /// Counts scores, each from -stones to stones.
    pub fn count(&mut self, scores: &[i8]) {
        for score in scores {
            let place = self.stones as i64 + i64::from(*score);
            if let Some(count) =
                usize::try_from(place).ok().and_then(|at| self.by_score.get_mut(at))
            {
                *count += 1;
            }
        }
    }

    /// Takes the counts of another part of the same database in.
    pub fn add(&mut self, part: &Counts) {
        for (count, more) in self.by_score.iter_mut().zip(&part.by_score) {
            *count += more;
        }
    }

    /// Positions of each score, from -stones to stones.
    pub fn by_score(&self) -> &[u64] {
        &self.by_score
    }

    /// Positions in which the mover gains more than the opponent.
    pub fn wins(&self) -> u64 {
        self.by_score[self.stones + 1..].iter().sum()
    }

    /// Positions in which both gain the same.
    pub fn draws(&self) -> u64 {
        self.by_score[self.stones]
    }

    /// Positions in which the mover gains less.
    pub fn losses(&self) -> u64 {
        self.by_score[..self.stones].iter().sum()
    }

    /// The sum of all scores.
    pub fn sum(&self) -> i64 {
        let scores = -(self.stones as i64)..;
        scores.zip(&self.by_score).map(|(score, count)| score * *count as i64).sum()
    }
}
