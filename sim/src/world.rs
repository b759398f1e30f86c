//! A world: everything that happens, in the order of virtual time, and what must hold of it.

mod checks;
mod executables;
mod faults;
mod happening;
mod several;

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{CallId, Clock, ErrorKind, Instant, ObjectId, Random, SeededRandom};
use farcall_transport_simulated::{LinkId, Network};
use farcall_wire::HoldRequest;

use crate::client::{Client, Manner, Reports, Wanted};
use crate::held::Held;
use crate::machine::Machine;
use crate::metaserver::nobody;
use crate::module::{self, Published, Routine};
use crate::plan::Plan;
use crate::program::{Target, Wish};
use crate::promises::Promises;
use happening::Happening;
use several::{Host, Several};

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

/// A client's connection to a server.
struct Seat {
    client: Client,
    /// Whose it is, and which server is at its other end.
    owner: usize,
    slot: usize,
    link: LinkId,
}

/// A network, servers with their executables, and clients.
pub struct World {
    plan: Plan,
    network: Network,
    random: SeededRandom,
    /// Servers, also those that were killed.
    machines: Vec<Machine>,
    /// Connections of clients: one of each where there is one server.
    seats: Vec<Seat>,
    several: Several,
    published: Published,
    agenda: BTreeMap<(Instant, u64), Happening>,
    scheduled: u64,
    /// Executables that were started.
    starts: usize,
    trace: Vec<String>,
    promises: Promises,
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
            machines: Vec::new(),
            plan: plan.clone(),
            network,
            random: SeededRandom::new(seed),
            seats: Vec::new(),
            several: Several::new(plan),
            published: Published::new(plan.modules.max(1), plan.several.servers > 0),
            agenda: BTreeMap::new(),
            scheduled: 0,
            starts: 0,
            trace: Vec::new(),
            promises: Promises::new(plan),
        };
        (0..world.several.slots()).for_each(|slot| world.start_server(slot));
        world.plan_faults();
        (0..plan.clients).for_each(|index| world.add_client(index));
        world
    }

    fn add_client(&mut self, index: usize) {
        let knows_server = !self.has_several();
        let seat = if knows_server { self.connect(Host::Client(index), 0) } else { None };
        let manner = self.manner(index);
        let objects = manner
            .held
            .as_ref()
            .map_or(Vec::new(), |held| (0..held.count()).map(|index| held.object(index)).collect());
        if let Some((stream, link)) = seat {
            let client = Client::new(stream, manner, &self.network);
            self.seats.push(Seat { client, owner: index, slot: 0, link });
        }
        let mut at = self.several.calls_from();
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
        let heartbeat = Duration::from_micros(self.plan.several.heartbeat_us);
        let mut routines = vec![Routine::Scale];
        routines.extend((self.plan.several.idempotent > 0.0).then_some(Routine::Again));
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
        let queue_bytes = self.plan.queue_bytes;
        Manner { queue_bytes, keep, module, routines, held, seed, heartbeat }
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
        } else if may(self, self.plan.several.idempotent) {
            Target::Again
        } else {
            Target::Scale
        };
        let shows_output = may(self, self.plan.output.chance);
        let client = number as usize / self.plan.calls;
        let routine = target.routine().in_module(client % self.plan.modules.max(1));
        Wish { number, target, routine, elements, deadline: None, keep, shows_output, grant: 0 }
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
            if self.is_over() {
                return;
            }
            let Some(next) = self.next_moment() else { return };
            self.network.advance_to(next);
            while let Some(entry) =
                self.agenda.first_entry().filter(|entry| entry.key().0 <= self.network.now())
            {
                let what = entry.remove();
                self.happen(what);
            }
        }
        let servers = self.machines.iter().map(Machine::next_tick).collect::<Vec<_>>();
        let ticks = (self.network.next_event(), servers);
        let wanted: Vec<Wanted> = self.seats.iter().map(|seat| seat.client.wants()).collect();
        let last = self.last_lines();
        panic!(
            "the world does not come to an end: at {:?} links and servers wait for {ticks:?}, \
                clients for {wanted:?}; last:\n{last}",
            self.network.now()
        );
    }

    /// The end of the trace.
    fn last_lines(&self) -> String {
        let from = self.trace.len().saturating_sub(40);
        self.trace[from..].join("\n")
    }

    /// When something happens next, if nobody does anything until then.
    fn next_moment(&self) -> Option<Instant> {
        let times = [
            self.network.next_event(),
            self.agenda.first_key_value().map(|((at, _), _)| *at),
            self.several.next_tick(),
        ];
        let servers = self.machines.iter().filter_map(Machine::next_tick);
        let attempts = self.seats.iter().filter_map(|seat| match seat.client.wants() {
            Wanted::Time(at) => Some(at),
            Wanted::Nothing | Wanted::Link => None,
        });
        times.into_iter().flatten().chain(servers).chain(attempts).min()
    }

    /// Everybody does what they can now; whether anything moved.
    fn work(&mut self) -> bool {
        let mut moved = false;
        for machine in 0..self.machines.len() {
            moved |= self.work_machine(machine);
        }
        for index in 0..self.seats.len() {
            if self.seats[index].client.wants() == Wanted::Link {
                self.connect_again(index);
            }
            moved |= self.seats[index].client.work();
            self.hear(index);
        }
        for client in 0..self.several.clients() {
            moved |= self.work_placer(client);
        }
        for id in self.all_processes() {
            moved |= self.work_process(id);
        }
        moved
    }

    fn work_machine(&mut self, machine: usize) -> bool {
        let it = &mut self.machines[machine];
        let Some(node) = it.node.as_mut().filter(|_| !it.is_frozen) else { return false };
        let (actions, mut moved) = node.work();
        it.check_memory();
        moved |= !actions.is_empty();
        actions.into_iter().for_each(|action| self.act(machine, action));
        moved | self.work_metaserver(machine)
    }

    /// A client that lost its connection reaches its server again, or does not.
    fn connect_again(&mut self, index: usize) {
        let Seat { owner, slot, .. } = self.seats[index];
        self.say(format!("client {owner} connects again"));
        match self.connect(Host::Client(owner), slot) {
            Some((stream, link)) => {
                self.seats[index].client.dialled(stream);
                self.seats[index].link = link;
            }
            None => self.seats[index].client.not_reached(&nobody()),
        }
    }

    /// What a client has to tell.
    fn hear(&mut self, index: usize) {
        let client = &mut self.seats[index].client;
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
            if self.has_several() {
                self.came_back(index, number, outcome);
            } else {
                self.call_ended(number, outcome.map_err(|loss| loss.error.kind()));
            }
        }
    }

    fn call_ended(&mut self, number: u64, outcome: Result<Option<u64>, ErrorKind>) {
        let words = outcome.as_ref().map_or_else(|kind| kind.name(), |_| "right");
        self.say(format!("call {number} ended: {words}"));
        self.promises.ended(number, outcome);
    }

    /// Asks another client for what one has left: it, or the next one that lives.
    fn fetch(&mut self, client: usize, id: CallId, wish: Wish) {
        let count = self.seats.len();
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
            .find(|index| self.seats[*index].client.seek(id, wish.clone()));
        match asks {
            Some(index) => self.say(format!("client {index} asks for call {number}")),
            None => self.promises.ended(number, Err(ErrorKind::ConnectionLost)),
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
