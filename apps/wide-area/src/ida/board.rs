//! Boards of the 15-puzzle: how they are written, and which of them can be solved.

use crate::input::{InputError, Source, Word};

/// Squares of a board.
pub const SQUARES: usize = 16;

/// Moves that the hardest board needs (Brüngger et al. 1999).
pub const MOVES_MAX: u32 = 80;

/// A board that can be solved: the tile on each square, row by row, 0 for the blank. In the goal,
/// tile `t` is on square `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    tiles: [u8; SQUARES],
}

impl Board {
    /// The board that every search looks for.
    pub const GOAL: Board = Board { tiles: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };

    /// Reads 16 words, each tile from 0 to 15 once.
    ///
    /// # Errors
    /// A wrong number of words, a tile that is no number, too large or there twice, and a board
    /// that no moves lead to the goal.
    pub fn read(source: &Source<'_>, words: &[Word<'_>]) -> Result<Board, InputError> {
        if words.len() != SQUARES {
            return Err(wrong_count(source, words));
        }
        let mut tiles = [0; SQUARES];
        let mut seen = [false; SQUARES];
        for (tile, word) in tiles.iter_mut().zip(words) {
            let number = word.text.parse().ok().filter(|tile| usize::from(*tile) < SQUARES);
            *tile = number.ok_or_else(|| no_tile(source, word))?;
            if std::mem::replace(&mut seen[usize::from(*tile)], true) {
                let problem = format!("tile {tile} is there twice; write each of 0 to 15 once");
                return Err(source.error_at(word, problem));
            }
        }
        let board = Board { tiles };
        if board.is_solvable() {
            return Ok(board);
        }
        let problem = "no moves lead from this board to the goal 0 1 2 … 15: its order is odd; \
            swap two of its tiles, or check them";
        Err(source.error_at(&words[0], problem))
    }

    /// Reads a board from one text, such as the arguments of a command.
    ///
    /// # Errors
    /// As [`Board::read`].
    pub fn parse(source: &Source<'_>) -> Result<Board, InputError> {
        source.check_size(1 << 12)?;
        let words: Vec<Word<'_>> = source.words().collect();
        Board::read(source, &words)
    }

    /// The board whose tiles are packed by two, the earlier in the low half
    pub(super) fn from_nibbles(bytes: &[u8]) -> Option<Board> {
        let mut tiles = [0; SQUARES];
        let mut seen = 0u16;
        for (square, tile) in tiles.iter_mut().enumerate() {
            *tile = (bytes.get(square / 2)? >> (4 * (square % 2))) & 15;
            seen |= 1 << *tile;
        }
        let board = Board { tiles };
        (seen == u16::MAX && board.is_solvable()).then_some(board)
    }

    /// The tile on each square.
    pub fn tiles(&self) -> &[u8; SQUARES] {
        &self.tiles
    }

    /// The square of the blank.
    pub fn blank(&self) -> u8 {
        self.tiles.iter().position(|tile| *tile == 0).unwrap_or(0) as u8
    }

    /// Each move swaps two tiles and takes the blank one square on: the parity of the permutation
    /// and of the blank's way to its corner change together.
    fn is_solvable(&self) -> bool {
        let mut seen = [false; SQUARES];
        let mut swaps = 0;
        for start in 0..SQUARES {
            let mut square = start;
            while !std::mem::replace(&mut seen[square], true) {
                square = usize::from(self.tiles[square]);
                swaps += usize::from(square != start);
            }
        }
        let blank = usize::from(self.blank());
        (swaps + blank / 4 + blank % 4).is_multiple_of(2)
    }
}

fn wrong_count(source: &Source<'_>, words: &[Word<'_>]) -> InputError {
    let found = words.len();
    let problem = format!("a board has 16 tiles, here are {found}; write 0 to 15, 0 is the blank");
    match words.get(SQUARES).or(words.last()) {
        Some(word) => source.error_at(word, problem),
        None => source.error(1, 1, problem),
    }
}

fn no_tile(source: &Source<'_>, word: &Word<'_>) -> InputError {
    source.error_at(word, format!("`{}` is no tile; a tile is a number from 0 to 15", word.text))
}
