//! Values on their way, as `driver/moving.rs` has them.

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{Error, ErrorKind};
use farcall_wire::{CallResult, Failure, PullRequest, Reply, Request, TicketKey};

use super::{Due, Line, Node};
use crate::state::{LineNumber, Move, Pull, TransactionNumber};
use crate::step::MoveFailure;
use crate::tests::sim::graphs::Value;
use crate::tests::sim::net::Net;
use crate::tests::sim::server::ToServer;

pub type MoveNumber = u64;

struct OnItsWay {
    transaction: TransactionNumber,
    moved: Move,
    fetched: Option<Value>,
}

/// All of them.
#[derive(Default)]
pub struct Moves {
    queue: VecDeque<(TransactionNumber, Move, Option<Pull>)>,
    moves: BTreeMap<MoveNumber, OnItsWay>,
    ready: VecDeque<MoveNumber>,
    last: MoveNumber,
}

impl Moves {
    pub fn queue(&mut self, transaction: TransactionNumber, moved: Move, pull: Option<Pull>) {
        self.queue.push_back((transaction, moved, pull));
    }

    pub fn fetched(&mut self, number: MoveNumber, value: Value) {
        if let Some(one) = self.moves.get_mut(&number) {
            one.fetched = Some(value);
            self.ready.push_back(number);
        }
    }

    pub fn forget(&mut self, transaction: TransactionNumber) {
        self.queue.retain(|(of, ..)| *of != transaction);
        self.moves.retain(|_, one| one.transaction != transaction);
    }

    pub fn count(&self) -> usize {
        self.queue.len() + self.moves.len()
    }
}

impl Node {
    /// Starts what can be; whether something else may have to be done now.
    pub(super) fn start_moves(&mut self, net: &mut Net) -> bool {
        let mut has_news = false;
        for number in std::mem::take(&mut self.moves.ready) {
            has_news |= self.put(net, number);
        }
        for (transaction, moved, pull) in std::mem::take(&mut self.moves.queue) {
            if self.state.is_closed(transaction) {
                self.moves.queue.push_back((transaction, moved, pull));
                continue;
            }
            has_news = true;
            self.start(net, transaction, moved, pull);
        }
        has_news
    }

    fn start(
        &mut self,
        net: &mut Net,
        transaction: TransactionNumber,
        moved: Move,
        pull: Option<Pull>,
    ) {
        let (from, source) = moved.from;
        let (to, data) = moved.to;
        let line = (transaction, if pull.is_some() { to } else { from });
        if !self.lines.contains_key(&line) {
            let why = MoveFailure::Target(gone());
            return self.state.handle_moved(net.now(), transaction, &moved, Err(why));
        }
        self.moves.last += 1;
        let number = self.moves.last;
        let key = moved.key.map(|TicketKey(key)| key);
        self.moves.moves.insert(number, OnItsWay { transaction, moved, fetched: None });
        let Some(pull) = pull else {
            let fetch = |channel, _| ToServer::Fetch(channel, source);
            return self.say(net, line, Due::Fetched(number), None, fetch);
        };
        let ticket = pull.key.ticket(source, &pull.receiver, number);
        let Pull { addresses, bytes_max, .. } = pull;
        let asked = PullRequest { data, source, addresses, ticket, bytes_max, key };
        let request = Request::Pull(Box::new(asked));
        self.say(net, line, Due::Pulled(number), None, |channel, _| {
            ToServer::Ask(channel, request)
        });
    }

    fn put(&mut self, net: &mut Net, number: MoveNumber) -> bool {
        let Some(one) = self.moves.moves.get_mut(&number) else { return false };
        if self.state.is_closed(one.transaction) {
            self.moves.ready.push_back(number);
            return false;
        }
        let Some(value) = one.fetched.take() else { return false };
        let (to, id) = one.moved.to;
        let line = (one.transaction, to);
        let call = one.moved.call;
        let key = one.moved.key;
        if !self.lines.contains_key(&line) {
            self.finish_move(net, number, Err(MoveFailure::Target(gone())));
            return true;
        }
        self.say(net, line, Due::Put(number), None, |channel, _| {
            ToServer::Put(channel, call, id, value, key)
        });
        true
    }

    pub(super) fn pull_ended(&mut self, net: &mut Net, number: MoveNumber, reply: Reply) {
        let failure = match reply {
            Reply::Done => return self.finish_move(net, number, Ok(())),
            Reply::Failed(failure) => failure,
            other => panic!("{other:?}"),
        };
        let Some(OnItsWay { transaction, moved, .. }) = self.moves.moves.remove(&number) else {
            return;
        };
        self.state.handle_not_pulled(transaction, &moved, &failure);
        if self.lines.contains_key(&(transaction, moved.from.0)) {
            return self.moves.queue(transaction, moved, None);
        }
        let why = MoveFailure::Target(gone());
        self.state.handle_moved(net.now(), transaction, &moved, Err(why));
    }

    pub(super) fn end_move(
        &mut self,
        net: &mut Net,
        number: MoveNumber,
        result: CallResult,
        is_source: bool,
    ) {
        let outcome = match result.failure {
            None => Ok(()),
            Some(failure) if is_source => Err(MoveFailure::Source(failure)),
            Some(failure) => Err(MoveFailure::Target(failure)),
        };
        self.finish_move(net, number, outcome);
    }

    pub(super) fn moves_lost(&mut self, net: &mut Net, number: LineNumber, line: &Line) {
        let moves = line.due.values().filter_map(|due| match due {
            Due::Fetched(moved) | Due::Put(moved) | Due::Pulled(moved) => Some(*moved),
            Due::Answer(_) => None,
        });
        for moved in moves.collect::<Vec<_>>() {
            self.finish_move(net, moved, Err(MoveFailure::Target(gone())));
        }
        for (transaction, moved, pull) in std::mem::take(&mut self.moves.queue) {
            let ends = [moved.from.0, moved.to.0];
            if transaction == number.0 && pull.is_none() && ends.contains(&number.1) {
                let why = MoveFailure::Target(gone());
                self.state.handle_moved(net.now(), transaction, &moved, Err(why));
            } else {
                self.moves.queue.push_back((transaction, moved, pull));
            }
        }
    }

    fn finish_move(&mut self, net: &mut Net, number: MoveNumber, outcome: Result<(), MoveFailure>) {
        if let Some(one) = self.moves.moves.remove(&number) {
            self.state.handle_moved(net.now(), one.transaction, &one.moved, outcome);
        }
    }
}

fn gone() -> Failure {
    let message = "a server is lost";
    Failure::from(&Error::new(ErrorKind::ConnectionLost, "move a value", message))
}
