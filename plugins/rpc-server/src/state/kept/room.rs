//! How much is kept, by principal, and whether more may be.
//!
//! What connections hold is counted beside what is kept: it counts for its principal's share, too,
//! but makes room for what somebody asked to be kept.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};

use super::Kept;

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct KeepLimits {
    /// Longest time that a call may be kept after its end.
    pub longest: Duration,
    /// Longest time for which the calls of a lost connection wait for their client; zero: none do.
    pub resume: Duration,
    /// Calls that are kept at once.
    pub calls_max: usize,
    /// Bytes of outcomes in memory.
    pub memory_bytes_max: u64,
    /// Bytes of outcomes in the results folder.
    pub file_bytes_max: u64,
    /// What one principal may have of each of these, in percent.
    pub share_percent: u64,
    /// Whether there is a results folder.
    pub has_folder: bool,
}

impl KeepLimits {
    /// What one principal may have of that.
    fn share(&self, max: u64) -> u64 {
        (u128::from(max) * u128::from(self.share_percent) / 100) as u64
    }
}

/// What somebody keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    calls: u64,
    memory: u64,
    files: u64,
}

impl Use {
    pub(super) fn of(kept: &Kept) -> Use {
        let (memory, files) = if kept.keep.durable { (0, kept.bytes) } else { (kept.bytes, 0) };
        Use { calls: 1, memory, files }
    }

    /// What data counts as that takes so many bytes.
    pub(super) fn of_data(bytes: u64) -> Use {
        Use { calls: 1, memory: bytes, files: 0 }
    }

    fn add(&mut self, other: Use) {
        self.calls += other.calls;
        self.memory = self.memory.saturating_add(other.memory);
        self.files = self.files.saturating_add(other.files);
    }

    fn take(&mut self, other: Use) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.memory = self.memory.saturating_sub(other.memory);
        self.files = self.files.saturating_sub(other.files);
    }
}

/// What is counted.
#[derive(Default)]
pub struct KeptRoom {
    all: Use,
    by_principal: BTreeMap<String, Use>,
    /// Bytes of outcomes of connections that are there, whose clients have not said that they have
    /// them; of all, and by principal.
    held_bytes: u64,
    held: BTreeMap<String, u64>,
}

impl KeptRoom {
    /// A principal keeps more.
    pub(super) fn take(&mut self, principal: &str, used: Use) {
        self.all.add(used);
        self.by_principal.entry(principal.to_owned()).or_default().add(used);
    }

    /// A principal keeps less.
    pub(super) fn give_back(&mut self, principal: &str, used: Use) {
        self.all.take(used);
        if let Some(mine) = self.by_principal.get_mut(principal) {
            mine.take(used);
            if *mine == Use::default() {
                self.by_principal.remove(principal);
            }
        }
    }

    /// Whether connections hold anything.
    pub(crate) fn has_held(&self) -> bool {
        self.held_bytes > 0
    }

    /// A connection of a principal's holds so much more.
    pub(crate) fn hold(&mut self, principal: &str, bytes: u64) {
        self.held_bytes += bytes;
        match self.held.get_mut(principal) {
            Some(held) => *held += bytes,
            None => drop(self.held.insert(principal.to_owned(), bytes)),
        }
    }

    /// It holds so much less.
    pub(crate) fn hold_less(&mut self, principal: &str, bytes: u64) {
        self.held_bytes -= bytes;
        if let Some(held) = self.held.get_mut(principal) {
            *held -= bytes;
            if *held == 0 {
                self.held.remove(principal);
            }
        }
    }

    /// Whose connections hold the most, where what they hold leaves no room for so many bytes that
    /// are to be kept in memory.
    pub(crate) fn holds_too_much(&self, bytes: u64, limits: &KeepLimits) -> Option<&str> {
        let all = self.all.memory.saturating_add(self.held_bytes).saturating_add(bytes);
        let most = self.held.iter().max_by_key(|(_, held)| **held);
        most.filter(|_| all > limits.memory_bytes_max).map(|(principal, _)| principal.as_str())
    }

    /// Whether a connection of this principal's may hold so many bytes more.
    pub(crate) fn may_hold(&self, principal: &str, bytes: u64, limits: &KeepLimits) -> bool {
        let kept = self.by_principal.get(principal).map_or(0, |mine| mine.memory);
        let mine = kept.saturating_add(self.held.get(principal).copied().unwrap_or(0));
        let all = self.all.memory.saturating_add(self.held_bytes);
        all.saturating_add(bytes) <= limits.memory_bytes_max
            && mine.saturating_add(bytes) <= limits.share(limits.memory_bytes_max)
    }

