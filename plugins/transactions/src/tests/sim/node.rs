//! A node: the plugin's state with a driver as the real one, over simulated connections.

mod left;
mod moves;

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{CallId, DataId, Error, ErrorKind, Random};
use farcall_graph::CallNumber;
use farcall_services::store::LeaseId;
use farcall_services::transactions::User;
use farcall_wire::{CallResult, DATA, PULLS, Reply, Request, TicketKey};

use super::graphs::Value;
use super::net::{Asked, Event, Life, Net};
use super::server::{Channel, ConnId, ToNode, ToServer};
use crate::options::Settings;
use crate::state::{
    Action, HERE, LineNumber, SecretKeys, State, Store, Tag, TakenInput, TransactionNumber,
};
use left::left_of;
use moves::{MoveNumber, Moves};

/// Turns after which a node that still has something to do never ends.
const TURNS_MAX: usize = 20_000;

/// What is to come on a channel.
#[derive(Clone, Copy, Debug)]
enum Due {
    Answer(Tag),
    Fetched(MoveNumber),
    Put(MoveNumber),
    Pulled(MoveNumber),
}

/// A connection, as the node has it.
struct Line {
    conn: ConnId,
    due: BTreeMap<Channel, Due>,
    /// The calls of channels.
    ids: BTreeMap<Channel, CallId>,
    calls: BTreeMap<(CallNumber, u32), Channel>,
    last: Channel,
    inbox: VecDeque<ToNode>,
    /// Outcomes that are here, of which the server is not told yet.
    taken: Vec<CallId>,
}

/// A node that is up.
pub struct Node {
    pub life: Life,
    pub state: State,
    pub lease: Option<LeaseId>,
    pub warned: Vec<String>,
    lines: BTreeMap<LineNumber, Line>,
    moves: Moves,
    ticks_at: u64,
}

/// The key for what users put at the server of a node.
pub fn keys_of(life: Life) -> SecretKeys {
    let mut made = [life.0 as u8 + 1; 32];
    made[1] = life.1 as u8;
    let mut here = made;
    here[2] = 1;
    SecretKeys { made: TicketKey(made), here: TicketKey(here) }
}

impl Node {
    /// One that has started, in a process of its own.
    pub fn new(life: Life) -> Node {
        let settings = Settings::default();
        let mut state = State::new(settings, 2, true, keys_of(life));
        state.handle_store(Store {
            name: "memory".to_owned(),
            node: format!("n{}", life.0),
            process: format!("n{} {}", life.0, life.1),
            zero_us: 0,
        });
        Node {
            life,
            state,
            lease: None,
            warned: Vec::new(),
            lines: BTreeMap::new(),
            moves: Moves::default(),
            ticks_at: u64::MAX,
        }
    }

    /// Something has come over a connection.
    pub fn received(&mut self, net: &mut Net, conn: ConnId, said: ToNode) {
        let Some(link) = net.links.get(&conn) else { return };
        let number = link.line;
        if let Some(line) = self.lines.get_mut(&number).filter(|line| line.conn == conn) {
            line.inbox.push_back(said);
            self.work(net);
        }
    }

    /// Another server was reached, or not.
    pub fn dialled(&mut self, net: &mut Net, number: LineNumber, outcome: Result<Life, Error>) {
        match outcome {
            Ok(_) if !self.state.awaits(number) => {}
            Ok(server) => self.greet(net, number, server),
            Err(error) => self.state.handle_lost(net.now(), number, &error),
        }
        self.work(net);
    }

    fn greet(&mut self, net: &mut Net, number: LineNumber, server: Life) {
        let returns = self.state.returns(number);
        let conn = net.connect(self.life, number, server);
        let line = Line {
            conn,
            due: BTreeMap::new(),
            ids: BTreeMap::new(),
            calls: BTreeMap::new(),
            last: 0,
            inbox: VecDeque::new(),
            taken: Vec::new(),
        };
        self.lines.insert(number, line);
        net.say_to_server(conn, ToServer::Hello(returns));
    }

