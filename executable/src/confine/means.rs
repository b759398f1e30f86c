//! What this kernel has to confine a process with.

use std::sync::OnceLock;

use farcall_services::spawner::rules::{Confinement, Rules};
use seccompiler::TargetArch;

use super::dials;
use super::plan::KernelMeans;

/// Asks for the version instead of a ruleset (linux/landlock.h).
const LANDLOCK_CREATE_RULESET_VERSION: libc::c_ulong = 1;

/// The kernel's means, asked for once in a process, before any filter answers in its place.
pub fn kernel_means() -> KernelMeans {
    static MEANS: OnceLock<KernelMeans> = OnceLock::new();
    *MEANS.get_or_init(|| {
        let means = means_for_modules();
        KernelMeans { listener: means.seccomp && dials::can_listen(), ..means }
    })
}

/// The means that matter for a process with these rules. What a launcher alone needs takes a thread
/// to find out.
pub(super) fn means_for(rules: &Rules) -> KernelMeans {
    if rules.confinement == Confinement::Launcher { kernel_means() } else { means_for_modules() }
}

fn means_for_modules() -> KernelMeans {
    static MEANS: OnceLock<KernelMeans> = OnceLock::new();
    *MEANS.get_or_init(|| KernelMeans { landlock: landlock(), seccomp: seccomp(), listener: false })
}

fn landlock() -> u32 {
    // SAFETY: without attributes the call reads no memory; it answers with a version or an error.
    let version = unsafe {
        let attributes = std::ptr::null::<libc::c_void>();
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            attributes,
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

fn seccomp() -> bool {
    // SAFETY: asks for the mode of this thread: an error is the answer of a kernel without seccomp.
    let known = unsafe { libc::prctl(libc::PR_GET_SECCOMP) } >= 0;
    known && TargetArch::try_from(std::env::consts::ARCH).is_ok()
}
