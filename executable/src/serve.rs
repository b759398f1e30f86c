//! The executable's side of the wire: takes calls from its server one after the other and runs
//! them.
//!
//! One thread does everything, because a routine may not be thread-safe and the server sends one
//! call at a time. While a routine runs the connection is read only where its code asks something
//! (`running.rs`): whether its call was cancelled, say. A server that wants it ended, and whose
//! wish is not heard, ends the process.

mod call;
mod callback;
mod cancel;
mod children;
mod code;
mod files;
mod frames;
mod hosted;
mod keeper;
mod memory;
mod module;
mod nest;
mod object;
mod output;
mod overflow;
mod ranks;
mod results;
mod room;
mod running;
mod start;
mod stub;
mod texts;
mod threads;
mod turns;
mod wait;
mod zygote;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, Clock, Error, ErrorKind, Result, SystemClock};
use farcall_call::{Channels, Connection, Event, Setup};
use farcall_link::memory::MemorySource;
use farcall_link::stream::ByteStream;
use farcall_link::turnstile::Turnstile;
use farcall_link::{Link, QUEUE_BYTES, Received};
use farcall_native::invoke::Slot;
use farcall_wire::message::ByteOrder;
use farcall_wire::{
    CALLBACKS, CallResult, CallTimes, DATA, Hello, HelloLimits, Loaded, NESTED_CALLS, Open,
    POLLED_CANCEL, Publication, Reply, Request, Role,
};

use call::PendingCall;
use callback::Callbacks;
pub use code::Code;
pub(crate) use code::Own;
use frames::check_server;
use memory::{Arenas, Segments};
use module::LoadedModule;
use object::Object;
use room::WorkingFolder;
use turns::Turns;
use wait::Waiter;

pub(crate) use callback::check_callbacks;
pub use hosted::check_hosted;
pub use module::check_module;
pub use nest::{in_call, running_server};
pub(crate) use running::{HOST_ENTRIES, show_host};
pub(crate) use start::end_with_parent;
pub use start::{confine_inspection, host_main, linked_main, run_program, run_rank};

/// Largest sum of one call's arrays that an executable accepts; the server's own limit is lower and
/// checked first.
const CALL_BYTES_MAX: u64 = 1 << 46;
/// Calls that the server may pass ahead of time, the one that runs included, and its questions.
const CHANNELS_MAX: u32 = 80;
/// The longest message that the server may send: a module of 64 MiB (spec/idl.md, section 7.2), and
/// what is around it.
const CONTROL_BYTES_MAX: u32 = (64 << 20) + (1 << 20);
/// Bytes taken from the stream before frames are answered.
const RECEIVE_BUDGET: usize = 64 << 20;

/// Serves the connection until the server closes it.
///
/// # Errors
/// When the server breaks the protocol or the connection breaks.
pub fn serve(stream: Box<dyn ByteStream>, memory: Arc<dyn MemorySource>, code: Code) -> Result<()> {
    let limits = HelloLimits {
        control_bytes_max: CONTROL_BYTES_MAX,
        channels_max: CHANNELS_MAX,
        call_bytes_max: CALL_BYTES_MAX,
        ..HelloLimits::default()
    };
    let hello = Hello {
        role: Role::Executable,
        byte_order: ByteOrder::NATIVE,
        product: concat!("farcall ", env!("CARGO_PKG_VERSION")).to_owned(),
        features: [POLLED_CANCEL, CALLBACKS, DATA].map(str::to_owned).to_vec(),
        limits,
        host: String::new(),
        principal: None,
        token: None,
        attributes: Vec::new(),
    };
    let mut link = Link::new(stream, limits.control_bytes_max, limits.data_bytes_max);
    let mut session = Session {
        connection: Connection::new(Setup { hello, initiator: false, token: None }),
        clock: SystemClock::new(),
        segments: Segments::new(memory),
        module: None,
        code,
        calls: Channels::default(),
        arenas: Arenas::default(),
        turns: Turns::default(),
        object: None,
        nests: false,
        running: None,
        callbacks: Callbacks::default(),
        broken: None,
        folder: WorkingFolder::own(),
        left: false,
    };
    let mut waiter = Waiter::new(link.stream())?;
    let mut more = false;
    while !session.left {
        session.send(&mut link, &mut waiter)?;
        session.run_ready(&mut link, &mut waiter)?;
        if !more {
            waiter.wait(&link)?;
        }
        let received = link.receive(&mut session, RECEIVE_BUDGET);
        more = matches!(received, Ok(Received::More));
        match received {
            Ok(Received::Closed) => return Ok(()),
            Ok(Received::Blocked | Received::More) => {}
            Err(error) => {
                session.connection.goodbye(Some(&error));
                // The connection is lost either way; the reason is worth one try.
                let _ = session.send(&mut link, &mut waiter);
                return Err(error);
            }
        }
        session.run_ready(&mut link, &mut waiter)?;
    }
    session.end_object()
}

