//! A world's executables, and what their servers have done about them.

use std::time::Duration;

use farcall_base::{CallId, Error, ErrorKind, ExecutableId, Random};
use farcall_rpc_server::state::Action;
use farcall_services::spawner::{ExitHow, Exited, Output, OutputTail};
use farcall_transport_simulated::LinkPlan;

use super::World;
use super::happening::Happening;
use crate::machine::ProcessId;
use crate::node::Node;
use crate::process::{News, Process};
use crate::program::Target;

/// Until the spawner does what it was told, reads a pipe, or reports an exit, in microseconds.
const SPAWNER_US: u64 = 200;

impl World {
    pub(super) fn work_process(&mut self, id: ProcessId) -> bool {
        let Some(process) = self.process(id) else { return false };
        let mut news = Vec::new();
        let worked = process.work(&mut news);
        for news in news {
            match news {
                News::Loads if self.chance(self.plan.load_crash) => self.end_process(id, crash()),
                News::Loads => {
                    let delay = self.within(self.plan.start_us);
                    self.after(delay, Happening::ModuleLoads(id));
                }
                News::Begins(call) => {
                    let wish = self.promises.begins(call, id.executable);
                    self.say(format!("call {} runs in executable {id}", wish.number));
                    self.go_on(id, call);
                }
                News::Goes(call) => self.go_on(id, call),
                News::Leaves => self.leave(id),
            }
        }
        // An executable without a server ends by itself.
        worked.unwrap_or_else(|_| {
            self.end_process(id, ExitHow::Status(0));
            true
        })
    }

    fn process(&mut self, id: ProcessId) -> Option<&mut Process> {
        self.machines[id.machine].processes.get_mut(&id.executable)
    }

    /// A routine runs for a while: what does it print, and what will become of it?
    fn go_on(&mut self, id: ProcessId, call: CallId) {
        let delay = self.within(self.plan.run_us);
        let lines_max = self.plan.output.lines_max;
        let lines = if lines_max > 0 { self.random.next() % (lines_max + 1) } else { 0 };
        for _ in 0..lines {
            let at = self.within(delay.as_micros() as u64);
            self.after(at, Happening::RoutinePrints(id, call));
        }
        let ending = |how| Happening::ProcessEnds(id, how);
        let what = if self.chance(self.plan.crash) {
            ending(crash())
        } else if self.chance(self.plan.exit) {
            ending(ExitHow::Status(3))
        } else if self.chance(self.plan.hang) {
            return;
        } else {
            Happening::RoutineGoesOn(id, call)
        };
        self.after(delay, what);
    }

    /// An executable was told to end: an object does so in the time that it has for that, the others
    /// when their connection ends.
    fn leave(&mut self, id: ProcessId) {
        if self.process(id).is_some_and(|process| process.is_object()) {
            // The word to end was under way for a part of that.
            let grace = self.plan.limits().stop_grace.as_micros() as u64;
            let delay = self.within(grace / 2);
            self.after(delay, Happening::ProcessEnds(id, ExitHow::Status(0)));
        }
    }

    pub(super) fn act(&mut self, machine: usize, action: Action) {
        let id = |executable| ProcessId { machine, executable };
        let Some(node) = self.machines[machine].node.as_mut() else { return };
        match action {
            Action::Resolve { connection, channel, name, .. } => {
                node.server.resolved(connection, channel, self.published.find(&name));
            }
            Action::Hold { hold, name, .. } => {
                let methods = self.published.methods(&name);
                node.server.held(&mut node.memory, hold, methods);
            }
            Action::Start { executable, .. } => {
                self.say(format!("start {}", id(executable)));
                self.starts += 1;
                assert!(self.starts <= self.plan.starts_max, "executables come and go");
                let delay = self.within(self.plan.start_us);
                self.after(delay, Happening::ExecutableStarts(id(executable)));
            }
            Action::Stop { executable, grace } => {
                self.say(format!("stop {}", id(executable)));
                self.machines[machine].doomed.insert(executable);
                let how = ExitHow::Signal { number: 15, name: "SIGTERM", core: false };
                let delay = self.within(grace.as_micros() as u64);
                self.after(delay, Happening::ProcessEnds(id(executable), how));
            }
            Action::Listen(executable) => {
                let delay = self.within(SPAWNER_US);
                self.after(delay, Happening::SpawnerListens(id(executable)));
            }
            Action::Hush(executable) => {
                let delay = self.within(SPAWNER_US);
                self.after(delay, Happening::SpawnerHushes(id(executable)));
            }
            Action::State { .. } | Action::Place { .. } => self.ask_metaserver(machine, action),
            Action::Recall(..) | Action::Resume(_) | Action::Look(_) => {
                panic!("links of this world have no turnstile")
            }
            Action::Fetch { .. } => panic!("clients of this world name no arrays by URL"),
            Action::Results(_) | Action::Readmit => {
                panic!("clients of this world have nothing kept")
            }
            Action::Transact { .. } | Action::TellTransactions(_) | Action::Pull { .. } => {
                panic!("clients of this world begin no transactions")
            }
            Action::List { .. }
            | Action::Order { .. }
            | Action::Close(_)
            | Action::Audit(_)
            | Action::Warn(_) => {
                panic!("clients of this world neither list nor give orders, and nobody keeps a log")
            }
        }
    }