    /// Takes what has come, and does what is decided.
    pub fn work(&mut self, net: &mut Net) {
        for _ in 0..TURNS_MAX {
            self.settle(net);
            let open = self
                .lines
                .iter()
                .filter(|((of, _), line)| !line.inbox.is_empty() && !self.state.is_closed(*of));
            let Some(number) = open.map(|(number, _)| *number).next() else {
                return self.schedule(net);
            };
            // A driver takes what is there, and looks then what follows from it.
            let count = 1 + net.random.next() % 4;
            for _ in 0..count {
                let line = self.lines.get_mut(&number);
                let Some(said) = line.and_then(|line| line.inbox.pop_front()) else { break };
                self.happened(net, number, said);
            }
        }
        panic!("n{} never ends", self.life.0);
    }

    fn schedule(&mut self, net: &mut Net) {
        let Some(at) = self.state.next_tick() else { return };
        let at = at.0.max(net.now) + 1_000_000;
        if at < self.ticks_at || self.ticks_at <= net.now {
            self.ticks_at = at;
            net.at(at, Event::Tick(self.life, at));
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, net: &mut Net, at: u64) {
        if at == self.ticks_at {
            self.ticks_at = u64::MAX;
        }
        if self.state.next_tick().is_some_and(|at| at.0 <= net.now) {
            self.state.tick(net.now());
        }
        self.work(net);
    }

    fn happened(&mut self, net: &mut Net, number: LineNumber, said: ToNode) {
        let now = net.now();
        net.say(|| format!("n{} {}.{} < {}", self.life.0, number.0.0, number.1.0, shown(&said)));
        match said {
            ToNode::Welcome => {
                let Some(line) = self.lines.get(&number) else { return };
                let life = net.links[&line.conn].server;
                let features = [DATA.to_owned(), PULLS.to_owned()];
                let run = Some(run_of(life));
                self.state.handle_connected(now, number, &features, run);
            }
            ToNode::Reply(channel, reply) => match self.take_due(number, channel) {
                Some(Due::Answer(tag)) => self.state.handle_reply(now, number, tag, reply),
                Some(Due::Pulled(moved)) => self.pull_ended(net, moved, reply),
                _ => {}
            },
            ToNode::TakenUp(channel) => {
                let due = self.lines.get_mut(&number).and_then(|line| line.due.get_mut(&channel));
                if let Some(Due::Answer(tag)) = due
                    && let Tag::TakenUp(call, attempt) = *tag
                {
                    *tag = Tag::Call(call, attempt);
                }
            }
            ToNode::Ended(channel, result) => self.ended(net, number, channel, result),
            ToNode::Fetched(channel, value) => match self.take_due(number, channel) {
                Some(Due::Answer(Tag::Input(input))) => {
                    self.state.handle_input(now, number.0, input, &value.fetched());
                }
                Some(Due::Answer(tag)) => {
                    let bytes = value.fetched().small().unwrap();
                    self.state.handle_number(now, number, tag, bytes);
                }
                Some(Due::Fetched(moved)) => self.moves.fetched(moved, value),
                _ => {}
            },
            ToNode::Lost => {
                let error = Error::new(ErrorKind::ConnectionLost, "reach a server", "it is lost");
                self.lost(net, number, &error);
            }
        }
    }

    fn ended(&mut self, net: &mut Net, number: LineNumber, channel: Channel, result: CallResult) {
        let now = net.now();
        if let Some(line) = self.lines.get_mut(&number) {
            let call = line.ids.remove(&channel);
            line.taken.extend(call);
        }
        match self.take_due(number, channel) {
            Some(Due::Answer(Tag::TakenUp(call, attempt))) => {
                self.state.handle_not_taken_up(now, number, (call, attempt), result);
            }
            Some(Due::Answer(tag)) => self.state.handle_ended(now, number, tag, result),
            Some(Due::Fetched(moved)) => self.end_move(net, moved, result, true),
            Some(Due::Put(moved)) => self.end_move(net, moved, result, false),
            _ => {}
        }
    }

    fn take_due(&mut self, number: LineNumber, channel: Channel) -> Option<Due> {
        let line = self.lines.get_mut(&number)?;
        let due = line.due.remove(&channel)?;
        if let Due::Answer(Tag::Call(call, attempt) | Tag::TakenUp(call, attempt)) = due {
            line.calls.remove(&(call, attempt));
        }
        Some(due)
    }

    fn lost(&mut self, net: &mut Net, number: LineNumber, error: &Error) {
        let Some(line) = self.lines.remove(&number) else { return };
        self.moves_lost(net, number, &line);
        self.state.handle_lost(net.now(), number, error);
    }

    fn settle(&mut self, net: &mut Net) {
        for _ in 0..TURNS_MAX {
            self.state.commit(net.now());
            while let Some(action) = self.state.poll_action() {
                self.act(net, action);
            }
            for warning in self.state.take_warnings() {
                net.say(|| format!("n{} warns: {warning}", self.life.0));
                self.warned.push(warning);
            }
            if !self.start_moves(net) {
                return;
            }
        }
        panic!("n{} never settles", self.life.0);
    }

    fn act(&mut self, net: &mut Net, action: Action) {
        net.say(|| format!("n{} > {}", self.life.0, text_of(&action)));
        match action {
            Action::Answer(question, answer) => {
                net.soon(Event::Answered(self.life, question, answer));
            }
            Action::Connect(number, _) => self.greet(net, (number, HERE), self.life),
            Action::ConnectFor(number, User { .. }) => self.greet(net, (number, HERE), self.life),
            Action::Dial(number, addresses, _) => {
                let server = addresses.iter().find_map(|address| index_of(address));
                net.soon(Event::Dialled(self.life, number, server.ok_or("it has no address")));
            }
            Action::DialLed(..) => panic!("nobody leads"),
            Action::Leave(number) => self.close(net, number, ToServer::Leave),
            Action::Drop(number, None) => self.close(net, number, ToServer::Gone),
            Action::Drop(number, Some(server)) => {
                if let Some(line) = self.lines.remove(&(number, server)) {
                    net.say_to_server(line.conn, ToServer::Gone);
                }
            }
            Action::Write(ticket, conditions, changes) => {
                net.soon(Event::Ask(self.life, Asked::Write(ticket, conditions, changes)));
            }
            Action::Read(ticket, prefix, after, limit) => {
                net.soon(Event::Ask(self.life, Asked::Read(ticket, prefix, after, limit)));
            }
            Action::Lease => net.soon(Event::Ask(self.life, Asked::Lease)),
            // Each node is on a host of its own.
            Action::Look(process) => {
                let mine = format!("n{} ", self.life.0);
                let life = process.strip_prefix(&mine).and_then(|life| life.parse::<u64>().ok());
                self.state.handle_process(life.is_some_and(|life| life < self.life.1));
            }
            Action::Resume(number, tag, call) => {
                self.say(net, number, Due::Answer(tag), Some(call), |channel, _| {
                    ToServer::Resume(channel, call)
                });
            }
            Action::Give(number, call, id, input) => self.give(net, number, (call, id), &input),
            Action::Move(number, moved, pull) => self.moves.queue(number, moved, pull),
            Action::Ask(number, tag, request) => self.ask(net, number, tag, request),
            Action::Open(number, tag, open) => {
                let call = open.call;
                self.say(net, number, Due::Answer(tag), Some(call), |channel, taken| {
                    ToServer::Open(channel, open, taken)
                });
            }
            Action::Fetch(number, tag, data) => {
                self.say(net, number, Due::Answer(tag), None, |channel, _| {
                    ToServer::Fetch(channel, data)
                });
            }
            Action::Cancel(number, call, attempt) => {
                let Some(line) = self.lines.get(&number) else { return };
                if let Some(channel) = line.calls.get(&(call, attempt)) {
                    net.say_to_server(line.conn, ToServer::Cancel(*channel));
                }
            }
        }
    }

    fn give(
        &mut self,
        net: &mut Net,
        number: LineNumber,
        (call, id): (CallId, DataId),
        input: &TakenInput,
    ) {
        let tag = Tag::Given(farcall_graph::DataNumber(input.input));
        let value = Value {
            kind: input.kind.clone(),
            extents: input.extents.clone(),
            elements: input.elements.clone(),
        };
        let put = |channel, _| ToServer::Put(channel, call, id, value, None);
        self.say(net, number, Due::Answer(tag), None, put);
    }

    fn ask(&mut self, net: &mut Net, number: LineNumber, tag: Tag, request: Request) {
        self.say(net, number, Due::Answer(tag), None, |channel, _| ToServer::Ask(channel, request));
    }

    /// Says something over a connection; `due` is what comes back.
    fn say(
        &mut self,
        net: &mut Net,
        number: LineNumber,
        due: Due,
        call: Option<CallId>,
        what: impl FnOnce(Channel, Vec<CallId>) -> ToServer,
    ) {
        let Some(line) = self.lines.get_mut(&number) else { return };
        line.last += 1;
        let channel = line.last;
        line.due.insert(channel, due);
        line.ids.extend(call.map(|call| (channel, call)));
        if let Due::Answer(Tag::Call(call, attempt) | Tag::TakenUp(call, attempt)) = due {
            line.calls.insert((call, attempt), channel);
        }
        // The channels of some of them are used again.
        let (told, kept) = line.taken.drain(..).partition(|_| net.random.next().is_multiple_of(2));
        line.taken = kept;
        let said = what(channel, told);
        net.say_to_server(line.conn, said);
    }

    fn close(&mut self, net: &mut Net, number: TransactionNumber, said: ToServer) {
        self.moves.forget(number);
        let mine = self.lines.keys().filter(|(of, _)| *of == number).copied();
        for line in mine.collect::<Vec<_>>() {
            if let Some(line) = self.lines.remove(&line) {
                net.say_to_server(line.conn, said.clone());
            }
        }
    }

    /// What it still has to do, for people.
    pub fn left(&self) -> Vec<String> {
        let name = format!("n{}", self.life.0);
        let lines = self.lines.keys().map(|line| format!("{name}: a connection {line:?}"));
        let moves = self.moves.count();
        let moves = (moves > 0).then(|| format!("{name}: {moves} moves"));
        let state = left_of(&self.state).into_iter().map(|left| format!("{name}: {left}"));
        lines.chain(moves).chain(state).collect()
    }
}

/// What tells a run of a server from others.
pub fn run_of(life: Life) -> [u8; 16] {
    let mut run = [0; 16];
    run[0] = life.0 as u8 + 1;
    run[1..9].copy_from_slice(&life.1.to_le_bytes());
    run
}

/// The server at an address.
pub fn index_of(address: &str) -> Option<usize> {
    address.strip_prefix("unix:/s")?.parse().ok()
}

fn shown(said: &ToNode) -> String {
    match said {
        ToNode::Reply(channel, Reply::Interface(_)) => format!("Reply({channel}, Interface)"),
        ToNode::Ended(channel, CallResult { failure: Some(failure), .. }) => {
            format!("Ended({channel}, {} {})", failure.message, failure.retryable)
        }
        ToNode::Fetched(channel, value) => format!("Fetched({channel}, {:x})", value.word()),
        other => format!("{other:?}"),
    }
}

fn text_of(action: &Action) -> String {
    match action {
        Action::Write(ticket, _, changes) => {
            format!("Write({ticket:?}, {} changes)", changes.len())
        }
        Action::Open(line, tag, open) => format!(
            "Open({line:?}, {tag:?}, {} {:?} -> {:?})",
            open.routine, open.arguments, open.wanted
        ),
        Action::Move(number, moved, pull) => format!(
            "Move({}, {:?} {:?} -> {:?}, {})",
            number.0,
            moved.data,
            moved.from,
            moved.to,
            pull.is_some()
        ),
        other => format!("{other:?}"),
    }
}
