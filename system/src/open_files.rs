//! How many files this process may have open: limits on what takes descriptors follow it.

use rustix::process::{Resource, getrlimit};

/// The hard limit, up to which a process may raise its own; `None` where there is none.
pub fn open_files_max() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}
