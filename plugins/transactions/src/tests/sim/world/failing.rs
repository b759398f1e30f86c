//! What goes wrong, and the store.

use farcall_services::store::Changed;

use super::{Fault, LEASE, Life, Link, MS, SECOND, Stored, ToNode, ToServer, World, lost};
use crate::tests::sim::net::{Asked, Event};
use farcall_base::Random;

impl World {
    pub(super) fn go_wrong(&mut self, fault: Fault) {
        self.net.say(|| format!("--- {fault:?}"));
        match fault {
            Fault::KillNode(node, returns) => {
                if self.nodes[node].is_some() {
                    self.kill_node(node);
                    if let Some(time) = returns {
                        self.net.after(time, Event::NodeReturns(node));
                    }
                }
            }
            Fault::KillServer(at, returns) => {
                if at >= self.nodes.len() && self.servers[at].is_some() {
                    self.kill_server(at);
                    if let Some(time) = returns {
                        self.net.after(time, Event::ServerReturns(at));
                    }
                }
            }
            Fault::Cut(node, server, time) => {
                if node != server {
                    self.net.cut.insert((node, server));
                    self.net.after(time, Event::Joined(node, server));
                    self.cut(node, server);
                }
            }
            Fault::Break(node, server) => {
                if node != server {
                    self.cut(node, server);
                }
            }
            Fault::StoreAway(time) => {
                self.store.is_away = true;
                self.net.after(time, Event::StoreReturns(None));
            }
            Fault::CutStore(node, time) => {
                self.store.cut.insert(node);
                self.net.after(time, Event::StoreReturns(Some(node)));
            }
            Fault::Unanswered(node, count) => drop(self.store.unanswered.insert(node, count)),
            Fault::EndLease(node) => {
                if let Some(lease) = self.nodes[node].as_ref().and_then(|node| node.lease) {
                    self.store.store.end(lease);
                    self.tell_changes();
                }
            }
            Fault::Vanish(at, drawn) => {
                let lost = self.servers[at].as_mut().and_then(|server| server.lose_one(drawn));
                self.net.say(|| format!("{lost:?} vanishes"));
                self.effects(at);
            }
            Fault::ClientEnds => self.client_ends(),
            Fault::Heal => self.heal(),
        }
    }

    fn heal(&mut self) {
        self.net.cut.clear();
        self.store_returns(None);
        self.store.unanswered.clear();
        for node in std::mem::take(&mut self.store.cut) {
            self.store_returns(Some(node));
        }
        if self.nodes.iter().all(Option::is_none) {
            self.node_returns(0);
        }
        // Some server has to run the calls.
        if self.plan.are_leaders {
            self.server_returns(self.plan.nodes);
        }
    }

    fn kill_node(&mut self, at: usize) {
        let life = (at, self.lives[at]);
        self.nodes[at] = None;
        self.node_left_client(life);
        self.kill_server(at);
        for conn in self.net.links_of(|link| link.node == life) {
            self.net.say_to_server(conn, ToServer::Gone);
        }
    }

    fn kill_server(&mut self, at: usize) {
        let life = (at, self.lives[at]);
        self.servers[at] = None;
        self.lives[at] += 1;
        for conn in self.net.links_of(|link| link.server == life) {
            self.net.say_to_node(conn, ToNode::Lost);
        }
        let hit = self.pulls.iter().filter(|(_, pull)| pull.source == at);
        for pull in hit.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.net.soon(Event::Pulled(pull, Err(lost())));
        }
    }

    pub(super) fn node_returns(&mut self, at: usize) {
        if self.nodes[at].is_none() {
            self.net.say(|| format!("n{at} is started again"));
            self.start_server(at);
            self.start_node(at);
        }
    }

    pub(super) fn server_returns(&mut self, at: usize) {
        if self.servers[at].is_none() {
            self.net.say(|| format!("s{at} is started again"));
            self.start_server(at);
        }
    }

    /// Connections between a node and a server are lost, with what is on its way; the two notice that
    /// when they do.
    fn cut(&mut self, node: usize, server: usize) {
        let between = |link: &Link| !link.is_cut && link.node.0 == node && link.server.0 == server;
        for conn in self.net.links_of(between) {
            if let Some(link) = self.net.links.get_mut(&conn) {
                link.is_cut = true;
            }
            let late = self.net.random.next() % (3 * SECOND);
            self.net.after(late, Event::ToNode(conn, ToNode::Lost));
            let late = self.net.random.next() % (3 * SECOND);
            self.net.after(late, Event::ToServer(conn, ToServer::Gone));
        }
    }

    pub(super) fn ask_store(&mut self, life: Life, asked: Asked) {
        // What was sent is done, whether its node lives or not.
        let now = self.net.now();
        let (stored, is_slow) = self.store.answer(now, life.0, asked, &mut self.net.random);
        self.net.say(|| format!("store to n{}: {stored:?}", life.0).chars().take(300).collect());
        if is_slow {
            let late = MS * 100 + self.net.random.next() % (2 * SECOND);
            self.net.after(late, Event::Stored(life, stored));
        } else {
            self.net.soon(Event::Stored(life, stored));
        }
        self.tell_changes();
    }

    /// Watches are told of owners that went.
    pub(super) fn tell_changes(&mut self) {
        let now = self.net.now();
        for change in self.store.changes(now) {
            self.net.say(|| format!("{change:?}"));
            for node in 0..self.nodes.len() {
                if self.store.is_reached(node) {
                    let life = (node, self.lives[node]);
                    self.net.soon(Event::Changed(life, change.clone()));
                }
            }
        }
    }

    pub(super) fn stored(&mut self, life: Life, stored: Stored) {
        if let Stored::Lease(Ok(lease)) = &stored
            && let Some(node) = self.node_at(life)
        {
            node.lease = Some(*lease);
            self.net.after(LEASE.as_nanos() as u64 / 3, Event::KeepLease(life));
        }
        self.with_node(life, |node, net| {
            let now = net.now();
            match stored {
                Stored::Written(ticket, outcome) => {
                    node.state.handle_written(now, ticket, outcome);
                }
                Stored::Read(ticket, outcome) => node.state.handle_read(now, ticket, outcome),
                Stored::Lease(outcome) => node.state.handle_lease(now, outcome),
            }
            node.work(net);
        });
    }

    pub(super) fn keep_lease(&mut self, life: Life) {
        let now = self.net.now();
        let end = LEASE.as_nanos() as u64 + MS;
        self.net.after(end, Event::StoreTicks);
        let Some(lease) = self.node_at(life).and_then(|node| node.lease) else { return };
        if self.store.keep(now, life.0, lease) {
            self.net.after(LEASE.as_nanos() as u64 / 3, Event::KeepLease(life));
        }
        self.tell_changes();
    }

    pub(super) fn store_returns(&mut self, node: Option<usize>) {
        match node {
            None => self.store.is_away = false,
            Some(node) => drop(self.store.cut.remove(&node)),
        }
        let now = self.net.now();
        self.store.store.tick(now);
        self.tell_changes();
        // Who missed something is told so.
        for at in 0..self.nodes.len() {
            if node.is_none_or(|node| node == at) && self.store.is_reached(at) {
                let life = (at, self.lives[at]);
                self.net.soon(Event::Changed(life, Changed::Lost));
            }
        }
    }
}
