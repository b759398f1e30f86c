//! An executable that MPI starts: its first rank serves the connection, and the others run with it
//! what it is sent.
//!
//! Nothing here knows an MPI: the program, which was compiled with one, brings the functions
//! (`build/ranks.c`). All ranks pass the same messages in the same order: an announcement, and what
//! its word says follows it. Before a routine runs, all agree that they are ready for it; so none
//! waits inside one that another could not begin.
//!
//! | word | rank 0 sends | then |
//! |---|---|---|
//! | `LOAD` | the encoded module | all agree whether it could be loaded |
//! | `CALL` | the call's Open, without the arrays that are rank 0's alone | all lay it out, and agree that they could |
//! | | each array and file with `broadcast`, from where it lies to where it lies | the routine runs, and all agree on how |
//! | `END` | | all leave MPI |
//!
//! The others lay a call out with the code that lays out rank 0's: sizes, places and files mean the
//! same everywhere. What an error of MPI's leaves out of step cannot be mended: the process that
//! meets one aborts them all, and the spawner sees it.

mod others;

use std::ffi::{c_int, c_longlong, c_void};
use std::num::NonZero;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use farcall_base::{Clock, Error, ErrorKind, Result, SystemClock};
use farcall_idl::interface::{Distribution, Shape};
use farcall_idl::layout::ParameterLayout;
use farcall_link::memory::{MemorySource, Space};
use farcall_services::spawner::{DIAL, LEADS, SOCKET_VARIABLE};
use farcall_transport_unix::{MemoryLimits, SharedMemory};
use farcall_wire::message::{decode, encode};
use farcall_wire::{Failure, Open, Publication};
use rustix::net::{AddressFamily, Protocol, SocketType};

use super::Own;
use super::call::{PendingCall, Place, Ready};
use super::memory::{Arenas, Segments};
use super::module::{LoadedModule, LoadedRoutine};
pub use others::for_others;
use others::is_everywhere;

/// `struct farcall_ranks`: what the program's MPI does. Each returns 0, or an error number of
/// MPI's.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Functions {
    size: usize,
    begin: unsafe extern "C" fn(rank: *mut c_int, count: *mut c_int) -> c_int,
    announce: unsafe extern "C" fn(word: *mut c_longlong) -> c_int,
    broadcast: unsafe extern "C" fn(bytes: *mut c_void, count: usize, root: c_int) -> c_int,
    agree: unsafe extern "C" fn(failed: *mut c_int) -> c_int,
    end: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(status: c_int),
}

/// Those of this program.
static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
/// What this process is among the ranks, once it is.
static RANK: OnceLock<Ranks> = OnceLock::new();

/// Words that rank 0 announces: the others end, load a module whose encoding follows, or run a
/// call.
const END: c_longlong = 0;
/// A module follows, and whether all could load it.
const LOAD: c_longlong = 1;
/// A call follows, whether all are ready for it, its marked arrays, and how it went.
const CALL: c_longlong = 2;

/// Where no rank has failed.
const NOBODY: c_int = c_int::MAX;
/// What travels of a rank's failure.
const FAILURE_BYTES_MAX: u64 = 64 << 10;
/// The exit status of all ranks where one met what it cannot go on from.
const ABORTED: c_int = 70;

/// This process among those that run its calls.
pub struct Ranks {
    functions: Functions,
    rank: c_int,
}

/// Takes what the program's MPI does: its `main` says so before it serves.
///
/// # Safety
/// `functions` is NULL or has the size that it says, and lives and works as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_ranks(functions: *const Functions) {
    // SAFETY: the caller's promise.
    let Some(functions) = (unsafe { functions.as_ref() }) else { return };
    if functions.size >= size_of::<Functions>() {
        let _ = FUNCTIONS.set(*functions);
    }
}

/// Whether the program brought an MPI along.
pub fn is_given() -> bool {
    FUNCTIONS.get().is_some()
}

/// The ranks that this process leads.
pub fn led() -> Option<&'static Ranks> {
    RANK.get().filter(|ranks| ranks.rank == 0)
}

