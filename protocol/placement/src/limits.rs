//! What bounds the tables, and the times after which something counts no more.

use std::time::Duration;

/// Limits of a [`crate::Placement`]; each has a setting of the same name.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Servers that are known at a time.
    pub members_max: usize,
    /// Routines whose times are known.
    pub routines_max: usize,
    /// Pairs of sites whose paths are known.
    pub paths_max: usize,
    /// Grants whose outcome is not known yet.
    pub grants_max: usize,
    /// Servers in one grant.
    pub servers_in_grant: usize,
    /// The same where many calls of a kind are split over them.
    pub servers_in_share: usize,
    /// Silence after which a server is suspect: others come first.
    pub suspect_after: Duration,
    /// Silence after which it is gone.
    pub gone_after: Duration,
    /// Time in which a granted call must be seen to begin; after it the grant counts no more.
    pub grant_unused: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            members_max: 16_384,
            routines_max: 4_096,
            paths_max: 65_536,
            grants_max: 65_536,
            servers_in_grant: 4,
            servers_in_share: 64,
            suspect_after: Duration::from_secs(5),
            gone_after: Duration::from_secs(20),
            grant_unused: Duration::from_secs(5),
        }
    }
}
