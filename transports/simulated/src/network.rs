//! The network: links, what will happen on them, and the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_base::{Clock, Error, ErrorKind, Instant, Random, Result, SeededRandom};
use farcall_link::stream::ByteStream;

use crate::direction::{Direction, Fate};
use crate::stream::SimulatedStream;
use crate::trace::{Event, Trace};

/// Most links in the life of a network.
pub const LINKS_MAX: usize = 1 << 20;

/// A link's number, from 0, in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// How a link behaves, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkPlan {
    /// Time from one end to the other, in microseconds.
    pub delay_us: u64,
    /// Bytes per second; 0 means at once.
    pub rate_bytes_per_s: u64,
    /// Probability that a segment of 1460 bytes is lost and sent again, from 0 to less than 1.
    pub loss: f64,
    /// Bytes sent and not yet read, per direction; then the sender must wait.
    pub queue_bytes: usize,
}

impl Default for LinkPlan {
    /// A fast network at one site: 50 µs, 1.25 GB/s, no loss, 1 MiB under way.
    fn default() -> Self {
        LinkPlan { delay_us: 50, rate_bytes_per_s: 1_250_000_000, loss: 0.0, queue_bytes: 1 << 20 }
    }
}

/// A new link and its two ends.
pub struct Pair {
    /// Its number.
    pub link: LinkId,
    /// One end.
    pub near: Box<dyn ByteStream>,
    /// The other.
    pub far: Box<dyn ByteStream>,
}

/// Links in virtual time.
#[derive(Clone)]
pub struct Network {
    state: Arc<Mutex<State>>,
}

impl Network {
    /// An empty network at time 0. All its chances follow from the seed.
    pub fn new(seed: u64) -> Network {
        let state = State {
            seed,
            now: Instant::default(),
            links: Vec::new(),
            agenda: BinaryHeap::new(),
            scheduled: 0,
            trace: Trace::default(),
        };
        Network { state: Arc::new(Mutex::new(state)) }
    }

    /// A new link.
    ///
    /// # Errors
    /// `InvalidArgument` for a plan that no link can follow, `LimitExceeded` after [`LINKS_MAX`]
    /// links.
    pub fn pair(&self, plan: LinkPlan) -> Result<Pair> {
        let wrong = |kind, message: &str| Err(Error::new(kind, "make a simulated link", message));
        if !(0.0..1.0).contains(&plan.loss) || plan.queue_bytes == 0 {
            return wrong(
                ErrorKind::InvalidArgument,
                "loss must be at least 0 and less than 1, the queue at least 1 byte",
            );
        }
        let mut state = self.lock();
        if state.links.len() >= LINKS_MAX {
            return wrong(ErrorKind::LimitExceeded, "too many links for one simulation");
        }
        let link = LinkId(u32::try_from(state.links.len()).expect("fewer than LINKS_MAX"));
        let seed = state.seed;
        // Every direction draws from a sequence of its own, so that what one link does never
        // changes another's luck.
        let direction = |salt| Direction::new(plan, seeded(seed, 2 * u64::from(link.0) + salt));
        state.links.push(Link { from_near: direction(0), from_far: direction(1), crashed: false });
        drop(state);
        let end =
            |near| Box::new(SimulatedStream::new(self.clone(), link, near)) as Box<dyn ByteStream>;
        Ok(Pair { link, near: end(true), far: end(false) })
    }

    /// When something happens next, if nobody does anything until then.
    pub fn next_event(&self) -> Option<Instant> {
        self.lock().agenda.peek().map(|Reverse(entry)| entry.at)
    }

    /// Lets time pass until `to`; everything due by then happens, in order. Time never goes back.
    pub fn advance_to(&self, to: Instant) {
        let mut state = self.lock();
        while state.agenda.peek().is_some_and(|Reverse(entry)| entry.at <= to) {
            let Reverse(entry) = state.agenda.pop().expect("just seen");
            state.now = state.now.max(entry.at);
            state.happen(entry.link, entry.what);
        }
        state.now = state.now.max(to);
    }

    /// Breaks a link now: what is under way or unread is lost, and both ends see a reset.
    pub fn crash(&self, link: LinkId) {
        self.lock().crash(link);
    }

    /// Nothing that is sent over a link from now on arrives before `until`; it waits on the way, as
    /// where a network is cut and comes back.
    pub fn silence(&self, link: LinkId, until: Instant) {
        let mut state = self.lock();
        for near in [true, false] {
            state.link(link).direction(near).silence(until);
        }
    }

