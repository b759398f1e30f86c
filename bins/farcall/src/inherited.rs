//! Descriptors that this process inherited by accident (make's job server, a shell's history) must not reach
//! executables: all but the standard three are closed when a program is started.

use std::os::fd::BorrowedFd;

/// Marks every inherited descriptor close-on-exec.
pub fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        // SAFETY: borrowed for one system call, which fails harmlessly if the descriptor is closed by now.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
}
