//! A member's rows, and the sweep of one color over some of them.

use std::ops::Range;

use super::Problem;
use crate::checksum;

/// The two sets of points: neighbors of a point have the other color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Points whose row and column have an odd sum. They come first in an iteration.
    Red,
    /// The others.
    Black,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// The largest difference between a point and the mean of its neighbors.
    pub difference: f64,
    /// Points updated: the counted operations.
    pub points: u64,
}

/// The rows of one member and the row above and below them.
#[derive(Clone, Debug)]
pub struct Band {
    problem: Problem,
    omega: f64,
    rows: Range<usize>,
    cells: Vec<f64>,
}

impl Band {
    /// The band of `rows`, cut to the inner rows of the grid, at the start.
    pub fn new(problem: &Problem, rows: Range<usize>) -> Band {
        let inner = problem.inner_rows();
        let start = rows.start.clamp(inner.start, inner.end);
        let rows = start..rows.end.clamp(start, inner.end);
        let columns = problem.columns();
        let row = |row| (0..columns).map(move |column| problem.start(row, column));
        let cells = (rows.start - 1..rows.end + 1).flat_map(row).collect();
        Band { problem: *problem, omega: problem.omega(), rows, cells }
    }

    /// The rows that this member updates.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The points of a row of the grid; `None` unless it is one of [`Band::rows`] or the row above
    /// or below them.
    pub fn row(&self, row: usize) -> Option<&[f64]> {
        let at = self.place(row)?;
        self.cells.get(at)
    }

    /// The same, to put a neighbor's row there.
    pub fn row_mut(&mut self, row: usize) -> Option<&mut [f64]> {
        let at = self.place(row)?;
        self.cells.get_mut(at)
    }

    fn place(&self, row: usize) -> Option<Range<usize>> {
        let columns = self.problem.columns();
        let at = (row + 1).checked_sub(self.rows.start)?;
        Some(at * columns..(at + 1) * columns)
    }

    /// Updates the points of `color` in `rows`, cut to the rows of this band.
    pub fn sweep(&mut self, color: Color, rows: Range<usize>) -> Swept {
        let columns = self.problem.columns();
        let rows = rows.start.max(self.rows.start)..rows.end.min(self.rows.end);
        let mut swept = Swept { difference: 0.0, points: 0 };
        for row in rows {
            let at = (row + 1 - self.rows.start) * columns;
            let (above, rest) = self.cells.split_at_mut(at);
            let (middle, below) = rest.split_at_mut(columns);
            let first = 1 + (row + usize::from(color == Color::Black)) % 2;
            let around = Around { above: &above[at - columns..], below: &below[..columns] };
            let difference = update_row(middle, around, first, self.omega);
            swept.difference = swept.difference.max(difference);
            swept.points += (columns - first) as u64 / 2;
        }
        swept
    }

    /// The checksum of this band's rows: the sum of all bands' (wrapping) is that of the inner
    /// grid.
    pub fn checksum(&self) -> u64 {
        let words = |row| self.row(row).unwrap_or_default().iter().map(|value| value.to_bits());
        let sums = self.rows().map(|row| checksum::of_row(row, words(row)));
        sums.fold(0, u64::wrapping_add)
    }
}

/// The rows above and below the one that is updated.
#[derive(Clone, Copy)]
struct Around<'a> {
    above: &'a [f64],
    below: &'a [f64],
}

/// Updates every other point from column `first` on, and returns the largest difference.
///
/// Each pair of columns is a point and its right neighbor, which is the next point's left one. Two
/// points are updated at once, each with a maximum of its own: one maximum would be waited for.
fn update_row(row: &mut [f64], around: Around<'_>, first: usize, omega: f64) -> f64 {
    let mut left = row[first - 1];
    let mut largest = [0.0; 2];
    let mut points = row[first..].chunks_exact_mut(4);
    let mut above = around.above[first..].chunks_exact(4);
    let mut below = around.below[first..].chunks_exact(4);
    for ((four, above), below) in points.by_ref().zip(above.by_ref()).zip(below.by_ref()) {
        let sums = [above[0] + below[0] + left + four[1], above[2] + below[2] + four[1] + four[3]];
        let differences = [sums[0] * 0.25 - four[0], sums[1] * 0.25 - four[2]];
        four[0] += omega * differences[0];
        four[2] += omega * differences[1];
        largest = [larger(differences[0], largest[0]), larger(differences[1], largest[1])];
        left = four[3];
    }
    if let ([point, right, ..], [above, ..], [below, ..]) =
        (points.into_remainder(), above.remainder(), below.remainder())
    {
        let difference = (above + below + left + *right) * 0.25 - *point;
        *point += omega * difference;
        largest[0] = larger(difference, largest[0]);
    }
    if largest[1] > largest[0] { largest[1] } else { largest[0] }
}

/// The larger of the amount of `difference` and the largest so far: one instruction.
fn larger(difference: f64, largest: f64) -> f64 {
    let amount = difference.abs();
    if amount > largest { amount } else { largest }
}
