//! What is written of a transaction that runs, beside the rows of its graph, and read again.

use std::collections::BTreeSet;

use farcall_base::DataId;
use farcall_graph::{CallNumber, DataNumber, ServerNumber};
use farcall_wire::InlineBytes;

use super::kept::{NumberRow, PlaceRow, Record};
use super::{HERE, Running};

/// What is written beside the rows of the graph.
#[derive(Default)]
pub struct Recorded {
    /// Places and numbers that are new since the last record.
    places: BTreeSet<(DataNumber, ServerNumber)>,
    numbers: BTreeSet<DataNumber>,
    /// Numbers that were put at the server, and values that were moved, so far.
    pub moves: u32,
    /// What servers were asked whether they have it.
    pub checks: Vec<Check>,
    /// Promises of what the client wants, made again, that its server has not answered.
    pub unpromised: usize,
}

/// Values that are to be at a server, or on their way to it.
pub struct Check {
    /// Which server.
    pub server: ServerNumber,
    /// The values, with their ids there.
    pub values: Vec<(DataNumber, DataId)>,
}

impl Running {
    /// A value has an id at a server.
    pub fn set_place(&mut self, data: DataNumber, server: ServerNumber, id: DataId) {
        self.places.insert((data, server), id);
        self.recorded.places.insert((data, server));
    }

    /// A number is known.
    pub fn set_number(&mut self, data: DataNumber, bytes: InlineBytes) {
        self.numbers.insert(data, bytes);
        self.recorded.numbers.insert(data);
    }

    /// Whether a call that is to be opened has all numbers that travel inside it: else it never was
    /// opened.
    pub fn has_numbers(&self, call: CallNumber) -> bool {
        let given = &self.plan.message().calls[call.0 as usize].arguments;
        let mut used = given.iter().filter_map(|one| self.plan.argument(one));
        used.all(|data| !self.as_numbers.contains(&data) || self.numbers.contains_key(&data))
    }

    /// What is to be written: all, or what is new; `None` where that is nothing.
    pub fn record(&mut self, is_whole: bool, has_servers: bool) -> Option<Record> {
        let new_places = std::mem::take(&mut self.recorded.places);
        let new_numbers = std::mem::take(&mut self.recorded.numbers);
        let graph = match is_whole {
            true => Some(self.transaction.record_all()),
            false => self.transaction.record(),
        };
        let has_news = !new_places.is_empty() || !new_numbers.is_empty() || has_servers;
        if graph.is_none() && !has_news {
            return None;
        }
        let place = |key: &(DataNumber, ServerNumber)| {
            let id = self.places.get(key)?.0;
            Some(PlaceRow { data: key.0.0, server: key.1.0, id })
        };
        let number = |data: &DataNumber| {
            let bytes = self.numbers.get(data)?.to_vec().into();
            Some(NumberRow { data: data.0, bytes })
        };
        let (places, numbers) = match is_whole {
            true => (
                self.places.keys().filter_map(place).collect(),
                self.numbers.keys().filter_map(number).collect(),
            ),
            false => (
                new_places.iter().filter_map(place).collect(),
                new_numbers.iter().filter_map(number).collect(),
            ),
        };
        let moves = self.recorded.moves;
        let servers = (is_whole || has_servers).then(|| self.servers.kept());
        Some(Record { graph: graph.map(Into::into), places, numbers, moves, servers })
    }

    /// What records say beside the graph's own; servers have other numbers now.
    pub fn take_back(&mut self, record: Record, number: &impl Fn(ServerNumber) -> ServerNumber) {
        for PlaceRow { data, server, id } in record.places {
            self.set_place(DataNumber(data), number(ServerNumber(server)), DataId(id));
        }
        for NumberRow { data, bytes } in record.numbers {
            self.set_number(DataNumber(data), bytes.as_slice().into());
        }
        self.recorded.moves = self.recorded.moves.max(record.moves);
    }

    /// Inputs are put at the server of this node under their own ids, whatever they had there before.
    pub fn name_inputs(&mut self) {
        for data in (0..self.plan.message().inputs.len() as u32).map(DataNumber) {
            if let Some(id) = self.plan.input_name(data) {
                self.set_place(data, HERE, id);
            }
        }
    }

    /// What is known of calls that ended before it was taken up.
    pub fn count_ended(&mut self) {
        for call in (0..self.transaction.graph().calls() as u32).map(CallNumber) {
            if let Some(outcome) = self.transaction.outcome(call).cloned() {
                self.note(call, &outcome);
            }
        }
    }
}
