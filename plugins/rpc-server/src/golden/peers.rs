//! The other ends: clients and executables with state machines of their own, joined to the server
//! without a stream. They fail on anything that breaks the rules of the wire.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use farcall_base::{CallId, ChannelId, ConnectionId, ExecutableId};
use farcall_call::Transmit;
use farcall_link::turnstile::Turnstile;
use farcall_services::directory::PublishedRoutine;
use farcall_services::fetcher::Wanted;
use farcall_wire::{Argument, Attribute, CALLBACKS, DATA, PLACEMENT, RESUME, StateQuestion, kept};

use super::memory::Memory;
use super::other::Other;
use super::words::returned;
use crate::state::{Action, AuditRecord, CallKey, HoldNumber, MemorySource};
use crate::step::Server;

/// All other ends.
#[derive(Default)]
pub struct Peers {
    others: BTreeMap<ConnectionId, Other>,
    /// Questions to the directory, oldest first.
    pub questions: VecDeque<(ConnectionId, ChannelId)>,
    /// Those about how the node is.
    pub states: VecDeque<(ConnectionId, ChannelId, StateQuestion)>,
    /// What was asked of the fetcher.
    pub fetches: VecDeque<(CallKey, u16)>,
    /// Those about what is to be held.
    pub holds: VecDeque<HoldNumber>,
    /// Connections inside calls that executables ask for, by the numbers that they will have.
    nests: VecDeque<ConnectionId>,
    /// Executables may lie about what they have begun.
    forging: bool,
    calls: u8,
    callbacks: u8,
    stopped: BTreeSet<ExecutableId>,
    /// Asked for, and neither started nor failed.
    starting: BTreeSet<ExecutableId>,
    /// Calls by their names in the script.
    ids: BTreeMap<String, CallId>,
    /// What the next client says of coming back.
    lasting: (Vec<String>, Vec<Attribute>),
}

/// What is kept of a call or a connection.
fn audit(record: &AuditRecord) -> String {
    let what = match (&record.call, &record.order) {
        (Some(call), _) => format!("{} in {} out {}", call.routine, call.bytes_in, call.bytes_out),
        (None, Some(order)) => format!("order {order}"),
        (None, None) => "connection".to_owned(),
    };
    let outcome = record.failure.as_ref().map_or("done", |error| error.kind().name());
    format!(
        "audit {} at {}: {what}: {outcome}",
        record.caller.rights.principal(),
        record.caller.address
    )
}

impl Peers {
    fn add(
        &mut self,
        connection: ConnectionId,
        name: String,
        executable: Option<ExecutableId>,
        greets: bool,
    ) {
        let (features, attributes) = std::mem::take(&mut self.lasting);
        let mut other = Other::new(name, executable, features, attributes);
        (other.mute, other.forged) = (!greets, self.forging);
        self.others.insert(connection, other);
    }

    pub fn client(&mut self, connection: ConnectionId, greets: bool) {
        self.add(connection, format!("client {connection}"), None, greets);
    }

    /// `calls-back` for a client that takes callbacks, `keeps` for a client that may ask for calls
    /// to be kept, `lasting NUMBER SECONDS` for one that comes back under this number if its
    /// connection is lost; with `again` it did so.
    pub fn comes_back(&mut self, words: &[&str]) {
        let lasting = words.iter().position(|word| *word == "lasting");
        if lasting.is_some() || words.contains(&"keeps") {
            self.lasting.0.push(RESUME.to_owned());
        }
        if words.contains(&"stays") {
            self.lasting.0.push(DATA.to_owned());
        }
        if words.contains(&"places") {
            self.lasting.0.push(PLACEMENT.to_owned());
        }
        if words.contains(&"calls-back") {
            self.lasting.0.push(CALLBACKS.to_owned());
        }
        if let Some(at) = lasting {
            let number = words[at + 1].parse().unwrap();
            let seconds = words[at + 2].parse().unwrap();
            self.lasting.1.extend(kept::asks_to_resume(
                [number; 16],
                std::time::Duration::from_secs(seconds),
            ));
            self.lasting.1.extend(words.contains(&"again").then(|| kept::comes_again(1)));
        }
    }

    /// A call by its name in the script, or one that nobody made. The id of a call by the name that
    /// its client gave it; `#N` is that of a call of an earlier server.
    pub fn id(&self, name: &str) -> CallId {
        if let Some(number) = name.strip_prefix('#').and_then(|number| number.parse().ok()) {
            return CallId([number; 16]);
        }
        self.ids.get(name).copied().unwrap_or(CallId([99; 16]))
    }

    pub fn executable(&mut self, connection: ConnectionId, executable: ExecutableId, greets: bool) {
        self.add(connection, format!("executable {executable}"), Some(executable), greets);
    }

