//! The reader of Matrix Market files (Boisvert, Pozo, Remington 1996) with whole numbers.

use super::graph::{Graph, VERTICES_MAX, length_most};
use crate::input::{InputError, Source, Word, words_of_line};

/// Characters that a file may have.
const BYTES_MAX: usize = 1 << 29;
/// What the first line must be.
const BANNER: &str =
    "`%%MatrixMarket matrix coordinate|array integer general|symmetric` was expected";

/// Reads a whole file.
pub(super) fn read(source: &Source<'_>) -> Result<Graph, InputError> {
    source.check_size(BYTES_MAX)?;
    let banner = Banner::read(source)?;
    let is_text = |line: &(usize, &str)| !line.1.trim_start().starts_with('%');
    let lines = source.text.lines().enumerate().filter(is_text);
    let words = lines.flat_map(|(index, line)| words_of_line(line, index + 1));
    let mut reader = Reader { source, words };
    let vertices = reader.vertices()?;
    let edges = if banner.is_array {
        reader.array(vertices, banner.is_symmetric)?
    } else {
        reader.coordinates(vertices, banner.is_symmetric)?
    };
    reader.end()?;
    Ok(Graph::of_edges(vertices, edges))
}

struct Banner {
    is_array: bool,
    is_symmetric: bool,
}

impl Banner {
    fn read(source: &Source<'_>) -> Result<Banner, InputError> {
        let line = source.text.lines().next().unwrap_or_default();
        let mut words = words_of_line(line, 1);
        let mut one_of = |allowed: &[&str]| {
            let end = source.error(1, line.chars().count() + 1, format!("here {BANNER}"));
            let word = words.next().ok_or(end)?;
            let found = allowed.iter().position(|name| word.text.eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                let problem = format!("`{}` where {BANNER}; convert the file", word.text);
                source.error_at(&word, problem)
            })
        };
        one_of(&["%%MatrixMarket"])?;
        one_of(&["matrix"])?;
        let is_array = one_of(&["coordinate", "array"])? == 1;
        one_of(&["integer"])?;
        let is_symmetric = one_of(&["general", "symmetric"])? == 1;
        Ok(Banner { is_array, is_symmetric })
    }
}

/// The numbers of a file, without comments.
struct Reader<'a, W> {
    source: &'a Source<'a>,
    words: W,
}

impl<'a, W: Iterator<Item = Word<'a>>> Reader<'a, W> {
    /// A whole number from `least` to `most`, and its word.
    fn number(
        &mut self,
        what: &str,
        [least, most]: [u64; 2],
    ) -> Result<(u64, Word<'a>), InputError> {
        let Some(word) = self.words.next() else {
            let problem = format!("the file ends where {what} was expected; add it");
            return Err(self.source.error_at_byte(self.source.text.len(), problem));
        };
        match word.text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok((number, word)),
            _ => {
                let text = word.text;
                let problem = format!(
                    "`{text}` where {what} was expected, a whole number from {least} to {most}; \
                     mend it"
                );
                Err(self.source.error_at(&word, problem))
            }
        }
    }

    fn vertices(&mut self) -> Result<usize, InputError> {
        let (rows, _) = self.number("the number of rows", [1, VERTICES_MAX as u64])?;
        let what = "the number of columns, as many as rows,";
        self.number(what, [rows, rows])?;
        Ok(rows as usize)
    }

    /// Adds what an entry says to `edges`; a vertex needs no edge to itself.
    fn add(&self, edges: &mut Vec<[u32; 3]>, edge: [u32; 3], is_symmetric: bool) {
        let [from, to, length] = edge;
        if from != to {
            edges.push(edge);
        }
        if from != to && is_symmetric {
            edges.push([to, from, length]);
        }
    }

    fn coordinates(
        &mut self,
        vertices: usize,
        is_symmetric: bool,
    ) -> Result<Vec<[u32; 3]>, InputError> {
        let all = vertices as u64;
        let length_max = length_most(vertices).into();
        let (entries, _) = self.number("the number of entries", [0, all * all])?;
        let mut seen = vec![0_u64; (vertices * vertices).div_ceil(64)];
        let mut edges = Vec::new();
        for _ in 0..entries {
            let (row, word) = self.number("an entry's row", [1, all])?;
            let column_max = if is_symmetric { row } else { all };
            let (column, _) = self.number("an entry's column", [1, column_max])?;
            let (length, _) = self.number("an entry's value", [0, length_max])?;
            let place = ((row - 1) * all + column - 1) as usize;
            let bit = 1 << (place % 64);
            if seen[place / 64] & bit != 0 {
                let problem = format!("row {row}, column {column} stands here again; remove one");
                return Err(self.source.error_at(&word, problem));
            }
            seen[place / 64] |= bit;
            let edge = [row as u32 - 1, column as u32 - 1, length as u32];
            self.add(&mut edges, edge, is_symmetric);
        }
        Ok(edges)
    }

    /// All values, column by column; of a symmetric matrix from the diagonal on.
    fn array(&mut self, vertices: usize, is_symmetric: bool) -> Result<Vec<[u32; 3]>, InputError> {
        let length_max = length_most(vertices).into();
        let mut edges = Vec::new();
        for column in 0..vertices as u32 {
            let first = if is_symmetric { column } else { 0 };
            for row in first..vertices as u32 {
                let (length, _) = self.number("a value", [0, length_max])?;
                self.add(&mut edges, [row, column, length as u32], is_symmetric);
            }
        }
        Ok(edges)
    }

    fn end(&mut self) -> Result<(), InputError> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => {
                let problem = format!("`{}` is more than the file announced; remove it", word.text);
                Err(self.source.error_at(&word, problem))
            }
        }
    }
}
