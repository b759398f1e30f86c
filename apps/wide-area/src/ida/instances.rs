//! Lists of boards with known answers: the columns of Korf's table (Artificial Intelligence 27,
//! 1985, table 1).

use super::board::{Board, SQUARES};
use crate::input::{InputError, Source, Word, words_of_line};

/// Instances that a list may have.
pub const INSTANCES_MAX: usize = 10_000;

/// Bytes that a list may have.
const BYTES_MAX: usize = 1 << 20;

/// Columns in front of the tiles.
const COLUMNS: usize = 5;

/// One line of a list: a board and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its number in the list.
    pub number: u32,
    /// The Manhattan distance of the board.
    pub distance: u32,
    /// Moves of a shortest solution.
    pub moves: u32,
    /// Nodes to the first solution, as published.
    pub published: u64,
    /// The same, computed again.
    pub recomputed: u64,
    /// The board.
    pub board: Board,
}

/// Reads a list: a line per board with number, Manhattan distance, optimal moves, two counts of
/// nodes, and 16 tiles. Lines that begin with `#` are comments.
///
/// # Errors
/// The first column that is missing or no number, and what [`Board::read`] refuses.
pub fn read_instances(source: &Source<'_>) -> Result<Vec<Instance>, InputError> {
    source.check_size(BYTES_MAX)?;
    let mut instances = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if instances.len() == INSTANCES_MAX {
            let problem = format!("more than {INSTANCES_MAX} instances; split the list");
            return Err(source.error(index + 1, 1, problem));
        }
        let words: Vec<Word<'_>> = words_of_line(line, index + 1).collect();
        instances.push(read_line(source, &words, index + 1)?);
    }
    Ok(instances)
}

fn read_line(source: &Source<'_>, words: &[Word<'_>], line: usize) -> Result<Instance, InputError> {
    if words.len() != COLUMNS + SQUARES {
        let found = words.len();
        let problem = format!(
            "{found} columns, 21 expected: number, distance, moves, two counts of nodes, 16 tiles"
        );
        let column = words.get(COLUMNS + SQUARES).or(words.last()).map_or(1, |word| word.column);
        return Err(source.error(line, column, problem));
    }
    Ok(Instance {
        number: number(source, &words[0])?,
        distance: number(source, &words[1])?,
        moves: number(source, &words[2])?,
        published: number(source, &words[3])?,
        recomputed: number(source, &words[4])?,
        board: Board::read(source, &words[COLUMNS..])?,
    })
}

fn number<T: std::str::FromStr>(source: &Source<'_>, word: &Word<'_>) -> Result<T, InputError> {
    let problem = || format!("`{}` is no whole number; write digits alone", word.text);
    word.text.parse().map_err(|_| source.error_at(word, problem()))
}
