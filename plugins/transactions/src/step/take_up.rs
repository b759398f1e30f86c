//! What servers have of a transaction that is taken up: calls go on, have ended, or are unknown; values
//! are there or not (spec/transactions.md, section 5).

use std::collections::{HashSet, VecDeque};

use farcall_base::{DataId, Error, ErrorKind, Instant};
use farcall_graph::{CallNumber, DataNumber, Failure, Place, ServerNumber};
use farcall_wire::{CallResult, DATA_SHOWN_MAX, DataState, DataStatus, Request};

use super::begin::{PROMISES_MAX, promises};
use crate::state::{
    Action, Check, HERE, LineNumber, Running, Standing, State, Tag, TransactionNumber,
};

impl Running {
    /// The ids by which the client asks for its results are promised again. At a server that had the
    /// transaction before, promises of that time may be there, which were broken.
    pub(super) fn promise_again(
        &mut self,
        line: LineNumber,
        was_here: bool,
        out: &mut VecDeque<Action>,
    ) {
        let missing = self.promise_wanted();
        let ids = missing.iter().filter_map(|data| self.wanted.get(data)).map(|wanted| wanted.id);
        let ids: HashSet<DataId> = ids.collect();
        let mut all = promises(&self.plan);
        all.retain(|promise| ids.contains(&promise.data));
        for some in all.chunks(PROMISES_MAX) {
            if was_here {
                let before = some.iter().map(|promise| promise.data).collect();
                out.push_back(Action::Ask(line, Tag::Other, Request::DeleteData(before)));
            }
            self.recorded.unpromised += 1;
            out.push_back(Action::Ask(line, Tag::Promise, Request::Promise(some.to_vec(), 0)));
        }
    }

    /// It goes on: servers are announced that are there, and the others are lost. What the store has is
    /// at the server of this node again, before anything counts as lost.
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        before: usize,
        out: &mut VecDeque<Action>,
    ) {
        // A call that waited for numbers was not sent to its server.
        for (call, server, attempt) in self.transaction.open_runs() {
            if !self.has_numbers(call) {
                self.transaction.handle_unknown(now, call, server, attempt);
            }
        }
        let processors = self.servers.get(HERE).map_or(1, |here| here.processors);
        self.transaction.handle_server(now, HERE, processors);
        for data in (0..self.plan.message().inputs.len() as u32).map(DataNumber) {
            self.transaction.handle_there(now, data, Place::Server(HERE));
        }
        self.transaction.handle_client_left(now);
        let numbers: Vec<DataNumber> = self.numbers.keys().copied().collect();
        for data in numbers {
            self.transaction.handle_there(now, data, Place::Server(HERE));
            if let Some(open) = self.put(data) {
                out.push_back(Action::Open((number, HERE), Tag::Put(data), open));
            }
        }
        for (data, id) in self.inputs_as_numbers().collect::<Vec<_>>() {
            if !self.numbers.contains_key(&data) {
                out.push_back(Action::Fetch((number, HERE), Tag::Number(data), id));
            }
        }
        let all: Vec<(ServerNumber, Standing, u32)> = self
            .servers
            .all()
            .map(|(server, known)| (server, known.standing, known.processors))
            .collect();
        for (server, standing, processors) in &all {
            if *server != HERE && *standing == Standing::There {
                self.transaction.handle_server(now, *server, *processors);
            }
        }
        for (server, standing, _) in &all {
            let is_known = server.0 as usize <= before.max(1);
            if is_known && *standing != Standing::There {
                self.transaction.handle_lost(now, *server);
            }
        }
        let failed: Vec<CallNumber> = self.failed_calls().collect();
        for call in failed {
            self.break_promises(number, call, out);
        }
        self.deliver_all(number, out);
    }

    /// What the client wants, and another server has, is brought here.
    fn deliver_all(&mut self, number: TransactionNumber, out: &mut VecDeque<Action>) {
        let wanted: Vec<DataNumber> = self.wanted.keys().copied().collect();
        for data in wanted {
            if self.is_to_be_delivered(data) {
                self.deliver_again(number, data, out);
            }
        }
    }

    /// A server is asked for what is to be there.
    pub(super) fn take_up(
        &mut self,
        number: TransactionNumber,
        server: ServerNumber,
        (calls, data): (Vec<(CallNumber, u32)>, Vec<DataNumber>),
        out: &mut VecDeque<Action>,
    ) {
        let line = (number, server);
        for (call, attempt) in calls {
            let id = self.ids.call(call, attempt);
            out.push_back(Action::Resume(line, Tag::TakenUp(call, attempt), id));
        }
        let values = data.into_iter().filter(|data| !self.is_number(*data));
        let values: Vec<_> = values.map(|data| (data, self.place(data, server))).collect();
        for some in values.chunks(DATA_SHOWN_MAX) {
            let ids: Vec<DataId> = some.iter().map(|(_, id)| *id).collect();
            let tag = Tag::There(self.recorded.checks.len() as u32);
            self.recorded.checks.push(Check { server, values: some.to_vec() });
            out.push_back(Action::Ask(line, tag, Request::Data(ids)));
        }
    }

    /// A server has told what is there of what it was asked.
    fn checked(&mut self, now: Instant, index: u32, there: &[DataStatus]) {
        let Some(check) = self.recorded.checks.get_mut(index as usize) else { return };
        let server = check.server;
        let values = std::mem::take(&mut check.values);
        let there = there.iter().filter(|status| status.state == DataState::There);
        let there: HashSet<DataId> = there.map(|status| status.id).collect();
        for (data, id) in values {
            match (there.contains(&id), self.is_at(data, server)) {
                (true, false) => {
                    self.has_moved(data, (server, id));
                    self.transaction.handle_moved(now, data, server);
                }
                (true, true) => {}
                (false, true) => {
                    self.is_gone(now, data, server);
                }
                // The node that brought it is gone, and its promise with it.
                (false, false) => self.transaction.handle_not_moved(now, data, server),
            }
        }
    }
}

