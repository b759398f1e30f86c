//! A world: everything that happens, in the order of virtual time, and what must hold of it.

mod executables;
mod happening;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{
    CallId, Clock, ErrorKind, ExecutableId, Instant, ObjectId, Random, SeededRandom,
};
use farcall_link::stream::ByteStream;
use farcall_rpc_server::access::Rights;
use farcall_rpc_server::state::{Caller, MemoryId, Newcomer};
use farcall_services::spawner::ExitHow;
use farcall_transport_simulated::{LinkId, Network};
use farcall_wire::HoldRequest;

use crate::client::{Client, Manner, Reports, Wanted};
use crate::held::{Asked, Held};
use crate::module::{self, Published, Routine};
use crate::node::Node;
use crate::plan::Plan;
use crate::process::Process;
use crate::program::{Target, Wish};
use crate::promises::Promises;
use crate::spawner::Spawner;
use happening::Happening;

/// Turns after which a world that is not over counts as hanging.
const TURNS_MAX: usize = 200_000;

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
    published: Published,
    spawner: Spawner,
    /// Told to end, some of them before they began.
    doomed: BTreeSet<ExecutableId>,
    agenda: BTreeMap<(Instant, u64), Happening>,
    scheduled: u64,
    /// Executables that were started.
    starts: usize,
    trace: Vec<String>,
    promises: Promises,
    /// Which call each piece of memory belongs to.
    owners: BTreeMap<MemoryId, CallId>,
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
            published: Published::new(plan.modules.max(1)),
            spawner: Spawner::new(),
            doomed: BTreeSet::new(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            starts: 0,
            trace: Vec::new(),
            promises: Promises::new(plan),
            owners: BTreeMap::new(),
        };
        (0..plan.clients).for_each(|index| world.add_client(index));
        world
    }

    fn add_client(&mut self, index: usize) {
        let (stream, link) = self.connect(index);
        let manner = self.manner(index);
        let objects = manner
            .held
            .as_ref()
            .map_or(Vec::new(), |held| (0..held.count()).map(|index| held.object(index)).collect());
        self.clients.push((Client::new(stream, manner, &self.network), link));
        let mut at = Duration::ZERO;
        for call in 0..self.plan.calls {
            at += self.within(self.plan.interval_us);
            let wish = self.wish((index * self.plan.calls + call) as u64, &objects);
            let number = wish.number;
            self.after(at, Happening::CallDue { client: index, wish });
            if self.chance(self.plan.cancel) {
                let later = at + self.within(self.plan.run_us);
                self.after(later, Happening::CancelDue(index, number));
            }
        }
        self.disturb(index, at.as_micros() as u64);
    }

    fn manner(&mut self, index: usize) -> Manner {
        let module = index % self.plan.modules.max(1);
        let seed = self.random.next();
        let callbacks = &self.plan.callbacks;
        let objects = &self.plan.objects;
        let mut routines = vec![Routine::Scale];
        routines.extend((callbacks.chance > 0.0).then_some(Routine::Apply));
        routines.extend((objects.each > 0).then_some(Routine::Add));
        let held = (objects.each > 0).then(|| {
            let mut first = [0; 12];
            first[..8].copy_from_slice(&seed.to_ne_bytes());
            Held::new(HoldRequest {
                name: module::class(module),
                first: ObjectId::first(first),
                count: objects.each,
                lease_us: objects.lease_us,
                start_us: None,
                detached: None,
                ranks: None,
                resources: None,
            })
        });
        let keep = Duration::from_micros(self.plan.keep_us);
        Manner { queue_bytes: self.plan.queue_bytes, keep, module, routines, held, seed }
    }

    /// A call of a client's that has these objects.
    fn wish(&mut self, number: u64, objects: &[ObjectId]) -> Wish {
        let elements = self.random.next() % (self.plan.elements_max + 1);
        let keep = self.chance(self.plan.kept);
        // What a plan does without draws nothing: its seeds stay the same worlds.
        let may = |world: &mut World, chance: f64| chance > 0.0 && world.chance(chance);
        let target = if may(self, self.plan.callbacks.chance) {
            Target::Apply(self.random.next() % (self.plan.callbacks.times_max + 1))
        } else if !objects.is_empty() && may(self, self.plan.objects.chance) {
            Target::Add(objects[self.random.next() as usize % objects.len()])
        } else {
            Target::Scale
        };
        let shows_output = may(self, self.plan.output.chance);
        Wish { number, target, elements, deadline: None, keep, shows_output }
    }

    /// What happens to a client, and around it, while it makes its calls.
    fn disturb(&mut self, index: usize, span_us: u64) {
        let once = |world: &mut World, chance: f64, what: Happening| {
            if world.chance(chance) {
                let at = world.within(span_us);
                world.after(at, what);
            }
        };
        once(self, self.plan.client_crash, Happening::ClientCrashes(index));
        once(self, self.plan.pause, Happening::ClientPauses(index));
        // A client that comes back loses one connection after another.
        let resets = if self.plan.keep_us > 0 { self.plan.calls } else { 1 };
        for _ in 0..resets {
            once(self, self.plan.reset, Happening::ConnectionResets(index));
        }
        if self.plan.objects.release > 0.0 {
            once(self, self.plan.objects.release, Happening::ReleaseDue(index));
        }
        for _ in 0..self.plan.killed {
            once(self, 0.5, Happening::ExecutableKilled);
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
            hosts: Default::default(),
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
            self.hear(index);
        }
        for executable in self.processes.keys().copied().collect::<Vec<_>>() {
            moved |= self.work_process(executable);
        }
        moved
    }

    /// What a client has to tell.
    fn hear(&mut self, index: usize) {
        let client = &mut self.clients[index].0;
        self.promises.opened(client.take_opened());
        let Reports { left, functions, heard, outcomes } = client.take_reports();
        for (id, wish) in left {
            self.say(format!("call {} goes on without client {index}", wish.number));
            let delay = self.within(2 * self.plan.run_us);
            self.after(delay, Happening::FetchDue(index + 1, id, wish));
        }
        for run in functions {
            let number = run.callback.number;
            let time = run.callback.index;
            self.say(format!("function of call {number} runs for the {time}. time"));
            self.promises.function_runs(number, time);
            let took = self.within(self.plan.run_us);
            let fails = self.chance(self.plan.callbacks.failure);
            self.after(
                took,
                Happening::FunctionReturns { client: index, run: Box::new(run), fails, took },
            );
        }
        for (number, output, bytes) in heard {
            self.promises.heard(number, output, &bytes);
        }
        for (number, outcome) in outcomes {
            let words = outcome.as_ref().map_or_else(|kind| kind.name(), |_| "right");
            self.say(format!("call {number} ended: {words}"));
            self.promises.ended(number, outcome);
        }
    }

    /// Asks another client for what one has left: it, or the next one that lives.
    fn fetch(&mut self, client: usize, id: CallId, wish: Wish) {
        let count = self.clients.len();
        let number = wish.number;
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
            None => self.promises.ended(number, Err(ErrorKind::ConnectionLost)),
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

    /// All calls are over: clients release their objects and leave, executables end, and nothing may
    /// be left.
    fn end(mut self) -> Report {
        self.promises.check_all_ended();
        self.clients.iter_mut().for_each(|(client, _)| client.release());
        self.turn_until_quiet();
        self.check_released();
        self.clients.iter_mut().for_each(|(client, _)| client.leave());
        self.turn_until_quiet();
        let left = self.node.server.state().left_over();
        assert!(left.is_empty(), "the server keeps {left:?}");
        assert!(
            self.node.memory.held.is_empty(),
            "memory is never released: {:?}",
            self.node.memory.held
        );
        let objects = self.processes.values().filter(|process| process.is_object()).count();
        assert_eq!(objects, 0, "objects live on that nobody has");
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
        Report {
            fingerprint: self.network.trace().fingerprint(),
            trace: self.trace,
            returned: self.promises.returned(),
            failed: self.promises.failed(),
        }
    }

    /// A client that released its objects was told so, unless they had never come; one that was
    /// killed while it ended in order is told, too.
    fn check_released(&self) {
        for (index, (client, _)) in self.clients.iter().enumerate() {
            let Some(held) = client.held.as_ref().filter(|_| !client.is_dead()) else { continue };
            let is_right = match (held.came, held.went) {
                (Asked::Done | Asked::Failed(_), Asked::Done) => true,
                (Asked::Failed(_), Asked::Failed(ErrorKind::NotFound)) => true,
                (_, Asked::Failed(ErrorKind::RoutineCrashed)) => self.plan.killed > 0,
                _ => false,
            };
            let came = held.came;
            let went = held.went;
            assert!(is_right, "objects of client {index} came: {came:?}, and went: {went:?}");
        }
    }
}

/// Says what failed, should a run not come to its end.
struct Guard(String);

impl Drop for Guard {
    fn drop(&mut self) {
        eprintln!("this failed with {}", self.0);
    }
}
