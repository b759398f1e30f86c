//! Runs of wide-area programs: the members' processes on this host, in virtual time, and the report
//! (spec/wide-area.md, sections 1 and 11).

mod found;
mod members;
mod report;
mod run;

pub use found::{find_platform, find_program};
pub use report::Report;
pub use run::{Run, Tiers};
