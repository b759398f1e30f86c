//! Passes bytes on between the two ends of relayed streams: one thread, and no memory of its own
//! for them. What one end sent lies in a pipe until the other takes it, so that each direction holds
//! as much as a pipe does, and an end that takes nothing is sent nothing.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Error, Result};
use farcall_services::mailbox::{NoMessage, Receiver, Sender, mailbox};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::Shutdown;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::Message;
use crate::state::StreamNumber;

/// What a pipe holds.
const PIPE_BYTES: usize = 256 << 10;
/// Bytes that one direction passes on before others have their turn.
const TURN_BYTES: usize = 4 << 20;
/// Pipes that are kept for the next stream.
const SPARE_MAX: usize = 8;
/// Streams that wait for the thread to take them.
const ADDED_MAX: usize = 4096;
/// Time for which one direction goes on without a byte when the other has ended.
const HALF_CLOSED_MAX: Duration = Duration::from_secs(60);
/// The mark of the mailbox; streams' are twice their place, and one more for the second socket.
const INBOX: u64 = u64::MAX;

/// The thread, and what it has said.
pub struct Splicer {
    streams: Sender<(StreamNumber, [OwnedFd; 2])>,
    ended: Arc<Mutex<Vec<StreamNumber>>>,
}

impl Splicer {
    /// Starts it; `news` is told when there is something for [`Splicer::take_ended`].
    pub fn start(news: Sender<Message>) -> Result<Splicer> {
        let (streams, inbox) = mailbox(ADDED_MAX)?;
        let ended = Arc::default();
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC);
        let poller = poller.map_err(|error| Error::system("relay streams", error.into()))?;
        let working = Working {
            inbox,
            poller,
            ended: Arc::clone(&ended),
            news,
            streams: BTreeMap::new(),
            next: 0,
            busy: VecDeque::new(),
            spare: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("relay".to_owned());
        let started = thread.spawn(move || working.run());
        started.map_err(|error| Error::system("relay streams", error))?;
        Ok(Splicer { streams, ended })
    }

    /// From now on whatever comes from either of these goes to the other one.
    pub fn add(&self, number: StreamNumber, ends: [OwnedFd; 2]) {
        if self.streams.try_send((number, ends)).is_err() {
            end(&self.ended, number);
        }
    }

    /// Streams that have ended since this was asked last.
    pub fn take_ended(&self) -> Vec<StreamNumber> {
        std::mem::take(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn end(ended: &Mutex<Vec<StreamNumber>>, number: StreamNumber) {
    ended.lock().unwrap_or_else(PoisonError::into_inner).push(number);
}

/// A pipe.
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // It is smaller where the user has many.
        let _ = fcntl_setpipe_size(&into, PIPE_BYTES);
        Ok(Pipe { out, into })
    }
}

/// From one socket to the other.
#[derive(Default)]
struct Direction {
    /// What was taken and not passed on; without a pipe that is nothing.
    pipe: Option<(Pipe, usize)>,
    /// Whether the one socket may have bytes.
    readable: bool,
    /// Whether the other one may take some.
    writable: bool,
    /// The one socket sends no more.
    ended: bool,
    /// And the other one knows.
    told: bool,
}

/// What came of a turn.
#[derive(PartialEq, Eq)]
enum Turn {
    /// The sockets will tell when to go on.
    Waits,
    /// There is more.
    More,
}

struct Stream {
    number: StreamNumber,
    sockets: [OwnedFd; 2],
    /// From the first to the second, and back.
    directions: [Direction; 2],
    is_busy: bool,
    /// When bytes were passed on last, or one direction ended.
    moved: Instant,
}

struct Working {
    inbox: Receiver<(StreamNumber, [OwnedFd; 2])>,
    poller: OwnedFd,
    ended: Arc<Mutex<Vec<StreamNumber>>>,
    news: Sender<Message>,
    streams: BTreeMap<u64, Stream>,
    next: u64,
    /// Streams that have more.
    busy: VecDeque<u64>,
    spare: Vec<Pipe>,
}

impl Working {
    /// Until the driver is gone.
    fn run(mut self) {
        let inbox = epoll::EventData::new_u64(INBOX);
        // Cannot fail for our own descriptor unless memory is short; then no client is served.
        if epoll::add(&self.poller, self.inbox.as_fd(), inbox, epoll::EventFlags::IN).is_err() {
            return;
        }
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let timeout = self.timeout();
            let room = rustix::buffer::spare_capacity(&mut events);
            let _ = epoll::wait(&self.poller, room, timeout.as_ref());
            if !self.take_streams() {
                return;
            }
            for event in &events {
                self.note(event.data.u64(), event.flags);
            }
            for _ in 0..self.busy.len() {
                let Some(place) = self.busy.pop_front() else { break };
                self.go_on(place);
            }
            self.end_silent();
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        if !self.busy.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let half = self.streams.values().any(Stream::is_half_closed);
        half.then_some(Timespec { tv_sec: 1, tv_nsec: 0 })
    }

    /// False when there will be no more.
    fn take_streams(&mut self) -> bool {
        loop {
            match self.inbox.try_receive() {
                Ok((number, sockets)) => self.begin(number, sockets),
                Err(NoMessage::Empty) => return true,
                Err(NoMessage::Closed) => return false,
            }
        }
    }

