//! Values that are brought from one server to another: by way of this node, which reaches both.

use std::collections::VecDeque;

use farcall_base::{Error, ErrorKind, Instant};
use farcall_graph::{CallNumber, DataNumber, Place, ServerNumber};
use farcall_wire::{Failure, Promise, Request};

use crate::state::{Action, HERE, Move, Running, State, Tag, TransactionNumber};

/// How often a result that the client wants is brought here again before it is given up.
const TROUBLES_MAX: u32 = 4;

impl State {
    /// A value has come to a server, or could not be brought there.
    pub fn handle_moved(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        moved: &Move,
        outcome: Result<(), MoveFailure>,
    ) {
        let Some((entry, out)) = self.parts(number) else { return };
        let Some(running) = entry.running_mut() else { return };
        match outcome {
            Ok(()) => running.moved(now, moved),
            Err(failure) => running.not_moved(now, number, moved, &failure, out),
        }
        self.pump(now, number);
    }
}

impl State {
    /// A server could not pull a value: it passes through this node, and so do others between the two
    /// where they do not reach each other.
    pub fn handle_not_pulled(
        &mut self,
        number: TransactionNumber,
        moved: &Move,
        failure: &Failure,
    ) {
        use ErrorKind::{ConnectionLost, InvalidArgument, PermissionDenied, TimedOut, Unreachable};
        let apart =
            [Unreachable, TimedOut, ConnectionLost, PermissionDenied, InvalidArgument].map(Some);
        if apart.contains(&ErrorKind::from_code(failure.kind))
            && let Some(running) = self.entry_mut(number).and_then(|entry| entry.running_mut())
        {
            running.servers.keep_apart(moved.from.0, moved.to.0);
        }
    }
}

/// Why a value was not brought.
#[derive(Clone, Debug, PartialEq)]
pub enum MoveFailure {
    /// Where it comes from does not have it.
    Source(Failure),
    /// Where it goes to did not take it, or one of the two is lost.
    Target(Failure),
}

impl Running {
    /// A value is to be brought somewhere. What the client wants may be on its way here already.
    pub(super) fn bring(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        (data, from, to): (DataNumber, ServerNumber, ServerNumber),
        out: &mut VecDeque<Action>,
    ) {
        if self.is_number(data) {
            // It travels inside the call.
            return self.transaction.handle_moved(now, data, to);
        }
        if to == HERE && self.wanted.get(&data).is_some_and(|wanted| wanted.is_moving) {
            return;
        }
        self.send(number, (data, from, to), out);
    }

    fn send(
        &mut self,
        number: TransactionNumber,
        (data, from, to): (DataNumber, ServerNumber, ServerNumber),
        out: &mut VecDeque<Action>,
    ) {
        if to == HERE
            && let Some(id) = self.wanted.get(&data).map(|wanted| wanted.id)
            && self.naming.promised_here.insert(data)
        {
            // A call from before was to make it there under this id, and did not.
            let promise = self.kind(data).map(|kind| Promise { data: id, kind: kind.to_string() });
            for request in
                [Request::DeleteData(vec![id]), Request::Promise(promise.into_iter().collect(), 0)]
            {
                out.push_back(Action::Ask((number, HERE), Tag::Other, request));
            }
        }
        let (moved, promise) = self.start_move(data, from, to);
        if let Some(promise) = promise {
            let request = Request::Promise(vec![promise], 0);
            out.push_back(Action::Ask((number, to), Tag::Other, request));
        }
        match self.transaction.graph().maker(data) {
            Some(maker) if !self.is_at(data, from) => {
                self.naming.waiting.entry(maker).or_default().push(moved);
            }
            _ => self.set_out(number, moved, out),
        }
    }

    /// A value goes on its way: its server pulls it where it can, and otherwise it passes through this
    /// node.
    fn set_out(&mut self, number: TransactionNumber, moved: Move, out: &mut VecDeque<Action>) {
        let (from, _) = moved.from;
        let (to, _) = moved.to;
        let bytes = self.transaction.graph().value(moved.data).bytes;
        let pull = self.servers.pull(from, to, bytes);
        out.push_back(Action::Move(number, moved, pull));
    }

