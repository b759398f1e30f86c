//! A member's rows of the matrix, and their relaxation.

use std::ops::Range;

use super::graph::Graph;
use crate::checksum;

/// A distance in two or four bytes; one value means that there is no way.
pub trait Distance: Copy + Ord {
    /// There is no way.
    const UNREACHABLE: Self;

    /// The distance of this length; unreachable if it does not fit.
    fn of_length(length: u32) -> Self;

    /// The length; `None` if there is no way.
    fn length(self) -> Option<u32>;

    /// The way of both, the first of which exists.
    fn and_then(self, further: Self) -> Self;
}

impl Distance for u16 {
    const UNREACHABLE: u16 = u16::MAX;

    fn of_length(length: u32) -> u16 {
        length.try_into().unwrap_or(u16::MAX)
    }

    fn length(self) -> Option<u32> {
        (self != Self::UNREACHABLE).then_some(self.into())
    }

    fn and_then(self, further: u16) -> u16 {
        self.saturating_add(further)
    }
}

impl Distance for u32 {
    /// Twice as much still fits: sums need no check.
    const UNREACHABLE: u32 = u32::MAX / 2;

    fn of_length(length: u32) -> u32 {
        length.min(Self::UNREACHABLE)
    }

    fn length(self) -> Option<u32> {
        (self < Self::UNREACHABLE).then_some(self)
    }

    fn and_then(self, further: u32) -> u32 {
        self.wrapping_add(further)
    }
}

/// What is printed of a matrix. Members' summaries add up to that of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The sum of the rows' checksums (wrapping); the same for two and four bytes.
    pub checksum: u64,
    /// The sum of all distances.
    pub sum: u64,
    /// Pairs of vertices without a way from the first to the second.
    pub unreachable: u64,
}

impl Summary {
    /// Adds another band's.
    pub fn add(&mut self, other: &Summary) {
        self.checksum = self.checksum.wrapping_add(other.checksum);
        self.sum += other.sum;
        self.unreachable += other.unreachable;
    }
}

/// The rows of one member.
#[derive(Clone, Debug)]
pub struct Band<T> {
    vertices: usize,
    rows: Range<usize>,
    cells: Vec<T>,
}

impl<T: Distance> Band<T> {
    /// The band of `rows`, cut to the rows that there are, with the lengths of edges.
    pub fn new(graph: &Graph, rows: Range<usize>) -> Band<T> {
        let vertices = graph.vertices();
        let start = rows.start.min(vertices);
        let rows = start..rows.end.clamp(start, vertices);
        let mut cells = vec![T::UNREACHABLE; rows.len() * vertices];
        for (row, cells) in rows.clone().zip(cells.chunks_exact_mut(vertices)) {
            graph.edges_from(row, &mut |to, length| cells[to] = T::of_length(length));
            cells[row] = T::of_length(0);
        }
        Band { vertices, rows, cells }
    }

    /// The rows of this member.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The distances from a vertex; `None` if another member has them.
    pub fn row(&self, row: usize) -> Option<&[T]> {
        let at = row.checked_sub(self.rows.start)?.checked_mul(self.vertices)?;
        self.cells.get(at..at.checked_add(self.vertices)?)
    }

    /// Copies a row, to be handed to everybody; `false` if another member has it, or the place is
    /// not as long.
    pub fn copy_row(&self, row: usize, into: &mut [T]) -> bool {
        match self.row(row) {
            Some(cells) if cells.len() == into.len() => {
                into.copy_from_slice(cells);
                true
            }
            _ => false,
        }
    }

    /// Tries the way over vertex `step`, whose row is `through`, for `rows`, cut to those of this
    /// band. Returns how many pairs it was tried for: the counted operations. Rows from which
    /// vertex `step` cannot be reached need none.
    pub fn relax(&mut self, step: usize, rows: Range<usize>, through: &[T]) -> u64 {
        if step >= self.vertices {
            return 0;
        }
        let first = rows.start.max(self.rows.start) - self.rows.start;
        let end = rows.end.min(self.rows.end).saturating_sub(self.rows.start);
        let mut relaxed = 0;
        for row in self.cells.chunks_exact_mut(self.vertices).take(end).skip(first) {
            let via = row[step];
            if via < T::UNREACHABLE {
                relax_row(row, via, through);
                relaxed += row.len() as u64;
            }
        }
        relaxed
    }

    /// What this band adds to the answer.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for (row, cells) in self.rows().zip(self.cells.chunks_exact(self.vertices)) {
            let lengths = cells.iter().map(|cell| cell.length());
            let words = lengths.clone().map(|length| length.map_or(u64::MAX, u64::from));
            let reached = lengths.clone().flatten().count();
            summary.add(&Summary {
                checksum: checksum::of_row(row, words),
                sum: lengths.flatten().map(u64::from).sum(),
                unreachable: (cells.len() - reached) as u64,
            });
        }
        summary
    }
}

/// The inner loop: several distances in one instruction.
fn relax_row<T: Distance>(row: &mut [T], via: T, through: &[T]) {
    for (distance, further) in row.iter_mut().zip(through) {
        *distance = via.and_then(*further).min(*distance);
    }
}