/// Whether this process follows another: no server is to be asked anything from here.
pub fn follows() -> bool {
    RANK.get().is_some_and(|ranks| ranks.rank != 0)
}

/// Begins MPI. The first rank gets its connection to the server; the others follow it to the end,
/// and get none.
pub fn begin(own: &Own) -> Result<Option<OwnedFd>> {
    let functions =
        *FUNCTIONS.get().ok_or_else(|| Error::internal("start MPI", "the program has none"))?;
    let mut rank = 0;
    let mut count = 0;
    // SAFETY: the program's promise; both have room.
    checked("start MPI", unsafe { (functions.begin)(&raw mut rank, &raw mut count) })?;
    let ranks = RANK.get_or_init(|| Ranks { functions, rank });
    if rank != 0 {
        drop(dialled());
        return ranks.follow(own).map(|()| None);
    }
    // What cannot be served must end everywhere.
    lead().map(Some).inspect_err(|_| ranks.end())
}

/// Asks for a connection by a call that the spawner answers; where nobody does, dials the socket
/// that the spawner has put where only this user can reach it. Before this process is confined, and
/// before anybody knows which rank it is. `None` on another host than the server's.
pub(super) fn dial() -> Option<OwnedFd> {
    let path = std::env::var_os(SOCKET_VARIABLE)
        .filter(|path| path.as_encoded_bytes().starts_with(b"/"))?;
    let stream = asked().or_else(|| UnixStream::connect(&path).ok().map(OwnedFd::from))?;
    // For the program that this process becomes.
    rustix::io::fcntl_setfd(&stream, rustix::io::FdFlags::empty()).ok()?;
    Some(stream)
}

/// Outside of a launcher's filter, the system knows no such protocol.
fn asked() -> Option<OwnedFd> {
    let protocol = NonZero::new(DIAL).map(Protocol::from_raw);
    rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, protocol).ok()
}

/// What [`dial`] left for this program.
fn dialled() -> Option<OwnedFd> {
    let number: RawFd = std::env::var(SOCKET_VARIABLE).ok()?.parse().ok()?;
    // SAFETY: this process was started with it for this, and takes it once.
    let connection = (number > 2).then(|| unsafe { OwnedFd::from_raw_fd(number) })?;
    rustix::io::fcntl_setfd(&connection, rustix::io::FdFlags::CLOEXEC).ok()?;
    Some(connection)
}

/// Rank 0 takes its connection, and tells the server which of all those that it was sent is the
/// one.
fn lead() -> Result<OwnedFd> {
    let connection = dialled().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "connect with the server",
            "the first rank has no connection to the server",
        )
        .fix("the first rank must run on the host of the server that started mpirun")
    })?;
    rustix::io::write(&connection, &[LEADS])
        .map_err(|errno| Error::system("connect with the server", errno.into()))?;
    Ok(connection)
}

fn checked(operation: &'static str, status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::System, operation, "MPI failed").with("error of MPI", status))
}

impl Ranks {
    /// Takes the word that rank 0 announces, or announces it.
    fn announce(&self, mut word: c_longlong) -> Result<c_longlong> {
        // SAFETY: the program's promise; the word outlives the call.
        checked("reach the other ranks", unsafe { (self.functions.announce)(&raw mut word) })?;
        Ok(word)
    }

    /// Fills `space` with what it is at `root`.
    fn spread(&self, space: &mut Space, root: c_int) -> Result<()> {
        let bytes = space.bytes();
        self.spread_bytes(bytes, root)
    }

    fn spread_bytes(&self, bytes: &mut [u8], root: c_int) -> Result<()> {
        // SAFETY: the program's promise; the memory is ours alone for the time of the call.
        let status =
            unsafe { (self.functions.broadcast)(bytes.as_mut_ptr().cast(), bytes.len(), root) };
        checked("reach the other ranks", status)
    }

