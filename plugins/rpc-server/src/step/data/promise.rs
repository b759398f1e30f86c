//! Promised data: it is coming, though no call makes it yet (spec/wire.md, section 12).

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_wire::{Failure, Promise, Reply};

use crate::state::{Content, Data, OVERHEAD};
use crate::step::{Server, Surroundings};

impl Server {
    /// A client is going to make data, or to have it made: others can name it from now on.
    pub(in crate::step) fn promise_data(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        promises: &[Promise],
        lease_us: u64,
    ) {
        let lease = Duration::from_micros(lease_us);
        let reply = match self.check_promises(connection, promises, lease) {
            Ok((principal, kinds)) => {
                let client = self.client_of(connection);
                for (promise, kind) in promises.iter().zip(kinds) {
                    let data = Data {
                        principal: principal.clone(),
                        kind,
                        content: Content::Coming(None),
                        is_promised: true,
                        tickets: None,
                        pulled: BTreeSet::new(),
                        bytes: OVERHEAD,
                        lease,
                        owner: Some(connection),
                        client: client.clone(),
                        expires: None,
                        waiting: Vec::new(),
                        asking: Vec::new(),
                    };
                    self.state.kept.enter_data(promise.data, data);
                }
                Reply::Done
            }
            Err(error) => Reply::Failed((&error).into()),
        };
        self.reply(connection, channel, &reply);
    }

    fn check_promises(
        &self,
        connection: ConnectionId,
        promises: &[Promise],
        lease: Duration,
    ) -> Result<(String, Vec<DataKind>)> {
        let wrong = |message: &'static str, promise: &Promise| {
            Error::new(ErrorKind::InvalidArgument, "promise data", message)
                .with("data", promise.data)
        };
        let rights = self.rights(connection);
        let principal = rights.map_or("", |rights| rights.principal()).to_owned();
        let mut seen = std::collections::HashSet::new();
        let mut kinds = Vec::with_capacity(promises.len());
        for promise in promises {
            let id = promise.data.as_call();
            let is_taken = self.state.calls.has_id(&id) || self.state.kept.has(&id);
            if is_taken || !seen.insert(promise.data) {
                return Err(wrong("the id is that of a call, or of other data", promise)
                    .fix("give all data ids of their own: sixteen random bytes"));
            }
            let kind = DataKind::of_routine(&promise.kind).ok_or_else(|| {
                wrong("the type of data is unknown", promise)
                    .with("type", &promise.kind)
                    .fix("write it as data:double:2:row")
            })?;
            kinds.push(kind);
        }
        self.check_lease(lease)?;
        let count = promises.len() as u64;
        let bytes = count.saturating_mul(OVERHEAD);
        let limits = &self.state.limits.keep;
        self.state.kept.room.check_data_room(&principal, (count, bytes), limits)?;
        Ok((principal, kinds))
    }

    /// Whether a call may make data of this id: it is free, or was promised and is this principal's.
    pub(in crate::step) fn may_make(&self, id: DataId, kind: DataKind, principal: &str) -> bool {
        match self.state.kept.data.get(&id) {
            Some(data) => {
                let is_open = matches!(data.content, Content::Coming(None));
                let fits = (data.kind.element, data.kind.rank) == (kind.element, kind.rank);
                is_open && fits && data.principal == principal
            }
            None => !self.state.calls.has_id(&id.as_call()) && !self.state.kept.has(&id.as_call()),
        }
    }

    /// A client does not keep its promises: the data will never be there.
    pub(in crate::step) fn break_promises(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        ids: &[DataId],
        failure: &Failure,
    ) {
        let rights = self.rights(connection);
        let principal = rights.map_or("", |rights| rights.principal()).to_owned();
        for id in ids {
            if self.state.kept.data.of(id, &principal).is_some() {
                self.break_promise(surroundings, *id, failure);
            }
        }
        self.wake_calls(surroundings);
        self.reply(connection, channel, &Reply::Done);
    }

    /// The client that promised data has left: what of it still stays will never be there.
    pub(in crate::step) fn promisers_gone(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
    ) {
        let message = "the client that promised it has left";
        let error = Error::new(ErrorKind::ConnectionLost, "make data", message);
        let failure = Failure::from(&error);
        for id in self.state.kept.data.promised_by(connection) {
            self.break_promise(surroundings, id, &failure);
        }
    }

    fn break_promise(
        &mut self,
        surroundings: &mut dyn Surroundings,
        id: DataId,
        failure: &Failure,
    ) {
        let Some(data) = self.state.kept.data.get_mut(&id) else { return };
        data.is_promised = false;
        if matches!(data.content, Content::Coming(None)) {
            data.content = Content::Failed(failure.clone());
            self.tell_of_data(surroundings, id);
        }
    }
}
