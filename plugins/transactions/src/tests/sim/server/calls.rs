//! Calls at a simulated server.

use std::time::Duration;

use farcall_base::{CallId, DataId, Error, ErrorKind, Random};
use farcall_wire::{Argument, CallResult, CallTimes, Failure, Open, TicketKey};

use super::{Call, CallState, Channel, ConnId, Content, Data, Effect, Server, ToNode};
use crate::tests::sim::graphs::{Value, made, word_of};

/// Calls that run at a time.
const PROCESSORS: usize = 2;

impl Server {
    pub(super) fn open(&mut self, conn: ConnId, channel: Channel, open: Box<Open>) {
        if let Err(error) = self.check(&open) {
            return self.refuse(conn, channel, &error);
        }
        let id = open.call;
        let client = self.conns.get(&conn).and_then(|conn| conn.client);
        let key = TicketKey::of(&open).unwrap();
        for data in made_by(&open) {
            self.coming(data, id, (conn, key));
        }
        let place = Some((conn, channel));
        self.calls.insert(id, Call { place, client, open, state: CallState::Waiting });
        let open = &self.calls[&id].open;
        if open.routine.starts_with("data:") {
            let Argument::Inline(bytes) = &open.arguments[1] else { panic!("{open:?}") };
            let value =
                Value { kind: open.routine.clone(), extents: vec![1], elements: bytes.to_vec() };
            return self.finish(id, Ok(value));
        }
        self.queue.push_back(id);
    }

    fn check(&mut self, open: &Open) -> Result<(), Error> {
        let error = |kind, message: &'static str| Error::new(kind, "accept a call", message);
        let is_put = open.routine.starts_with("data:");
        if !self.runs_calls && !is_put {
            return Err(error(ErrorKind::NotFound, "no such routine"));
        }
        if self.refuses > 0 && !is_put && self.random.next().is_multiple_of(self.refuses) {
            return Err(error(ErrorKind::LimitExceeded, "there is no room").retryable());
        }
        if self.is_id(&open.call) {
            return Err(error(ErrorKind::InvalidArgument, "the id is that of another call"));
        }
        for data in used_by(open) {
            match self.data.get(&data).map(|data| &data.content) {
                None => return Err(error(ErrorKind::NotFound, "no such data")),
                Some(Content::Failed(failure)) => {
                    let kind = Error::from(failure.clone()).kind();
                    return Err(error(kind, "an argument will never be there"));
                }
                Some(_) => {}
            }
        }
        match made_by(open).into_iter().all(|id| self.may_make(&id)) {
            true => Ok(()),
            false => Err(error(ErrorKind::InvalidArgument, "an id of data is that of other data")),
        }
    }

    fn is_id(&self, call: &CallId) -> bool {
        self.calls.contains_key(call) || self.data.contains_key(&DataId(call.0))
    }

    fn coming(&mut self, id: DataId, call: CallId, (conn, key): (ConnId, Option<TicketKey>)) {
        if let Some(data) = self.data.get_mut(&id) {
            data.content = Content::Coming(Some(call));
            data.key = key;
            return;
        }
        let client = self.conns.get(&conn).and_then(|conn| conn.client);
        self.data.insert(
            id,
            Data {
                content: Content::Coming(Some(call)),
                kind: super::super::graphs::ARRAY.to_owned(),
                is_promised: false,
                owner: Some(conn),
                client,
                expires: None,
                key,
                asking: Vec::new(),
            },
        );
    }

    pub(super) fn put(
        &mut self,
        conn: ConnId,
        channel: Channel,
        (call, data): (CallId, DataId),
        value: Value,
        key: Option<TicketKey>,
    ) {
        let message = "the id is that of another call, or of other data";
        if self.is_id(&call) || !self.may_make(&data) {
            let error = Error::new(ErrorKind::InvalidArgument, "keep data", message);
            return self.refuse(conn, channel, &error);
        }
        self.coming(data, call, (conn, key));
        self.set(data, Ok(value));
        let result = returned(vec![Argument::Absent, Argument::Data(data)], 0);
        self.out.push(Effect::Say(conn, ToNode::Ended(channel, result)));
    }

    pub(super) fn refuse(&mut self, conn: ConnId, channel: Channel, error: &Error) {
        let result = failed(Failure::from(error), 0);
        self.out.push(Effect::Say(conn, ToNode::Ended(channel, result)));
    }

    /// Calls whose arguments are there begin; those whose arguments will never be there end.
    pub fn begin_calls(&mut self) {
        loop {
            let running = self.calls.values().filter(|it| matches!(it.state, CallState::Running));
            let has_room = running.count() < PROCESSORS;
            let mut next = None;
            for id in self.queue.iter().copied() {
                match self.words_of(&id) {
                    Ok(Some(words)) if has_room => next = Some((id, Ok(words))),
                    Err(error) => next = Some((id, Err(error))),
                    Ok(_) => continue,
                }
                break;
            }
            let Some((id, outcome)) = next else { return };
            self.queue.retain(|one| *one != id);
            match outcome {
                Ok(words) => self.begin(id, &words),
                Err(failure) => self.finish(id, Err(failure)),
            }
        }
    }