    /// Bytes whose number only `root` knows; at most `most`.
    fn spread_text(&self, text: Vec<u8>, root: c_int, most: u64) -> Result<Vec<u8>> {
        // Ranks of one program have one byte order.
        let mut length = (text.len() as u64).to_ne_bytes();
        self.spread_bytes(&mut length, root)?;
        let length = u64::from_ne_bytes(length);
        if length > most {
            return Err(Error::internal(
                "reach the other ranks",
                "a message is longer than any should be",
            ));
        }
        let mut bytes = if self.rank == root { text } else { vec![0; length as usize] };
        self.spread_bytes(&mut bytes, root)?;
        Ok(bytes)
    }

    /// Whether all succeeded: the failure of the first that did not goes to all.
    fn agree(&self, own: Result<()>) -> Result<()> {
        let mut failed = if own.is_ok() { NOBODY } else { self.rank };
        // SAFETY: the program's promise.
        checked("reach the other ranks", unsafe { (self.functions.agree)(&raw mut failed) })?;
        if failed == NOBODY {
            return Ok(());
        }
        let told = match &own {
            Err(error) if failed == self.rank => encode(&Failure::from(error)),
            _ => Vec::new(),
        };
        let told = self.spread_text(told, failed, FAILURE_BYTES_MAX)?;
        match own {
            Err(error) if failed == self.rank => Err(error.with("rank", self.rank)),
            _ => {
                Err(Error::from(decode::<Failure>("a rank's failure", &told)?).with("rank", failed))
            }
        }
    }

    /// Rank 0: there is no more to do for anybody.
    pub fn end(&self) {
        if self.announce(END).is_ok() {
            // SAFETY: the program's promise.
            unsafe { (self.functions.end)() };
        }
    }

