//! Waits for calls of several connections: one thread sees to all of them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use farcall_base::Result;
use farcall_peer::Audience;
use rustix::event::{PollFd, PollFlags, poll};

use super::{View, lock};
use crate::session::{Session, raise, signal, silence};

/// Time that one connection is waited for before the others are looked after: longer than a receive
/// that blocks.
const SLICE_MIN: Duration = Duration::from_millis(5);
const SLICE_MAX: Duration = Duration::from_millis(20);

/// Tells of calls that found another server, or none.
#[derive(Default)]
pub struct Bell {
    /// Made when it is wanted.
    descriptor: OnceLock<OwnedFd>,
    numbers: Mutex<VecDeque<(Audience, u64)>>,
    watched: AtomicBool,
}

impl Bell {
    /// Somebody may wait for it from now on; whether nobody did before.
    pub fn watch(&self) -> bool {
        !self.watched.swap(true, Ordering::Relaxed)
    }

    /// Whether somebody may wait for it.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Has a connection's descriptor for event loops tell of it, if somebody may wait.
    fn join(&self, home: &Session) {
        if !self.is_watched() || self.descriptor.get().is_some() {
            return;
        }
        // A wait in pieces looks at it all the same.
        if let Ok(made) = signal()
            && self.descriptor.set(made).is_ok()
            && let Some(descriptor) = self.descriptor.get()
        {
            let _ = home.add_events(descriptor);
        }
    }

    fn ring(&self) {
        if let Some(descriptor) = self.descriptor.get() {
            raise(descriptor);
        }
    }

    fn next(&self, audience: Audience) -> Option<u64> {
        let mut numbers = lock(&self.numbers);
        let place = numbers.iter().position(|(whose, _)| *whose == audience)?;
        let next = numbers.remove(place).map(|(_, number)| number);
        if numbers.iter().all(|(whose, _)| *whose != Audience::EVERYBODY) {
            self.descriptor.get().into_iter().for_each(silence);
        }
        next
    }
}

/// Grows while nothing happens on the other connections.
pub struct Slices(Duration);

impl Default for Slices {
    fn default() -> Slices {
        Slices(SLICE_MIN)
    }
}

impl Slices {
    /// Until when one connection is waited for.
    pub fn next(&mut self, until: Option<Instant>) -> Instant {
        let end = Instant::now() + self.0;
        self.0 = (self.0 * 2).min(SLICE_MAX);
        until.map_or(end, |until| until.min(end))
    }

    /// Something did.
    pub fn restart(&mut self) {
        self.0 = SLICE_MIN;
    }
}

impl View {
    /// There is something to do for a call that has no connection.
    pub fn announce(&self, audience: Audience, number: u64) {
        lock(&self.bell.numbers).push_back((audience, number));
        self.is_plural.store(true, Ordering::Relaxed);
        if audience == Audience::EVERYBODY {
            self.bell.join(&self.home_session);
            self.bell.ring();
        }
        self.home_session.wake();
    }

    /// Has the home's descriptor for event loops tell of another connection, too.
    pub fn watch(&self, session: &Session) {
        self.bell.join(&self.home_session);
        let _ = self.home_session.add_events(session.events());
    }

    /// Has it tell of all connections there are, and of those to come.
    pub fn watch_all(&self) {
        if self.bell.watch() {
            self.all_sessions().iter().skip(1).for_each(|session| self.watch(session));
        }
    }

    /// Whether calls run that are not this many, of one server.
    pub fn has_beside(&self, own: usize) -> bool {
        self.is_plural() && self.under_way.load(Ordering::Relaxed) > own
    }

    /// Handles what came on all connections but one, without waiting; whether anything moved.
    pub fn process_beside(&self, own: &Arc<Session>) -> bool {
        let mut moved = false;
        for session in self.all_sessions() {
            if !Arc::ptr_eq(&session, own) {
                let before = session.bytes_moved();
                let _ = session.process();
                moved |= session.bytes_moved() != before;
            }
        }
        moved
    }

    /// The same for all of them.
    ///
    /// # Errors
    /// As [`Session::process`].
    pub fn process(&self) -> Result<()> {
        self.all_sessions().iter().try_for_each(|session| session.process())
    }

    /// A farm has ended.
    pub fn forget_farm(&self, farm: Audience) {
        let is_other = |(whose, _): &(Audience, u64)| *whose != farm;
        lock(&self.bell.numbers).retain(is_other);
        self.all_sessions().iter().for_each(|session| session.tell_farm(farm, false));
    }

    /// Appends the numbers of all calls of a farm of which there is something to tell, as far as that
    /// was received.
    pub fn take_farmed(&self, farm: Audience, told: &mut VecDeque<u64>) {
        if !self.is_plural() {
            return self.home_session.take_farmed(farm, told);
        }
        self.all_sessions().iter().for_each(|session| session.take_farmed(farm, told));
    }

    /// Calls that wait for others to leave with them leave now, on all connections.
    pub fn send_gathered(&self) {
        if !self.is_plural() {
            return self.home_session.send_gathered();
        }
        self.all_sessions().iter().for_each(|session| session.send_gathered());
    }

    /// The number of an announced call of any connection that ended, or has news, of those that this
    /// audience is told of.
    ///
    /// # Errors
    /// `ConnectionLost` when no call is left and all connections are gone.
    pub fn next_finished(
        &self,
        audience: Audience,
        deadline: Option<Instant>,
    ) -> Result<Option<u64>> {
        self.watch_all();
        // No bell is rung for a farm: what another thread reads of its calls, it finds when it looks
        // again.
        let pause = if audience == Audience::EVERYBODY { PAUSE } else { SLICE_MAX };
        // A thread that waits for a connection sees to its heartbeat, which processing does not.
        let mut pulse = Duration::ZERO;
        loop {
            if let Some(number) = self.bell.next(audience) {
                return Ok(Some(number));
            }
            let mut trouble = None;
            let mut is_up = false;
            for session in self.all_sessions() {
                session.process()?;
                match session.next_finished(audience, Some(Instant::now() + pulse)) {
                    Ok(Some(number)) => return Ok(Some(number)),
                    Ok(None) => is_up = true,
                    Err(error) => trouble = trouble.or(Some(error)),
                }
            }
            if let Some(error) = trouble.filter(|_| !is_up && lock(&self.moving).is_empty()) {
                return Err(error);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            // A heartbeat is due now and then, and connections come and go.
            let left = left.unwrap_or(pause).min(pause);
            let events = self.home_session.events();
            let time = rustix::event::Timespec::try_from(left).ok();
            let told = poll(&mut [PollFd::from_borrowed_fd(events, PollFlags::IN)], time.as_ref());
            pulse = if told == Ok(0) { Duration::from_millis(1) } else { Duration::ZERO };
        }
    }
}

/// Longest wait for all connections together.
const PAUSE: Duration = Duration::from_millis(500);
