//! A simulated client: the shipped decisions about calls, in virtual time, over links that break.

mod pulse;
mod returning;

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind, Instant, Random, Result, SeededRandom};
use farcall_call::{Connection, Setup};
use farcall_link::stream::ByteStream;
use farcall_link::{Link, Received};
use farcall_peer::heartbeat::Heartbeat;
use farcall_peer::recovery::Attempts;
use farcall_peer::{Audience, Caller, Greeting, Reached, Run, Terms};
use farcall_transport_simulated::Network;
use farcall_wire::kept::asks_to_resume;
use farcall_wire::{Failure, Hello, Notice, OBJECTS, RESUME, Reply, Request, Role};

use crate::end::hello;
use crate::frames::{Receiving, Sending};
use crate::held::Held;
use crate::module::Routine;
use crate::plan::hello_limits;
use crate::program::{Program, Target, Wish};

/// How a call ended: its number, and how many calls its object had, or its failure.
pub type Outcome = (u64, std::result::Result<Option<u64>, Loss>);
/// Bytes that the routine of a call printed: its number, and the output.
pub type Heard = (u64, u8, Vec<u8>);

/// Why a call failed.
pub struct Loss {
    pub error: Error,
    /// How far it came.
    pub reached: Reached,
}

/// A question may stay unanswered for as long as the world lasts.
const PATIENCE: Duration = Duration::from_secs(1 << 30);

/// In the number of a call that was asked for by its id.
const SOUGHT: u64 = 1 << 32;

/// How a client stands with its server.
enum Line {
    Up,
    /// The connection is lost; the next attempt to make it again begins then.
    Lost {
        attempts: Attempts,
        next: Instant,
    },
    /// It is made again, and the server has not answered.
    Greeting {
        greeting: Box<Greeting>,
        attempts: Attempts,
        begun: Instant,
    },
    /// Gone for good.
    Dead,
}

/// What a client asks of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing.
    Nothing,
    /// To be told when this moment has come.
    Time(Instant),
    /// A link to the server.
    Link,
}

/// How a client is made.
pub struct Manner {
    /// Bytes of frames that wait before it makes more.
    pub queue_bytes: usize,
    /// For how long calls wait for a connection; zero: they end with it.
    pub keep: Duration,
    /// The module that it calls.
    pub module: usize,
    /// What it calls there.
    pub routines: Vec<Routine>,
    /// The objects that it is to have.
    pub held: Option<Held>,
    /// Of what it draws.
    pub seed: u64,
    /// Time without an answer after which it gives up the server; zero: never.
    pub heartbeat: Duration,
}

/// How a client notices a silent server.
struct Pulse {
    heartbeat: Heartbeat,
    /// When it looks again.
    looks_at: Option<Instant>,
}

/// How a client comes back over another connection.
struct Comeback {
    /// For how long calls wait for a connection; zero: they end with it.
    keep: Duration,
    losses: u64,
}

/// A client.
pub struct Client {
    network: Network,
    link: Option<Link>,
    queue_bytes: usize,
    caller: Caller<Program>,
    /// Routines whose interfaces it needs, and the questions for those.
    routines: Vec<(Routine, Option<u64>)>,
    /// Its objects, if it wants any.
    pub held: Option<Held>,
    line: Line,
    hello: Hello,
    comeback: Comeback,
    pulse: Pulse,
    /// Calls that wait for the interfaces.
    wishes: Vec<Wish>,
    /// Calls that are to be asked for by their ids, as soon as there is a connection.
    to_seek: Vec<(CallId, Wish)>,
    /// Those under way; of those that the server is to keep, what they are.
    open: BTreeMap<u64, Option<(CallId, Wish)>>,
    /// It has something to send: more than its stream took, or what its owner may have asked for.
    unsent: bool,
    /// It stands still: nothing is sent, nothing is taken.
    pub is_paused: bool,
    /// What happened since somebody looked.
    reports: Reports,
}

/// What becomes of a client's calls.
#[derive(Default)]
pub struct Reports {
    /// Calls that ended.
    pub outcomes: Vec<Outcome>,
    /// What their routines printed.
    pub heard: Vec<Heard>,
    /// Functions that are to run.
    pub functions: Vec<Run<Program>>,
    /// Calls that the server has promised to go on with.
    pub left: Vec<(CallId, Wish)>,
}

impl Reports {
    /// A call that has ended before the server knew it.
    fn fail(&mut self, number: u64, error: Error) {
        let loss = Loss { error, reached: Reached::default() };
        self.outcomes.push((number & !SOUGHT, Err(loss)));
    }

    /// What the routine of a call printed.
    fn hear(&mut self, number: u64, output: u8, bytes: Vec<u8>) {
        self.heard.push((number & !SOUGHT, output, bytes));
    }
}

