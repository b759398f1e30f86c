//! One run of a study: clients call, the shipped placement decides, links and servers take time.

mod calls;
mod events;
mod faults;
mod roads;
mod setup;

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::Result;
use farcall_placement::{Contract, MemberId, Placement};

use super::clients::{Crowd, Routine};
use super::plan::Plan;
use super::results::{Ran, Results};
use super::server::{CallNumber, Server};
use super::time::Time;
use calls::Call;
use events::{Event, Events};
use roads::Roads;

/// Servers by what the placement calls them, and the other way.
#[derive(Default)]
struct Numbers {
    servers: BTreeMap<MemberId, usize>,
    members: BTreeMap<usize, MemberId>,
}

/// A run.
pub struct World<'p> {
    plan: &'p Plan,
    now: Time,
    events: Events,
    roads: Roads,
    routines: Vec<Routine>,
    contracts: BTreeSet<Contract>,
    servers: Vec<Server>,
    members: Numbers,
    /// Servers that will report soon.
    reporting: BTreeSet<usize>,
    crowds: Vec<Crowd>,
    placement: Placement,
    calls: BTreeMap<CallNumber, Call>,
    begun: u64,
    results: Results,
}

impl<'p> World<'p> {
    /// Runs a plan from its beginning to its end.
    ///
    /// # Errors
    /// `InvalidSource` for a plan that names what does not exist; the errors of its interfaces.
    pub fn run(plan: &'p Plan, seed: u64) -> Result<Results> {
        let mut world = World::new(plan, seed)?;
        world.begin()?;
        while world.results.ended() < plan.calls && world.step()? {}
        world.results.end(world.now, &world.servers);
        Ok(world.results)
    }

    /// The next thing that happens; whether anything did.
    fn step(&mut self) -> Result<bool> {
        let flow = self.roads.network.next_end();
        let event = self.events.next_time();
        match (flow, event) {
            (Some((time, key)), Some(other)) if time <= other => self.end_flow(time, key)?,
            (Some((time, key)), None) => self.end_flow(time, key)?,
            (_, None) => return Ok(false),
            (_, Some(time)) => {
                self.now = time;
                if let Some(event) = self.events.pop() {
                    self.happen(event)?;
                }
            }
        }
        Ok(true)
    }

    fn happen(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Call { crowd, client } => self.begin_call(crowd, Some(client)),
            Event::Arrival { crowd } => {
                self.next_arrival(crowd);
                self.begin_call(crowd, None)
            }
            Event::Flow { flow } => {
                self.begin_flow(flow);
                Ok(())
            }
            Event::RunEnd { server, epoch } => {
                self.run_end(server, epoch);
                Ok(())
            }
            Event::Report { server } => self.report(server),
            Event::Fault { fault } => self.fault(fault),
        }
    }

    /// A call ended: what it was goes to the results, and its client goes on.
    fn note(&mut self, ran: Ran) {
        self.results.note(ran);
    }
}
