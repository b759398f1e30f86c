//! A world from its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Random, Result, SeededRandom, nearest};
use farcall_placement::queue::UserId;
use farcall_placement::{Limits, Placement, SiteId, policy};

use super::super::clients::{Crowd, Routine};
use super::super::plan::{Plan, RoutePlan, ServerPlan};
use super::super::results::Results;
use super::super::server::Server;
use super::super::time::Time;
use super::events::{Event, Events};
use super::roads::{Roads, Way};
use super::{Numbers, World};

/// Sites by name, in the order in which the plan names them.
#[derive(Default)]
struct Sites(BTreeMap<String, SiteId>);

impl Sites {
    fn id(&mut self, name: &str) -> SiteId {
        let next = SiteId(self.0.len() as u32);
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    fn known(&self, name: &str) -> Result<SiteId> {
        let names = || self.0.keys().map(String::as_str);
        self.0.get(name).copied().ok_or_else(|| missing("site", name, names()))
    }
}

impl<'p> World<'p> {
    pub(super) fn new(plan: &'p Plan, seed: u64) -> Result<World<'p>> {
        let mut sites = Sites::default();
        let servers = servers(plan, &mut sites)?;
        let routines: Vec<Routine> = plan
            .routine
            .iter()
            .map(|(name, routine)| Routine::new(name, routine))
            .collect::<Result<_>>()?;
        let crowds = crowds(plan, &mut sites, seed)?;
        let mut roads = Roads::default();
        for (name, link) in &plan.link {
            let rate = link.mb_per_s * 1e6;
            let both = [roads.network.add_link(rate), roads.network.add_link(rate)];
            roads.links.insert(name.clone(), both);
        }
        let placement_policy = policy::by_name(&plan.placement)
            .ok_or_else(|| missing("placement", &plan.placement, policy::NAMES.into_iter()))?;
        let mut world = World {
            plan,
            now: Time::ZERO,
            events: Events::default(),
            roads,
            contracts: routines.iter().map(|routine| routine.contract).collect(),
            routines,
            servers,
            members: Numbers::default(),
            reporting: BTreeSet::new(),
            crowds,
            placement: Placement::new(limits(), placement_policy),
            calls: BTreeMap::new(),
            begun: 0,
            results: Results::new(plan),
        };
        for route in &plan.route {
            world.add_route(route, &sites)?;
        }
        Ok(world)
    }

    fn add_route(&mut self, route: &RoutePlan, sites: &Sites) -> Result<()> {
        let a = sites.known(&route.between[0])?;
        let others = match route.between[1].as_str() {
            "*" => sites.0.values().copied().filter(|site| *site != a).collect(),
            name => vec![sites.known(name)?],
        };
        let mut there = Way::default();
        let mut back = there.clone();
        for name in &route.links {
            let names = self.plan.link.keys().map(String::as_str);
            let plan = self.plan.link.get(name).ok_or_else(|| missing("link", name, names))?;
            let [one, other] = self.roads.links[name];
            let flow = plan.flow_mb_per_s.map(|rate| rate * 1e6);
            for (way, link) in [(&mut there, one), (&mut back, other)] {
                way.links.push(link);
                way.latency_s += plan.latency_ms * 1e-3;
                way.flow_rate_max = match (way.flow_rate_max, flow) {
                    (Some(before), Some(own)) => Some(before.min(own)),
                    (before, own) => before.or(own),
                };
            }
        }
        for b in others {
            self.roads.ways.insert((a, b), there.clone());
            self.roads.ways.insert((b, a), back.clone());
        }
        Ok(())
    }

    /// Servers join, clients wait for their first call, and faults are foreseen.
    pub(super) fn begin(&mut self) -> Result<()> {
        for server in 0..self.servers.len() {
            self.report(server)?;
        }
        for crowd in 0..self.crowds.len() {
            if self.crowds[crowd].plan.calls_per_s.is_some() {
                self.next_arrival(crowd);
                continue;
            }
            for client in 0..self.crowds[crowd].plan.count {
                let pause = self.crowds[crowd].pause_s();
                self.events.push(self.now.after(pause), Event::Call { crowd, client });
            }
        }
        for (fault, plan) in self.plan.fault.iter().enumerate() {
            self.events.push(Time::ZERO.after(plan.at_s), Event::Fault { fault });
        }
        Ok(())
    }
}

/// Servers report when something changes, and a dead one is known at once: silence says nothing.
fn limits() -> Limits {
    let never = Duration::from_secs(1 << 40);
    Limits { suspect_after: never, gone_after: never, ..Limits::default() }
}

fn servers(plan: &Plan, sites: &mut Sites) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    for (name, server) in &plan.server {
        if server.count == 1 {
            servers.push(one_server(name, sites.id(&server.site), server)?);
            continue;
        }
        for number in 1..=server.count {
            let site = sites.id(&format!("{}-{number}", server.site));
            servers.push(one_server(&format!("{name}-{number}"), site, server)?);
        }
    }
    Ok(servers)
}

fn one_server(name: &str, site: SiteId, plan: &ServerPlan) -> Result<Server> {
    let is_number = plan.mflops.is_finite() && plan.mflops > 0.0;
    if !is_number {
        return Err(Error::new(ErrorKind::InvalidSource, "read a plan", "mflops must be above 0")
            .with("server", name)
            .fix("write how many million operations a second one processor does"));
    }
    Server::new(name, site, plan).map_err(|error| error.with("server", name))
}

fn crowds(plan: &Plan, sites: &mut Sites, seed: u64) -> Result<Vec<Crowd>> {
    let mut random = SeededRandom::new(seed);
    let mut crowds = Vec::new();
    for (user, (name, client)) in (0..).zip(&plan.client) {
        let names = || plan.routine.keys().map(String::as_str);
        let routine = plan.routine.keys().position(|routine| *routine == client.routine);
        let routine = routine.ok_or_else(|| missing("routine", &client.routine, names()))?;
        if let Some(at) = client.at.as_deref().filter(|at| !plan.server.contains_key(*at)) {
            return Err(missing("server", at, plan.server.keys().map(String::as_str)));
        }
        let site = sites.id(&client.site);
        crowds.push(Crowd::new(name, site, UserId(user), routine, client, random.next()));
    }
    Ok(crowds)
}

/// A name of the plan that stands for nothing.
pub(super) fn missing<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let wrong =
        Error::new(ErrorKind::InvalidSource, "read a plan", format!("there is no {what} {name}"));
    match nearest(name, known, 1).first() {
        Some(near) => wrong.fix(format!("did you mean {near}?")),
        None => wrong.fix(format!("add the {what}, or name one of the plan")),
    }
}
