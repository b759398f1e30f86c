//! The world of a seed: nodes, servers, the store and the client in virtual time.

use std::collections::BTreeMap;

use farcall_base::{CallId, DataId, Error, ErrorKind, Instant};
use farcall_graph::CallNumber;
use farcall_services::store::Changed;
use farcall_services::transactions::key_of_user;
use farcall_wire::{
    Failure, PlaceAnswer, PlacedServer, Reply, Request, ServerPresence, ServerState, Ticket,
};

use super::client::Client;
use super::faults::{Fault, HEALED, Plan};
use super::graphs::{ID, Value, Work};
use super::net::{Event, Life, Link, MS, Net, SECOND, Stored};
use super::node::{Node, keys_of};
use super::server::{Asker, Channel, ConnId, Effect, Server, ToNode, ToServer};
use super::store::{LEASE, SharedStore};
use crate::state::Ids;

/// When a transaction that is not over counts as hanging, after all faults.
const PATIENCE: u64 = 300 * SECOND;
/// After the end: servers keep what a lost client may come back for.
const QUIET: u64 = 420 * SECOND;

/// A server pulls a value.
struct Pulling {
    conn: ConnId,
    channel: Channel,
    target: Life,
    data: DataId,
    source: usize,
    source_data: DataId,
    ticket: Ticket,
}

/// The world.
pub struct World {
    pub plan: Plan,
    pub work: Work,
    pub net: Net,
    pub nodes: Vec<Option<Node>>,
    servers: Vec<Option<Server>>,
    lives: Vec<u64>,
    pub store: SharedStore,
    pub client: Client,
    pulls: BTreeMap<u64, Pulling>,
    last: u64,
    /// How often each call has begun.
    runs: BTreeMap<u32, u32>,
    seed: u64,
}

impl World {
    pub fn new(seed: u64, plan: Plan, work: Work, prints: bool) -> World {
        let count = plan.nodes + plan.servers;
        let mut world = World {
            net: Net::new(seed, prints),
            nodes: (0..plan.nodes).map(|_| None).collect(),
            servers: (0..count).map(|_| None).collect(),
            lives: vec![0; count],
            store: SharedStore::new(),
            client: Client::new(),
            pulls: BTreeMap::new(),
            last: 0,
            runs: BTreeMap::new(),
            plan,
            work,
            seed,
        };
        for server in 0..count {
            world.start_server(server);
        }
        for node in 0..world.plan.nodes {
            world.start_node(node);
        }
        for (at, fault) in world.plan.faults.clone() {
            world.net.after(100 * MS + at, Event::Fault(fault));
        }
        let stays = Instant(world.net.now + 10_000 * SECOND);
        for (id, value) in world.work.inputs.clone() {
            if let Some(server) = &mut world.servers[0] {
                server.give(id, value, stays);
            }
        }
        world.net.after(50 * MS, Event::Begins);
        world
    }

    fn start_server(&mut self, at: usize) {
        let life = (at, self.lives[at]);
        let mut server = Server::new(&format!("s{at}"), self.seed ^ (at as u64 + 77));
        let is_node = at < self.plan.nodes;
        server.pulls = self.plan.pulls;
        server.runs_calls = !(is_node && self.plan.are_leaders);
        server.refuses = self.plan.refuses;
        server.key = is_node.then(|| key_of_user(&keys_of(life).here, "uid 7"));
        self.servers[at] = Some(server);
    }

