//! Finds a server for a call by asking, and those that an answer named by trying them.

use std::sync::Arc;
use std::time::Instant;

use farcall_base::{Error, ErrorKind, Result};
use farcall_placement::Demand;
use farcall_wire::{CallOutcome, PlaceQuestion};

use super::asking::{Answered, Asking, is_gone, late};
use super::leading::{Led, Passing};
use super::placing::Ahead;
use super::server::Server;
use super::{View, own_host};
use crate::client::Client;
use crate::contract::Contract;
use crate::marshal::LikeCalls;
use crate::results::Phases;
use crate::session::{Conditions, PlacedAs, Session};

/// How often one call asks, at most.
const ASKED_MAX: u32 = 16;

/// Where a call goes.
pub struct Place {
    pub session: Arc<Session>,
    /// `None`: to the server that was connected to, as ever.
    pub placed: Option<Placed>,
}

/// How that was found.
pub struct Placed {
    pub server: Arc<Server>,
    /// 0: by nobody's word.
    pub grant: u64,
    /// The metaservers on the way, behind the one that granted it.
    pub led: Option<Arc<Led>>,
    /// Whether the call may go to another server instead.
    pub is_movable: bool,
    /// Whether the next grant is to be seen to.
    pub is_low: bool,
    /// What is known of a call that was asked for alone, or is measured for others like it.
    pub alone: Option<Box<Alone>>,
}

/// A call that is measured.
pub struct Alone {
    /// Servers for it that come next.
    pub rest: Vec<Named>,
    pub demand: Demand,
    /// What its server was chosen for.
    pub predicted: Option<Predicted>,
}

/// A server that was named for a call.
#[derive(Clone)]
pub struct Named {
    pub server: Arc<Server>,
    /// How many calls of those that were asked for it is to have.
    pub calls: u32,
    /// What was predicted of one there.
    pub predicted: Option<Predicted>,
    /// Whether it is a metaserver, which is asked where calls run.
    pub leads: bool,
    /// How it was found, where other metaservers led there.
    pub led: Option<Arc<Led>>,
}

/// What a call was predicted to need on a server.
#[derive(Clone, Copy)]
pub struct Predicted {
    pub phases: Phases,
    pub error_s: f64,
}

impl Named {
    /// By nobody's prediction.
    pub fn only(server: Arc<Server>) -> Named {
        Named { server, calls: 0, predicted: None, leads: false, led: None }
    }
}

impl Placed {
    /// On this server, and no other.
    pub fn bound(server: Arc<Server>) -> Placed {
        Placed { server, grant: 0, led: None, is_movable: false, is_low: false, alone: None }
    }

    /// The grant that its server is told.
    #[inline]
    fn told(&self) -> u64 {
        self.led.as_ref().map_or(self.grant, |led| led.grant())
    }
}

impl Place {
    /// The server, where it is another one than that which was connected to.
    pub fn elsewhere(&self, client: &Client) -> Option<&str> {
        let server = &self.placed.as_ref()?.server;
        (!Arc::ptr_eq(server, client.view().home())).then_some(&*server.name)
    }

    /// The same for a call that goes nowhere else: its data is brought there.
    pub fn bound(mut self) -> Place {
        self.placed.iter_mut().for_each(|placed| placed.is_movable = false);
        self
    }

    /// What its server is told of the call, and what is kept with it.
    #[inline]
    pub fn tell(&self, conditions: &mut Conditions) {
        let placed = self.placed.as_ref().filter(|placed| placed.is_movable);
        let Some(placed) = placed else { return };
        conditions.grant = placed.told();
        conditions.placed =
            if placed.alone.is_some() { PlacedAs::Alone } else { PlacedAs::OneOfMany };
    }
}

/// A server for a call that is wanted.
pub struct Wanted {
    pub contract: Arc<Contract>,
    pub demand: Demand,
    pub like: Option<LikeCalls>,
    pub calls: u32,
    pub ahead: Option<Ahead>,
    /// When the call's time ends.
    pub deadline: Option<Instant>,
    /// Those that are tried before anybody is asked.
    pub first: Vec<Named>,
    /// Those that it does not want.
    pub without: Vec<String>,
    /// The grant by which they were found.
    pub grant: u64,
    /// Why it does not run where it was.
    pub trouble: Option<Error>,
    /// Metaservers that the question has passed, where others lead on.
    pub passed: Vec<String>,
}

