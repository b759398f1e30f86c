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

use sha2::{Digest, Sha256};

pub use demand::Demand;
pub use forecast::Forecast;
pub use learned::{HEADING, Lesson, read_lessons};
pub use limits::Limits;
pub use member::{Hot, Member, Presence, Report};
pub use paths::{Direction, LearnedPath, Paths, Transfer, TransferTime, Ways};
pub use placement::{Candidate, Grant, Granted, News, Outcome, Placement, Question, Run, Sent};
pub use run_times::{RunTime, RunTimes, Work};
pub use threads::{Crowd, Crowding, threads_for};

/// Names a routine, and nothing that it is not called with: see [`routine_hash`].
pub type Contract = [u8; 32];

/// The hash of a routine's full name and of its interface's contract (spec/idl.md, section 7). That
/// alone is the same for all routines that take the same arguments.
pub fn routine_hash(full_name: &str, contract: &[u8; 32]) -> Contract {
    let hash = Sha256::new().chain_update(contract).chain_update(full_name);
    hash.finalize().into()
}

/// A server, as one placement numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// Hosts that share a fast network, as one placement numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// One answer of one placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantId(pub u64);
