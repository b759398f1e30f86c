//! One connection shared by many threads: whoever waits reads for all.
//!
//! There is no thread of our own, but while a lost connection is made again. A thread that waits
//! for its call becomes the reader unless another is; the reader handles everybody's frames and
//! passes the role on when its own call is over. So a lone caller pays for no hand-over. Nothing
//! else waits for the socket: what it does not take at once leaves while somebody reads, who waits
//! for room, too.

mod array_result;
mod asked;
mod callbacks;
mod calls;
pub mod compressing;
mod conditions;
mod core;
mod dropped;
mod ending;
mod events;
mod flight;
mod frames;
mod gathering;
mod incoming;
mod keeping;
mod polling;
mod program;
pub mod pulse;
mod reader;
pub mod reconnect;
mod segments;
mod sleep;
mod transfer;
mod transit;
mod waiting;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_call::{Connection, Setup};
use farcall_link::Link;
use farcall_link::compression::Compression;
use farcall_link::memory::MemorySource;
use farcall_link::stream::ByteStream;
use farcall_peer::heartbeat::Heartbeat;
use farcall_peer::{Audience, Caller};
use farcall_transport_unix::Birthplace;
use farcall_wire::{Hello, HelloLimits};

pub use callbacks::CallbackTimes;
pub use calls::Told;
pub use conditions::{Conditions, PlacedAs, Special, Stays};
use dropped::DroppedData;
pub use ending::closed_here;
use ending::{closed, forked};
use events::{Events, Registration};
pub use events::{raise, signal, silence};
use gathering::Gathering;
pub use gathering::Pace;
pub use program::Returned;
use program::{Program, fresh_seed};
use reader::Reader;
use reconnect::Returning;
pub use reconnect::WayBack;
pub use segments::Segment;
pub use transfer::Transfer;

/// Bytes taken from the stream before waiting threads are looked after.
const RECEIVE_BUDGET: usize = 64 << 20;

struct Core {
    link: Link,
    caller: Caller<Program>,
    reader: Reader,
    gathering: Gathering,
    heartbeat: Heartbeat,
    line: Line,
    /// Whether that is up, for those who do not wait for the lock.
    stands: Arc<AtomicBool>,
    /// Where it is, and what `events` tell of it.
    registration: Registration,
    /// How it is made again.
    returning: Returning,
    /// What was chosen for what is sent.
    compression: Option<Compression>,
    /// What it means that the server closes the connection.
    closed: fn() -> Error,
    next_number: u64,
}

/// How the connection is.
enum Line {
    Up,
    /// It is being made again; this befell it.
    Lost(Error),
    Dead(Error),
}

/// One connection, or those that take one another's place.
pub struct Session {
    core: Mutex<Core>,
    stands: Arc<AtomicBool>,
    changed: Condvar,
    events: Events,
    /// Wakes the reader when it must wait for something else.
    nudge: OwnedFd,
    /// Time that the server has to greet us, and to answer a question.
    patience: Duration,
    /// When every question must be answered, if the program's own time is limited.
    until: Option<Instant>,
    /// The process that connected: two that write to one connection destroy it.
    owner: Birthplace,
    /// Data that the program needs no longer.
    dropped: DroppedData,
}

impl Session {
    /// Greets the server at the other end of `stream`, which has so much time for it.
    pub fn new(
        stream: Box<dyn ByteStream>,
        hello: Hello,
        source: Arc<dyn MemorySource>,
        patience: Duration,
        way_back: Option<Arc<WayBack>>,
    ) -> Result<Session> {
        let socket = stream
            .readiness()
            .ok_or_else(|| Error::internal("connect", "a stream without a descriptor"))?;
        let socket =
            socket.try_clone_to_owned().map_err(|error| Error::system("connect", error))?;
        let (events, registration) = Events::new(socket)?;
        let HelloLimits { control_bytes_max, data_bytes_max, .. } = hello.limits;
        let connection = Connection::new(Setup { hello, initiator: true, token: None });
        let setup =
            farcall_peer::Setup { connection, seed: fresh_seed(), resumes: way_back.is_some() };
        let caller = Caller::new(setup, Program::new(stream.passes_descriptors(), source));
        let stands = Arc::new(AtomicBool::new(true));
        let core = Core {
            link: Link::new(stream, control_bytes_max, data_bytes_max),
            caller,
            reader: Reader::new(),
            gathering: Gathering::default(),
            heartbeat: pulse::of_environment()?,
            line: Line::Up,
            stands: stands.clone(),
            registration,
            returning: Returning::new(way_back),
            compression: None,
            closed,
            next_number: 1,
        };
        let session = Session {
            core: Mutex::new(core),
            stands,
            changed: Condvar::new(),
            events,
            nudge: signal()?,
            patience,
            until: None,
            owner: Birthplace::here(),
            dropped: DroppedData::default(),
        };
        session.advance(&mut session.lock());
        let deadline = Instant::now().checked_add(patience);
        match session.wait_until(deadline, |core| core.caller.is_ready().then_some(()))? {
            Some(()) => Ok(session),
            None => Err(Error::new(
                ErrorKind::TimedOut,
                "connect",
                "the server did not answer the greeting in time",
            )),
        }
    }

    /// The same with this time for each answer, and an end of all waiting for answers.
    pub fn with_patience(mut self, patience: Duration, until: Option<Instant>) -> Session {
        (self.patience, self.until) = (patience, until);
        self
    }

