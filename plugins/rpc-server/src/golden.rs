//! Plays the conversations of tests/golden against `step`.
//!
//! Each event is `> TIME_MS EVENT …`; `Play::take` shows how each is written. A `<` line is
//! something that a client or an executable saw, memory that was taken or given back, an action, or
//! the next tick.

mod keeping;
mod limits;
mod memory;
mod other;
mod peers;
mod placing;
mod random;
mod rights;
mod status;
mod transactions;
mod words;

use std::sync::Arc;

use farcall_base::{ConnectionId, Error, ErrorKind, ExecutableId, Instant};
use farcall_golden::Conversation;
use farcall_idl::encode::{contract_hash, encode_interface, encode_module};
use farcall_services::directory::{
    ExecutableImage, ImageKind, PublishedModule, PublishedRoutine, Trust,
};
use farcall_services::spawner::{ExecutableLimits, ExitHow, Exited, Output, OutputTail, Said};

use crate::state::{Caller, MemorySource, Newcomer, State};
use crate::step::Server;
use limits::limits;
use memory::Memory;
use peers::Peers;
use rights::table_of_eve;

const IDL: &str = include_str!("golden/routines.idl");
const CALLBACKS: &str = include_str!("golden/callbacks.idl");
const CLASSES: &str = include_str!("golden/classes.idl");

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<Play>(env!("CARGO_MANIFEST_DIR"), 21);
}

/// The routines of routines.idl as a directory gives them; those of the module "far" run elsewhere.
fn published(module: &str, generation: u64) -> Vec<Arc<PublishedRoutine>> {
    published_from(&IDL.replace("MODULE", module), generation)
}

fn published_from(text: &str, generation: u64) -> Vec<Arc<PublishedRoutine>> {
    let compiled = farcall_idl::compile("routines.idl", text).unwrap().with_methods();
    let image = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: compiled.libraries.clone() },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: if compiled.name == "far" { "slurm".to_owned() } else { String::new() },
        executables_max: compiled.executables_max,
        module_text: encode_module(&compiled).into(),
    };
    let name = compiled.name.clone();
    let of =
        Arc::new(PublishedModule { name, generation, publication: generation, executable: image });
    let routines = compiled.routines.into_iter().map(|routine| PublishedRoutine {
        encoded: encode_interface(&routine.interface).into(),
        contract: contract_hash(&routine.interface),
        routine: Arc::new(routine),
        module: of.clone(),
    });
    routines.map(Arc::new).collect()
}

fn classes(generation: u64) -> Vec<Arc<PublishedRoutine>> {
    published_from(CLASSES, generation).into_iter().chain(published_from(CALLBACKS, 4)).collect()
}

/// One conversation.
struct Play {
    server: Server,
    memory: Memory,
    peers: Peers,
    routines: Vec<Arc<PublishedRoutine>>,
    /// Those of classes, and those that call back, which `list` does not show.
    classes: Vec<Arc<PublishedRoutine>>,
}

impl Conversation for Play {
    fn begin(script: &str) -> Play {
        Play::new(script)
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let (at, event) = event.split_once(' ').unwrap();
        self.happen(at.parse().unwrap(), event);
        let mut said = std::mem::take(&mut self.memory.said);
        said.extend(self.server.next_tick().map(|at| format!("tick at {}", at.0 / 1_000_000)));
        said
    }

    fn end(self) {
        self.peers.check_over(&self.server, &self.memory);
    }
}

impl Play {
    fn new(script: &str) -> Play {
        let server = Server::new(State::new(limits(script), "host".to_owned()));
        let routines = published("m", 1).into_iter().chain(published("other", 2)).collect();
        let classes = classes(3);
        Play { server, memory: Memory::default(), peers: Peers::default(), routines, classes }
    }

    fn happen(&mut self, at_ms: u64, event: &str) {
        self.memory.now = Instant(at_ms * 1_000_000);
        self.take(&event.split_whitespace().collect::<Vec<_>>());
        self.peers.pump(&mut self.server, &mut self.memory);
    }