    /// It takes calls ahead of time.
    pub fn takes_ahead(&mut self, connection: ConnectionId) {
        self.other(connection).turnstile = Some(Turnstile::default());
    }

    /// From now on executables take calls ahead of time, and lie about them.
    pub fn forge(&mut self, forging: bool) {
        self.forging = forging;
    }

    /// Moves an executable's turnstile as no honest one would: so many calls have begun, or it is
    /// open again.
    pub fn lie(&mut self, connection: ConnectionId, begun: usize) {
        let Some(turnstile) = &self.other(connection).turnstile else { return };
        turnstile.open();
        for _ in 0..begun {
            turnstile.pass();
        }
    }

    /// An executable's next call begins, if it may.
    pub fn begin(&mut self, connection: ConnectionId) -> bool {
        let other = self.other(connection);
        other.begun = other.turnstile.as_ref().is_none_or(Turnstile::pass);
        other.begun
    }

    /// As the driver does before a connection is closed, and before an exit is reported.
    pub fn recall(&self, server: &mut Server, memory: &mut Memory, connection: ConnectionId) {
        let Some(other) = self.others.get(&connection) else { return };
        if let (Some(executable), Some(turnstile)) = (other.executable, &other.turnstile) {
            server.recalled(memory, executable, turnstile.shut());
        }
    }

    fn other(&mut self, connection: ConnectionId) -> &mut Other {
        self.others.get_mut(&connection).expect("the script names a peer that exists")
    }

    pub fn release(&mut self, connection: ConnectionId) {
        self.other(connection).mute = false;
    }

    pub fn hold(&mut self, connection: ConnectionId) {
        self.other(connection).held = true;
    }

    pub fn send(&mut self, connection: ConnectionId) {
        self.other(connection).held = false;
    }

    /// Lets one data frame leave a client that holds its data.
    pub fn send_one(&mut self, connection: ConnectionId) {
        self.other(connection).frames = 1;
    }

    pub fn deafen(&mut self, connection: ConnectionId, deaf: bool) {
        self.other(connection).deaf = deaf;
    }

    pub fn cut(&mut self, connection: ConnectionId) {
        self.other(connection).cut = true;
    }

    pub fn remove(&mut self, connection: ConnectionId) {
        self.others.remove(&connection);
    }

    /// Something a client does, in the words of the script.
    pub fn client_does(
        &mut self,
        client: ConnectionId,
        what: &str,
        words: &[&str],
        routines: &[Arc<PublishedRoutine>],
    ) {
        self.calls = self.calls.wrapping_add(1);
        let call = CallId([self.calls; 16]);
        let named = self.id(words.last().copied().unwrap_or_default());
        if what == "open" {
            self.ids.insert(words[0].to_owned(), call);
        }
        self.other(client).does_as_client(what, words, (call, named), routines);
    }

    /// Something an executable does, in the words of the script.
    pub fn executable_does(&mut self, connection: ConnectionId, what: &str, words: &[&str]) {
        self.callbacks = self.callbacks.wrapping_add(1);
        // Unlike any call's of a client.
        let mut id = [self.callbacks; 16];
        id[0] = !id[0];
        let ids = (CallId(id), self.id(words.last().copied().unwrap_or_default()));
        self.other(connection).does_as_executable(what, words, ids);
        if what == "nest" {
            self.nests.push_back(ConnectionId(words[0].parse().unwrap()));
        }
    }

    /// Carries frames to and fro, and takes actions, until nothing moves.
    pub fn pump(&mut self, server: &mut Server, memory: &mut Memory) {
        loop {
            let mut moved = false;
            while let Some(action) = server.poll_action() {
                moved = true;
                self.act(server, memory, action);
            }
            let touched: Vec<ConnectionId> = server.take_touched().collect();
            for connection in
                touched.into_iter().chain(self.others.keys().copied().collect::<Vec<_>>())
            {
                moved |= self.carry_to_peer(server, memory, connection);
                moved |= self.carry_to_server(server, memory, connection);
            }
            self.check_released(memory);
            if !moved {
                return;
            }
        }
    }

