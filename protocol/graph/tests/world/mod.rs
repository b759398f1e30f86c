//! Servers that run the calls of a graph in virtual time, and die.

pub mod random_graph;

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{Instant, Random, SeededRandom};
use farcall_graph::{
    Action, CallNumber, Costs, DataNumber, Ended, Graph, Limits, Place, ServerNumber, Transaction,
};

/// Turns after which a world that is not over counts as hanging.
const TURNS_MAX: usize = 2_000_000;

/// A server dies, and comes back.
pub struct Fault {
    at_ms: u64,
    server: u32,
    back_ms: u64,
}

impl Fault {
    pub fn new(seed: u64, number: u64) -> Fault {
        let mut random = SeededRandom::new(seed * 100 + number + 1);
        Fault {
            at_ms: random.next() % 3000,
            server: 1 + (random.next() % 4) as u32,
            back_ms: 50 + random.next() % 500,
        }
    }
}

/// How it went.
#[derive(Debug, Default)]
pub struct Report {
    pub returned: usize,
    pub failed: usize,
    /// Calls that began more than once.
    pub again: usize,
}

#[derive(Default)]
struct Server {
    is_up: bool,
    values: BTreeMap<DataNumber, u64>,
    /// Open calls that have not begun.
    waiting: BTreeSet<(CallNumber, u32)>,
    running: BTreeSet<(CallNumber, u32)>,
    life: u32,
}

enum Event {
    Ends(u32, u32, CallNumber, u32),
    Arrives(DataNumber, Option<(u32, u32)>, u32, u32),
    Dies(u32, u64),
    Returns(u32),
}

pub struct World {
    transaction: Transaction,
    graph: Graph,
    servers: BTreeMap<u32, Server>,
    agenda: BTreeMap<(u64, u64), Event>,
    numbers: u64,
    now: u64,
    random: SeededRandom,
    begun: BTreeMap<CallNumber, u32>,
    ended: BTreeMap<CallNumber, bool>,
    /// Transfers that wait for their value to be made.
    pulls: Vec<(DataNumber, u32, u32)>,
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

impl World {
    pub fn new(graph: Graph, servers: u32, seed: u64) -> World {
        let mean = |call: CallNumber| Estimate.run_s(call, ServerNumber(1)).unwrap();
        let transaction =
            Transaction::new(Instant(1), graph.clone(), Limits::default(), mean, |_| 0.001);
        let mut world = World {
            transaction,
            graph,
            servers: BTreeMap::new(),
            agenda: BTreeMap::new(),
            numbers: 0,
            now: 1,
            random: SeededRandom::new(seed + 7),
            begun: BTreeMap::new(),
            ended: BTreeMap::new(),
            pulls: Vec::new(),
        };
        for server in 1..=servers {
            world.servers.insert(server, Server { is_up: true, ..Server::default() });
            world.transaction.handle_server(Instant(1), ServerNumber(server), 2);
        }
        world
    }

    fn after(&mut self, microseconds: u64, event: Event) {
        self.numbers += 1;
        self.agenda.insert((self.now + microseconds * 1000, self.numbers), event);
    }

    pub fn run(mut self, faults: &[Fault]) -> Report {
        for fault in faults {
            self.after(fault.at_ms * 1000, Event::Dies(fault.server, fault.back_ms));
        }
        for _ in 0..TURNS_MAX {
            self.transaction.place(Instant(self.now), &Estimate);
            self.transaction.hurry(Instant(self.now), &Estimate);
            while let Some(action) = self.transaction.poll_action() {
                self.act(action);
            }
            if self.transaction.is_over() && self.take_results() {
                return self.finish();
            }
            let Some(((at, _), event)) = self.agenda.pop_first() else {
                panic!(
                    "nothing happens any more, and calls are left {:#?} servers {:?} pulls {:?}",
                    self.transaction,
                    self.servers
                        .iter()
                        .map(|(n, s)| (
                            n,
                            s.is_up,
                            &s.waiting,
                            &s.running,
                            s.values.keys().collect::<Vec<_>>()
                        ))
                        .collect::<Vec<_>>(),
                    self.pulls
                )
            };
            self.now = at;
            self.happen(event);
        }
        panic!("it does not end")
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send { data, to } => {
                let life = self.servers[&to.0].life;
                self.after(500, Event::Arrives(data, None, to.0, life));
            }
            Action::Move { data, from, to } => self.pull(data, from.0, to.0),
            Action::Open { call, server, attempt, .. } => {
                if let Some(server) = self.up(server.0) {
                    server.waiting.insert((call, attempt));
                }
                self.serve(server.0);
            }
            Action::Cancel { call, server, attempt } => {
                if let Some(server) = self.up(server.0) {
                    server.waiting.remove(&(call, attempt));
                    server.running.remove(&(call, attempt));
                }
                self.fail_pulls(call, server.0);
            }
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

    /// What a cancelled call was to make does not come.
    fn fail_pulls(&mut self, call: CallNumber, server: u32) {
        let made = self.graph.call(call).makes.clone();
        let stuck = std::mem::take(&mut self.pulls);
        let (ended, kept): (Vec<_>, Vec<_>) =
            stuck.into_iter().partition(|(data, from, _)| *from == server && made.contains(data));
        self.pulls = kept;
        for (data, _, to) in ended {
            self.transaction.handle_not_moved(Instant(self.now), data, ServerNumber(to));
        }
    }

    fn up(&mut self, server: u32) -> Option<&mut Server> {
        self.servers.get_mut(&server).filter(|server| server.is_up)
    }

    fn pull(&mut self, data: DataNumber, from: u32, to: u32) {
        let has = self.up(from).is_some_and(|server| server.values.contains_key(&data));
        let lives = (self.servers[&from].life, self.servers[&to].life);
        if has {
            self.after(200, Event::Arrives(data, Some((from, lives.0)), to, lives.1));
        } else if self.up(from).is_some() {
            self.pulls.push((data, from, to));
        } else if self.up(to).is_some() {
            self.transaction.handle_not_moved(Instant(self.now), data, ServerNumber(to));
        }
    }

    /// Calls whose arguments are there begin.
    fn serve(&mut self, number: u32) {
        let graph = &self.graph;
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
                server.running.insert((call, attempt));
            }
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
            Event::Arrives(data, from, to, life) => {
                if self.servers[&to].life != life || !self.servers[&to].is_up {
                    return;
                }
                let value = match from {
                    None => Some(given(data)),
                    Some((from, life)) => {
                        let from = &self.servers[&from];
                        (from.life == life).then(|| from.values.get(&data).copied()).flatten()
                    }
                };
                let server = ServerNumber(to);
                let Some(value) = value else {
                    return self.transaction.handle_not_moved(Instant(self.now), data, server);
                };
                self.servers.get_mut(&to).unwrap().values.insert(data, value);
                self.transaction.handle_moved(Instant(self.now), data, server);
                self.serve(to);
                self.serve_pulls(data, to);
            }
            Event::Dies(number, back_ms) => {
                let server = self.servers.get_mut(&number).unwrap();
                if !server.is_up {
                    return;
                }
                *server = Server { life: server.life + 1, ..Server::default() };
                self.transaction.handle_lost(Instant(self.now), ServerNumber(number));
                let stuck = std::mem::take(&mut self.pulls);
                let (gone, kept): (Vec<_>, Vec<_>) =
                    stuck.into_iter().partition(|(_, from, _)| *from == number);
                self.pulls = kept;
                for (data, _, to) in gone.into_iter().filter(|(_, _, to)| *to != number) {
                    let to = ServerNumber(to);
                    self.transaction.handle_not_moved(Instant(self.now), data, to);
                }
                self.after(back_ms * 1000, Event::Returns(number));
            }
            Event::Returns(number) => {
                self.servers.get_mut(&number).unwrap().is_up = true;
                self.transaction.handle_server(Instant(self.now), ServerNumber(number), 2);
            }
        }
    }

