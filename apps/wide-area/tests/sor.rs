//! SOR against the paper's iterations, two exact solutions, and itself in several bands.

use std::f64::consts::PI;

use farcall_wide_area::sor::{Band, Borders, Color, Problem, solve};
use farcall_wide_area::split;

#[test]
fn the_papers_grid_takes_52_iterations() {
    let (answer, band) = solve(&Problem::default()).unwrap();
    assert_eq!(answer.iterations, 52);
    assert_eq!(answer.points, 52 * 3498 * 898);
    assert_eq!(answer.checksum, band.checksum());
    assert!(answer.last_sweep <= answer.difference);
}

#[test]
#[ignore = "1192 iterations of a million points: run by make soak"]
fn the_published_difference_comes_out_to_the_bit() {
    let problem = Problem::new(1026, 1026, 1e-5, Borders::Paper).unwrap();
    let (answer, _) = solve(&problem).unwrap();
    assert_eq!(answer.iterations, 1192);
    assert_eq!(answer.last_sweep, 0.001637111155603499);
    assert_eq!(answer.difference, 0.001637851090239284);
}

/// Bands of `members`, which exchange rows before each color of iterations that `exchanges` names
/// by the lower member and the iteration. Returns iterations, last difference and checksum.
fn solve_in_bands(
    problem: &Problem,
    members: usize,
    exchanges: impl Fn(usize, u64) -> bool,
) -> (u64, f64, u64) {
    let inner = problem.rows() - 2;
    let rows = (0..members).map(|rank| split::part(inner, members, rank));
    let mut bands: Vec<Band> =
        rows.map(|rows| Band::new(problem, rows.start + 1..rows.end + 1)).collect();
    for iteration in 0.. {
        let mut difference: f64 = 0.0;
        for color in [Color::Red, Color::Black] {
            for lower in (1..members).filter(|lower| exchanges(*lower, iteration)) {
                exchange(&mut bands, lower);
            }
            for band in &mut bands {
                difference = difference.max(sweep_border_first(band, color));
            }
        }
        if difference <= problem.difference_max() {
            let sums = bands.iter().map(Band::checksum);
            return (iteration + 1, difference, sums.fold(0, u64::wrapping_add));
        }
    }
    unreachable!("it ends by the difference")
}

fn exchange(bands: &mut [Band], lower: usize) {
    let border = bands[lower].rows().start;
    let above = bands[lower - 1].row(border - 1).unwrap().to_vec();
    let below = bands[lower].row(border).unwrap().to_vec();
    bands[lower - 1].row_mut(border).unwrap().copy_from_slice(&below);
    bands[lower].row_mut(border - 1).unwrap().copy_from_slice(&above);
}

/// As a member does that sends its border rows while it computes the rest.
fn sweep_border_first(band: &mut Band, color: Color) -> f64 {
    let rows = band.rows();
    let pieces = [rows.start..rows.start + 1, rows.end - 1..rows.end, rows.start + 1..rows.end - 1];
    pieces.into_iter().map(|rows| band.sweep(color, rows).difference).fold(0.0, f64::max)
}

#[test]
fn bands_change_no_bit() {
    let problem = Problem::new(103, 61, 1e-3, Borders::Paper).unwrap();
    let (whole, _) = solve(&problem).unwrap();
    for members in [1, 2, 7, 15] {
        let (iterations, difference, checksum) = solve_in_bands(&problem, members, |_, _| true);
        assert_eq!(iterations, whole.iterations);
        assert_eq!((difference, checksum), (whole.difference, whole.checksum), "{members} bands");
    }
}

#[test]
fn two_of_three_exchanges_dropped_at_three_borders_take_54_iterations() {
    let chaotic = |_, iteration| iteration % 3 == 0;
    let (iterations, _, _) = solve_in_bands(&Problem::default(), 4, chaotic);
    assert_eq!(iterations, 54);
}

/// The solution of the difference equations themselves: cosh a = 2 - cos(pi h).
fn discrete(problem: &Problem, row: usize, column: usize) -> f64 {
    let last = (problem.columns() - 1) as f64;
    let growth = (2.0 - (PI / last).cos()).acosh();
    let rows = (problem.rows() - 1) as f64;
    (PI * column as f64 / last).sin() * (growth * row as f64).sinh() / (growth * rows).sinh()
}

/// The largest distances of the computed grid from the analytic and the discrete solution.
fn errors(rows: usize, columns: usize) -> [f64; 2] {
    let problem = Problem::new(rows, columns, 1e-12, Borders::Analytic).unwrap();
    let (_, band) = solve(&problem).unwrap();
    let mut errors = [0.0_f64; 2];
    for row in problem.inner_rows() {
        for (column, value) in band.row(row).unwrap().iter().enumerate() {
            let exact = [problem.analytic(row, column), discrete(&problem, row, column)];
            errors[0] = errors[0].max((value - exact[0]).abs());
            errors[1] = errors[1].max((value - exact[1]).abs());
        }
    }
    errors
}

#[test]
fn the_error_falls_with_the_square_of_the_step() {
    let [coarse, middle, fine] = [17, 33, 65].map(|side| errors(side, side));
    for (larger, smaller) in [(coarse, middle), (middle, fine)] {
        let ratio = larger[0] / smaller[0];
        assert!((3.9..4.1).contains(&ratio), "{ratio}");
    }
    assert!(fine[0] < 1e-4, "{fine:?}");
}

#[test]
fn the_difference_equations_are_solved() {
    for (rows, columns) in [(17, 17), (65, 65), (20, 41), (90, 31)] {
        let [_, error] = errors(rows, columns);
        assert!(error < 1e-10, "{rows} x {columns}: {error}");
    }
}

#[test]
fn absurd_problems_are_refused() {
    let new = |rows, columns, tolerance| Problem::new(rows, columns, tolerance, Borders::Paper);
    assert_eq!(new(2, 900, 1e-3).unwrap_err(), "a grid of 2 rows; give 3 to 1048576");
    assert!(new(1 << 20, 1 << 20, 1e-3).unwrap_err().contains("give fewer rows or columns"));
    for tolerance in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        assert!(new(9, 9, tolerance).unwrap_err().starts_with("a tolerance of"));
    }
}

#[test]
fn rows_outside_a_band_are_none() {
    let problem = Problem::new(9, 9, 1e-3, Borders::Paper).unwrap();
    let mut band = Band::new(&problem, 3..5);
    assert!(band.row(1).is_none() && band.row(6).is_none());
    assert!(band.row(2).is_some() && band.row_mut(5).is_some());
    assert_eq!(band.sweep(Color::Red, 0..100).points, 7);
    assert!(Band::new(&problem, 50..90).rows().is_empty());
}
