//! A module's executables and the calls that wait for one.

use std::time::Duration;

use farcall_base::{ExecutableId, Instant};
use farcall_services::directory::ExecutableImage;

use super::{Rank, Turn, WaitingLine};
use crate::state::CallKey;

/// Executables of a module that are killed one after the other before they take a call, until those
/// who wait hear of it.
const STARTS_AGAIN_MAX: u32 = 5;
/// Executables that are lost within this time were lost with the same host.
const SAME_END: Duration = Duration::from_secs(1);

/// Executables that come without a call that waits are stopped after this time: calls that are made
/// one after the other would have jobs leave the queue and join it again behind all others.
const SURPLUS: Duration = Duration::from_secs(5);

/// A pool, as the order of waiting calls knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolNumber(pub(super) u64);

/// The executables of a module in one publication, for calls of so many ranks.
pub struct Pool {
    number: PoolNumber,
    /// What to start.
    pub image: ExecutableImage,
    /// The least generation of its publication: pools of those before are of the past.
    publication: u64,
    /// Those that are free, most recently used last.
    idle: Vec<ExecutableId>,
    /// Those that work on calls so short that more may be passed to them ahead of time.
    brief: Vec<ExecutableId>,
    /// All that live.
    alive: usize,
    /// Those that will be free without a call having to end.
    coming: usize,
    /// Whether its executables can be told how many threads to run.
    sets_threads: bool,
    /// Since when more come than calls wait.
    surplus_since: Option<Instant>,
    /// Whether one more could not be started for lack of something: those that live serve all until
    /// one of them ends.
    is_short: bool,
    /// Executables that were killed before they took a call, since one took one.
    killed_at_start: u32,
    /// When one was last lost with its host before it took a call.
    lost_at_start: Option<Instant>,
    /// Calls that wait.
    waiting: WaitingLine,
}

