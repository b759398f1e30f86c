//! A transaction that was read from the store: its servers are reached again, and it goes on from its
//! records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Instant, Result};
use farcall_graph::{DataNumber, Message, Plan, RoutineName, ServerNumber, Transaction};
use farcall_idl::decode::decode_interface;
use farcall_idl::interface::Interface;
use farcall_wire::{Reply, Request, TicketKey};

use super::begin::{BYTE_S, RUN_S, interface_of};
use super::place::{Whose, reach};
use crate::state::kept::{InputHead, Keys, broken, read, records};
use crate::state::{
    Action, Beginning, Entry, HERE, Journal, LineNumber, Loading, Owner, Phase, Running,
    SecretKeys, Servers, State, Tag, Taken, TakenInput, TransactionNumber,
};

/// How long servers that have a transaction's calls are waited for.
const PATIENCE: Duration = Duration::from_secs(30);

type Parts = BTreeMap<String, Vec<u8>>;

impl State {
    /// All of a transaction was read.
    pub(super) fn build(&mut self, now: Instant, loading: Loading) -> Result<()> {
        let Loading { id, head: Some((head, _)), owner: Some(owner), parts, .. } = loading else {
            return Ok(());
        };
        let keys = Keys(id);
        let is_past = head.expires_us.is_some_and(|at| at <= self.keeping.since_1970_us(now));
        if !head.is_complete || is_past {
            self.erase(id, owner);
            return Ok(());
        }
        let plan = plan_of(keys, &parts, &self.settings.limits())?;
        let (epoch, records) = records(keys, &parts)?;
        let routines = plan.message().routines.len();
        let kept = records.iter().rev().find_map(|record| record.servers.clone());
        let kept = kept.unwrap_or_default();
        let taken = Taken {
            owner,
            epoch,
            servers: kept.len(),
            inputs: inputs_of(keys, &parts, plan.message().inputs.len())?,
            until: now + PATIENCE,
            has_asked: false,
            records,
            head,
        };
        // What was made before has the key that it was made with.
        let made = TicketKey(taken.head.key);
        let tickets = SecretKeys { made, ..self.keys.of(&id, &taken.head.principal) };
        let servers = Servers::taken_up(self.processors, routines, kept).with_keys(tickets);
        let user = taken.head.user();
        let began_us = self.keeping.since_1970_us(now).saturating_sub(taken.head.began_us);
        let entry = Entry {
            id,
            principal: taken.head.principal.clone(),
            owner: Owner::default(),
            keep: Some(Duration::from_micros(taken.head.keep_us)),
            began: Instant(now.0.saturating_sub(began_us.saturating_mul(1000))),
            expires: taken.head.expires_us.map(|at| self.keeping.instant(now, at)),
            due: None,
            awaiting: Vec::new(),
            phase: Phase::Beginning(Box::new(Beginning {
                questions: Vec::new(),
                message: Message::default(),
                interfaces: Vec::new(),
                inputs: BTreeMap::new(),
                servers,
                placed: BTreeSet::new(),
                has_dialled: false,
                unanswered: 0,
                plan: Some(plan),
                user: Ok(user.clone()),
                writing: None,
                taken: Some(Box::new(taken)),
            })),
        };
        let number = self.enter(entry);
        self.reschedule(number);
        self.out.push_back(Action::ConnectFor(number, user));
        Ok(())
    }

    /// The server of this node takes the connection of a transaction that is taken up: what it has is
    /// asked, and which others there are.
    pub(super) fn ask_here(&mut self, line: LineNumber) {
        let Some((entry, out)) = self.parts(line.0) else { return };
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let Some(plan) = &beginning.plan else { return };
        let routines = &plan.message().routines;
        for (routine, index) in routines.iter().zip(0..) {
            let request = Request::Interface(routine.name.clone());
            out.push_back(Action::Ask(line, Tag::Interface(index), request));
        }
        let request = Request::Servers(String::new(), String::new());
        out.push_back(Action::Ask(line, Tag::Servers, request));
        beginning.unanswered = routines.len() + 1;
    }