impl State {
    /// A server has told what is there of what it was asked.
    pub(super) fn there(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        index: u32,
        there: &[DataStatus],
    ) {
        let Some((entry, out)) = self.parts(number) else { return };
        let Some(running) = entry.running_mut() else { return };
        running.checked(now, index, there);
        // Some of it may be what the client waits for.
        running.deliver_all(number, out);
        self.pump(now, number);
    }

    /// What the client wants is promised again: it may hear that the transaction has ended.
    pub(super) fn promised_again(&mut self, now: Instant, number: TransactionNumber) {
        let running = self.parts(number).and_then(|(entry, _)| entry.running_mut());
        let Some(running) = running else { return };
        running.recorded.unpromised = running.recorded.unpromised.saturating_sub(1);
        self.pump(now, number);
    }

    /// A server does not have a call that was taken up. Where it remembers the transaction, the call
    /// never came to it; else that is unknown.
    pub fn handle_not_taken_up(
        &mut self,
        now: Instant,
        line: LineNumber,
        (call, attempt): (CallNumber, u32),
        result: CallResult,
    ) {
        let (number, server) = line;
        let failure = result.failure.clone();
        let is_unknown = |failure: &farcall_wire::Failure| {
            ErrorKind::from_code(failure.kind) == Some(ErrorKind::NotFound)
        };
        let Some(failure) = failure.filter(is_unknown) else {
            return self.handle_ended(now, line, Tag::Call(call, attempt), result);
        };
        let running = self.parts(number).and_then(|(entry, _)| entry.running_mut());
        let Some(running) = running else { return };
        if failure.retryable {
            running.transaction.handle_unknown(now, call, server, attempt);
        } else {
            let message = "its outcome was not kept long enough for the node that took it up";
            let failure = Failure {
                kind: ErrorKind::ConnectionLost,
                message: message.to_owned(),
                has_run: true,
            };
            running.transaction.handle_failed(now, call, server, attempt, failure);
        }
        self.pump(now, number);
    }

    /// An input was put at the server of this node again, or could not be.
    pub(super) fn given(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        data: DataNumber,
        result: CallResult,
    ) {
        let Some(failure) = result.failure else { return };
        let error = Error::from(failure);
        // Data of that id is there already.
        if error.kind() == ErrorKind::InvalidArgument {
            return;
        }
        self.warn(format!(
            "an input of a transaction could not be put at the server again: {error}"
        ));
        let running = self.parts(number).and_then(|(entry, _)| entry.running_mut());
        if let Some(running) = running {
            running.transaction.handle_gone(now, data, Place::Server(HERE));
            self.pump(now, number);
        }
    }
}
