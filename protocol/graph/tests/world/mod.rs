//! Servers that run the calls of a graph in virtual time, and die.

pub mod random_graph;
mod restart;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use farcall_base::{ErrorKind, Instant, Random, SeededRandom};
use farcall_graph::{
    Action, CallNumber, Costs, DataNumber, Ended, Failure, Graph, Limits, Place, ServerNumber,
    Transaction,
};

/// Turns after which a world that is not over counts as hanging.
const TURNS_MAX: usize = 2_000_000;

/// What happens at some time.
pub struct Fault {
    at_ms: u64,
    event: Event,
}

impl Fault {
    /// A server dies, and comes back.
    pub fn new(seed: u64, number: u64) -> Fault {
        let mut random = SeededRandom::new(seed * 100 + number + 1);
        let at_ms = random.next() % 3000;
        let server = 1 + (random.next() % 4) as u32;
        Fault { at_ms, event: Event::Dies(server, 50 + random.next() % 500) }
    }

    /// A value is gone from a server.
    pub fn gone(seed: u64, number: u64) -> Fault {
        let mut random = SeededRandom::new(seed * 1000 + number + 1);
        let server = 1 + (random.next() % 4) as u32;
        Fault { at_ms: random.next() % 1000, event: Event::Vanishes(server, random.next()) }
    }

    /// The program leaves.
    pub fn leaving(at_ms: u64) -> Fault {
        Fault { at_ms, event: Event::Leaves }
    }
}

/// How it went.
#[derive(Debug, Default)]
pub struct Report {
    pub returned: usize,
    pub failed: usize,
    /// Calls that began more than once.
    pub again: usize,
    pub restarts: usize,
    pub failures: Vec<(CallNumber, Option<Ended>)>,
}

#[derive(Default)]
struct Server {
    is_up: bool,
    values: BTreeMap<DataNumber, u64>,
    /// Open calls that have not begun.
    waiting: BTreeSet<(CallNumber, u32)>,
    /// Each with what it is called with.
    running: BTreeMap<(CallNumber, u32), Vec<u64>>,
    /// Calls that returned.
    done: BTreeSet<(CallNumber, u32)>,
    /// Values on their way there.
    coming: BTreeSet<DataNumber>,
    life: u32,
}

enum Event {
    Ends(u32, u32, CallNumber, u32),
    Arrives(DataNumber, Option<(u32, u32)>, u32, u32),
    Dies(u32, u64),
    Returns(u32),
    Vanishes(u32, u64),
    Leaves,
    /// The owner of the transaction is there again.
    Restored,
}

pub struct World {
    transaction: Transaction,
    graph: Rc<Graph>,
    servers: BTreeMap<u32, Server>,
    agenda: BTreeMap<(u64, u64), Event>,
    numbers: u64,
    now: u64,
    random: SeededRandom,
    begun: BTreeMap<CallNumber, u32>,
    ended: BTreeMap<CallNumber, bool>,
    /// Transfers that wait for their value to be made.
    pulls: Vec<(DataNumber, u32, u32)>,
    has_left: bool,
    owner: Owner,
}

struct Estimate;

impl Costs for Estimate {
    fn run_s(&self, call: CallNumber, server: ServerNumber) -> Option<f64> {
        Some(0.01 * f64::from(1 + (call.0 * 7 + server.0 * 3) % 11))
    }

    fn move_s(&self, from: Place, _: ServerNumber, bytes: u64) -> f64 {
        bytes as f64 * if from == Place::Client { 4e-9 } else { 1e-9 }
    }
}

use restart::Owner;
use values::{expected, given, result};

impl World {
    pub fn new(graph: Graph, servers: u32, seed: u64) -> World {
        let mean = |call: CallNumber| Estimate.run_s(call, ServerNumber(1)).unwrap();
        let transaction =
            Transaction::new(Instant(1), graph.clone(), Limits::default(), mean, |_| 0.001);
        let mut world = World {
            transaction,
            graph: Rc::new(graph),
            servers: BTreeMap::new(),
            agenda: BTreeMap::new(),
            numbers: 0,
            now: 1,
            random: SeededRandom::new(seed + 7),
            begun: BTreeMap::new(),
            ended: BTreeMap::new(),
            pulls: Vec::new(),
            has_left: false,
            owner: Owner::default(),
        };
        for server in 1..=servers {
            world.servers.insert(server, Server { is_up: true, ..Server::default() });
            world.transaction.handle_server(Instant(1), ServerNumber(server), 2);
            world.owner.lives.insert(server, 0);
        }
        world
    }

