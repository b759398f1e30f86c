//! Descriptors that this process inherited by accident (make's job server, a shell's history) must
//! not reach executables: all but the standard three are closed when a program is started.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process began without a standard output.
static WITHOUT_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Runs before the standard library's own beginnings, which open /dev/null in the place of what is
/// closed: what is written there is lost without a word.
// SAFETY: functions of this section are called once, by the C library, before `main`; this one
// needs nothing of Rust's own.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()) == Err(rustix::io::Errno::BADF);
    WITHOUT_OUTPUT.store(closed, Ordering::Relaxed);
}

/// Whether the parent process closed its standard output (`>&-`).
pub fn is_without_output() -> bool {
    WITHOUT_OUTPUT.load(Ordering::Relaxed)
}

/// Marks every inherited descriptor close-on-exec.
pub fn close_on_exec() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        // SAFETY: borrowed for one system call, which fails harmlessly if the descriptor is closed
        // by now.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    }
}
