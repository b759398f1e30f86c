//! Which server a call runs on, and which call a server runs next (spec/placement.md).
//!
//! Pure: reports of servers, questions and outcomes of calls go in by `handle_*`, with the time;
//! grants and predictions come out. The metaserver, the simulator and the tests use the same code.

mod demand;
mod forecast;
mod learned;
mod limits;
mod member;
mod members;
mod offers;
mod pair_hash;
mod paths;
mod placement;
pub mod policy;
pub mod queue;
mod run_times;
mod threads;

pub use demand::Demand;
pub use forecast::Forecast;
pub use learned::{HEADING, Lesson, read_lessons};
pub use limits::Limits;
pub use member::{Hot, Member, Presence, Report};
pub use paths::{Direction, Paths, Transfer, TransferTime, Ways};
pub use placement::{Candidate, Grant, Granted, News, Outcome, Placement, Question, Run, Sent};
pub use run_times::{RunTime, RunTimes, Work};
pub use threads::{Crowding, threads_for};

/// The hash of an interface's contract (spec/idl.md, section 7).
pub type Contract = [u8; 32];

/// A server, as one placement numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// Hosts that share a fast network, as one placement numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// One answer of one placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantId(pub u64);
