//! A transaction begins: its graph is checked as a whole, with the interfaces and the inputs that the
//! server has, before anything runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant, Result, TransactionId};
use farcall_graph::{Message, Place, Plan, RoutineName, Transaction};
use farcall_idl::data::DataKind;
use farcall_idl::decode::decode_interface;
use farcall_idl::interface::Interface;
use farcall_services::transactions::Asker;
use farcall_wire::{
    DATA, DATA_SHOWN_MAX, DataState, DataStatus, PULLS, Promise, Reply, Request, TransactionBegin,
};

use super::place::Whose;
use crate::state::{
    Action, Beginning, Entry, HERE, LineNumber, Owner, Phase, QuestionNumber, Running, Servers,
    Standing, State, Tag, TransactionNumber, kind_of,
};

/// Routines of one transaction.
const ROUTINES_MAX: usize = 1000;
/// Of transactions and their calls, one user has at most one part of so many.
const SHARE: usize = 2;
/// Promises in one request.
pub(super) const PROMISES_MAX: usize = 10_000;
/// Seconds that a call and a byte take, as far as the order of calls depends on it at first.
pub(super) const RUN_S: f64 = 0.01;
pub(super) const BYTE_S: f64 = 1e-9;

impl State {
    pub(super) fn begin(
        &mut self,
        now: Instant,
        question: QuestionNumber,
        asker: Asker,
        begin: TransactionBegin,
    ) -> Result<()> {
        if let Some(number) = self.of(&begin.id, &asker.principal) {
            return self.begin_again(question, asker, number, &begin);
        }
        if self.has(&begin.id) {
            return Err(taken(&begin.id));
        }
        let keep = begin.keep_us.map(Duration::from_micros);
        self.check_keep(keep)?;
        let message = Message::decode(&begin.graph)?;
        self.check_room(&asker.principal, &message)?;
        let asked = (asker.connection, asker.channel);
        let beginning = Beginning {
            questions: vec![question],
            interfaces: vec![None; message.routines.len()],
            inputs: BTreeMap::new(),
            servers: Servers::here(self.processors, message.routines.len())
                .with_keys(self.keys.of(&begin.id, &asker.principal)),
            placed: BTreeSet::new(),
            has_dialled: false,
            unanswered: 0,
            plan: None,
            user: asker.user,
            writing: None,
            taken: None,
            message,
        };
        let owner =
            Owner { connection: Some(asker.connection), client: asker.client, may_return: None };
        let number = self.enter(Entry {
            id: begin.id,
            principal: asker.principal,
            owner,
            keep,
            began: now,
            expires: None,
            due: None,
            awaiting: Vec::new(),
            phase: Phase::Beginning(Box::new(beginning)),
        });
        self.out.push_back(Action::Connect(number, asked));
        Ok(())
    }

    /// A client that lost its connection does not know whether its transaction has begun.
    fn begin_again(
        &mut self,
        question: QuestionNumber,
        asker: Asker,
        number: TransactionNumber,
        begin: &TransactionBegin,
    ) -> Result<()> {
        let message = Message::decode(&begin.graph)?;
        let Some((entry, out)) = self.parts(number) else { return Ok(()) };
        if *entry.message() != message {
            return Err(taken(&begin.id));
        }
        entry.owner =
            Owner { connection: Some(asker.connection), client: asker.client, may_return: None };
        entry.expires = None;
        match &mut entry.phase {
            Phase::Beginning(beginning) => beginning.questions.push(question),
            Phase::Running(_) => out.push_back(Action::Answer(question, Ok(Reply::Done))),
        }
        self.reschedule(number);
        Ok(())
    }

    fn check_keep(&self, keep: Option<Duration>) -> Result<()> {
        let most = Duration::from_millis(self.settings.keep_ms_max);
        match keep.filter(|keep| *keep > most) {
            None => Ok(()),
            Some(keep) => {
                let message = "the server does not keep transactions for that long";
                Err(Error::new(ErrorKind::LimitExceeded, "take a transaction", message)
                    .with("keep", format!("{keep:?}"))
                    .with("keep_ms_max", self.settings.keep_ms_max)
                    .fix("keep it for a shorter time, or raise the limit in farcall.toml"))
            }
        }
    }

