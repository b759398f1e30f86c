//! How executables end: what becomes of their calls, and what those who wait are told.

use farcall_base::{Error, ErrorKind, ExecutableId, Instant};
use farcall_services::spawner::{ExecutableLimits, ExitHow, Exited};

use crate::state::{Call, Executable, InLine, ModuleKey, Phase};
use crate::step::executables::line::may_run_again;
use crate::step::executables::pool::Waiting;
use crate::step::{Server, Surroundings};

impl Server {
    /// An executable could not be started.
    pub fn executable_failed(
        &mut self,
        surroundings: &mut dyn Surroundings,
        executable: ExecutableId,
        error: &Error,
    ) {
        self.state.leave_pool(executable);
        let Some(record) = self.state.remove_executable(executable) else { return };
        self.state.counters.crashed += 1;
        if record.held {
            return self.object_lost(surroundings, executable, error, None);
        }
        if record.phase == Phase::Ending {
            // It was to end before it was there.
            self.forget(&record.module);
            return self.serve_pool(surroundings, &record.module);
        }
        self.could_not_start(surroundings, &record.module, error);
        self.start_executables(surroundings.now());
    }

    /// An executable has ended; nothing of it is left, so memory it could write to is free now. If
    /// it had a turnstile,
    /// [`Server::recalled`] was told before.
    pub fn executable_exited(&mut self, surroundings: &mut dyn Surroundings, exited: &Exited) {
        self.state.leave_pool(exited.executable);
        self.state.executables.end_ahead(exited.executable);
        if let Some(record) = self.state.executables.get_mut(&exited.executable) {
            // It is not free for another call when the one that it answered is over.
            let kept_for = std::mem::replace(&mut record.phase, Phase::Ending);
            self.give_back(exited.executable, kept_for);
            self.heard_out(surroundings, exited.executable);
        }
        let Some(mut record) = self.state.remove_executable(exited.executable) else { return };
        let in_order =
            record.held && record.phase == Phase::Ending && exited.how == ExitHow::Status(0);
        let counters = &mut self.state.counters;
        *(if exited.was_stopped || in_order {
            &mut counters.stopped
        } else {
            &mut counters.crashed
        }) += 1;
        if let Some(connection) = record.connection {
            self.leave(connection);
        }
        for one in record.line.take().into_iter().rev() {
            self.ended_with_executable(surroundings, exited, one, &record);
        }
        if record.held {
            return self.object_exited(surroundings, exited, record);
        }
        if !record.loaded && !self.may_start_again(surroundings.now(), exited, &record) {
            // Another one would end the same way: starting again and again helps nobody.
            let error =
                record.trouble.take().unwrap_or_else(|| end_at_start(exited, &record.module));
            self.could_not_start(surroundings, &record.module, &error);
        } else {
            self.forget(&record.module);
        }
        self.serve_pool(surroundings, &record.module);
    }

    /// An executable never came to take a call. Where the system was short of something and others
    /// of the module live, the waiting calls are theirs; otherwise they fail.
    fn could_not_start(
        &mut self,
        surroundings: &mut dyn Surroundings,
        module: &ModuleKey,
        error: &Error,
    ) {
        let others = self.state.queue.get(module).is_some_and(|pool| pool.has_others());
        let is_short = others && error.kind() == ErrorKind::System;
        if is_short {
            // Those that live may all wait for these.
            self.fail_waiting(surroundings, module, Waiting::Inside, error);
        } else {
            self.fail_waiting(surroundings, module, Waiting::All, error);
        }
        self.forget(module);
        if let Some(pool) = self.state.queue.get_mut(module) {
            pool.set_short(is_short);
        }
    }