    pub(super) fn happen_to_executable(&mut self, what: Happening) {
        match what {
            Happening::ExecutableStarts(id) => self.start(id),
            Happening::ModuleLoads(id) => {
                if let Some(process) = self.process(id) {
                    process.loaded();
                }
            }
            Happening::RoutineGoesOn(id, call) => {
                let target = self.promises.wish_of(call).target;
                let times = if let Target::Apply(times) = target { times } else { 0 };
                if let Some(process) = self.process(id) {
                    process.goes_on(call, times).expect("a routine that runs can go on");
                }
            }
            Happening::RoutinePrints(id, call) => self.print(id, call),
            Happening::PipeRead(id) => {
                self.machines[id.machine].spawner.read(id.executable);
                let delay = self.within(self.plan.output.hearing_us);
                self.after(delay, Happening::ServerHears(id.machine));
            }
            Happening::ServerHears(machine) => self.tell_server(machine),
            Happening::SpawnerListens(id) => {
                if self.process(id).is_some() {
                    self.machines[id.machine].spawner.listen(id.executable);
                }
                self.with_server(id, |node, executable| {
                    node.server.listening(&mut node.memory, executable, Ok(()));
                });
            }
            Happening::SpawnerHushes(id) => {
                self.machines[id.machine].spawner.hush(id.executable);
                self.tell_server(id.machine);
                self.with_server(id, |node, executable| {
                    node.server.heard_out(&mut node.memory, executable);
                });
            }
            Happening::ExecutableKilled => self.kill_one(),
            Happening::ProcessEnds(id, how) => self.end_process(id, how),
            Happening::ExitReported(machine, exited) => {
                self.machines[machine].spawner.hush(exited.executable);
                self.tell_server(machine);
                let id = ProcessId { machine, executable: exited.executable };
                self.say(format!("executable {id} {}", exited.how));
                self.with_server(id, |node, _| {
                    node.server.executable_exited(&mut node.memory, &exited);
                });
            }
            _ => unreachable!("the others happen to clients and servers"),
        }
    }

    /// The server of an executable is told something, if it lives.
    fn with_server(&mut self, id: ProcessId, tell: impl FnOnce(&mut Node, ExecutableId)) {
        if let Some(node) = &mut self.machines[id.machine].node {
            tell(node, id.executable);
        }
    }

    fn print(&mut self, id: ProcessId, call: CallId) {
        if self.process(id).is_some_and(|process| process.has_begun(call)) {
            let bytes = (self.random.next() % (self.plan.output.bytes_max + 1)) as usize;
            let is_error = self.random.next().is_multiple_of(4);
            let output = if is_error { Output::Stderr } else { Output::Stdout };
            let line = self.promises.prints(call, output, bytes);
            self.machines[id.machine].spawner.print(id.executable, output, line);
            let delay = self.within(SPAWNER_US);
            self.after(delay, Happening::PipeRead(id));
        }
    }

    /// The server hears of everything that the spawner has told.
    fn tell_server(&mut self, machine: usize) {
        let machine = &mut self.machines[machine];
        while let Some(said) = machine.spawner.next_told() {
            if let Some(node) = &mut machine.node {
                node.server.said(&said);
            }
        }
    }

    /// All executables there are.
    pub(super) fn all_processes(&self) -> Vec<ProcessId> {
        let of = |(machine, of): (usize, &crate::machine::Machine)| {
            let ids = of.processes.keys().copied();
            ids.map(|executable| ProcessId { machine, executable }).collect::<Vec<_>>()
        };
        self.machines.iter().enumerate().flat_map(of).collect()
    }

    /// Somebody kills an executable, whatever it does.
    fn kill_one(&mut self) {
        let all = self.all_processes();
        if !all.is_empty() {
            let id = all[(self.random.next() % all.len() as u64) as usize];
            self.say(format!("somebody kills {id}"));
            let how = ExitHow::Signal { number: 9, name: "SIGKILL", core: false };
            self.end_process(id, how);
        }
    }

    fn start(&mut self, id: ProcessId) {
        let fails = self.chance(self.plan.start_failure);
        let machine = &mut self.machines[id.machine];
        let now = machine.now(&self.network);
        // One whose server was killed meanwhile finds nobody, and ends.
        let Some(node) = &mut machine.node else { return };
        if fails {
            let error = Error::new(ErrorKind::System, "start an executable", "no memory left");
            return node.server.executable_failed(&mut node.memory, id.executable, &error);
        }
        let pair = self.network.pair(LinkPlan { queue_bytes: 16 << 10, ..LinkPlan::default() });
        let pair = pair.expect("a local link can be made");
        let connection = node.add(pair.near);
        node.server.executable_started(id.executable, connection, false, false, now);
        machine.processes.insert(id.executable, Process::new(pair.far, self.plan.queue_bytes));
        if machine.doomed.contains(&id.executable) {
            // It was told to end before it began.
            let how = ExitHow::Signal { number: 15, name: "SIGTERM", core: false };
            self.after(Duration::ZERO, Happening::ProcessEnds(id, how));
        }
    }

    /// A process ends: its connection at once, the report of its exit a little later.
    pub(super) fn end_process(&mut self, id: ProcessId, how: ExitHow) {
        let ProcessId { machine, executable } = id;
        if self.machines[machine].processes.remove(&executable).is_some() {
            let stderr = OutputTail::default();
            let stdout = OutputTail::default();
            let was_stopped = matches!(how, ExitHow::Signal { number: 15, .. });
            let exited = Exited { executable, how, rank: None, was_stopped, stderr, stdout };
            let delay = self.within(SPAWNER_US);
            self.after(delay, Happening::ExitReported(machine, Box::new(exited)));
        }
    }
}

fn crash() -> ExitHow {
    ExitHow::Signal { number: 11, name: "SIGSEGV", core: false }
}