    fn take(&mut self, words: &[&str]) {
        let number = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        match words[0] {
            "accept" | "connect" | "hello" | "hold" | "send" | "frame" | "deafen" | "hear"
            | "ask" | "list" | "object" | "release" | "load" | "resume" | "reopen" | "forget"
            | "kept" | "has" | "order" | "status" | "open" | "answer" | "answer-fails"
            | "cancel" | "share" | "unshare" | "gone" | "bad" | "goodbye" | "state" | "report"
            | "place" | "outcomes" | "servers" | "data" | "delete-data" | "begin-graph"
            | "await" | "promise" | "break" => {
                self.client_event(ConnectionId(number), words);
            }
            "start-ok" | "start-failed" | "start-short" | "load-ok" | "load-failed" | "return"
            | "soon" | "begin" | "fail" | "exit" | "kill" | "stopped" | "lost" | "callback"
            | "calls-back" | "gives-up" | "nest" | "lie" | "says" | "heard-out" | "listening"
            | "deaf" | "load-asks" | "load-threads" | "progress" => {
                self.executable_event(ExecutableId(number), words)
            }
            "resolve" => self.resolve(words[1]),
            "fetched" | "not-fetched" => {
                let (key, slot) =
                    self.peers.fetches.pop_front().expect("an array was asked of the fetcher");
                let missing = || Error::new(ErrorKind::NotFound, "fetch an array", "no such file");
                let outcome = if words[0] == "fetched" { Ok(()) } else { Err(missing()) };
                self.server.fetched(&mut self.memory, key, slot, outcome);
            }
            "held" => self.held(words[1]),
            "stated" | "answered" | "answered-not" | "elsewhere" | "also" | "listing"
            | "resolve-elsewhere" | "held-elsewhere" => self.placing_event(words),
            "obeyed" => {
                let (connection, channel) = self.peers.questions.pop_front().unwrap();
                self.server.obeyed(connection, channel, Ok(Vec::new()));
            }
            "recorded" | "stored" | "read" | "restore" | "begun" | "loaded" | "erased"
            | "published" | "readmit" => {
                self.results_event(words);
            }
            "transacted" => {
                let (connection, channel) = self.peers.questions.pop_front().unwrap();
                let answer = transactions::answer(&words[1..]);
                self.server.transacted(&mut self.memory, connection, channel, answer);
            }
            "drain" => {
                self.server.drain(self.memory.now);
                self.say_end();
            }
            "join" | "grant" | "revoke" => self.rights_event(words, ConnectionId(number)),
            "no-descriptors" => {
                let ended = self.server.make_room();
                self.memory.said.push(format!("{ended:?} goes"));
            }
            "farewell" => self.server.farewell(),
            "drained" => self.say_end(),
            "publish" => self.routines.extend(published(words[1], 3)),
            "republish-classes" => self.classes = classes(number),
            "republish" => self.routines = published("m", 3),
            "changed" => self.server.directory_changed(),
            "freed" => self.server.forget_memory(MemorySource::Own(number)),
            "tick" => self.server.tick(&mut self.memory),
            "job" => self.server.jobs(&self.memory, vec![words::job(words)]),
            _ => panic!("no such event: {words:?}"),
        }
    }

    fn rights_event(&mut self, words: &[&str], connection: ConnectionId) {
        match words[0] {
            // Whether the other end of the connection may join.
            "join" => {
                let rights = self.server.rights(connection).unwrap();
                let said = rights.join().map_or_else(|error| error.to_string(), |()| "yes".into());
                self.memory.said.push(format!("{} may join: {said}", rights.principal()));
            }
            // Eve may call these modules and no others from now on.
            "grant" => self.server.grant(&mut self.memory, &table_of_eve(&words[1..])),
            // Certificates of all who showed one.
            _ => {
                let all = self.server.certificates_of_kept();
                all.iter()
                    .for_each(|certificate| self.server.revoke(&mut self.memory, certificate));
            }
        }
    }

    fn say_end(&mut self) {
        let word = if self.server.is_drained() { "drained" } else { "not drained" };
        self.memory.said.push(word.to_owned());
    }

    fn client_event(&mut self, client: ConnectionId, words: &[&str]) {
        let rest = &words[2..];
        match words[0] {
            "accept" | "connect" => {
                let refusal = rest.contains(&"foreign").then(|| {
                    Error::new(
                        ErrorKind::PermissionDenied,
                        "accept a connection",
                        "this server serves user 1 only",
                    )
                });
                let token = rest.contains(&"token").then(|| Arc::from(*b"secret"));
                let now = self.memory.now;
                let rights = rights::of(rest);
                let certificate = rest.contains(&"certificate").then(|| "0a".into());
                let caller = Caller {
                    address: format!("client {client}"),
                    rights,
                    certificate,
                    hosts: Default::default(),
                    speaks: Default::default(),
                };
                let shares_memory = !rest.contains(&"lasting");
                self.server.accepted(
                    client,
                    Newcomer { caller, shares_memory, token, refusal },
                    now,
                );
                self.peers.comes_back(rest);
                self.peers.client(client, words[0] == "connect");
            }
            "hello" => self.peers.release(client),
            "hold" => self.peers.hold(client),
            "send" => self.peers.send(client),
            "frame" => self.peers.send_one(client),
            "deafen" => self.peers.deafen(client, true),
            "hear" => self.peers.deafen(client, false),
            "gone" => {
                self.peers.remove(client);
                self.server.ended(&mut self.memory, client);
            }
            "bad" => self
                .server
                .broken(client, &Error::new(ErrorKind::Protocol, "follow a call", "nonsense")),
            _ => {
                let all: Vec<_> = self.routines.iter().chain(&self.classes).cloned().collect();
                self.peers.client_does(client, words[0], rest, &all);
            }
        }
    }