/// A server that was found.
pub struct Found {
    pub session: Arc<Session>,
    pub server: Arc<Server>,
    pub grant: u64,
    pub led: Option<Arc<Led>>,
    pub rest: Vec<Named>,
    pub demand: Demand,
    pub predicted: Option<Predicted>,
    /// Whether its grant serves other calls, too.
    pub is_kept: bool,
    /// Servers that did not take the call.
    pub without: Vec<String>,
}

impl Found {
    /// Where the call goes.
    pub fn place(self) -> Place {
        let Found { session, server, grant, led, rest, demand, predicted, is_kept, .. } = self;
        let is_measured = !is_kept || server.is_idle();
        let alone = is_measured.then(|| Box::new(Alone { rest, demand, predicted }));
        let placed = Placed { server, grant, led, is_movable: true, is_low: false, alone };
        Place { session, placed: Some(placed) }
    }
}

impl Wanted {
    /// Nobody was asked yet.
    pub fn new(contract: &Arc<Contract>, demand: Demand, deadline: Option<Instant>) -> Wanted {
        Wanted {
            contract: contract.clone(),
            demand,
            like: None,
            calls: 1,
            ahead: None,
            deadline,
            first: Vec::new(),
            without: Vec::new(),
            grant: 0,
            trouble: None,
            passed: Vec::new(),
        }
    }

    /// Finds one, however long that takes, within the call's time.
    ///
    /// # Errors
    /// The reason for no server.
    pub fn find(mut self, view: &Arc<View>) -> Result<Found> {
        let mut is_kept = false;
        for _ in 0..ASKED_MAX {
            if let Some(found) = self.reach_first(view, is_kept)? {
                return Ok(found);
            }
            is_kept = self.ask(view)?;
        }
        Err(self.trouble.unwrap_or_else(late))
    }

    /// The first of the servers that are named which can be reached. Those whose connection is being
    /// made again come last.
    fn reach_first(&mut self, view: &Arc<View>, is_kept: bool) -> Result<Option<Found>> {
        self.first.sort_by_cached_key(|named| named.server.is_cut_off());
        while !self.first.is_empty() {
            let named = self.first.remove(0);
            if named.leads {
                self.lead_on(view, &named);
                continue;
            }
            let Named { server, predicted, led, .. } = named;
            match server.session(view, self.deadline) {
                Ok(Some(session)) => {
                    let rest = std::mem::take(&mut self.first);
                    let without = std::mem::take(&mut self.without);
                    let grant = self.grant;
                    let demand = self.demand;
                    return Ok(Some(Found {
                        session,
                        server,
                        grant,
                        led,
                        rest,
                        demand,
                        predicted,
                        is_kept,
                        without,
                    }));
                }
                Ok(None) => return Err(late()),
                Err(error) => self.refused(view, (&server, led.as_ref()), error),
            }
        }
        Ok(None)
    }

    /// All that come before a metaserver did not take it: those that it names are next.
    fn lead_on(&mut self, view: &Arc<View>, named: &Named) {
        let question = view.question(&self.contract, &self.demand, 1);
        let passing = Passing {
            question: &question,
            passed: &self.passed,
            without: &self.without,
            until: self.deadline,
        };
        match view.led(&passing, named, 1) {
            Ok((servers, _)) => drop(self.first.splice(0..0, servers)),
            Err(error) => {
                self.without.push(named.server.name.to_string());
                self.trouble.get_or_insert(error);
            }
        }
    }

    /// A server does not take it.
    fn refused(
        &mut self,
        view: &Arc<View>,
        (server, led): (&Arc<Server>, Option<&Arc<Led>>),
        error: Error,
    ) {
        view.refused(&self.contract, server, (self.grant, led), &error);
        self.without.push(server.name.to_string());
        self.trouble = Some(error);
    }

