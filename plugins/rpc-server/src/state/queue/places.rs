//! How many executables of this host there are, and what they do: counted when it is asked for.

use crate::state::{Call, CallKey, Phase, State};

/// The executables of this host that are not held.
pub struct Places<'a>(pub(super) &'a State);

impl Places<'_> {
    /// Those that were started and have not ended.
    pub fn alive(&self) -> usize {
        self.0.executables_alive()
    }

    /// Of them, those that end.
    pub fn ending(&self) -> usize {
        self.0.executables.pooled_ending()
    }

    /// Those that wait for calls of their own, or for functions of their clients, and lend these
    /// their places.
    pub fn lent(&self) -> usize {
        let waits = |key, call: &Call| !call.nesting.inner.is_empty() || self.0.callbacks.has(key);
        self.lenders(waits)
    }

    /// Those that wait for functions of their clients. These may make calls in threads of their
    /// own, which nobody can tell from others.
    pub fn lent_to_clients(&self) -> usize {
        if self.0.callbacks.is_empty() {
            return 0;
        }
        self.lenders(|key, _| self.0.callbacks.has(key))
    }

    /// Those that wait for calls of their own.
    pub fn lent_to_calls(&self) -> usize {
        self.lenders(|_, call| !call.nesting.inner.is_empty())
    }

    fn lenders(&self, lends: impl Fn(CallKey, &Call) -> bool) -> usize {
        let records = self.0.executables.values();
        let busy = records.filter(|record| record.phase == Phase::Busy && !record.held);
        let fronts = busy.filter_map(|record| record.line.front());
        fronts.filter(|key| self.0.calls.get(key).is_some_and(|call| lends(*key, call))).count()
    }
}
