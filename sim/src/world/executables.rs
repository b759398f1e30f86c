//! A world's executables, and what the server has done about them.

use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind, ExecutableId, Random};
use farcall_rpc_server::state::Action;
use farcall_services::spawner::{ExitHow, Exited, Output, OutputTail};
use farcall_transport_simulated::LinkPlan;

use super::World;
use super::happening::Happening;
use crate::process::{News, Process};
use crate::program::Target;

/// Until the spawner does what it was told, reads a pipe, or reports an exit, in microseconds.
const SPAWNER_US: u64 = 200;

impl World {
    pub(super) fn work_process(&mut self, executable: ExecutableId) -> bool {
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
                News::Begins(call) => {
                    let wish = self.promises.begins(call, executable);
                    self.say(format!("call {} runs in executable {executable}", wish.number));
                    self.go_on(executable, call);
                }
                News::Goes(call) => self.go_on(executable, call),
                News::Leaves => self.leave(executable),
            }
        }
        // An executable without a server ends by itself.
        worked.unwrap_or_else(|_| {
            self.end_process(executable, ExitHow::Status(0));
            true
        })
    }

    /// A routine runs for a while: what does it print, and what will become of it?
    fn go_on(&mut self, executable: ExecutableId, call: CallId) {
        let delay = self.within(self.plan.run_us);
        let lines_max = self.plan.output.lines_max;
        let lines = if lines_max > 0 { self.random.next() % (lines_max + 1) } else { 0 };
        for _ in 0..lines {
            let at = self.within(delay.as_micros() as u64);
            self.after(at, Happening::RoutinePrints(executable, call));
        }
        let ending = |how| Happening::ProcessEnds(executable, how);
        let what = if self.chance(self.plan.crash) {
            ending(crash())
        } else if self.chance(self.plan.exit) {
            ending(ExitHow::Status(3))
        } else if self.chance(self.plan.hang) {
            return;
        } else {
            Happening::RoutineGoesOn(executable, call)
        };
        self.after(delay, what);
    }

    /// An executable was told to end: an object does so in the time that it has for that, the others
    /// when their connection ends.
    fn leave(&mut self, executable: ExecutableId) {
        if self.processes.get(&executable).is_some_and(Process::is_object) {
            // The word to end was under way for a part of that.
            let grace = self.plan.limits().stop_grace.as_micros() as u64;
            let delay = self.within(grace / 2);
            self.after(delay, Happening::ProcessEnds(executable, ExitHow::Status(0)));
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Resolve { connection, channel, name, .. } => {
                self.node.server.resolved(connection, channel, self.published.find(&name));
            }
            Action::Hold { hold, name, .. } => {
                let methods = self.published.methods(&name);
                self.node.server.held(&mut self.node.memory, hold, methods);
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
            Action::Listen(executable) => {
                let delay = self.within(SPAWNER_US);
                self.after(delay, Happening::SpawnerListens(executable));
            }
            Action::Hush(executable) => {
                let delay = self.within(SPAWNER_US);
                self.after(delay, Happening::SpawnerHushes(executable));
            }
            Action::Recall(..) | Action::Resume(_) | Action::Look(_) => {
                panic!("links of this world have no turnstile")
            }
            Action::Fetch { .. } => panic!("clients of this world name no arrays by URL"),
            Action::State { .. } | Action::Place { .. } => {
                panic!("clients of this world know one server")
            }
            Action::Results(_) | Action::Readmit => {
                panic!("clients of this world have nothing kept")
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
            Happening::ExecutableStarts(executable) => self.start(executable),
            Happening::ModuleLoads(executable) => {
                if let Some(process) = self.processes.get_mut(&executable) {
                    process.loaded();
                }
            }
            Happening::RoutineGoesOn(executable, call) => {
                let target = self.promises.wish_of(call).target;
                let times = if let Target::Apply(times) = target { times } else { 0 };
                if let Some(process) = self.processes.get_mut(&executable) {
                    process.goes_on(call, times).expect("a routine that runs can go on");
                }
            }
            Happening::RoutinePrints(executable, call) => self.print(executable, call),
            Happening::PipeRead(executable) => {
                self.spawner.read(executable);
                let delay = self.within(self.plan.output.hearing_us);
                self.after(delay, Happening::ServerHears);
            }
            Happening::ServerHears => self.tell_server(),
            Happening::SpawnerListens(executable) => {
                if self.processes.contains_key(&executable) {
                    self.spawner.listen(executable);
                }
                self.node.server.listening(&mut self.node.memory, executable, Ok(()));
            }
            Happening::SpawnerHushes(executable) => {
                self.spawner.hush(executable);
                self.tell_server();
                self.node.server.heard_out(&mut self.node.memory, executable);
            }
            Happening::ExecutableKilled => self.kill_one(),
            Happening::ProcessEnds(executable, how) => self.end_process(executable, how),
            Happening::ExitReported(exited) => {
                self.spawner.hush(exited.executable);
                self.tell_server();
                self.say(format!("executable {} {}", exited.executable, exited.how));
                self.node.server.executable_exited(&mut self.node.memory, &exited);
            }
            _ => unreachable!("the others happen to clients"),
        }
    }

    fn print(&mut self, executable: ExecutableId, call: CallId) {
        let process = self.processes.get(&executable);
        if process.is_some_and(|process| process.has_begun(call)) {
            let bytes = (self.random.next() % (self.plan.output.bytes_max + 1)) as usize;
            let is_error = self.random.next().is_multiple_of(4);
            let output = if is_error { Output::Stderr } else { Output::Stdout };
            let line = self.promises.prints(call, output, bytes);
            self.spawner.print(executable, output, line);
            let delay = self.within(SPAWNER_US);
            self.after(delay, Happening::PipeRead(executable));
        }
    }

    /// The server hears of everything that the spawner has told.
    fn tell_server(&mut self) {
        while let Some(said) = self.spawner.next_told() {
            self.node.server.said(&said);
        }
    }

    /// Somebody kills an executable, whatever it does.
    fn kill_one(&mut self) {
        let count = self.processes.len() as u64;
        if count > 0 {
            let which = (self.random.next() % count) as usize;
            let executable = *self.processes.keys().nth(which).expect("there are so many");
            self.say(format!("somebody kills {executable}"));
            let how = ExitHow::Signal { number: 9, name: "SIGKILL", core: false };
            self.end_process(executable, how);
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
        if self.doomed.contains(&executable) {
            // It was told to end before it began.
            let how = ExitHow::Signal { number: 15, name: "SIGTERM", core: false };
            self.after(Duration::ZERO, Happening::ProcessEnds(executable, how));
        }
    }

    /// A process ends: its connection at once, the report of its exit a little later.
    pub(super) fn end_process(&mut self, executable: ExecutableId, how: ExitHow) {
        if self.processes.remove(&executable).is_some() {
            let stderr = OutputTail::default();
            let stdout = OutputTail::default();
            let was_stopped = matches!(how, ExitHow::Signal { number: 15, .. });
            let exited = Exited { executable, how, rank: None, was_stopped, stderr, stdout };
            let delay = self.within(SPAWNER_US);
            self.after(delay, Happening::ExitReported(Box::new(exited)));
        }
    }
}

fn crash() -> ExitHow {
    ExitHow::Signal { number: 11, name: "SIGSEGV", core: false }
}