    /// A run of a call has ended: values of it that are to be brought elsewhere are there now, or are
    /// not made there. Only what is there takes room on the way: moves that waited for their values
    /// could keep others from bringing what these are made of.
    pub(super) fn look_at_moves(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        call: CallNumber,
        out: &mut VecDeque<Action>,
    ) {
        for mut moved in self.naming.waiting.remove(&call).unwrap_or_default() {
            let (from, _) = moved.from;
            if self.is_at(moved.data, from) {
                moved.from = (from, self.place(moved.data, from));
                self.set_out(number, moved, out);
            } else if self.transaction.is_open_on(call, from) {
                self.naming.waiting.entry(call).or_default().push(moved);
            } else {
                let error = Error::new(ErrorKind::NotFound, "move a value", "it was not made");
                let why = MoveFailure::Target(Failure::from(&error));
                self.not_moved(now, number, &moved, &why, out);
            }
        }
    }

    /// What the client wants of a call that returned elsewhere is brought here.
    pub(super) fn deliver(
        &mut self,
        number: TransactionNumber,
        call: CallNumber,
        server: ServerNumber,
        out: &mut VecDeque<Action>,
    ) {
        for data in self.transaction.graph().call(call).makes.clone() {
            if self.is_to_be_delivered(data) && (server == HERE || !self.is_at(data, HERE)) {
                self.send(number, (data, server, HERE), out);
            }
        }
    }

    /// Whether the client wants a value that is not where it asks for it, and not on its way there.
    pub(super) fn is_to_be_delivered(&self, data: DataNumber) -> bool {
        let wanted = self.wanted.get(&data).filter(|_| !self.is_number(data));
        wanted.is_some_and(|wanted| !wanted.is_moving && !wanted.is_there)
    }

    fn moved(&mut self, now: Instant, moved: &Move) {
        let (to, id) = moved.to;
        if moved.from.0 == to {
            return self.was_copied(moved.data, id);
        }
        self.has_moved(moved.data, moved.to);
        self.transaction.handle_moved(now, moved.data, to);
    }

    fn not_moved(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        moved: &Move,
        failure: &MoveFailure,
        out: &mut VecDeque<Action>,
    ) {
        let data = moved.data;
        let (to, _) = moved.to;
        let (from, _) = moved.from;
        if let MoveFailure::Source(failure) = failure {
            let kind = ErrorKind::from_code(failure.kind);
            if kind == Some(ErrorKind::NotFound) {
                self.is_gone(now, data, from);
            }
        }
        if from != to {
            for (call, attempt) in self.has_not_moved(data, moved.to) {
                self.transaction.handle_renamed(now, call, to, attempt);
            }
            self.transaction.handle_not_moved(now, data, to);
        }
        let Some(wanted) = self.wanted.get_mut(&data).filter(|_| to == HERE) else { return };
        wanted.is_moving = false;
        wanted.troubles += 1;
        if wanted.troubles <= TROUBLES_MAX {
            return self.deliver_again(number, data, out);
        }
        let (MoveFailure::Source(why) | MoveFailure::Target(why)) = failure;
        let request = Request::Break(vec![wanted.id], why.clone());
        out.push_back(Action::Ask((number, HERE), Tag::Other, request));
    }

    /// From wherever it is now; if it is nowhere, it is made again.
    pub(super) fn deliver_again(
        &mut self,
        number: TransactionNumber,
        data: DataNumber,
        out: &mut VecDeque<Action>,
    ) {
        let others = self.transaction.places(data).filter_map(|place| match place {
            Place::Server(server) => Some(server),
            Place::Client => None,
        });
        if let Some(from) = others.min() {
            self.send(number, (data, from, HERE), out);
        }
    }

    /// A value is needed no more. A number may be by now: when a transaction is taken up, what is
    /// deleted is known before it is known what is lost and made again.
    pub(super) fn delete(&mut self, data: DataNumber, server: ServerNumber) {
        if !self.numbers.contains_key(&data) {
            self.unneeded.push((server, self.place(data, server)));
        } else if self.transaction.places(data).next().is_none() {
            self.numbers.remove(&data);
        }
    }

    /// A server is lost, with what was on its way from there.
    pub(super) fn lost(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        server: ServerNumber,
        out: &mut VecDeque<Action>,
    ) {
        self.forget_server(server);
        self.naming.waiting.values_mut().for_each(|all| all.retain(|one| one.to.0 != server));
        self.transaction.handle_lost(now, server);
        for call in self.naming.waiting.keys().copied().collect::<Vec<_>>() {
            self.look_at_moves(now, number, call, out);
        }
    }
}