    fn start_node(&mut self, at: usize) {
        let life = (at, self.lives[at]);
        let mut node = Node::new(life);
        node.work(&mut self.net);
        self.nodes[at] = Some(node);
        self.net.soon(Event::Changed(life, Changed::Lost));
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Result<World, String> {
        let until = self.net.now + HEALED + PATIENCE;
        while !self.client.is_over() {
            let Some(event) = self.net.next(until) else { break };
            self.happen(event)?;
        }
        if !self.client.is_over() && !self.plan.is_abandoned {
            return Err(format!("it hangs: {:?}, {:#?}", self.client.phase, self.state_of_nodes()));
        }
        let until = self.net.now.max(SECOND + HEALED) + QUIET;
        while let Some(event) = self.net.next(until) {
            self.happen(event)?;
        }
        self.judge_end()?;
        Ok(self)
    }

    /// Whether faults can still come.
    pub fn has_late_faults(&self) -> bool {
        self.plan.faults.len() > 1
    }

    fn state_of_nodes(&self) -> Vec<String> {
        self.nodes.iter().flatten().flat_map(Node::left).collect()
    }

    fn judge_end(&mut self) -> Result<(), String> {
        let mut left = self.state_of_nodes();
        left.extend(self.store.keys(self.net.now()).into_iter().map(|key| format!("store: {key}")));
        let now = self.net.now();
        for server in self.servers.iter_mut().flatten() {
            server.tick(now);
            left.extend(server.left());
        }
        if !left.is_empty() {
            return Err(format!("something is left ({:?}): {left:#?}", self.client.phase));
        }
        for (call, runs) in &self.runs {
            let may_run_again = !self.is_once(*call);
            if *runs > 1 && !may_run_again {
                return Err(format!("call {call} ran {runs} times"));
            }
        }
        Ok(())
    }

    fn is_once(&self, call: u32) -> bool {
        let routine = self.work.message.calls[call as usize].routine;
        self.work.message.routines[routine as usize].name.ends_with("_once")
    }

    /// A server, if it is in this life.
    pub fn server_at(&mut self, (at, life): Life) -> Option<&mut Server> {
        (self.lives[at] == life).then_some(())?;
        self.servers[at].as_mut()
    }

    fn node_at(&mut self, (at, life): Life) -> Option<&mut Node> {
        self.nodes[at].as_mut().filter(|node| node.life.1 == life)
    }

    fn with_node(&mut self, life: Life, what: impl FnOnce(&mut Node, &mut Net)) {
        let node = self.nodes[life.0].as_mut().filter(|node| node.life.1 == life.1);
        if let Some(node) = node {
            what(node, &mut self.net);
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        let now = self.net.now();
        match event {
            Event::ToServer(conn, said) => self.arrives(conn, said),
            Event::ToNode(conn, said) => {
                let Some(link) = self.net.links.get(&conn) else { return Ok(()) };
                if !link.is_cut || matches!(said, ToNode::Lost) {
                    let life = link.node;
                    self.with_node(life, |node, net| node.received(net, conn, said));
                }
            }
            Event::Dialled(life, line, server) => self.dialled(life, line, server),
            Event::CallEnds(life, call) => {
                if let Some(server) = self.server_at(life) {
                    server.returns(call);
                    self.effects(life.0);
                }
            }
            Event::PullAsks(pull) => self.pull_asks(pull),
            Event::Pulled(pull, outcome) => self.pulled(pull, outcome),
            Event::Ask(life, asked) => self.ask_store(life, asked),
            Event::Stored(life, stored) => self.stored(life, stored),
            Event::KeepLease(life) => self.keep_lease(life),
            Event::Changed(life, change) => self.with_node(life, |node, net| {
                node.state.handle_changed(change);
                node.work(net);
            }),
            Event::Tick(life, at) => self.with_node(life, |node, net| node.tick(net, at)),
            Event::Fault(fault) => self.go_wrong(fault),
            Event::NodeReturns(at) => self.node_returns(at),
            Event::ServerReturns(at) => self.server_returns(at),
            Event::Joined(node, server) => drop(self.net.cut.remove(&(node, server))),
            Event::StoreReturns(node) => self.store_returns(node),
            Event::StoreTicks => self.tell_changes(),
            Event::Begins => self.client_begins(),
            Event::Leaves(node, life, connection) => self.client_leaves(node, life, connection),
            Event::Visits(visit) => self.client_visits(visit),
            Event::Answered(life, question, answer) => {
                if self.node_at(life).is_some() {
                    return self.answered(life, question, answer);
                }
            }
            Event::Came(number, outcome) => return self.came(number, outcome),
        }
        let _ = now;
        Ok(())
    }

    fn arrives(&mut self, conn: ConnId, said: ToServer) {
        let Some(link) = self.net.links.get(&conn) else { return };
        if link.is_cut && !matches!(said, ToServer::Gone) {
            return;
        }
        let life = link.server;
        let node = link.node;
        let line = link.line;
        // What only the metaserver of a node knows.
        if let ToServer::Ask(channel, request @ (Request::Servers(..) | Request::Place(_))) = &said
        {
            let reply = self.place(life.0, request);
            return self.net.say_to_node(conn, ToNode::Reply(*channel, reply));
        }
        let now = self.net.now();
        self.net.say(|| format!("s{} n{} {line:?} < {}", life.0, node.0, shown(&said)));
        if let Some(server) = self.server_at(life) {
            server.handle(now, conn, said);
            self.effects(life.0);
        }
    }

    /// What a server does.
    pub fn effects(&mut self, at: usize) {
        let life = (at, self.lives[at]);
        while let Some(effect) =
            self.servers[at].as_mut().and_then(|it| (!it.out.is_empty()).then(|| it.out.remove(0)))
        {
            match effect {
                Effect::Say(conn, said) => self.net.say_to_node(conn, said),
                Effect::Close(conn) => self.net.say_to_node(conn, ToNode::Lost),
                Effect::Begun(call, time) => {
                    self.count_run(call);
                    self.net.say(|| format!("s{at}: call {call} begins"));
                    self.net.after(time.as_nanos() as u64, Event::CallEnds(life, call));
                }
                Effect::Pull(conn, channel, pull) => {
                    self.last += 1;
                    let source = pull.addresses.iter().find_map(|one| super::node::index_of(one));
                    let pulling = Pulling {
                        conn,
                        channel,
                        target: life,
                        data: pull.data,
                        source: source.unwrap(),
                        source_data: pull.source,
                        ticket: pull.ticket,
                    };
                    self.pulls.insert(self.last, pulling);
                    self.net.soon(Event::PullAsks(self.last));
                }
                Effect::Came(Asker::Pull(pull), outcome) => {
                    self.net.soon(Event::Pulled(pull, outcome));
                }
                Effect::Came(Asker::Client(number), outcome) => {
                    self.net.soon(Event::Came(number, outcome));
                }
                Effect::Came(Asker::Node(..), _) => {}
            }
        }
    }

    fn count_run(&mut self, call: CallId) {
        let own = Ids(ID).call(CallNumber(0), 0).0;
        if call.0[..8] == own[..8] {
            let number = u32::from_le_bytes(call.0[8..12].try_into().unwrap());
            *self.runs.entry(number).or_default() += 1;
        }
    }

    fn pull_asks(&mut self, number: u64) {
        let Some(pulling) = self.pulls.get(&number) else { return };
        let source = pulling.source;
        let data = pulling.source_data;
        match &mut self.servers[source] {
            Some(server) => server.fetch_by(data, &pulling.ticket.clone(), number),
            None => self.net.soon(Event::Pulled(number, Err(lost()))),
        }
        self.effects(source);
    }

    fn pulled(&mut self, number: u64, outcome: Result<Value, Failure>) {
        let Some(Pulling { conn, channel, target, data, .. }) = self.pulls.remove(&number) else {
            return;
        };
        let Some(server) = self.server_at(target) else { return };
        let reply = match server.pulled(data, outcome) {
            Ok(()) => Reply::Done,
            Err(failure) => Reply::Failed(failure),
        };
        server.out.push(Effect::Say(conn, ToNode::Reply(channel, reply)));
        self.effects(target.0);
    }

    fn dialled(
        &mut self,
        life: Life,
        line: crate::state::LineNumber,
        server: Result<usize, &'static str>,
    ) {
        let error =
            |message: &'static str| Error::new(ErrorKind::Unreachable, "reach a server", message);
        let outcome = match server {
            Err(why) => Err(error(why)),
            Ok(at) if self.net.cut.contains(&(life.0, at)) => Err(error("it does not answer")),
            Ok(at) if self.servers[at].is_none() => Err(error("nobody listens")),
            Ok(at) => Ok((at, self.lives[at])),
        };
        self.with_node(life, |node, net| node.dialled(net, line, outcome));
    }

    /// What the metaserver of a node says of others.
    fn place(&mut self, node: usize, request: &Request) -> Reply {
        let count = self.servers.len();
        let others = (0..count).filter(|at| *at == node || self.servers[*at].is_some());
        if let Request::Servers(..) = request {
            let state = |at: usize| ServerState {
                name: format!("unix:/s{at}"),
                presence: ServerPresence::Up,
                addresses: vec![format!("unix:/s{at}")],
                processors: 2,
                is_self: at == node,
                ..ServerState::default()
            };
            return Reply::Servers(others.map(state).collect());
        }
        let able = others.filter(|at| self.servers[*at].as_ref().is_some_and(|one| one.runs_calls));
        let placed = |at: usize| PlacedServer {
            name: format!("unix:/s{at}"),
            addresses: vec![format!("unix:/s{at}")],
            run_s: 0.1,
            is_self: at == node,
            ..PlacedServer::default()
        };
        let servers = able.map(placed).collect();
        let passed = Vec::new();
        Reply::Placed(Box::new(PlaceAnswer {
            grant: 1,
            valid_us: 1,
            servers,
            metaservers: Vec::new(),
            passed,
        }))
    }
}

fn lost() -> Failure {
    let message = "the source is lost";
    Failure::from(&Error::new(ErrorKind::ConnectionLost, "pull data", message))
}

fn shown(said: &ToServer) -> String {
    match said {
        ToServer::Open(channel, open, told) => {
            format!("Open({channel}, {} {}, {} taken)", open.routine, open.call, told.len())
        }
        ToServer::Put(channel, call, data, ..) => format!("Put({channel}, {call}, {data})"),
        other => format!("{other:?}"),
    }
}

mod failing;