impl Client {
    pub fn new(stream: Box<dyn ByteStream>, manner: Manner, network: &Network) -> Client {
        let Manner { queue_bytes, keep, module, routines, held, seed, heartbeat: limit } = manner;
        let mut heartbeat = Heartbeat::new(None).expect("the default is a number");
        heartbeat.limit(limit);
        let mut random = SeededRandom::new(seed);
        let mut hello = hello(Role::Client);
        hello.features.extend([RESUME, OBJECTS].map(str::to_owned));
        if !keep.is_zero() {
            hello.attributes.extend(asks_to_resume(random.bytes16(), keep));
        }
        let program = Program {
            network: network.clone(),
            module,
            contracts: BTreeMap::new(),
            opened: Vec::new(),
            reached: BTreeMap::new(),
        };
        let connection =
            Connection::new(Setup { hello: hello.clone(), initiator: true, token: None });
        let setup =
            farcall_peer::Setup { connection, seed: random.next(), resumes: !keep.is_zero() };
        Client {
            network: network.clone(),
            link: Some(link(stream)),
            queue_bytes,
            caller: Caller::new(setup, program),
            routines: routines.into_iter().map(|routine| (routine, None)).collect(),
            held,
            line: Line::Up,
            hello,
            comeback: Comeback { keep, losses: 0 },
            pulse: Pulse { heartbeat, looks_at: None },
            wishes: Vec::new(),
            to_seek: Vec::new(),
            open: BTreeMap::new(),
            unsent: true,
            is_paused: false,
            reports: Reports::default(),
        }
    }

    /// Whether it is gone for good.
    pub fn is_dead(&self) -> bool {
        matches!(self.line, Line::Dead)
    }

    /// What happened since somebody looked.
    pub fn take_reports(&mut self) -> Reports {
        std::mem::take(&mut self.reports)
    }

    /// Calls that were opened since somebody looked, with their numbers.
    pub fn take_opened(&mut self) -> Vec<(CallId, u64)> {
        std::mem::take(&mut self.caller.application_mut().opened)
    }

    fn knows_interfaces(&self) -> bool {
        self.caller.application().contracts.len() == self.routines.len()
    }

    /// Makes a call, now or when the interface is there.
    pub fn wish(&mut self, wish: Wish) {
        match self.line {
            Line::Dead => self.reports.fail(wish.number, gone(ErrorKind::ConnectionLost)),
            Line::Up if self.knows_interfaces() => self.open(wish),
            _ => self.wishes.push(wish),
        }
    }

    fn open(&mut self, wish: Wish) {
        let number = wish.number;
        let keep = wish.keep;
        self.unsent = true;
        let kept = keep.then(|| (CallId(self.caller.random()), wish.clone()));
        let id = kept.as_ref().map(|(id, _)| *id);
        let terms = Terms {
            has_news: keep || wish.shows_output,
            passes_functions: matches!(wish.target, Target::Apply(_)),
            is_idempotent: wish.target == Target::Again,
            ..Terms::announced()
        };
        match self.caller.open(number, wish, id, terms) {
            Ok(()) => drop(self.open.insert(number, kept)),
            Err(error) => self.reports.fail(number, error),
        }
    }

    /// Asks for the outcome of a call that another client made; false if this one has ended.
    pub fn seek(&mut self, id: CallId, wish: Wish) -> bool {
        let lives = !matches!(self.line, Line::Dead);
        if lives {
            self.to_seek.push((id, wish));
        }
        lives
    }

    fn seek_now(&mut self) {
        for (id, wish) in std::mem::take(&mut self.to_seek) {
            // Its number is another here than where it was made.
            let number = SOUGHT | wish.number;
            self.unsent = true;
            let terms = Terms { has_news: wish.shows_output, ..Terms::announced() };
            match self.caller.seek(number, id, terms, Wish { keep: false, ..wish }) {
                Ok(()) => drop(self.open.insert(number, None)),
                Err(error) => self.reports.fail(number, error),
            }
        }
    }

    /// Whether no server has greeted it yet.
    pub fn awaits_greeting(&self) -> bool {
        !self.caller.is_ready() && !matches!(self.line, Line::Dead)
    }

    /// Cancels a call if it is running.
    pub fn cancel(&mut self, number: u64) {
        self.unsent = true;
        self.caller.cancel(number);
    }

    /// Asks the server to end its objects.
    pub fn release(&mut self) {
        self.unsent = true;
        if let Some(held) = &mut self.held {
            held.is_to_go = true;
        }
    }

    /// A function has run.
    pub fn answer(&mut self, mut run: Run<Program>, failure: Option<Failure>, took: Duration) {
        self.unsent = true;
        let (result, data) = run.callback.run(failure).expect("its arguments are there");
        self.caller.answer_callback(&run, &result, data, (took, self.network.now()));
    }

    /// The client ends: so do its calls.
    pub fn leave(&mut self) {
        self.die(&Error::new(ErrorKind::ConnectionLost, "wait for the server", "the client ends"));
    }

