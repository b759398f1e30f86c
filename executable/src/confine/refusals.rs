//! Which system calls are answered by the filter instead of the kernel, and how.

use std::collections::BTreeMap;

use super::system_calls;
use farcall_base::{Error, Result};
use farcall_services::spawner::DIAL;
use farcall_services::spawner::rules::{Confinement, Files, Network, Rules};
use rustix::process::{Pid, getegid, geteuid};
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// Numbers of system calls, each with the rules of which one must match; without any it always
/// does.
pub(super) type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// What a process is, of those that run a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It forks executables, each of which gets a group of its own: [`leaving`] is for these.
    Zygote,
    /// It runs calls, or looks into a module.
    Executable,
    /// It starts executables by an MPI. A rank can have it start any program (MPI_Comm_spawn): so
    /// it is held as a rank is, but that it makes process groups. Within a batch system it may make
    /// sessions, too.
    Launcher(Dials),
}

/// How the processes that a launcher starts get a connection before they are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dials {
    /// By a system call that the spawner answers.
    ByCall,
    /// By a Unix socket's path, so that all that the launcher starts can use any such socket: where
    /// the kernel has nothing else, and within a batch system, whose own launcher proves who it is
    /// by such a socket (munge).
    ByPath,
}

/// Answered with EPERM to code that is nobody's launcher. A descriptor of /proc/PID names a process
/// to signal as well as a pidfd does; and a thread's number leads to its process, whichever that
/// is.
const REFUSED_TO_MODULES: [i64; 3] =
    [libc::SYS_setsid, libc::SYS_pidfd_send_signal, libc::SYS_tkill];

/// With no network: what an inherited socket could be led elsewhere by.
const REFUSED_WITHOUT_NETWORK: [i64; 4] =
    [libc::SYS_socket, libc::SYS_bind, libc::SYS_connect, libc::SYS_listen];

/// Families of sockets that a network is made of: AF_INET, AF_INET6, AF_NETLINK (which addresses
/// there are), and AF_RDS and AF_IB of fast networks (bits/socket.h). Unix sockets are not among
/// them: they lead to programs of this host, which judge by the user who comes.
const NETWORK_FAMILIES: [i32; 5] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, 21, 27];

/// Types of sockets of which pairs stay connected with one another, whatever an address says.
const CONNECTED_TYPES: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
/// The part of a socket's type that is no flag (linux/net.h).
const SOCKET_TYPE_MASK: u64 = 0xf;

/// Orders of `fcntl` that have the kernel send signals to somebody: F_SETOWN, F_SETSIG, F_SETOWN_EX
/// (fcntl.h).
const SIGNALLING_ORDERS: [u64; 3] = [8, 10, 15];
/// Requests of `ioctl` that do, or type into a terminal: FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX
/// (sockios.h, ioctls.h).
const REFUSED_REQUESTS: [u64; 4] = [0x8901, 0x8902, 0x5412, 0x541c];

/// The byte of a request of `ioctl` that says whose it is.
const REQUEST_TYPE: u64 = 0xff00;
/// Types of requests of file systems (ext4's, which others share; XFS's; versions of files;
/// btrfs's; F2FS's), which act on whatever a descriptor for reading leads to: flags such as
/// `immutable`, versions, encryption, verity, snapshots. And of each those that read, or copy into
/// a file that is open for writing: FS_IOC_GETFLAGS, FS_IOC_FIEMAP; FS_IOC_FSGETXATTR;
/// FS_IOC_GETVERSION; FICLONE, FICLONERANGE, FIDEDUPERANGE (fs.h).
const FILE_SYSTEMS_REQUESTS: [(u64, &[u64]); 5] = [
    (0x6600, &[0x8008_6601, 0xc020_660b]),
    (0x5800, &[0x801c_581f]),
    (0x7600, &[0x8008_7601]),
    (0x9400, &[0x4004_9409, 0x4020_940d, 0xc018_9436]),
    (0xf500, &[]),
];

/// What grows by itself, as a stack does, and is not counted as memory (mman.h).
const MAP_GROWSDOWN: u64 = 0x100;
/// Options of sockets that say how much of the kernel's memory they may hold: SO_SNDBUF, SO_RCVBUF,
/// and the same for those with capabilities (asm-generic/socket.h).
const BUFFER_OPTIONS: [u64; 4] = [7, 8, 32, 33];

/// Extended attributes, access lists among them, which landlock does not look after.
const ATTRIBUTES: [i64; 6] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

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
    pub(super) const CREATE: &[(i64, u8)] =
        &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
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
                (libc::SYS_prctl, vec![lets_children_go()?]),
            ])),
            Role::Launcher(_) => Ok(Calls::new()),
        };
    }
    let mut calls: Calls =
        system_calls::REFUSED.iter().flat_map(|numbers| always(numbers)).collect();
    calls.extend(sockets(rules, role)?);
    if rules.files == Files::Granted {
        calls.extend(privileged_modes()?);
        let user = u64::from(geteuid().as_raw());
        let group = u64::from(getegid().as_raw());
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
        // A process that goes with its parent goes on doing so; and what loses its parent comes to
        // where it is found.
        calls.insert(libc::SYS_prctl, vec![clears_death_signal()?, lets_children_go()?]);
        calls.insert(
            libc::SYS_fcntl,
            SIGNALLING_ORDERS.iter().map(|order| is(1, *order)).collect::<Result<_>>()?,
        );
        calls.insert(
            libc::SYS_ioctl,
            REFUSED_REQUESTS.iter().map(|request| is(1, *request)).collect::<Result<_>>()?,
        );
    }
    if rules.files == Files::Granted {
        calls.entry(libc::SYS_ioctl).or_default().extend(file_systems_requests()?);
    }
    calls.insert(libc::SYS_mmap, vec![has(3, MAP_GROWSDOWN)?]);
    // A child of one's parent would be nobody's to end.
    calls.insert(
        libc::SYS_clone,
        vec![has(0, libc::CLONE_NEWUSER as u64)?, has(0, libc::CLONE_PARENT as u64)?],
    );
    calls.insert(libc::SYS_prlimit64, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_migrate_pages, vec![is_not(0, 0)?]);
    calls.insert(libc::SYS_move_pages, vec![is_not(0, 0)?]);
    calls.insert(
        libc::SYS_setpriority,
        vec![is_not(0, u64::from(libc::PRIO_PROCESS))?, is_not(1, 0)?],
    );
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
    let sets =
        condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_PDEATHSIG as u64)?;
    let another = condition(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, libc::SIGKILL as u64)?;
    rule(vec![sets, another])
}

