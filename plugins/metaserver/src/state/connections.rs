//! What belongs to open connections, and ends with them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{ConnectionId, Instant};
use farcall_placement::GrantId;
use farcall_wire::RanCall;

/// Those that are told of calls; others are told how the servers are.
pub const READERS_MAX: usize = 64;
/// Time without a question after which somebody asks no more.
pub const READS_FOR: Duration = Duration::from_secs(30);

/// All of it.
#[derive(Debug, Default)]
pub struct Connections {
    /// Whose grants are whose.
    pub owners: BTreeSet<(ConnectionId, GrantId)>,
    /// Who asks now and then how all servers are.
    pub readers: BTreeMap<ConnectionId, Reader>,
}

/// One who asks now and then.
#[derive(Debug, Default)]
pub struct Reader {
    /// When it asked last.
    pub at: Instant,
    /// Calls that ran since, each with its module.
    pub runs: Vec<(String, RanCall)>,
}
