//! Data at a simulated server.

use farcall_base::{DataId, Error, ErrorKind, Instant};
use farcall_wire::{
    DataState, DataStatus, Failure, Promise, PullRequest, Reply, Ticket, TicketKey,
};

use super::{Asker, ConnId, Content, Data, Effect, Server, ToNode};
use crate::tests::sim::graphs::Value;

impl Server {
    /// A client has put something here, which stays for a while without it.
    pub fn give(&mut self, id: DataId, value: Value, until: Instant) {
        let data = Data {
            kind: value.kind.clone(),
            content: Content::There(value),
            is_promised: false,
            owner: None,
            client: None,
            expires: Some(until),
            key: None,
            asking: Vec::new(),
        };
        self.data.insert(id, data);
    }

    pub(super) fn may_make(&self, id: &DataId) -> bool {
        match self.data.get(id) {
            Some(data) => matches!(data.content, Content::Coming(None)),
            None => true,
        }
    }

    /// Data is there, or never will be.
    pub(super) fn set(&mut self, id: DataId, outcome: Result<Value, Failure>) {
        let Some(data) = self.data.get_mut(&id) else { return };
        data.content = match outcome {
            Ok(value) => Content::There(value),
            Err(_) if data.is_promised => return data.content = Content::Coming(None),
            Err(failure) => Content::Failed(failure),
        };
        for asker in std::mem::take(&mut data.asking) {
            self.fetch(id, asker);
        }
    }

    /// Somebody wants data, when it is there.
    pub fn fetch(&mut self, id: DataId, asker: Asker) {
        let outcome = match self.data.get_mut(&id) {
            None => Err(not_there()),
            Some(data) => match &data.content {
                Content::Coming(_) => return data.asking.push(asker),
                Content::There(value) => Ok(value.clone()),
                Content::Failed(failure) => Err(failure.clone()),
            },
        };
        match (asker, outcome) {
            (Asker::Node(conn, channel), Ok(value)) => {
                self.out.push(Effect::Say(conn, ToNode::Fetched(channel, value)));
            }
            (Asker::Node(conn, channel), Err(failure)) => {
                self.refuse(conn, channel, &Error::from(failure));
            }
            (asker, outcome) => self.out.push(Effect::Came(asker, outcome)),
        }
    }

    /// Another server shows a ticket.
    pub fn fetch_by(&mut self, id: DataId, ticket: &Ticket, pull: u64) {
        let keys = self.data.get(&id).and_then(|data| data.key).into_iter().chain(self.key);
        if self.data.contains_key(&id) && keys.into_iter().any(|key| key.made(id, ticket)) {
            return self.fetch(id, Asker::Pull(pull));
        }
        let error = Error::new(ErrorKind::PermissionDenied, "pull data", "no such ticket");
        self.out.push(Effect::Came(Asker::Pull(pull), Err(Failure::from(&error))));
    }

    pub(super) fn check_pull(&mut self, pull: &PullRequest) -> Result<(), Failure> {
        let data = self.data.get_mut(&pull.data);
        let data = data.filter(|data| matches!(data.content, Content::Coming(None)));
        let message = "the data is not promised";
        let error = Error::new(ErrorKind::InvalidArgument, "pull data", message);
        let data = data.ok_or_else(|| Failure::from(&error))?;
        data.key = pull.key.map(TicketKey).or(data.key);
        Ok(())
    }

    /// What was pulled is here.
    pub fn pulled(&mut self, id: DataId, outcome: Result<Value, Failure>) -> Result<(), Failure> {
        let value = outcome?;
        if !self.data.get(&id).is_some_and(|data| matches!(data.content, Content::Coming(None))) {
            let error = Error::new(ErrorKind::Cancelled, "pull data", "it was deleted meanwhile");
            return Err(Failure::from(&error));
        }
        self.set(id, Ok(value));
        self.begin_calls();
        Ok(())
    }

    pub(super) fn delete(&mut self, id: DataId) {
        let Some(data) = self.data.remove(&id) else { return };
        for asker in data.asking {
            self.fetch(id, asker);
        }
    }

    pub(super) fn promise(&mut self, conn: ConnId, promises: &[Promise]) -> Reply {
        if promises.iter().any(|promise| self.data.contains_key(&promise.data)) {
            let message = "the id is that of a call, or of other data";
            let error = Error::new(ErrorKind::InvalidArgument, "promise data", message);
            return Reply::Failed(Failure::from(&error));
        }
        let client = self.conns.get(&conn).and_then(|conn| conn.client);
        for promise in promises {
            self.data.insert(
                promise.data,
                Data {
                    content: Content::Coming(None),
                    kind: promise.kind.clone(),
                    is_promised: true,
                    owner: Some(conn),
                    client,
                    expires: None,
                    key: None,
                    asking: Vec::new(),
                },
            );
        }
        Reply::Done
    }

    pub(super) fn break_promise(&mut self, id: DataId, failure: &Failure) {
        let Some(data) = self.data.get_mut(&id) else { return };
        data.is_promised = false;
        if matches!(data.content, Content::Coming(None)) {
            self.set(id, Err(failure.clone()));
        }
    }

    pub(super) fn statuses(&self, ids: &[DataId]) -> Vec<DataStatus> {
        let found = ids.iter().filter_map(|id| Some((id, self.data.get(id)?)));
        found.map(|(id, data)| status(*id, data)).collect()
    }

    /// One value that is there vanishes.
    pub fn lose_one(&mut self, drawn: u64) -> Option<DataId> {
        let there = self
            .data
            .iter()
            .filter(|(_, data)| matches!(data.content, Content::There(_)) && data.client.is_some());
        let ids: Vec<DataId> = there.map(|(id, _)| *id).collect();
        let id = *ids.get(drawn as usize % ids.len().max(1))?;
        self.delete(id);
        self.begin_calls();
        Some(id)
    }

    pub(super) fn data_left(&self) -> Vec<String> {
        let told =
            self.data.iter().filter(|(_, data)| data.client.is_some() || data.owner.is_some());
        told.map(|(id, data)| {
            let state = match &data.content {
                Content::Coming(None) => "promised",
                Content::Coming(_) => "coming",
                Content::There(_) => "there",
                Content::Failed(_) => "failed",
            };
            format!("{}: data {id} is {state}", self.name)
        })
        .collect()
    }
}

fn status(id: DataId, data: &Data) -> DataStatus {
    let (state, extents, bytes, failure) = match &data.content {
        Content::Coming(_) => (DataState::Coming, Vec::new(), 0, None),
        Content::There(value) => {
            (DataState::There, value.extents.clone(), value.elements.len() as u64, None)
        }
        Content::Failed(failure) => (DataState::Failed, Vec::new(), 0, Some(failure.clone())),
    };
    DataStatus {
        id,
        state,
        kind: data.kind.clone(),
        extents,
        bytes,
        left_us: None,
        principal: "uid 7".to_owned(),
        failure,
    }
}

fn not_there() -> Failure {
    let message = "the server has no such data";
    Failure::from(&Error::new(ErrorKind::NotFound, "find data", message))
}
