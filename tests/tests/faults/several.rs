//! Several servers that two metaservers know, and callers of these: any of them is killed, or stopped
//! and then killed, while calls go on. Each call gives its right result or its reported failure, none
//! runs twice that may not, and nothing stays.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Random, SeededRandom};
use farcall_client::Client;
use farcall_tests::{Directory, Server, eventually, manifest_of, options_of_lists, root};
use rustix::process::{Pid, Signal, kill_process};

use crate::journal::{self, Entry, Record};
use crate::load::{BOUND, Order, connect};
use crate::processes;
use crate::several_load::{DEPTH, may_run_twice};

/// Metaservers, which come first, and servers that join all of them.
pub const METASERVERS: usize = 2;
pub const SERVERS: usize = 3;
pub const NODES: usize = METASERVERS + SERVERS;
/// Callers at a time.
const CALLERS: usize = 2;
/// Calls that end between two strikes, on average.
const CALLS_BETWEEN: u64 = 40;
/// The longest time for which somebody stands still before it is killed, and calls that end meanwhile
/// after which it is killed sooner.
const STOPPED: Duration = Duration::from_millis(300);
const STOPPED_CALLS: usize = 12;
/// Segments of shared memory that a server keeps for later calls, and some.
const MAPPINGS: usize = 24;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct World {
    folder: Directory,
    calls: usize,
    /// Metaservers first.
    nodes: Vec<Mutex<Option<Server>>>,
    metaservers: usize,
    callers: [Mutex<Option<Child>>; CALLERS],
    callers_killed: AtomicUsize,
    /// What went wrong beside the calls.
    troubles: Mutex<Vec<String>>,
    /// All servers so far.
    servers: Mutex<Vec<u32>>,
    over: AtomicBool,
}

impl World {
    pub fn new(calls: usize) -> World {
        World::with(calls, METASERVERS, &|_| String::new())
    }