    fn words_of(&self, id: &CallId) -> Result<Option<Vec<u64>>, Failure> {
        let mut words = Vec::new();
        // The first is how many elements there are.
        for argument in self.calls[id].open.arguments.iter().skip(1) {
            match argument {
                Argument::Inline(bytes) => words.push(word_of(bytes)),
                Argument::Data(data) => match self.data.get(data).map(|data| &data.content) {
                    Some(Content::There(value)) => words.push(value.word()),
                    Some(Content::Coming(_)) => return Ok(None),
                    Some(Content::Failed(failure)) => return Err(failure.clone()),
                    None => {
                        let message = "its data was deleted";
                        let error = Error::new(ErrorKind::NotFound, "run a routine", message);
                        return Err(Failure::from(&error));
                    }
                },
                _ => {}
            }
        }
        Ok(Some(words))
    }

    fn begin(&mut self, id: CallId, words: &[u64]) {
        let takes_ms = match self.random.next() % 30 {
            0 => 4000,
            drawn => 1 + drawn * 7,
        };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.state = CallState::Running;
        // What it was called with is its own from now on.
        call.open.arguments = words
            .iter()
            .map(|word| Argument::Inline(word.to_ne_bytes().as_slice().into()))
            .collect();
        self.out.push(Effect::Begun(id, Duration::from_millis(takes_ms)));
    }

    /// A routine has returned.
    pub fn returns(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else { return };
        if !matches!(call.state, CallState::Running) {
            return;
        }
        let words: Vec<u64> = call
            .open
            .arguments
            .iter()
            .map(|one| match one {
                Argument::Inline(bytes) => word_of(bytes),
                _ => 0,
            })
            .collect();
        let value = made(&call.open.routine, &words);
        self.finish(id, Ok(value));
        self.begin_calls();
    }

    pub(super) fn finish(&mut self, id: CallId, outcome: Result<Value, Failure>) {
        self.queue.retain(|one| *one != id);
        let Some(call) = self.calls.get(&id) else { return };
        if matches!(call.state, CallState::Ended(_)) {
            return;
        }
        let started_ns = if matches!(call.state, CallState::Running) { 1 } else { 0 };
        let result = match &outcome {
            Ok(value) => returned(results(&call.open, value), started_ns),
            Err(failure) => failed(failure.clone(), started_ns),
        };
        for data in made_by(&self.calls[&id].open) {
            let is_its =
                |data: &&Data| matches!(data.content, Content::Coming(of) if of == Some(id));
            if self.data.get(&data).filter(is_its).is_some() {
                self.set(data, outcome.clone());
            }
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        if let Some((conn, channel)) = call.place {
            self.out.push(Effect::Say(conn, ToNode::Ended(channel, result.clone())));
        }
        call.state = CallState::Ended(result);
        if call.client.is_none() {
            self.calls.remove(&id);
        }
    }

    pub(super) fn resume(&mut self, conn: ConnId, channel: Channel, id: CallId) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.place = Some((conn, channel));
            self.out.push(Effect::Say(conn, ToNode::TakenUp(channel)));
            if let CallState::Ended(result) = &call.state {
                self.out.push(Effect::Say(conn, ToNode::Ended(channel, result.clone())));
            }
            return;
        }
        let client = self.conns.get(&conn).and_then(|conn| conn.client);
        let client = client.and_then(|client| self.clients.get(&client));
        let never_ran = client.is_some_and(|one| !one.is_stranger && !one.over.contains(&id));
        let error = Error::new(ErrorKind::NotFound, "resume a call", "there is no such call");
        let error = if never_ran { error.retryable() } else { error };
        self.refuse(conn, channel, &error);
    }

    pub(super) fn cancel(&mut self, conn: ConnId, channel: Channel) {
        let place = Some((conn, channel));
        let found = self.calls.iter().find(|(_, call)| call.place == place).map(|(id, _)| *id);
        if let Some(id) = found {
            let error = Error::new(ErrorKind::Cancelled, "run a routine", "it was cancelled");
            self.finish(id, Err(Failure::from(&error)));
        }
    }
}

fn made_by(open: &Open) -> Vec<DataId> {
    let wanted = open.wanted.iter().flatten();
    wanted.filter_map(|one| if let Argument::Data(id) = one { Some(*id) } else { None }).collect()
}

fn used_by(open: &Open) -> Vec<DataId> {
    let used = open.arguments.iter();
    used.filter_map(|one| if let Argument::Data(id) = one { Some(*id) } else { None }).collect()
}

/// What travels back.
fn results(open: &Open, value: &Value) -> Vec<Argument> {
    let wanted = open.wanted.iter().flatten();
    wanted
        .map(|one| match one {
            Argument::Blocks(_) => Argument::Inline(value.elements[..8].into()),
            other => other.clone(),
        })
        .collect()
}

fn returned(results: Vec<Argument>, started_ns: u64) -> CallResult {
    let times = CallTimes { started_ns, finished_ns: started_ns, ..CallTimes::default() };
    CallResult { failure: None, results, times, attributes: None }
}

fn failed(failure: Failure, started_ns: u64) -> CallResult {
    let times = CallTimes { started_ns, finished_ns: started_ns, ..CallTimes::default() };
    CallResult { failure: Some(failure), results: Vec::new(), times, attributes: None }
}
