//! System calls, by seccomp: no sockets unless granted, no tracing of other processes; and in an executable, no way out
//! of its process group and no signal to those that it depends on.

use std::collections::BTreeMap;

use farcall_base::{Error, Result};
use rustix::process::Pid;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::Held;

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

/// For the process that loads the module, and all that come from it. They can signal neither `depends_on`, nor their
/// groups, nor everybody at once.
pub(super) fn restrict(sockets: Sockets, depends_on: &[Option<Pid>]) -> Result<Held> {
    let always = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_request_key,
    ];
    // A ring can make sockets without that system call.
    let network = [libc::SYS_socket, libc::SYS_io_uring_setup];
    let network = if sockets == Sockets::Refused { &network[..] } else { &[] };
    let refused = always.iter().chain(network).map(|number| (*number, Vec::new()));
    let strangers = strangers(depends_on)?;
    let by_process = BY_PROCESS.iter().map(|number| (*number, strangers.clone()));
    apply(&compile(refused.chain(by_process).collect())?)
}

/// Calls whose first argument is a process that they act on.
const BY_PROCESS: [i64; 7] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_prlimit64,
];

fn strangers(depends_on: &[Option<Pid>]) -> Result<Vec<SeccompRule>> {
    let numbers = depends_on.iter().flatten().map(|pid| pid.as_raw_nonzero().get());
    let targets = numbers.flat_map(|pid| [pid, -pid]).chain([-1]).map(|pid| u64::from(pid as u32));
    targets.map(|pid| is(0, pid)).collect()
}

/// The filter of an executable, by which it and what it starts stay in the group that it leads by then. A zygote makes it
/// once for all; it is short, because each executable has the kernel compile it.
pub(crate) struct Own(BpfProgram);

impl Own {
    pub(crate) fn new() -> Result<Own> {
        compile(BTreeMap::from([(libc::SYS_setsid, Vec::new()), (libc::SYS_setpgid, Vec::new())])).map(Own)
    }

    /// Holds this process to it, for good.
    pub(crate) fn apply(&self) -> Result<()> {
        super::folders::keep_signals_inside();
        apply(&self.0).map(drop)
    }
}

/// The rule that argument number `index` is this 32-bit number.
fn is(index: u8, number: u64) -> Result<SeccompRule> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, number)
        .and_then(|condition| SeccompRule::new(vec![condition]))
        .map_err(|error| failed(std::io::Error::other(error)))
}

/// A filter that answers these calls with EPERM: those whose rules match, or all where there is no rule.
fn compile(refused: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram> {
    let Ok(processor) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(Vec::new()) };
    let mut rules = refused.clone();
    if cfg!(target_arch = "x86_64") {
        rules.extend(refused.into_iter().map(|(number, rules)| (number | X32, rules)));
    }
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, processor)
        .and_then(TryInto::try_into)
        .map_err(|error: seccompiler::BackendError| failed(std::io::Error::other(error)))
}

fn apply(program: &BpfProgram) -> Result<Held> {
    if program.is_empty() || !available_in_kernel() {
        return Ok(Held::No);
    }
    apply_filter(program).map_err(|error| failed(std::io::Error::other(error)))?;
    Ok(Held::Yes)
}

/// As [`available`], also under a filter: the mode is then another, and no error.
fn available_in_kernel() -> bool {
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) >= 0 }
}

fn failed(error: std::io::Error) -> Error {
    Error::system("filter system calls", error)
}