    /// Whether an executable that took no call ended by nobody's fault that the next one would
    /// share: somebody killed it, as the system does where memory is short, or its host is gone. A
    /// few times at most.
    fn may_start_again(&mut self, now: Instant, exited: &Exited, record: &Executable) -> bool {
        let is_lost = exited.how == ExitHow::Lost;
        let killed = is_lost
            || matches!(exited.how, ExitHow::Signal { name: "SIGKILL", .. }) && !exited.was_stopped;
        let Some(pool) =
            self.state.queue.get_mut(&record.module).filter(|_| killed && record.trouble.is_none())
        else {
            return false;
        };
        pool.may_start_again(now, is_lost)
    }

    /// A call had begun when its executable ended. If nobody wanted that, and it does no harm, it
    /// runs again.
    fn ended_with_executable(
        &mut self,
        surroundings: &mut dyn Surroundings,
        exited: &Exited,
        one: InLine,
        record: &Executable,
    ) {
        let key = one.key;
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        let unwanted = call.run.unwanted.take();
        if unwanted.is_none() && call.on.is_none() && may_run_again(call) && !is_at_a_limit(exited)
        {
            call.run.has_run = true;
            return self.come_back(surroundings, key);
        }
        let error = unwanted.unwrap_or_else(|| {
            let began = call.times.started;
            let error = end_of_routine(exited, began, record.limits);
            let is_fault = matches!(exited.how, ExitHow::Signal { name: "SIGSEGV", .. });
            let error = if is_fault && reads_data(call) { error.fix(WRITES_DATA) } else { error };
            let error = match record.line.speaks_for(one.client, began) {
                true => with_output(error, "stdout", &exited.stdout.text_since(began)),
                false => error,
            };
            let error = with_resources(error, &record.module);
            // Whoever looks for the reason should know that it was no accident of one process.
            if call.run.returns > 0 {
                error.with("executables", call.run.returns + 1)
            } else {
                error
            }
        });
        self.finish(surroundings, key, Err(error));
    }
}

/// Advice for a routine that may have written to data.
const WRITES_DATA: &str = "one of its arguments was data, which is mapped for reading only since \
    its interface file says `const`: remove that word if the routine writes to the argument; \
    otherwise check for indexes outside the arrays";

/// Whether a call was given data that its routine says it only reads.
fn reads_data(call: &Call) -> bool {
    let parameters = &call.routine.routine.interface.parameters;
    let given = call.memory.given.iter().filter_map(|(slot, _)| parameters.get(usize::from(*slot)));
    given.into_iter().any(|parameter| parameter.constant)
}

/// What those that wait are told of an executable that never came to take a call.
pub(in crate::step) fn end_at_start(exited: &Exited, module: &ModuleKey) -> Error {
    let message = format!("its executable {} before it could accept a call", end_words(exited));
    let error = Error::new(ErrorKind::Unavailable, "start an executable", message)
        .with("module", &module.0);
    let error = with_resources(error, module);
    let error = with_output(error, "stderr", &exited.stderr.text());
    match advice(exited).filter(|_| is_at_a_limit(exited)) {
        Some(advice) => error.fix(advice),
        None => error,
    }
}

/// Whether it ended because it took more than it may: it would again.
fn is_at_a_limit(exited: &Exited) -> bool {
    matches!(exited.how, ExitHow::Signal { name: "SIGXCPU" | "SIGXFSZ", .. })
}

pub(in crate::step) fn end_words(exited: &Exited) -> String {
    match (exited.how, exited.rank) {
        (ExitHow::Signal { .. }, None) => format!("was {}", exited.how),
        (ExitHow::Status(_), None) => exited.how.to_string(),
        (ExitHow::Signal { .. }, Some(rank)) => {
            format!("ended: its rank {rank} was {}", exited.how)
        }
        (ExitHow::Status(_), Some(rank)) => format!("ended: its rank {rank} {}", exited.how),
        (ExitHow::Lost, _) => format!("was {}", exited.how),
    }
}

/// What it was given may be the reason: too little memory, or time.
fn with_resources(error: Error, module: &ModuleKey) -> Error {
    let given = module.2.resources;
    if given.is_empty() { error } else { error.with("resources", given) }
}

