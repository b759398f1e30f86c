//! A client of several servers: the counterpart, in virtual time, of the client library's view. It
//! asks a metaserver where a call runs, makes it at the best server of the answer, and at another
//! one where nothing has run or the call may run twice.

mod asking;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant};
use farcall_link::line::Line;
use farcall_peer::moving::{Failed, may_move};
use farcall_wire::{CallOutcome, PlaceAnswer, PlaceQuestion};

use crate::client::Loss;
use crate::program::{Target, Wish};

/// How often one call asks, at most.
const ASKED_MAX: u32 = 16;
/// Time after which outcomes are told, if no question takes them along.
const TELLS_AFTER: Duration = Duration::from_secs(1);

/// What the world is to do.
pub enum Order {
    /// Reach a metaserver; tell [`Placer::reached`].
    Reach(String),
    /// Make the call at this server; tell [`Placer::refused`] or [`Placer::ended`].
    Open(Wish, String),
    /// The call has ended.
    End(u64, Result<Option<u64>, Error>),
}

/// A call.
struct Placing {
    wish: Wish,
    question: PlaceQuestion,
    /// Servers that are tried next.
    first: VecDeque<String>,
    /// Servers that did not take it.
    without: Vec<String>,
    asked: u32,
    trouble: Option<Error>,
    /// Where it runs.
    on: Option<String>,
}

/// What is known of metaservers.
#[derive(Default)]
struct Askers {
    /// The first is known from the beginning, others from answers.
    names: Vec<String>,
    /// Which of them is asked.
    current: usize,
    /// How many were tried for what is asked now.
    tried: usize,
    line: Option<Line>,
    /// Since when an answer is waited for: to the question of a call, to outcomes, or a greeting.
    since: Option<Instant>,
    asked: Option<u64>,
    /// Calls that are to be asked for.
    waiting: VecDeque<u64>,
}

/// A client.
pub struct Placer {
    askers: Askers,
    calls: BTreeMap<u64, Placing>,
    /// Servers that were named last.
    last: Vec<String>,
    /// What became of calls: to be told.
    outcomes: Vec<CallOutcome>,
    /// When these are told at the latest.
    tells_at: Option<Instant>,
    host: String,
    is_gone: bool,
    orders: Vec<Order>,
}

impl Placer {
    /// One that knows a metaserver.
    pub fn new(host: String, metaserver: String) -> Placer {
        Placer {
            askers: Askers { names: vec![metaserver], ..Askers::default() },
            calls: BTreeMap::new(),
            last: Vec::new(),
            outcomes: Vec::new(),
            tells_at: None,
            host,
            is_gone: false,
            orders: Vec::new(),
        }
    }

    /// What the world is to do.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    /// A call is wanted.
    pub fn wish(&mut self, wish: Wish, question: PlaceQuestion) {
        let number = wish.number;
        let question = PlaceQuestion { host: self.host.clone(), ..question };
        let placing = Placing {
            wish,
            question,
            first: VecDeque::new(),
            without: Vec::new(),
            asked: 0,
            trouble: None,
            on: None,
        };
        self.calls.insert(number, placing);
        match self.is_gone {
            true => self.end(number, Err(left())),
            false => self.go_on(number),
        }
    }

    /// The server where a call runs.
    pub fn server_of(&self, number: u64) -> Option<&str> {
        self.calls.get(&number)?.on.as_deref()
    }

    /// A call that looks for a server is not wanted any more.
    pub fn cancel(&mut self, number: u64) {
        if self.calls.get(&number).is_some_and(|call| call.on.is_none()) {
            self.end(number, Err(Error::new(ErrorKind::Cancelled, "call", "it was cancelled")));
        }
    }

    /// The client ends: so do its calls.
    pub fn leave(&mut self) {
        (self.askers, self.is_gone) = (Askers::default(), true);
        (self.tells_at, self.outcomes) = (None, Vec::new());
        for number in self.calls.keys().copied().collect::<Vec<_>>() {
            self.end(number, Err(left()));
        }
    }