    /// Has the others load a module that this process has loaded, or not.
    pub fn load(
        &self,
        publication: &Publication,
        own: Result<LoadedModule>,
    ) -> Result<LoadedModule> {
        let sent = self
            .announce(LOAD)
            .and_then(|_| self.spread_text(publication.module.clone(), 0, MODULE_BYTES_MAX));
        sent.map_err(|error| self.abort(&error))?;
        let (module, outcome) = match own {
            Ok(module) => (Some(module), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.agree(outcome)?;
        module.ok_or_else(|| Error::internal("load a module", "all ranks but this one have it"))
    }

    /// Has the others run a call that is ready here, and waits until they are.
    pub fn call(&self, open: &[u8], loaded: &LoadedRoutine, call: &PendingCall) -> Result<()> {
        let sent = self
            .announce(CALL)
            .and_then(|_| self.spread_text(open.to_vec(), 0, CALL_MESSAGE_BYTES_MAX));
        sent.map_err(|error| self.abort(&error))?;
        self.agree(Ok(()))?;
        self.arguments(loaded, call).map_err(|error| self.abort(&error))
    }

    /// Waits until all have run it.
    pub fn returned<T: Default>(&self, own: Result<T>) -> Result<T> {
        let (value, own) = match own {
            Ok(value) => (value, Ok(())),
            Err(error) => (T::default(), Err(error)),
        };
        self.agree(own).map(|()| value)
    }

    /// What the ranks must all have before a call begins.
    fn arguments(&self, loaded: &LoadedRoutine, call: &PendingCall) -> Result<()> {
        for (index, place) in call.places.iter().enumerate() {
            let distribution = loaded.routine.implementation.distribution(index);
            if distribution != Distribution::Broadcast {
                continue;
            }
            match (place, &call.layout.parameters[index]) {
                (Place::Memory(region, offset), ParameterLayout::Array(array)) => {
                    self.spread(&mut Space::of(&**region, *offset, array.full_bytes as usize)?, 0)?;
                }
                (Place::File(Some(content)), _) => self.spread(&mut content.space()?, 0)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// There is no way on for anybody: MPI's messages are out of step.
    fn abort(&self, error: &Error) -> Error {
        eprintln!("farcall: rank {}: {error}", self.rank);
        // SAFETY: the program's promise; it does not come back.
        unsafe { (self.functions.abort)(ABORTED) };
        Error::internal("reach the other ranks", "MPI went on after an abort")
    }

    /// Another rank than the first: does what that says until it says that this is all.
    fn follow(&self, own: &Own) -> Result<()> {
        let limits =
            MemoryLimits { idle_bytes_max: 0, idle_regions_max: 0, ..MemoryLimits::default() };
        let memory: Arc<dyn MemorySource> = Arc::new(SharedMemory::new(limits));
        let mut state =
            Follower { segments: Segments::new(memory), arenas: Arenas::default(), module: None };
        loop {
            match self.announce(END)? {
                END => break,
                LOAD => self.follow_load(own, &mut state)?,
                CALL => self.follow_call(&mut state).map_err(|error| self.abort(&error))?,
                _ => {
                    return Err(
                        self.abort(&Error::internal("follow rank 0", "it sent an unknown message"))
                    );
                }
            }
        }
        // SAFETY: the program's promise.
        checked("end MPI", unsafe { (self.functions.end)() })
    }

    /// A module that cannot be loaded is rank 0's to report.
    fn follow_load(&self, own: &Own, state: &mut Follower) -> Result<()> {
        let module = self
            .spread_text(Vec::new(), 0, MODULE_BYTES_MAX)
            .map_err(|error| self.abort(&error))?;
        crate::confine::begin_call();
        let publication = Publication { module, libraries: Vec::new(), object: None };
        let loaded = LoadedModule::load(&publication, own.source());
        let (module, outcome) = match loaded {
            Ok(module) => (Some(module), Ok(())),
            Err(error) => (None, Err(error)),
        };
        if self.agree(outcome).is_ok() {
            state.module = module;
        }
        Ok(())
    }

    /// Fails only where the ranks are out of step.
    fn follow_call(&self, state: &mut Follower) -> Result<()> {
        let message = self.spread_text(Vec::new(), 0, CALL_MESSAGE_BYTES_MAX)?;
        let prepared = state.prepare(&message);
        let (ready, outcome) = match prepared {
            Ok(ready) => (Some(ready), Ok(())),
            Err(error) => (None, Err(error)),
        };
        if self.agree(outcome).is_err() {
            return Ok(());
        }
        let (Some((call, mut ready)), Some(module)) = (ready, &state.module) else {
            return Err(Error::internal("follow rank 0", "all ranks are ready but this one"));
        };
        let loaded = module.find(call.routine())?;
        self.arguments(loaded, &call)?;
        // What becomes of it is rank 0's to report.
        let _ = self.agree(call.invoke(module, loaded, &mut ready).map(drop));
        drop(ready);
        state.arenas.take_back(call.into_arena());
        Ok(())
    }
}

/// Longest encoding of a module that is sent on.
const MODULE_BYTES_MAX: u64 = 64 << 20;
/// Longest message with a call's small values.
const CALL_MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// What another rank than the first keeps between calls.
struct Follower {
    segments: Segments,
    arenas: Arenas,
    module: Option<LoadedModule>,
}

impl Follower {
    fn prepare(&mut self, message: &[u8]) -> Result<(PendingCall, Ready)> {
        let open: Open = decode("a call for all ranks", message)?;
        let module = self.module.as_ref();
        let module = module
            .ok_or_else(|| Error::internal("follow rank 0", "a call came before its module"))?;
        let mut call = PendingCall::new(
            module,
            &open,
            &self.segments,
            &mut self.arenas,
            SystemClock::new().now(),
        )?;
        let loaded = module.find(call.routine())?;
        // Small arrays came with the message, since sizes may refer to them: only marked ones are
        // the routine's.
        for (index, parameter) in loaded.routine.interface.parameters.iter().enumerate() {
            if matches!(parameter.shape, Shape::Array { .. }) && !is_everywhere(loaded, index) {
                call.places[index] = Place::None;
            }
        }
        let ready = call.ready(loaded)?;
        Ok((call, ready))
    }
}
