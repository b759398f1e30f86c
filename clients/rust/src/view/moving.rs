//! Calls that did not run where they were placed: made at another server, if nothing has run, or if
//! they may run twice.

use std::sync::Arc;
use std::time::Instant;

use farcall_base::{Error, Result};
use farcall_peer::Audience;
use farcall_peer::moving::{Failed, may_move};
use farcall_wire::CallOutcome;

use super::finding::{Named, Placed, Wanted};
use super::looking::demand;
use super::search::{Search, cancelled};
use super::waiting::Slices;
use super::{View, lock, outcomes, own_host};
use crate::argument::Passed;
use crate::contract::Contract;
use crate::pending::PendingCall;
use crate::results::{Outputs, PlacedTimes};
use crate::session::{Conditions, Returned, Told};

/// A call may take so much longer than twice what was predicted: it is a small one.
const WRONG_S: f64 = 0.001;

/// What is kept of a call that did not run where it was placed.
#[derive(Default)]
pub struct Apart {
    /// It looks for another server.
    moving: Option<Moving>,
    /// Its outcome, where it came while news were waited for.
    over: Option<Result<Outputs>>,
    /// Servers that did not take it.
    without: Vec<String>,
}

/// A call that has no server for a while.
struct Moving {
    asked: Option<(Passed, Conditions)>,
    search: Arc<Search>,
    found: Option<super::Place>,
}

/// What is known of a call that failed.
fn failed(returned: &Returned, contract: &Contract) -> Failed {
    let is_late = returned.conditions.deadline.is_some_and(|deadline| deadline <= Instant::now());
    Failed {
        reached: returned.reached,
        is_intact: returned.is_intact,
        is_late,
        may_run_twice: contract.interface.idempotent && contract.callbacks.is_empty(),
    }
}

impl View {
    /// Nobody wants a call any more that looks for a server.
    pub fn cancel_search(&self, number: u64) {
        if let Some(search) = lock(&self.moving).get(&number).and_then(std::sync::Weak::upgrade) {
            search.cancel();
        }
    }

    /// A call has another number's place no more.
    pub fn forget_moved(&self, number: u64) {
        lock(&self.moved).remove(&number);
        lock(&self.moving).remove(&number);
    }
}

