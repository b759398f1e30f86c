//! A server that faults strike, the callers that call it, and what of it can be struck.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farcall_base::{Random, SeededRandom};
use farcall_client::{Client, Result};
use farcall_tests::{Directory, Proxy, Server, alive, eventually, manifest_of, program, root};

use crate::fault::Fault;
use crate::journal;
use crate::load::{BOUND, Order, connect};
use crate::processes::{self, Process};
use crate::small::{Cgroup, Disk};

/// Callers at a time.
const CALLERS: usize = 2;
/// Files that a server may have open where those are few: as many as it asks for, and some for its
/// connections.
const DESCRIPTORS: u32 = 96;
/// By what the server is known behind `ssh`.
const NAME: &str = "faults";

pub struct World {
    folder: Directory,
    faults: Vec<Fault>,
    calls: usize,
    disk: Option<Disk>,
    server: Mutex<Option<Server>>,
    proxy: Option<Proxy>,
    callers: [Mutex<Option<Child>>; CALLERS],
    callers_killed: AtomicUsize,
    /// What went wrong beside the calls.
    troubles: Mutex<Vec<String>>,
    /// Servers so far: their cgroups and files have these numbers.
    servers: Mutex<Vec<u32>>,
    /// Outlives the server.
    cgroup: Option<Cgroup>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// For these faults; `None` where this machine cannot have one of them.
    pub fn new(faults: &[Fault], calls: usize) -> Option<World> {
        let folder = Directory::new();
        for name in ["run", "tmp", "home", "marks", "journals"] {
            std::fs::create_dir(folder.0.join(name)).unwrap();
        }
        std::fs::set_permissions(folder.0.join("run"), std::fs::Permissions::from_mode(0o700))
            .unwrap();
        let mut disk = None;
        let mut cgroup = None;
        if faults.contains(&Fault::Disk) {
            disk = Some(Disk::new(&folder.0.join("disk"))?);
        }
        if faults.contains(&Fault::Memory) {
            let name = folder.0.file_name().unwrap().to_string_lossy().into_owned();
            cgroup = Some(Cgroup::new(&name)?);
        }
        let mut world = World {
            folder,
            faults: faults.to_vec(),
            calls,
            disk,
            server: Mutex::new(None),
            proxy: None,
            callers: Default::default(),
            callers_killed: AtomicUsize::new(0),
            troubles: Mutex::default(),
            servers: Mutex::default(),
            cgroup,
        };
        world.write_files();
        let server = world.start_server();
        world.proxy = Some(Proxy::to(server.address()));
        *lock(&world.server) = Some(server);
        Some(world)
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Where temporary files go, as the server names it.
    fn small_folder(&self) -> PathBuf {
        self.folder.0.join(if self.disk.is_some() { "disk" } else { "" })
    }

    fn write_files(&self) {
        let results = self.small_folder().join("results");
        let server = format!(
            "executables_max = 4\nlaunched_max = 4\nmemory_idle_regions_max = 16\nresults_dir = \
                {results:?}"
        );
        let marks = self.folder.0.join("marks");
        let mut text = manifest_of(&server, &format!("modules.faults.writable = [{marks:?}]"));
        if self.faults.iter().any(|fault| fault.wants_jobs()) {
            let jobs = self.folder.0.join("jobs");
            write!(
                text,
                "[[plugin]]\nname = \"spawner-jobs\"\nslot = \"jobs\"\n[plugin.options]\nfolder = \
                 {jobs:?}\ndefault = \"local\"\nlaunchers.local = {{ dial = \"stdio\", \
                 idle_seconds = 2 }}\n"
            )
            .unwrap();
        }
        self.folder.write("farcall.toml", &text);
        // The far side of `ssh`, whose relay takes our server and begins none.
        let place = self.folder.0.display();
        self.script(
            "ssh",
            &format!(
                "for command; do :; done\nexport HOME={place}/home XDG_RUNTIME_DIR={place}/run \
                 TMPDIR={place}/tmp\nunset FARCALL_LINGER FARCALL_SSH FARCALL_CACHE \
                 XDG_CACHE_HOME\ncd {place}\nexec /bin/sh -c \"$command\"\n"
            ),
        );
        let farcall = program();
        self.script(
            "far-program",
            &format!(
                "case $1 in relay) exec {farcall:?} \"$@\" --hopped ;; *) exec {farcall:?} \
                \"$@\" ;; esac\n"
            ),
        );
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.folder.write(name, &format!("#!/bin/sh\n{text}"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// The server's command line, behind what makes its disk, its memory and its descriptors few.
    fn command(&self) -> Command {
        let serve = Server::command();
        let mut words: Vec<String> = Vec::new();
        words.extend(self.cgroup.iter().flat_map(Cgroup::entered_by));
        words.extend(self.disk.iter().flat_map(Disk::entered_by));
        if self.has(Fault::Descriptors) {
            words.extend(["prlimit".into(), format!("--nofile={DESCRIPTORS}:{DESCRIPTORS}")]);
        }
        words.push("env".into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(serve.get_program()).args(serve.get_args());
        command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
            .env("TMPDIR", self.small_folder().join("tmp"))
            .env("XDG_RUNTIME_DIR", self.folder.0.join("run"));
        command.env("XDG_STATE_HOME", self.folder.0.join("home"));
        command.arg("--manifest").arg(self.folder.0.join("farcall.toml"));
        command.args(["--listen", "tcp:127.0.0.1:0", "--token-file"]).arg(self.token());
        if self.has(Fault::Relay) {
            let socket = self.folder.0.join(format!("run/farcall/for-{NAME}.sock"));
            command.arg("--listen").arg(format!("relay:{}", socket.display()));
            command.arg("--listen").arg(self.own_address());
        }
        command
    }

    fn token(&self) -> PathBuf {
        self.folder.0.join("token")
    }

    /// Starts a server, again and again: there may be no room for it yet.
    fn start_server(&self) -> Server {
        let begun = Instant::now();
        let files = [root().join("tests/routines/faults.idl")];
        loop {
            match Server::try_start_as(self.command(), &files) {
                Ok(server) => {
                    lock(&self.servers).push(server.pid());
                    return server;
                }
                Err(said) => assert!(begun.elapsed() < BOUND, "farcall serve: {said}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server as the system would, and starts it again.
    pub fn restart_server(&self) -> bool {
        let mut server = lock(&self.server);
        server.take().unwrap().kill();
        *server = Some(self.started_again());
        true
    }

    fn started_again(&self) -> Server {
        let server = self.start_server();
        self.proxy().lead_to(server.address());
        server
    }

    /// Notes that the server is gone although nobody killed it, and starts it again.
    pub fn note_death(&self) {
        let mut server = lock(&self.server);
        if server.as_ref().is_some_and(|server| !alive(server.pid())) {
            let log = server.take().map(|server| server.log()).unwrap_or_default();
            lock(&self.troubles).push(format!("the server ended though nobody killed it: {log}"));
            *server = Some(self.started_again());
        }
    }

    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    pub fn server_address(&self) -> String {
        lock(&self.server).as_ref().unwrap().address().to_owned()
    }

    /// A client that nothing is between.
    pub fn try_client(&self) -> Result<Client> {
        connect(&self.server_address(), &self.token())
    }

    /// The same as who made this call: one who comes by `ssh` is the system's user, the others have
    /// a token.
    pub fn try_client_of(&self, number: usize) -> Result<Client> {
        let by_ssh = self.has(Fault::Relay) && number < self.calls / CALLERS;
        if by_ssh { connect(&self.own_address(), &self.token()) } else { self.try_client() }
    }

    fn own_address(&self) -> String {
        format!("unix:{}", self.folder.0.join("run/own.sock").display())
    }

    pub fn troubles(&self) -> Vec<String> {
        lock(&self.troubles).clone()
    }

    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Descriptors of the server, and the processes that it shares some with.
    pub fn descriptors(&self) -> (usize, usize) {
        let server = lock(&self.server);
        let server = server.as_ref().unwrap();
        (server.descriptors(), server.children().len() + server.zygotes().len())
    }

    /// Segments of shared memory that the server has mapped.
    pub fn mappings(&self) -> usize {
        lock(&self.server).as_ref().unwrap().mappings()
    }

    fn journal(&self, caller: usize) -> PathBuf {
        self.folder.0.join("journals").join(caller.to_string())
    }

    /// All that the callers wrote down.
    pub fn records(&self) -> std::collections::BTreeMap<usize, journal::Record> {
        (0..CALLERS).flat_map(|caller| journal::read(&self.journal(caller))).collect()
    }

    /// How often each call ran, by the routine's own count.
    pub fn marks(&self) -> std::collections::BTreeMap<usize, usize> {
        let text = std::fs::read_to_string(self.folder.0.join("marks/marks")).unwrap_or_default();
        let mut marks = std::collections::BTreeMap::new();
        text.lines().for_each(|line| *marks.entry(line.parse().unwrap()).or_insert(0) += 1);
        marks
    }

    /// How many calls are over.
    pub fn calls_over(&self) -> usize {
        (0..CALLERS).map(|caller| journal::count_over(&self.journal(caller))).sum()
    }

    /// Makes all calls.
    pub fn call_all(&self, seed: u64) {
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let from = self.calls * caller / CALLERS;
                let to = self.calls * (caller + 1) / CALLERS;
                scope.spawn(move || self.call(caller, from, to, seed));
            }
        });
    }

    /// Has processes make these calls, one after the other as they are killed.
    fn call(&self, caller: usize, mut from: usize, to: usize, seed: u64) {
        let journal = self.journal(caller);
        while from < to {
            *lock(&self.callers[caller]) = Some(self.order(caller, from, to, seed).spawn());
            let status = self.watch(caller);
            let child = lock(&self.callers[caller]).take().unwrap();
            // Each call is made once: the next one begins with the first that was not begun.
            from = journal::read(&journal).last_key_value().map_or(from, |(number, _)| number + 1);
            let said = child
                .wait_with_output()
                .map(|done| String::from_utf8_lossy(&done.stderr).into_owned());
            if let Some(code) = status.and_then(|status| status.code()).filter(|code| *code != 0) {
                lock(&self.troubles)
                    .push(format!("a caller ended with {code}: {}", said.unwrap_or_default()));
                return;
            }
        }
    }

    fn order(&self, caller: usize, from: usize, to: usize, seed: u64) -> Order {
        let by_ssh = self.has(Fault::Relay) && caller == 0;
        let address = if by_ssh { "ssh://far".to_owned() } else { self.proxy().address() };
        let environment = vec![
            ("FARCALL_SSH", self.folder.0.join("ssh").into()),
            ("FARCALL_REMOTE_PROGRAM", self.folder.0.join("far-program").into()),
            ("FARCALL_NAME", NAME.into()),
            ("FARCALL_SSH_SHARE", "0".into()),
            // The server keeps what is for one that was killed for as long.
            ("FARCALL_RECONNECT", "20".into()),
        ];
        let token = self.token();
        let marks = self.folder.0.join("marks/marks");
        let role = "as_a_caller";
        Order {
            role,
            address,
            token,
            journal: self.journal(caller),
            marks,
            from,
            to,
            seed,
            environment,
        }
    }

    /// Waits for a caller's end; one that writes nothing for long hangs, and is killed.
    fn watch(&self, caller: usize) -> Option<std::process::ExitStatus> {
        let written = || std::fs::metadata(self.journal(caller)).map_or(0, |file| file.len());
        let mut last = written();
        let mut since = Instant::now();
        loop {
            if let Some(status) = lock(&self.callers[caller]).as_mut().unwrap().try_wait().unwrap()
            {
                return Some(status);
            }
            if written() != last {
                (last, since) = (written(), Instant::now());
            }
            if since.elapsed() > 4 * BOUND {
                lock(&self.troubles)
                    .push(format!("a caller hangs: it wrote nothing for {:?}", 4 * BOUND));
                let _ = lock(&self.callers[caller]).as_mut().unwrap().kill();
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    pub fn kill_a_caller(&self, random: &mut SeededRandom) -> bool {
        let mut caller = lock(&self.callers[(random.next() % CALLERS as u64) as usize]);
        let killed = caller.as_mut().is_some_and(|child| child.kill().is_ok());
        self.callers_killed.fetch_add(usize::from(killed), Ordering::Relaxed);
        killed
    }

    pub fn callers_killed(&self) -> usize {
        self.callers_killed.load(Ordering::Relaxed)
    }

    /// All processes that have to do with this world, but for callers and the keeper of its disk.
    fn processes(&self) -> Vec<Process> {
        let keeper = self.disk.as_ref().map(Disk::keeper);
        let all = processes::of(&self.folder.0).into_iter();
        all.filter(|process| Some(process.pid) != keeper).collect()
    }

    pub fn zygotes(&self) -> Vec<u32> {
        self.processes()
            .into_iter()
            .filter(|process| process.is_zygote())
            .map(|process| process.pid)
            .collect()
    }

    /// Processes that zygotes have forked.
    pub fn executables(&self) -> Vec<u32> {
        let processes = self.processes();
        let zygotes: Vec<u32> = processes
            .iter()
            .filter(|process| process.is_zygote())
            .map(|process| process.pid)
            .collect();
        processes
            .iter()
            .filter(|process| zygotes.contains(&process.parent))
            .map(|process| process.pid)
            .collect()
    }

    /// Those that run this command of `farcall`.
    pub fn running(&self, command: &str) -> Vec<u32> {
        let is_one = |process: &Process| process.words.split('\0').nth(1) == Some(command);
        self.processes().into_iter().filter(is_one).map(|process| process.pid).collect()
    }

    /// Ends the server as its owner would; what of it is still there.
    pub fn end(&mut self) -> Vec<String> {
        let mut left = self.end_server();
        // What was killed cannot tidy up: the next server does, with its first process.
        if self.has(Fault::Server) || self.has(Fault::Pilot) || !self.troubles().is_empty() {
            let next = self.start_server();
            let client = connect(next.address(), &self.token());
            let done = client
                .and_then(|client| client.routine("faults/eat")?.call([("megabytes", 1.into())]));
            left.extend(done.err().map(|error| format!("the next server does not serve: {error}")));
            *lock(&self.server) = Some(next);
            left.extend(self.end_server());
        }
        let mut found = Vec::new();
        eventually(|| {
            found = self.found();
            found.is_empty()
        });
        left.extend(found);
        left
    }

    /// Tells the server to end, and waits until all of its processes have.
    fn end_server(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut server = lock(&self.server).take().unwrap();
        server.signal("-TERM");
        let code = server.exit_code();
        if code != Some(0) {
            left.push(format!("the server ended with {code:?}: {}", server.log()));
        }
        drop(server);
        if !eventually(|| self.processes().is_empty()) {
            left.extend(self.processes().iter().map(Process::shown));
        }
        left
    }

    /// Processes, files, sockets and cgroups of servers that have ended.
    fn found(&self) -> Vec<String> {
        let mut found: Vec<String> = self.processes().iter().map(Process::shown).collect();
        let temporary =
            self.disk.as_ref().map_or(self.folder.0.join("tmp"), |disk| disk.inside().join("tmp"));
        let folders = [
            temporary,
            self.folder.0.join("run"),
            self.folder.0.join("run/farcall"),
            self.folder.0.join("jobs"),
        ];
        found.extend(processes::files_in(&folders));
        found.extend(processes::shared_by(&lock(&self.servers)));
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(lock(&self.server).take());
    }
}
