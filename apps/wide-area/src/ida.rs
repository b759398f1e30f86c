//! IDA* on the 15-puzzle: all solutions at the optimal depth (wide-area paper, section 4.6).
//!
//! A search under one bound visits every board whose moves made plus Manhattan distance are within
//! the bound; no move takes back the one before it. A *node* is such a visited board, the root
//! included. [`split`] counts the nodes above its jobs and [`search()`] counts a job's own root and
//! all below it, so that sums do not depend on where the tree was cut.
//!
//! A member's text: the bound starts at [`Job::lower_bound`]; jobs come from [`split`]; members
//! [`search()`] them and add their [`Tally`]s; without a solution the bound becomes `next_bound`.

mod board;
mod instances;
mod search;

pub use board::{Board, MOVES_MAX, SQUARES};
pub use instances::{INSTANCES_MAX, Instance, read_instances};
pub use search::{JOB_BYTES, Job, Solved, Tally, search, solve, solve_in_jobs, split};
