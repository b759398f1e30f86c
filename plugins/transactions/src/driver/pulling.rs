//! Data that this server pulls from others (spec/wire.md, section 12.1): each pull has a thread, so
//! that a slow source holds up nothing else. A thread stays for a moment with its connection, for the
//! next pull from the same source: reaching it takes longer than a small value.

mod workers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_link::line::{FetchedData, Line, LineEvent};
use farcall_link::memory::Block;
use farcall_services::mailbox::Reply;
use farcall_services::transactions::{Elements, Pulled};
use farcall_services::transports::TransportsHandle;
use farcall_wire::{Argument, DATA, PULLS, PullRequest, RESUME, SHARED_RESULTS};
use rustix::event::{PollFd, Timespec, poll};

use crate::options::Settings;
use workers::{Job, Workers};

const OPERATION: &str = "pull data";
/// Elements with more bytes are in memory of their own.
const INLINE_MAX: u64 = 4096;
/// How often a source that is silent is asked for an answer until it is given up.
const ANSWERS: u32 = 3;

/// All pulls.
pub struct Pulling {
    limits: Limits,
    under_way: Arc<Held>,
    workers: Arc<Workers>,
}

#[derive(Clone, Copy)]
struct Limits {
    pulls_max: usize,
    bytes_max: u64,
    time_max: Duration,
    stall_max: Duration,
}

/// What the pulls that run hold.
#[derive(Default)]
struct Held {
    pulls: AtomicUsize,
    bytes: AtomicU64,
}

/// One pull's part of that, until it is dropped.
struct Part {
    held: Arc<Held>,
    bytes: u64,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.held.pulls.fetch_sub(1, Ordering::Relaxed);
        self.held.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Pulling {
    pub fn new(settings: &Settings) -> Pulling {
        let limits = Limits {
            pulls_max: settings.pulls_max,
            bytes_max: settings.pulled_bytes_max,
            time_max: Duration::from_millis(settings.pull_ms),
            stall_max: Duration::from_millis(settings.pull_stall_ms),
        };
        Pulling { limits, under_way: Arc::default(), workers: Arc::default() }
    }

    /// Pulls data, and answers when it is here.
    pub fn start(
        &self,
        transports: TransportsHandle,
        pull: Box<PullRequest>,
        reply: Reply<Pulled>,
    ) {
        let part = match self.take(&pull) {
            Ok(part) => part,
            Err(error) => return reply.answer(Err(error)),
        };
        self.workers.take(transports, self.limits, Job { pull, part, reply });
    }

    /// Only the one thread of the driver takes parts, so nothing comes between.
    fn take(&self, pull: &PullRequest) -> Result<Part> {
        let Limits { pulls_max, bytes_max, .. } = self.limits;
        let full = |key: &'static str, most: String| {
            Err(Error::new(ErrorKind::LimitExceeded, OPERATION, "too much is being pulled")
                .with(key, most)
                .fix("raise the limit in the options of transactions")
                .retryable())
        };
        if self.under_way.pulls.load(Ordering::Relaxed) >= pulls_max {
            return full("pulls_max", pulls_max.to_string());
        }
        let bytes = self.under_way.bytes.load(Ordering::Relaxed).saturating_add(pull.bytes_max);
        if bytes > bytes_max {
            return full("pulled_bytes_max", Bytes(bytes_max).to_string());
        }
        self.under_way.pulls.fetch_add(1, Ordering::Relaxed);
        self.under_way.bytes.fetch_add(pull.bytes_max, Ordering::Relaxed);
        Ok(Part { held: self.under_way.clone(), bytes: pull.bytes_max })
    }
}

/// A connection to a source.
struct Source {
    line: Line,
    /// Whether it has greeted: then it is asked for answers.
    is_open: bool,
}

impl Source {
    fn dial(transports: &TransportsHandle, pull: &PullRequest, limits: &Limits) -> Result<Source> {
        let patience = super::PATIENCE.min(limits.stall_max);
        let stream = super::dial_within(transports, &pull.addresses, patience)?;
        let line = Line::new(stream, &[DATA, RESUME, PULLS, SHARED_RESULTS]);
        Ok(Source { line, is_open: false })
    }

    /// Pulls data. The inner error is the source's word.
    ///
    /// # Errors
    /// The connection cannot be used any more.
    fn pull(&mut self, pull: &PullRequest, limits: &Limits) -> Result<Result<Pulled>> {
        self.line.limit(pull.bytes_max);
        self.line.seal_from(INLINE_MAX + 1);
        self.line.fetch_by(pull.source, Some(&pull.ticket))?;
        Ok(self.wait(limits)?.and_then(taken))
    }

