//! The traveling salesman's problem by branch and bound (wide-area paper, section 4.2).
//!
//! A job is a prefix: the first cities of a tour, which begins at city 0. [`prefixes`] makes all of
//! a depth, and a [`Searcher`] searches the paths that begin with one. A *node* is a path that was
//! not pruned, the job's own prefix included. With [`Bound::Fixed`] the nodes of a job depend on
//! nothing but the job, so that sums do not depend on the order of jobs, nor on who searched them.
//!
//! [`Pruning::Length`] is the paper's: a path as long as the bound is given up. It suits random
//! asymmetric tables of about 17 cities. [`Pruning::Remainder`] also counts what the cities ahead
//! cost at least, and about paths that another one makes needless: it solves tables of 20 to 30
//! cities.

mod prefix;
mod remainder;
mod search;
mod seen;
mod table;
mod tsplib;
mod weights;

pub use prefix::{JOBS_MAX, Prefixes, prefixes};
pub use search::{Bound, CITIES_MAX, Found, LOOK_NODES, Pruning, Searcher, Tour};
pub use table::{DISTANCE_MAX, PAPER_BOUND, TABLE_CITIES_MAX, Table};

/// What a sequential run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The shortest tour below the bound, if there is one.
    pub best: Option<Tour>,
    /// Nodes visited.
    pub visited: u64,
}

/// Solves `table` by jobs of `depth` cities, one after the other.
///
/// # Errors
/// More cities than [`CITIES_MAX`], or more jobs than [`JOBS_MAX`].
pub fn solve(
    table: &Table,
    pruning: Pruning,
    bound: Bound,
    depth: usize,
) -> Result<Answer, String> {
    let mut searcher = Searcher::new(table, pruning)?;
    let prefixes = prefixes(table.cities(), depth)?;
    let mut answer = Answer { best: None, visited: prefixes.visited };
    let mut bound = bound;
    for job in &prefixes.jobs {
        let limit = bound.limit();
        let found = searcher.search(job, bound, &mut |_| limit)?;
        answer.visited += found.visited;
        if let Some(tour) = found.best {
            bound.shrink(tour.length);
            let is_better = answer.best.as_ref().is_none_or(|best| tour < *best);
            answer.best = if is_better { Some(tour) } else { answer.best };
        }
    }
    Ok(answer)
}