    /// The next server of the answer has the call; behind the last one it is asked again.
    fn go_on(&mut self, number: u64) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        if let Some(server) = call.first.pop_front() {
            call.on = Some(server.clone());
            return self.orders.push(Order::Open(call.wish.clone(), server));
        }
        call.asked += 1;
        if call.asked > ASKED_MAX {
            return self.give_up(number, late());
        }
        self.askers.waiting.push_back(number);
    }

    /// A call ends for its trouble, or else for this.
    fn give_up(&mut self, number: u64, error: Error) {
        let trouble = self.calls.get_mut(&number).and_then(|call| call.trouble.take());
        self.end(number, Err(trouble.unwrap_or(error)));
    }

    fn end(&mut self, number: u64, outcome: Result<Option<u64>, Error>) {
        if self.calls.remove(&number).is_some() {
            self.askers.waiting.retain(|waits| *waits != number);
            self.orders.push(Order::End(number, outcome));
        }
    }

    /// A metaserver has answered.
    fn take_answer(&mut self, number: u64, answer: PlaceAnswer) {
        let others = answer.metaservers.into_iter();
        for other in others {
            if !self.askers.names.contains(&other) {
                self.askers.names.push(other);
            }
        }
        let named = answer.servers.into_iter().filter(|server| !server.excluded);
        self.last = named.map(|server| server.name).collect();
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.wish.grant = answer.grant;
        self.call_last(number, late());
    }

    /// Those that were named last are called.
    fn call_last(&mut self, number: u64, error: Error) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let is_wanted = |server: &&String| !call.without.contains(server);
        call.first = self.last.iter().filter(is_wanted).cloned().collect();
        match call.first.is_empty() {
            true => self.give_up(number, error),
            false => self.go_on(number),
        }
    }

    /// A server could not be reached.
    pub fn refused(&mut self, now: Instant, number: u64, error: Error) {
        let reached = Default::default();
        self.ended(now, number, Err(Loss { error, reached }));
    }

    /// A call came back from its server.
    pub fn ended(&mut self, now: Instant, number: u64, outcome: Result<Option<u64>, Loss>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let server = call.on.take().unwrap_or_default();
        let grant = call.wish.grant;
        let outcome = match outcome {
            Ok(output) => {
                self.tell(now, grant, server, None);
                return self.end(number, Ok(output));
            }
            Err(loss) => loss,
        };
        let Loss { error, reached } = outcome;
        let failed = Failed {
            reached,
            is_intact: !reached.is_answered,
            is_late: call.wish.deadline.is_some_and(|deadline| deadline <= now),
            may_run_twice: call.wish.target == Target::Again,
        };
        let is_nowhere = error.kind() == ErrorKind::Unreachable;
        if !(may_move(&error, failed) || is_nowhere) {
            self.tell(now, grant, server, Some(&error));
            return self.end(number, Err(error));
        }
        call.without.push(server);
        self.tell(now, grant, String::new(), Some(&error));
        if let Some(call) = self.calls.get_mut(&number) {
            call.trouble = Some(error);
        }
        self.go_on(number);
    }

    fn tell(&mut self, now: Instant, grant: u64, server: String, error: Option<&Error>) {
        if grant != 0 {
            let failure = error.map(|error| error.kind().code());
            let host = self.host.clone();
            let outcome = CallOutcome { grant, server, failure, host, ..CallOutcome::default() };
            self.outcomes.push(outcome);
            self.tells_at.get_or_insert(now + TELLS_AFTER);
        }
    }
}

fn left() -> Error {
    Error::new(ErrorKind::ConnectionLost, "call", "the client ends")
}

fn late() -> Error {
    Error::new(ErrorKind::NotFound, "call", "no server that can be reached takes it")
}