    /// The server of this node has answered that.
    pub(super) fn here_answered(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        tag: Tag,
        reply: Reply,
    ) {
        let is_user = self.is_user;
        let Some((entry, _)) = self.parts(number) else { return };
        let principal = entry.principal.clone();
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let Some(plan) = &beginning.plan else { return };
        match (tag, reply) {
            (Tag::Interface(index), Reply::Interface(reply)) => {
                let known = plan.message().routines.get(index as usize);
                let has_it = known.is_some_and(|known| interface_of(known, &reply).is_ok());
                if reply.is_placed == Some(true) {
                    beginning.placed.insert(index);
                }
                if !has_it && let Some(here) = beginning.servers.get_mut(HERE) {
                    here.offers.remove(&index);
                }
            }
            // It is not published here, or not any more.
            (Tag::Interface(index), _) => {
                if let Some(here) = beginning.servers.get_mut(HERE) {
                    here.offers.remove(&index);
                }
            }
            (tag, reply) => {
                let whose = Whose { principal: &principal, is_user };
                beginning.told_of_servers(tag, reply, &whose);
            }
        }
        beginning.unanswered = beginning.unanswered.saturating_sub(1);
        self.go_on_when_complete(now, number);
    }

    /// Goes on with a transaction that is taken up, when no answer is missing.
    pub(super) fn go_on_when_complete(&mut self, now: Instant, number: TransactionNumber) {
        let Some((entry, out)) = self.parts(number) else { return };
        let principal = entry.principal.clone();
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let Some(taken) = &mut beginning.taken else { return };
        if beginning.unanswered > 0 {
            return;
        }
        let Some(plan) = beginning.plan.take() else { return };
        if !std::mem::replace(&mut taken.has_asked, true) {
            beginning.unanswered += beginning.ask_where(&plan, (number, HERE), out);
        }
        if beginning.unanswered == 0 && !std::mem::replace(&mut beginning.has_dialled, true) {
            beginning.unanswered += beginning.servers.dial(number, &principal, out);
        }
        if beginning.unanswered > 0 {
            beginning.plan = Some(plan);
            return;
        }
        let is_late = beginning.taken.as_ref().is_some_and(|taken| taken.until <= now);
        if !is_late && beginning.servers.check_all_run(&plan).is_err() {
            beginning.plan = Some(plan);
            return self.reschedule(number);
        }
        let known = self
            .entry(number)
            .and_then(Entry::taken)
            .map(|taken| (taken.head.clone(), taken.owner));
        if let Err(error) = self.go_on(now, number, plan) {
            let id = self.entry(number).map(|entry| entry.id);
            match known.zip(id) {
                Some(((head, owner), id)) => {
                    self.warn(format!("transaction {id} cannot be taken up: {error}"));
                    self.forget(number, &error);
                    self.out.push_back(Action::Drop(number, None));
                    self.is_damaged(id, (&head, owner), &error);
                }
                None => self.release(now, number, &error),
            }
        }
    }

    /// Servers that did not answer are tried again while it is taken up.
    pub(super) fn try_servers_again(&mut self, now: Instant, number: TransactionNumber) {
        let Some((entry, out)) = self.parts(number) else { return };
        let principal = entry.principal.clone();
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        for (server, way) in beginning.servers.take_again(now) {
            beginning.unanswered += 1;
            out.push_back(reach((number, server), way, &principal));
        }
        self.reschedule(number);
        self.go_on_when_complete(now, number);
    }

