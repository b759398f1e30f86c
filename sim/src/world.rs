//! A world: everything that happens, in the order of virtual time, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind, ExecutableId, Instant, Random, SeededRandom};
use farcall_link::stream::ByteStream;
use farcall_rpc_server::access::Rights;
use farcall_rpc_server::state::{Action, Caller, MemoryId, Newcomer};
use farcall_services::spawner::{ExitHow, Exited, OutputTail};
use farcall_transport_simulated::{LinkId, LinkPlan, Network};

use crate::client::{Client, Wanted};
use crate::module;
use crate::node::Node;
use crate::plan::Plan;
use crate::process::{News, Process};
use crate::program::Wish;

/// Turns after which a world that is not over counts as hanging.
const TURNS_MAX: usize = 200_000;

/// What is going to happen.
enum Happening {
    CallDue { client: usize, number: u64, elements: u64, keep: bool },
    FetchDue(usize, CallId, Wish),
    CancelDue(usize, u64),
    ClientCrashes(usize),
    ConnectionResets(usize),
    ClientPauses(usize),
    ClientGoesOn(usize),
    ExecutableStarts(ExecutableId),
    ModuleLoads(ExecutableId),
    RoutineReturns(ExecutableId, CallId),
    ProcessEnds(ExecutableId, ExitHow),
    ExitReported(Box<Exited>),
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Everything that happened, with its virtual time.
    pub trace: Vec<String>,
    /// Stands for every segment on the network.
    pub fingerprint: u64,
    /// Calls that returned their right result.
    pub returned: usize,
    /// Calls that failed, by kind.
    pub failed: BTreeMap<&'static str, usize>,
}

/// A network, a server, its executables and clients.
pub struct World {
    plan: Plan,
    network: Network,
    random: SeededRandom,
    node: Node,
    clients: Vec<(Client, LinkId)>,
    processes: BTreeMap<ExecutableId, Process>,
    /// Told to end before they began.
    doomed: BTreeSet<ExecutableId>,
    agenda: BTreeMap<(Instant, u64), Happening>,
    scheduled: u64,
    /// Executables that were started.
    starts: usize,
    trace: Vec<String>,
    /// How often each call ran.
    runs: BTreeMap<CallId, u32>,
    /// Which call each piece of memory belongs to.
    owners: BTreeMap<MemoryId, CallId>,
    outcomes: BTreeMap<u64, Option<ErrorKind>>,
}

impl World {
    /// Runs a plan with a seed, to its end.
    ///
    /// # Panics
    /// When something does not hold that must; with plan and seed.
    pub fn run(plan: &Plan, seed: u64) -> Report {
        let guard = Guard(format!("seed {seed} of {plan:?}"));
        let mut world = World::new(plan, seed);
        world.turn_until_quiet();
        let report = world.end();
        std::mem::forget(guard);
        report
    }

