//! What a routine said is taken before its call ends: so the spawner, which keeps the last lines
//! for the report of a crash, can tell by the time alone which call they belong to.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, fstat};

/// A reader that is slower than this gets what it gets: calls are more important than the order of
/// their remarks. On a busy machine a reader waits tens of milliseconds for its turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two checks, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(1)];

/// Waits until the spawner has read what lies in the pipe of standard error. Costs one system call
/// where nothing does.
pub fn wait_until_taken() {
    static PIPE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    /// Nobody has read since a wait was given up: no other call waits for that reader.
    static IS_STUCK: AtomicBool = AtomicBool::new(false);
    let Some(pipe) = PIPE.get_or_init(standard_error) else { return };
    let holds_bytes = || rustix::io::ioctl_fionread(pipe).is_ok_and(|bytes| bytes > 0);
    if !holds_bytes() {
        return IS_STUCK.store(false, Ordering::Relaxed);
    }
    if IS_STUCK.load(Ordering::Relaxed) {
        return;
    }
    let begin = Instant::now();
    let mut pause = PAUSES[0];
    while begin.elapsed() < PATIENCE {
        std::thread::sleep(pause);
        if !holds_bytes() {
            return;
        }
        pause = (2 * pause).min(PAUSES[1]);
    }
    IS_STUCK.store(true, Ordering::Relaxed);
}

/// Standard error under a number of our own, which survives a routine that directs it elsewhere;
/// `None` where it is no pipe, so that nobody takes anything.
fn standard_error() -> Option<OwnedFd> {
    let stderr = rustix::stdio::stderr();
    let kind = FileType::from_raw_mode(fstat(stderr).ok()?.st_mode);
    (kind == FileType::Fifo).then(|| rustix::io::fcntl_dupfd_cloexec(stderr, 3).ok())?
}
