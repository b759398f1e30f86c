//! The processor time of one call, and of loading a module, which may take as much.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The largest limit: Linux counts it as nanoseconds of 64 bits, where a larger one wraps around to
/// a small one.
const LIMIT_SECONDS_MAX: u64 = u64::MAX / 1_000_000_000;

/// Lets this process use so much more processor time than it has used; then the system ends it by
/// SIGXCPU. Costs nothing where the module has no such limit, and two system calls where it has.
pub(crate) fn begin_call() {
    let Some(seconds) = seconds_max() else { return };
    let used = clock_gettime(ClockId::ProcessCPUTime);
    // The system counts in whole seconds: a call gets what it began of one on top.
    let limit = limit_seconds(u64::try_from(used.tv_sec).unwrap_or(0), seconds);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let _ = setrlimit(
        Resource::Cpu,
        Rlimit { current: Some(maximum.map_or(limit, |most| most.min(limit))), maximum },
    );
}

/// The limit of a process that has used `used` whole seconds and may use `more`.
fn limit_seconds(used: u64, more: u64) -> u64 {
    used.saturating_add(1).saturating_add(more).min(LIMIT_SECONDS_MAX)
}

/// This process runs no call any more and loads nothing: what it does is ours, and takes no time to
/// speak of.
pub(crate) fn end_call() {
    if seconds_max().is_some() {
        let maximum = getrlimit(Resource::Cpu).maximum;
        let _ = setrlimit(Resource::Cpu, Rlimit { current: maximum, maximum });
    }
}

/// Whether a call's time is limited: then it leaves no process to go on.
pub(crate) fn are_bounded() -> bool {
    super::rules().is_ok_and(|rules| {
        rules.processor_seconds_max.is_some() || rules.call_seconds_max.is_some()
    })
}

fn seconds_max() -> Option<u64> {
    super::rules().ok().and_then(|rules| rules.processor_seconds_max)
}

#[cfg(test)]
mod tests {
    use super::{LIMIT_SECONDS_MAX, limit_seconds};

    #[test]
    fn no_limit_is_so_large_that_the_system_takes_it_for_a_small_one() {
        assert_eq!(limit_seconds(2, 10), 13);
        let large = [u64::MAX, i64::MAX as u64, 1 << 62, LIMIT_SECONDS_MAX + 1, LIMIT_SECONDS_MAX];
        for more in large {
            assert!(limit_seconds(0, more).checked_mul(1_000_000_000).is_some(), "{more}");
        }
    }
}