impl PendingCall {
    /// Waits for the outcome of a call that was placed, or that is not the only one that runs on
    /// several connections.
    #[inline(never)]
    pub(crate) fn outcome_beside(
        &mut self,
        until: Option<Instant>,
    ) -> Result<Option<Result<Outputs>>> {
        loop {
            match self.resume(until) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Ok(Some(Err(error))),
            }
            let came = match self.apart.as_mut().and_then(|apart| apart.over.take()) {
                Some(outcome) => Some(outcome),
                None => self.wait_beside(until)?,
            };
            let Some(outcome) = came else { return Ok(None) };
            match outcome {
                Ok(mut outputs) => {
                    self.tell_of(Ok(&mut outputs));
                    return Ok(Some(Ok(outputs)));
                }
                Err(error) => match self.move_on(error) {
                    Ok(()) => {}
                    Err(error) => {
                        self.tell_of(Err(&error));
                        return Ok(Some(Err(error)));
                    }
                },
            }
        }
    }

    /// What the server tells, or that it ended: not while it looks for another server.
    pub(crate) fn told_within(&mut self, until: Option<Instant>) -> Result<Option<Told>> {
        if !self.is_beside() {
            return self.session.next_news(self.number, until);
        }
        let mut slices = Slices::default();
        loop {
            match self.resume(until) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                // Collecting tells.
                Err(error) => {
                    self.apart().over = Some(Err(error));
                    return Ok(Some(Told::Over));
                }
            }
            let slice = if self.has_beside() { Some(slices.next(until)) } else { until };
            match self.session.next_news(self.number, slice)? {
                Some(Told::Over) => match self.session.wait_apart(self.number, slice)? {
                    Some(Err(error)) => match self.move_on(error) {
                        Ok(()) => continue,
                        Err(error) => self.apart().over = Some(Err(error)),
                    },
                    outcome => self.apart().over = outcome,
                },
                Some(told) => return Ok(Some(told)),
                None if slice.zip(until).is_none_or(|(slice, until)| until <= slice) => {
                    return Ok(None);
                }
                None => {
                    if self.client.view().process_beside(&self.session) {
                        slices.restart();
                    }
                    continue;
                }
            }
            return Ok(Some(Told::Over));
        }
    }

    /// Waits for its connection, and looks after the others meanwhile.
    fn wait_beside(&self, until: Option<Instant>) -> Result<Option<Result<Outputs>>> {
        let mut slices = Slices::default();
        loop {
            if !self.has_beside() {
                return self.session.wait_apart(self.number, until);
            }
            let slice = slices.next(until);
            if let Some(outcome) = self.session.wait_apart(self.number, Some(slice))? {
                return Ok(Some(outcome));
            }
            if until.is_some_and(|until| until <= slice) {
                return Ok(None);
            }
            if self.client.view().process_beside(&self.session) {
                slices.restart();
            }
        }
    }

    fn apart(&mut self) -> &mut Apart {
        self.apart.get_or_insert_default()
    }

    /// Has a call that failed begin to look for another server.
    ///
    /// # Errors
    /// Its own, if it is to end.
    pub(crate) fn move_on(&mut self, error: Error) -> Result<()> {
        let Some(placed) = self.placed.take() else { return Err(error) };
        let returned = self.session.take_back(self.number);
        if returned.as_ref().is_some_and(|returned| returned.reached.is_cancelled) {
            self.placed = Some(placed);
            return Err(cancelled().with("before", error));
        }
        let returned =
            returned.filter(|returned| may_move(&error, failed(returned, &self.contract)));
        let Some(Returned { passed, conditions, .. }) = returned else {
            self.placed = Some(placed);
            return Err(error);
        };
        placed.server.count(self.client.view(), false);
        self.client.view().outcomes.end(self.number);
        self.look_elsewhere(placed, (passed, conditions), error)
    }

    fn look_elsewhere(
        &mut self,
        placed: Placed,
        asked: (Passed, Conditions),
        error: Error,
    ) -> Result<()> {
        let without = &mut self.apart().without;
        without.push(placed.server.name.to_string());
        let without = without.clone();
        let view = self.client.view();
        let grants = (placed.grant, placed.led.as_ref());
        view.refused(&self.contract, &placed.server, grants, &error);
        let (demand, first) = match placed.alone {
            Some(alone) => (alone.demand, alone.rest),
            None => {
                let demand = demand(&self.contract, &asked.0.arguments)?;
                let others = self.contract.placing.as_ref().map(|all| all.others(placed.grant));
                (demand, others.into_iter().flatten().map(Named::only).collect())
            }
        };
        let is_wanted = |named: &Named| !without.iter().any(|name| **name == *named.server.name);
        let wanted = Wanted {
            first: first.into_iter().filter(is_wanted).collect(),
            without: without.clone(),
            grant: placed.grant,
            trouble: Some(error),
            ..Wanted::new(&self.contract, demand, asked.1.deadline)
        };
        let audience = asked.1.announced;
        let call = (audience != Audience::NOBODY).then_some((audience, self.number));
        let search = Search::begin(view, wanted, call);
        lock(&view.moving).insert(self.number, Arc::downgrade(&search));
        self.apart().moving = Some(Moving { asked: Some(asked), search, found: None });
        Ok(())
    }

    /// Goes on with a call that looks for a server; whether it has one.
    fn resume(&mut self, until: Option<Instant>) -> Result<bool> {
        loop {
            let Some(apart) = &mut self.apart else { return Ok(true) };
            let Some(moving) = &mut apart.moving else { return Ok(true) };
            if moving.found.is_none() {
                match moving.search.wait(until) {
                    None => return Ok(false),
                    Some(found) => {
                        let mut found = found.inspect_err(|_| apart.moving = None)?;
                        apart.without = std::mem::take(&mut found.without);
                        if let Some(moving) = &mut apart.moving {
                            moving.found = Some(found.place());
                        }
                    }
                }
                continue;
            }
            return self.open_again(until);
        }
    }

    /// Opens it at the server that was found; false if that has no room by then.
    fn open_again(&mut self, until: Option<Instant>) -> Result<bool> {
        let moving = self.apart.as_mut().and_then(|apart| apart.moving.take());
        let Some(mut moving) = moving else { return Ok(true) };
        let Some(place) = moving.found.take() else { return Ok(false) };
        if let Some((_, conditions)) = &mut moving.asked {
            place.tell(conditions);
        }
        let wait = until.map(|until| until.saturating_duration_since(Instant::now()));
        let opened = place.session.open(&self.contract, &mut moving.asked, Some(self.number), wait);
        match (opened, moving.asked.take()) {
            (Ok(Some(_)), _) => {
                self.goes_to(place, true);
                // Nobody could reach it there before.
                if moving.search.is_cancelled() {
                    self.session.cancel(self.number)?;
                }
                Ok(true)
            }
            (Ok(None), asked) => {
                moving.asked = asked;
                moving.found = Some(place);
                self.apart().moving = Some(moving);
                Ok(false)
            }
            // The connection is gone, and nothing of it has left.
            (Err(error), Some(asked)) => {
                let Some(placed) = place.placed else { return Err(error) };
                self.look_elsewhere(placed, asked, error)?;
                self.resume(until)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// It was opened there.
    pub(crate) fn goes_to(&mut self, place: super::Place, is_again: bool) {
        let view = self.client.view();
        self.session = place.session;
        self.placed = place.placed;
        self.data_is_made_here();
        let Some(placed) = &self.placed else { return };
        placed.server.count(view, true);
        if placed.alone.is_some() && placed.grant != 0 {
            view.outcomes.begin(view, (self.number, placed.grant), &placed.server, &self.session);
        }
        if is_again {
            lock(&view.moving).remove(&self.number);
            lock(&view.moved).insert(self.number, self.session.clone());
            view.has_moved.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Tells the metaserver that placed it what became of it; results are given what was predicted.
    fn tell_of(&self, outcome: std::result::Result<&mut Outputs, &Error>) {
        let Some(placed) = &self.placed else { return };
        let Some(alone) = placed.alone.as_ref().filter(|_| placed.grant != 0) else { return };
        let view = self.client.view();
        view.outcomes.end(self.number);
        let mut sent = None;
        let mut returned = None;
        let mut failure = None;
        match outcome {
            Ok(outputs) => {
                let took = self.session.take_times(self.number);
                let placed = took.and_then(|took| outcomes::beside(outputs, took, alone));
                if let Some(times) = &placed {
                    self.look_at_grant(times);
                    outputs.seldom.get_or_insert_default().placed = placed;
                }
                (sent, returned) = outcomes::transfers(outputs, took, alone);
            }
            Err(error) => failure = Some(error.kind().code()),
        }
        let grant = placed.grant;
        let through = placed.led.as_ref().map_or(&placed.server.name, |led| &led.through);
        let server = through.to_string();
        let told = CallOutcome { grant, server, sent, returned, failure, ..CallOutcome::default() };
        let told = CallOutcome { host: own_host(), ..told };
        placed.led.iter().for_each(|led| led.tell(&told));
        view.outcomes.push(view, told);
    }

    /// A grant for many calls is given up whose first one took much longer than was predicted.
    fn look_at_grant(&self, times: &PlacedTimes) {
        let is_wrong = times.measured.total_s() > 2.0 * times.predicted.total_s() + WRONG_S;
        if let (Some(placing), Some(placed)) = (&self.contract.placing, &self.placed)
            && is_wrong
        {
            placing.give_up(placed.grant);
        }
    }

    /// Nobody waits for it any more.
    #[inline(never)]
    pub(crate) fn leaves(&mut self) {
        let view = self.client.view();
        if self.counts {
            view.home().count(view, false);
        }
        if let Some(placed) = self.placed.take() {
            placed.server.count(view, false);
            if placed.alone.is_some() {
                view.outcomes.end(self.number);
            }
        }
        if self.apart.is_some() {
            view.forget_moved(self.number);
        }
    }
}
