//! Which system calls are answered by the filter instead of the kernel, and how.

use std::collections::BTreeMap;

use farcall_base::{Error, Result};
use farcall_interfaces::spawner::rules::Files;
use rustix::process::{Pid, getegid, geteuid};
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::filter::Sockets;

/// Numbers of system calls, each with the rules of which one must match; without any it always does.
pub(super) type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Answered with EPERM, whatever their arguments.
const REFUSED: [i64; 16] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    // A user namespace gives all capabilities back, within it.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // A ring does what it is told without a system call for each, so that no filter sees it.
    libc::SYS_io_uring_setup,
];

/// Extended attributes, access lists among them, which landlock does not look after.
const ATTRIBUTES: [i64; 6] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// As if the kernel did not have them, which libraries know how to do without: what a filter cannot look into, and what
/// nothing ends or counts, for it belongs to no process.
const UNKNOWN: [i64; 5] = [libc::SYS_clone3, libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open];

/// The same, for the attributes of files: openat2, fchmodat2, setxattrat, removexattrat, file_setattr. New calls have
/// one number on all processors.
const UNKNOWN_ATTRIBUTES: [i64; 5] = [437, 452, 463, 466, 469];

/// Calls whose first argument is a process, or thread, that they act on.
const BY_PROCESS: [i64; 10] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    // Threads are pinned by their numbers, of which a filter does not know whose they are.
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Calls that only x86-64 still has beside the newer ones.
#[cfg(target_arch = "x86_64")]
mod old {
    pub(super) const OWNERS: &[(i64, u8)] = &[(libc::SYS_chown, 1), (libc::SYS_lchown, 1)];
    pub(super) const CHMOD: &[i64] = &[libc::SYS_chmod];
    pub(super) const TIMES: &[i64] = &[libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
    pub(super) const CREATE: &[(i64, u8)] = &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
    pub(super) const OPEN: &[(i64, u8)] = &[(libc::SYS_open, 1)];
}
#[cfg(not(target_arch = "x86_64"))]
mod old {
    pub(super) const OWNERS: &[(i64, u8)] = &[];
    pub(super) const CHMOD: &[i64] = &[];
    pub(super) const TIMES: &[i64] = &[];
    pub(super) const CREATE: &[(i64, u8)] = &[];
    pub(super) const OPEN: &[(i64, u8)] = &[];
}

/// Refused with EPERM. Nothing reaches `depends_on`, nor their groups, nor everybody at once.
pub(super) fn refused(sockets: Sockets, files: Files, depends_on: &[Option<Pid>]) -> Result<Calls> {
    let mut calls = always(&REFUSED);
    if sockets == Sockets::Refused {
        calls.insert(libc::SYS_socket, Vec::new());
    }
    if files == Files::Granted {
        calls.extend(privileged_modes()?);
        let (user, group) = (u64::from(geteuid().as_raw()), u64::from(getegid().as_raw()));
        for (number, owner) in owners() {
            calls.insert(number, vec![is_not(owner, user)?, is_not(owner + 1, group)?]);
        }
    }
    let strangers = strangers(depends_on)?;
    calls.extend(BY_PROCESS.iter().map(|number| (*number, strangers.clone())));
    calls.insert(libc::SYS_clone, vec![has(0, libc::CLONE_NEWUSER as u64)?]);
    calls.insert(libc::SYS_prlimit64, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_setpriority, vec![is_not(0, u64::from(libc::PRIO_PROCESS))?, is_not(1, 0)?]);
    calls.insert(libc::SYS_ioprio_set, vec![is_not(0, IOPRIO_WHO_PROCESS)?, is_not(1, 0)?]);
    Ok(calls)
}

/// linux/ioprio.h
const IOPRIO_WHO_PROCESS: u64 = 1;

/// Answered with ENOSYS.
pub(super) fn unknown(files: Files) -> Calls {
    let mut calls = always(&UNKNOWN);
    if files == Files::Granted {
        calls.extend(always(&UNKNOWN_ATTRIBUTES));
    }
    calls
}

/// Answered with ENOTSUP, as by file systems without them, which those who copy files expect.
pub(super) fn unsupported(files: Files) -> Calls {
    if files == Files::Granted { always(&ATTRIBUTES) } else { Calls::new() }
}

/// Answered with success, and not done: what those who copy files do last, and give up where they cannot. A file keeps
/// the mode and the owner that it was made with. The times of an open file can be set.
pub(super) fn ignored(files: Files) -> Result<Calls> {
    if files != Files::Granted {
        return Ok(Calls::new());
    }
    let mut calls = always(&[libc::SYS_fchmod, libc::SYS_fchmodat]);
    calls.extend(always(old::CHMOD));
    calls.extend(always(old::TIMES));
    calls.extend(owners().map(|(number, _)| (number, Vec::new())));
    let named = condition(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    calls.insert(libc::SYS_utimensat, vec![rule(vec![named])?]);
    Ok(calls)
}

/// Calls that set the owner of a file, and which argument that is; the group follows.
fn owners() -> impl Iterator<Item = (i64, u8)> {
    [(libc::SYS_fchown, 1), (libc::SYS_fchownat, 2)].iter().chain(old::OWNERS).copied()
}

/// Making a file that runs as its owner, or group, whoever starts it.
fn privileged_modes() -> Result<Calls> {
    let bits = [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)];
    let making = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(|flag| flag as u64);
    let mut calls = Calls::new();
    let by_mode = [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_mknodat, 2)];
    for (number, mode) in by_mode.iter().chain(old::CREATE) {
        calls.insert(*number, bits.iter().map(|bit| has(*mode, *bit)).collect::<Result<_>>()?);
    }
    for (number, flags) in [(libc::SYS_openat, 2)].iter().chain(old::OPEN) {
        let pairs = bits.iter().flat_map(|bit| making.iter().map(move |flag| (*bit, *flag)));
        let both = |(bit, flag)| rule(vec![with_bits(*flags, flag)?, with_bits(flags + 1, bit)?]);
        calls.insert(*number, pairs.map(both).collect::<Result<_>>()?);
    }
    Ok(calls)
}

fn strangers(depends_on: &[Option<Pid>]) -> Result<Vec<SeccompRule>> {
    let numbers = depends_on.iter().flatten().map(|pid| pid.as_raw_nonzero().get());
    let targets = numbers.flat_map(|pid| [pid, -pid]).chain([-1]).map(|pid| u64::from(pid as u32));
    targets.map(|pid| rule(vec![condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, pid)?])).collect()
}

pub(super) fn always(numbers: &[i64]) -> Calls {
    numbers.iter().map(|number| (*number, Vec::new())).collect()
}

/// The 32-bit argument number `index` is another.
fn is_not(index: u8, number: u64) -> Result<SeccompRule> {
    rule(vec![condition(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, number)?])
}

/// The argument number `index` has these bits.
fn has(index: u8, bits: u64) -> Result<SeccompRule> {
    rule(vec![with_bits(index, bits)?])
}

fn with_bits(index: u8, bits: u64) -> Result<SeccompCondition> {
    condition(index, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
}

fn condition(index: u8, length: SeccompCmpArgLen, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition> {
    SeccompCondition::new(index, length, operator, value).map_err(failed)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(failed)
}

pub(super) fn failed(error: seccompiler::BackendError) -> Error {
    Error::system("filter system calls", std::io::Error::other(error))
}
