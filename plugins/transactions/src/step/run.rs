//! A transaction runs: its graph says what to do, the server how that ended.

use std::collections::VecDeque;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant};
use farcall_graph::{Action as Deed, CallNumber, DataNumber, Ended, Failure, ServerNumber};
use farcall_wire::{Argument, CallResult, InlineBytes, Promise, Request};

use super::ask::over;
use crate::state::{Action, HERE, Learned, LineNumber, Running, State, Tag, TransactionNumber};

/// Data that is deleted by one request.
const DELETED_MAX: usize = 10_000;

impl State {
    /// Does what the graph of a transaction says, until that has nothing more to do.
    pub(super) fn pump(&mut self, now: Instant, number: TransactionNumber) {
        let Some((entry, out)) = self.parts(number) else { return };
        if let Some(running) = entry.running_mut() {
            running.pump(now, number, out);
        }
        if entry.is_over() {
            let reply = entry.running().filter(|running| running.may_be_told()).map(over);
            let awaiting = reply.is_some().then(|| std::mem::take(&mut entry.awaiting));
            for question in awaiting.into_iter().flatten() {
                out.extend(reply.clone().map(|reply| Action::Answer(question, Ok(reply))));
            }
            if entry.expires.is_none() {
                entry.set_expiry(now);
            }
        }
        self.reschedule(number);
    }

    /// Runs late calls of a transaction once more.
    pub(super) fn hurry(&mut self, now: Instant, number: TransactionNumber) {
        let Some((entry, _)) = self.parts(number) else { return };
        if let Some(Running { plan, servers, took, transaction, .. }) = entry.running_mut() {
            transaction.hurry(now, &Learned { plan, servers, took, now });
        }
        self.pump(now, number);
    }

    /// Something that was opened, or fetched, over a connection of a transaction has ended.
    pub fn handle_ended(&mut self, now: Instant, line: LineNumber, tag: Tag, result: CallResult) {
        let (number, server) = line;
        if let Tag::Given(data) = tag {
            return self.given(now, number, data, result);
        }
        if let (Tag::Input(_), Some(failure)) = (tag, result.failure.clone()) {
            return self.end(number, &failure.into());
        }
        let Some((entry, out)) = self.parts(number) else { return };
        let Some(running) = entry.running_mut() else { return };
        match tag {
            Tag::Call(call, attempt) => {
                running.ended(now, number, (call, server, attempt), result, out);
            }
            Tag::Number(data) => {
                let place = farcall_graph::Place::Server(HERE);
                running.transaction.handle_gone(now, data, place);
            }
            Tag::Put(data) => running.put_ended(number, data, result, out),
            _ => {}
        }
        self.pump(now, number);
    }

    /// An input that is a number has come.
    pub fn handle_number(&mut self, now: Instant, line: LineNumber, tag: Tag, bytes: InlineBytes) {
        let (number, _) = line;
        let Tag::Number(data) = tag else { return };
        let Some((entry, out)) = self.parts(number) else { return };
        let Some(running) = entry.running_mut() else { return };
        running.set_number(data, bytes);
        running.open_delayed(number, out);
        self.pump(now, number);
    }
}

impl Running {
    /// Whether a client may be told that it has ended: then it fetches its results, under ids that the
    /// server of this node has to know by then.
    pub(super) fn may_be_told(&self) -> bool {
        self.transaction.is_over() && self.recorded.unpromised == 0
    }

    fn pump(&mut self, now: Instant, number: TransactionNumber, out: &mut VecDeque<Action>) {
        loop {
            let Running { plan, servers, took, transaction, .. } = self;
            transaction.place(now, &Learned { plan, servers, took, now });
            let Some(first) = self.transaction.poll_action() else { break };
            self.carry_out(now, number, first, out);
            while let Some(deed) = self.transaction.poll_action() {
                self.carry_out(now, number, deed, out);
            }
        }
        let mut unneeded = std::mem::take(&mut self.unneeded);
        unneeded.sort_unstable();
        for of_one in unneeded.chunk_by(|one, other| one.0 == other.0) {
            for some in of_one.chunks(DELETED_MAX) {
                let ids = some.iter().map(|(_, id)| *id).collect();
                let line = (number, some[0].0);
                out.push_back(Action::Ask(line, Tag::Other, Request::DeleteData(ids)));
            }
        }
    }

    fn carry_out(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        deed: Deed,
        out: &mut VecDeque<Action>,
    ) {
        match deed {
            Deed::Open { call, server, attempt, .. } => {
                for (waiting, attempt) in self.renamed(call, server) {
                    self.transaction.handle_renamed(now, waiting, server, attempt);
                }
                match self.open(call, server, attempt) {
                    Some(open) => {
                        let tag = Tag::Call(call, attempt);
                        out.push_back(Action::Open((number, server), tag, open));
                    }
                    None => self.promise_results(number, (call, attempt, server), out),
                }
            }
            Deed::Cancel { call, attempt, server } => {
                let before = self.delayed.len();
                self.delayed.retain(|one| (one.call, one.attempt) != (call, attempt));
                if self.delayed.len() < before {
                    // The server has never heard of it, but of what it was to make.
                    let promised = self.results_of(call, attempt, server);
                    self.unneeded.extend(promised.into_iter().map(|(_, id)| (server, id)));
                    let failure = not_begun();
                    self.transaction.handle_failed(now, call, server, attempt, failure);
                    return self.look_at_moves(now, number, call, out);
                }
                out.push_back(Action::Cancel((number, server), call, attempt));
            }
            Deed::Delete { data, server } => self.delete(data, server),
            Deed::Move { data, from, to } => self.bring(now, number, (data, from, to), out),
            // The client gave all that it had.
            Deed::Send { data, to } => self.transaction.handle_not_moved(now, data, to),
            Deed::TakeUp { server, calls, data } => {
                self.take_up(number, server, (calls, data), out);
            }
            Deed::Ended { call, outcome } => {
                self.note(call, &outcome);
                if !matches!(outcome, Ended::Returned(_)) {
                    self.break_promises(number, call, out);
                }
            }
        }
    }

