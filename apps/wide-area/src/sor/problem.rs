//! The grid, its border, and when a run ends.

use std::f64::consts::PI;
use std::ops::Range;

/// Iterations after which a run gives up.
pub const ITERATIONS_MAX: u64 = 10_000_000;

/// Rows or columns that a grid has at least and at most.
const SIDE: [usize; 2] = [3, 1 << 20];
/// Points that a grid may have: 2 GiB of them.
const POINTS_MAX: usize = 1 << 28;
/// The tolerances for which a run ends, in the unit of the grid's values.
const TOLERANCES: [f64; 2] = [1e-13, 1e3];
/// The paper's program multiplies the optimal omega by this.
const PAPER_FACTOR: f64 = 0.8;

/// What stands on the border of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borders {
    /// The paper's program: 4.56 above, 9.85 below, 7.32 left, 6.88 right; omega is 0.8 times the
    /// optimum. It stops far from the solution of Laplace's equation.
    Paper,
    /// u = sin(pi x) sinh(pi y) / sinh(pi Y): x runs from 0 to 1 over the columns, y from 0 to Y
    /// over the rows with the same distance. Omega is the optimum.
    Analytic,
}

/// A grid of `rows` x `columns` points, border included, and the tolerance of its solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    rows: usize,
    columns: usize,
    tolerance: f64,
    borders: Borders,
}

impl Default for Problem {
    /// The paper's: 3500 x 900 points, tolerance 0.0002, 52 iterations.
    fn default() -> Self {
        Problem { rows: 3500, columns: 900, tolerance: 2e-4, borders: Borders::Paper }
    }
}

impl Problem {
    /// A grid of `rows` x `columns` points, border included.
    ///
    /// # Errors
    /// Fewer than three rows or columns, more points than 2^28, or a tolerance outside 1e-13 to
    /// 1000.
    pub fn new(
        rows: usize,
        columns: usize,
        tolerance: f64,
        borders: Borders,
    ) -> Result<Problem, String> {
        for (name, side) in [("rows", rows), ("columns", columns)] {
            if side < SIDE[0] || side > SIDE[1] {
                return Err(format!("a grid of {side} {name}; give {} to {}", SIDE[0], SIDE[1]));
            }
        }
        if rows * columns > POINTS_MAX {
            let points = rows * columns;
            return Err(format!(
                "a grid of {rows} x {columns} has {points} points, {POINTS_MAX} at most; \
                 give fewer rows or columns"
            ));
        }
        if !(TOLERANCES[0]..=TOLERANCES[1]).contains(&tolerance) {
            let [least, most] = TOLERANCES;
            return Err(format!("a tolerance of {tolerance:e}; give {least:e} to {most:e}"));
        }
        Ok(Problem { rows, columns, tolerance, borders })
    }

    /// Rows, border included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, border included.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows that are updated: all but the first and the last.
    pub fn inner_rows(&self) -> Range<usize> {
        1..self.rows - 1
    }

    /// The factor of overrelaxation.
    pub fn omega(&self) -> f64 {
        match self.borders {
            Borders::Paper => self.omega_optimal() * PAPER_FACTOR,
            Borders::Analytic => self.omega_optimal(),
        }
    }

    /// A run ends when no point changed by more than this, before overrelaxation.
    pub fn difference_max(&self) -> f64 {
        self.tolerance / (2.0 - self.omega_optimal())
    }

    /// The optimum of Laplace's equation on this grid (Young).
    fn omega_optimal(&self) -> f64 {
        let radius = 0.5 * ((PI / self.columns as f64).cos() + (PI / self.rows as f64).cos());
        2.0 / (1.0 + (1.0 - radius * radius).sqrt())
    }

    /// What a point has at the start: its value if it is on the border, else 0.
    pub(super) fn start(&self, row: usize, column: usize) -> f64 {
        let is_inside = self.inner_rows().contains(&row) && (1..self.columns - 1).contains(&column);
        match self.borders {
            _ if is_inside => 0.0,
            Borders::Paper if row == 0 => 4.56,
            Borders::Paper if row == self.rows - 1 => 9.85,
            Borders::Paper if column == 0 => 7.32,
            Borders::Paper => 6.88,
            Borders::Analytic => self.analytic(row, column),
        }
    }

    /// The solution of [`Borders::Analytic`] at a point. Written by exponentials that do not
    /// overflow on a high grid.
    pub fn analytic(&self, row: usize, column: usize) -> f64 {
        let step = 1.0 / (self.columns - 1) as f64;
        let x = column as f64 * step;
        let y = row as f64 * step;
        let height = (self.rows - 1) as f64 * step;
        let falls = (PI * (y - height)).exp();
        let sine = if column == 0 || column == self.columns - 1 { 0.0 } else { (PI * x).sin() };
        sine * falls * (-2.0 * PI * y).exp_m1() / (-2.0 * PI * height).exp_m1()
    }
}
