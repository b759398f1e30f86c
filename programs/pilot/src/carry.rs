//! Passes bytes on between executables and their server.
//!
//! Who began first passes first. When many executables end at once and all their results pass at
//! the same time, all are late; one after the other, the first of them is at work again before the
//! last has ended, and what passes fits in the processor's cache.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Error, Result};
use farcall_link::stream::ByteStream;
use farcall_services::mailbox::{NoMessage, Receiver, Reply, Sender, mailbox};
use rustix::event::epoll::{self, Event, EventData, EventFlags};

/// Bytes that pass at a time: more would fall out of the processor's second cache on the way.
const PIECE_BYTES: usize = 256 << 10;
/// After so many bytes somebody else comes first.
const TURN_BYTES_MAX: usize = 8 << 20;
/// Who had nothing to say for so long starts over.
const PAUSE: Duration = Duration::from_millis(20);
/// Threads that carry: a few fill any network.
const THREADS_MAX: usize = 4;
/// Events looked at together.
const EVENTS_MAX: usize = 64;
/// Stands for the mailbox among the events.
const INBOX: u64 = u64::MAX;

/// An executable's end and its server's, and who is told when everything was passed on.
struct Load {
    near: Box<dyn ByteStream>,
    far: Box<dyn ByteStream>,
    done: Reply<()>,
}

/// The threads that carry.
pub struct Carriers {
    inboxes: Vec<Sender<Load>>,
    next: AtomicUsize,
}

impl Carriers {
    /// Begins as many as there are processors, but for a few. They end when this value and the last
    /// connection are gone.
    ///
    /// # Errors
    /// `System` where a thread or descriptors cannot be had.
    pub fn begin(capacity: usize) -> Result<Carriers> {
        let system = |error| Error::system("start to relay bytes", error);
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let mut inboxes = Vec::new();
        for _ in 0..count {
            let (sender, inbox) = mailbox(capacity)?;
            let mut carrier = Carrier::new(inbox)?;
            let thread = std::thread::Builder::new().name("carry".to_owned());
            thread.spawn(move || carrier.run()).map_err(system)?;
            inboxes.push(sender);
        }
        Ok(Carriers { inboxes, next: AtomicUsize::new(0) })
    }

    /// Passes on what executable and server say to each other, until the executable has said all or
    /// one of them is gone.
    pub fn carry(&self, near: Box<dyn ByteStream>, far: Box<dyn ByteStream>, done: Reply<()>) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.inboxes.len();
        // An answer that is dropped says that it failed.
        let _ = self.inboxes[next].try_send(Load { near, far, done });
    }
}

/// One end, and what is known of it.
struct End {
    stream: Box<dyn ByteStream>,
    can_read: bool,
    can_write: bool,
    /// What lies there now is the last.
    has_hung_up: bool,
    /// Nothing comes from it any more.
    is_over: bool,
}

impl End {
    fn new(stream: Box<dyn ByteStream>) -> End {
        End { stream, can_read: true, can_write: true, has_hung_up: false, is_over: false }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.stream.receive(&mut [IoSliceMut::new(buffer)], &mut Vec::new());
        let Some(count) = unless_it_waits(received)? else {
            self.can_read = false;
            self.is_over |= self.has_hung_up;
            return Ok(0);
        };
        self.is_over |= count == 0;
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = unless_it_waits(self.stream.send(&[IoSlice::new(bytes)], &[]))?;
        self.can_write &= sent.is_some();
        Ok(sent.unwrap_or(0))
    }
}

fn unless_it_waits(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}

/// Bytes that were read and that the other end did not take.
#[derive(Default)]
struct Rest {
    bytes: Vec<u8>,
    begin: usize,
}

/// Moves what it can from one end to the other, up to `most` bytes; how many that were.
fn pass(
    from: &mut End,
    to: &mut End,
    rest: &mut Rest,
    buffer: &mut [u8],
    most: usize,
) -> io::Result<usize> {
    let mut passed = 0;
    loop {
        while rest.begin < rest.bytes.len() {
            if !to.can_write {
                return Ok(passed);
            }
            let count = to.write(&rest.bytes[rest.begin..])?;
            rest.begin += count;
            passed += count;
        }
        *rest = Rest::default();
        if !from.can_read || from.is_over || passed >= most {
            return Ok(passed);
        }
        let count = from.read(buffer)?;
        let mut at = 0;
        while at < count && to.can_write {
            at += to.write(&buffer[at..count])?;
        }
        passed += at;
        rest.bytes.extend_from_slice(&buffer[at..count]);
    }
}

/// A connection that is carried.
struct Carried {
    near: End,
    far: End,
    up: Rest,
    down: Rest,
    is_shut: bool,
    /// Its place among those that wait, and what it passed there.
    turn: u64,
    passed: usize,
    moved: Instant,
    done: Reply<()>,
}

impl Carried {
    /// Whether everything was passed on.
    fn work(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let up = pass(&mut self.near, &mut self.far, &mut self.up, buffer, PIECE_BYTES)?;
        let down = pass(&mut self.far, &mut self.near, &mut self.down, buffer, PIECE_BYTES)?;
        self.passed += up + down;
        if self.far.is_over && self.down.bytes.is_empty() && !self.is_shut {
            // The server has said all: the executable ends by itself, or is ended.
            self.is_shut = true;
            if let Some(socket) = self.near.stream.readiness() {
                let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
            }
        }
        Ok(self.near.is_over && self.up.bytes.is_empty())
    }

