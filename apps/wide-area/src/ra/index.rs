//! The numbers of positions: a combinatorial index without gaps, with an exact inverse.
//!
//! Positions of n stones are ordered as words: by the first pit, then the second, and so on.

use super::board::{Board, PITS};

/// Stones of a whole game, and the most that an index has.
pub const STONES_MAX: usize = 48;

/// `WAYS[p][s]`: ways to put `s` stones into `p` pits.
static WAYS: [[u64; STONES_MAX + 1]; PITS + 1] = ways();

const fn ways() -> [[u64; STONES_MAX + 1]; PITS + 1] {
    let mut all = [[0; STONES_MAX + 1]; PITS + 1];
    all[0][0] = 1;
    let mut pits = 1;
    while pits <= PITS {
        let mut stones = 0;
        while stones <= STONES_MAX {
            // The first pit is empty, or it has one stone more than in a way with one stone less.
            let fewer = if stones == 0 { 0 } else { all[pits][stones - 1] };
            all[pits][stones] = all[pits - 1][stones] + fewer;
            stones += 1;
        }
        pits += 1;
    }
    all
}

/// Positions of exactly `stones` stones; none of more than [`STONES_MAX`].
pub fn positions(stones: usize) -> u64 {
    WAYS[PITS].get(stones).copied().unwrap_or(0)
}

/// Positions of exactly `stones` stones that a game from 48 stones can come to: the opponent has
/// just emptied one of his pits, and the first capture takes two stones at least. The start counts
/// too. Romein and Bal (2003) count 889,063,398,406 of them in all.
pub fn game_positions(stones: usize) -> u64 {
    let full = if stones < PITS / 2 { 0 } else { positions(stones - PITS / 2) };
    match stones {
        47 => 0,
        STONES_MAX => positions(stones) - full + 1,
        _ => positions(stones) - full,
    }
}

/// Positions of at most `stones` stones.
pub fn positions_up_to(stones: usize) -> u64 {
    (0..=stones).map(positions).sum()
}

impl Board {
    /// The number of this position among those with as many stones, from 0.
    pub fn index(&self) -> u64 {
        let mut stones = self.stones();
        let mut index = 0;
        for (pit, here) in self.pits().iter().enumerate() {
            let behind = stones - usize::from(*here);
            // All words that have fewer stones here.
            let ways = &WAYS[PITS - pit];
            index += ways[stones] - ways[behind];
            stones = behind;
        }
        index
    }

    /// The position of that number; the last one if the number is too large.
    pub fn of_index(stones: usize, index: u64) -> Board {
        let mut left = stones.min(STONES_MAX);
        let mut rest = index;
        let mut pits = [0; PITS];
        for (pit, here) in pits.iter_mut().enumerate() {
            let ways_behind = &WAYS[PITS - pit - 1];
            while left > 0 && rest >= ways_behind[left] {
                rest -= ways_behind[left];
                left -= 1;
                *here += 1;
            }
        }
        Board::of_pits(pits)
    }
}
