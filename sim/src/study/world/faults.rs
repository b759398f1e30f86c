//! Reports of servers, and what goes wrong.

use farcall_base::Result;

use super::super::server::CallNumber;
use super::World;
use super::events::Event;
use super::setup::missing;

impl World<'_> {
    /// A server tells how it is.
    pub(super) fn report(&mut self, server: usize) -> Result<()> {
        self.reporting.remove(&server);
        if !self.servers[server].alive {
            return Ok(());
        }
        let report = self.servers[server].report(self.now, &self.contracts);
        let name = self.servers[server].name.clone();
        let member = self.placement.handle_report(self.now.instant(), &name, report)?;
        self.members.servers.insert(member, server);
        self.members.members.insert(server, member);
        Ok(())
    }

    /// A server whose state changed tells so, a while after its last report.
    pub(super) fn report_soon(&mut self, server: usize) {
        if self.reporting.insert(server) {
            let time = self.now.after(self.plan.report_s);
            self.events.push(time, Event::Report { server });
        }
    }

    pub(super) fn fault(&mut self, fault: usize) -> Result<()> {
        let plan = &self.plan.fault[fault];
        if let (Some(name), Some(rate)) = (&plan.link, plan.mb_per_s) {
            let links = &self.roads.links;
            let names = links.keys().map(String::as_str);
            let both = *links.get(name).ok_or_else(|| missing("link", name, names))?;
            for link in both {
                self.roads.network.set_rate(self.now, link, rate * 1e6);
            }
        }
        let Some(name) = &plan.server else { return Ok(()) };
        let found = self.servers.iter().position(|server| server.name == *name);
        let names = || self.servers.iter().map(|server| server.name.as_str());
        let server = found.ok_or_else(|| missing("server", name, names()))?;
        if plan.back {
            self.servers[server].alive = true;
            return self.report(server);
        }
        self.lose(server)
    }

    /// A server dies: calls that it had, and those on their way to it or from it, go elsewhere.
    fn lose(&mut self, server: usize) -> Result<()> {
        self.servers[server].die(self.now);
        if let Some(member) = self.member_of(server) {
            self.placement.handle_loss(member);
        }
        let lost: Vec<CallNumber> = self
            .calls
            .iter()
            .filter(|(_, call)| call.server == server)
            .map(|(number, _)| *number)
            .collect();
        lost.into_iter().try_for_each(|call| self.send_elsewhere(call))
    }
}
