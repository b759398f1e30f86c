//! Several servers of a world: who they are, how hosts reach one another, and clients that place
//! their calls.

use std::time::Duration;

use farcall_base::{Clock, Instant, Random};
use farcall_link::stream::ByteStream;
use farcall_rpc_server::access::Rights;
use farcall_rpc_server::state::{Action, Caller, Newcomer};
use farcall_transport_simulated::{LinkId, LinkPlan};

use super::{Seat, World};
use crate::client::{Client, Loss};
use crate::machine::Machine;
use crate::metaserver::Metaserver;
use crate::placer::{Order, Placer};
use crate::plan::Plan;
use crate::program::Wish;

/// Calls begin when servers have joined.
const JOINS_US: u64 = 600_000;

/// Who is at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Client(usize),
    Server(usize),
}

/// A link between two hosts.
pub(super) struct Way {
    pub link: LinkId,
    pub ends: (Host, Host),
}

/// Servers, metaservers behind them, and clients that place calls. Where there is one server, it has
/// the first slot and no metaserver, and clients know it.
pub(super) struct Several {
    servers: usize,
    /// The machine where each server lives, if it does.
    pub lives: Vec<Option<usize>>,
    placers: Vec<Placer>,
    pub ways: Vec<Way>,
    /// Hosts that do not hear each other until then.
    pub cuts: Vec<((Host, Host), Instant)>,
    /// Hosts between which the way is thin.
    pub thin: Vec<(Host, Host)>,
    /// All calls have ended, and nobody places any more.
    is_ending: bool,
}

impl Several {
    pub fn new(plan: &Plan) -> Several {
        let servers = plan.several.servers;
        let placers = |client| Placer::new(format!("c{client}"), "m0".to_owned());
        Several {
            servers,
            lives: vec![None; (servers + plan.several.metaservers).max(1)],
            placers: (0..plan.clients).filter(|_| servers > 0).map(placers).collect(),
            ways: Vec::new(),
            cuts: Vec::new(),
            thin: Vec::new(),
            is_ending: false,
        }
    }

    /// Servers and metaservers.
    pub fn slots(&self) -> usize {
        self.lives.len()
    }

    /// Clients that place calls.
    pub fn clients(&self) -> usize {
        self.placers.len()
    }

    /// When calls begin.
    pub fn calls_from(&self) -> Duration {
        Duration::from_micros(if self.servers > 0 { JOINS_US } else { 0 })
    }

    pub fn next_tick(&self) -> Option<Instant> {
        self.placers.iter().filter_map(Placer::next_tick).min()
    }

    /// What a server is called: also where it is reached.
    pub fn name(&self, slot: usize) -> String {
        match slot.checked_sub(self.servers) {
            Some(metaserver) => format!("m{metaserver}"),
            None => format!("s{slot}"),
        }
    }

    fn slot(&self, name: &str) -> usize {
        let named = (0..self.slots()).find(|slot| self.name(*slot) == name);
        named.expect("servers name servers of this world")
    }

    /// Whether hosts do not hear each other, and until when.
    fn cut(&self, ends: (Host, Host)) -> Option<Instant> {
        let of_them = self.cuts.iter().filter(|(cut, _)| *cut == ends);
        of_them.map(|(_, until)| *until).max()
    }
}

impl World {
    pub(super) fn has_several(&self) -> bool {
        self.several.servers > 0
    }

    /// Whether all is done that was planned; metaservers go on telling each other how they are.
    pub(super) fn is_over(&self) -> bool {
        let is_waiting = self.has_several() && !self.several.is_ending;
        is_waiting && self.agenda.is_empty() && self.promises.all_ended()
    }

    /// A server starts; among several, with its metaserver.
    pub(super) fn start_server(&mut self, slot: usize) {
        let number = self.machines.len();
        let apart_us = self.plan.several.clocks_apart_us;
        let ahead = if apart_us > 0 { self.within(apart_us) } else { Duration::ZERO };
        let mut machine = Machine::new(&self.plan, &self.network, (number, slot), ahead);
        if self.has_several() {
            let name = self.several.name(slot);
            let is_metaserver = slot >= self.several.servers;
            self.say(format!("{name} starts as machine {number}"));
            let listing = if is_metaserver { Vec::new() } else { self.published.listing() };
            let others = (self.several.servers..self.several.slots()).filter(|_| !is_metaserver);
            let join = others.map(|slot| self.several.name(slot)).collect();
            let random = self.random.next() as u32;
            machine.metaserver = Some(Metaserver::new(&name, join, listing, random));
        }
        self.machines.push(machine);
        self.several.lives[slot] = Some(number);
    }

    /// A link from a host to a server, if that lives: the host's end.
    pub(super) fn connect(
        &mut self,
        from: Host,
        slot: usize,
    ) -> Option<(Box<dyn ByteStream>, LinkId)> {
        let machine = self.several.lives[slot]?;
        let ends = (from, Host::Server(slot));
        let mut plan = self.plan.link();
        if self.several.thin.contains(&ends) {
            plan = LinkPlan { rate_bytes_per_s: plan.rate_bytes_per_s / 10, ..plan };
        }
        let pair = self.network.pair(plan).expect("the plan's link can be made");
        let now = self.machines[machine].now(&self.network);
        let node = self.machines[machine].node.as_mut()?;
        let connection = node.add(pair.far);
        let address = match from {
            Host::Client(index) => format!("client {index}"),
            Host::Server(slot) => self.several.name(slot),
        };
        let rights = Rights::all("inherited");
        let caller = Caller {
            address,
            rights,
            certificate: None,
            hosts: Default::default(),
            speaks: Default::default(),
        };
        let newcomer = Newcomer { caller, shares_memory: false, token: None, refusal: None };
        node.server.accepted(connection, newcomer, now);
        if self.has_several() {
            self.several.ways.push(Way { link: pair.link, ends });
            if let Some(until) = self.several.cut(ends) {
                self.network.silence(pair.link, until);
            }
        }
        Some((pair.near, pair.link))
    }