    /// A call waits for numbers before it is opened. Calls that use its results are opened at its
    /// server meanwhile, and name them.
    fn promise_results(
        &mut self,
        number: TransactionNumber,
        (call, attempt, server): (CallNumber, u32, ServerNumber),
        out: &mut VecDeque<Action>,
    ) {
        let results = self.results_of(call, attempt, server).into_iter();
        let promise = |(data, id)| Some(Promise { data: id, kind: self.kind(data)?.to_string() });
        let promises: Vec<Promise> = results.filter_map(promise).collect();
        if !promises.is_empty() {
            let request = Request::Promise(promises, 0);
            out.push_back(Action::Ask((number, server), Tag::Other, request));
        }
    }

    /// Results that the client wants of a call will never be there.
    pub(super) fn break_promises(
        &mut self,
        number: TransactionNumber,
        call: CallNumber,
        out: &mut VecDeque<Action>,
    ) {
        let made = &self.transaction.graph().call(call).makes;
        let wanted = made.iter().filter_map(|data| self.wanted.get(data));
        let ids: Vec<_> = wanted.map(|wanted| wanted.id).collect();
        if !ids.is_empty() {
            let request = Request::Break(ids, self.failure_of(call));
            out.push_back(Action::Ask((number, HERE), Tag::Other, request));
        }
    }

    /// A call has ended.
    fn ended(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        (call, server, attempt): (CallNumber, ServerNumber, u32),
        result: CallResult,
        out: &mut VecDeque<Action>,
    ) {
        // Where that cannot be told from a call that has run, it must be one that may run twice.
        let times = result.times;
        let may_run_again = self.transaction.graph().call(call).may_run_again;
        let was_renamed =
            self.was_renamed(call, attempt) && (may_run_again || times.started_ns == 0);
        let ran = Duration::from_nanos(times.finished_ns.saturating_sub(times.started_ns));
        let has_begun = times.started_ns > 0;
        if has_begun {
            let begun = Instant(now.0.saturating_sub(ran.as_nanos() as u64));
            self.transaction.handle_begun(begun, call, server, attempt);
        }
        let Some(failure) = result.failure else {
            let routine = self.plan.message().calls[call.0 as usize].routine;
            self.took.entry((routine, server)).or_default().add(ran.as_secs_f64());
            self.keep_numbers(number, call, &result.results, out);
            self.has_made(call, (server, attempt), &result.results);
            self.transaction.handle_returned(now, call, server, attempt);
            self.look_at_moves(now, number, call, out);
            return self.deliver(number, call, server, out);
        };
        // What it was to make has failed there, but for what is promised.
        let made = self.results_of(call, attempt, server);
        self.unneeded.extend(made.into_iter().map(|(_, id)| (server, id)));
        let error = Error::from(failure.clone());
        // A server runs nothing before all that it uses is there.
        let mut uses = self.transaction.graph().call(call).uses.iter();
        let had_all = uses.all(|data| self.is_number(*data) || self.is_at(*data, server));
        let was_told = self.transaction.may_be_ending(call, server, attempt);
        let was_taken_back = was_told && error.kind() == ErrorKind::Cancelled && !has_begun;
        let has_run = had_all && !was_renamed && !failure.retryable && !was_taken_back;
        // That a value has another id is not its server's fault: it is asked again.
        let kind = if was_renamed { ErrorKind::Cancelled } else { error.kind() };
        let why = Failure { kind, message: error.message().to_owned(), has_run };
        self.failures.insert(call, failure);
        self.transaction.handle_failed(now, call, server, attempt, why);
        self.look_at_moves(now, number, call, out);
    }

    /// Numbers that a call has made travel inside the calls that use them; those that the client wants
    /// are put at the server.
    fn keep_numbers(
        &mut self,
        number: TransactionNumber,
        call: CallNumber,
        results: &[Argument],
        out: &mut VecDeque<Action>,
    ) {
        for (result, slot) in results.iter().zip(0..) {
            let Argument::Inline(bytes) = result else { continue };
            let Some(data) = self.plan.result(call, slot) else { continue };
            self.set_number(data, bytes.clone());
            if let Some(open) = self.put(data) {
                out.push_back(Action::Open((number, HERE), Tag::Put(data), open));
            }
        }
        self.open_delayed(number, out);
    }

    fn open_delayed(&mut self, number: TransactionNumber, out: &mut VecDeque<Action>) {
        if self.delayed.is_empty() {
            return;
        }
        for (one, open) in self.ready() {
            let tag = Tag::Call(one.call, one.attempt);
            out.push_back(Action::Open((number, one.server), tag, open));
        }
    }

    /// A number was put at the server for the client, or could not be.
    fn put_ended(
        &mut self,
        number: TransactionNumber,
        data: DataNumber,
        result: CallResult,
        out: &mut VecDeque<Action>,
    ) {
        if let (Some(failure), Some(wanted)) = (result.failure, self.wanted.get(&data)) {
            let request = Request::Break(vec![wanted.id], failure);
            out.push_back(Action::Ask((number, HERE), Tag::Other, request));
        }
    }
}

fn not_begun() -> Failure {
    let kind = ErrorKind::Cancelled;
    Failure { kind, message: "it was cancelled".to_owned(), has_run: false }
}
