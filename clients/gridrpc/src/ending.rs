//! Signals that end the program (`handling_signals`): what it has started elsewhere ends first.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use farcall_client::PerProcess;

/// Longest time that ending everything keeps the program.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the handler writes the signal's number, and the process that reads it.
static PIPE: AtomicI32 = AtomicI32::new(-1);
static READER: AtomicI32 = AtomicI32::new(0);
/// Whether a signal ends this process.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Keeps the pipe: a handler may run in any thread at any time, so that it is never closed.
static ENDS: PerProcess<Option<OwnedFd>> = PerProcess::new();

/// What handles the signals. Only what a handler may do.
pub extern "C" fn on_signal(signal: c_int) {
    // SAFETY: all of these may be called in a handler; the byte is ours.
    unsafe {
        if READER.load(Ordering::Relaxed) == libc::getpid() {
            let error = *libc::__errno_location();
            let number = signal as u8;
            libc::write(PIPE.load(Ordering::Relaxed), (&raw const number).cast(), 1);
            *libc::__errno_location() = error;
        } else {
            // A child of a fork has the handler, and nobody who reads.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

/// Has a thread wait for what the handler writes, and do `end_all` then; whether there is one.
pub fn begin(end_all: fn()) -> bool {
    ENDS.get(|| listen(end_all)).is_some()
}

fn listen(end_all: fn()) -> Option<OwnedFd> {
    let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok()?;
    let wait = move || {
        let mut number = [0];
        while !matches!(rustix::io::read(&reading, &mut number), Ok(1)) {}
        end(number[0].into(), end_all);
    };
    std::thread::Builder::new().name("farcall-signals".to_owned()).spawn(wait).ok()?;
    PIPE.store(writing.as_raw_fd(), Ordering::Relaxed);
    // SAFETY: it always succeeds.
    READER.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    Some(writing)
}

/// Ends what the program has started, and then the program, as the signal would have.
fn end(signal: c_int, end_all: fn()) -> ! {
    ENDING.store(true, Ordering::Relaxed);
    let (done, over) = mpsc::channel();
    let finalize = move || {
        end_all();
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(finalize).is_ok() {
        let _ = over.recv_timeout(PATIENCE);
    }
    // SAFETY: the default action of a signal that was sent to this process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
    }
    loop {
        std::thread::park();
    }
}

/// Does not return where a signal ends the process: the program is not to take the end of its calls
/// for an outcome.
pub fn hold_back() {
    while ENDING.load(Ordering::Relaxed) && std::thread::current().name() != Some("farcall-signals")
    {
        std::thread::park_timeout(PATIENCE);
    }
}