    fn begin(&mut self, number: StreamNumber, sockets: [OwnedFd; 2]) {
        let place = self.next;
        self.next += 1;
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let watch = |side: u64| -> rustix::io::Result<()> {
            let socket = &sockets[side as usize];
            rustix::io::ioctl_fionbio(socket, true)?;
            epoll::add(&self.poller, socket, epoll::EventData::new_u64(2 * place + side), flags)
        };
        if watch(0).and_then(|()| watch(1)).is_err() {
            return self.say(number);
        }
        let directions = Default::default();
        let moved = Instant::now();
        self.streams.insert(place, Stream { number, sockets, directions, is_busy: false, moved });
    }

    /// A socket can do something.
    fn note(&mut self, mark: u64, flags: epoll::EventFlags) {
        let Some(stream) = self.streams.get_mut(&(mark / 2)).filter(|_| mark != INBOX) else {
            return;
        };
        let side = (mark % 2) as usize;
        let trouble = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let reads = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | trouble;
        stream.directions[side].readable |= flags.intersects(reads);
        stream.directions[1 - side].writable |= flags.intersects(epoll::EventFlags::OUT | trouble);
        if !std::mem::replace(&mut stream.is_busy, true) {
            self.busy.push_back(mark / 2);
        }
    }

    fn go_on(&mut self, place: u64) {
        let Some(stream) = self.streams.get_mut(&place) else { return };
        stream.is_busy = false;
        let outcome = [0, 1].map(|side| stream.pass_on(side, &mut self.spare));
        let is_over = outcome.iter().any(io::Result::is_err) || stream.is_over();
        if is_over {
            return self.end(place);
        }
        if outcome.iter().any(|turn| matches!(turn, Ok(Turn::More))) {
            stream.is_busy = true;
            self.busy.push_back(place);
        }
    }

    fn end(&mut self, place: u64) {
        if let Some(stream) = self.streams.remove(&place) {
            self.say(stream.number);
        }
    }

    fn say(&self, number: StreamNumber) {
        end(&self.ended, number);
        // One that has no room for it will look anyway.
        drop(self.news.try_send(Message::Flowed));
    }

    fn end_silent(&mut self) {
        let is_silent =
            |stream: &Stream| stream.is_half_closed() && stream.moved.elapsed() > HALF_CLOSED_MAX;
        let silent = self.streams.iter().filter(|(_, stream)| is_silent(stream));
        let silent: Vec<u64> = silent.map(|(place, _)| *place).collect();
        silent.into_iter().for_each(|place| self.end(place));
    }
}

impl Stream {
    fn is_over(&self) -> bool {
        self.directions.iter().all(|direction| direction.told)
    }

    fn is_half_closed(&self) -> bool {
        self.directions.iter().any(|direction| direction.told)
    }

    /// Passes on what comes from one side.
    fn pass_on(&mut self, side: usize, spare: &mut Vec<Pipe>) -> io::Result<Turn> {
        let from = &self.sockets[side];
        let to = &self.sockets[1 - side];
        let direction = &mut self.directions[side];
        let mut passed = 0;
        while passed < TURN_BYTES {
            direction.fill(from, spare)?;
            let sent = direction.drain(to, spare)?;
            if sent == 0 {
                if direction.ended && direction.pipe.is_none() && !direction.told {
                    direction.told = true;
                    self.moved = Instant::now();
                    // One that is gone already needs no word.
                    let _ = rustix::net::shutdown(to, Shutdown::Write);
                }
                return Ok(Turn::Waits);
            }
            passed += sent;
            self.moved = Instant::now();
        }
        Ok(Turn::More)
    }
}

impl Direction {
    /// Takes what the one socket has, if nothing is there that was not passed on.
    fn fill(&mut self, from: &OwnedFd, spare: &mut Vec<Pipe>) -> io::Result<()> {
        if self.pipe.is_some() || !self.readable || self.ended {
            return Ok(());
        }
        let pipe = spare.pop().map_or_else(Pipe::new, Ok)?;
        match moved(from, &pipe.into, PIPE_BYTES)? {
            None => self.readable = false,
            Some(0) => self.ended = true,
            Some(count) => {
                self.pipe = Some((pipe, count));
                return Ok(());
            }
        }
        keep(spare, pipe);
        Ok(())
    }

    /// Passes it on: how many bytes.
    fn drain(&mut self, to: &OwnedFd, spare: &mut Vec<Pipe>) -> io::Result<usize> {
        let Some((pipe, left)) = self.pipe.as_mut().filter(|_| self.writable) else { return Ok(0) };
        let Some(sent) = moved(&pipe.out, to, *left)? else {
            self.writable = false;
            return Ok(0);
        };
        *left -= sent;
        if *left == 0
            && let Some((pipe, _)) = self.pipe.take()
        {
            keep(spare, pipe);
        }
        Ok(sent)
    }
}

fn keep(spare: &mut Vec<Pipe>, pipe: Pipe) {
    if spare.len() < SPARE_MAX {
        spare.push(pipe);
    }
}

/// How many bytes; nothing where the socket has, or takes, none now.
fn moved(from: &OwnedFd, to: &OwnedFd, most: usize) -> io::Result<Option<usize>> {
    loop {
        match splice(from, None, to, None, most, SpliceFlags::NONBLOCK) {
            Ok(count) => return Ok(Some(count)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
