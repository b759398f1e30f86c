//! What happens in a world at its times.

use std::time::Duration;

use farcall_base::{CallId, Clock, Error, ErrorKind};
use farcall_peer::Run;
use farcall_services::spawner::{ExitHow, Exited};

use super::World;
use super::faults::Fault;
use crate::machine::ProcessId;
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
    ExecutableStarts(ProcessId),
    ModuleLoads(ProcessId),
    RoutineGoesOn(ProcessId, CallId),
    RoutinePrints(ProcessId, CallId),
    PipeRead(ProcessId),
    ServerHears(usize),
    SpawnerListens(ProcessId),
    SpawnerHushes(ProcessId),
    ExecutableKilled,
    ProcessEnds(ProcessId, ExitHow),
    ExitReported(usize, Box<Exited>),
    Happens(Fault),
}

impl World {
    pub(super) fn happen(&mut self, what: Happening) {
        match what {
            Happening::FetchDue(client, id, wish) => self.fetch(client, id, wish),
            Happening::CallDue { client, wish } => self.make_call(client, wish),
            Happening::CancelDue(client, number) => self.cancel(client, number),
            Happening::ReleaseDue(client) => {
                self.say(format!("client {client} releases its objects"));
                self.seats[client].client.release();
            }
            Happening::FunctionReturns { client, run, fails, took } => {
                if fails {
                    self.promises.function_fails(run.callback.number);
                }
                let error = Error::new(ErrorKind::RoutineFailed, "run a callback", "it fails");
                let failure = fails.then(|| (&error).into());
                self.seats[client].client.answer(*run, failure, took);
            }
            Happening::ClientCrashes(client) => {
                self.say(format!("client {client} ends"));
                self.promises.disturbed(client);
                self.client_ends(client);
            }
            // Nobody comes back to a server that has never greeted.
            Happening::ConnectionResets(client)
                if self.plan.keep_us > 0 && self.seats[client].client.awaits_greeting() =>
            {
                let later = Duration::from_micros(self.plan.delay_us + 1);
                self.after(later, Happening::ConnectionResets(client));
            }
            Happening::ConnectionResets(client) => {
                self.say(format!("client {client} loses its connection"));
                self.promises.disturbed(client);
                self.network.crash(self.seats[client].link);
            }
            Happening::ClientPauses(client) => {
                self.say(format!("client {client} stands still"));
                self.promises.disturbed(client);
                self.seats[client].client.is_paused = true;
                self.after(
                    Duration::from_micros(2 * self.plan.stall_us),
                    Happening::ClientGoesOn(client),
                );
            }
            Happening::ClientGoesOn(client) => self.seats[client].client.is_paused = false,
            Happening::Happens(fault) => self.suffer(fault),
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
        self.wish_of_client(client, wish);
    }
}
