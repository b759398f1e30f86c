//! The call that runs, as its routine's code reaches it: from any thread of this process, by
//! functions that know of no object, and through a host's table of such functions where this code
//! came in with a routine's library.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use farcall_base::{CallId, Result};
use farcall_link::{Link, Received};
use farcall_transport_unix::Birthplace;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{Shutdown, shutdown};

use super::nest::{self, Door};
use super::wait::Waiter;
use super::{RECEIVE_BUDGET, Session, callback, cancel};
use crate::entry::EntryPoint;

/// `farcall_host`: what the copy of this code that runs calls does for another.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    size: usize,
    server: Option<Door>,
    is_cancelled: Option<unsafe extern "C" fn() -> c_int>,
    progress: Option<unsafe extern "C" fn(f64, *const c_char) -> c_int>,
    callback_failed: Option<unsafe extern "C" fn() -> c_int>,
    callback_failure: Option<unsafe extern "C" fn(*mut c_char, usize) -> c_int>,
}

/// This process's own functions, for the libraries that it opens.
static OWN: Host = Host {
    size: size_of::<Host>(),
    server: Some(nest::door),
    is_cancelled: Some(cancel::own_is_cancelled),
    progress: Some(cancel::own_progress),
    callback_failed: Some(callback::own_callback_failed),
    callback_failure: Some(callback::own_callback_failure),
};
/// What a host does not do.
const NOTHING: Host = Host {
    size: size_of::<Host>(),
    server: None,
    is_cancelled: None,
    progress: None,
    callback_failed: None,
    callback_failure: None,
};
/// Those of the process's host, where this code came in with a routine's library.
static HOST: OnceLock<Host> = OnceLock::new();
/// The call that runs, while one does.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Something came for a thread that waits inside the call, or the call is over.
static CHANGED: Condvar = Condvar::new();
/// Threads that wait for that. Counted under the lock on `RUNNING`: a thread that changes something
/// under it sees all those that wait for that.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// Wakes the thread that waits for the server, when another has read what came, or has something to
/// send.
static NUDGE: OnceLock<OwnedFd> = OnceLock::new();

/// What leads to the server.
pub(super) struct Way<'a> {
    pub session: &'a mut Session,
    pub link: &'a mut Link,
    pub waiter: &'a mut Waiter,
}

/// The call that runs.
pub(super) struct Running {
    /// Taken from whoever runs the call, who takes it back before it goes on.
    way: NonNull<Way<'static>>,
    pub call: CallId,
    /// A fork of a process that runs a call has no way: two that write to one connection destroy
    /// it.
    process: Birthplace,
    /// Our ends of the connections that were asked for, to end them with the call.
    pub given: Vec<OwnedFd>,
    /// Whether a thread waits for the server: it reads for all others that do.
    reading: bool,
}

// SAFETY: whoever holds the lock on `RUNNING` has the way alone: the thread that lent it waits for
// the routine, and takes it back under the same lock.
unsafe impl Send for Running {}

impl Running {
    pub fn way(&mut self) -> &mut Way<'static> {
        // SAFETY: it was lent for as long as this stands in `RUNNING`, and the lock is held.
        unsafe { self.way.as_mut() }
    }
}

impl Way<'_> {
    /// Takes what has come, and sends what waits, as far as that goes at once.
    pub fn look(&mut self) {
        if let Err(error) = self.try_to_look() {
            // Who runs the call ends with it; nobody wants the outcome.
            self.session.broken.get_or_insert(error);
        }
    }

    fn try_to_look(&mut self) -> Result<()> {
        loop {
            match self.link.receive(self.session, RECEIVE_BUDGET)? {
                Received::More => {}
                Received::Blocked => break,
                Received::Closed => {
                    self.session.left = true;
                    break;
                }
            }
        }
        self.session.pump(self.link).map(|_| ())
    }
}

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `ask` gives of the call that runs; `None` where none does.
pub(super) fn with<T>(ask: impl FnOnce(&mut Running) -> T) -> Option<T> {
    let mut guard = running();
    let running = guard.as_mut().filter(|running| running.process.is_here())?;
    let asked = ask(running);
    if running.reading {
        nudge();
    }
    Some(asked)
}

/// Waits in a thread of the routine until `ready` gives something: one of them reads for all.
/// `None` when the call is over.
pub(super) fn wait_until<T>(mut ready: impl FnMut(&mut Running) -> Option<T>) -> Option<T> {
    let mut guard = running();
    let call = guard.as_ref()?.call;
    loop {
        let running =
            guard.as_mut().filter(|running| running.process.is_here() && running.call == call)?;
        if let Some(found) = ready(running) {
            // Another may have to read now.
            tell_all();
            return Some(found);
        }
        if running.reading {
            WAITING.fetch_add(1, Ordering::Relaxed);
            guard = CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner);
            WAITING.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        running.reading = true;
        let way = running.way();
        let watch = way.waiter.watch(way.link);
        drop(guard);
        // Of one that cannot be watched, reading says why.
        if let Ok(Some(watch)) = watch {
            watch.wait(NUDGE.get_or_init(new_nudge));
        }
        guard = self::running();
        let running =
            guard.as_mut().filter(|running| running.process.is_here() && running.call == call)?;
        running.reading = false;
        let way = running.way();
        way.waiter.heard();
        way.look();
        tell_all();
    }
}

