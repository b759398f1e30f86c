//! How an executable begins: where its connection is, and what it does before the first call.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Proof};
use farcall_services::spawner::SOCKET_VARIABLE;
use farcall_services::spawner::zygote::{Packet, ZYGOTE_VARIABLE, ZygoteLink};
use farcall_transport_unix::{MemoryLimits, SharedMemory, ring};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::children::keep_what_calls_start;
use super::hosted::{Function, RawBody, RawLoad};
use super::overflow;
use super::ranks::{self, Ranks};
use super::zygote::{self, Preloaded};
use super::{Code, Own as OwnCode};
use crate::confine::begin_call;
use crate::entry::{LinkedEntries, LinkedEntry};

/// Runs the generic host; returns the process's exit status.
pub fn host_main() -> i32 {
    restore_broken_pipes();
    report(confined().and_then(|()| begin(OwnCode::Nothing)))
}

/// Becomes `program`, held to its rules before its code is even loaded; returns an exit status only
/// if it cannot.
pub fn run_program(program: &Path, arguments: &[OsString]) -> i32 {
    restore_broken_pipes();
    // By who starts it, who may be another user than the module's.
    let flags = i32::try_from(OFlags::PATH.bits()).expect("open flags fit a C int");
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(program).ok();
    let leads_ranks = std::env::var_os(SOCKET_VARIABLE)
        .is_some_and(|path| path.as_encoded_bytes().starts_with(b"/"));
    // Without a connection it only looks into a file: it forks no executables, so that it is held
    // to all from here on.
    let is_executable =
        [SOCKET_VARIABLE, ZYGOTE_VARIABLE].iter().any(|name| std::env::var_os(name).is_some());
    // Its libraries are opened before its own code begins, and that is bounded, too.
    let confined = match (is_executable, leads_ranks) {
        // A launcher is no call.
        (true, true) => confined_launcher(),
        (true, false) => confined().map(|()| begin_call()),
        (false, _) => confine_inspection(),
    };
    report(confined.and_then(|()| {
        let mut error = std::process::Command::new(program).args(arguments).exec();
        // The module's user may not reach the folder: the server keeps what it has built to itself.
        if let (std::io::ErrorKind::PermissionDenied, Some(opened)) = (error.kind(), opened) {
            let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
            error = std::process::Command::new(path).arg0(program).args(arguments).exec();
        }
        Err(cannot_become(program, error))
    }))
}

fn cannot_become(program: &Path, error: std::io::Error) -> Error {
    Error::system("start an executable's program", error).with("program", program.display())
}

/// Becomes `program` as one of the processes that an MPI's launcher starts, with a connection to
/// the server that waits for the first of them; returns an exit status only if it cannot. What the
/// program loads may ask for none: so each process dials before it is confined, and all but the
/// first one close what they got.
pub fn run_rank(program: &Path, arguments: &[OsString]) -> i32 {
    restore_broken_pipes();
    let connection = ranks::dial();
    report(crate::confine::confine_rank().and_then(|()| {
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        match &connection {
            Some(connection) => command.env(SOCKET_VARIABLE, connection.as_raw_fd().to_string()),
            None => command.env_remove(SOCKET_VARIABLE),
        };
        Err(cannot_become(program, command.exec()))
    }))
}

fn confined() -> Result<()> {
    end_with_parent();
    crate::confine::confine(None).map(drop)
}

/// Confines what becomes an MPI's launcher, in a session that nothing leaves which it starts. It
/// has no input: over what stands there, the spawner learns which processes dial.
fn confined_launcher() -> Result<()> {
    end_with_parent();
    rustix::process::setsid().map_err(|errno| Error::system("begin a session", errno.into()))?;
    let server = super::keeper::keep()?;
    let dials = crate::confine::confine(server)?;
    let link = ZygoteLink::new(take_descriptor_0()?);
    dials.map_or(Ok(()), |dials| link.send(Packet::Dials, &[dials.as_fd()]))
}

/// Holds this process, which only looks into a module, to all that holds one of its executables in
/// a call.
///
/// # Errors
/// When a rule cannot be held that must be.
pub fn confine_inspection() -> Result<()> {
    confined()?;
    let mut answer = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
    // A server that died before this process asked to die with it has closed its end by then.
    if poll(&mut answer, Some(&Timespec::default())).is_ok()
        && answer[0].revents().contains(PollFlags::ERR)
    {
        return Err(Error::new(
            ErrorKind::ShuttingDown,
            "look into a module",
            "the server is gone",
        ));
    }
    begin_call();
    Ok(())
}

/// Runs a linked executable; returns the process's exit status.
pub fn linked_main(entries: Result<LinkedEntries>) -> i32 {
    report(entries.and_then(|entries| begin(OwnCode::Linked(entries))))
}

/// An executable from the start; or a zygote, and then each executable that it forks.
fn begin(own: OwnCode) -> Result<()> {
    // A check wants to know that it loads, and nothing else.
    if matches!(own, OwnCode::Linked(_))
        && std::env::args_os().nth(1).is_some_and(|one| one == "--check")
    {
        return Ok(());
    }
    end_with_parent();
    overflow::watch();
    if ranks::is_given() {
        return begin_ranks(own);
    }
    if std::env::var(ZYGOTE_VARIABLE).as_deref() != Ok("0") {
        let connection = inherited()?;
        keep_what_calls_start();
        return run(connect(connection)?, own, None);
    }
    match zygote::run(ZygoteLink::new(take_descriptor_0()?), own.source())? {
        Some(born) => run(connect(born.connection)?, own, Some(born.preloaded)),
        None => Ok(()),
    }
}