    fn die(&mut self, error: &Error) {
        (self.line, self.link) = (Line::Dead, None);
        let kind = error.kind();
        self.caller.end_all(|| gone(kind));
        self.collect();
        let wishes = self.wishes.drain(..).chain(self.to_seek.drain(..).map(|(_, wish)| wish));
        wishes.for_each(|wish| self.reports.fail(wish.number, gone(kind)));
    }

    /// Lets its connection do what it can; whether anything moved.
    pub fn work(&mut self) -> bool {
        if self.is_paused {
            return false;
        }
        let mut moved = match self.line {
            Line::Up => self.work_up(),
            Line::Greeting { .. } => self.greet(),
            Line::Lost { .. } | Line::Dead => false,
        };
        self.collect();
        if self.feel() {
            self.collect();
            moved = true;
        }
        moved
    }

    fn work_up(&mut self) -> bool {
        let mut receiving =
            Receiving { caller: &mut self.caller, clock: &self.network, moved: false };
        let Some(link) = &mut self.link else { return false };
        let received = link.receive(&mut receiving, 1 << 20);
        let mut moved = receiving.moved;
        if self.caller.is_ready() {
            self.seek_now();
            self.look_up();
        }
        let pumped = if moved || self.unsent { self.pump() } else { Ok(false) };
        let outcome = received.and_then(|received| pumped.map(|pumped| (received, pumped)));
        match outcome {
            Ok((Received::Closed, _)) => {
                self.lost(&Error::new(
                    ErrorKind::ConnectionLost,
                    "wait for the server",
                    "it closed the connection",
                ));
                moved = true;
            }
            Ok((_, pumped)) => moved |= pumped,
            Err(error) => {
                let breaks_rule = matches!(error.kind(), ErrorKind::Protocol | ErrorKind::Internal);
                assert!(!breaks_rule, "the server breaks no rule: {error}");
                self.lost(&error);
                moved = true;
            }
        }
        moved
    }

    fn pump(&mut self) -> Result<bool> {
        let Some(link) = &mut self.link else { return Ok(false) };
        let mut sending = Sending { caller: &mut self.caller, clock: &self.network, moved: false };
        let done = link.pump(self.queue_bytes, &mut sending)?;
        let moved = sending.moved;
        self.unsent = !done;
        Ok(moved)
    }

    /// Asks for the interfaces and the objects, and makes the calls that wait for them.
    fn look_up(&mut self) {
        let now = self.network.now();
        let module = self.caller.application().module;
        for (routine, question) in &mut self.routines {
            match *question {
                None => {
                    let request = Request::Interface(routine.in_module(module));
                    let asked = self.caller.ask(&request, PATIENCE, now);
                    *question = Some(asked.expect("a fresh connection has room").0);
                    self.unsent = true;
                }
                Some(question) => {
                    if let Some(Some(Reply::Interface(interface))) =
                        self.caller.take_answer(question)
                    {
                        let contracts = &mut self.caller.application_mut().contracts;
                        contracts.insert(*routine, interface.contract);
                    }
                }
            }
        }
        if let Some(held) = &mut self.held {
            self.unsent |= held.ask(&mut self.caller, PATIENCE, now);
        }
        if self.knows_interfaces() {
            std::mem::take(&mut self.wishes).into_iter().for_each(|wish| self.open(wish));
        }
    }

    fn collect(&mut self) {
        while let Some(number) = self.caller.next_announced(Audience::EVERYBODY) {
            if number & SOUGHT != 0
                && let Some(Err(error)) = self.caller.found(number)
            {
                self.ended(number, Err(error));
            }
            self.take_news(number);
            while let Some(run) = self.caller.next_callback(number) {
                self.reports.functions.push(*run);
            }
            if let Some(outcome) = self.caller.take_finished(number) {
                self.ended(number, outcome);
            }
        }
    }

    fn take_news(&mut self, number: u64) {
        while let Some(news) = self.caller.take_news(number) {
            match news {
                Notice::Output(output, bytes) => {
                    self.reports.hear(number, output, bytes);
                }
                Notice::Kept => {
                    if let Some(kept) = self.open.remove(&number).flatten() {
                        self.caller.detach(number);
                        self.unsent = true;
                        self.reports.left.push(kept);
                    }
                }
                _ => {}
            }
        }
    }

    fn ended(&mut self, number: u64, outcome: Result<Option<u64>>) {
        assert!(self.open.remove(&number).is_some(), "call {number} ended twice");
        let reached = self.caller.application_mut().reached.remove(&number).unwrap_or_default();
        let outcome = outcome.map_err(|error| Loss { error, reached });
        self.reports.outcomes.push((number & !SOUGHT, outcome));
    }
}

fn gone(kind: ErrorKind) -> Error {
    Error::new(kind, "wait for the server", "it is gone")
}

fn link(stream: Box<dyn ByteStream>) -> Link {
    let limits = hello_limits();
    Link::new(stream, limits.control_bytes_max, limits.data_bytes_max)
}
