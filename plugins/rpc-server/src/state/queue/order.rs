//! One order over all calls that wait: whose turn it is, and which call of his is the next, whatever
//! module runs it.
//!
//! - A call of a program stands in `order` and in the line of its pool, from when it waits until it
//!   is passed on, or ends. A call inside another stands in its pool's line alone: it comes before
//!   all others.
//! - No call waits that a free executable could take, unless one waits before it for processors.

use std::cmp::Reverse;

use farcall_base::ExecutableId;

use super::{Pool, PoolNumber};
use crate::state::{CallKey, Executable, ModuleKey, Phase, State};

/// A pool that has a free executable, and calls.
type Ready = (PoolNumber, ModuleKey);

impl State {
    /// Those of executables that wait for calls of their own, or for functions of their clients.
    fn lent_processors(&self) -> u64 {
        let here = self.executables.values().filter(|record| !record.held);
        here.filter(|record| record.processors > 0 && self.waits_for_others(record))
            .map(|record| u64::from(record.processors))
            .sum()
    }

    /// Those that executables have: counted, to check what is kept.
    pub(crate) fn processors_taken(&self) -> u64 {
        self.executables.values().map(|record| u64::from(record.processors)).sum()
    }

    /// Whether a call finds processors at once.
    pub(crate) fn has_processors(&self, wanted: u32) -> bool {
        let processors = &self.queue.processors;
        processors.has(wanted) || wanted <= processors.free(self.lent_processors())
    }

    /// An executable begins to work, on so many processors.
    pub(crate) fn take_processors(&mut self, executable: ExecutableId, count: u32) {
        if let Some(record) = self.executables.get_mut(&executable) {
            record.processors += count;
            self.queue.processors.take(count);
        }
    }

    /// One of a pool has nothing to do.
    pub(crate) fn free_its_processors(&mut self, executable: ExecutableId) {
        if let Some(record) = self.executables.get_mut(&executable) {
            let count = std::mem::take(&mut record.processors);
            self.queue.processors.give_back(count);
        }
    }

    /// The next call for an executable that is free: of all pools of this host, or of one whose
    /// executables run elsewhere. It leaves its line.
    pub(crate) fn take_next(&mut self, module: &ModuleKey) -> Option<(CallKey, ExecutableId)> {
        if self.queue.is_empty() {
            return None;
        }
        let is_here = self.queue.get(module).is_none_or(Pool::is_here);
        let ready = if is_here { self.ready_here() } else { self.ready_elsewhere(module) };
        let next = self.take_ready(&ready);
        if is_here {
            self.queue.set_held(next.is_none() && !ready.is_empty());
        }
        next
    }

    fn take_ready(&mut self, ready: &[Ready]) -> Option<(CallKey, ExecutableId)> {
        if ready.is_empty() {
            return None;
        }
        let (key, module) = match self.deepest(ready) {
            Some((key, module)) => {
                let wanted = self.calls.get(&key).map_or(0, |call| call.run.share.processors);
                self.has_processors(wanted).then_some((key, module))?
            }
            None => self.take_in_order(ready)?,
        };
        self.begin_on_free(key, &module)
    }

    fn ready_here(&self) -> Vec<Ready> {
        let here = self.queue.pools().filter(|(_, pool)| pool.is_here() && pool.is_ready());
        here.map(|(module, pool)| (pool.number(), module.clone())).collect()
    }

    fn ready_elsewhere(&self, module: &ModuleKey) -> Vec<Ready> {
        let pool = self.queue.get(module).filter(|pool| pool.is_ready());
        pool.map(|pool| (pool.number(), module.clone())).into_iter().collect()
    }

    /// Of the calls inside others, the deepest, and of these the oldest.
    fn deepest(&self, ready: &[Ready]) -> Option<(CallKey, ModuleKey)> {
        if !self.queue.has_inside() {
            return None;
        }
        let first = |(_, module): &Ready| {
            let key = self.queue.get(module)?.next()?;
            let depth = self.depth_of(key);
            (depth > 0).then(|| (Reverse(depth), key, module.clone()))
        };
        let (_, key, module) = ready.iter().filter_map(first).min()?;
        Some((key, module))
    }