fn with_output(error: Error, stream: &'static str, said: &str) -> Error {
    if said.trim().is_empty() { error } else { error.with(stream, said.trim()) }
}

/// What the caller is told of a routine that ended its process; what the process said before the
/// call `began` is not this caller's.
pub(in crate::step) fn end_of_routine(
    exited: &Exited,
    began: Instant,
    limits: ExecutableLimits,
) -> Error {
    let (kind, message) = match exited.how {
        ExitHow::Lost => (ErrorKind::RoutineCrashed, format!("the routine {}", end_words(exited))),
        // Nobody asked it to end but we, and we only because its connection was closed while it
        // lived.
        _ if exited.was_stopped => (
            ErrorKind::RoutineCrashed,
            "the routine closed its connection to the server".to_owned(),
        ),
        ExitHow::Signal { .. } => {
            (ErrorKind::RoutineCrashed, format!("the routine {}", end_words(exited)))
        }
        ExitHow::Status(_) => {
            (ErrorKind::RoutineExited, format!("the routine {}", end_words(exited)))
        }
    };
    let error = with_output(
        Error::new(kind, "run a routine", message),
        "stderr",
        &exited.stderr.text_since(began),
    );
    // The system says nothing of memory that it refused: whoever does not check for it crashes, and
    // may wonder why.
    let error = match limits.memory_max {
        Some(memory) => error.with("limits.memory_bytes_max", memory.0),
        None => error,
    };
    match advice(exited) {
        Some(advice) => error.fix(advice),
        None => error,
    }
}

/// What an executable says of a stack that overflowed (executable/src/serve/overflow.rs).
const OVERFLOWED: &str = "farcall: the stack overflowed";

/// Where to look, as far as the end tells.
fn advice(exited: &Exited) -> Option<&'static str> {
    let name = match exited.how {
        ExitHow::Lost => return Some("repeat the call if that is safe: other hosts can run it"),
        _ if exited.was_stopped => {
            return Some(
                "it closes file descriptors of others: change it to close only those that it \
                    opened",
            );
        }
        ExitHow::Signal { name, .. } => name,
        // What it said, and its status, tell more than we could.
        ExitHow::Status(_) => return None,
    };
    Some(match name {
        "SIGSEGV" | "SIGBUS" if exited.stderr.text().contains(OVERFLOWED) => {
            "its local arrays or its recursion need a larger stack: raise `ulimit -s` where the \
            server is started (LimitSTACK= in its unit), or allocate large arrays (in Fortran \
            ALLOCATABLE, or -fmax-stack-var-size=100000); threads of OpenMP have OMP_STACKSIZE"
        }
        "SIGSEGV" => {
            "check for indexes outside the arrays and for wrong arguments in the interface file, \
            or run the routine locally under valgrind"
        }
        "SIGBUS" => {
            "a memory-mapped file was truncated, usually its library: replace libraries with mv \
            or install, which keep the old file, and reload the module"
        }
        "SIGABRT" => {
            "a check in the routine or of its memory failed: see its output, or run it locally \
                under valgrind"
        }
        "SIGFPE" => {
            "check for an integer division by zero, or for floating-point traps set by a compiler \
                option"
        }
        "SIGILL" => "its library was built for another processor, or its code was overwritten",
        "SIGKILL" => {
            "see the server's system log: a machine that runs out of memory kills processes"
        }
        "SIGPIPE" => "it wrote to a pipe or socket that was closed at the other end",
        "SIGXCPU" => {
            "it reached its limit of processor time: reduce the size of the problem, or raise \
            limits.processor_seconds_max in the server's farcall.toml"
        }
        "SIGXFSZ" => {
            "it wrote more to a file than allowed: write less, or raise limits.file_bytes_max in \
            the server's farcall.toml"
        }
        "SIGSYS" => "it made a system call that the server forbids",
        _ => return None,
    })
}
