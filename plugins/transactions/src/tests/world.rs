//! A store in memory, and nodes whose servers do what the test says.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, Instant, Result, TransactionId};
use farcall_graph::{Argument, CallMessage, CallNumber, Message, RoutineName, ServerNumber};
use farcall_idl::encode::encode_interface;
use farcall_services::directory::Visible;
use farcall_services::mailbox::{Reply as Answered, question};
use farcall_services::store::{LeaseId, MemoryStore, Request as Asked, Version};
use farcall_services::transactions::{Asker, User};
use farcall_wire::{
    CallResult, CallTimes, DATA, Failure, InterfaceReply, Reply, Request, TransactionBegin,
    TransactionRequest,
};

use crate::options::Settings;
use crate::state::kept::{Keys, records};
use crate::state::{
    Action, HERE, LineNumber, QuestionNumber, SecretKeys, Server, State, Store, Tag, Ticket,
    TransactionNumber, Way,
};

pub const ID: TransactionId = TransactionId([9; 16]);
const ROUTINES: &str = "Module small;\nDefine nothing(IN int x) Idempotent { }\n";
const CONTRACT: [u8; 32] = [1; 32];

/// What the nodes share.
pub struct World {
    pub now: Instant,
    pub store: MemoryStore,
    /// Whether nobody reaches the store.
    pub is_away: bool,
    /// After so many writes nobody reaches it.
    pub writes_left: Option<u32>,
    /// Writes that are done, and of which nobody is told.
    pub answers_lost: u32,
    /// Nodes that were started.
    pub started: Vec<String>,
    /// Processes that have ended, and of which that is known.
    pub ended: Vec<String>,
}

impl World {
    pub fn new() -> World {
        let now = Instant(1_000_000_000_000);
        let store = MemoryStore::new(1 << 24);
        World {
            now,
            store,
            is_away: false,
            writes_left: None,
            answers_lost: 0,
            started: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// All keys that there are.
    pub fn keys(&mut self) -> Vec<String> {
        let page = self.store.read(self.now, "", None, 1000).unwrap();
        page.into_iter().map(|entry| entry.key).collect()
    }

    /// How many records have a row of a call, in the encoding of the graph's own: by its number and
    /// its state.
    pub fn records_with(&mut self, call: CallNumber) -> usize {
        let page = self.store.read(self.now, &Keys(ID).all(), None, 1000).unwrap();
        let parts: BTreeMap<_, _> = page.into_iter().map(|one| (one.key, one.value)).collect();
        let (_, all) = records(Keys(ID), &parts).unwrap();
        let rows = |record: &crate::state::kept::Record| {
            let graph = record.graph.as_ref().map(|graph| graph.to_vec()).unwrap_or_default();
            calls_of(&graph).contains(&call.0)
        };
        all.iter().filter(|record| rows(record)).count()
    }

    fn refuses(&mut self, is_write: bool) -> bool {
        if is_write && let Some(left) = &mut self.writes_left {
            if *left == 0 {
                return true;
            }
            *left -= 1;
        }
        self.is_away
    }

    fn asked<T: Send + 'static>(
        &mut self,
        is_write: bool,
        request: impl FnOnce(Answered<T>) -> Asked,
    ) -> Result<T> {
        if self.refuses(is_write) {
            return Err(Error::new(ErrorKind::Unavailable, "ask the store", "it is away"));
        }
        let (reply, answer) = question()?;
        self.store.handle(self.now, request(reply));
        answer.wait(Duration::ZERO)
    }
}

/// The calls that a record of a graph has rows of (spec/transactions.md, section 5).
fn calls_of(graph: &[u8]) -> Vec<u32> {
    let mut decoder = minicbor::Decoder::new(graph);
    let mut found = Vec::new();
    let mut read = || -> std::result::Result<(), minicbor::decode::Error> {
        decoder.array()?;
        decoder.skip()?;
        for _ in 0..decoder.map()?.unwrap_or(0) {
            if decoder.u32()? != 4 {
                decoder.skip()?;
                continue;
            }
            for _ in 0..decoder.array()?.unwrap_or(0) {
                let fields = decoder.array()?.unwrap_or(0);
                found.push(decoder.u32()?);
                for _ in 1..fields {
                    decoder.skip()?;
                }
            }
        }
        Ok(())
    };
    read().ok();
    found
}

/// A node: its plugin, and what its server was told.
pub struct Node {
    pub state: State,
    pub lease: Option<LeaseId>,
    /// Users that it connected for without a client.
    pub connected_for: Vec<String>,
    /// Whether it left its servers in order, or just closed the connections.
    pub left: bool,
    pub dropped: bool,
    pub warned: Vec<String>,
    /// Whether nothing comes of what it asks others.
    pub is_alone: bool,
    opened: Vec<(CallNumber, ServerNumber)>,
    tags: BTreeMap<CallNumber, Tag>,
    answers: Vec<std::result::Result<Reply, (ErrorKind, String)>>,
    number: Option<TransactionNumber>,
    asked: u64,
    interfaces: Vec<(ServerNumber, String)>,
    run: [u8; 16],
}

/// A node that has started.
pub fn node(world: &mut World, name: &str) -> Node {
    let key = farcall_wire::TicketKey([7; 32]);
    let keys = SecretKeys { made: key, here: key };
    let mut state = State::new(Settings::default(), 4, true, keys);
    // Each start of a node is another process.
    let before = world.started.iter().filter(|other| *other == name).count();
    world.started.push(name.to_owned());
    let process = if before == 0 { name.to_owned() } else { format!("{name}, start {before}") };
    let store = Store { name: "memory".to_owned(), node: name.to_owned(), process, zero_us: 0 };
    state.handle_store(store);
    state.handle_changed(farcall_services::store::Changed::Lost);
    let mut run = [0; 16];
    run[..name.len()].copy_from_slice(name.as_bytes());
    let mut node = Node {
        state,
        lease: None,
        connected_for: Vec::new(),
        left: false,
        dropped: false,
        warned: Vec::new(),
        is_alone: false,
        opened: Vec::new(),
        tags: BTreeMap::new(),
        answers: Vec::new(),
        number: None,
        asked: 0,
        interfaces: Vec::new(),
        run,
    };
    node.work(world);
    node
}

impl Node {
    /// The transaction.
    pub fn number(&self) -> TransactionNumber {
        self.number.unwrap()
    }

