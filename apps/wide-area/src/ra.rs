//! Retrograde analysis: the end-game databases of awari (wide-area paper, section 4.5).
//!
//! A *score* is what the mover gains against the opponent of the stones on the board, if both play
//! as well as they can; play without end gains nothing. A database holds the scores of all
//! positions of so many stones, by [`Board::index`]. It is computed level by level: first all
//! scores of ±n, then ±(n-1), and so on. Within a level, each position that is decided sends its
//! outcome to the positions before it, as [`Update`]s in any order; a level ends when none is left.
//!
//! A member's text, for each number of stones: [`Part::new`] and [`Part::initialize`]; for each
//! level from n to 1, [`Part::decide`] on its own positions and [`Part::apply`] on arriving
//! updates, until all are quiet; [`Part::finish`]; then parts go to all, who put them into their
//! [`Databases`]. Counted operations: positions initialized or decided, moves made or unmade, and
//! updates applied.

mod board;
mod database;
mod index;
mod part;
mod solve;

pub use board::{Board, MOVES, Move, PITS};
pub use database::{Counts, Databases};
pub use index::{STONES_MAX, game_positions, positions, positions_up_to};
pub use part::{Part, Share, UPDATE_BYTES, Update};
pub use solve::{Computed, compute, compute_in_parts, move_scores};