/// To be told after a change under the lock. A system call only where a thread waits, which hardly
/// any routine's does.
fn tell_all() {
    if WAITING.load(Ordering::Relaxed) > 0 {
        CHANGED.notify_all();
    }
}

fn new_nudge() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .expect("a process that runs calls can have a descriptor more")
}

fn nudge() {
    if let Some(nudge) = NUDGE.get() {
        let _ = rustix::io::write(nudge, &1_u64.to_ne_bytes());
    }
    tell_all();
}

/// Lets the routine that `run` runs reach its server. The connections that it got end with it.
pub(super) fn during<T>(mut way: Way<'_>, call: CallId, run: impl FnOnce() -> T) -> T {
    let way = NonNull::from(&mut way).cast::<Way<'static>>();
    *running() =
        Some(Running { way, call, process: Birthplace::here(), given: Vec::new(), reading: false });
    // However the routine is left, nobody finds the way any more.
    let _end = End;
    run()
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        let ended = running().take();
        nudge();
        // A fork that came this far must not end what its parent uses.
        let given =
            ended.filter(|ended| ended.process.is_here()).map_or(Vec::new(), |ended| ended.given);
        for socket in &given {
            // Fails only if the other end has ended.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

/// Where to ask for the running server, if that is not here.
pub(super) fn door() -> Option<Door> {
    HOST.get().and_then(|host| host.server)
}

/// The host's function, where this copy of the code does not run calls itself.
pub(super) fn is_cancelled_of_host() -> Option<unsafe extern "C" fn() -> c_int> {
    HOST.get().and_then(|host| host.is_cancelled)
}

/// The host's function, where this copy of the code does not run calls itself.
pub(super) fn progress_of_host() -> Option<unsafe extern "C" fn(f64, *const c_char) -> c_int> {
    HOST.get().and_then(|host| host.progress)
}

/// The host's function, where this copy of the code does not run calls itself.
pub(super) fn callback_failed_of_host() -> Option<unsafe extern "C" fn() -> c_int> {
    HOST.get().and_then(|host| host.callback_failed)
}

/// The host's function, where this copy of the code does not run calls itself.
pub(super) fn callback_failure_of_host() -> Option<unsafe extern "C" fn(*mut c_char, usize) -> c_int>
{
    HOST.get().and_then(|host| host.callback_failure)
}

/// The functions of a library, found by name, that take what its host does for it; the first that
/// there is is told.
pub(crate) const HOST_ENTRIES: [&CStr; 2] =
    [c"farcall_executable_host", c"farcall_executable_door"];

/// Shows the way to a library that was loaded with a copy of this code: `entry` is that of the name
/// in [`HOST_ENTRIES`].
pub(crate) fn show_host(name: &CStr, entry: EntryPoint) {
    let address = entry.function() as usize;
    let own = [
        farcall_executable_host as *const () as usize,
        farcall_executable_door as *const () as usize,
    ];
    if own.contains(&address) {
        return;
    }
    // SAFETY: these are the signatures of the functions of these names.
    unsafe {
        if name == HOST_ENTRIES[0] {
            type Tell = unsafe extern "C" fn(*const Host);
            std::mem::transmute::<unsafe extern "C" fn(), Tell>(entry.function())(&raw const OWN);
        } else {
            type Tell = unsafe extern "C" fn(Option<Door>);
            std::mem::transmute::<unsafe extern "C" fn(), Tell>(entry.function())(Some(nest::door));
        }
    }
}

/// What the host does, for a copy of this code that does not run calls itself.
///
/// # Safety
/// `host` is as farcall-executable.h says; its functions may be called for as long as the process
/// lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_host(host: *const Host) {
    // SAFETY: the caller's promise: it has as many bytes as it says, the number itself among them.
    let Some(size) = (unsafe { host.cast::<usize>().as_ref() }).copied() else { return };
    let mut known = Host { size: size_of::<Host>(), ..NOTHING };
    // SAFETY: the caller's promise; NULL pointers are no functions, and what an older host does not
    // have stays so.
    unsafe {
        let bytes = size.min(size_of::<Host>());
        host.cast::<u8>().copy_to_nonoverlapping((&raw mut known).cast(), bytes);
    }
    let _ = HOST.set(known);
}

/// Where to ask for the running server, alone: what hosts told before there was
/// [`farcall_executable_host`].
///
/// # Safety
/// `door` is as farcall-executable.h says, for as long as the process lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_door(door: Option<Door>) {
    if door.is_some() {
        let _ = HOST.set(Host { server: door, ..NOTHING });
    }
}