/// One of the processes that MPI starts.
fn begin_ranks(own: OwnCode) -> Result<()> {
    print_by_lines();
    let Some(connection) = ranks::begin(&own)? else { return Ok(()) };
    let outcome = connect(connection).and_then(|stream| run(stream, own, None));
    ranks::led().into_iter().for_each(Ranks::end);
    outcome
}

fn report(outcome: Result<()>) -> i32 {
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("farcall: {error}");
            1
        }
    }
}

unsafe extern "C" {
    #[link_name = "stdout"]
    static STANDARD_OUTPUT: *mut libc::FILE;
}

/// Somebody may be watching: what C code prints leaves with each line, as on a terminal, though it
/// goes into a pipe.
fn print_by_lines() {
    // SAFETY: nothing was written to the stream yet, and no other thread runs.
    unsafe { libc::setvbuf(STANDARD_OUTPUT, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

fn run(stream: Box<dyn ByteStream>, own: OwnCode, preloaded: Option<Preloaded>) -> Result<()> {
    print_by_lines();
    // This process only adopts memory, so its own pool may be empty.
    let limits = MemoryLimits { idle_bytes_max: 0, idle_regions_max: 0, ..MemoryLimits::default() };
    super::serve(stream, Arc::new(SharedMemory::new(limits)), Code { own, preloaded })
}

/// The connection that the spawner left as descriptor 0.
fn inherited() -> Result<OwnedFd> {
    if std::env::var(SOCKET_VARIABLE).as_deref() != Ok("0") {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "start the executable",
            "it has no connection to a server",
        )
        .fix("executables are started by `farcall serve`, not by hand"));
    }
    take_descriptor_0()
}

/// What the spawner left as descriptor 0, which becomes /dev/null, so that a routine which reads
/// its standard input finds an end instead of the protocol.
fn take_descriptor_0() -> Result<OwnedFd> {
    let inherited = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)
        .map_err(|error| Error::system("take over the connection", error.into()))?;
    let null =
        std::fs::File::open("/dev/null").map_err(|error| Error::system("open /dev/null", error))?;
    rustix::stdio::dup2_stdin(&null)
        .map_err(|error| Error::system("close standard input", error.into()))?;
    Ok(inherited)
}

fn connect(connection: OwnedFd) -> Result<Box<dyn ByteStream>> {
    match rustix::net::sockopt::socket_domain(&connection) {
        Ok(rustix::net::AddressFamily::UNIX) | Err(_) => ring::accept(connection, Proof::Inherited),
        Ok(_) => farcall_transport_tcp::from_descriptor(connection, Proof::Inherited),
    }
}

/// Routines meet a broken pipe as any C program does. Rust's start ignores the signal; that of a
/// linked executable, which has C's own, does not.
fn restore_broken_pipes() {
    // SAFETY: no other thread runs yet, and the default action is valid for any signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// A server that dies must not leave its executables behind, nor a zygote its own.
pub(crate) fn end_with_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// `main` of every linked executable ends here (generated C calls it).
///
/// # Safety
/// `entries` is an array of `count` entries with NUL-terminated names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_main(
    _argc: std::ffi::c_int,
    _argv: *const *const std::ffi::c_char,
    entries: *const LinkedEntry,
    count: usize,
) -> std::ffi::c_int {
    // SAFETY: the caller's promise, passed on.
    let entries = unsafe { LinkedEntries::new(entries, count) };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| linked_main(entries))).unwrap_or(101)
}

/// `main` of a stub executable, which carries its module (generated C calls it;
/// farcall-executable.h).
///
/// # Safety
/// As for [`farcall_executable_main`]; `argv` has `argc` arguments, `module` has `module_bytes`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_stub_main(
    argc: std::ffi::c_int,
    argv: *const *const std::ffi::c_char,
    entries: *const LinkedEntry,
    count: usize,
    module: *const u8,
    module_bytes: usize,
) -> std::ffi::c_int {
    let arguments = (1..usize::try_from(argc).unwrap_or(0)).map(|index| {
        // SAFETY: the caller's promise; every argument of a program is NUL-terminated.
        unsafe { std::ffi::CStr::from_ptr(*argv.add(index)) }.to_string_lossy().into_owned()
    });
    let arguments: Vec<String> = arguments.collect();
    if arguments.is_empty() {
        // SAFETY: the caller's promise, passed on.
        return unsafe { farcall_executable_main(argc, argv, entries, count) };
    }
    // SAFETY: the caller's promise.
    let module = unsafe { std::slice::from_raw_parts(module, module_bytes) };
    let told = || report(super::stub::tell(&arguments, module));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(told)).unwrap_or(101)
}

/// `main` of a program that runs all routines with one function of its own (farcall-executable.h).
///
/// # Safety
/// `load` and `body` take `context`, and what the header says, as long as this function has not
/// returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcall_executable_serve(
    load: Option<RawLoad>,
    body: Option<RawBody>,
    context: *mut std::ffi::c_void,
) -> std::ffi::c_int {
    let (Some(load), Some(body)) = (load, body) else { return 1 };
    // SAFETY: the caller's promise, passed on.
    let function = unsafe { Function::new(load, body, context) };
    let serve = || report(begin(OwnCode::Hosted(function)));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(serve)).unwrap_or(101)
}
