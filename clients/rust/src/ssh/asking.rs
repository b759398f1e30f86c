//! The `ssh` that may be asking the user something: it ends when nobody waits for it any more, and
//! its question goes from the terminal.

use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// At most one `ssh` that asks.
#[derive(Clone, Debug, Default)]
pub struct AskingSsh(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    running: Option<Pid>,
    is_over: bool,
}

impl AskingSsh {
    /// This one asks until [`AskingSsh::met`]; false where nobody wants an answer any more.
    pub(super) fn begins(&self, process: u32) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.running = i32::try_from(process).ok().and_then(Pid::from_raw);
        !state.is_over
    }

    /// It asks no more, and may have ended.
    pub(super) fn met(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).running = None;
    }

    /// Nobody wants an answer any more.
    pub fn end(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        if let Some(process) = state.running.take() {
            // It has not been waited for: the number is its own.
            let _ = kill_process(process, Signal::TERM);
        }
    }
}