    fn after(&mut self, microseconds: u64, event: Event) {
        self.numbers += 1;
        self.agenda.insert((self.now + microseconds * 1000, self.numbers), event);
    }

    pub fn run(mut self, faults: Vec<Fault>) -> Report {
        for fault in faults {
            self.after(fault.at_ms * 1000, fault.event);
        }
        for _ in 0..TURNS_MAX {
            if !self.owner.is_down {
                self.turn();
                if self.transaction.is_over() && !self.owner.is_down && self.take_results() {
                    return self.finish();
                }
            }
            let Some(((at, _), event)) = self.agenda.pop_first() else {
                panic!(
                    "nothing happens any more, and calls are left: {:#?} pulls {:?}",
                    self.transaction, self.pulls
                )
            };
            self.now = at;
            self.happen(event);
        }
        panic!("it does not end")
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send { data, to } => self.send(data, to.0),
            Action::Move { data, from, to } => {
                if let Some(to) = self.up(to.0) {
                    to.coming.insert(data);
                }
                self.pull(data, from.0, to.0);
            }
            Action::TakeUp { server, calls, data } => self.take_up(server, &calls, &data),
            Action::Open { call, server, attempt, .. } => {
                if let Some(server) = self.up(server.0) {
                    server.waiting.insert((call, attempt));
                }
                self.serve(server.0);
            }
            Action::Cancel { call, server, attempt } => self.cancel(call, server, attempt),
            Action::Delete { data, server } => {
                if let Some(server) = self.up(server.0) {
                    server.values.remove(&data);
                }
            }
            Action::Ended { call, outcome } => {
                let returned = matches!(outcome, Ended::Returned(_));
                let before = self.ended.insert(call, returned);
                assert!(before.is_none() || before == Some(true) && !returned, "{call:?} twice");
            }
        }
    }

    fn cancel(&mut self, call: CallNumber, server: ServerNumber, attempt: u32) {
        let Some(it) = self.up(server.0) else { return };
        let has_waited = it.waiting.remove(&(call, attempt));
        let has_run = it.running.remove(&(call, attempt)).is_some();
        self.fail_pulls(call, server.0);
        if has_waited || has_run {
            let message = "it was cancelled".to_owned();
            let failure = Failure { kind: ErrorKind::Cancelled, message, has_run };
            self.tell(|it, now| it.handle_failed(now, call, server, attempt, failure));
        }
    }

    /// What a cancelled call was to make does not come.
    fn fail_pulls(&mut self, call: CallNumber, server: u32) {
        let made = self.graph.call(call).makes.clone();
        let stuck = std::mem::take(&mut self.pulls);
        let (ended, kept): (Vec<_>, Vec<_>) =
            stuck.into_iter().partition(|(data, from, _)| *from == server && made.contains(data));
        self.pulls = kept;
        ended.into_iter().for_each(|(data, _, to)| self.not_moved(data, to));
    }

    /// The owner hears of something, if it is there.
    fn tell(&mut self, news: impl FnOnce(&mut Transaction, Instant)) {
        if !self.owner.is_down {
            news(&mut self.transaction, Instant(self.now));
        }
    }

    fn not_moved(&mut self, data: DataNumber, to: u32) {
        if let Some(server) = self.up(to) {
            server.coming.remove(&data);
            self.tell(|it, now| it.handle_not_moved(now, data, ServerNumber(to)));
        }
    }

    fn send(&mut self, data: DataNumber, to: u32) {
        if self.has_left {
            return self.not_moved(data, to);
        }
        if let Some(server) = self.up(to) {
            server.coming.insert(data);
            let life = server.life;
            self.after(500, Event::Arrives(data, None, to, life));
        }
    }

    /// Whether a call that makes this value is open on a server.
    fn is_making(&self, data: DataNumber, number: u32) -> bool {
        let server = &self.servers[&number];
        let makes = |call: &CallNumber| self.graph.call(*call).makes.contains(&data);
        let open = server.waiting.iter().chain(server.running.keys());
        server.is_up && open.map(|(call, _)| call).any(makes)
    }

    fn up(&mut self, server: u32) -> Option<&mut Server> {
        self.servers.get_mut(&server).filter(|server| server.is_up)
    }

    fn pull(&mut self, data: DataNumber, from: u32, to: u32) {
        let has = self.up(from).is_some_and(|server| server.values.contains_key(&data));
        let lives = (self.servers[&from].life, self.servers[&to].life);
        if has {
            self.after(200, Event::Arrives(data, Some((from, lives.0)), to, lives.1));
        } else if self.is_making(data, from) {
            self.pulls.push((data, from, to));
        } else {
            if self.up(from).is_some() {
                self.tell(|it, now| it.handle_gone(now, data, Place::Server(ServerNumber(from))));
            }
            self.not_moved(data, to);
        }
    }

    /// Calls whose arguments are there begin.
    fn serve(&mut self, number: u32) {
        let graph = self.graph.clone();
        let Some(server) = self.servers.get_mut(&number).filter(|server| server.is_up) else {
            return;
        };
        let has_all = |call: &CallNumber| {
            graph.call(*call).uses.iter().all(|data| server.values.contains_key(data))
        };
        let ready: Vec<(CallNumber, u32)> =
            server.waiting.iter().copied().filter(|(call, _)| has_all(call)).collect();
        let life = server.life;
        for (call, attempt) in ready {
            if let Some(server) = self.servers.get_mut(&number) {
                server.waiting.remove(&(call, attempt));
                let used = graph.call(call).uses.iter().map(|data| server.values[data]);
                let used = used.collect();
                server.running.insert((call, attempt), used);
            }
            self.tell(|it, now| it.handle_begun(now, call, ServerNumber(number), attempt));
            *self.begun.entry(call).or_default() += 1;
            // Some take much longer than was predicted.
            let slow = if self.random.next().is_multiple_of(50) { 40 } else { 1 };
            let takes = (1000 + self.random.next() % 100_000) * slow;
            self.after(takes, Event::Ends(number, life, call, attempt));
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ends(number, life, call, attempt) => self.end(number, life, call, attempt),
            Event::Arrives(data, from, to, life) => self.arrive(data, from, to, life),
            Event::Dies(number, back_ms) => self.die(number, back_ms),
            Event::Returns(number) => {
                let server = self.servers.get_mut(&number).unwrap();
                server.is_up = true;
                self.owner.lives.insert(number, server.life);
                self.tell(|it, now| it.handle_server(now, ServerNumber(number), 2));
            }
            Event::Vanishes(number, random) => {
                let values = &mut self.servers.get_mut(&number).unwrap().values;
                let nth = random as usize % values.len().max(1);
                let Some(data) = values.keys().nth(nth).copied() else { return };
                values.remove(&data);
                self.tell(|it, now| it.handle_gone(now, data, Place::Server(ServerNumber(number))));
            }
            Event::Leaves => {
                self.has_left = true;
                self.tell(Transaction::handle_client_left);
            }
            Event::Restored => self.restore(),
        }
    }

    fn arrive(&mut self, data: DataNumber, from: Option<(u32, u32)>, to: u32, life: u32) {
        if self.servers[&to].life != life || !self.servers[&to].is_up {
            return;
        }
        let value = match from {
            None => Some(given(data)).filter(|_| !self.has_left),
            Some((from, life)) => {
                let from = &self.servers[&from];
                (from.life == life).then(|| from.values.get(&data).copied()).flatten()
            }
        };
        let Some(value) = value else { return self.not_moved(data, to) };
        let server = self.servers.get_mut(&to).unwrap();
        server.values.insert(data, value);
        server.coming.remove(&data);
        self.tell(|it, now| it.handle_moved(now, data, ServerNumber(to)));
        self.serve(to);
        self.serve_pulls(data, to);
    }

    fn die(&mut self, number: u32, back_ms: u64) {
        let server = self.servers.get_mut(&number).unwrap();
        if !server.is_up {
            return;
        }
        *server = Server { life: server.life + 1, ..Server::default() };
        self.tell(|it, now| it.handle_lost(now, ServerNumber(number)));
        let stuck = std::mem::take(&mut self.pulls);
        let (gone, kept): (Vec<_>, Vec<_>) =
            stuck.into_iter().partition(|(_, from, to)| *from == number || *to == number);
        self.pulls = kept;
        gone.into_iter().for_each(|(data, _, to)| self.not_moved(data, to));
        self.after(back_ms * 1000, Event::Returns(number));
    }

    fn end(&mut self, number: u32, life: u32, call: CallNumber, attempt: u32) {
        let Some(server) = self.servers.get_mut(&number) else { return };
        if server.life != life {
            return;
        }
        let Some(used) = server.running.remove(&(call, attempt)) else { return };
        let made = self.graph.call(call).makes.clone();
        for data in &made {
            server.values.insert(*data, result(call, *data, &used));
        }
        server.done.insert((call, attempt));
        self.tell(|it, now| it.handle_returned(now, call, ServerNumber(number), attempt));
        self.serve(number);
        made.into_iter().for_each(|data| self.serve_pulls(data, number));
    }

    /// A value is on a server that others wait for.
    fn serve_pulls(&mut self, data: DataNumber, number: u32) {
        let stuck = std::mem::take(&mut self.pulls);
        let (ready, kept): (Vec<_>, Vec<_>) =
            stuck.into_iter().partition(|(of, from, _)| *from == number && *of == data);
        self.pulls = kept;
        ready.into_iter().for_each(|(data, from, to)| self.pull(data, from, to));
    }

    /// The program takes what it wanted; whether all of it was there.
    fn take_results(&mut self) -> bool {
        for data in (0..self.graph.values() as u32).map(DataNumber) {
            let maker = self.graph.maker(data);
            let has_returned = maker.is_some_and(|maker| self.ended.get(&maker) == Some(&true));
            if !self.graph.value(data).wanted || !has_returned {
                continue;
            }
            let place = self.transaction.places(data).find_map(|place| match place {
                Place::Server(server) => Some(server.0),
                Place::Client => None,
            });
            let Some(place) = place else { continue };
            let Some(value) = self.servers[&place].values.get(&data).copied() else {
                self.tell(|it, now| it.handle_gone(now, data, Place::Server(ServerNumber(place))));
                continue;
            };
            assert_eq!(value, expected(&self.graph, data), "value {data:?}");
            self.transaction.handle_taken(Instant(self.now), data);
        }
        self.turn();
        self.transaction.is_over() && !self.owner.is_down
    }

    fn finish(self) -> Report {
        let mut report = Report { restarts: self.owner.restarts, ..Report::default() };
        for call in (0..self.graph.calls() as u32).map(CallNumber) {
            match self.ended.get(&call) {
                Some(true) => report.returned += 1,
                Some(false) => {
                    report.failed += 1;
                    report.failures.push((call, self.transaction.outcome(call).cloned()));
                }
                None => panic!("{call:?} did not end"),
            }
            let begun = self.begun.get(&call).copied().unwrap_or(0);
            report.again += usize::from(begun > 1);
            assert!(begun <= 1 || self.graph.call(call).may_run_again, "{call:?} ran twice");
        }
        let left: usize = self.servers.values().map(|server| server.values.len()).sum();
        let arriving = |event: &Event| matches!(event, Event::Arrives(..) | Event::Ends(..));
        let coming = self.agenda.values().filter(|event| arriving(event)).count();
        assert!(
            left <= coming + self.given_left(),
            "{left} values are left, {coming} come: {:?}",
            self.left()
        );
        report
    }

    fn left(&self) -> Vec<(u32, DataNumber, Vec<Place>)> {
        let mut left = Vec::new();
        for (number, server) in &self.servers {
            for data in server.values.keys().filter(|data| self.graph.maker(**data).is_some()) {
                left.push((*number, *data, self.transaction.places(*data).collect()));
            }
        }
        left
    }

    /// Values that the program gave and that are on servers.
    fn given_left(&self) -> usize {
        let given = |data: &&DataNumber| self.graph.maker(**data).is_none();
        self.servers.values().map(|server| server.values.keys().filter(given).count()).sum()
    }
}
