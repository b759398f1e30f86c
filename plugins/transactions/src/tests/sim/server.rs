//! A simulated server: it runs calls, keeps data, and remembers clients that may come back
//! (spec/wire.md, sections 7 and 12).

mod calls;
mod data;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use farcall_base::{CallId, DataId, Error, ErrorKind, Instant, SeededRandom};
use farcall_link::line::Return;
use farcall_wire::{CallResult, Failure, Open, PullRequest, Reply, Request, TicketKey};

use super::graphs::{Value, interface_reply};

pub type ConnId = u64;
pub type Channel = u64;
pub type ClientKey = [u8; 16];

/// What a node says to a server.
#[derive(Clone, Debug)]
pub enum ToServer {
    Hello(Option<Return>),
    Ask(Channel, Request),
    /// With the calls whose outcomes it has.
    Open(Channel, Box<Open>, Vec<CallId>),
    Put(Channel, CallId, DataId, Value, Option<TicketKey>),
    Fetch(Channel, DataId),
    Resume(Channel, CallId),
    Cancel(Channel),
    /// It leaves in order.
    Leave,
    /// The connection is lost.
    Gone,
}

/// What a server says to a node.
#[derive(Clone, Debug)]
pub enum ToNode {
    Welcome,
    Reply(Channel, Reply),
    TakenUp(Channel),
    Ended(Channel, CallResult),
    Fetched(Channel, Value),
    Lost,
}

/// Who waits for data.
#[derive(Clone, Copy, Debug)]
pub enum Asker {
    Node(ConnId, Channel),
    /// Another server pulls it.
    Pull(u64),
    /// The client, which fetches a result.
    Client(u64),
}

/// What a server does beside changing its tables.
#[derive(Debug)]
pub enum Effect {
    Say(ConnId, ToNode),
    /// It closes a connection.
    Close(ConnId),
    /// A routine has begun.
    Begun(CallId, Duration),
    Pull(ConnId, Channel, Box<PullRequest>),
    Came(Asker, Result<Value, Failure>),
}

struct Conn {
    client: Option<ClientKey>,
}

/// A client that may come back.
struct Client {
    conn: Option<ConnId>,
    keep: Duration,
    forgotten: Option<Instant>,
    /// It says that it was here before, and that is unknown.
    is_stranger: bool,
    /// Calls that ended, and are kept no more.
    over: BTreeSet<CallId>,
}

enum CallState {
    Waiting,
    Running,
    Ended(CallResult),
}

struct Call {
    place: Option<(ConnId, Channel)>,
    client: Option<ClientKey>,
    open: Box<Open>,
    state: CallState,
}

enum Content {
    Coming(Option<CallId>),
    There(Value),
    Failed(Failure),
}

struct Data {
    content: Content,
    kind: String,
    is_promised: bool,
    owner: Option<ConnId>,
    client: Option<ClientKey>,
    expires: Option<Instant>,
    key: Option<TicketKey>,
    asking: Vec<Asker>,
}

/// A server.
pub struct Server {
    pub name: String,
    pub pulls: bool,
    /// Whether it has routines.
    pub runs_calls: bool,
    /// One of so many calls is refused; 0: none.
    pub refuses: u64,
    /// Of the server of a node: the key for what users put there.
    pub key: Option<TicketKey>,
    pub out: Vec<Effect>,
    conns: BTreeMap<ConnId, Conn>,
    clients: BTreeMap<ClientKey, Client>,
    calls: BTreeMap<CallId, Call>,
    queue: VecDeque<CallId>,
    data: BTreeMap<DataId, Data>,
    random: SeededRandom,
    now: Instant,
}

impl Server {
    /// One that has started.
    pub fn new(name: &str, seed: u64) -> Server {
        Server {
            name: name.to_owned(),
            pulls: true,
            runs_calls: true,
            refuses: 0,
            key: None,
            out: Vec::new(),
            conns: BTreeMap::new(),
            clients: BTreeMap::new(),
            calls: BTreeMap::new(),
            queue: VecDeque::new(),
            data: BTreeMap::new(),
            random: SeededRandom::new(seed),
            now: Instant(0),
        }
    }

    /// Something has come over a connection.
    pub fn handle(&mut self, now: Instant, conn: ConnId, said: ToServer) {
        self.tick(now);
        if let ToServer::Hello(returns) = said {
            return self.greeted(conn, returns);
        }
        if !self.conns.contains_key(&conn) {
            return;
        }
        match said {
            ToServer::Hello(_) => {}
            ToServer::Ask(channel, request) => self.asked(conn, channel, request),
            ToServer::Open(channel, open, acknowledged) => {
                acknowledged.iter().for_each(|call| self.acknowledged(conn, call));
                self.open(conn, channel, open);
            }
            ToServer::Put(channel, call, data, value, key) => {
                self.put(conn, channel, (call, data), value, key);
            }
            ToServer::Fetch(channel, data) => self.fetch(data, Asker::Node(conn, channel)),
            ToServer::Resume(channel, call) => self.resume(conn, channel, call),
            ToServer::Cancel(channel) => self.cancel(conn, channel),
            ToServer::Leave => self.ended(conn, true),
            ToServer::Gone => self.ended(conn, false),
        }
        self.begin_calls();
    }

