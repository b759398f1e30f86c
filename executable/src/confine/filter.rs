//! System calls, by seccomp: those that `refusals` lists; and in an executable, no way out of its process group and no
//! signal to those that it depends on.

use farcall_base::{Error, Result};
use farcall_interfaces::spawner::rules::Files;
use rustix::process::Pid;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::Held;
use super::refusals::{self, Calls};

/// Bit of the numbers of system calls with which an x86-64 process asks for the other set (asm/unistd.h). The kernel
/// takes it for the same architecture, so that a filter has to name both.
const X32: i64 = 0x4000_0000;

/// Whether sockets can be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    Allowed,
    Refused,
}

/// Whether the kernel has filters, for this processor.
pub fn available() -> bool {
    // SAFETY: asks for the mode of this thread, which has none: an error is the answer of a kernel without seccomp.
    let known = unsafe { libc::prctl(libc::PR_GET_SECCOMP) } >= 0;
    known && TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

/// For the process that loads the module, and all that come from it. They reach none of `depends_on`. The last filter
/// that answers a call has the word.
pub(super) fn restrict(sockets: Sockets, files: Files, depends_on: &[Option<Pid>]) -> Result<Held> {
    let filters = [
        (refusals::ignored(files)?, 0),
        (refusals::unknown(files), libc::ENOSYS),
        (refusals::unsupported(files), libc::ENOTSUP),
        (refusals::refused(sockets, files, depends_on)?, libc::EPERM),
    ];
    let mut held = Held::No;
    for (calls, answer) in filters.into_iter().filter(|(calls, _)| !calls.is_empty()) {
        held = apply(&compile(calls, answer)?)?;
    }
    Ok(held)
}

/// The filter of an executable, by which it and what it starts stay in the group that it leads by then. A zygote makes it
/// once for all; it is short, because each executable has the kernel compile it.
pub(crate) struct Own(BpfProgram);

impl Own {
    pub(crate) fn new() -> Result<Own> {
        compile(refusals::always(&[libc::SYS_setsid, libc::SYS_setpgid]), libc::EPERM).map(Own)
    }

    /// Holds this process to it, for good.
    pub(crate) fn apply(&self) -> Result<()> {
        super::folders::keep_signals_inside();
        apply(&self.0).map(drop)
    }
}

/// A filter that answers these calls with this error, or with success (0).
fn compile(refused: Calls, answer: i32) -> Result<BpfProgram> {
    let Ok(processor) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(Vec::new()) };
    let mut rules = refused.clone();
    if cfg!(target_arch = "x86_64") {
        rules.extend(refused.into_iter().map(|(number, rules)| (number | X32, rules)));
    }
    let refusal = SeccompAction::Errno(answer as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, processor)
        .and_then(TryInto::try_into)
        .map_err(refusals::failed)
}

fn apply(program: &BpfProgram) -> Result<Held> {
    if program.is_empty() || !available_in_kernel() {
        return Ok(Held::No);
    }
    apply_filter(program).map_err(|error| Error::system("filter system calls", std::io::Error::other(error)))?;
    Ok(Held::Yes)
}

/// As [`available`], also under a filter: the mode is then another, and no error.
fn available_in_kernel() -> bool {
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) >= 0 }
}