    /// Whether there is room for one more transaction of this principal's.
    fn check_room(&self, principal: &str, message: &Message) -> Result<()> {
        let count = |mine: bool| {
            let counted = self.entries().filter(|(_, entry)| !mine || entry.principal == principal);
            counted.fold((1, message.calls.len()), |(transactions, calls), (_, entry)| {
                (transactions + 1, calls + entry.calls())
            })
        };
        let full = |message: &'static str, name: &'static str, most: usize| {
            Err(Error::new(ErrorKind::LimitExceeded, "take a transaction", message)
                .with(name, most)
                .fix(
                    "end transactions that you do not need (`farcall transactions`), wait until \
                    others have ended, or raise the limit in farcall.toml",
                )
                .retryable())
        };
        let settings = &self.settings;
        for (is_own, share) in [(false, 1), (true, SHARE)] {
            let (transactions, calls) = count(is_own);
            if transactions > (settings.transactions_max / share).max(1) {
                let most = settings.transactions_max;
                return full("the server has too many transactions", "transactions_max", most);
            }
            if calls > (settings.calls_max / share).max(1) {
                let most = settings.calls_max;
                return full("the server's transactions have too many calls", "calls_max", most);
            }
        }
        if message.routines.len() > ROUTINES_MAX {
            let most = ROUTINES_MAX;
            return full("the transaction has too many routines", "routines of one", most);
        }
        Ok(())
    }

    /// The plugin is connected for a transaction. The server of this node is asked for what the graph is
    /// checked with; another one for the interfaces of what it has.
    pub fn handle_connected(
        &mut self,
        now: Instant,
        line: LineNumber,
        features: &[String],
        run: Option<[u8; 16]>,
    ) {
        let (number, server) = line;
        if !self.is_same_run(now, line, run) {
            return;
        }
        if !features.iter().any(|feature| feature == DATA) {
            let error = Error::new(ErrorKind::Version, "run a transaction", "it keeps no data");
            return self.handle_lost(now, line, &error);
        }
        if let Some(known) = self.servers_of(number).and_then(|all| all.get_mut(server)) {
            known.pulls = features.iter().any(|feature| feature == PULLS);
        }
        if server != HERE {
            return self.ask_other(now, line);
        }
        if self.entry(number).is_some_and(Entry::is_taken_up) {
            return self.ask_here(line);
        }
        let Some((entry, out)) = self.parts(number) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let message = &beginning.message;
        for (routine, index) in message.routines.iter().zip(0..) {
            let request = Request::Interface(routine.name.clone());
            out.push_back(Action::Ask(line, Tag::Interface(index), request));
        }
        let chunks = message.inputs.chunks(DATA_SHOWN_MAX);
        for some in chunks.clone() {
            let ids = some.iter().map(|input| input.name).collect();
            out.push_back(Action::Ask(line, Tag::Inputs, Request::Data(ids)));
        }
        let request = Request::Servers(String::new(), String::new());
        out.push_back(Action::Ask(line, Tag::Servers, request));
        beginning.unanswered = message.routines.len() + chunks.len() + 1;
    }

