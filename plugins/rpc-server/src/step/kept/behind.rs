//! Calls that come while calls of an earlier server still wait to be taken up: those of the same
//! module stand behind them, whoever made them (spec/wire.md, section 7).

use crate::state::{CallKey, Outcome, State};
use crate::step::{Server, Surroundings};

impl Server {
    /// Whether a call that is complete waits for earlier ones of its module to stand in line. It is
    /// kept in mind then.
    pub(in crate::step) fn stands_behind(&mut self, key: CallKey) -> bool {
        if !self.state.kept.parked.may_hold_up(key) {
            return false;
        }
        let stands_behind = self.state.has_earlier(key);
        if stands_behind {
            self.state.kept.parked.hold_up(key);
        }
        stands_behind
    }

    /// Earlier calls stand in line now, or never will: whoever came after them may follow.
    pub(super) fn let_in_line(&mut self, surroundings: &mut dyn Surroundings) {
        for _ in 0..self.state.kept.parked.held_up() {
            let Some(key) = self.state.kept.parked.next_held_up() else { return };
            let Some(call) = self.state.calls.get(&key) else { continue };
            let module = call.module_key();
            if self.state.has_earlier(key) {
                self.state.kept.parked.hold_up(key);
            } else {
                self.stand_in_pool(surroundings, key, &module);
            }
        }
    }
}

impl State {
    /// Whether an earlier server's calls of the same module do not stand in line yet. What a
    /// running call waits for does not wait for them: it stands before them anyway.
    fn has_earlier(&self, key: CallKey) -> bool {
        let Some(call) = self.calls.get(&key).filter(|call| call.nesting.depth == 0) else {
            return false;
        };
        let module = call.routine.module.name.as_str();
        let is_its = |routine: &str| routine.split_once('/').is_some_and(|(of, _)| of == module);
        let is_parked = |id| {
            let kept = self.kept.get(id);
            kept.is_some_and(|kept| {
                matches!(kept.outcome, Outcome::Parked(_)) && is_its(&kept.routine)
            })
        };
        let is_loading =
            |key: CallKey| self.calls.get(&key).is_some_and(|call| is_its(&call.routine.name));
        let passes = self.kept.parked.lets_by() || self.draining;
        self.kept.parked.loading().any(is_loading)
            || !passes && self.kept.parked.ids().any(is_parked)
    }
}