    /// The value may be made for a long time yet, but its source shows that it lives; once the value
    /// comes, it comes.
    fn wait(&mut self, limits: &Limits) -> Result<Result<FetchedData>> {
        let Source { line, is_open } = self;
        let mut pace = Pace::new(limits, line);
        loop {
            line.work()?;
            for event in line.take_events() {
                match event {
                    LineEvent::Fetched(_, fetched) => return Ok(Ok(fetched)),
                    LineEvent::Ended(_, result) => {
                        let none =
                            || Error::new(ErrorKind::Protocol, OPERATION, "it sent no value");
                        return Ok(Err(result.failure.map_or_else(none, Error::from)));
                    }
                    LineEvent::Open(..) => *is_open = true,
                    LineEvent::TakenUp(_) | LineEvent::Reply(..) => {}
                }
            }
            let left = pace.left(line, *is_open, Instant::now())?;
            line.send()?;
            let mut watched: Vec<PollFd> = Vec::new();
            line.watch(&mut watched);
            match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::system(OPERATION, error.into())),
            }
        }
    }
}

/// How a pull goes on.
struct Pace<'a> {
    limits: &'a Limits,
    began: Instant,
    asked: Instant,
    /// What had come of values before.
    before: u64,
    /// What has come, and when it came last: of values, and of anything.
    moved: (u64, Instant),
    heard: (u64, Instant),
}

impl Pace<'_> {
    fn new<'a>(limits: &'a Limits, line: &Line) -> Pace<'a> {
        let now = Instant::now();
        let before = line.progress();
        let heard = (line.heard(), now);
        Pace { limits, began: now, asked: now, before, moved: (before, now), heard }
    }

    /// How long to wait for more.
    ///
    /// # Errors
    /// `TimedOut` when nothing more is waited for.
    fn left(&mut self, line: &mut Line, is_open: bool, now: Instant) -> Result<Duration> {
        for (last, count) in [(&mut self.moved, line.progress()), (&mut self.heard, line.heard())] {
            if last.0 != count {
                *last = (count, now);
            }
        }
        let Limits { time_max, stall_max, .. } = *self.limits;
        let is_coming = self.moved.0 != self.before;
        let last = if is_coming { self.moved.1 } else { self.heard.1 };
        let ends = self.began + time_max;
        let stalls = last + stall_max;
        if now >= ends.min(stalls) {
            let message = match (now >= stalls, is_coming) {
                (true, true) => "the source stopped to send it",
                (true, false) => "the source does not answer",
                (false, _) => "it did not come in time",
            };
            return Err(Error::new(ErrorKind::TimedOut, OPERATION, message));
        }
        let mut until = ends.min(stalls);
        if is_open && !is_coming {
            // Pongs come well before nothing more is waited for.
            let next = self.asked + stall_max / ANSWERS;
            if now >= next {
                line.ping();
                self.asked = now;
            }
            until = until.min(self.asked + stall_max / ANSWERS);
        }
        Ok(until.saturating_duration_since(now))
    }
}

/// What came, as the server of this node takes it.
fn taken(fetched: FetchedData) -> Result<Pulled> {
    let extent = |argument: &Argument| match argument {
        Argument::Inline(bytes) => {
            let bytes: [u8; 8] = bytes.as_slice().try_into().ok()?;
            u64::try_from(i64::from_ne_bytes(bytes)).ok()
        }
        _ => None,
    };
    let extents: Option<Vec<u64>> = fetched.extents.iter().map(extent).collect();
    let wrong = || Error::new(ErrorKind::Protocol, OPERATION, "the source told no extents");
    let extents = extents.ok_or_else(wrong)?;
    let FetchedData { kind, elements, bytes, memory, .. } = fetched;
    let elements = match memory {
        Some((descriptor, size)) => {
            let own = Arc::try_unwrap(descriptor).or_else(|shared| shared.try_clone());
            Elements::Memory(own.map_err(|error| Error::system(OPERATION, error))?, size)
        }
        None => {
            let size = usize::try_from(bytes).unwrap_or(usize::MAX);
            Elements::Inline(Block::of(&elements, 0, size)?.bytes().to_vec())
        }
    };
    Ok(Pulled { kind, extents, bytes, elements })
}
