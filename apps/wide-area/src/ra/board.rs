//! The board of awari seen by the mover, its moves, and its moves backwards.

use super::index::STONES_MAX;
use crate::input::{InputError, Source, Word};

/// Pits of the board: 0 to 5 are the mover's, 6 to 11 the opponent's, counter-clockwise.
pub const PITS: usize = 12;

/// Pits of one side, which is how many moves there are at most.
pub const MOVES: usize = 6;

/// A position of at most 48 stones. After a move the board is turned: the mover is at 0 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    pits: [u8; PITS],
}

/// What a move leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Stones captured.
    pub captured: u8,
    /// The board after it, seen by the opponent, who moves next.
    pub after: Board,
}

impl Board {
    /// Reads 12 words: the stones of each pit.
    ///
    /// # Errors
    /// A wrong number of words, one that is no number, and more stones than 48.
    pub fn parse(source: &Source<'_>) -> Result<Board, InputError> {
        source.check_size(1 << 12)?;
        let words: Vec<Word<'_>> = source.words().collect();
        if words.len() != PITS {
            let problem = format!(
                "a board has 12 pits, here are {}; write the stones of each, the mover's first",
                words.len()
            );
            let place = words.get(PITS).or(words.last());
            return Err(match place {
                Some(word) => source.error_at(word, problem),
                None => source.error(1, 1, problem),
            });
        }
        let mut pits = [0; PITS];
        let mut stones = 0;
        for (pit, word) in pits.iter_mut().zip(&words) {
            let number = word.text.parse::<u8>().ok();
            let number = number.filter(|number| usize::from(*number) + stones <= STONES_MAX);
            *pit = number.ok_or_else(|| {
                let problem = format!(
                    "`{}` is no number of stones here; a pit has 0 or more, and all pits have 48 \
                     at most",
                    word.text
                );
                source.error_at(word, problem)
            })?;
            stones += usize::from(*pit);
        }
        Ok(Board { pits })
    }

    pub(super) fn of_pits(pits: [u8; PITS]) -> Board {
        Board { pits }
    }

    /// Stones in each pit.
    pub fn pits(&self) -> &[u8; PITS] {
        &self.pits
    }

    /// Stones on the board.
    pub fn stones(&self) -> usize {
        self.pits.iter().map(|pit| usize::from(*pit)).sum()
    }

    /// Whether the mover has no stones: what is left goes to the opponent.
    pub fn is_over(&self) -> bool {
        self.pits[..MOVES].iter().all(|pit| *pit == 0)
    }

    fn starves(&self) -> bool {
        self.pits[MOVES..].iter().all(|pit| *pit == 0)
    }

    /// The same board seen by the other player.
    fn turned(mut self) -> Board {
        self.pits.rotate_left(MOVES);
        self
    }

    /// The moves from pits 0 to 5; none where a pit is empty or the rules forbid it. A move that
    /// leaves the opponent no stone is forbidden, unless all moves do so.
    pub fn moves(&self) -> [Option<Move>; MOVES] {
        let mut moves = [None; MOVES];
        let mut feeds = false;
        for (pit, made) in moves.iter_mut().enumerate() {
            *made = self.sow(pit);
            feeds |= made.is_some_and(|made| !made.after.is_over());
        }
        if feeds {
            for made in &mut moves {
                *made = made.filter(|made| !made.after.is_over());
            }
        }
        moves
    }

    /// The move from one pit, whether it starves the opponent or not.
    fn sow(&self, pit: usize) -> Option<Move> {
        let mut board = *self;
        let mut hand = std::mem::take(&mut board.pits[pit]);
        if hand == 0 {
            return None;
        }
        let mut last = pit;
        while hand > 0 {
            last = next(last, pit);
            board.pits[last] += 1;
            hand -= 1;
        }
        let mut captured = 0;
        // Backwards from the last stone as long as pits of the opponent have two or three.
        while last >= MOVES && matches!(board.pits[last], 2 | 3) {
            captured += std::mem::take(&mut board.pits[last]);
            last -= 1;
        }
        Some(Move { captured, after: board.turned() })
    }

    /// Hands each position to `found` from which a move without a capture leads to this one, once
    /// for each such move.
    pub fn unmoves(&self, mut found: impl FnMut(Board)) {
        let after = self.turned();
        // The mover before left the opponent no stone: only if all his moves did so.
        let starved = after.starves();
        for pit in 0..MOVES {
            if after.pits[pit] > 0 {
                continue; // a move empties the pit that it begins from
            }
            let mut before = after;
            let mut last = next(pit, pit);
            while before.pits[last] > 0 {
                before.pits[last] -= 1;
                before.pits[pit] += 1;
                let captures = last >= MOVES && matches!(after.pits[last], 2 | 3);
                if !captures && (!starved || before.must_starve()) {
                    found(before);
                }
                last = next(last, pit);
            }
        }
    }

    fn must_starve(&self) -> bool {
        (0..MOVES).all(|pit| self.sow(pit).is_none_or(|made| made.after.is_over()))
    }
}

/// The pit behind `pit` where a stone from `origin` falls: the origin itself is left out.
fn next(pit: usize, origin: usize) -> usize {
    let next = if pit + 1 == PITS { 0 } else { pit + 1 };
    if next != origin {
        next
    } else if next + 1 == PITS {
        0
    } else {
        next + 1
    }
}
