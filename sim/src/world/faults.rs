//! What happens to several servers, and the ways between hosts.

use std::time::Duration;

use farcall_base::{Clock, Random};

use super::World;
use super::happening::Happening;
use super::several::Host;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// Somebody kills a server.
    Kill(usize),
    /// It is started again.
    Restart(usize),
    /// It stands still.
    Freeze(usize),
    /// The machine's server goes on.
    Thaw(usize),
    /// Two hosts do not hear each other for a while.
    Cut(Host, Host),
    /// Their connections are reset.
    Reset(Host, Host),
    /// The way between them becomes ten times thinner.
    Thin(Host, Host),
}

/// What happens to the way between two hosts.
type OfWay = fn(Host, Host) -> Fault;

impl World {
    /// Draws what is going to happen.
    pub(super) fn plan_faults(&mut self) {
        if !self.has_several() {
            return;
        }
        let plan = self.plan.several.clone();
        let of_servers = |count: usize| (count, 0, plan.servers);
        let of_metaservers = |count: usize| (count, plan.servers, plan.metaservers);
        let kills = [of_servers(plan.kills), of_metaservers(plan.metaserver_kills)];
        for (count, first, of) in kills {
            for _ in 0..count {
                let slot = first + self.draw(of);
                self.plan_fault(Fault::Kill(slot));
            }
        }
        for _ in 0..plan.freezes {
            let slot = self.draw(plan.servers + plan.metaservers);
            self.plan_fault(Fault::Freeze(slot));
        }
        let of_ways: [(usize, OfWay); 3] =
            [(plan.cuts, Fault::Cut), (plan.resets, Fault::Reset), (plan.thinnings, Fault::Thin)];
        for (count, fault) in of_ways {
            for _ in 0..count {
                let (from, to) = self.draw_way();
                self.plan_fault(fault(from, to));
            }
        }
    }

    fn draw(&mut self, of: usize) -> usize {
        self.random.next() as usize % of.max(1)
    }

    /// Hosts that connect: a client with any server, or a server with a metaserver.
    fn draw_way(&mut self) -> (Host, Host) {
        let servers = self.plan.several.servers;
        let metaservers = self.plan.several.metaservers;
        if self.chance(0.5) {
            let client = self.draw(self.plan.clients);
            let slot = self.draw(servers + metaservers);
            return (Host::Client(client), Host::Server(slot));
        }
        let server = self.draw(servers);
        let metaserver = servers + self.draw(metaservers);
        (Host::Server(server), Host::Server(metaserver))
    }

    /// Not before each client has made a call, and so knows the servers.
    fn plan_fault(&mut self, fault: Fault) {
        let first_call = Duration::from_micros(self.plan.interval_us);
        let begins = self.several.calls_from() + first_call;
        let at = begins + self.within(self.plan.several.span_us);
        self.after(at, Happening::Happens(fault));
    }

    pub(super) fn suffer(&mut self, fault: Fault) {
        self.say(format!("{fault:?}"));
        let plan = self.plan.several.clone();
        match fault {
            Fault::Kill(slot) => self.kill_server(slot),
            Fault::Restart(slot) => self.start_server(slot),
            Fault::Freeze(slot) => {
                if let Some(machine) = self.several.lives[slot] {
                    self.machines[machine].is_frozen = true;
                    let later = Duration::from_micros(plan.freeze_us);
                    self.after(later, Happening::Happens(Fault::Thaw(machine)));
                }
            }
            Fault::Thaw(machine) => self.machines[machine].is_frozen = false,
            Fault::Cut(from, to) => {
                let until = self.network.now() + Duration::from_micros(plan.cut_us);
                self.several.cuts.push(((from, to), until));
                self.ways_between((from, to), |world, link| world.network.silence(link, until));
            }
            Fault::Reset(from, to) => {
                self.ways_between((from, to), |world, link| world.network.crash(link));
            }
            Fault::Thin(from, to) => {
                self.several.thin.push((from, to));
                let rate = self.plan.rate_bytes_per_s / 10;
                self.ways_between((from, to), |world, link| world.network.set_rate(link, rate));
            }
        }
    }

    fn ways_between(
        &mut self,
        ends: (Host, Host),
        mut change: impl FnMut(&mut World, farcall_transport_simulated::LinkId),
    ) {
        let of_them = self.several.ways.iter().filter(|way| way.ends == ends);
        let links: Vec<_> = of_them.map(|way| way.link).collect();
        links.into_iter().for_each(|link| change(self, link));
    }

    /// A server ends at once, with all its connections. Its executables notice, and end.
    fn kill_server(&mut self, slot: usize) {
        let Some(machine) = self.several.lives[slot].take() else { return };
        let machine = &mut self.machines[machine];
        (machine.node, machine.metaserver) = (None, None);
        let later = self.within(self.plan.several.restart_us);
        self.after(later, Happening::Happens(Fault::Restart(slot)));
    }
}