    /// The same whose calls have numbers from this one on.
    pub fn with_numbers(self, first: u64) -> Session {
        self.lock().next_number = first;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic under the lock leaves the protocol in an unknown state; the next frame error ends
        // the connection.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Session::lock`] where a program comes in. In a process that was forked from the owner, the connection is gone:
    /// nothing is sent or received any more, and the owner's goes on as if nothing had happened.
    fn enter(&self) -> MutexGuard<'_, Core> {
        let mut core = self.lock();
        if self.is_foreign() {
            core.die(forked());
        }
        core
    }

    fn is_foreign(&self) -> bool {
        !self.owner.is_here()
    }

    /// Readable when [`Session::process`] or [`Session::next_finished`] has something to do.
    pub fn events(&self) -> BorrowedFd<'_> {
        if self.events.watch() {
            self.advance(&mut self.enter());
        }
        self.events.as_fd()
    }

    /// Has them tell of another descriptor, too.
    pub fn add_events(&self, descriptor: impl AsFd) -> Result<()> {
        self.events.add(descriptor)
    }

    /// Has threads that wait look again whether they are to wait.
    pub fn wake(&self) {
        if self.lock().reader.is_reading {
            raise(&self.nudge);
        }
        self.changed.notify_all();
    }

    /// Bytes that went either way.
    pub fn bytes_moved(&self) -> u64 {
        let core = self.lock();
        core.link.bytes_received().wrapping_add(core.sent())
    }

    /// Time that the server has to answer a question.
    pub fn patience(&self) -> Duration {
        self.at_most(self.patience)
    }

    /// This time, or what is left of the program's own.
    fn at_most(&self, time: Duration) -> Duration {
        self.until.map_or(time, |until| until.saturating_duration_since(Instant::now()).min(time))
    }

    /// Array bytes that passed through the link's buffer instead of going straight to their place.
    pub fn bytes_copied(&self) -> u64 {
        self.lock().link.bytes_copied()
    }

    /// Whether both ends may use what this feature allows.
    pub fn has_feature(&self, name: &str) -> bool {
        let core = self.lock();
        core.caller.peer().is_some_and(|hello| hello.features.iter().any(|known| known == name))
    }

    /// Longest message that the server takes.
    pub fn control_bytes_max(&self) -> usize {
        self.lock().caller.peer().map_or(0, |hello| hello.limits.control_bytes_max as usize)
    }

    /// Handles whatever has arrived, without waiting.
    pub fn process(&self) -> Result<()> {
        let mut core = self.enter();
        if !core.reader.is_reading {
            core.receive();
            // The socket would not tell of what the stream holds already.
            while core.reader.has_more {
                core.receive();
            }
        }
        self.advance(&mut core);
        Ok(())
    }

    /// Whether the connection is known to be gone for good.
    pub fn is_lost(&self) -> bool {
        matches!(self.lock().line, Line::Dead(_))
    }

    /// Whether it is there: neither gone nor being made again.
    #[inline]
    pub fn stands(&self) -> bool {
        self.stands.load(Ordering::Relaxed)
    }

    /// The number of an announced call that has ended, of those that this audience is told of. `None`
    /// when the deadline passed.
    pub fn next_finished(
        &self,
        audience: Audience,
        deadline: Option<Instant>,
    ) -> Result<Option<u64>> {
        let next = self.wait_until(deadline, |core| core.caller.next_announced(audience));
        if audience == Audience::EVERYBODY {
            self.tell(&mut self.lock());
        }
        next
    }

    /// The same until there is reason to wait for others, too: then `None` inside.
    pub fn next_finished_alone(
        &self,
        audience: Audience,
        deadline: Option<Instant>,
        has_others: &AtomicBool,
    ) -> Result<Option<Option<u64>>> {
        let next = self.wait_until(deadline, |core| {
            let next = core.caller.next_announced(audience);
            (next.is_some() || has_others.load(Ordering::Relaxed)).then_some(next)
        });
        if audience == Audience::EVERYBODY {
            self.tell(&mut self.lock());
        }
        next
    }

    /// Sends what the socket takes, and tells whoever has something to do then.
    fn advance(&self, core: &mut Core) {
        self.dropped.delete(core, self.patience);
        core.pump();
        self.tell(core);
    }

    fn tell(&self, core: &mut Core) {
        // A forked process shares the descriptors below, and the owner's programs wait on them.
        if !core.is_up() {
            if self.is_foreign() {
                return;
            }
            if matches!(core.line, Line::Dead(_)) {
                // A server that comes back, or broke the rules, is not to work on for a client that
                // has given it up.
                core.registration.shut();
            }
            self.events.leave(&mut core.registration);
        }
        let is_unsent = core.is_up() && core.link.bytes_queued() > 0;
        if core.reader.is_to_be_nudged(core.is_up(), is_unsent) {
            raise(&self.nudge);
        }
        let is_wanted = self.events.is_watched() && !core.caller.is_quiet();
        self.events.ring(&mut core.registration, is_wanted);
        self.events.tell_room(&mut core.registration, is_unsent);
        // Others may be ready, or must take over the reading.
        if core.reader.followers > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until `ready` gives something; reads for everybody while nobody else does. `None` past
    /// the deadline.
    #[inline(always)]
    fn wait_until<T>(
        &self,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut core = self.enter();
        loop {
            if let Some(found) = ready(&mut core) {
                return Ok(Some(found));
            }
            core.check_alive()?;
            if !core.gathering.is_empty() {
                self.advance(&mut core);
                continue;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            core = if core.reader.is_reading || !core.is_up() {
                self.follow(core, left)
            } else {
                self.lead(core, left)
            };
        }
    }
}

/// The first of two moments, where there are any.
pub fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut core = self.enter();
        if core.is_up() {
            core.caller.leave();
            core.pump();
        }
    }
}
