//! Which system calls are answered by the filter instead of the kernel, and how.

use std::collections::BTreeMap;

use farcall_base::{Error, Result};
use farcall_interfaces::spawner::DIAL;
use farcall_interfaces::spawner::rules::{Confinement, Files, Network, Rules};
use rustix::process::{Pid, getegid, geteuid};
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Numbers of system calls, each with the rules of which one must match; without any it always does.
pub(super) type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// What a process is, of those that run a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It forks executables, each of which gets a group of its own: [`leaving`] is for these.
    Zygote,
    /// It runs calls, or looks into a module.
    Executable,
    /// It starts executables by an MPI. A rank can have it start any program (MPI_Comm_spawn): so it is held as a rank is, but
    /// that it makes process groups. Within a batch system it may make sessions, too.
    Launcher(Dials),
}

/// How the processes that a launcher starts get a connection before they are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dials {
    /// By a system call that the spawner answers.
    ByCall,
    /// By a Unix socket's path, so that all that the launcher starts can use any such socket: where the kernel has nothing else,
    /// and within a batch system, whose own launcher proves who it is by such a socket (munge).
    ByPath,
}

/// Answered with EPERM, whatever their arguments.
const REFUSED: [i64; 20] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
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
    libc::SYS_open_by_handle_at,
    // The kernel's own log names what other programs do.
    libc::SYS_syslog,
    // A ring does what it is told without a system call for each, so that no filter sees it.
    libc::SYS_io_uring_setup,
];

/// The same for code that is nobody's launcher. A descriptor of /proc/PID names a process to signal as well as a pidfd does;
/// and a thread's number leads to its process, whichever that is.
const REFUSED_TO_MODULES: [i64; 3] = [libc::SYS_setsid, libc::SYS_pidfd_send_signal, libc::SYS_tkill];

/// With no network: what an inherited socket could be led elsewhere by.
const REFUSED_WITHOUT_NETWORK: [i64; 4] = [libc::SYS_socket, libc::SYS_bind, libc::SYS_connect, libc::SYS_listen];

/// Families of sockets that a network is made of: AF_INET, AF_INET6, AF_NETLINK (which addresses there are), and AF_RDS and
/// AF_IB of fast networks (bits/socket.h). Unix sockets are not among them: they lead to programs of this host, which judge
/// by the user who comes.
const NETWORK_FAMILIES: [i32; 5] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, 21, 27];

/// Types of sockets of which pairs stay connected with one another, whatever an address says.
const CONNECTED_TYPES: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
/// The part of a socket's type that is no flag (linux/net.h).
const SOCKET_TYPE_MASK: u64 = 0xf;

/// Orders of `fcntl` that have the kernel send signals to somebody: F_SETOWN, F_SETSIG, F_SETOWN_EX (fcntl.h).
const SIGNALLING_ORDERS: [u64; 3] = [8, 10, 15];
/// Requests of `ioctl` that do, or type into a terminal: FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX (sockios.h, ioctls.h).
const REFUSED_REQUESTS: [u64; 4] = [0x8901, 0x8902, 0x5412, 0x541c];

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
pub(super) fn refused(rules: &Rules, role: Role, depends_on: &[Option<Pid>]) -> Result<Calls> {
    if rules.confinement == Confinement::Owner {
        return match role {
            Role::Executable => Ok(leaving()),
            Role::Zygote => Ok(Calls::from([
                (libc::SYS_setsid, Vec::new()),
                (libc::SYS_setpgid, staying(role)?),
                (libc::SYS_prctl, vec![is(0, libc::PR_SET_CHILD_SUBREAPER as u64)?]),
            ])),
            Role::Launcher(_) => Ok(Calls::new()),
        };
    }
    let mut calls = always(&REFUSED);
    calls.extend(sockets(rules, role)?);
    if rules.files == Files::Granted {
        calls.extend(privileged_modes()?);
        let (user, group) = (u64::from(geteuid().as_raw()), u64::from(getegid().as_raw()));
        for (number, owner) in owners() {
            calls.insert(number, vec![is_not(owner, user)?, is_not(owner + 1, group)?]);
        }
    }
    let strangers = strangers(depends_on)?;
    calls.extend(BY_PROCESS.iter().map(|number| (*number, strangers.clone())));
    let is_launcher = matches!(role, Role::Launcher(_));
    if !is_launcher {
        calls.insert(libc::SYS_setpgid, staying(role)?);
    }
    if !is_launcher || !within_batch_system() {
        calls.extend(always(&REFUSED_TO_MODULES));
        // A process that goes with its parent goes on doing so.
        // What loses its parent comes to where it is found.
        calls.insert(libc::SYS_prctl, vec![clears_death_signal()?, is(0, libc::PR_SET_CHILD_SUBREAPER as u64)?]);
        calls.insert(libc::SYS_fcntl, SIGNALLING_ORDERS.iter().map(|order| is(1, *order)).collect::<Result<_>>()?);
        calls.insert(libc::SYS_ioctl, REFUSED_REQUESTS.iter().map(|request| is(1, *request)).collect::<Result<_>>()?);
    }
    // A child of one's parent would be nobody's to end.
    calls.insert(libc::SYS_clone, vec![has(0, libc::CLONE_NEWUSER as u64)?, has(0, libc::CLONE_PARENT as u64)?]);
    calls.insert(libc::SYS_prlimit64, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_migrate_pages, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_move_pages, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_setpriority, vec![is_not(0, u64::from(libc::PRIO_PROCESS))?, is_not(1, 0)?]);
    calls.insert(libc::SYS_ioprio_set, vec![is_not(0, IOPRIO_WHO_PROCESS)?, is_not(1, 0)?]);
    Ok(calls)
}

