//! Clocks of the system that the standard library does not read.

use std::time::Duration;

/// The time of the thread's own work.
pub const OF_THREAD: libc::clockid_t = libc::CLOCK_THREAD_CPUTIME_ID;
/// The one that is read fastest; it is a few milliseconds behind.
pub const COARSE: libc::clockid_t = libc::CLOCK_MONOTONIC_COARSE;

/// What the clock says. It is asked through the C library: rustix reads the kernel's own code for
/// it, which is not there under Valgrind, and ends the program.
pub fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has, and a place for its time.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