    /// Asks for servers; whether they are for more calls, too. Where nobody answers, or nobody who
    /// answers knows a server, those that were named last go on being called.
    fn ask(&mut self, view: &Arc<View>) -> Result<bool> {
        let mut question = view.question(&self.contract, &self.demand, self.calls);
        question.without.clone_from(&self.without);
        let left = self.deadline.map(|until| until.saturating_duration_since(Instant::now()));
        question.deadline_s = left.map(|left| left.as_secs_f64());
        let placing = self.contract.placing.as_ref();
        // Where servers are known to go on with, nobody waits for a metaserver for long.
        let has_last = placing.is_some_and(|placing| !placing.last().is_empty());
        let asking = if has_last { Asking::Briefly } else { Asking::Patiently };
        match view.ask(&question, self.ahead.take(), (self.deadline, asking)) {
            Ok(mut answered) => {
                let servers = self.servers_of(view, &question, &mut answered);
                self.grant = answered.answer.grant;
                let is_kept = self.keep(view, &answered, &servers);
                self.first = servers;
                if self.first.is_empty() {
                    return Err(self.nobody());
                }
                Ok(is_kept)
            }
            Err(error) if knows_nobody(&error) && !self.is_late() => {
                let last = placing.map(|placing| placing.last()).unwrap_or_default();
                let is_wanted = |server: &Arc<Server>| {
                    !self.without.iter().any(|name| **name == *server.name)
                        && server.trouble().is_none()
                };
                self.first = last.into_iter().filter(is_wanted).map(Named::only).collect();
                self.grant = 0;
                if self.first.is_empty() {
                    return Err(match self.trouble.take() {
                        Some(trouble) if is_gone(&error) => trouble,
                        trouble => beside(trouble, error),
                    });
                }
                Ok(false)
            }
            Err(error) if is_gone(&error) => Err(match self.trouble.take() {
                Some(trouble) => late().with("before", trouble),
                None => error,
            }),
            Err(error) => Err(beside(self.trouble.take(), error)),
        }
    }

    /// The servers of an answer; of metaservers among them, those that they name.
    fn servers_of(
        &mut self,
        view: &Arc<View>,
        question: &PlaceQuestion,
        answered: &mut Answered,
    ) -> Vec<Named> {
        let servers = view.servers_of(answered, &self.without);
        self.passed.clone_from(&answered.answer.passed);
        if !servers.iter().any(|named| named.leads && named.calls > 0) {
            return servers;
        }
        let passing = Passing {
            question,
            passed: &self.passed,
            without: &self.without,
            until: self.deadline,
        };
        let followed = view.follow(&passing, answered, servers);
        answered.answer.valid_us = followed.valid_us;
        self.without.extend(followed.without);
        followed.servers
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    fn keep(&self, view: &Arc<View>, answered: &Answered, servers: &[Named]) -> bool {
        let Some(placing) = &self.contract.placing else { return false };
        let is_good = answered.answer.valid_us > 0;
        if is_good {
            servers
                .iter()
                .filter(|named| named.calls > 0)
                .for_each(|named| named.server.dial(view));
        }
        placing.keep(self.like.as_ref(), &self.demand, &answered.answer, servers)
    }

    fn nobody(&mut self) -> Error {
        self.trouble.take().unwrap_or_else(|| {
            Error::new(ErrorKind::NotFound, "call", "no server that can be reached takes it")
                .with("routine", &self.contract.name)
                .fix("look at the servers: farcall servers")
        })
    }
}

/// What befell a call says more than that nobody else takes it.
fn beside(trouble: Option<Error>, error: Error) -> Error {
    match trouble {
        Some(trouble) => trouble.with("other servers", error.message().to_owned()),
        None => error,
    }
}

/// Whether nobody answered, or who did knows no server: a metaserver that was started again hears of
/// its servers by and by.
fn knows_nobody(error: &Error) -> bool {
    is_gone(error) || error.kind() == ErrorKind::NotFound
}

impl View {
    /// A server did not take a call: the metaserver that named it is told, and later calls go elsewhere.
    pub fn refused(
        self: &Arc<View>,
        contract: &Contract,
        server: &Arc<Server>,
        (grant, led): (u64, Option<&Arc<Led>>),
        error: &Error,
    ) {
        if let Some(placing) = &contract.placing {
            placing.leave_out(server);
        }
        if grant != 0 {
            let failure = Some(error.kind().code());
            let outcome =
                CallOutcome { grant, host: own_host(), failure, ..CallOutcome::default() };
            led.iter().for_each(|led| led.tell(&outcome));
            self.outcomes.push(self, outcome);
        }
    }
}
