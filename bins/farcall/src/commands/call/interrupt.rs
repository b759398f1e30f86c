//! A user who ends the command ends its call, too: the server keeps what a lost connection leaves,
//! and would go on with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use farcall_base::{Error, Result};
use farcall_client::PendingCall;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register_conditional_default, register_usize};

use crate::output::tell;

/// Signals that came.
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    /// Whether the next one ends this process, as if nobody heard.
    is_last: Arc<AtomicBool>,
    is_told: bool,
}

impl Interrupt {
    /// Hears of signals from now on. The second one ends the command at once, whatever the server
    /// does.
    pub fn heard() -> Result<Interrupt> {
        let system = |error| Error::system("hear of signals", error);
        let signal = Arc::new(AtomicUsize::new(0));
        let is_last = Arc::new(AtomicBool::new(false));
        for (number, value) in [(SIGINT, 2), (SIGTERM, 15)] {
            // A shell's script has what it runs in the background hear of none.
            if !is_ignored(number) {
                register_conditional_default(number, is_last.clone()).map_err(system)?;
                signal_hook::flag::register(number, is_last.clone()).map_err(system)?;
                register_usize(number, signal.clone(), value).map_err(system)?;
            }
        }
        Ok(Interrupt { signal, is_last, is_told: false })
    }

    /// Tells the server, when one came.
    pub fn look(&mut self, call: &PendingCall) {
        if !self.is_told && self.signal.load(Ordering::Relaxed) != 0 {
            self.is_told = true;
            // Where the connection is gone for good, the call's outcome says so.
            let _ = call.cancel();
            // Routines that look for it end at once; others have a time of grace.
            tell("farcall: cancelling the call on the server; press Ctrl-C again to stop waiting");
        }
    }

    /// Ends this process as the signal would have, if one came; from now on, one does.
    pub fn end(&self) {
        self.is_last.store(true, Ordering::Relaxed);
        let signal = i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or(0);
        if signal != 0 {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// Whether the parent process had it ignore the signal (proc(5), `SigIgn`).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
