//! Signal handlers that last until `grpc_finalize`.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ending;

/// The signals that are handled.
#[derive(Default)]
pub struct Signals {
    /// What was there before, by signal.
    before: Mutex<Vec<(c_int, libc::sigaction)>>,
    /// Those that end what the program has started.
    ending: Mutex<Vec<c_int>>,
    /// What these do first.
    end_all: Mutex<Option<fn()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    /// Puts a handler in place.
    pub fn set(&self, signal: c_int, handler: libc::sighandler_t) -> std::io::Result<()> {
        let mut before = lock(&self.before);
        // SAFETY: all zero is a value of the struct: no flags, an empty mask.
        let mut wanted: libc::sigaction = unsafe { std::mem::zeroed() };
        wanted.sa_sigaction = handler;
        wanted.sa_flags = libc::SA_RESTART;
        let replaced = act(signal, &wanted)?;
        if before.iter().all(|(known, _)| *known != signal) {
            before.push((signal, replaced));
        }
        Ok(())
    }

    /// Takes the program's handler off again: what was there before counts.
    pub fn unset(&self, signal: c_int) -> std::io::Result<()> {
        let mut all = lock(&self.before);
        let Some(place) = all.iter().position(|(known, _)| *known == signal) else {
            return disposition(signal).map(drop).ok_or_else(std::io::Error::last_os_error);
        };
        let (_, before) = all.swap_remove(place);
        drop(all);
        act(signal, &before)?;
        let ends = lock(&self.ending).contains(&signal);
        if ends {
            self.end_first(&[signal]);
        }
        Ok(())
    }

    /// Has these do `end_all` before they end the program: those that end it at once, and no
    /// others.
    pub fn handle(&self, signals: &[c_int], end_all: fn()) {
        *lock(&self.end_all) = Some(end_all);
        *lock(&self.ending) = signals.to_vec();
        self.end_first(signals);
    }

    fn end_first(&self, signals: &[c_int]) {
        let ends_it = |signal: &c_int| disposition(*signal) == Some(libc::SIG_DFL);
        let ours: Vec<c_int> = signals.iter().copied().filter(ends_it).collect();
        let end_all = *lock(&self.end_all);
        if ours.is_empty() || !end_all.is_some_and(ending::begin) {
            return;
        }
        for signal in ours {
            // One that cannot be handled stays as it is.
            let _ =
                self.set(signal, ending::on_signal as extern "C" fn(c_int) as libc::sighandler_t);
        }
    }

    /// Puts back what was there.
    pub fn restore(&self) {
        for (signal, before) in lock(&self.before).drain(..) {
            // It was in place before, so the system takes it.
            let _ = act(signal, &before);
        }
    }
}

/// What handles a signal now.
fn disposition(signal: c_int) -> Option<libc::sighandler_t> {
    // SAFETY: as in `set`.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the struct is ours, and nothing is changed.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), &mut now) };
    (status == 0).then_some(now.sa_sigaction)
}

fn act(signal: c_int, wanted: &libc::sigaction) -> std::io::Result<libc::sigaction> {
    // SAFETY: as in `set`.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both structs are ours; the handler is the program's own, or was in place.
    let status = unsafe { libc::sigaction(signal, wanted, &mut before) };
    if status == 0 { Ok(before) } else { Err(std::io::Error::last_os_error()) }
}