    /// A server answered.
    pub fn handle_reply(&mut self, now: Instant, line: LineNumber, tag: Tag, reply: Reply) {
        let (number, server) = line;
        if let (Tag::There(index), Reply::Data(there)) = (tag, &reply) {
            return self.there(now, number, index, there);
        }
        if server != HERE {
            return self.other_answered(now, line, tag, reply);
        }
        if let Tag::Way(server) = tag {
            return self.led(now, (number, server), reply);
        }
        if self.entry(number).is_some_and(Entry::is_taken_up) {
            return self.here_answered(now, number, tag, reply);
        }
        let is_user = self.is_user;
        let Some(entry) = self.entry_mut(number) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else {
            if tag == Tag::Promise {
                self.promised_again(now, number);
            }
            return;
        };
        let taken = match (tag, reply) {
            (Tag::Servers | Tag::Place(_), reply) => {
                let whose = Whose { principal: &entry.principal, is_user };
                beginning.told_of_servers(tag, reply, &whose);
                Ok(())
            }
            (_, Reply::Failed(failure)) => Err(failure.into()),
            (Tag::Interface(index), Reply::Interface(reply)) => {
                if reply.is_placed == Some(true) {
                    beginning.placed.insert(index);
                }
                let known = beginning.message.routines.get(index as usize);
                let interface = known.map(|routine| interface_of(routine, &reply)).transpose();
                interface.map(|interface| {
                    if let Some(slot) = beginning.interfaces.get_mut(index as usize) {
                        *slot = interface;
                    }
                })
            }
            (Tag::Inputs, Reply::Data(list)) => {
                beginning.inputs.extend(list.into_iter().map(|status| (status.id, status)));
                Ok(())
            }
            (Tag::Promise, Reply::Done) => Ok(()),
            _ => Err(Error::internal("run a transaction", "the server gave another answer")),
        };
        beginning.unanswered = beginning.unanswered.saturating_sub(1);
        match taken {
            Ok(()) => self.check_when_complete(now, number),
            Err(error) => self.end(number, &error),
        }
    }

    /// An answer of another server is there, or will not come.
    pub(super) fn answered(&mut self, now: Instant, number: TransactionNumber) {
        let Some(entry) = self.entry_mut(number) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        beginning.unanswered = beginning.unanswered.saturating_sub(1);
        if beginning.taken.is_some() {
            return self.go_on_when_complete(now, number);
        }
        self.check_when_complete(now, number);
    }

    /// Goes on when no answer is missing.
    fn check_when_complete(&mut self, now: Instant, number: TransactionNumber) {
        let limits = self.settings.limits();
        let Some((entry, out)) = self.parts(number) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        if beginning.unanswered > 0 {
            return;
        }
        let line = (number, HERE);
        match beginning.plan.take() {
            None => {
                let plan = match check(beginning, &limits) {
                    Ok(plan) => plan,
                    Err(error) => return self.end(number, &error),
                };
                let promises = promises(&plan);
                for some in promises.chunks(PROMISES_MAX) {
                    let request = Request::Promise(some.to_vec(), 0);
                    out.push_back(Action::Ask(line, Tag::Promise, request));
                    beginning.unanswered += 1;
                }
                beginning.unanswered += beginning.ask_where(&plan, line, out);
                beginning.plan = Some(plan);
            }
            Some(plan) if !beginning.has_dialled => {
                beginning.has_dialled = true;
                let principal = &entry.principal;
                beginning.unanswered += beginning.servers.dial(number, principal, out);
                beginning.plan = Some(plan);
            }
            Some(plan) => {
                let checked = beginning.servers.check_all_run(&plan);
                let outcome = match checked {
                    Ok(()) if self.is_to_be_kept(number) => self.write_down(now, number, plan),
                    Ok(()) => return self.start(now, number, plan),
                    Err(error) => Err(error),
                };
                if let Err(error) = outcome {
                    self.end(number, &error);
                }
                return;
            }
        }
        if beginning.unanswered == 0 {
            self.check_when_complete(now, number);
        }
    }

