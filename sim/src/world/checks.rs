//! What must hold of a world's servers while it turns, and at its end.

use std::time::Duration;

use farcall_base::{ErrorKind, Instant};
use farcall_services::spawner::ExitHow;

use super::{Report, World};
use crate::held::Asked;
use crate::machine::Machine;
use crate::metaserver::Metaserver;

impl World {
    /// No call waits for a place that an executable has held long enough without doing anything. No
    /// server has something to do that it leaves: its driver would never sleep.
    pub(super) fn check_places(&self) {
        for machine in self.machines.iter().filter(|machine| !machine.is_frozen) {
            let Some(node) = &machine.node else { continue };
            let state = node.server.state();
            let now = machine.now(&self.network);
            let metaserver = machine.metaserver.as_ref().and_then(Metaserver::next_tick);
            let is_late = |next: Option<Instant>| next.is_some_and(|at| at < now);
            assert!(
                !is_late(node.server.next_tick()) && !is_late(metaserver),
                "server {} never sleeps; last:\n{}",
                machine.slot,
                self.last_lines()
            );
            if state.calls_unserved() > 0
                && state.wants_executable()
                && let Some((since, executable)) = state.longest_idle()
            {
                let until = since + Duration::from_micros(self.plan.executable_idle_us);
                assert!(
                    now < until,
                    "executable {executable} is idle since {since:?} while calls wait; last:\n{}",
                    self.last_lines()
                );
            }
        }
    }

    /// All calls are over: clients release their objects and leave, executables end, and nothing may
    /// be left.
    pub(super) fn end(mut self) -> Report {
        self.promises.check_all_ended();
        self.seats.iter_mut().for_each(|seat| seat.client.release());
        self.end_placing();
        self.turn_until_quiet();
        self.check_released();
        self.seats.iter_mut().for_each(|seat| seat.client.leave());
        self.turn_until_quiet();
        self.machines.iter().for_each(Machine::check_nothing_left);
        self.all_processes()
            .into_iter()
            .for_each(|executable| self.end_process(executable, ExitHow::Status(0)));
        self.turn_until_quiet();
        self.machines.iter().for_each(Machine::check_ended);
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
        for (index, seat) in self.seats.iter().enumerate() {
            let client = &seat.client;
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