impl Pool {
    /// Without executables and calls.
    pub(crate) fn new(image: ExecutableImage, publication: u64, number: PoolNumber) -> Pool {
        Pool {
            number,
            image,
            publication,
            idle: Vec::new(),
            brief: Vec::new(),
            alive: 0,
            coming: 0,
            sets_threads: false,
            surplus_since: None,
            is_short: false,
            killed_at_start: 0,
            lost_at_start: None,
            waiting: WaitingLine::default(),
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> PoolNumber {
        self.number
    }

    /// Whether its executables run on this host.
    pub(crate) fn is_here(&self) -> bool {
        self.image.launcher.is_empty()
    }

    /// The least generation of its publication.
    pub(crate) fn publication(&self) -> u64 {
        self.publication
    }

    /// Whether there is nothing of it: no executable lives, and no call waits.
    pub(crate) fn is_over(&self) -> bool {
        self.alive == 0 && self.waiting.is_empty()
    }
}

/// Its calls.
impl Pool {
    /// A call waits behind those of its rank.
    pub(crate) fn wait_last(&mut self, key: CallKey, rank: Rank) -> Turn {
        self.waiting.push_last(key, rank)
    }

    /// A call waits again, before those of its rank.
    pub(crate) fn wait_first(&mut self, key: CallKey, rank: Rank) -> Turn {
        self.waiting.push_first(key, rank)
    }

    /// A call waits no more; whether it did.
    pub(crate) fn leave(&mut self, key: CallKey, turn: Turn) -> bool {
        self.waiting.remove(key, turn)
    }

    /// Whether it has a free executable, and calls.
    pub(crate) fn is_ready(&self) -> bool {
        !self.idle.is_empty() && !self.waiting.is_empty()
    }

    /// How many of its calls begin as soon as there are processors.
    pub(crate) fn about_to_run(&self) -> usize {
        self.coming + self.idle.len().min(self.waiting.len())
    }

    /// The first call: of those that stand deepest in others, the one that has waited longest.
    pub(crate) fn next(&self) -> Option<CallKey> {
        self.waiting.front()
    }

    /// The last call.
    pub(crate) fn last(&self) -> Option<CallKey> {
        self.waiting.back()
    }

    /// Calls that wait, the next one first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = CallKey> {
        self.waiting.iter()
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// How many wait that no executable comes for, or is free for, and one may.
    pub(crate) fn unserved(&self) -> usize {
        if self.has_all() { 0 } else { self.waiting.len().saturating_sub(self.served()) }
    }

    /// The first of them.
    pub(crate) fn next_unserved(&self) -> Option<CallKey> {
        if self.has_all() { None } else { self.waiting.iter().nth(self.served()) }
    }

    fn served(&self) -> usize {
        self.coming + self.idle.len()
    }

    /// Whether as many executables live as the module wants at most.
    fn has_all(&self) -> bool {
        self.executables_max().is_some_and(|most| self.alive >= most)
    }

    /// How many the module wants at most.
    pub(crate) fn executables_max(&self) -> Option<usize> {
        let most = self.image.executables_max as usize;
        (most > 0).then_some(most)
    }

    /// Whether more executables come than calls wait.
    pub(crate) fn has_too_many_coming(&self) -> bool {
        self.coming > self.waiting.len()
    }

    /// Calls have begun, or come: notes whether too many executables come now.
    pub(crate) fn look_for_surplus(&mut self, now: Instant) {
        let is_surplus = !self.is_here() && self.has_too_many_coming();
        self.surplus_since = self.surplus_since.or(Some(now)).filter(|_| is_surplus);
    }

    /// When those are stopped that no call waits for.
    pub(crate) fn surplus_ends(&self) -> Option<Instant> {
        self.surplus_since.map(|since| since + SURPLUS)
    }

    /// They are stopped now.
    pub(crate) fn forget_surplus(&mut self) {
        self.surplus_since = None;
    }
}

/// Its executables.
impl Pool {
    /// Whether any lives.
    pub(crate) fn has_executables(&self) -> bool {
        self.alive > 0
    }

    /// Whether others live than one.
    pub(crate) fn has_others(&self) -> bool {
        self.alive > 1
    }

    /// One is to be started.
    pub(crate) fn begin_executable(&mut self) {
        self.alive += 1;
        self.coming += 1;
    }

    /// One is gone.
    pub(crate) fn end_executable(&mut self) {
        self.alive = self.alive.saturating_sub(1);
        self.is_short = false;
    }

    /// One is here, or comes no more.
    pub(crate) fn came(&mut self) {
        self.coming = self.coming.saturating_sub(1);
    }

    /// One more could not be started for lack of something, or could.
    pub(crate) fn set_short(&mut self, is_short: bool) {
        self.is_short = is_short;
    }

    /// Whether those that live serve all.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// One is free. It was the last that was busy: its memory is warm.
    pub(crate) fn add_idle(&mut self, executable: ExecutableId) {
        self.leave_brief(executable);
        if !self.idle.contains(&executable) {
            self.idle.push(executable);
        }
    }

    /// The free one that was busy last: its memory is warm.
    pub(crate) fn take_idle(&mut self) -> Option<ExecutableId> {
        self.idle.pop()
    }

    /// Those that are free.
    pub(crate) fn idle(&self) -> impl Iterator<Item = ExecutableId> {
        self.idle.iter().copied()
    }

    /// One does no more work.
    pub(crate) fn retire(&mut self, executable: ExecutableId) {
        self.idle.retain(|idle| *idle != executable);
        self.leave_brief(executable);
    }

    /// One works on calls so short that more may be passed to it ahead of time.
    pub(crate) fn add_brief(&mut self, executable: ExecutableId) {
        self.brief.push(executable);
    }

    /// It does so no more.
    pub(crate) fn leave_brief(&mut self, executable: ExecutableId) {
        self.brief.retain(|brief| *brief != executable);
    }

    /// Those that do.
    pub(crate) fn brief(&self) -> &[ExecutableId] {
        &self.brief
    }

    /// Its executables can be told how many threads to run, or cannot.
    pub(crate) fn let_set_threads(&mut self, sets_threads: bool) {
        self.sets_threads = sets_threads;
    }

    /// Whether they can.
    pub(crate) fn sets_threads(&self) -> bool {
        self.sets_threads
    }

    /// One came to take calls.
    pub(crate) fn forget_kills(&mut self) {
        self.killed_at_start = 0;
    }

    /// One was killed, or lost with its host, before it took a call: whether another may be
    /// started. A host takes all its executables with it: that is one end, and not many.
    pub(crate) fn may_start_again(&mut self, now: Instant, is_lost: bool) -> bool {
        let is_same = is_lost && self.lost_at_start.is_some_and(|at| now.since(at) < SAME_END);
        self.killed_at_start += u32::from(!is_same);
        if is_lost {
            self.lost_at_start = Some(now);
        }
        self.killed_at_start <= STARTS_AGAIN_MAX
    }
}