    /// A client begins a transaction of so many calls that do not need one another.
    pub fn begin(&mut self, _: &mut World, calls: u32) {
        let routine = RoutineName { name: "small/nothing".to_owned(), contract: CONTRACT };
        let arguments = vec![Argument::Inline(vec![0; 4])];
        let call = CallMessage { routine: 0, arguments, after: Vec::new() };
        let message = Message {
            routines: vec![routine],
            calls: (0..calls).map(|_| call.clone()).collect(),
            ..Message::default()
        };
        let keep_us = Some(60_000_000);
        let begin = TransactionBegin { id: ID, graph: message.encode(), keep_us };
        self.ask(TransactionRequest::Begin(Box::new(begin)));
    }

    /// A client asks.
    pub fn ask(&mut self, request: TransactionRequest) {
        self.asked += 1;
        let principal = "uid 7".to_owned();
        let user = User { principal: principal.clone(), address: String::new(), certificate: None };
        let asker = Asker {
            connection: ConnectionId(1),
            channel: ChannelId(1),
            principal,
            visible: Visible::All,
            client: None,
            user: Ok(user),
        };
        let question = QuestionNumber(self.asked);
        self.state.handle_asked(Instant(1_000_000_000_000), question, asker, request);
        // Its client goes.
        self.state.handle_left(Instant(1_000_000_000_000), ConnectionId(1), None);
    }

    /// One more server is known.
    pub fn another_server(&mut self) -> LineNumber {
        let number = self.number();
        let running = self.state.entry_mut(number).and_then(|entry| entry.running_mut()).unwrap();
        let way = Way::Socket(vec!["unix:/b".to_owned()]);
        let mut server = Server::new("unix:/b".to_owned(), way, 1);
        server.offers.insert(0, 0.0);
        (number, running.servers.add(server).unwrap())
    }

    /// Routines whose interfaces a server was asked for.
    pub fn asked_of(&self, server: ServerNumber) -> Vec<String> {
        let asked = self.interfaces.iter().filter(|(of, _)| *of == server);
        asked.map(|(_, name)| name.clone()).collect()
    }

    /// A call returns.
    pub fn returns(&mut self, world: &mut World, call: CallNumber) {
        let tag = self.tags[&call];
        let line = (self.number(), HERE);
        let times = CallTimes::default();
        let results = vec![farcall_wire::Argument::Absent];
        let result = CallResult { failure: None, results, times, attributes: None };
        self.state.handle_ended(world.now, line, tag, result);
    }