    fn executable_event(&mut self, executable: ExecutableId, words: &[&str]) {
        let rest = &words[2..];
        let connection = ConnectionId(1_000_000 + executable.0);
        match words[0] {
            "start-ok" => self.start_ok(executable, connection, rest),
            "start-failed" | "start-short" => {
                self.peers.began(executable);
                let is_short = words[0] == "start-short";
                let kind = if is_short { ErrorKind::System } else { ErrorKind::Unavailable };
                let error = Error::new(kind, "start an executable", rest.join(" "));
                self.server.executable_failed(&mut self.memory, executable, &error);
            }
            "exit" | "kill" | "stopped" => self.exit(executable, connection, words),
            "lost" => {
                self.peers.recall(&mut self.server, &mut self.memory, connection);
                self.peers.cut(connection);
                self.server.ended(&mut self.memory, connection);
            }
            "says" => {
                let bytes = rest[1..].join(" ").into_bytes();
                self.server.said(&Said::new(
                    executable,
                    Output::Stdout,
                    bytes,
                    rest[0].parse().unwrap(),
                ));
            }
            "lie" => self.peers.lie(connection, rest[0].parse().unwrap()),
            "listening" => self.server.listening(&mut self.memory, executable, Ok(())),
            "deaf" => {
                let error =
                    Error::new(ErrorKind::LimitExceeded, "listen to an executable", "it is busy")
                        .retryable();
                self.server.listening(&mut self.memory, executable, Err(error));
            }
            "load-threads" => {
                let limits = ExecutableLimits { threads_are_free: true, ..Default::default() };
                self.server.executable_limited(executable, 1, limits);
                self.peers.executable_does(connection, words[0], rest);
            }
            "heard-out" => self.server.heard_out(&mut self.memory, executable),
            "begin" => {
                let begins = self.peers.begin(connection);
                self.memory.said.push(format!(
                    "executable {executable} {}",
                    if begins { "begins" } else { "may not begin" }
                ));
            }
            _ => self.peers.executable_does(connection, words[0], rest),
        }
    }

    /// The spawner has started an executable.
    fn start_ok(&mut self, executable: ExecutableId, connection: ConnectionId, rest: &[&str]) {
        self.peers.began(executable);
        let shares = !rest.contains(&"tcp");
        self.server.executable_started(
            executable,
            connection,
            shares,
            rest.contains(&"ahead"),
            self.memory.now,
        );
        if rest.contains(&"stays") {
            self.peers.comes_back(&["stays"]);
        }
        self.peers.executable(connection, executable, !rest.contains(&"mute"));
        if rest.contains(&"ahead") {
            self.peers.takes_ahead(connection);
        }
    }

    /// The process of an executable has ended.
    fn exit(&mut self, executable: ExecutableId, connection: ConnectionId, words: &[&str]) {
        let rest = &words[2..];
        let number = rest[0].parse().unwrap();
        let how = match words[0] {
            "exit" => ExitHow::Status(number),
            // As spawners say of those whose host is gone.
            "kill" if number == 0 => ExitHow::Lost,
            "kill" if number == 9 => ExitHow::Signal { number, name: "SIGKILL", core: false },
            "kill" => ExitHow::Signal { number, name: "SIGSEGV", core: false },
            _ => ExitHow::Signal { number, name: "SIGTERM", core: false },
        };
        self.peers.recall(&mut self.server, &mut self.memory, connection);
        self.peers.remove(connection);
        let was_stopped = words[0] == "stopped";
        let stderr = self.standard_error(&rest[1..]);
        let exited = Exited {
            executable,
            how,
            rank: None,
            was_stopped,
            stderr,
            stdout: OutputTail::default(),
        };
        self.server.executable_exited(&mut self.memory, &exited);
        self.server.ended(&mut self.memory, connection);
    }

    /// `words, @MS words, …`: a line that was taken now, one that was taken at that time, ….
    fn standard_error(&self, words: &[&str]) -> OutputTail {
        let mut tail = OutputTail::new(20, 4096);
        for line in words.join(" ").split(", ") {
            let (at, line) = match line.strip_prefix('@').and_then(|line| line.split_once(' ')) {
                Some((at, line)) => (Instant(at.parse::<u64>().unwrap() * 1_000_000), line),
                None => (self.memory.now, line),
            };
            tail.push(at, format!("{line}\n").as_bytes());
        }
        tail
    }

    fn resolve(&mut self, name: &str) {
        let (connection, channel) =
            self.peers.questions.pop_front().expect("somebody asked the directory");
        let found = self
            .routines
            .iter()
            .chain(&self.classes)
            .find(|routine| routine.routine.interface.full_name() == name);
        let missing = || Error::new(ErrorKind::NotFound, "find a routine", "no such routine");
        self.server.resolved(connection, channel, found.cloned().ok_or_else(missing));
    }
}

impl Play {
    /// The directory's answer to what is to be held.
    fn held(&mut self, name: &str) {
        let hold = self.peers.holds.pop_front().expect("somebody asked the directory");
        let all = self.routines.iter().chain(&self.classes);
        let is_meant = |routine: &&Arc<PublishedRoutine>| {
            let interface = &routine.routine.interface;
            interface.full_class().unwrap_or_else(|| interface.full_name()) == name
        };
        let found: Vec<_> = all.filter(is_meant).cloned().collect();
        let missing = || Error::new(ErrorKind::NotFound, "find a routine", "no such class");
        let answer = if found.is_empty() { Err(missing()) } else { Ok(found) };
        self.server.held(&mut self.memory, hold, answer);
    }
}
