//! What clients ask of their data: to have it, how it is, and that it be deleted.

use std::sync::Arc;

use farcall_base::{ChannelId, ConnectionId, DataId, Instant};
use farcall_wire::{
    Argument, CallResult, CallTimes, DATA_SHOWN_MAX, DataState, DataStatus, InlineBytes, Reply,
    Resume,
};

use crate::state::{Content, Data, Finished, Value, ValuePlace};
use crate::step::data::take::not_there;
use crate::step::front::directory::interface_reply;
use crate::step::{Server, Surroundings};

impl Server {
    /// A client wants the value of data: now, or when it is there.
    pub(in crate::step) fn fetch_data(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        id: DataId,
        describe: bool,
    ) {
        let Some(data) = self.state.kept.data.get(&id) else {
            return self.refuse(connection, channel, &not_there(id));
        };
        match &data.content {
            Content::Coming(_) => {
                self.state.kept.data.ask(id, (connection, channel), describe);
            }
            Content::Failed(failure) => {
                let error = failure.clone().into();
                self.refuse(connection, channel, &error);
            }
            Content::There(value) => {
                let value = value.clone();
                self.send_value(surroundings, (connection, channel), id, describe, value);
            }
        }
    }

    fn send_value(
        &mut self,
        surroundings: &mut dyn Surroundings,
        (connection, channel): (ConnectionId, ChannelId),
        id: DataId,
        describe: bool,
        value: Arc<Value>,
    ) {
        let mut resume = Resume::new(id.as_call());
        if describe {
            let routine = self.routine_of_kind(value.kind);
            let extents = value.extents.iter().map(|extent| {
                Argument::Inline(InlineBytes::from_slice(&(*extent as i64).to_ne_bytes()))
            });
            resume.interface = Some(interface_reply(&routine, None));
            resume.arguments = Some(extents.chain([Argument::Absent]).collect());
        }
        let shared = self.share_value(surroundings, (connection, channel), &value);
        let is_shared = shared.is_some();
        let result = shared.unwrap_or_else(|| match &value.place {
            ValuePlace::Inline(bytes) => Argument::Inline(bytes.clone()),
            ValuePlace::Memory(_) => Argument::Blocks(Some(value.bytes())),
        });
        let absent = value.extents.iter().map(|_| Argument::Absent);
        let result = CallResult {
            failure: None,
            results: absent.chain([result]).collect(),
            times: CallTimes::default(),
            attributes: None,
        };
        let finished = Arc::new(Finished {
            id: id.as_call(),
            call: None,
            files: None,
            value: Some(value),
            written: None,
            result,
            waits_since: surroundings.now(),
        });
        self.answer_resumed(surroundings, &finished, (connection, channel), &resume);
        if is_shared {
            self.unshare_value(connection, channel);
        }
        self.let_go(surroundings, finished);
    }

    /// A client asks how its data is.
    pub(in crate::step) fn tell_data(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        channel: ChannelId,
        ids: &[DataId],
    ) {
        let Some(principal) = self.rights(connection).map(|rights| rights.principal().to_owned())
        else {
            return;
        };
        let table = &self.state.kept.data;
        let mut told: Vec<DataStatus> = match ids {
            [] => {
                let mine = table.all().filter(|(_, data)| data.principal == principal);
                mine.map(|(id, data)| status(now, *id, data)).collect()
            }
            ids => {
                let mine = ids.iter().filter_map(|id| Some((id, table.of(id, &principal)?)));
                mine.take(DATA_SHOWN_MAX).map(|(id, data)| status(now, *id, data)).collect()
            }
        };
        if ids.is_empty() {
            told.sort_by_key(|data| (data.left_us, data.id));
            told.truncate(DATA_SHOWN_MAX);
        }
        self.reply(connection, channel, &Reply::Data(told));
    }

    /// A client needs data no longer.
    pub(in crate::step) fn ordered_to_delete_data(
        &mut self,
        surroundings: &mut dyn Surroundings,
        connection: ConnectionId,
        channel: ChannelId,
        ids: &[DataId],
    ) {
        let Some(principal) = self.rights(connection).map(|rights| rights.principal().to_owned())
        else {
            return;
        };
        for id in ids {
            if self.state.kept.data.of(id, &principal).is_some() {
                self.delete_data(surroundings, *id);
            }
        }
        self.wake_calls(surroundings);
        self.reply(connection, channel, &Reply::Done);
    }
}

fn status(now: Instant, id: DataId, data: &Data) -> DataStatus {
    let (state, extents, failure) = match &data.content {
        Content::Coming(_) => (DataState::Coming, Vec::new(), None),
        Content::There(value) => (DataState::There, value.extents.clone(), None),
        Content::Failed(failure) => (DataState::Failed, Vec::new(), Some(failure.clone())),
    };
    let left = data.expires.map(|at| u64::try_from(at.since(now).as_micros()).unwrap_or(u64::MAX));
    DataStatus {
        id,
        state,
        kind: data.kind.to_string(),
        extents,
        bytes: data.bytes,
        left_us: left,
        principal: data.principal.clone(),
        failure,
    }
}