    /// Whether there is something to do before anything happens.
    fn can_go_on(&self) -> bool {
        let way = |from: &End, to: &End, rest: &Rest| {
            if rest.bytes.is_empty() { from.can_read && !from.is_over } else { to.can_write }
        };
        way(&self.near, &self.far, &self.up) || way(&self.far, &self.near, &self.down)
    }
}

/// One of the threads.
struct Carrier {
    poller: OwnedFd,
    inbox: Receiver<Load>,
    is_open: bool,
    carried: HashMap<u64, Carried>,
    /// Those that can go on, by their turns.
    ready: BTreeSet<(u64, u64)>,
    next: u64,
    turns: u64,
    buffer: Vec<u8>,
}

impl Carrier {
    fn new(inbox: Receiver<Load>) -> Result<Carrier> {
        let system = |errno: rustix::io::Errno| Error::system("start to relay bytes", errno.into());
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        epoll::add(&poller, &inbox, EventData::new_u64(INBOX), EventFlags::IN).map_err(system)?;
        let (carried, ready) = Default::default();
        let buffer = vec![0; PIECE_BYTES];
        Ok(Carrier { poller, inbox, is_open: true, carried, ready, next: 0, turns: 0, buffer })
    }

    fn run(&mut self) {
        while self.is_open || !self.carried.is_empty() {
            self.look();
            let Some((_, number)) = self.ready.pop_first() else { continue };
            let Some(one) = self.carried.get_mut(&number) else { continue };
            match one.work(&mut self.buffer) {
                Ok(false) => self.await_turn(number),
                Ok(true) => self.end(number, Ok(())),
                Err(error) => self.end(number, Err(Error::system("pass bytes on", error))),
            }
        }
    }

    /// Learns what happened; waits for it where nothing else is to be done.
    fn look(&mut self) {
        let mut events = Vec::<Event>::with_capacity(EVENTS_MAX);
        let nothing = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let limit = (!self.ready.is_empty()).then_some(&nothing);
        // An interrupted wait is tried again by whoever calls.
        let _ = epoll::wait(&self.poller, rustix::buffer::spare_capacity(&mut events), limit);
        for event in events {
            let mark = event.data.u64();
            let flags = event.flags;
            if mark == INBOX {
                self.take_loads();
                continue;
            }
            let number = mark >> 1;
            let is_far = mark & 1 == 1;
            let Some(one) = self.carried.get_mut(&number) else { continue };
            let end = if is_far { &mut one.far } else { &mut one.near };
            // What is struck and what is a socket's is not told apart: a look too many costs
            // little.
            (end.can_read, end.can_write) = (true, true);
            end.has_hung_up |=
                flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
            self.await_turn(number);
        }
    }

    /// Puts a connection where it belongs, if it can go on.
    fn await_turn(&mut self, number: u64) {
        let Some(one) = self.carried.get_mut(&number).filter(|one| one.can_go_on()) else { return };
        let now = Instant::now();
        if one.passed >= TURN_BYTES_MAX || now.duration_since(one.moved) > PAUSE {
            self.ready.remove(&(one.turn, number));
            self.turns += 1;
            (one.turn, one.passed) = (self.turns, 0);
        }
        one.moved = now;
        self.ready.insert((one.turn, number));
    }

    fn take_loads(&mut self) {
        loop {
            match self.inbox.try_receive() {
                Ok(load) => self.begin(load),
                Err(NoMessage::Empty) => return,
                Err(NoMessage::Closed) => {
                    self.is_open = false;
                    let _ = epoll::delete(&self.poller, &self.inbox);
                    return;
                }
            }
        }
    }

    fn begin(&mut self, load: Load) {
        let number = self.next;
        self.next += 1;
        let watched = [(load.near.readiness(), 0), (load.far.readiness(), 1)]
            .into_iter()
            .try_for_each(|(end, side)| {
                let end =
                    end.ok_or_else(|| Error::internal("pass bytes on", "nothing to wait on"))?;
                self.watch(end, number << 1 | side)
            });
        if let Err(error) = watched {
            return load.done.answer(Err(error));
        }
        self.turns += 1;
        let one = Carried {
            near: End::new(load.near),
            far: End::new(load.far),
            up: Rest::default(),
            down: Rest::default(),
            is_shut: false,
            turn: self.turns,
            passed: 0,
            moved: Instant::now(),
            done: load.done,
        };
        self.carried.insert(number, one);
        self.await_turn(number);
    }

    fn watch(&self, end: BorrowedFd<'_>, mark: u64) -> Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.poller, end.as_fd(), EventData::new_u64(mark), flags)
            .map_err(|errno| Error::system("pass bytes on", errno.into()))
    }

    fn end(&mut self, number: u64, outcome: Result<()>) {
        // Closed descriptors leave the poller by themselves.
        if let Some(one) = self.carried.remove(&number) {
            one.done.answer(outcome);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
