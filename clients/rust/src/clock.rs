//! The clock of this process's connections.

use std::sync::LazyLock;

use farcall_base::{Clock, Instant, SystemClock};

pub static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::new);

/// Now, as pure code has it.
pub fn now() -> Instant {
    CLOCK.now()
}

/// When this moment comes by the standard library's clock; one that is over counts as now.
pub fn until(moment: Instant) -> std::time::Instant {
    std::time::Instant::now() + moment.since(now())
}

/// When this moment was by the standard library's clock.
pub fn since(moment: Instant) -> std::time::Instant {
    let current = std::time::Instant::now();
    current.checked_sub(now().since(moment)).unwrap_or(current)
}