    fn end(&mut self, number: u32, life: u32, call: CallNumber, attempt: u32) {
        let Some(server) = self.servers.get_mut(&number) else { return };
        if server.life != life || !server.running.remove(&(call, attempt)) {
            return;
        }
        let plan = self.graph.call(call);
        let used: Vec<u64> = plan.uses.iter().map(|data| server.values[data]).collect();
        for made in &plan.makes {
            server.values.insert(*made, result(call, *made, &used));
        }
        self.transaction.handle_returned(Instant(self.now), call, ServerNumber(number), attempt);
        let made = plan.makes.clone();
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
            let value = self.servers[&place].values[&data];
            assert_eq!(value, expected(&self.graph, data), "value {data:?}");
            self.transaction.handle_taken(Instant(self.now), data);
        }
        while let Some(action) = self.transaction.poll_action() {
            self.act(action);
        }
        self.transaction.is_over()
    }

    fn finish(self) -> Report {
        let mut report = Report::default();
        for call in (0..self.graph.calls() as u32).map(CallNumber) {
            match self.ended.get(&call) {
                Some(true) => report.returned += 1,
                Some(false) => report.failed += 1,
                None => panic!("{call:?} did not end"),
            }
            let begun = self.begun.get(&call).copied().unwrap_or(0);
            report.again += usize::from(begun > 1);
            assert!(begun <= 1 || self.graph.call(call).may_run_again, "{call:?} ran twice");
        }
        let left: usize = self.servers.values().map(|server| server.values.len()).sum();
        let arriving = |event: &Event| matches!(event, Event::Arrives(..) | Event::Ends(..));
        let coming = self.agenda.values().filter(|event| arriving(event)).count();
        assert!(left <= coming + self.given_left(), "{left} values are left, {coming} come");
        report
    }

    /// Values that the program gave and that are on servers.
    fn given_left(&self) -> usize {
        let given = |data: &&DataNumber| self.graph.maker(**data).is_none();
        self.servers.values().map(|server| server.values.keys().filter(given).count()).sum()
    }
}

fn given(data: DataNumber) -> u64 {
    u64::from(data.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1
}

fn result(call: CallNumber, made: DataNumber, used: &[u64]) -> u64 {
    let first = (u64::from(call.0) << 32 | u64::from(made.0)) ^ 0x517c_c1b7_2722_0a95;
    used.iter().fold(first, |sum, one| (sum ^ one).wrapping_mul(0x0100_0000_01b3).rotate_left(13))
}

/// What a value must be, worked out without servers.
fn expected(graph: &Graph, data: DataNumber) -> u64 {
    let mut known: BTreeMap<DataNumber, u64> = BTreeMap::new();
    let mut wanted = vec![data];
    while let Some(one) = wanted.last().copied() {
        let Some(maker) = graph.maker(one) else {
            known.insert(one, given(one));
            wanted.pop();
            continue;
        };
        let uses = &graph.call(maker).uses;
        let missing: Vec<DataNumber> =
            uses.iter().copied().filter(|data| !known.contains_key(data)).collect();
        if missing.is_empty() {
            let used: Vec<u64> = uses.iter().map(|data| known[data]).collect();
            known.insert(one, result(maker, one, &used));
            wanted.pop();
        } else {
            wanted.extend(missing);
        }
    }
    known[&data]
}
