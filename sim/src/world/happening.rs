//! What happens in a world at its times.

use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind, ExecutableId};
use farcall_peer::Run;
use farcall_services::spawner::{ExitHow, Exited};

use super::World;
use crate::program::{Program, Wish};

/// What is going to happen.
pub(super) enum Happening {
    CallDue { client: usize, wish: Wish },
    FetchDue(usize, CallId, Wish),
    CancelDue(usize, u64),
    ReleaseDue(usize),
    FunctionReturns { client: usize, run: Box<Run<Program>>, fails: bool, took: Duration },
    ClientCrashes(usize),
    ConnectionResets(usize),
    ClientPauses(usize),
    ClientGoesOn(usize),
    ExecutableStarts(ExecutableId),
    ModuleLoads(ExecutableId),
    RoutineGoesOn(ExecutableId, CallId),
    RoutinePrints(ExecutableId, CallId),
    PipeRead(ExecutableId),
    ServerHears,
    SpawnerListens(ExecutableId),
    SpawnerHushes(ExecutableId),
    ExecutableKilled,
    ProcessEnds(ExecutableId, ExitHow),
    ExitReported(Box<Exited>),
}

impl World {
    pub(super) fn happen(&mut self, what: Happening) {
        match what {
            Happening::FetchDue(client, id, wish) => self.fetch(client, id, wish),
            Happening::CallDue { client, wish } => self.make_call(client, wish),
            Happening::CancelDue(client, number) => self.clients[client].0.cancel(number),
            Happening::ReleaseDue(client) => {
                self.say(format!("client {client} releases its objects"));
                self.clients[client].0.release();
            }
            Happening::FunctionReturns { client, run, fails, took } => {
                if fails {
                    self.promises.function_fails(run.callback.number);
                }
                let error = Error::new(ErrorKind::RoutineFailed, "run a callback", "it fails");
                let failure = fails.then(|| (&error).into());
                self.clients[client].0.answer(*run, failure, took);
            }
            Happening::ClientCrashes(client) => {
                self.say(format!("client {client} ends"));
                self.promises.disturbed(client);
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
                self.promises.disturbed(client);
                self.network.crash(self.clients[client].1);
            }
            Happening::ClientPauses(client) => {
                self.say(format!("client {client} stands still"));
                self.promises.disturbed(client);
                self.clients[client].0.is_paused = true;
                self.after(
                    Duration::from_micros(2 * self.plan.stall_us),
                    Happening::ClientGoesOn(client),
                );
            }
            Happening::ClientGoesOn(client) => self.clients[client].0.is_paused = false,
            of_an_executable => self.happen_to_executable(of_an_executable),
        }
    }

    fn make_call(&mut self, client: usize, mut wish: Wish) {
        let number = wish.number;
        let elements = wish.elements;
        let routine = wish.target.routine().name();
        self.say(format!(
            "client {client} makes call {number} of {routine} with {elements} elements"
        ));
        let timeout = Duration::from_micros(self.plan.timeout_us);
        wish.deadline = (self.plan.timeout_us > 0).then(|| self.network.now() + timeout);
        self.promises.wished(&wish);
        self.clients[client].0.wish(wish);
    }
}