    /// With so many metaservers, in whose manifest this is, too: it is told the world's folder.
    pub fn with(calls: usize, metaservers: usize, more: &dyn Fn(&Path) -> String) -> World {
        let folder = Directory::new();
        for name in ["run", "tmp", "home", "marks", "journals"] {
            let path = folder.0.join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        let marks = folder.0.join("marks");
        let server = "executables_max = 3\nmemory_idle_regions_max = 16\n";
        let manifest = manifest_of(server, &format!("modules.faults.writable = [{marks:?}]"));
        folder.write("farcall.toml", &manifest);
        folder.write("metaserver.toml", &(manifest + &more(&folder.0)));
        folder.write("nothing.idl", "Module nothing;\nDefine nothing(OUT int one) { *one = 1; }\n");
        let world = World {
            folder,
            calls,
            nodes: (0..metaservers + SERVERS).map(|_| Mutex::default()).collect(),
            metaservers,
            callers: Default::default(),
            callers_killed: AtomicUsize::new(0),
            troubles: Mutex::default(),
            servers: Mutex::default(),
            over: AtomicBool::new(false),
        };
        for node in 0..world.nodes.len() {
            *lock(&world.nodes[node]) = Some(world.start(node));
        }
        world
    }

    /// Where calls leave their marks.
    pub fn marks_file(&self) -> PathBuf {
        self.folder.0.join("marks/marks")
    }

    fn address(&self, node: usize) -> String {
        format!("unix:{}", self.folder.0.join(format!("run/node-{node}.sock")).display())
    }

    /// Starts a node, again and again: there may be no room for it yet.
    fn start(&self, node: usize) -> Server {
        let is_metaserver = node < self.metaservers;
        let published = match is_metaserver {
            true => self.folder.0.join("nothing.idl"),
            false => root().join("tests/routines/faults.idl"),
        };
        let begun = Instant::now();
        loop {
            match Server::try_start_as(self.command(node), std::slice::from_ref(&published)) {
                Ok(server) => {
                    lock(&self.servers).push(server.pid());
                    return server;
                }
                Err(said) => assert!(begun.elapsed() < BOUND, "farcall serve: {said}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self, node: usize) -> Command {
        let mut command = Server::command();
        command
            .env("TMPDIR", self.folder.0.join("tmp"))
            .env("XDG_RUNTIME_DIR", self.folder.0.join("run"))
            .env("XDG_STATE_HOME", self.folder.0.join("home"));
        let is_metaserver = node < self.metaservers;
        let manifest = if is_metaserver { "metaserver.toml" } else { "farcall.toml" };
        command.arg("--manifest").arg(self.folder.0.join(manifest));
        command.args(["--listen", &self.address(node)]);
        let joined = if is_metaserver { 0 } else { self.metaservers };
        (0..joined).for_each(|metaserver| {
            command.args(["--join", &self.address(metaserver)]);
        });
        command
    }

    pub fn client(&self, node: usize) -> farcall_client::Result<Client> {
        connect(&self.address(node), &PathBuf::new())
    }

    /// The same without patience.
    pub fn try_client(&self, node: usize) -> farcall_client::Result<Client> {
        Client::connect(Some(&self.address(node)))
    }

    /// A client of a list: of the first so many nodes.
    pub fn client_of_all(&self, nodes: usize) -> farcall_client::Result<Client> {
        let list: Vec<String> = (0..nodes).map(|node| self.address(node)).collect();
        Client::connect_with(&list.join(" ").parse().unwrap(), &options_of_lists(&self.folder))
    }

    /// What all nodes said.
    pub fn logs(&self) -> String {
        let said = |node: &Mutex<Option<Server>>| {
            lock(node).as_ref().map_or_else(String::new, Server::log)
        };
        self.nodes.iter().map(said).collect::<Vec<_>>().join("\n")
    }

    /// Waits until each metaserver places calls on every server.
    pub fn settle(&self) {
        for metaserver in 0..self.metaservers {
            let is_known = || {
                let states = self.client(metaserver).and_then(|client| client.servers(BOUND));
                let states = states.unwrap_or_default();
                states.iter().filter(|state| state.routines >= 4).count() >= SERVERS
            };
            assert!(eventually(is_known), "servers do not join");
        }
    }

    fn journal(&self, caller: usize) -> PathBuf {
        self.folder.0.join("journals").join(caller.to_string())
    }

    fn calls_over(&self) -> usize {
        (0..CALLERS).map(|caller| journal::count_over(&self.journal(caller))).sum()
    }

    pub fn marks(&self) -> BTreeMap<usize, usize> {
        let text = std::fs::read_to_string(self.marks_file()).unwrap_or_default();
        let mut marks = BTreeMap::new();
        text.lines().for_each(|line| *marks.entry(line.parse().unwrap()).or_insert(0) += 1);
        marks
    }

    /// Has processes make these calls, one after the other as they are killed.
    fn call(&self, caller: usize, seed: u64) {
        let mut from = self.calls * caller / CALLERS;
        let to = self.calls * (caller + 1) / CALLERS;
        while from < to {
            let order = Order {
                role: "as_a_caller_of_several",
                address: self.address(caller % METASERVERS),
                token: PathBuf::new(),
                journal: self.journal(caller),
                marks: self.marks_file(),
                from,
                to,
                seed,
                environment: Vec::new(),
            };
            *lock(&self.callers[caller]) = Some(order.spawn());
            let status = self.watch(caller);
            let child = lock(&self.callers[caller]).take().unwrap();
            // Each call is made once: the next one begins with the first that was not begun.
            let records = journal::read(&self.journal(caller));
            from = records.last_key_value().map_or(from, |(number, _)| number + 1);
            let said = child.wait_with_output().map(|done| done.stderr).unwrap_or_default();
            if let Some(code) = status.and_then(|status| status.code()).filter(|code| *code != 0) {
                let said = String::from_utf8_lossy(&said).into_owned();
                lock(&self.troubles).push(format!("a caller ended with {code}: {said}"));
                return;
            }
        }
    }

    /// Waits for a caller's end; one that writes nothing for long hangs, and is killed.
    fn watch(&self, caller: usize) -> Option<std::process::ExitStatus> {
        let written = || std::fs::metadata(self.journal(caller)).map_or(0, |file| file.len());
        let mut last = (written(), Instant::now());
        loop {
            let ended = lock(&self.callers[caller]).as_mut().unwrap().try_wait().unwrap();
            if ended.is_some() {
                return ended;
            }
            if written() != last.0 {
                last = (written(), Instant::now());
            }
            if last.1.elapsed() > 4 * BOUND {
                lock(&self.troubles).push(format!("a caller hangs for {:?}", 4 * BOUND));
                let _ = lock(&self.callers[caller]).as_mut().unwrap().kill();
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Has a process stand still for a while, so that others wait for it.
    fn stop(&self, pid: u32) {
        let pid = Pid::from_raw(pid as i32).unwrap();
        let _ = kill_process(pid, Signal::STOP);
        let begun = Instant::now();
        let before = self.calls_over();
        while begun.elapsed() < STOPPED && self.calls_over() < before + STOPPED_CALLS {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills a node and starts it again.
    pub fn kill_node(&self, node: usize, stops: bool) {
        let mut server = lock(&self.nodes[node]);
        let old = server.take().unwrap();
        if stops {
            self.stop(old.pid());
        }
        old.kill();
        *server = Some(self.start(node));
    }

    /// Kills a node, and starts it again some time after; meanwhile something is done.
    pub fn kill_node_for(&self, node: usize, gone: Duration, meanwhile: impl FnOnce()) {
        let mut server = lock(&self.nodes[node]);
        server.take().unwrap().kill();
        let begun = Instant::now();
        meanwhile();
        std::thread::sleep(gone.saturating_sub(begun.elapsed()));
        *server = Some(self.start(node));
    }

    fn kill_caller(&self, caller: usize, stops: bool) -> bool {
        let Some(pid) = lock(&self.callers[caller]).as_ref().map(Child::id) else { return false };
        if stops {
            self.stop(pid);
        }
        let mut child = lock(&self.callers[caller]);
        // It may have ended, and another one begun.
        let same = child.as_mut().filter(|child| child.id() == pid);
        let killed = same.is_some_and(|child| child.kill().is_ok());
        self.callers_killed.fetch_add(usize::from(killed), Ordering::Relaxed);
        killed
    }

    /// Strikes again and again, each time when some more calls have ended; how often it hit.
    fn strike(&self, mut random: SeededRandom) -> usize {
        let mut hits = 0;
        let mut next = CALLS_BETWEEN as usize / 2;
        while !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(500 + random.next() % 2_000));
            if self.calls_over() < next {
                continue;
            }
            let stops = random.next().is_multiple_of(2);
            let victim = (random.next() % (NODES + CALLERS) as u64) as usize;
            let hit = match victim.checked_sub(NODES) {
                Some(caller) => self.kill_caller(caller, stops),
                None => {
                    self.kill_node(victim, stops);
                    true
                }
            };
            hits += usize::from(hit);
            next = self.calls_over() + 1 + (random.next() % (2 * CALLS_BETWEEN)) as usize;
        }
        hits
    }
}

/// What became of the calls, and what is left.
#[derive(Default)]
struct Verdict {
    right: usize,
    failed: usize,
    /// What was reported, and how often.
    failures: BTreeMap<String, usize>,
    unheard: usize,
    wrong: Vec<String>,
}

impl Verdict {
    fn of(world: &World) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.wrong.extend(lock(&world.troubles).drain(..));
        let journals = (0..CALLERS).flat_map(|caller| journal::read(&world.journal(caller)));
        let records: BTreeMap<usize, Record> = journals.collect();
        let marks = world.marks();
        for number in 0..world.calls {
            let ran = marks.get(&number).copied().unwrap_or(0);
            verdict.judge(number, records.get(&number), ran);
        }
        let excused = world.callers_killed.load(Ordering::Relaxed) * (DEPTH + 1);
        let Verdict { right, unheard, .. } = verdict;
        verdict.check(unheard <= excused, || {
            format!("{unheard} calls are lost: clients that were killed excuse {excused}")
        });
        verdict.check(right * 4 >= world.calls * 3, || {
            format!("only {right} of {} calls returned", world.calls)
        });
        verdict.look_for_leaks(world);
        verdict
    }

    fn check(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(wrong());
        }
    }

    fn judge(&mut self, number: usize, record: Option<&Record>, ran: usize) {
        self.check(ran <= 1 || may_run_twice(number), || format!("call {number} ran {ran} times"));
        match record.map(|record| &record.outcome) {
            None => self.wrong.push(format!("call {number} was never made")),
            Some(None) => self.unheard += 1,
            Some(Some(Entry::Right)) => {
                self.right += 1;
                self.check(ran > 0, || format!("call {number} returned and never ran"));
            }
            Some(Some(Entry::Failed(why))) => {
                self.failed += 1;
                // Names and numbers come behind.
                let why = why.split([';', '(']).next().unwrap_or_default().trim();
                let why: String = why.split('"').step_by(2).collect();
                *self.failures.entry(why).or_insert(0) += 1;
            }
            Some(Some(entry)) => self.wrong.push(format!("call {number}: {entry:?}")),
        }
    }

    fn look_for_leaks(&mut self, world: &World) {
        for node in 0..world.nodes.len() {
            let open = || {
                let status = world.client(node).and_then(|client| client.status(BOUND));
                status.map_or(u64::MAX, |status| status.calls_open)
            };
            self.check(eventually(|| open() == 0), || format!("{} calls are open", open()));
            let mappings = || lock(&world.nodes[node]).as_ref().unwrap().mappings();
            self.check(eventually(|| mappings() <= MAPPINGS), || {
                format!("node {node} has {} segments mapped", mappings())
            });
            self.check_serves(world, node);
        }
        for node in 0..world.nodes.len() {
            let mut server = lock(&world.nodes[node]).take().unwrap();
            server.signal("-TERM");
            let code = server.exit_code();
            self.check(code == Some(0), || format!("{code:?}: {}", server.log()));
        }
        let folder = &world.folder.0;
        let folders = ["tmp", "run", "run/farcall"].map(|name| folder.join(name));
        let left = || {
            let mut left: Vec<String> =
                processes::of(folder).iter().map(processes::Process::shown).collect();
            left.extend(processes::files_in(&folders));
            left.extend(processes::shared_by(&lock(&world.servers)));
            left
        };
        self.check(eventually(|| left().is_empty()), || {
            format!("left behind: {}", left().join("\n  "))
        });
    }

    /// What was killed cannot tidy up: the next server does, with its first process.
    fn check_serves(&mut self, world: &World, node: usize) {
        let called = world.client(node).and_then(|client| match node < world.metaservers {
            true => client.routine("nothing/nothing")?.call([]),
            false => client.routine("faults/eat")?.call([("megabytes", 1.into())]),
        });
        if let Err(error) = called {
            self.wrong.push(format!("node {node} does not serve: {error}"));
        }
    }
}

/// What is wrong with the world once nothing is to run any more, which ends it.
pub fn left_behind(world: &World) -> Vec<String> {
    let mut verdict = Verdict::default();
    verdict.look_for_leaks(world);
    verdict.wrong
}

/// Makes all calls while servers, metaservers and callers are killed.
pub fn holds(calls: usize, seed: u64) {
    let world = World::new(calls);
    world.settle();
    let hits = std::thread::scope(|scope| {
        let strikes = scope.spawn(|| world.strike(SeededRandom::new(seed)));
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let world = &world;
                scope.spawn(move || world.call(caller, seed))
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        world.over.store(true, Ordering::Relaxed);
        strikes.join().unwrap()
    });
    let mut verdict = Verdict::of(&world);
    verdict.check(hits > 0, || "nobody was killed: the test tests nothing".into());
    let Verdict { right, failed, failures, unheard, wrong } = &verdict;
    let sum = format!(
        "several servers: {hits} killed; of {calls} calls {right} right, {failed} failed, {unheard} \
         of killed clients; {} wrong",
        wrong.len()
    );
    println!("{sum}");
    failures.iter().for_each(|(why, times)| println!("  {times} × {why}"));
    let shown: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "FARCALL_SOAK_SEED={seed} FARCALL_SOAK_CALLS={calls}: {sum}\n  {}",
        shown.join("\n  ")
    );
}