    /// A server passes a question about placement on.
    pub(super) fn ask_metaserver(&mut self, machine: usize, action: Action) {
        let machine = &mut self.machines[machine];
        let now = machine.now(&self.network);
        let both = machine.metaserver.as_mut().zip(machine.node.as_mut());
        assert!(both.is_some() || self.several.is_ending, "one server knows no others");
        if let Some((metaserver, node)) = both {
            metaserver.asked(now, node, action);
        }
    }

    pub(super) fn work_metaserver(&mut self, machine: usize) -> bool {
        let it = &mut self.machines[machine];
        let now = it.now(&self.network);
        let slot = it.slot;
        let Some((metaserver, node)) = it.metaserver.as_mut().zip(it.node.as_mut()) else {
            return false;
        };
        let moved = metaserver.work(now, node);
        for (number, name) in metaserver.take_dials() {
            let to = self.several.slot(&name);
            let stream = self.connect(Host::Server(slot), to).map(|(stream, _)| stream);
            if let Some(metaserver) = &mut self.machines[machine].metaserver {
                metaserver.reached(now, number, stream);
            }
        }
        moved
    }

    /// A client wants a call.
    pub(super) fn wish_of_client(&mut self, client: usize, wish: Wish) {
        if !self.has_several() {
            return self.seats[client].client.wish(wish);
        }
        let question = self.published.question(&wish.routine, wish.elements);
        self.several.placers[client].wish(wish, question);
    }

    /// A client wants a call no more.
    pub(super) fn cancel(&mut self, client: usize, number: u64) {
        if !self.has_several() {
            return self.seats[client].client.cancel(number);
        }
        let placer = &mut self.several.placers[client];
        match placer.server_of(number).map(str::to_owned) {
            Some(server) => {
                let seat = self.seat(client, self.several.slot(&server));
                seat.into_iter().for_each(|seat| self.seats[seat].client.cancel(number));
            }
            None => placer.cancel(number),
        }
    }

    /// A client ends.
    pub(super) fn client_ends(&mut self, client: usize) {
        let of_it = self.seats.iter_mut().filter(|seat| seat.owner == client);
        of_it.for_each(|seat| seat.client.leave());
        if self.has_several() {
            self.several.placers[client].leave();
        }
    }

    /// The connection of a client to a server, if there is one.
    fn seat(&self, client: usize, slot: usize) -> Option<usize> {
        let is_it =
            |seat: &Seat| (seat.owner, seat.slot) == (client, slot) && !seat.client.is_dead();
        self.seats.iter().position(is_it)
    }

    /// A call that was made at a server came back.
    pub(super) fn came_back(
        &mut self,
        seat: usize,
        number: u64,
        outcome: Result<Option<u64>, Loss>,
    ) {
        let now = self.network.now();
        let Seat { owner, slot, .. } = self.seats[seat];
        if let Err(loss) = &outcome {
            let name = self.several.name(slot);
            let why = loss.error.message();
            self.say(format!("call {number} came back from {name}: {why}"));
        }
        self.several.placers[owner].ended(now, number, outcome);
    }

    pub(super) fn work_placer(&mut self, client: usize) -> bool {
        let now = self.network.now();
        let moved = self.several.placers[client].work(now);
        for order in self.several.placers[client].take_orders() {
            match order {
                Order::Reach(name) => {
                    self.say(format!("client {client} connects to {name}"));
                    let slot = self.several.slot(&name);
                    let stream = self.connect(Host::Client(client), slot).map(|(stream, _)| stream);
                    self.several.placers[client].reached(now, stream);
                }
                Order::Open(wish, server) => self.open_at(client, wish, &server),
                Order::End(number, outcome) => {
                    self.call_ended(number, outcome.map_err(|error| error.kind()));
                }
            }
        }
        moved
    }

    /// Makes a call at a server, over a connection that there is, or another one.
    fn open_at(&mut self, client: usize, wish: Wish, server: &str) {
        let slot = self.several.slot(server);
        let seat = self.seat(client, slot).or_else(|| {
            let (stream, link) = self.connect(Host::Client(client), slot)?;
            let manner = self.manner(client);
            let made = Client::new(stream, manner, &self.network);
            self.seats.push(Seat { client: made, owner: client, slot, link });
            Some(self.seats.len() - 1)
        });
        match seat {
            Some(seat) => {
                self.say(format!("call {} goes to {server}", wish.number));
                self.seats[seat].client.wish(wish);
            }
            None => {
                let now = self.network.now();
                let error = crate::metaserver::nobody();
                self.several.placers[client].refused(now, wish.number, error);
            }
        }
    }

    /// All calls have ended: nobody reports, asks or places any more.
    pub(super) fn end_placing(&mut self) {
        self.several.is_ending = true;
        self.several.placers.iter_mut().for_each(Placer::leave);
        self.machines.iter_mut().for_each(|machine| machine.metaserver = None);
    }
}