    fn act(&mut self, server: &mut Server, memory: &mut Memory, action: Action) {
        let said = match action {
            Action::Resolve { connection, channel, name, .. } => {
                self.questions.push_back((connection, channel));
                format!("resolve {name}")
            }
            Action::Hold { hold, name, .. } => {
                self.holds.push_back(hold);
                format!("what is {name}, to be held?")
            }
            Action::Readmit => "what is published?".to_owned(),
            Action::List { connection, channel } => {
                self.questions.push_back((connection, channel));
                "list".to_owned()
            }
            Action::State { connection, channel, question } => {
                self.states.push_back((connection, channel, question));
                "how is the node, and what is published?".to_owned()
            }
            Action::Place { connection, channel, asker, request } => {
                self.questions.push_back((connection, channel));
                super::placing::asked(&asker, &request)
            }
            Action::Transact { .. } | Action::TellTransactions(_) | Action::Pull { .. } => {
                super::transactions::acted(&mut self.questions, &action)
            }
            Action::Fetch { key, slot, wanted } => {
                self.fetches.push_back((key, slot));
                let Wanted { url, shape, principal, .. } = wanted;
                format!("fetch {slot} {url}, shape {shape:?}, for {principal}")
            }
            Action::Order { connection, channel, order, .. } => {
                self.questions.push_back((connection, channel));
                format!("order {order:?}")
            }
            Action::Start { executable, array, .. } => {
                self.starting.insert(executable);
                let of = array.map_or(String::new(), |array| format!(" of array {}", array.0));
                format!("start {executable}{of}")
            }
            Action::Stop { executable, grace } => {
                assert!(self.stopped.insert(executable), "{executable} is stopped twice");
                format!("stop {executable}, grace {grace:?}")
            }
            Action::Recall(executable, connection) => {
                self.recall(server, memory, connection);
                format!("recall {executable}")
            }
            // Of one that is gone, the turnstile went with its connection.
            Action::Resume(connection) => {
                let Some(other) = self.others.get(&connection) else { return };
                other.turnstile.as_ref().expect("only what was shut is opened").open();
                format!("resume {}", other.name)
            }
            Action::Listen(executable) => format!("listen to executable {executable}"),
            Action::Hush(executable) => format!("hear executable {executable} out"),
            Action::Look(connection) => format!("look at {}", self.other(connection).name),
            Action::Close(connection) => {
                self.recall(server, memory, connection);
                self.others.remove(&connection);
                server.ended(memory, connection);
                format!("close {connection}")
            }
            Action::Audit(record) => audit(&record),
            Action::Warn(error) => format!("warn {error}"),
            Action::Results(order) => super::keeping::ordered(server, memory, order),
        };
        memory.said.push(said);
    }

    fn carry_to_peer(
        &mut self,
        server: &mut Server,
        memory: &mut Memory,
        connection: ConnectionId,
    ) -> bool {
        let mut moved = false;
        if self.others.get(&connection).is_some_and(|other| other.deaf) {
            return moved;
        }
        while let Some(transmit) = server.poll_transmit(connection) {
            moved = true;
            if let Transmit::Control { shares: Some(segment), .. } = &transmit {
                let source =
                    memory.announced.remove(&(connection, *segment)).expect("a segment has memory");
                self.other(connection).mapped.insert(*segment, source);
            }
            if let Transmit::Data { place, .. } = &transmit {
                let from = server.memory_of(connection, place).expect("data come from memory");
                assert!(
                    memory.taken.contains_key(&from.memory),
                    "data come from memory that was given back"
                );
            }
            let Some(other) = self.others.get_mut(&connection).filter(|other| !other.cut) else {
                continue;
            };
            other.take(transmit, memory);
        }
        server.settle(memory, connection);
        if server.is_leaving(connection)
            && self.others.get(&connection).is_some_and(|other| !other.cut && !other.mute)
        {
            memory.said.push(format!("{} is disconnected", self.other(connection).name));
            self.recall(server, memory, connection);
            self.other(connection).cut = true;
            server.ended(memory, connection);
            moved = true;
        }
        moved
    }

    fn carry_to_server(
        &mut self,
        server: &mut Server,
        memory: &mut Memory,
        connection: ConnectionId,
    ) -> bool {
        let mut moved = false;
        while let Some(other) =
            self.others.get_mut(&connection).filter(|other| !other.mute && !other.cut)
        {
            // As the driver does.
            if server.is_clogged(connection) {
                break;
            }
            // A peer that holds its data back still sends control frames: they come first.
            if other.held && other.machine.waiting_bytes() == 0 {
                let Some(left) = other.frames.checked_sub(1) else { break };
                other.frames = left;
            }
            let Some(transmit) = other.machine.poll_transmit() else { break };
            moved = true;
            match transmit {
                Transmit::Control { header, body, .. } => {
                    if let Err(error) = server.handle_control(memory, connection, &header, &body) {
                        memory.said.push(format!("{} breaks a rule", other.name));
                        server.broken(connection, &error);
                    } else if let Some(nest) = server.take_nest() {
                        let inside = self.nests.pop_front().expect("it asked for one");
                        server.nested(inside, nest, memory.now);
                        self.client(inside, true);
                    }
                }
                Transmit::Data { header, .. } => {
                    if let Some(place) = server.place(connection, &header, 0).unwrap() {
                        let to = server.memory_of(connection, &place);
                        let to = to.map(|to| memory.taken.contains_key(&to.memory));
                        memory.said.push(format!(
                            "{} bytes come to slot {}: {to:?}",
                            header.length, place.slot
                        ));
                    }
                    server.data_arrived(memory, connection, &header, header.length).unwrap();
                }
            }
        }
        moved
    }