    /// A link has another rate from now on; 0 means at once.
    pub fn set_rate(&self, link: LinkId, bytes_per_s: u64) {
        let mut state = self.lock();
        for near in [true, false] {
            state.link(link).direction(near).set_rate(bytes_per_s);
        }
    }

    /// What happened so far.
    pub fn trace(&self) -> Trace {
        self.lock().trace.clone()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in a test's own code must not hide behind a second one here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Network {
    fn now(&self) -> Instant {
        self.lock().now
    }
}

fn seeded(seed: u64, salt: u64) -> SeededRandom {
    // One step between the two, so that neighbouring seeds and links share no numbers.
    SeededRandom::new(SeededRandom::new(seed).next() ^ SeededRandom::new(salt).next())
}

struct Link {
    from_near: Direction,
    from_far: Direction,
    crashed: bool,
}

impl Link {
    fn direction(&mut self, from_near: bool) -> &mut Direction {
        if from_near { &mut self.from_near } else { &mut self.from_far }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival { from_near: bool },
    RoomReturns { from_near: bool, bytes: usize },
    Crash,
}

/// Ordered by time, then by when it was scheduled: two things at the same moment happen in the
/// order they were caused.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    number: u64,
    link: LinkId,
    what: What,
}

/// Everything behind the lock.
pub(crate) struct State {
    seed: u64,
    now: Instant,
    links: Vec<Link>,
    agenda: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    trace: Trace,
}

impl State {
    fn link(&mut self, link: LinkId) -> &mut Link {
        &mut self.links[link.0 as usize]
    }

    fn schedule(&mut self, at: Instant, link: LinkId, what: What) {
        let number = self.scheduled;
        self.scheduled += 1;
        self.agenda.push(Reverse(Entry { at, number, link, what }));
    }

    fn happen(&mut self, id: LinkId, what: What) {
        if self.link(id).crashed {
            return;
        }
        match what {
            What::Arrival { from_near } => {
                let event = match self.link(id).direction(from_near).arrive() {
                    Some(bytes) => Event::Arrived { link: id, from_near, bytes },
                    None => Event::Closed { link: id, from_near },
                };
                self.trace.record(self.now, event);
            }
            What::RoomReturns { from_near, bytes } => {
                self.link(id).direction(from_near).room_returned(bytes)
            }
            What::Crash => self.crash(id),
        }
    }

    fn crash(&mut self, id: LinkId) {
        let link = self.link(id);
        if std::mem::replace(&mut link.crashed, true) {
            return;
        }
        link.from_near.clear();
        link.from_far.clear();
        self.trace.record(self.now, Event::Crashed { link: id });
    }

    fn settle(&mut self, link: LinkId, from_near: bool, fate: Fate) {
        match fate {
            Fate::Arrives { at, losses } => {
                for _ in 0..losses {
                    self.trace.record(self.now, Event::Lost { link, from_near });
                }
                self.schedule(at, link, What::Arrival { from_near });
            }
            Fate::GivesUp { at } => self.schedule(at, link, What::Crash),
            Fate::Never => {}
        }
    }

    /// One end sends; the direction is named by whether it is the near one.
    pub fn send(
        &mut self,
        id: LinkId,
        from_near: bool,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let now = self.now;
        let link = self.link(id);
        if link.crashed {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if link.direction(!from_near).has_ended() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut fates = Vec::new();
        let bytes = link.direction(from_near).send(now, parts, |fate| fates.push(fate))?;
        self.trace.record(now, Event::Sent { link: id, from_near, bytes });
        for fate in fates {
            self.settle(id, from_near, fate);
        }
        Ok(bytes)
    }

    /// One end receives what the other sent; the direction is named by whether the near end sent
    /// it.
    pub fn receive(
        &mut self,
        id: LinkId,
        from_near: bool,
        parts: &mut [IoSliceMut<'_>],
    ) -> io::Result<usize> {
        let now = self.now;
        let link = self.link(id);
        if link.crashed {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let direction = link.direction(from_near);
        let bytes = direction.receive(parts)?;
        if bytes > 0 {
            // The sender learns that there is room again one delay later.
            let at = now + direction.delay();
            self.schedule(at, id, What::RoomReturns { from_near, bytes });
        }
        Ok(bytes)
    }

    /// One end is gone: the other reads what was sent, then the end.
    pub fn close(&mut self, id: LinkId, from_near: bool) {
        let now = self.now;
        let link = self.link(id);
        link.direction(!from_near).abandon();
        if let Some(fate) = link.direction(from_near).end(now) {
            self.settle(id, from_near, fate);
        }
    }
}
