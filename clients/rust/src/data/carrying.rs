//! Values on their way from one server to another through this program, which reaches both: one
//! after the other, so that the program has room for the largest alone.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use farcall_base::{DataId, Error, Result};
use farcall_wire::{DataState, DataStatus};

use super::listing::{LISTED_MAX, ask_data};
use super::{Data, VALUE, wrong_answer};
use crate::argument::Argument;
use crate::client::CallOptions;
use crate::contract::Contract;
use crate::pending::PendingCall;
use crate::results::Output;
use crate::session::Session;
use crate::view::View;

/// Times between two questions whether a value is there.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Those of one client. A thread carries them, and ends with the last.
#[derive(Default)]
pub struct Carrier {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that the thread has not seen yet.
    new: Vec<Load>,
    has_thread: bool,
}

/// One value.
struct Load {
    from: Data,
    to: Data,
}

impl View {
    /// Has a value carried to a copy of it, which is promised. Where that fails, the copy never
    /// comes.
    pub(super) fn carry(view: &Arc<View>, from: Data, to: Data) {
        let mut state = view.carrier.lock();
        state.new.push(Load { from, to });
        view.carrier.changed.notify_all();
        if state.has_thread {
            return;
        }
        let own = view.clone();
        let thread = std::thread::Builder::new().name("farcall-carrier".to_owned());
        match thread.spawn(move || own.carrier.carry_all()) {
            Ok(_) => state.has_thread = true,
            Err(error) => {
                let loads = std::mem::take(&mut state.new);
                drop(state);
                let error = Error::system("start a thread", error);
                loads.iter().for_each(|load| load.fails(&error));
            }
        }
    }
}

impl Carrier {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_all(&self) {
        let mut loads = Vec::new();
        let mut pause = PAUSE_MIN;
        loop {
            let mut state = self.lock();
            loads.append(&mut state.new);
            if loads.is_empty() {
                state.has_thread = false;
                return;
            }
            drop(state);
            let before = loads.len();
            loads = carry_some(loads);
            if loads.len() < before {
                pause = PAUSE_MIN;
                continue;
            }
            let state = self.lock();
            if state.new.is_empty() {
                let waited = self.changed.wait_timeout(state, pause);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
                pause = PAUSE_MAX.min(pause * 2);
            }
        }
    }
}

/// Carries those that are there, and gives back those that are still being made: nothing is behind
/// a value that may need what comes behind it.
fn carry_some(loads: Vec<Load>) -> Vec<Load> {
    let coming = coming(&loads);
    let mut left = Vec::new();
    for load in loads {
        match coming.contains(&load.from.id()) {
            true => left.push(load),
            false => load.goes(),
        }
    }
    left
}

/// Those of the values that are still being made.
fn coming(loads: &[Load]) -> Vec<DataId> {
    let mut coming = Vec::new();
    let mut asked: Vec<(Arc<Session>, Vec<DataId>)> = Vec::new();
    for load in loads {
        if load.from.is_being_made() {
            coming.push(load.from.id());
            continue;
        }
        let session = load.from.place().session;
        match asked.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &session)) {
            Some((_, ids)) => ids.push(load.from.id()),
            None => asked.push((session, vec![load.from.id()])),
        }
    }
    for (session, ids) in asked {
        for some in ids.chunks(LISTED_MAX) {
            // Who cannot be asked cannot give them either, which carrying them tells.
            let found: Vec<DataStatus> = ask_data(&session, some.to_vec()).unwrap_or_default();
            let is_coming = |one: &&DataStatus| one.state == DataState::Coming;
            coming.extend(found.iter().filter(is_coming).map(|one| one.id));
        }
    }
    coming
}

impl Load {
    fn goes(&self) {
        if let Err(error) = self.carry() {
            self.fails(&error);
        }
    }

    fn carry(&self) -> Result<()> {
        let options = CallOptions::default();
        let fetched = self.from.start_fetch(&options)?.wait()?;
        let Output::Array(array) = fetched.get(VALUE)? else { return Err(wrong_answer()) };
        self.to.has_extents(array.shape.clone());
        let contract = Arc::new(Contract::local(self.to.kind().interface()));
        let value = Argument::Array(array.view());
        let put = PendingCall::put(&self.to, &contract, value, &options)?;
        put.wait().map(drop).map_err(|error| error.with("server", self.to.server()))
    }

    fn fails(&self, error: &Error) {
        self.from.forget_copy(&self.to);
        self.to.never_comes(error.into());
    }
}
