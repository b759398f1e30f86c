//! Red/black successive overrelaxation of Laplace's equation (wide-area paper, section 4.8).
//!
//! A [`Problem`] is a grid whose border is fixed. Members own bands of its inner rows: a [`Band`]
//! holds its rows and one more above and below. An iteration updates the red points, then the
//! black ones; before each color a member gives its first and last row to its neighbors, which
//! put them into their bands by [`Band::row_mut`]. The run ends after the iteration whose largest
//! difference, over both colors and all members, is within [`Problem::difference_max`].
//!
//! No value depends on how rows are split: a point's four neighbors have the other color.

mod band;
mod problem;

pub use band::{Band, Color, Swept};
pub use problem::{Borders, ITERATIONS_MAX, Problem};

/// The answer of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Iterations, each of both colors.
    pub iterations: u64,
    /// The largest difference of the last iteration, over both colors: it decided the end.
    pub difference: f64,
    /// The largest difference of the last sweep, which is of black points alone. Older programs
    /// looked at this one.
    pub last_sweep: f64,
    /// The checksum of the whole grid.
    pub checksum: u64,
    /// Points updated.
    pub points: u64,
}

/// Solves `problem` in one band; also returns the band, whose rows are the whole grid.
///
/// # Errors
/// No convergence within [`ITERATIONS_MAX`] iterations.
pub fn solve(problem: &Problem) -> Result<(Answer, Band), String> {
    let mut band = Band::new(problem, problem.inner_rows());
    let mut answer =
        Answer { iterations: 0, difference: 0.0, last_sweep: 0.0, checksum: 0, points: 0 };
    while answer.iterations < ITERATIONS_MAX {
        let red = band.sweep(Color::Red, band.rows());
        let black = band.sweep(Color::Black, band.rows());
        answer.iterations += 1;
        answer.points += red.points + black.points;
        answer.last_sweep = black.difference;
        answer.difference = red.difference.max(black.difference);
        if answer.difference <= problem.difference_max() {
            answer.checksum = band.checksum();
            return Ok((answer, band));
        }
    }
    Err(format!(
        "no convergence within {ITERATIONS_MAX} iterations (last difference {:e}); \
         give a larger tolerance",
        answer.difference
    ))
}
