//! What is decided of each system call of x86-64 (Linux 6.18): refused, unknown, judged by its
//! arguments ([`super::refusals`]), or harmless, and why. Landlock looks after files that are
//! opened; what acts on anything else by a number or a name is decided here. A test sees that no
//! call is left out.

/// Answered with EPERM, whatever their arguments.
pub(super) const REFUSED: &[&[i64]] = &[
    // Other processes.
    &[
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_process_mrelease,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
    ],
    // Namespaces and mounts. A user namespace gives all capabilities back, within it.
    &[
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        OPEN_TREE_ATTR,
    ],
    // The kernel's own: programs in it, keys, faults; its log, which names what other programs do;
    // and rings, which do what they are told without a system call for each, so that no filter sees
    // it.
    &[
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_request_key,
        libc::SYS_syslog,
        libc::SYS_io_uring_setup,
    ],
    // Files by numbers that no folder is above.
    &[libc::SYS_open_by_handle_at],
    // The machine. They need capabilities, which no routine has: so nothing is lost, and a fault in
    // one of them opens nothing.
    &[
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_acct,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_vhangup,
        libc::SYS_nfsservctl,
        libc::SYS_lookup_dcookie,
    ],
    old::REFUSED,
];

/// As if the kernel did not have them, which libraries know how to do without: what a filter cannot
/// look into (`clone3`); and memory, semaphores and messages that belong to no process, so that
/// nothing ends or counts them, and whoever has the same user finds them by a number or a name. No
/// descriptor or number of one can be had, but other programs' can be guessed.
pub(super) const UNKNOWN: [i64; 19] = [
    libc::SYS_clone3,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// The same where files are granted one by one: attributes of files, by openat2 (whose arguments a
/// filter cannot look into), fchmodat2, setxattrat, removexattrat, file_setattr; and watching
/// folders, which tells the names of files in those that cannot be read. New calls have one number
/// on all processors.
pub(super) const UNKNOWN_OF_FILES: [i64; 9] = [
    libc::SYS_openat2,
    452,
    463,
    466,
    469,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
];

const OPEN_TREE_ATTR: i64 = 467;

/// Calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
pub(super) mod old {
    pub(in crate::confine) const REFUSED: &[i64] =
        &[libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib];
    /// With the older call that makes what watches folders.
    pub(in crate::confine) const UNKNOWN_OF_FILES: &[i64] = &[libc::SYS_inotify_init];
}
#[cfg(not(target_arch = "x86_64"))]
pub(super) mod old {
    pub(in crate::confine) const REFUSED: &[i64] = &[];
    pub(in crate::confine) const UNKNOWN_OF_FILES: &[i64] = &[];
}

/// Allowed whatever their arguments, and why. Where libc has no name for a call, its number stands
/// here: create_module (174), get_kernel_syms (177), query_module (178), io_pgetevents (333),
/// uretprobe (335), uprobe (336), and those from 451 to 469.
#[cfg(all(test, target_arch = "x86_64"))]
const HARMLESS: &[(&str, &[i64])] = &[
    (
        "On this process itself: its memory",
        &[
            libc::SYS_mprotect,
            libc::SYS_munmap,
            libc::SYS_brk,
            libc::SYS_mremap,
            libc::SYS_msync,
            libc::SYS_mincore,
            libc::SYS_madvise,
            libc::SYS_mlock,
            libc::SYS_munlock,
            libc::SYS_mlockall,
            libc::SYS_munlockall,
            libc::SYS_mlock2,
            libc::SYS_remap_file_pages,
            libc::SYS_mbind,
            libc::SYS_set_mempolicy,
            libc::SYS_get_mempolicy,
            libc::SYS_set_mempolicy_home_node,
            libc::SYS_pkey_mprotect,
            libc::SYS_pkey_alloc,
            libc::SYS_pkey_free,
            libc::SYS_mseal,
            453,
            libc::SYS_memfd_create,
            libc::SYS_memfd_secret,
            libc::SYS_membarrier,
            libc::SYS_arch_prctl,
            libc::SYS_modify_ldt,
            libc::SYS_set_thread_area,
            libc::SYS_get_thread_area,
        ],
    ),
    (
        "On this process itself: threads, time, signals that it takes",
        &[
            libc::SYS_sched_yield,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_rt_sigpending,
            libc::SYS_rt_sigtimedwait,
            libc::SYS_rt_sigsuspend,
            libc::SYS_sigaltstack,
            libc::SYS_pause,
            libc::SYS_nanosleep,
            libc::SYS_clock_nanosleep,
            libc::SYS_getitimer,
            libc::SYS_alarm,
            libc::SYS_setitimer,
            libc::SYS_timer_create,
            libc::SYS_timer_settime,
            libc::SYS_timer_gettime,
            libc::SYS_timer_getoverrun,
            libc::SYS_timer_delete,
            libc::SYS_futex,
            libc::SYS_futex_waitv,
            454,
            455,
            456,
            libc::SYS_set_tid_address,
            libc::SYS_set_robust_list,
            libc::SYS_rseq,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
            335,
            336,
            libc::SYS_personality,
            libc::SYS_umask,
            libc::SYS_setrlimit,
        ],
    ),
    (
        "On descriptors that it has",
        &[
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_pread64,
            libc::SYS_pwrite64,
            libc::SYS_preadv,
            libc::SYS_pwritev,
            libc::SYS_preadv2,
            libc::SYS_pwritev2,
            libc::SYS_close,
            libc::SYS_close_range,
            libc::SYS_dup,
            libc::SYS_dup2,
            libc::SYS_dup3,
            libc::SYS_pipe,
            libc::SYS_pipe2,
            libc::SYS_lseek,
            libc::SYS_poll,
            libc::SYS_ppoll,
            libc::SYS_select,
            libc::SYS_pselect6,
            libc::SYS_epoll_create,
            libc::SYS_epoll_create1,
            libc::SYS_epoll_ctl,
            libc::SYS_epoll_wait,
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_eventfd,
            libc::SYS_eventfd2,
            libc::SYS_signalfd,
            libc::SYS_signalfd4,
            libc::SYS_timerfd_create,
            libc::SYS_timerfd_settime,
            libc::SYS_timerfd_gettime,
            libc::SYS_sendfile,
            libc::SYS_splice,
            libc::SYS_tee,
            libc::SYS_vmsplice,
            libc::SYS_copy_file_range,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_sync_file_range,
            libc::SYS_ftruncate,
            libc::SYS_fallocate,
            libc::SYS_fadvise64,
            libc::SYS_readahead,
            libc::SYS_flock,
            libc::SYS_fstat,
            libc::SYS_fstatfs,
            libc::SYS_getdents,
            libc::SYS_getdents64,
            libc::SYS_fchdir,
            451,
            libc::SYS_inotify_rm_watch,
            libc::SYS_accept,
            libc::SYS_accept4,
            libc::SYS_sendto,
            libc::SYS_recvfrom,
            libc::SYS_sendmsg,
            libc::SYS_recvmsg,
            libc::SYS_sendmmsg,
            libc::SYS_recvmmsg,
            libc::SYS_shutdown,
            libc::SYS_getsockname,
            libc::SYS_getpeername,
            libc::SYS_getsockopt,
            libc::SYS_io_setup,
            libc::SYS_io_destroy,
            libc::SYS_io_getevents,
            333,
            libc::SYS_io_submit,
            libc::SYS_io_cancel,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ],
    ),
    (
        "Files by their names: landlock judges what is opened, made, moved and removed",
        &[
            libc::SYS_truncate,
            libc::SYS_rename,
            libc::SYS_renameat,
            libc::SYS_renameat2,
            libc::SYS_mkdir,
            libc::SYS_mkdirat,
            libc::SYS_rmdir,
            libc::SYS_link,
            libc::SYS_linkat,
            libc::SYS_unlink,
            libc::SYS_unlinkat,
            libc::SYS_symlink,
            libc::SYS_symlinkat,
            libc::SYS_execve,
            libc::SYS_execveat,
        ],
    ),
    (
        "Tells of files by their names what a folder's listing would, and opens none; said on the \
            page what-a-routine-can-reach",
        &[
            libc::SYS_stat,
            libc::SYS_lstat,
            libc::SYS_newfstatat,
            libc::SYS_statx,
            libc::SYS_statfs,
            libc::SYS_access,
            libc::SYS_faccessat,
            libc::SYS_faccessat2,
            libc::SYS_readlink,
            libc::SYS_readlinkat,
            libc::SYS_getcwd,
            libc::SYS_chdir,
            libc::SYS_name_to_handle_at,
            libc::SYS_getxattr,
            libc::SYS_lgetxattr,
            libc::SYS_fgetxattr,
            464,
            libc::SYS_listxattr,
            libc::SYS_llistxattr,
            libc::SYS_flistxattr,
            465,
            468,
        ],
    ),
    (
        "Tells of the system, of this process or of another what /proc shows to all",
        &[
            libc::SYS_getpid,
            libc::SYS_getppid,
            libc::SYS_gettid,
            libc::SYS_getpgrp,
            libc::SYS_getpgid,
            libc::SYS_getsid,
            libc::SYS_getuid,
            libc::SYS_geteuid,
            libc::SYS_getgid,
            libc::SYS_getegid,
            libc::SYS_getgroups,
            libc::SYS_getresuid,
            libc::SYS_getresgid,
            libc::SYS_capget,
            libc::SYS_uname,
            libc::SYS_sysinfo,
            libc::SYS_times,
            libc::SYS_time,
            libc::SYS_gettimeofday,
            libc::SYS_clock_gettime,
            libc::SYS_clock_getres,
            libc::SYS_getrlimit,
            libc::SYS_getrusage,
            libc::SYS_getcpu,
            libc::SYS_getrandom,
            libc::SYS_ustat,
            libc::SYS_sysfs,
            libc::SYS_getpriority,
            libc::SYS_ioprio_get,
            libc::SYS_sched_getparam,
            libc::SYS_sched_getscheduler,
            libc::SYS_sched_getaffinity,
            libc::SYS_sched_getattr,
            libc::SYS_sched_get_priority_max,
            libc::SYS_sched_get_priority_min,
            libc::SYS_sched_rr_get_interval,
            457,
            458,
            459,
            461,
        ],
    ),
    (
        "Of another process only what landlock and ptrace's rules allow",
        &[libc::SYS_get_robust_list],
    ),
    (
        "Makes and awaits children, which are held to the same",
        &[libc::SYS_fork, libc::SYS_vfork, libc::SYS_wait4, libc::SYS_waitid],
    ),
    (
        "Gives up rights, or needs a capability that no routine has",
        &[
            libc::SYS_adjtimex,
            libc::SYS_clock_adjtime,
            libc::SYS_setuid,
            libc::SYS_setgid,
            libc::SYS_setreuid,
            libc::SYS_setregid,
            libc::SYS_setgroups,
            libc::SYS_setresuid,
            libc::SYS_setresgid,
            libc::SYS_setfsuid,
            libc::SYS_setfsgid,
            libc::SYS_capset,
            libc::SYS_seccomp,
            libc::SYS_landlock_create_ruleset,
            libc::SYS_landlock_add_rule,
            libc::SYS_landlock_restrict_self,
            460,
        ],
    ),
    ("Writes out what waits to be written, whoever's it is", &[libc::SYS_sync, libc::SYS_syncfs]),
    (
        "Not in the kernel any more, or never",
        &[
            libc::SYS__sysctl,
            174,
            177,
            178,
            libc::SYS_getpmsg,
            libc::SYS_putpmsg,
            libc::SYS_afs_syscall,
            libc::SYS_tuxcall,
            libc::SYS_security,
            libc::SYS_vserver,
            libc::SYS_epoll_ctl_old,
            libc::SYS_epoll_wait_old,
        ],
    ),
];

#[cfg(all(test, target_arch = "x86_64"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use farcall_services::spawner::rules::{Files, Network, Rules};

    use super::*;
    use crate::confine::refusals::{self, Role};

    /// Numbers that x86-64 has given to system calls, as of Linux 6.18.
    const NUMBERS: [std::ops::RangeInclusive<i64>; 2] = [0..=336, 424..=469];

    /// With the strictest rules, a call is in the filters or in the table of what is harmless, and
    /// not in both.
    #[test]
    fn every_system_call_is_decided() {
        let rules = Rules { files: Files::Granted, network: Network::Off, ..Rules::default() };
        let own = Some(rustix::process::getpid());
        let filters = [
            refusals::refused(&rules, Role::Executable, &[own]).unwrap(),
            refusals::unknown(&rules),
            refusals::unsupported(&rules),
            refusals::ignored(&rules).unwrap(),
        ];
        for number in NUMBERS.into_iter().flatten() {
            let filtered = filters.iter().any(|calls| calls.contains_key(&number));
            let harmless = HARMLESS.iter().filter(|(_, calls)| calls.contains(&number)).count();
            assert_eq!(usize::from(filtered) + harmless, 1, "system call {number}");
        }
    }
}
