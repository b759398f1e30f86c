//! What is asked, and what each server would answer.

use crate::run_times::Work;
use crate::{Contract, MemberId, SiteId};

/// A call that wants a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The routine, by the hash of its contract.
    pub contract: Contract,
    /// How much it has to do.
    pub work: Work,
    /// Processors that it takes, at least one.
    pub processors: u32,
    /// Bytes of arrays that travel to the server.
    pub bytes_in: f64,
    /// Bytes of arrays that travel back.
    pub bytes_out: f64,
    /// Where the caller is.
    pub site: SiteId,
    /// Seconds that the call has, if it has a limit.
    pub deadline_s: Option<f64>,
    /// Servers that it does not want: they refused it, or could not be reached.
    pub without: Vec<MemberId>,
}

/// What a call would need on one server, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The server.
    pub member: MemberId,
    /// Until it runs, its arguments being there.
    pub wait_s: f64,
    /// Until its arguments are there.
    pub send_s: f64,
    /// While it runs.
    pub run_s: f64,
    /// Until its results are back.
    pub return_s: f64,
    /// By how much the sum may well be wrong.
    pub error_s: f64,
    /// Processes that want a processor there, for each processor.
    pub load: f64,
    /// When the server was chosen last, as a number that grows with each choice.
    pub turn: u64,
}

impl Candidate {
    /// From the call to its results. Waiting and sending overlap: a server's queue becomes shorter
    /// while arguments travel.
    pub fn total_s(&self) -> f64 {
        self.send_s.max(self.wait_s) + self.run_s + self.return_s
    }
}