    fn new(plan: &Plan, seed: u64) -> World {
        let network = Network::new(seed);
        let mut world = World {
            node: Node::new(plan, &network),
            plan: plan.clone(),
            network,
            random: SeededRandom::new(seed),
            clients: Vec::new(),
            processes: BTreeMap::new(),
            doomed: BTreeSet::new(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            starts: 0,
            trace: Vec::new(),
            runs: BTreeMap::new(),
            owners: BTreeMap::new(),
            outcomes: BTreeMap::new(),
        };
        (0..plan.clients).for_each(|index| world.add_client(index));
        world
    }

    fn add_client(&mut self, index: usize) {
        let (stream, link) = self.connect(index);
        let module = index % self.plan.modules.max(1);
        let seed = self.random.next();
        let manner = (self.plan.queue_bytes, Duration::from_micros(self.plan.keep_us));
        self.clients.push((Client::new(stream, module, manner, seed, &self.network), link));
        let mut at = Duration::ZERO;
        for call in 0..self.plan.calls {
            at += self.within(self.plan.interval_us);
            let number = (index * self.plan.calls + call) as u64;
            let elements = self.random.next() % (self.plan.elements_max + 1);
            let keep = self.chance(self.plan.kept);
            self.after(at, Happening::CallDue { client: index, number, elements, keep });
            if self.chance(self.plan.cancel) {
                let later = at + self.within(self.plan.run_us);
                self.after(later, Happening::CancelDue(index, number));
            }
        }
        if self.chance(self.plan.client_crash) {
            let at = self.within(at.as_micros() as u64);
            self.after(at, Happening::ClientCrashes(index));
        }
        if self.chance(self.plan.pause) {
            let at = self.within(at.as_micros() as u64);
            self.after(at, Happening::ClientPauses(index));
        }
        // A client that comes back loses one connection after another.
        let resets = if self.plan.keep_us > 0 { self.plan.calls } else { 1 };
        for _ in 0..resets {
            if self.chance(self.plan.reset) {
                let at = self.within(at.as_micros() as u64);
                self.after(at, Happening::ConnectionResets(index));
            }
        }
    }

    /// A link from a client to the server: the client's end.
    fn connect(&mut self, index: usize) -> (Box<dyn ByteStream>, LinkId) {
        let pair = self.network.pair(self.plan.link()).expect("the plan's link can be made");
        let connection = self.node.add(pair.far);
        let now = self.network.now();
        let caller = Caller {
            address: format!("client {index}"),
            rights: Rights::all("inherited"),
            certificate: None,
        };
        let newcomer = Newcomer { caller, shares_memory: false, token: None, refusal: None };
        self.node.server.accepted(connection, newcomer, now);
        (pair.near, pair.link)
    }

    /// A time up to this long.
    fn within(&mut self, us: u64) -> Duration {
        Duration::from_micros(self.random.next() % (us + 1))
    }

    fn chance(&mut self, chance: f64) -> bool {
        ((self.random.next() >> 11) as f64 / (1u64 << 53) as f64) < chance
    }

    fn after(&mut self, delay: Duration, what: Happening) {
        self.scheduled += 1;
        self.agenda.insert((self.network.now() + delay, self.scheduled), what);
    }

    fn say(&mut self, what: String) {
        self.trace.push(format!("{:?} {what}", self.network.now()));
    }

    /// Lets time pass until nothing will happen any more.
    fn turn_until_quiet(&mut self) {
        for _ in 0..TURNS_MAX {
            while self.work() {}
            self.check_places();
            let times = [
                self.network.next_event(),
                self.agenda.first_key_value().map(|((at, _), _)| *at),
                self.node.server.next_tick(),
            ];
            let attempts = self.clients.iter().filter_map(|(client, _)| match client.wants() {
                Wanted::Time(at) => Some(at),
                Wanted::Nothing | Wanted::Link => None,
            });
            let Some(next) = times.into_iter().flatten().chain(attempts).min() else { return };
            self.network.advance_to(next);
            while let Some(entry) =
                self.agenda.first_entry().filter(|entry| entry.key().0 <= self.network.now())
            {
                let what = entry.remove();
                self.happen(what);
            }
        }
        let ticks = (self.network.next_event(), self.node.server.next_tick());
        let wanted: Vec<Wanted> = self.clients.iter().map(|(client, _)| client.wants()).collect();
        let last = self.trace.iter().rev().take(20).rev().cloned().collect::<Vec<_>>().join("\n");
        panic!(
            "the world does not come to an end: at {:?} links and server wait for {ticks:?}, \
                clients for {wanted:?}; last:\n{last}",
            self.network.now()
        );
    }

    /// Everybody does what they can now; whether anything moved.
    fn work(&mut self) -> bool {
        let (actions, mut moved) = self.node.work();
        self.check_memory();
        moved |= !actions.is_empty();
        actions.into_iter().for_each(|action| self.act(action));
        for index in 0..self.clients.len() {
            if self.clients[index].0.wants() == Wanted::Link {
                self.say(format!("client {index} connects again"));
                let (stream, link) = self.connect(index);
                self.clients[index].0.dialled(stream);
                self.clients[index].1 = link;
            }
            moved |= self.clients[index].0.work();
            for (id, wish) in std::mem::take(&mut self.clients[index].0.left) {
                self.say(format!("call {} goes on without client {index}", wish.number));
                let delay = self.within(2 * self.plan.run_us);
                self.after(delay, Happening::FetchDue(index + 1, id, wish));
            }
            for (number, failure) in std::mem::take(&mut self.clients[index].0.outcomes) {
                self.say(format!(
                    "call {number} ended: {}",
                    failure.map_or("right", ErrorKind::name)
                ));
                assert!(
                    self.outcomes.insert(number, failure).is_none(),
                    "call {number} ended twice"
                );
            }
        }
        for executable in self.processes.keys().copied().collect::<Vec<_>>() {
            moved |= self.work_process(executable);
        }
        moved
    }

    fn work_process(&mut self, executable: ExecutableId) -> bool {
        let Some(process) = self.processes.get_mut(&executable) else { return false };
        let mut news = Vec::new();
        let worked = process.work(&mut news);
        for news in news {
            match news {
                News::Loads if self.chance(self.plan.load_crash) => {
                    self.end_process(executable, crash())
                }
                News::Loads => {
                    let delay = self.within(self.plan.start_us);
                    self.after(delay, Happening::ModuleLoads(executable));
                }
                News::Begins(call) => self.begin(executable, call),
            }
        }
        // An executable without a server ends by itself.
        worked.unwrap_or_else(|_| {
            self.end_process(executable, ExitHow::Status(0));
            true
        })
    }

    /// A routine begins: what will become of it?
    fn begin(&mut self, executable: ExecutableId, call: CallId) {
        let runs = self.runs.entry(call).or_insert(0);
        *runs += 1;
        assert_eq!(*runs, 1, "{call:?} ran twice");
        self.say(format!("{call} runs in executable {executable}"));
        let delay = self.within(self.plan.run_us);
        let ending = |how| Happening::ProcessEnds(executable, how);
        let what = if self.chance(self.plan.crash) {
            ending(crash())
        } else if self.chance(self.plan.exit) {
            ending(ExitHow::Status(3))
        } else if self.chance(self.plan.hang) {
            return;
        } else {
            Happening::RoutineReturns(executable, call)
        };
        self.after(delay, what);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Resolve { connection, channel, name, .. } => {
                let index = (0..self.plan.modules.max(1))
                    .find(|index| name == format!("{}/scale", module::name(*index)));
                let missing =
                    || Error::new(ErrorKind::NotFound, "find a routine", "no such routine");
                let found = index.ok_or_else(missing).and_then(module::routine);
                self.node.server.resolved(connection, channel, found);
            }
            Action::Start { executable, .. } => {
                self.say(format!("start {executable}"));
                self.starts += 1;
                assert!(self.starts <= self.plan.starts_max, "executables come and go");
                let delay = self.within(self.plan.start_us);
                self.after(delay, Happening::ExecutableStarts(executable));
            }
            Action::Stop { executable, grace } => {
                self.say(format!("stop {executable}"));
                self.doomed.insert(executable);
                let how = ExitHow::Signal { number: 15, name: "SIGTERM", core: false };
                let delay = self.within(grace.as_micros() as u64);
                self.after(delay, Happening::ProcessEnds(executable, how));
            }
            Action::Recall(..) | Action::Resume(_) | Action::Look(_) => {
                panic!("links of this world have no turnstile")
            }
            Action::Hold { .. } => panic!("servers of this world hold no objects"),
            Action::Listen(_) | Action::Hush(_) => panic!("clients of this world want no output"),
            Action::Fetch { .. } => panic!("clients of this world name no arrays by URL"),
            Action::Results(_) | Action::Readmit => {
                panic!("clients of this world have nothing kept")
            }
            Action::List { .. } | Action::Order { .. } | Action::Close(_) | Action::Audit(_) => {
                panic!("clients of this world neither list nor give orders, and nobody keeps a log")
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::FetchDue(client, id, wish) => self.fetch(client, id, wish),
            Happening::CallDue { client, number, elements, keep } => {
                self.say(format!("client {client} makes call {number} with {elements} elements"));
                let timeout = Duration::from_micros(self.plan.timeout_us);
                let deadline = (self.plan.timeout_us > 0).then(|| self.network.now() + timeout);
                self.clients[client].0.wish(Wish { number, elements, deadline, keep });
            }
            Happening::CancelDue(client, number) => self.clients[client].0.cancel(number),
            Happening::ClientCrashes(client) => {
                self.say(format!("client {client} ends"));
                self.clients[client].0.leave();
            }
            // Nobody comes back to a server that has never greeted.
            Happening::ConnectionResets(client)
                if self.plan.keep_us > 0 && self.clients[client].0.awaits_greeting() =>
            {
                let later = Duration::from_micros(self.plan.delay_us + 1);
                self.after(later, Happening::ConnectionResets(client));
            }
            Happening::ConnectionResets(client) => {
                self.say(format!("client {client} loses its connection"));
                self.network.crash(self.clients[client].1);
            }
            Happening::ClientPauses(client) => {
                self.say(format!("client {client} stands still"));
                self.clients[client].0.is_paused = true;
                self.after(
                    Duration::from_micros(2 * self.plan.stall_us),
                    Happening::ClientGoesOn(client),
                );
            }
            Happening::ClientGoesOn(client) => self.clients[client].0.is_paused = false,
            Happening::ExecutableStarts(executable) => self.start(executable),
            Happening::ModuleLoads(executable) => {
                if let Some(process) = self.processes.get_mut(&executable) {
                    process.loaded();
                }
            }
            Happening::RoutineReturns(executable, call) => {
                if let Some(process) = self.processes.get_mut(&executable) {
                    process.returns(call).expect("arguments are there when a routine begins");
                }
            }
            Happening::ProcessEnds(executable, how) => self.end_process(executable, how),
            Happening::ExitReported(exited) => {
                self.say(format!("executable {} {}", exited.executable, exited.how));
                self.node.server.executable_exited(&mut self.node.memory, &exited);
            }
        }
    }

    /// A client, or the next one that lives, asks for what another has left.
    fn fetch(&mut self, client: usize, id: CallId, wish: Wish) {
        let (count, number) = (self.clients.len(), wish.number);
        let module = |index: usize| index % self.plan.modules.max(1);
        let made_by = number as usize / self.plan.calls;
        // Whoever asks knows the routine.
        let able = (client..client + count)
            .map(|index| index % count)
            .filter(|index| module(*index) == module(made_by));
        let asks = able
            .collect::<Vec<_>>()
            .into_iter()
            .find(|index| self.clients[*index].0.seek(id, wish.clone()));
        match asks {
            Some(index) => self.say(format!("client {index} asks for call {number}")),
            None => drop(self.outcomes.insert(number, Some(ErrorKind::ConnectionLost))),
        }
    }

    fn start(&mut self, executable: ExecutableId) {
        if self.chance(self.plan.start_failure) {
            let error = Error::new(ErrorKind::System, "start an executable", "no memory left");
            return self.node.server.executable_failed(&mut self.node.memory, executable, &error);
        }
        let pair = self.network.pair(LinkPlan { queue_bytes: 16 << 10, ..LinkPlan::default() });
        let pair = pair.expect("a local link can be made");
        let connection = self.node.add(pair.near);
        let now = self.network.now();
        self.node.server.executable_started(executable, connection, false, false, now);
        self.processes.insert(executable, Process::new(pair.far, self.plan.queue_bytes));
    }

    /// A process ends: its connection at once, the report of its exit a little later.
    fn end_process(&mut self, executable: ExecutableId, how: ExitHow) {
        if self.processes.remove(&executable).is_some() {
            let (stderr, stdout) = (OutputTail::default(), OutputTail::default());
            let exited = Exited { executable, how, rank: None, was_stopped: false, stderr, stdout };
            let delay = self.within(200);
            self.after(delay, Happening::ExitReported(Box::new(exited)));
        }
    }

    /// Memory that was released belongs to no call that a living process works on.
    fn check_memory(&mut self) {
        for released in std::mem::take(&mut self.node.memory.released) {
            let Some(call) = self.owners.remove(&released) else { continue };
            let writer = self.processes.iter().find(|(_, process)| process.running() == Some(call));
            assert!(
                writer.is_none(),
                "{released:?} of {call:?} is released while {:?} works",
                writer.map(|(id, _)| id)
            );
        }
        self.owners.extend(self.node.server.state().memory_in_use());
    }

    /// No call waits for a place that an executable has held long enough without doing anything.
    fn check_places(&self) {
        let state = self.node.server.state();
        if state.calls_unserved() > 0
            && let Some((since, executable)) = state.longest_idle()
        {
            let until = since + Duration::from_micros(self.plan.executable_idle_us);
            assert!(
                self.network.now() < until,
                "executable {executable} is idle since {since:?} while calls wait"
            );
        }
    }

    /// All calls are over: clients leave, executables end, and nothing may be left.
    fn end(mut self) -> Report {
        let calls = (self.plan.clients * self.plan.calls) as u64;
        assert!((0..calls).all(|number| self.outcomes.contains_key(&number)), "a call never ended");
        self.clients.iter_mut().for_each(|(client, _)| client.leave());
        self.turn_until_quiet();
        let left = self.node.server.state().left_over();
        assert!(left.is_empty(), "the server keeps {left:?}");
        assert!(
            self.node.memory.held.is_empty(),
            "memory is never released: {:?}",
            self.node.memory.held
        );
        for executable in self.processes.keys().copied().collect::<Vec<_>>() {
            self.end_process(executable, ExitHow::Status(0));
        }
        self.turn_until_quiet();
        let executables = self.node.server.state().executables_alive();
        assert_eq!(
            (executables, self.node.connections()),
            (0, 0),
            "executables or connections leak"
        );
        let mut failed = BTreeMap::new();
        for kind in self.outcomes.values().flatten() {
            *failed.entry(kind.name()).or_insert(0) += 1;
        }
        let returned = self.outcomes.values().filter(|failure| failure.is_none()).count();
        Report {
            fingerprint: self.network.trace().fingerprint(),
            trace: self.trace,
            returned,
            failed,
        }
    }
}

fn crash() -> ExitHow {
    ExitHow::Signal { number: 11, name: "SIGSEGV", core: false }
}

/// Says what failed, should a run not come to its end.
struct Guard(String);

impl Drop for Guard {
    fn drop(&mut self) {
        eprintln!("this failed with {}", self.0);
    }
}
