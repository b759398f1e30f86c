//! The client: it begins a transaction, goes, and comes back to any node for its results.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{ChannelId, ConnectionId, DataId, Error, ErrorKind, Random};
use farcall_services::directory::Visible;
use farcall_services::transactions::{Asker, User};
use farcall_wire::{Failure, Reply, TransactionBegin, TransactionReply, TransactionRequest};

use super::graphs::{ID, Value, wanted};
use super::net::{Event, Life, MS, SECOND};
use super::server::Asker as Fetcher;
use super::world::World;
use crate::state::QuestionNumber;

/// How long an answer is waited for before the client goes to any node again.
const PATIENCE: u64 = 15 * SECOND;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Waits,
    Fetches,
    Ends,
    /// Nothing of the transaction is to be anywhere, but what the text says.
    Over(&'static str),
}

/// What it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Begin,
    Await,
    End,
}

/// The client.
pub struct Client {
    pub phase: Phase,
    /// The Begin was answered.
    pub has_begun: bool,
    pub failed: BTreeMap<u32, String>,
    /// Results that could not be fetched.
    pub lost: BTreeMap<u32, String>,
    pub got: BTreeSet<DataId>,
    questions: BTreeMap<(Life, QuestionNumber), Purpose>,
    fetching: BTreeMap<u64, (Life, DataId)>,
    last: u64,
    visit: u64,
    wants_end: bool,
}

impl Client {
    pub fn new() -> Client {
        Client {
            phase: Phase::Waits,
            has_begun: false,
            failed: BTreeMap::new(),
            lost: BTreeMap::new(),
            got: BTreeSet::new(),
            questions: BTreeMap::new(),
            fetching: BTreeMap::new(),
            last: 0,
            visit: 0,
            wants_end: false,
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }
}

impl World {
    pub(super) fn client_begins(&mut self) {
        let keep_us = if self.plan.is_abandoned { 20_000_000 } else { 600_000_000 };
        let graph = self.work.message.encode();
        let begin = TransactionBegin { id: ID, graph, keep_us: Some(keep_us) };
        let connection = self.ask(0, Purpose::Begin, TransactionRequest::Begin(Box::new(begin)));
        let stays = self.net.random.next() % (3 * SECOND);
        if let Some(node) = &self.nodes[0] {
            let life = node.life.1;
            self.net.after(stays, Event::Leaves(0, life, connection));
        }
        if !self.plan.is_abandoned {
            self.visit_in(stays + SECOND);
        }
    }

    /// Asks a node; over which connection.
    fn ask(&mut self, node: usize, purpose: Purpose, request: TransactionRequest) -> u64 {
        self.client.last += 1;
        let number = self.client.last;
        let Some(it) = &mut self.nodes[node] else { return number };
        let principal = "uid 7".to_owned();
        let user = User { principal: principal.clone(), address: String::new(), certificate: None };
        let asker = Asker {
            connection: ConnectionId(number),
            channel: ChannelId(1),
            principal,
            visible: Visible::All,
            client: None,
            user: Ok(user),
        };
        let question = QuestionNumber(number);
        self.client.questions.insert((it.life, question), purpose);
        self.net.say(|| format!("client asks n{node}: {purpose:?}"));
        it.state.handle_asked(self.net.now(), question, asker, request);
        it.work(&mut self.net);
        number
    }

    pub(super) fn client_leaves(&mut self, node: usize, life: u64, connection: u64) {
        let Some(it) = self.nodes[node].as_mut().filter(|it| it.life.1 == life) else { return };
        self.net.say(|| format!("the client leaves n{node}"));
        it.state.handle_left(self.net.now(), ConnectionId(connection), None);
        it.work(&mut self.net);
        // Nobody waits there any more; what the Begin becomes is found out by asking.
        self.client.questions.retain(|_, purpose| *purpose != Purpose::Begin);
    }

    pub(super) fn client_ends(&mut self) {
        self.client.wants_end = true;
        if !self.client.is_over() {
            self.client.phase = Phase::Ends;
            self.visit_in(MS);
        }
    }

    fn visit_in(&mut self, time: u64) {
        self.client.visit += 1;
        let visit = self.client.visit;
        self.net.after(time, Event::Visits(visit));
    }