/// The call whose routine runs.
struct Running {
    channel: ChannelId,
    routine: String,
    /// Whether the server wants it to end.
    cancelled: bool,
    /// Where its parameters lie, if sizes of its callbacks name some.
    slots: Vec<Slot>,
}

struct Session {
    connection: Connection,
    clock: SystemClock,
    segments: Segments,
    module: Option<Rc<LoadedModule>>,
    code: Code,
    calls: Channels<Box<PendingCall>>,
    arenas: Arenas,
    turns: Turns,
    /// What this process is, if it is more than one of a pool.
    object: Option<Object>,
    /// Whether the server lets routines call others.
    nests: bool,
    running: Option<Running>,
    /// Calls of the client's functions.
    callbacks: Callbacks,
    /// What went wrong with the connection while a routine ran.
    broken: Option<Error>,
    folder: WorkingFolder,
    left: bool,
}

impl Session {
    /// Sends everything that may be sent now.
    fn send(&mut self, link: &mut Link, waiter: &mut Waiter) -> Result<()> {
        while !self.pump(link)? {
            waiter.wait_for_room(link)?;
        }
        let connection = &mut self.connection;
        let calls = &mut self.calls;
        let arenas = &mut self.arenas;
        self.turns.forget(|channel| {
            let has_left = !connection.is_open(channel);
            if has_left && let Some(call) = calls.remove(channel) {
                arenas.take_back(call.into_arena());
            }
            has_left
        });
        Ok(())
    }

    fn pump(&mut self, link: &mut Link) -> Result<bool> {
        link.pump(QUEUE_BYTES, self)
    }