/// What loses its parent goes past this process then.
fn lets_children_go() -> Result<SeccompRule> {
    let sets = equals(0, libc::PR_SET_CHILD_SUBREAPER as u64)?;
    rule(vec![sets, condition(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?])
}

/// Which sockets cannot be made, or be led elsewhere.
fn sockets(rules: &Rules, role: Role) -> Result<Calls> {
    let mut calls = Calls::new();
    match rules.network {
        Network::Off => calls.extend(always(&REFUSED_WITHOUT_NETWORK)),
        Network::On if role == Role::Launcher(Dials::ByPath) => return Ok(calls),
        Network::On if role == Role::Launcher(Dials::ByCall) => {
            let others = NETWORK_FAMILIES.iter().chain([&libc::AF_UNIX]);
            let no_dial =
                vec![family(SeccompCmpOp::Eq, libc::AF_UNIX)?, protocol(SeccompCmpOp::Ne, DIAL)?];
            calls.insert(libc::SYS_socket, vec![none_of(others)?, rule(no_dial)?]);
        }
        Network::On => {
            calls.insert(libc::SYS_socket, vec![none_of(NETWORK_FAMILIES.iter())?]);
        }
    }
    // Datagrams of a pair go wherever their address says.
    let types = (0..=SOCKET_TYPE_MASK)
        .filter(|kind| !CONNECTED_TYPES.iter().any(|known| *known as u64 == *kind));
    let of_type =
        |kind| rule(vec![condition(1, SeccompCmpArgLen::Dword, masked(SOCKET_TYPE_MASK), kind)?]);
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
    let mut calls = always(&system_calls::UNKNOWN);
    if rules.files == Files::Granted {
        calls.extend(always(&system_calls::UNKNOWN_OF_FILES));
        calls.extend(always(system_calls::old::UNKNOWN_OF_FILES));
    }
    calls
}

/// Answered with ENOTSUP, as by file systems without them, which those who copy files expect.
pub(super) fn unsupported(rules: &Rules) -> Calls {
    if holds_files(rules) { always(&ATTRIBUTES) } else { Calls::new() }
}

/// Answered with success, and not done. Of files, what those who copy them do last, and give up
/// where they cannot: a file keeps the mode and the owner that it was made with, and its times are
/// those of what was written. Of sockets, how much they hold: what the system gives each is what it
/// gets.
pub(super) fn ignored(rules: &Rules) -> Result<Calls> {
    let mut calls = Calls::new();
    if rules.confinement != Confinement::Owner {
        let buffer =
            |option: &u64| rule(vec![equals(1, libc::SOL_SOCKET as u64)?, equals(2, *option)?]);
        calls.insert(
            libc::SYS_setsockopt,
            BUFFER_OPTIONS.iter().map(buffer).collect::<Result<_>>()?,
        );
    }
    if holds_files(rules) {
        calls.extend(always(&[libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_utimensat]));
        calls.extend(always(old::CHMOD));
        calls.extend(always(old::TIMES));
        calls.extend(owners().map(|(number, _)| (number, Vec::new())));
    }
    Ok(calls)
}

/// Requests of file systems that change what they are asked of.
fn file_systems_requests() -> Result<Vec<SeccompRule>> {
    let requests = FILE_SYSTEMS_REQUESTS.iter().map(|(kind, allowed)| {
        let others =
            allowed.iter().map(|one| condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *one));
        let of_kind = condition(1, SeccompCmpArgLen::Dword, masked(REQUEST_TYPE), *kind);
        rule(std::iter::once(of_kind).chain(others).collect::<Result<_>>()?)
    });
    requests.collect()
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
    targets
        .map(|pid| rule(vec![condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, pid)?]))
        .collect()
}

pub(super) fn always(numbers: &[i64]) -> Calls {
    numbers.iter().map(|number| (*number, Vec::new())).collect()
}

/// The 32-bit argument number `index` is this.
fn is(index: u8, number: u64) -> Result<SeccompRule> {
    rule(vec![equals(index, number)?])
}

fn equals(index: u8, number: u64) -> Result<SeccompCondition> {
    condition(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, number)
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

fn condition(
    index: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition> {
    SeccompCondition::new(index, length, operator, value).map_err(failed)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(failed)
}

pub(super) fn failed(error: seccompiler::BackendError) -> Error {
    Error::system("filter system calls", std::io::Error::other(error))
}