    /// Everything is right: it runs.
    pub(super) fn start(&mut self, now: Instant, number: TransactionNumber, plan: Plan) {
        let limits = self.settings.limits();
        let Some((entry, out)) = self.parts(number) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let servers = std::mem::take(&mut beginning.servers);
        for question in std::mem::take(&mut beginning.questions) {
            out.push_back(Action::Answer(question, Ok(Reply::Done)));
        }
        let graph = plan.graph().clone();
        let move_s = |bytes: u64| bytes as f64 * BYTE_S;
        let mut transaction = Transaction::new(now, graph, limits, |_| RUN_S, move_s);
        for (server, known) in servers.all() {
            if known.standing == Standing::There {
                transaction.handle_server(now, server, known.processors);
            }
        }
        for data in (0..plan.message().inputs.len() as u32).map(farcall_graph::DataNumber) {
            transaction.handle_there(now, data, Place::Server(HERE));
        }
        // The client sent its inputs to the server: nothing more comes from it.
        transaction.handle_client_left(now);
        let mut running = Running::new(entry.id, plan, transaction, servers);
        running.promise_wanted();
        for (data, id) in running.inputs_as_numbers() {
            out.push_back(Action::Fetch((number, HERE), Tag::Number(data), id));
        }
        entry.phase = Phase::Running(Box::new(running));
        self.pump(now, number);
    }
}

fn check(beginning: &mut Beginning, limits: &farcall_graph::Limits) -> Result<Plan> {
    let message = std::mem::take(&mut beginning.message);
    for (input, number) in message.inputs.iter().zip(0u32..) {
        let status = beginning.inputs.get(&input.name).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "take a transaction", "an input is not at the server")
                .fix("put it there first; it may be deleted, or its lease has ended")
        });
        let checked = status.and_then(|status| check_input(input, status));
        checked.map_err(|error| error.with("input", number).with("data", input.name))?;
    }
    let told = message.routines.iter().zip(&beginning.interfaces);
    let known = told.filter_map(|(routine, told)| Some((routine.name.clone(), told.clone()?)));
    let known: BTreeMap<String, Arc<Interface>> = known.collect();
    let find = |routine: &RoutineName| {
        known.get(&routine.name).cloned().ok_or_else(|| {
            Error::internal("take a transaction", "the server did not tell an interface")
        })
    };
    Plan::new(message, limits, &find)
}

/// Whether an input is what the client says of it, as far as that is known.
fn check_input(input: &farcall_graph::Input, status: &DataStatus) -> Result<()> {
    if let (DataState::Failed, Some(failure)) = (status.state, &status.failure) {
        return Err(failure.clone().into());
    }
    let kind = |text: &str| DataKind::of_routine(text).map(|kind| (kind.element, kind.rank));
    let is_other = kind(&input.kind) != kind(&status.kind);
    let has_others = status.state == DataState::There && status.extents != input.extents;
    if !is_other && !has_others {
        return Ok(());
    }
    let shown = |kind: &str, extents: &[u64]| format!("{kind} {extents:?}");
    Err(refused("an input has another type or size than the transaction says")
        .with("there", shown(&status.kind, &status.extents))
        .with("said", shown(&input.kind, &input.extents))
        .fix("name the type and the extents that the data has"))
}

/// The interface that the server told, if it is the one that the client called with.
pub(super) fn interface_of(
    routine: &RoutineName,
    reply: &farcall_wire::InterfaceReply,
) -> Result<Arc<Interface>> {
    if reply.contract != routine.contract {
        let message = "the routine's interface is another one now";
        return Err(Error::new(ErrorKind::InterfaceChanged, "take a transaction", message)
            .with("routine", &routine.name)
            .fix("fetch the interface again, and write the transaction again")
            .retryable());
    }
    decode_interface(&reply.interface).map(Arc::new)
}

/// The results that the client wants, which are its own from now on.
pub(super) fn promises(plan: &Plan) -> Vec<Promise> {
    let results = plan.message().results.iter();
    let promise = |result: &farcall_graph::WantedResult| {
        let interface = plan.interface(farcall_graph::CallNumber(result.call));
        let kind = kind_of(interface.parameters.get(usize::from(result.slot))?)?;
        Some(Promise { data: result.name, kind: kind.to_string() })
    };
    results.filter_map(promise).collect()
}

fn taken(id: &TransactionId) -> Error {
    refused("the id is that of another transaction")
        .with("transaction", id)
        .fix("give each transaction an id of its own: sixteen random bytes")
}

fn refused(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "take a transaction", message)
}
