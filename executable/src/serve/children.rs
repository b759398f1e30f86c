//! The children of this process, and their ends. Where it is a subreaper, what loses its parent
//! below it comes to it.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, waitid, waitpid,
};

use crate::confine;

/// Looks for what a call has left, a millisecond each. What cannot be ended then is with the next
/// call, or with this process.
const LEFT_LOOKS_MAX: u32 = 100;

/// Time between two checks.
const LOOK: Duration = Duration::from_millis(1);

/// Where the time of a call is limited, what it starts comes to this process, whatever becomes of
/// its parent.
pub(super) fn keep_what_calls_start() {
    if confine::are_bounded() {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
    }
}

/// Where the time of a call is limited, it leaves nothing behind that goes on. Elsewhere libraries
/// keep processes that help them from call to call.
pub(super) fn end_what_a_call_left() {
    if confine::are_bounded() && has_children() {
        end_children(LEFT_LOOKS_MAX);
    }
}

/// This costs one system call where there are none.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Ends all children, and so whatever descends from a subreaper: the children of what was ended are
/// found by the next look, of which there are so many at most.
pub(super) fn end_children(looks_max: u32) {
    for _ in 0..looks_max {
        let living = children();
        if living.is_empty() {
            return;
        }
        for child in living {
            // A child's number is its own until it is reaped, which happens here.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
        std::thread::sleep(LOOK);
    }
}

fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(number).collect::<Vec<_>>()).collect()
}

fn number(word: &str) -> Option<Pid> {
    Pid::from_raw(word.parse().ok()?)
}