    pub(super) fn client_visits(&mut self, visit: u64) {
        if visit != self.client.visit || self.client.is_over() {
            return;
        }
        let up: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].is_some()).collect();
        let drawn = self.net.random.next() as usize;
        let Some(node) = up.get(drawn % up.len().max(1)).copied() else {
            return self.visit_in(500 * MS);
        };
        self.visit_in(PATIENCE);
        self.client.fetching.clear();
        if self.client.phase == Phase::Ends {
            self.ask(node, Purpose::End, TransactionRequest::End(vec![ID]));
        } else {
            self.client.phase = Phase::Waits;
            self.ask(node, Purpose::Await, TransactionRequest::Await(ID));
        }
    }

    /// A node is gone: its client notices.
    pub(super) fn node_left_client(&mut self, life: Life) {
        let before = self.client.questions.len() + self.client.fetching.len();
        self.client.questions.retain(|(of, _), _| *of != life);
        self.client.fetching.retain(|_, (of, _)| *of != life);
        let left = self.client.questions.len() + self.client.fetching.len();
        if before > left && !self.plan.is_abandoned {
            self.visit_in(500 * MS);
        }
    }

    pub(super) fn answered(
        &mut self,
        life: Life,
        question: QuestionNumber,
        answer: farcall_base::Result<Reply>,
    ) -> Result<(), String> {
        let Some(purpose) = self.client.questions.remove(&(life, question)) else { return Ok(()) };
        self.net.say(|| format!("n{} answers {purpose:?}: {answer:?}", life.0));
        if self.client.is_over() {
            return Ok(());
        }
        match (purpose, answer) {
            (Purpose::Begin, Ok(_)) => self.client.has_begun = true,
            (Purpose::Begin, Err(error)) => {
                if self.plan.faults.len() == 1 {
                    return Err(format!("Begin is refused: {error}"));
                }
                self.client.phase = Phase::Over("it was refused");
            }
            (Purpose::Await, Ok(Reply::Transaction(TransactionReply::Over(end)))) => {
                self.client.failed = end
                    .failures
                    .into_iter()
                    .map(|one| (one.call, Error::from(one.failure).to_string()))
                    .collect();
                self.fetch_all(life);
            }
            (Purpose::End, Ok(_)) => self.client.phase = Phase::Over("it was ended"),
            (Purpose::Await | Purpose::End, Err(error)) => return self.not_found(purpose, &error),
            other => return Err(format!("another answer: {other:?}")),
        }
        Ok(())
    }

    fn not_found(&mut self, purpose: Purpose, error: &Error) -> Result<(), String> {
        let is_gone = error.kind() == ErrorKind::NotFound
            && error.to_string().contains("has no such transaction");
        let may_be_gone = purpose == Purpose::End || !self.client.has_begun;
        match (is_gone, may_be_gone) {
            (true, true) => self.client.phase = Phase::Over("it was not there"),
            (true, false) => return Err(format!("it began, and is not there: {error}")),
            (false, _) => self.visit_in(300 * MS),
        }
        Ok(())
    }

    fn fetch_all(&mut self, life: Life) {
        self.client.phase = Phase::Fetches;
        self.client.fetching.clear();
        self.client.lost.clear();
        for id in wanted(&self.work).into_keys() {
            self.client.last += 1;
            let number = self.client.last;
            self.client.fetching.insert(number, (life, id));
            if let Some(server) = self.server_at(life) {
                server.fetch(id, Fetcher::Client(number));
            }
        }
        self.effects(life.0);
    }

    /// A result has come, or never will.
    pub(super) fn came(
        &mut self,
        number: u64,
        outcome: Result<Value, Failure>,
    ) -> Result<(), String> {
        let Some((_, id)) = self.client.fetching.remove(&number) else { return Ok(()) };
        let (call, word) = wanted(&self.work)[&id];
        match outcome {
            Ok(value) if value.word() == word => {
                self.client.got.insert(id);
            }
            Ok(value) => {
                return Err(format!(
                    "call {call} has a wrong result: {:x}, not {word:x}",
                    value.word()
                ));
            }
            Err(failure) => {
                let error = Error::from(failure).to_string();
                self.client.lost.insert(call, error);
            }
        }
        if self.client.fetching.is_empty() {
            self.judge_results()?;
            self.client.phase = Phase::Ends;
            let stays = [MS, 12 * SECOND][self.net.random.next() as usize % 2];
            self.visit_in(stays);
        }
        Ok(())
    }

    fn judge_results(&self) -> Result<(), String> {
        if self.plan.is_strict
            && let Some((call, why)) = self.client.failed.iter().chain(&self.client.lost).next()
        {
            return Err(format!("call {call} has failed: {why}"));
        }
        let unreported =
            self.client.lost.iter().find(|(call, _)| !self.client.failed.contains_key(call));
        match unreported {
            Some((call, why)) if !self.has_late_faults() => {
                Err(format!("call {call} returned, and its result is not there: {why}"))
            }
            _ => Ok(()),
        }
    }
}