    fn handle_events(&mut self, descriptors: &mut VecDeque<OwnedFd>) -> Result<()> {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Ready(hello) => {
                    check_server(&hello)?;
                    self.nests = hello.features.iter().any(|feature| feature == NESTED_CALLS);
                }
                Event::Requested(channel, request) => self.on_request(channel, request),
                Event::Opened(channel, open) => self.on_open(channel, &open),
                Event::ArgumentsComplete(channel) => self.turns.ready(channel),
                Event::CancelRequested(channel) => self.on_cancel(channel),
                Event::Shared(share) => {
                    let descriptor = descriptors.pop_front();
                    let missing = || {
                        Error::new(
                            ErrorKind::Protocol,
                            "take shared memory",
                            "it arrived without a descriptor",
                        )
                    };
                    self.segments.add(
                        share.segment,
                        descriptor.ok_or_else(missing)?,
                        share.bytes,
                    )?;
                }
                Event::Unshared(segment) => self.segments.remove(segment),
                Event::Left(_) => self.left = true,
                Event::Resulted(channel, result) => self.callbacks.resulted(channel, *result),
                Event::Finished(channel) => self.callbacks.finished(channel),
                // It keeps no calls.
                Event::Replied(..) | Event::Noticed(..) => {}
                Event::Resumed(..) | Event::Agreed(..) | Event::Acknowledged(_) => {}
            }
        }
        Ok(())
    }

    fn on_request(&mut self, channel: ChannelId, request: Request) {
        let reply = match request {
            Request::Load(publication) => match self.load(&publication) {
                Ok(loaded) if self.connection.has_feature(POLLED_CANCEL) => {
                    if loaded == Loaded::default() { Reply::Done } else { Reply::Loaded(loaded) }
                }
                Ok(_) => Reply::Done,
                Err(error) => Reply::Failed((&error).into()),
            },
            Request::Interface(_)
            | Request::List
            | Request::Administer(_)
            | Request::Status
            | Request::Nest(_)
            | Request::Hold(_)
            | Request::Release(..)
            | Request::Forget(_)
            | Request::Kept
            | Request::Report(_)
            | Request::State(_)
            | Request::Place(_)
            | Request::Outcomes(_)
            | Request::Servers(..)
            | Request::Relay(_)
            | Request::Data(_)
            | Request::DeleteData(_)
            | Request::Promise(..)
            | Request::Break(..)
            | Request::Pull(_)
            | Request::Transaction(_)
            | Request::DialBack => {
                let error = Error::new(
                    ErrorKind::InvalidArgument,
                    "ask an executable",
                    "only the server can do that",
                );
                Reply::Failed((&error).into())
            }
        };
        self.connection.reply(channel, &reply);
    }

    fn on_open(&mut self, channel: ChannelId, open: &Open) {
        let accepted_at = self.clock.now();
        let module = self.module.as_deref();
        let arenas = &mut self.arenas;
        let call = module
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Protocol,
                    "run a routine",
                    "the server sent no module before the call",
                )
            })
            .and_then(|module| PendingCall::new(module, open, &self.segments, arenas, accepted_at));
        match call {
            Ok(call) => {
                self.connection.grant(channel, call.announced_bytes);
                self.calls.insert(channel, Box::new(call));
            }
            Err(error) => self.turns.refuse(channel, error),
        }
    }

    fn on_cancel(&mut self, channel: ChannelId) {
        if let Some(running) = self.running.as_mut().filter(|running| running.channel == channel) {
            running.cancelled = true;
            return;
        }
        self.turns.remove(channel);
        let error = Error::new(
            ErrorKind::Cancelled,
            "run a routine",
            "the call was cancelled before it began",
        );
        self.refuse(channel, &error);
        self.calls.remove(channel);
    }

    fn refuse(&mut self, channel: ChannelId, error: &Error) {
        let failure = Some(error.into());
        let times = CallTimes::default();
        self.connection.respond(
            channel,
            &CallResult { failure, results: Vec::new(), times, attributes: None },
        );
    }

    /// Runs calls as long as there are any, and as the server lets them begin. Each one's outcome
    /// has left before the next begins, as soon as the server has it come: so of a process that
    /// dies, the server knows what was done. The server is woken once for many.
    fn run_ready(&mut self, link: &mut Link, waiter: &mut Waiter) -> Result<()> {
        while let Some(next) = self.turns.next() {
            self.check_folder(next)?;
            if !link.stream().turnstile().is_none_or(Turnstile::pass) {
                break;
            }
            link.hold_bell(self.turns.begin());
            self.run(next, link, waiter);
            self.send(link, waiter)?;
        }
        link.hold_bell(false);
        self.broken.take().map_or(Ok(()), Err)
    }

    /// A process whose working folder is gone takes no call, and ends. An object does not: its
    /// state would be lost.
    fn check_folder(&mut self, next: ChannelId) -> Result<()> {
        if self.object.is_some() {
            return Ok(());
        }
        let has_files = self.calls.get_mut(next).is_some_and(|call| call.has_files());
        self.folder.check(has_files)
    }

    fn run(&mut self, channel: ChannelId, link: &mut Link, waiter: &mut Waiter) {
        if let Some(error) = self.turns.refusal(channel) {
            return self.refuse(channel, &error);
        }
        // Out of the table while it runs: its routine's code may have the session read frames
        // meanwhile.
        let (Some(mut call), Some(module)) = (self.calls.remove(channel), self.module.clone())
        else {
            return;
        };
        if let Some(error) = self.object.as_ref().and_then(|object| object.refusal(call.routine()))
        {
            return self.refuse(channel, &error);
        }
        let since = call.accepted_at;
        let nanoseconds = |clock: &SystemClock| {
            u64::try_from(clock.now().since(since).as_nanos()).unwrap_or(u64::MAX)
        };
        let started_ns = nanoseconds(&self.clock);
        let processor = call.is_measured.then(processor_time);
        let routine = call.routine().to_owned();
        self.running = Some(Running { channel, routine, cancelled: false, slots: Vec::new() });
        cancel::begin();
        if let Some(threads) = call.threads {
            module.threads.set(threads);
        }
        let outcome =
            running::during(running::Way { session: self, link, waiter }, call.id, || {
                call.run(&module)
            });
        self.running = None;
        let outcome = self.callbacks.end(&mut self.connection, link).and(outcome);
        if let (Ok(_), Some(object)) = (&outcome, &mut self.object) {
            object.has_run(call.routine());
        }
        call.give_up(&mut self.segments);
        self.calls.insert(channel, call);
        let processor_ns = processor.map(|before| processor_time().saturating_sub(before));
        let finished_ns = nanoseconds(&self.clock);
        let times = CallTimes { queued_ns: started_ns, started_ns, finished_ns, processor_ns };
        self.turns.answered(channel);
        let result = match outcome {
            Ok(results) => CallResult { failure: None, results, times, attributes: None },
            Err(error) => CallResult {
                failure: Some((&error).into()),
                results: Vec::new(),
                times,
                attributes: None,
            },
        };
        self.connection.respond(channel, &result);
    }
}

/// Nanoseconds that this process has computed so far, all its threads together.
fn processor_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let time = Duration::try_from(time).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Session {
    /// Loads the module, and begins the object that this process is to be; what its code can do.
    fn load(&mut self, publication: &Publication) -> Result<Loaded> {
        let module = self.code.load(publication);
        let module = match ranks::led() {
            Some(ranks) => ranks.load(publication, module),
            None => module,
        }?;
        if let Some(class) = &publication.object {
            self.object = Some(Object::begin(&module, class, &self.segments, &mut self.arenas)?);
        }
        // Ranks are spread over processors by MPI.
        let can_set = ranks::led().is_none() && !module.threads.is_empty();
        let loaded = Loaded { asks: module.asks, threads: can_set.then_some(true) };
        self.module = Some(Rc::new(module));
        Ok(loaded)
    }

    /// The server says goodbye: an object that began ends.
    fn end_object(&mut self) -> Result<()> {
        match (self.object.take(), &self.module) {
            (Some(object), Some(module)) => object.end(module, &self.segments, &mut self.arenas),
            _ => Ok(()),
        }
    }
}
