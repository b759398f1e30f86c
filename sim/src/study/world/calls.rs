//! A call from its beginning to its end.

use farcall_base::Result;
use farcall_placement::queue::QueuedCall;
use farcall_placement::{GrantId, MemberId, Outcome, Question, Run, Sent, SiteId};

use super::super::clients::Drawn;
use super::super::network::FlowKey;
use super::super::results::Ran;
use super::super::server::{Arrival, CallNumber};
use super::super::time::Time;
use super::World;
use super::events::Event;
use super::setup::missing;

/// A call that has not ended.
#[derive(Clone, Debug)]
pub struct Call {
    crowd: usize,
    client: Option<u32>,
    drawn: Drawn,
    pub server: usize,
    grant: Option<GrantId>,
    predicted_s: Option<f64>,
    submitted: Time,
    /// When its arguments were all at the server.
    received: Time,
    begun: Time,
    ended: Time,
    threads: u32,
    /// Servers that it was on when they died.
    without: Vec<MemberId>,
}

/// Each call has two flows: there, and back.
fn flow_key(call: CallNumber, is_back: bool) -> FlowKey {
    call * 2 + u64::from(is_back)
}

impl World<'_> {
    pub(super) fn next_arrival(&mut self, crowd: usize) {
        let Some(rate) = self.crowds[crowd].plan.calls_per_s else { return };
        let pause = self.crowds[crowd].exponential(1.0 / rate);
        self.events.push(self.now.after(pause), Event::Arrival { crowd });
    }

    /// A client calls.
    pub(super) fn begin_call(&mut self, crowd: usize, client: Option<u32>) -> Result<()> {
        let routine = self.crowds[crowd].routine;
        let drawn = self.crowds[crowd].draw(&self.routines[routine])?;
        let number = self.begun;
        self.begun += 1;
        let call = Call {
            crowd,
            client,
            drawn,
            server: 0,
            grant: None,
            predicted_s: None,
            submitted: self.now,
            received: self.now,
            begun: self.now,
            ended: self.now,
            threads: 1,
            without: Vec::new(),
        };
        self.calls.insert(number, call);
        self.send(number)
    }

    /// A call is bound to a server, and its arguments leave.
    fn send(&mut self, number: CallNumber) -> Result<()> {
        let Some(call) = self.calls.get(&number) else { return Ok(()) };
        let (server, grant, predicted_s) = match &self.crowds[call.crowd].plan.at {
            Some(name) => (self.server_named(name)?, None, None),
            None => {
                let question = self.question(call);
                match self.placement.handle_question(self.now.instant(), &question) {
                    Ok(grant) => {
                        let first = &grant.servers[0].candidate;
                        (self.members.servers[&first.member], Some(grant.id), Some(first.total_s()))
                    }
                    Err(_) => return self.fail(number),
                }
            }
        };
        if !self.servers[server].alive {
            return self.fail(number);
        }
        let bytes = call.drawn.demand.bytes_in;
        let crowd = call.crowd;
        if let Some(call) = self.calls.get_mut(&number) {
            call.server = server;
            call.grant = grant;
            call.predicted_s = predicted_s;
        }
        let sites = [self.crowds[crowd].site, self.servers[server].site];
        self.transfer(flow_key(number, false), sites, bytes);
        Ok(())
    }

    fn server_named(&self, name: &str) -> Result<usize> {
        let names = || self.servers.iter().map(|server| server.name.as_str());
        let found = self.servers.iter().position(|server| server.name == name);
        found.ok_or_else(|| missing("server", name, names()))
    }

    fn question(&self, call: &Call) -> Question {
        let crowd = &self.crowds[call.crowd];
        Question {
            contract: self.routines[crowd.routine].contract,
            work: call.drawn.work,
            processors: call.drawn.processors.unwrap_or(1),
            bytes_in: call.drawn.demand.bytes_in,
            bytes_out: call.drawn.demand.bytes_out,
            site: crowd.site,
            deadline_s: crowd.plan.deadline_s,
            without: call.without.clone(),
        }
    }

    /// Bytes leave; the first of them arrives after the way's latency.
    fn transfer(&mut self, key: FlowKey, sites: [SiteId; 2], bytes: f64) {
        let latency = self.roads.leave(key, sites, bytes);
        self.events.push(self.now.after(latency), Event::Flow { flow: key });
    }

    pub(super) fn begin_flow(&mut self, key: FlowKey) {
        if !self.roads.begin(self.now, key) || !key.is_multiple_of(2) {
            return;
        }
        if let Some(call) = self.calls.get(&(key / 2)) {
            let server = call.server;
            self.servers[server].handle_beginning(call.grant);
            self.report_soon(server);
        }
    }

    /// A transfer ended.
    pub(super) fn end_flow(&mut self, time: Time, key: FlowKey) -> Result<()> {
        self.now = time;
        self.roads.network.end(time, key);
        let call = key / 2;
        if key.is_multiple_of(2) {
            self.received(call);
            return Ok(());
        }
        self.returned(call)
    }

    /// All arguments of a call are at its server.
    pub(super) fn received(&mut self, number: CallNumber) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.received = self.now;
        let crowd = &self.crowds[call.crowd];
        let routine = &self.routines[crowd.routine];
        let server = call.server;
        let demand = &call.drawn.demand;
        let computing = call.drawn.alone_s.unwrap_or_else(|| {
            demand.operations.unwrap_or(0.0) / (self.servers[server].mflops * 1e6)
        });
        let moving = routine.byte_s * (demand.bytes_in + demand.bytes_out);
        let left_s = crowd.plan.deadline_s.map(|limit| call.submitted.after(limit).instant());
        let queued = QueuedCall {
            user: crowd.user,
            arrived: self.now.instant(),
            run_s: 0.0,
            processors: 1,
            deadline: left_s,
        };
        let arrival = Arrival {
            queued,
            contract: routine.contract,
            work: call.drawn.work,
            alone_s: routine.setup_s + computing + moving,
            processors: call.drawn.processors,
            grant: call.grant,
        };
        self.servers[server].handle_arrival(self.now, number, arrival);
        self.foresee(server);
    }

    /// The server's next end, and that it has something to tell.
    fn foresee(&mut self, server: usize) {
        let epoch = self.servers[server].epoch;
        if let Some((time, _)) = self.servers[server].next_end(self.now) {
            self.events.push(time, Event::RunEnd { server, epoch });
        }
        self.report_soon(server);
    }

    /// A call has run; its results leave.
    pub(super) fn run_end(&mut self, server: usize, epoch: u64) {
        if self.servers[server].epoch != epoch {
            return;
        }
        let Some((_, number)) = self.servers[server].next_end(self.now) else { return };
        let Some((ended, _)) = self.servers[server].handle_end(self.now, number) else { return };
        let seconds = self.now.since(ended.begun);
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.begun = ended.begun;
        call.ended = self.now;
        call.threads = ended.threads;
        let run = Run {
            contract: ended.arrival.contract,
            // What the placement asked for: it does not know how many threads a server gives.
            work: call.drawn.work,
            seconds,
            waited_s: ended.begun.since(call.received),
            grant: call.grant,
        };
        let bytes = call.drawn.demand.bytes_out;
        let crowd = call.crowd;
        if let Some(member) = self.member_of(server) {
            self.placement.handle_run(member, &run);
        }
        let sites = [self.servers[server].site, self.crowds[crowd].site];
        self.transfer(flow_key(number, true), sites, bytes);
        self.foresee(server);
    }

    pub(super) fn member_of(&self, server: usize) -> Option<MemberId> {
        self.members.members.get(&server).copied()
    }

    /// All results of a call are at its client.
    pub(super) fn returned(&mut self, number: CallNumber) -> Result<()> {
        let Some(call) = self.calls.remove(&number) else { return Ok(()) };
        if let Some(grant) = call.grant {
            let sent = Sent {
                bytes: call.drawn.demand.bytes_in,
                seconds: call.received.since(call.submitted),
            };
            let returned =
                Sent { bytes: call.drawn.demand.bytes_out, seconds: self.now.since(call.ended) };
            self.placement.handle_outcome(&Outcome {
                grant,
                site: self.crowds[call.crowd].site,
                member: self.member_of(call.server),
                sent: Some(sent),
                returned: Some(returned),
            });
        }
        self.go_on(&call);
        self.note(Ran {
            crowd: self.crowds[call.crowd].name.clone(),
            server: Some(self.servers[call.server].name.clone()),
            sizes: call.drawn.sizes,
            operations: call.drawn.demand.operations.unwrap_or(0.0),
            bytes: call.drawn.demand.bytes_in + call.drawn.demand.bytes_out,
            threads: call.threads,
            submitted: call.submitted,
            received: call.received,
            begun: call.begun,
            ended: call.ended,
            completed: self.now,
            predicted_s: call.predicted_s,
        });
        Ok(())
    }

    /// The client of a call waits for its next one.
    fn go_on(&mut self, call: &Call) {
        let Some(client) = call.client else { return };
        let pause = self.crowds[call.crowd].pause_s();
        self.events.push(self.now.after(pause), Event::Call { crowd: call.crowd, client });
    }

    /// A call's server died: it goes elsewhere.
    pub(super) fn send_elsewhere(&mut self, number: CallNumber) -> Result<()> {
        self.roads.give_up(self.now, flow_key(number, false));
        self.roads.give_up(self.now, flow_key(number, true));
        let Some(call) = self.calls.get(&number) else { return Ok(()) };
        let member = self.member_of(call.server);
        if let Some(grant) = call.grant {
            let site = self.crowds[call.crowd].site;
            let nowhere = Outcome { grant, site, member: None, sent: None, returned: None };
            self.placement.handle_outcome(&nowhere);
        }
        if let Some(call) = self.calls.get_mut(&number) {
            call.without.extend(member);
        }
        self.send(number)
    }

    /// No server can run a call.
    fn fail(&mut self, number: CallNumber) -> Result<()> {
        let Some(call) = self.calls.remove(&number) else { return Ok(()) };
        self.go_on(&call);
        self.note(Ran::failed(
            self.crowds[call.crowd].name.clone(),
            call.drawn.sizes,
            call.submitted,
            self.now,
        ));
        Ok(())
    }
}
