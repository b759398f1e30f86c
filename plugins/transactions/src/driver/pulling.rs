//! Data that this server pulls from others (spec/wire.md, section 12.1): each pull has a thread of its
//! own, so that a slow source holds up nothing else.

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

const OPERATION: &str = "pull data";
/// Elements with more bytes are in memory of their own.
const INLINE_MAX: u64 = 4096;
/// How often a source that is silent is asked for an answer until it is given up.
const ANSWERS: u32 = 3;

/// All pulls.
pub struct Pulling {
    limits: Limits,
    under_way: Arc<Held>,
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
        Pulling { limits, under_way: Arc::default() }
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
        let limits = self.limits;
        let run = move || {
            let outcome = pull_now(&transports, &pull, &limits);
            drop(part);
            reply.answer(outcome);
        };
        // Where no thread can be started, the reply says so as it is dropped.
        let _ = std::thread::Builder::new().name("pull".to_owned()).spawn(run);
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

fn pull_now(transports: &TransportsHandle, pull: &PullRequest, limits: &Limits) -> Result<Pulled> {
    let patience = super::PATIENCE.min(limits.stall_max);
    let stream = super::dial_within(transports, &pull.addresses, patience)?;
    let mut line = Line::new(stream, &[DATA, RESUME, PULLS, SHARED_RESULTS]);
    line.limit(pull.bytes_max);
    line.seal_from(INLINE_MAX + 1);
    line.fetch_by(pull.source, Some(&pull.ticket))?;
    let fetched = wait(&mut line, limits);
    line.leave();
    taken(fetched?)
}

/// The value may be made for a long time yet, but its source shows that it lives; once the value
/// comes, it comes.
fn wait(line: &mut Line, limits: &Limits) -> Result<FetchedData> {
    let mut pace = Pace::new(limits);
    loop {
        line.work()?;
        for event in line.take_events() {
            match event {
                LineEvent::Fetched(_, fetched) => return Ok(fetched),
                LineEvent::Ended(_, result) => {
                    let none = || Error::new(ErrorKind::Protocol, OPERATION, "it sent no value");
                    return Err(result.failure.map_or_else(none, Error::from));
                }
                LineEvent::Open(..) => pace.is_open = true,
                LineEvent::TakenUp(_) | LineEvent::Reply(..) => {}
            }
        }
        let left = pace.left(line, Instant::now())?;
        line.send()?;
        let mut watched: Vec<PollFd> = Vec::new();
        line.watch(&mut watched);
        match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system(OPERATION, error.into())),
        }
    }
}

/// How a pull goes on.
struct Pace<'a> {
    limits: &'a Limits,
    began: Instant,
    /// Whether the source has greeted: then it is asked for answers.
    is_open: bool,
    asked: Instant,
    /// What has come, and when it came last: of the value, and of anything.
    moved: (u64, Instant),
    heard: (u64, Instant),
}

impl Pace<'_> {
    fn new(limits: &Limits) -> Pace<'_> {
        let now = Instant::now();
        let none = (0, now);
        Pace { limits, began: now, is_open: false, asked: now, moved: none, heard: none }
    }

    /// How long to wait for more.
    ///
    /// # Errors
    /// `TimedOut` when nothing more is waited for.
    fn left(&mut self, line: &mut Line, now: Instant) -> Result<Duration> {
        for (before, count) in [(&mut self.moved, line.progress()), (&mut self.heard, line.heard())]
        {
            if before.0 != count {
                *before = (count, now);
            }
        }
        let Limits { time_max, stall_max, .. } = *self.limits;
        let is_coming = self.moved.0 > 0;
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
        if self.is_open && !is_coming {
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
