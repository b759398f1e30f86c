//! What is decided of each system call of x86-64 (Linux 6.18): refused, unknown, judged by its
//! arguments ([`super::refusals`]), or harmless, and why. Landlock looks after files that are
//! opened; what acts on anything else by a number or a name is decided here. A test sees that no
//! call is left out.

#[cfg(all(test, target_arch = "x86_64"))]
mod harmless;

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