    /// Whether so much more data of this principal's, of so many bytes together, may be kept.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub(crate) fn check_data_room(
        &self,
        principal: &str,
        (count, bytes): (u64, u64),
        limits: &KeepLimits,
    ) -> Result<()> {
        self.check_count(principal, count, limits)?;
        self.check_bytes(principal, bytes, false, limits)
    }

    /// Whether one more call of this principal's, and so many bytes, may be kept.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub(crate) fn check_room(
        &self,
        principal: &str,
        bytes: u64,
        durable: bool,
        limits: &KeepLimits,
    ) -> Result<()> {
        self.check_count(principal, 1, limits)?;
        self.check_bytes(principal, bytes, durable, limits)
    }

    fn check_count(&self, principal: &str, count: u64, limits: &KeepLimits) -> Result<()> {
        let mine = self.by_principal.get(principal).copied().unwrap_or_default();
        let calls_max = limits.calls_max as u64;
        if self.all.calls.saturating_add(count) > calls_max {
            return full(
                "the server has reached its limit of kept calls and data",
                "results_max",
                calls_max,
            );
        }
        let own_max = limits.share(calls_max);
        if mine.calls.saturating_add(count) > own_max.max(1) {
            let share = Share { name: "your share of results_max", max: own_max, limits };
            return match count > own_max.max(1) {
                true => share.never("these are more calls and data than you may keep at once"),
                false => share.full("you have reached your limit of kept calls and data"),
            };
        }
        Ok(())
    }

    /// Whether so many bytes more of this principal's may be kept, of a call that is.
    ///
    /// # Errors
    /// `LimitExceeded`, which may be retried.
    pub(crate) fn check_bytes(
        &self,
        principal: &str,
        bytes: u64,
        durable: bool,
        limits: &KeepLimits,
    ) -> Result<()> {
        let mine = self.by_principal.get(principal).copied().unwrap_or_default();
        let (all, own, max, name) = match durable {
            true => (self.all.files, mine.files, limits.file_bytes_max, "results_bytes_max"),
            false => {
                (self.all.memory, mine.memory, limits.memory_bytes_max, "results_memory_bytes_max")
            }
        };
        if all.saturating_add(bytes) > max {
            return full("the server has reached its limit of kept bytes", name, max);
        }
        let own_max = limits.share(max);
        if own.saturating_add(bytes) > own_max {
            let name = match durable {
                true => "your share of results_bytes_max",
                false => "your share of results_memory_bytes_max",
            };
            let share = Share { name, max: own_max, limits };
            return match bytes > own_max {
                true => share.never("these are more bytes than you may keep at once"),
                false => share.full("you have reached your limit of kept bytes"),
            };
        }
        Ok(())
    }
}

const MAKE_ROOM: &str = "delete outcomes that you have fetched (`farcall kept`) and data that you \
    do not need (`farcall data`), wait until others expire, or ";
const RAISE: &str = "raise the limit in the server's farcall.toml; a private server reads one with \
    farcall.connect(arguments=[\"--manifest\", FILE])";

fn full(what: &'static str, name: &'static str, limit: u64) -> Result<()> {
    Err(Error::new(ErrorKind::LimitExceeded, "keep a value", what)
        .with(name, limit)
        .fix(format!("{MAKE_ROOM}{RAISE}"))
        .retryable())
}

/// What one principal may have of a limit.
struct Share<'a> {
    name: &'static str,
    max: u64,
    limits: &'a KeepLimits,
}

impl Share<'_> {
    fn exceeded(&self, what: &'static str) -> Error {
        Error::new(ErrorKind::LimitExceeded, "keep a value", what)
            .with(self.name, self.max)
            .with("results_share_percent", self.limits.share_percent)
            .retryable()
    }

    /// It has as much already.
    fn full(&self, what: &'static str) -> Result<()> {
        Err(self.exceeded(what).fix(format!("{MAKE_ROOM}{RAISE}")))
    }

    /// Nothing that is deleted makes room for this.
    fn never(&self, what: &'static str) -> Result<()> {
        Err(self.exceeded(what).fix(format!("divide it among several servers, or {RAISE}")))
    }
}
