//! Test patterns for combinational circuits (wide-area paper, section 4.4): which stuck-at faults
//! can be tested, by which patterns, and which are redundant.
//!
//! Gates are split over members. A gate *owns* the classes of equivalent faults whose last member
//! is at it, and is treated for itself: random patterns, 64 at a time; then PODEM (Goel 1981) for
//! each fault that is left; then, where PODEM gives up, a search with learned clauses (Larrabee
//! 1992), which proves what is redundant. So no figure depends on how gates are split, and figures
//! of parts add up.
//!
//! A member's text: [`Generator::run`] on its gates, and a sum of [`Statistics`]. Counted
//! operations: gates evaluated, each for one word of patterns, and clauses visited.

mod bench;
mod circuit;
mod cone;
mod encode;
mod fault;
mod generate;
mod guide;
mod order;
mod podem;
mod reduce;
mod simulate;
mod solver;

pub use circuit::{Circuit, Kind};
pub use fault::{Fault, FaultList, Place};
pub use generate::{Effort, Generator, Statistics, solve};
pub use reduce::{Reduced, reduce};
pub use simulate::Simulator;
