//! What was answered for a routine: grants that are good for more calls, and the servers that were
//! named last.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use farcall_idl::interface::Interface;
use farcall_placement::Demand;
use farcall_wire::PlaceAnswer;
use smallvec::SmallVec;

use super::finding::{Alone, Named, Predicted};
use super::leading::Led;
use super::lock;
use super::search::Search;
use super::server::Server;
use crate::argument::Argument;
use crate::contract::Contract;
use crate::marshal::LikeCalls;
use crate::session::Session;

/// Grants that are kept for one routine: a program makes few kinds of calls in turn.
const KEPT_MAX: usize = 4;
/// Calls that one question asks for, at most.
pub const CALLS_MAX: u32 = 1024;
/// How often it is looked whether the answer to a question has come that nobody waits for: after so
/// many calls.
const LOOKS: u32 = 16;

/// What is kept with a contract whose calls are placed.
pub struct Placing {
    state: Mutex<State>,
    /// Parameters whose values decide how much a call has to do, beside those that sizes depend on.
    work: Vec<usize>,
}

#[derive(Default)]
struct State {
    kept: Vec<Kept>,
    /// Those that were named last, the best first.
    last: Vec<Arc<Server>>,
    /// A wait in pieces for a server goes on with this.
    search: Option<(LikeCalls, Arc<Search>)>,
}

/// A grant for calls of one kind.
struct Kept {
    like: LikeCalls,
    demand: Demand,
    grant: u64,
    begun: Instant,
    until: Instant,
    granted: u32,
    left: u32,
    seats: SmallVec<[Seat; 4]>,
    ahead: Option<Ahead>,
}

/// A server of a grant.
struct Seat {
    server: Arc<Server>,
    session: Option<Arc<Session>>,
    led: Option<Arc<Led>>,
    share: u32,
    left: u32,
    predicted: Option<Predicted>,
    /// Whether no call of the grant has gone there yet: the first is measured.
    is_fresh: bool,
}

/// A question that was asked before its answer is needed.
pub struct Ahead {
    /// The server that was asked.
    pub session: Arc<Session>,
    /// What it is called there.
    pub question: u64,
}

/// A server for a call.
pub struct Chosen {
    pub server: Arc<Server>,
    pub session: Arc<Session>,
    pub grant: u64,
    pub led: Option<Arc<Led>>,
    /// Of a call that is to be measured.
    pub alone: Option<Box<Alone>>,
    /// Whether the next grant is to be seen to once this call is on its way.
    pub is_low: bool,
}

/// What is to be asked next for calls of a kind.
pub struct Next {
    pub demand: Demand,
    pub calls: u32,
    pub ahead: Option<Ahead>,
}

impl Placing {
    /// Nothing was answered yet.
    pub fn new(interface: &Interface) -> Placing {
        let mut work = Vec::new();
        if let Some(complexity) = &interface.complexity {
            complexity.refers_to(&mut |parameter| {
                work.push(usize::from(parameter));
                false
            });
        }
        Placing { state: Mutex::default(), work }
    }