    /// It goes on. What was at the server of this node before is lost with that one, but for what the
    /// store has.
    fn go_on(&mut self, now: Instant, number: TransactionNumber, plan: Plan) -> Result<()> {
        let limits = self.settings.limits();
        let Some((entry, _)) = self.parts(number) else { return Ok(()) };
        let id = entry.id;
        let Phase::Beginning(beginning) = &mut entry.phase else { return Ok(()) };
        let Some(taken) = beginning.taken.take() else { return Ok(()) };
        let Taken { owner, head, records, epoch, servers: before, inputs, .. } = *taken;
        let servers = std::mem::take(&mut beginning.servers);
        let same = same_run(&servers, before);
        let renumber = |server: ServerNumber| match server {
            same_one if Some(same_one) == same => HERE,
            HERE => ServerNumber(before.max(1) as u32),
            other => other,
        };
        let rows = records.iter().filter_map(|record| record.graph.as_deref().map(Vec::as_slice));
        let graph = plan.graph().clone();
        let move_s = |bytes: u64| bytes as f64 * BYTE_S;
        let transaction =
            Transaction::restore(now, graph, limits, |_| RUN_S, move_s, rows, renumber)?;
        let mut running = Running::new(id, plan, transaction, servers);
        for record in records {
            running.take_back(record, &renumber);
        }
        running.name_inputs();
        running.count_ended();
        // From here on nothing is done before all this is written.
        self.keeping.journals.insert(number, Journal::new(id, owner, head, epoch));
        let Some((entry, out)) = self.parts(number) else { return Ok(()) };
        let line = (number, HERE);
        for input in inputs {
            let data = DataNumber(input.input);
            if let Some(name) = running.plan.input_name(data) {
                let call = running.ids.given(data);
                out.push_back(Action::Give(line, call, name, Box::new(input)));
            }
        }
        running.promise_again(line, same.is_some(), out);
        running.go_on(now, number, before, out);
        entry.phase = Phase::Running(Box::new(running));
        if entry.is_over() && entry.expires.is_none() {
            entry.set_expiry(now);
        }
        self.pump(now, number);
        Ok(())
    }
}

/// Which server, as the records number them, this node's own one is, if it has not been restarted.
fn same_run(servers: &Servers, before: usize) -> Option<ServerNumber> {
    let run = servers.get(HERE).and_then(|here| here.run)?;
    let known = |number: usize| servers.get(ServerNumber(number as u32)).and_then(|one| one.run);
    let found = (1..=before).rev().find(|number| known(*number) == Some(run))?;
    // The one that was the first is the last now.
    Some(if found == before { HERE } else { ServerNumber(found as u32) })
}

/// What was written of a transaction, checked as when it began.
fn plan_of(keys: Keys, parts: &Parts, limits: &farcall_graph::Limits) -> Result<Plan> {
    let pieces = (0..).map_while(|piece| parts.get(&keys.message(piece)));
    let message: Vec<u8> = pieces.flatten().copied().collect();
    let message = Message::decode(&message)?;
    let mut known: BTreeMap<String, Arc<Interface>> = BTreeMap::new();
    for (routine, index) in message.routines.iter().zip(0..) {
        let key = keys.interface(index);
        let Some(bytes) = parts.get(&key) else { continue };
        known.insert(routine.name.clone(), Arc::new(decode_interface(bytes)?));
    }
    let find = |routine: &RoutineName| {
        let interface = known.get(&routine.name).cloned();
        interface.ok_or_else(|| broken(&keys.all(), format!("{} has no interface", routine.name)))
    };
    Plan::new(message, limits, &find)
}

/// The inputs that were written.
fn inputs_of(keys: Keys, parts: &Parts, count: usize) -> Result<Vec<TakenInput>> {
    let mut all = Vec::new();
    for input in 0..count {
        let key = keys.input(input, 0);
        let head = parts.get(&key).ok_or_else(|| broken(&key, "it is not there"))?;
        let InputHead { kind, extents, bytes } = read(&key, head)?;
        let pieces = (1..).map_while(|piece| parts.get(&keys.input(input, piece)));
        let elements: Vec<u8> = pieces.flatten().copied().collect();
        if elements.len() as u64 != bytes {
            return Err(broken(&key, "some of its elements are missing"));
        }
        all.push(TakenInput { input: input as u32, kind, extents, elements });
    }
    Ok(all)
}