    fn greeted(&mut self, conn: ConnId, returns: Option<Return>) {
        let client = returns.map(|returns| returns.name);
        self.conns.insert(conn, Conn { client });
        if let Some(Return { name, keep, again }) = returns {
            let before = self.clients.get(&name).and_then(|known| known.conn);
            if let Some(before) = before {
                self.out.push(Effect::Close(before));
                self.ended(before, false);
            }
            let known = self.clients.entry(name).or_insert(Client {
                conn: None,
                keep,
                forgotten: None,
                is_stranger: again > 0,
                over: BTreeSet::new(),
            });
            known.conn = Some(conn);
            known.keep = keep;
            known.forgotten = None;
            for data in self.data.values_mut().filter(|data| data.client == Some(name)) {
                data.owner = Some(conn);
                data.expires = None;
            }
        }
        self.out.push(Effect::Say(conn, ToNode::Welcome));
    }

    fn acknowledged(&mut self, conn: ConnId, call: &CallId) {
        let Some(client) = self.conns.get(&conn).and_then(|conn| conn.client) else { return };
        let is_over =
            self.calls.get(call).is_some_and(|it| matches!(it.state, CallState::Ended(_)));
        if is_over {
            self.calls.remove(call);
            if let Some(client) = self.clients.get_mut(&client) {
                client.over.insert(*call);
            }
        }
    }

    /// A connection has ended.
    fn ended(&mut self, conn: ConnId, in_order: bool) {
        let Some(Conn { client }) = self.conns.remove(&conn) else { return };
        let promised =
            self.data.iter().filter(|(_, data)| data.owner == Some(conn) && data.is_promised);
        let message = "the client that promised it has left";
        let error = Error::new(ErrorKind::ConnectionLost, "make data", message);
        for id in promised.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.break_promise(id, &Failure::from(&error));
        }
        let known = client.filter(|_| !in_order);
        let until = known.and_then(|name| {
            let client = self.clients.get_mut(&name)?;
            client.conn = None;
            client.forgotten = Some(self.now + client.keep);
            client.forgotten
        });
        let mine = self.data.iter_mut().filter(|(_, data)| data.owner == Some(conn));
        let mut gone = Vec::new();
        for (id, data) in mine {
            data.owner = None;
            data.expires = until;
            gone.extend(until.is_none().then_some(*id));
        }
        gone.into_iter().for_each(|id| self.delete(id));
        match until {
            Some(_) => {
                for call in self.calls.values_mut().filter(|call| call.client == client) {
                    call.place = None;
                }
            }
            None => {
                if let Some(name) = client {
                    self.clients.remove(&name);
                    self.forget_calls(name);
                }
            }
        }
    }

    fn forget_calls(&mut self, name: ClientKey) {
        let mine = self.calls.iter().filter(|(_, call)| call.client == Some(name));
        for id in mine.map(|(id, _)| *id).collect::<Vec<_>>() {
            let error = Error::new(ErrorKind::ConnectionLost, "run a routine", "its client left");
            self.finish(id, Err(Failure::from(&error)));
            self.calls.remove(&id);
        }
    }

    /// Forgets what is kept no longer.
    pub fn tick(&mut self, now: Instant) {
        self.now = now;
        let past = |at: &Option<Instant>| at.is_some_and(|at| at <= now);
        let clients = self.clients.iter().filter(|(_, client)| past(&client.forgotten));
        for name in clients.map(|(name, _)| *name).collect::<Vec<_>>() {
            self.clients.remove(&name);
            self.forget_calls(name);
        }
        let data = self.data.iter().filter(|(_, data)| past(&data.expires));
        for id in data.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.delete(id);
        }
    }

    fn asked(&mut self, conn: ConnId, channel: Channel, request: Request) {
        let reply = match request {
            Request::Interface(name) => {
                let is_placed = (!self.runs_calls).then_some(true);
                match interface_reply(&name, is_placed) {
                    Some(reply) => Reply::Interface(reply),
                    None => failed(ErrorKind::NotFound, "no such routine"),
                }
            }
            Request::Data(ids) => Reply::Data(self.statuses(&ids)),
            Request::DeleteData(ids) => {
                ids.into_iter().for_each(|id| self.delete(id));
                Reply::Done
            }
            Request::Promise(promises, _) => self.promise(conn, &promises),
            Request::Break(ids, failure) => {
                ids.into_iter().for_each(|id| self.break_promise(id, &failure));
                Reply::Done
            }
            Request::Pull(pull) => match self.check_pull(&pull) {
                Ok(()) => return self.out.push(Effect::Pull(conn, channel, pull)),
                Err(error) => Reply::Failed(error),
            },
            other => panic!("{other:?}"),
        };
        self.out.push(Effect::Say(conn, ToNode::Reply(channel, reply)));
    }

    /// All that is left, for people.
    pub fn left(&self) -> Vec<String> {
        let calls = self.calls.iter().map(|(id, call)| match &call.state {
            CallState::Waiting => format!("{}: call {id} waits", self.name),
            CallState::Running => format!("{}: call {id} runs", self.name),
            CallState::Ended(_) => format!("{}: call {id} is kept", self.name),
        });
        let clients = self.clients.len();
        let clients = (clients > 0).then(|| format!("{}: {clients} clients", self.name));
        let conns = self.conns.len();
        let conns = (conns > 0).then(|| format!("{}: {conns} connections", self.name));
        calls.chain(clients).chain(conns).chain(self.data_left()).collect()
    }
}

fn failed(kind: ErrorKind, message: &'static str) -> Reply {
    Reply::Failed(Failure::from(&Error::new(kind, "answer", message)))
}
