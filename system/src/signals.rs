//! Signals that end programs, as a descriptor that can be waited for beside others.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use farcall_base::{Error, Result};
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// What can be read from when a signal that ends programs has come.
///
/// # Errors
/// `System`.
pub fn signals() -> Result<OwnedFd> {
    let system = |error: std::io::Error| Error::system("watch for signals", error);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
        .map_err(|error| system(error.into()))?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        let writer = writer.try_clone().map_err(system)?;
        signal_hook::low_level::pipe::register(signal, writer).map_err(system)?;
    }
    // A file that may not grow fails what needs it, and not the server. Executables begin with the
    // system's own way again, since handlers do not outlive exec.
    let unheard = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, unheard).map_err(system)?;
    Ok(reader)
}

/// Signals that came since they were last looked at.
pub fn signals_taken(signals: &OwnedFd) -> usize {
    rustix::io::read(signals, &mut [0; 16]).unwrap_or(0)
}