    fn take_in_order(&mut self, ready: &[Ready]) -> Option<(CallKey, ModuleKey)> {
        let is_ready = |number| ready.iter().any(|(other, _)| *other == number);
        let mut next = self.queue.take_in_order(0, is_ready).call();
        if next.is_none() {
            // To look for those that lend theirs is worth it where they are needed.
            let lent = self.lent_processors();
            next = self.queue.take_in_order(lent, is_ready).call().filter(|_| lent > 0);
        }
        let next = next?;
        let (_, key) = next.key;
        let call = self.calls.get_mut(&key)?;
        call.run.share.charged_s = next.call.processor_seconds();
        Some((key, call.module_key()))
    }

    fn begin_on_free(
        &mut self,
        key: CallKey,
        module: &ModuleKey,
    ) -> Option<(CallKey, ExecutableId)> {
        let call = self.calls.get(&key)?;
        let wanted = call.run.share.processors;
        self.queue.leave(key, call);
        let executable = self.queue.get_mut(module)?.take_idle()?;
        self.take_processors(executable, wanted);
        Some((key, executable))
    }

    /// A call that comes finds a free executable and processors, and nobody waits before it: its
    /// executable.
    pub(crate) fn take_at_once(
        &mut self,
        key: CallKey,
        module: &ModuleKey,
    ) -> Option<ExecutableId> {
        let call = self.calls.get_mut(&key)?;
        let wanted = call.run.share.processors;
        if wanted > 0 && (self.queue.is_held() || !self.queue.processors.has(wanted)) {
            return None;
        }
        let pool = self.queue.get_mut(module).filter(|pool| pool.count() == 0)?;
        let executable = pool.take_idle()?;
        self.pass_at_once(key);
        self.take_processors(executable, wanted);
        Some(executable)
    }

    /// A call did not have to wait: its user pays all the same.
    pub(crate) fn pass_at_once(&mut self, key: CallKey) {
        let Some(call) = self.calls.get_mut(&key) else { return };
        let share = &mut call.run.share;
        share.charged_s = share.least_cost();
        self.queue.pass(share);
    }

    /// A call is passed ahead of time: it leaves its line, and its user pays.
    pub(crate) fn begin_ahead(&mut self, key: CallKey) {
        let Some(call) = self.calls.get_mut(&key) else { return };
        let cost = call.run.share.cost(call.run.share.run_s);
        call.run.share.charged_s = cost;
        self.queue.correct(call.run.share.user, cost);
        self.queue.leave(key, call);
    }

    /// The first call of a pool, in the order of all.
    pub(crate) fn first_in_order(&self, pool: &Pool) -> Option<CallKey> {
        let first = pool.next()?;
        if self.depth_of(first) > 0 {
            return Some(first);
        }
        self.queue.first_of(pool.number())
    }

    /// A call has ended, or comes back: what it took more or less than was paid for it.
    pub(crate) fn settle_share(&mut self, key: CallKey, seconds: f64) {
        let Some(call) = self.calls.get_mut(&key) else { return };
        let share = &mut call.run.share;
        let paid = std::mem::take(&mut share.charged_s);
        self.queue.correct(share.user, share.cost(seconds) - paid);
    }

    /// Calls that could run and do not, and processors that nobody has and that are not free.
    #[cfg(test)]
    pub(crate) fn forgotten_by_order(&self) -> Vec<&'static str> {
        let ready = !self.ready_here().is_empty();
        let is_served = !ready || self.queue.is_held() || self.ending;
        let nobody_works = self.executables.values().all(|one| one.line.is_empty() && !one.held);
        let all = [
            ("calls", !is_served),
            ("processors", self.queue.processors.used() != self.processors_taken()),
            (
                "processors of nobody",
                nobody_works && self.queue.is_held() && self.lent_processors() > 0,
            ),
        ];
        all.into_iter().filter(|(_, is_true)| *is_true).map(|(name, _)| name).collect()
    }

    /// Whether an executable's call waits for calls of its own, or for a function of its client.
    fn waits_for_others(&self, record: &Executable) -> bool {
        let front = record.line.front().filter(|_| record.phase == Phase::Busy);
        let call = front.and_then(|key| Some((key, self.calls.get(&key)?)));
        call.is_some_and(|(key, call)| !call.nesting.inner.is_empty() || self.callbacks.has(key))
    }
}
