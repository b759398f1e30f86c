//! What a routine said is taken before its call ends: so the spawner, which keeps the last lines for the report of a
//! crash, can tell by the time alone which call they belong to.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};

/// A reader that is slower than this gets what it gets: calls are more important than the order of their remarks.
const PATIENCE: Duration = Duration::from_millis(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(50);

/// Waits until the spawner has read what lies in the pipe of standard error. Costs one system call where nothing does.
pub fn wait_until_taken() {
    static PIPE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let Some(pipe) = PIPE.get_or_init(standard_error) else { return };
    let holds_bytes = || rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0);
    if holds_bytes() {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && holds_bytes() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Standard error under a number of our own, which survives a routine that directs it elsewhere; `None` where it is no
/// pipe, so that nobody takes anything.
fn standard_error() -> Option<OwnedFd> {
    let stderr = rustix::stdio::stderr();
    let kind = FileType::from_raw_mode(fstat(stderr).ok()?.st_mode);
    (kind == FileType::Fifo).then(|| rustix::io::fcntl_dupfd_cloexec(stderr, 3).ok())?
}