    /// What a call has in common with others.
    pub fn like(&self, contract: &Contract, arguments: &[Argument<'_>]) -> Option<LikeCalls> {
        LikeCalls::new(contract, arguments, &self.work)
    }

    /// A server for a call with these arguments, by a grant that is good still.
    #[inline]
    pub fn choose(&self, arguments: &[Argument<'_>]) -> Option<Chosen> {
        let mut state = lock(&self.state);
        let kept = state.kept.iter_mut().find(|kept| kept.like.has(arguments))?;
        kept.choose()
    }

    /// What is to be asked for calls like one: how many came lately, and what was asked already.
    pub fn next(&self, arguments: &[Argument<'_>]) -> Option<Next> {
        let mut state = lock(&self.state);
        let kept = state.kept.iter_mut().find(|kept| kept.like.has(arguments))?;
        Some(kept.next())
    }

    /// The same without arguments: by the grant that is low.
    pub fn next_of(&self, grant: u64) -> Option<Next> {
        let mut state = lock(&self.state);
        let kept = state.kept.iter_mut().find(|kept| kept.grant == grant)?;
        Some(kept.next())
    }

    /// A question was asked ahead.
    pub fn asked(&self, grant: u64, ahead: Ahead) -> Option<Ahead> {
        let mut state = lock(&self.state);
        match state.kept.iter_mut().find(|kept| kept.grant == grant && kept.ahead.is_none()) {
            Some(kept) => {
                kept.ahead = Some(ahead);
                None
            }
            None => Some(ahead),
        }
    }

    /// The answer to a question for calls like those of an older grant.
    pub fn answered(&self, grant: u64, answer: &PlaceAnswer, servers: &[Named]) {
        let mut state = lock(&self.state);
        state.last = callable(servers);
        let Some(kept) = state.kept.iter_mut().find(|kept| kept.grant == grant) else { return };
        kept.renew(answer, servers);
    }

    /// The answer for a call of some kind: it is kept if it is good for more than this one.
    pub fn keep(
        &self,
        like: Option<&LikeCalls>,
        demand: &Demand,
        answer: &PlaceAnswer,
        servers: &[Named],
    ) -> bool {
        let mut state = lock(&self.state);
        state.last = callable(servers);
        let Some(like) = like else { return false };
        if !state.kept.iter().any(|kept| kept.like == *like) {
            if answer.valid_us == 0 {
                return false;
            }
            state.kept.truncate(KEPT_MAX - 1);
            state.kept.insert(0, Kept::new(like.clone(), demand));
        }
        let Some(kept) = state.kept.iter_mut().find(|kept| kept.like == *like) else {
            return false;
        };
        kept.renew(answer, servers);
        kept.take_first()
    }

    /// Servers that were named with a grant, or last.
    pub fn others(&self, grant: u64) -> Vec<Arc<Server>> {
        let state = lock(&self.state);
        let kept = state.kept.iter().find(|kept| kept.grant == grant);
        match kept {
            Some(kept) => kept.seats.iter().map(|seat| seat.server.clone()).collect(),
            None => Vec::new(),
        }
    }

    /// Servers that were named last, those first that have the fewest calls of this client.
    pub fn last(&self) -> Vec<Arc<Server>> {
        let mut last = lock(&self.state).last.clone();
        last.sort_by_key(|server| server.under_way.load(Ordering::Relaxed));
        last
    }

    /// A server does not take calls: grants name it no more.
    pub fn leave_out(&self, server: &Arc<Server>) {
        let mut state = lock(&self.state);
        for kept in &mut state.kept {
            kept.seats.retain(|seat| !Arc::ptr_eq(&seat.server, server));
            kept.left = kept.seats.iter().map(|seat| seat.left).sum();
        }
    }

    /// A grant was for what is not so: the next call asks again.
    pub fn give_up(&self, grant: u64) {
        let mut state = lock(&self.state);
        let kept = state.kept.iter_mut().filter(|kept| kept.grant == grant);
        kept.for_each(|kept| kept.left = 0);
    }

    /// A search for a call like this one that goes on.
    pub fn take_search(&self, arguments: &[Argument<'_>]) -> Option<Arc<Search>> {
        let mut state = lock(&self.state);
        let (like, search) = state.search.take()?;
        if like.has(arguments) {
            return Some(search);
        }
        state.search = Some((like, search));
        None
    }

    /// It goes on while nobody waits for it.
    pub fn put_search(&self, like: LikeCalls, search: Arc<Search>) {
        lock(&self.state).search = Some((like, search));
    }
}

impl Kept {
    fn new(like: LikeCalls, demand: &Demand) -> Kept {
        let now = Instant::now();
        Kept {
            like,
            demand: *demand,
            grant: 0,
            begun: now,
            until: now,
            granted: 0,
            left: 0,
            seats: SmallVec::new(),
            ahead: None,
        }
    }

    /// The call that was asked for goes to the best server; false where the grant is good for
    /// nothing else.
    fn take_first(&mut self) -> bool {
        let is_kept = self.left > 0;
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.left > 0 && is_kept) {
            seat.left -= 1;
            seat.is_fresh = false;
            self.left -= 1;
        }
        is_kept
    }

    #[inline]
    fn choose(&mut self) -> Option<Chosen> {
        if self.left == 0 {
            return None;
        }
        let now = Instant::now();
        if now >= self.until {
            return None;
        }
        let (index, _) = self
            .seats
            .iter_mut()
            .enumerate()
            .filter_map(|(index, seat)| Some((index, seat.burden()?)))
            .min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        self.left -= 1;
        let seat = &mut self.seats[index];
        seat.left -= 1;
        let is_low = match &self.ahead {
            Some(_) => self.left.is_multiple_of(LOOKS),
            None => {
                self.left < self.granted / 4 || self.until - now < (self.until - self.begun) / 4
            }
        };
        let session = seat.session.clone()?;
        let led = seat.led.clone();
        let server = seat.server.clone();
        // One behind others would tell of these.
        let is_measured = seat.is_fresh && server.is_idle();
        seat.is_fresh &= !is_measured;
        let alone = is_measured.then(|| self.measured(index));
        Some(Chosen { server, session, grant: self.grant, led, alone, is_low })
    }

    /// What is kept of a call that is measured.
    #[cold]
    fn measured(&self, index: usize) -> Box<Alone> {
        let others = self.seats.iter().enumerate().filter(|(other, _)| *other != index);
        let rest = others.map(|(_, seat)| Named::only(seat.server.clone())).collect();
        let predicted = self.seats[index].predicted;
        Box::new(Alone { rest, demand: self.demand, predicted })
    }

    fn next(&mut self) -> Next {
        let used = self.granted - self.left;
        // One that is long over says nothing of how often calls come now.
        let is_lately = self.until.elapsed() < Duration::from_secs(1);
        let calls = if is_lately { used.saturating_mul(2) } else { 1 };
        Next { demand: self.demand, calls: calls.clamp(1, CALLS_MAX), ahead: self.ahead.take() }
    }

    fn renew(&mut self, answer: &PlaceAnswer, servers: &[Named]) {
        self.grant = answer.grant;
        self.begun = Instant::now();
        self.until = self.begun + Duration::from_micros(answer.valid_us.min(60_000_000));
        let seats = servers.iter().filter(|named| named.calls > 0);
        let seat = |named: &Named| Seat {
            server: named.server.clone(),
            session: named.server.connection(),
            led: named.led.clone(),
            share: named.calls,
            left: named.calls,
            predicted: named.predicted,
            is_fresh: true,
        };
        self.seats = seats.map(seat).collect();
        self.granted = self.seats.iter().map(|seat| seat.left).fold(0, u32::saturating_add);
        self.left = if answer.valid_us == 0 { 0 } else { self.granted };
        self.ahead = None;
    }
}

/// Those that take calls themselves.
fn callable(servers: &[Named]) -> Vec<Arc<Server>> {
    let themselves = servers.iter().filter(|named| !named.leads);
    themselves.map(|named| named.server.clone()).collect()
}

impl Seat {
    /// How much a call more would be of this server's share; `None` where it is not to have any.
    #[inline]
    fn burden(&mut self) -> Option<f64> {
        if self.left == 0 {
            return None;
        }
        if !self.session.as_ref().is_some_and(|session| session.stands()) {
            self.session = self.server.connection();
            self.session.as_ref()?;
        }
        let under_way = self.server.under_way.load(Ordering::Relaxed);
        // Of equals, the one that has most calls left of its share.
        let used = f64::from(self.share - self.left) / f64::from(self.share);
        Some((under_way as f64 + 1.0 + used * 0.5) / f64::from(self.share))
    }
}