    /// Memory was given back: no living executable may still have a call that names it, but one
    /// that said it had none.
    fn check_released(&self, memory: &mut Memory) {
        for released in memory.released.drain(..) {
            for other in
                self.others.values().filter(|other| other.executable.is_some() && !other.forged)
            {
                for argument in other
                    .running
                    .iter()
                    .flat_map(|(_, open)| open.arguments.iter().chain(open.wanted.iter().flatten()))
                {
                    let Argument::Shared(segment, ..) = argument else { continue };
                    let source = other.mapped.get(segment);
                    assert_ne!(
                        source,
                        Some(&MemorySource::Own(released.0)),
                        "{} still writes to it",
                        other.name
                    );
                }
            }
        }
    }

    /// What must happen sooner or later, in the words of scripts, and what may happen on top of it.
    pub fn possible(&self) -> (Vec<String>, Vec<String>) {
        let mut must = Vec::new();
        let mut may = Vec::new();
        for executable in &self.starting {
            must.push(format!("start-ok {executable}{}", if self.forging { " ahead" } else { "" }));
            must.push(format!("start-ok {executable} tcp"));
            must.push(format!("start-ok {executable} stays"));
            may.push(format!("start-failed {executable} no"));
        }
        for other in self.others.values() {
            match other.executable {
                Some(executable) if other.cut || self.stopped.contains(&executable) => {
                    must.push(format!("kill {executable} 15"));
                }
                Some(executable) if other.left => {
                    must.push(format!("exit {executable} 0"));
                    may.push(format!("kill {executable} 11"));
                }
                Some(executable) => {
                    must.extend(other.load.map(|_| format!("load-ok {executable}")));
                    may.extend(other.load.map(|_| format!("load-failed {executable} no")));
                    let may_begin = other.begun
                        || other.forged
                        || other.turnstile.as_ref().is_none_or(|turnstile| !turnstile.is_shut());
                    if let Some((_, open)) = other.running.front().filter(|_| may_begin) {
                        let calls_back = open.routine.starts_with("back/");
                        let more = if calls_back { " - -" } else { "" };
                        must.push(format!("soon {executable} - {}{more}", returned(open)));
                        if calls_back {
                            may.extend(self.callbacks_of(executable));
                        }
                        may.extend((!other.begun).then(|| format!("begin {executable}")));
                    }
                    if self.forging {
                        may.extend([0, 1, 2, 70].map(|begun| format!("lie {executable} {begun}")));
                    }
                    may.push(format!("kill {executable} 11"));
                    may.push(format!("lost {executable}"));
                }
                None => {
                    may.extend(
                        other
                            .calls
                            .keys()
                            .map(|call| format!("cancel {} {call}", &other.name[7..])),
                    );
                    may.extend(other.answers().into_iter().flatten());
                }
            }
        }
        (must, may)
    }

    /// Functions that a routine may call, and may not.
    fn callbacks_of(&self, executable: ExecutableId) -> impl Iterator<Item = String> {
        let number = self.callbacks;
        let kinds =
            ["2 i1000 b8000 -", "2 i1 z8 -", "3 i7 -", "3 i7 - of nobody", "1 i7 -", "2 i9 z8 -"];
        kinds.into_iter().map(move |kind| format!("calls-back {executable} k{number} {kind}"))
    }

    /// Whether every client's every call is over.
    pub fn calls_are_over(&self) -> bool {
        self.others.values().all(|other| other.executable.is_some() || other.calls.is_empty())
    }

    /// A start was answered.
    pub fn began(&mut self, executable: ExecutableId) {
        self.starting.remove(&executable);
    }

    /// At the end of a conversation nothing is left over but what still runs.
    pub fn check_over(&self, server: &Server, memory: &Memory) {
        let state = server.state();
        assert!(self.questions.is_empty() && self.holds.is_empty(), "a question was not answered");
        if state.calls.is_empty() && state.kept.is_empty() {
            assert!(
                memory.taken.is_empty()
                    && state.calls.next_deadline().is_none()
                    && !state.calls.is_sending(),
                "something leaks"
            );
        }
        let lines = state.queue.pools().map(|(_, pool)| pool.count()).sum::<usize>();
        assert!(lines <= state.calls.values().count(), "calls that are over stand in line");
        assert!(state.queue.pools().all(|(_, pool)| !pool.is_over()), "an empty pool stays");
    }
}
