//! Runs of wide-area programs: the members' processes on this host, in virtual time, and the report
//! (spec/wide-area.md, sections 1 and 10).

mod found;
mod members;
mod report;
mod run;

pub use found::find_platform;
pub use report::Report;
pub use run::{Run, Tiers};
