//! Successive overrelaxation of Laplace's equation on a grid whose rows the members share (wide-area
//! paper, section 4.8).
//!
//! Usage: sor [ROWS COLUMNS [TOLERANCE]]; without arguments the paper's grid, 3500 x 900, 0.0002.

use std::process::ExitCode;

use farcall_wide::{Error, ErrorKind, Fold, Freshness, Member, Result};
use farcall_wide_area::sor::{Band, Borders, Color, ITERATIONS_MAX, Problem};
use farcall_wide_area::split::part;

fn main() -> ExitCode {
    farcall_wide::main(program)
}

fn program(me: &Member) -> Result<()> {
    let problem = problem(std::env::args().skip(1).collect())?;
    let inner = problem.inner_rows();
    let own = part(inner.len(), me.members() as usize, me.rank() as usize);
    if own.is_empty() {
        return Err(wrong("there are more members than rows").with("rows", inner.len()));
    }
    let mut band = Band::new(&problem, own.start + 1..own.end + 1);
    let rows = band.rows();
    let [first, last] = [rows.start, rows.end - 1];
    // Across sites, rows of two iterations ago will do: the answer needs some more iterations.
    let mut sweeps = [
        (Color::Red, me.halo("rows before red", problem.columns(), Freshness::AtMost(2))?),
        (Color::Black, me.halo("rows before black", problem.columns(), Freshness::AtMost(2))?),
    ];
    for iteration in 1..=ITERATIONS_MAX {
        // Of both colors, which decides the end, and of the last color alone.
        let mut differences = [0.0f64; 2];
        for (color, halo) in &mut sweeps {
            halo.post(row(&band, first), row(&band, last))?;
            let inside = band.sweep(*color, first + 1..last);
            me.work("sor", inside.points)?;
            let beside = halo.wait()?;
            for (row, at) in [(beside.above, first - 1), (beside.below, last + 1)] {
                if let (Some(row), Some(place)) = (row, band.row_mut(at)) {
                    place.copy_from_slice(&row);
                }
            }
            let mut swept = [inside, band.sweep(*color, first..first + 1), inside];
            if last > first {
                swept[2] = band.sweep(*color, last..last + 1);
            }
            me.work("sor", swept[1].points + if last > first { swept[2].points } else { 0 })?;
            differences[1] = swept.iter().fold(0.0, |all, one| all.max(one.difference));
            differences[0] = differences[0].max(differences[1]);
        }
        let differences = me.all_reduce(Fold::Max, &differences)?;
        if differences[0] <= problem.difference_max() {
            let checksum = me.all_reduce(Fold::Sum, &[band.checksum()])?[0];
            return me.answer(&format!(
                "{iteration} iterations, last difference {}, checksum {checksum:016x}",
                differences[1]
            ));
        }
    }
    Err(Error::new(ErrorKind::RoutineFailed, "solve", "it does not converge")
        .fix("give a larger tolerance"))
}

fn row(band: &Band, at: usize) -> &[f64] {
    band.row(at).unwrap_or_default()
}

fn problem(arguments: Vec<String>) -> Result<Problem> {
    let number = |at: usize| -> Result<f64> {
        let text = &arguments[at];
        text.parse().map_err(|_| wrong("an argument is not a number").with("argument", text))
    };
    let tolerance = match arguments.len() {
        0 => return Ok(Problem::default()),
        2 => 2e-4,
        3 => number(2)?,
        _ => return Err(wrong("it takes two or three arguments, or none")),
    };
    Problem::new(number(0)? as usize, number(1)? as usize, tolerance, Borders::Paper)
        .map_err(|message| wrong("the grid cannot be so").with("because", message))
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read the arguments", message)
        .fix("sor [ROWS COLUMNS [TOLERANCE]]")
}