/// Whether this host's part of a batch system's job is where an MPI starts its processes.
pub(super) fn within_batch_system() -> bool {
    std::env::var_os("SLURM_JOB_ID").is_some()
}

/// How an executable that a zygote has forked would leave its group.
pub(super) fn leaving() -> Calls {
    always(&[libc::SYS_setsid, libc::SYS_setpgid])
}

/// Rules for `setpgid`: a zygote's children begin groups of their own, and nobody joins another.
fn staying(role: Role) -> Result<Vec<SeccompRule>> {
    match role {
        Role::Zygote => Ok(vec![is_not(1, 0)?]),
        Role::Executable | Role::Launcher(_) => Ok(Vec::new()),
    }
}

fn clears_death_signal() -> Result<SeccompRule> {
    let sets = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_PDEATHSIG as u64)?;
    let another = condition(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, libc::SIGKILL as u64)?;
    rule(vec![sets, another])
}

/// Which sockets cannot be made, or be led elsewhere.
fn sockets(rules: &Rules, role: Role) -> Result<Calls> {
    let mut calls = Calls::new();
    match rules.network {
        Network::Off => calls.extend(always(&REFUSED_WITHOUT_NETWORK)),
        Network::On if role == Role::Launcher(Dials::ByPath) => return Ok(calls),
        Network::On if role == Role::Launcher(Dials::ByCall) => {
            let others = NETWORK_FAMILIES.iter().chain([&libc::AF_UNIX]);
            let no_dial = vec![family(SeccompCmpOp::Eq, libc::AF_UNIX)?, protocol(SeccompCmpOp::Ne, DIAL)?];
            calls.insert(libc::SYS_socket, vec![none_of(others)?, rule(no_dial)?]);
        }
        Network::On => {
            calls.insert(libc::SYS_socket, vec![none_of(NETWORK_FAMILIES.iter())?]);
        }
    }
    // Datagrams of a pair go wherever their address says.
    let types = (0..=SOCKET_TYPE_MASK).filter(|kind| !CONNECTED_TYPES.iter().any(|known| *known as u64 == *kind));
    let of_type = |kind| rule(vec![condition(1, SeccompCmpArgLen::Dword, masked(SOCKET_TYPE_MASK), kind)?]);
    let mut pairs = types.map(of_type).collect::<Result<Vec<_>>>()?;
    pairs.push(is_not(0, libc::AF_UNIX as u64)?);
    calls.insert(libc::SYS_socketpair, pairs);
    Ok(calls)
}

/// The call by which a process of MPI's asks for its connection.
pub(super) fn dials() -> Result<Calls> {
    let dial = vec![family(SeccompCmpOp::Eq, libc::AF_UNIX)?, protocol(SeccompCmpOp::Eq, DIAL)?];
    Ok(Calls::from([(libc::SYS_socket, vec![rule(dial)?])]))
}

/// Sockets of none of these families.
fn none_of<'f>(families: impl Iterator<Item = &'f i32>) -> Result<SeccompRule> {
    rule(families.map(|one| family(SeccompCmpOp::Ne, *one)).collect::<Result<_>>()?)
}

fn family(operator: SeccompCmpOp, number: i32) -> Result<SeccompCondition> {
    condition(0, SeccompCmpArgLen::Dword, operator, number as u64)
}

fn protocol(operator: SeccompCmpOp, number: u32) -> Result<SeccompCondition> {
    condition(2, SeccompCmpArgLen::Dword, operator, number.into())
}

fn masked(mask: u64) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(mask)
}

/// linux/ioprio.h
const IOPRIO_WHO_PROCESS: u64 = 1;

/// Answered with ENOSYS.
pub(super) fn unknown(rules: &Rules) -> Calls {
    if rules.confinement == Confinement::Owner {
        return Calls::new();
    }
    let mut calls = always(&UNKNOWN);
    if rules.files == Files::Granted {
        calls.extend(always(&UNKNOWN_ATTRIBUTES));
    }
    calls
}

/// Answered with ENOTSUP, as by file systems without them, which those who copy files expect.
pub(super) fn unsupported(rules: &Rules) -> Calls {
    if holds_files(rules) { always(&ATTRIBUTES) } else { Calls::new() }
}

/// Answered with success, and not done: what those who copy files do last, and give up where they cannot. A file keeps
/// the mode and the owner that it was made with. The times of an open file can be set.
pub(super) fn ignored(rules: &Rules) -> Result<Calls> {
    if !holds_files(rules) {
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

fn holds_files(rules: &Rules) -> bool {
    rules.files == Files::Granted && rules.confinement != Confinement::Owner
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

/// The 32-bit argument number `index` is this.
fn is(index: u8, number: u64) -> Result<SeccompRule> {
    rule(vec![condition(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, number)?])
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
