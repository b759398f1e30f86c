//! The end of a server that does not come to its end by itself.
//!
//! `End` and `while_wanted` hear signals on the main thread. Whatever holds that thread, or a
//! plugin that is to stop, this ends the process: after the time that calls have, and a grace.
//! Sockets and folders stay behind then; the next server takes them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Error, Result};
use farcall_system::signals::{signals, signals_taken};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::say;

/// Time beyond what calls and plugins have, for everything else that ends.
const GRACE: Duration =
    if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(5) };
/// Exit status of a server that did not end by itself.
const STATUS: i32 = 1;

/// Ends the process when a signal came and it does not end in time.
#[derive(Clone, Default)]
pub struct EndGuard {
    /// Time that calls have after the first signal, in milliseconds.
    calls_ms: Arc<AtomicU64>,
    /// Time that all plugins together have to stop, which the kernel sees to, in milliseconds.
    plugins_ms: Arc<AtomicU64>,
}

impl EndGuard {
    /// Guards from now on.
    ///
    /// # Errors
    /// `System` when signals cannot be heard, or no thread be started.
    pub fn begin() -> Result<EndGuard> {
        let signals = signals()?;
        let guard = EndGuard::default();
        let watching = guard.clone();
        let thread = std::thread::Builder::new().name("end-guard".to_owned());
        thread
            .spawn(move || watching.watch(&signals))
            .map_err(|error| Error::system("start a thread", error))?;
        Ok(guard)
    }

    /// Calls are served from now on, and have this time after a signal; then plugins have theirs to
    /// stop.
    pub fn allow(&self, calls: Duration, plugins: Duration) {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.calls_ms.store(milliseconds(calls), Ordering::Relaxed);
        self.plugins_ms.store(milliseconds(plugins), Ordering::Relaxed);
    }

    /// Time from the end of all calls to that of the process.
    fn grace(&self) -> Duration {
        GRACE.saturating_add(Duration::from_millis(self.plugins_ms.load(Ordering::Relaxed)))
    }

    /// Nothing is served any more: the process ends within the grace.
    pub fn expect_end(&self) {
        let grace = self.grace();
        // Where no thread can be had, a signal still ends it.
        let _ = std::thread::Builder::new().name("end-grace".to_owned()).spawn(move || {
            std::thread::sleep(grace);
            end();
        });
    }

    fn watch(&self, signals: &OwnedFd) {
        let mut until: Option<Instant> = None;
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                end();
            }
            let time = left.and_then(|left| Timespec::try_from(left).ok());
            let _ = poll(&mut [PollFd::new(signals, PollFlags::IN)], time.as_ref());
            let count = signals_taken(signals);
            if count == 0 {
                continue;
            }
            let is_first = until.is_none() && count == 1;
            let calls = Duration::from_millis(self.calls_ms.load(Ordering::Relaxed));
            let allowed = if is_first { calls.saturating_add(self.grace()) } else { self.grace() };
            until = Instant::now().checked_add(allowed);
        }
    }
}

/// Ends the process, whatever its other threads do.
fn end() {
    say("farcall: the server did not stop in time and was killed");
    signal_hook::low_level::exit(STATUS);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::process::Command;

    /// Set for the process that is to be ended.
    const HELD_UP: &str = "HELD_UP_FOR_A_TEST";

    #[test]
    fn a_server_that_something_holds_up_is_ended() {
        if let Some(how) = std::env::var_os(HELD_UP) {
            let guard = EndGuard::begin().unwrap();
            match how.to_str() {
                Some("signal") => kill_process(getpid(), Signal::TERM).unwrap(),
                _ => guard.expect_end(),
            }
            std::thread::sleep(Duration::from_secs(600));
        }
        for how in ["signal", "stop"] {
            let name = "serve::guard::tests::a_server_that_something_holds_up_is_ended";
            let mut held_up = Command::new(std::env::current_exe().unwrap());
            let ended =
                held_up.args(["--exact", name, "--nocapture"]).env(HELD_UP, how).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(STATUS), "{said}");
            assert!(said.contains("did not stop in time"), "{said}");
        }
    }
}
