//! The processor time of one call.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Lets this process use so much more processor time than it has used; then the system ends it by SIGXCPU. Costs
/// nothing where the module has no such limit, and two system calls where it has.
pub(crate) fn begin_call() {
    let Some(seconds) = super::rules().ok().and_then(|rules| rules.processor_seconds_max) else { return };
    let used = clock_gettime(ClockId::ProcessCPUTime);
    // The system counts in whole seconds: a call gets what it began of one on top.
    let limit = u64::try_from(used.tv_sec).unwrap_or(0).saturating_add(1).saturating_add(seconds);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let _ = setrlimit(Resource::Cpu, Rlimit { current: Some(maximum.map_or(limit, |most| most.min(limit))), maximum });
}