    /// What was opened since this was asked last.
    pub fn take_opened(&mut self) -> Vec<(CallNumber, ServerNumber)> {
        std::mem::take(&mut self.opened)
    }

    /// What clients were told.
    pub fn answers(&mut self) -> Vec<std::result::Result<Reply, (ErrorKind, String)>> {
        std::mem::take(&mut self.answers)
    }

    /// Does what was decided, until nothing is left.
    pub fn work(&mut self, world: &mut World) {
        for _ in 0..1000 {
            self.state.commit(world.now);
            self.warned.extend(self.state.take_warnings());
            let Some(action) = self.state.poll_action() else { return };
            self.act(world, action);
        }
        panic!("it never ends");
    }

    fn act(&mut self, world: &mut World, action: Action) {
        let now = world.now;
        match action {
            Action::Answer(_, answer) => {
                let answer = answer.map_err(|error| (error.kind(), error.to_string()));
                self.answers.push(answer);
            }
            Action::Connect(number, _) => self.connected(now, number),
            Action::ConnectFor(number, user) => {
                self.connected_for.push(user.principal);
                self.connected(now, number);
            }
            Action::Ask(line, tag, request) => {
                if let Request::Interface(name) = &request {
                    self.interfaces.push((line.1, name.clone()));
                }
                let reply = answer(&request);
                self.state.handle_reply(now, line, tag, reply);
            }
            Action::Open(..) if self.is_alone => {}
            Action::Open((_, server), tag, _) => {
                let Tag::Call(call, _) = tag else { panic!("{tag:?}") };
                assert!(world.records_with(call) > 0, "{call:?} is opened, and not written down");
                self.opened.push((call, server));
                self.tags.insert(call, tag);
            }
            Action::Leave(_) => self.left = true,
            Action::Drop(..) => self.dropped = true,
            Action::Write(ticket, conditions, changes) => {
                let written: Result<Option<Version>> =
                    world.asked(true, |reply| Asked::Write { conditions, changes, reply });
                let is_lost = world.answers_lost > 0;
                world.answers_lost = world.answers_lost.saturating_sub(1);
                let lost = || Error::new(ErrorKind::Unavailable, "ask the store", "no answer");
                let written = if is_lost { Err(lost()) } else { written };
                self.state.handle_written(now, ticket, written);
            }
            Action::Read(ticket, prefix, after, limit) => {
                let page = world.asked(false, |reply| Asked::Read { prefix, after, limit, reply });
                self.read(now, ticket, page);
            }
            Action::Look(process) => self.state.handle_process(world.ended.contains(&process)),
            Action::Lease => {
                let time = Duration::from_secs(10_000);
                let lease = world.asked(false, |reply| Asked::Lease { time, reply });
                self.lease = lease.as_ref().ok().copied();
                self.state.handle_lease(now, lease);
            }
            // No other server is reached, nor any call found.
            Action::Dial(line, ..) | Action::Resume(line, ..) if self.is_alone => {
                let error = Error::new(ErrorKind::Unreachable, "reach a server", "nobody listens");
                if line.1 != HERE {
                    self.state.handle_lost(now, line, &error);
                }
            }
            Action::Cancel(..) | Action::Move(..) | Action::Fetch(..) | Action::Give(..)
                if self.is_alone => {}
            other => panic!("{other:?}"),
        }
    }

    fn read(
        &mut self,
        now: Instant,
        ticket: Ticket,
        page: Result<Vec<farcall_services::store::Entry>>,
    ) {
        self.state.handle_read(now, ticket, page);
    }

    fn connected(&mut self, now: Instant, number: TransactionNumber) {
        self.number = Some(number);
        let features = [DATA.to_owned()];
        self.state.handle_connected(now, (number, HERE), &features, Some(self.run));
    }
}

/// The server of a node answers.
fn answer(request: &Request) -> Reply {
    match request {
        Request::Interface(name) => {
            let module = farcall_idl::compile("small.idl", ROUTINES).unwrap();
            let interface = encode_interface(&module.routines[0].interface);
            let name = name.clone();
            Reply::Interface(InterfaceReply {
                name,
                interface,
                contract: CONTRACT,
                is_placed: None,
            })
        }
        Request::Promise(..) | Request::DeleteData(_) => Reply::Done,
        _ => {
            let error = Error::new(ErrorKind::NotFound, "ask", "this server has no others");
            Reply::Failed(Failure::from(&error))
        }
    }
}
