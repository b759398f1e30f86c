//! Data that this server pulls from others (spec/wire.md, section 12.1): each pull has a thread of its
//! own, so that a slow source holds up nothing else.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
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
use rustix::fs::{MemfdFlags, SealFlags};

use crate::options::Settings;

const OPERATION: &str = "pull data";
/// Elements with more bytes are in memory of their own.
const INLINE_MAX: u64 = 4096;
/// Memory is given in whole pages.
const PAGE_BYTES: u64 = 4096;

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
    let stream = super::dial_one(transports, &pull.addresses)?;
    let mut line = Line::new(stream, &[DATA, RESUME, PULLS, SHARED_RESULTS]);
    line.limit(pull.bytes_max);
    line.fetch_by(pull.source, Some(&pull.ticket))?;
    let fetched = wait(&mut line, limits);
    line.leave();
    taken(fetched?)
}

/// The value may be made for a long time yet; once it comes, it comes.
fn wait(line: &mut Line, limits: &Limits) -> Result<FetchedData> {
    let began = Instant::now();
    let mut moved = (line.progress(), began);
    loop {
        line.work()?;
        for event in line.take_events() {
            match event {
                LineEvent::Fetched(_, fetched) => return Ok(fetched),
                LineEvent::Ended(_, result) => {
                    let none = || Error::new(ErrorKind::Protocol, OPERATION, "it sent no value");
                    return Err(result.failure.map_or_else(none, Error::from));
                }
                LineEvent::Open(..) | LineEvent::TakenUp(_) | LineEvent::Reply(..) => {}
            }
        }
        let now = Instant::now();
        if line.progress() != moved.0 {
            moved = (line.progress(), now);
        }
        let until = began + limits.time_max;
        let until = match moved.0 {
            0 => until,
            _ => until.min(moved.1 + limits.stall_max),
        };
        let left = until.saturating_duration_since(now);
        if left.is_zero() {
            let message = match moved.0 {
                0 => "the value was not made in time",
                _ => "the source stopped to send it",
            };
            return Err(Error::new(ErrorKind::TimedOut, OPERATION, message));
        }
        let mut watched: Vec<PollFd> = Vec::new();
        line.watch(&mut watched);
        match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system(OPERATION, error.into())),
        }
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
            let block = Block::of(&elements, 0, size)?;
            match bytes {
                0..=INLINE_MAX => Elements::Inline(block.bytes().to_vec()),
                _ => {
                    let size = bytes.next_multiple_of(PAGE_BYTES);
                    Elements::Memory(sealed(block.bytes(), size)?, size)
                }
            }
        }
    };
    Ok(Pulled { kind, extents, bytes, elements })
}

/// Memory with these bytes that nobody can change any more.
fn sealed(bytes: &[u8], size: u64) -> Result<OwnedFd> {
    let failed = |error: rustix::io::Errno| Error::system("keep pulled data", error.into());
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create(c"farcall", flags).map_err(failed)?;
    rustix::fs::ftruncate(&memory, size).map_err(failed)?;
    let mut file = File::from(memory);
    file.write_all(bytes).map_err(|error| Error::system("keep pulled data", error))?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(failed)?;
    Ok(file.into())
}
