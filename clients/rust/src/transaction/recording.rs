//! A transaction that is being written down: its message, what its calls make, and the arrays that
//! they are called with.

use std::sync::Arc;

use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_graph::{CallMessage, Limits, Message, RoutineName, WantedResult};
use farcall_idl::data::DataKind;
use rustc_hash::FxHashMap;

use super::Run;
use super::arguments::Writer;
use super::inputs::Inputs;
use crate::argument::Argument;
use crate::client::Client;
use crate::contract::Contract;
use crate::data::{Data, Made, WeakData};

/// What is written down.
#[derive(Default)]
pub(super) struct Recording {
    message: Message,
    /// By the index of the routine.
    contracts: Vec<Arc<Contract>>,
    /// Index of a routine, by name.
    routines: FxHashMap<String, u32>,
    /// By the number of the call: what it makes, in the order of its parameters.
    made: Vec<Box<[MadeValue]>>,
    pub inputs: Inputs,
    arguments: usize,
}

/// What a call makes for a parameter.
pub(super) struct MadeValue {
    pub slot: u16,
    pub kind: DataKind,
    /// `None` where they are not known before the call has run.
    pub extents: Option<Vec<u64>>,
    /// The id under which the server keeps it, if it is to.
    wanted: Option<DataId>,
    /// What the program has of it.
    data: WeakData,
}

/// Results that the server keeps, of a transaction that has begun: kind, extents and id, by call
/// and parameter.
#[derive(Default)]
pub(super) struct Wanted(FxHashMap<(u32, u16), WantedValue>);

struct WantedValue {
    id: DataId,
    kind: DataKind,
    extents: Option<Vec<u64>>,
    data: WeakData,
}

impl MadeValue {
    pub fn new(slot: u16, kind: DataKind, extents: Option<Vec<u64>>) -> MadeValue {
        MadeValue { slot, kind, extents, wanted: None, data: WeakData::default() }
    }

    /// The id under which the server is to keep it: wanted by name, or by who has it.
    fn id(&self) -> Option<DataId> {
        self.wanted.or_else(|| self.data.upgrade().map(|data| data.id()))
    }
}

impl Recording {
    /// Writes a call down; its number.
    pub fn call(
        &mut self,
        client: &Client,
        run: &Arc<Run>,
        contract: &Arc<Contract>,
        arguments: Vec<Argument<'_>>,
        after: &[u32],
    ) -> Result<u32> {
        let number = self.made.len();
        let told = |error: Error| {
            let lacks = |fact: &str| error.context().iter().all(|(key, _)| key != fact);
            let is_unnamed = lacks("routine");
            let error = error.with("call", number);
            if is_unnamed { error.with("routine", &contract.name) } else { error }
        };
        self.check_room(contract.interface.parameters.len()).map_err(told)?;
        self.check_after(after).map_err(told)?;
        if !contract.interface.class.is_empty() {
            return Err(told(
                refused("a transaction cannot call methods of objects")
                    .fix("make this call outside of the transaction"),
            ));
        }
        let mut writer = Writer { client, run, contract, inputs: &mut self.inputs };
        let (arguments, made) = writer.write(arguments).map_err(told)?;
        let routine = self.routine(contract)?;
        self.arguments += arguments.len();
        let call = CallMessage { routine, arguments, after: after.to_vec() };
        self.message.calls.push(call);
        self.made.push(made.into_boxed_slice());
        Ok(number as u32)
    }

    /// Whether nothing was written down.
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// The routines that are called.
    pub fn contracts(&self) -> &[Arc<Contract>] {
        &self.contracts
    }

    /// The index of a routine.
    fn routine(&mut self, contract: &Arc<Contract>) -> Result<u32> {
        if let Some(index) = self.routines.get(&contract.name) {
            let known = &self.contracts[*index as usize];
            return if known.hash == contract.hash { Ok(*index) } else { Err(contract.changed()) };
        }
        let index = self.contracts.len() as u32;
        let name = RoutineName { name: contract.name.clone(), contract: contract.hash };
        self.message.routines.push(name);
        self.contracts.push(contract.clone());
        self.routines.insert(contract.name.clone(), index);
        Ok(index)
    }

    fn check_room(&self, arguments: usize) -> Result<()> {
        let Limits { calls_max, arguments_max, .. } = Limits::default();
        let wrong = |what: &'static str, limit: usize| {
            Error::new(ErrorKind::LimitExceeded, "write a transaction down", what)
                .with("limit", limit)
                .fix("divide the work into several transactions")
        };
        if self.made.len() >= calls_max {
            return Err(wrong("the transaction has too many calls", calls_max));
        }
        if self.arguments + arguments > arguments_max {
            return Err(wrong(
                "the calls of the transaction have too many arguments",
                arguments_max,
            ));
        }
        Ok(())
    }

    fn check_after(&self, after: &[u32]) -> Result<()> {
        match after.iter().find(|one| **one as usize >= self.made.len()) {
            None => Ok(()),
            Some(one) => Err(refused("a call waits for one that does not come before it")
                .with("named call", *one)
                .fix("name calls of this transaction that were written down before")),
        }
    }

    fn value(&mut self, call: u32, slot: u16) -> Result<&mut MadeValue> {
        let made = self.made.get_mut(call as usize).ok_or_else(|| {
            let message = "the transaction has no such call";
            Error::new(ErrorKind::NotFound, "read a result of a transaction", message)
                .with("call", call)
                .fix("name a call by the number that it got")
        })?;
        made.iter_mut().find(|one| one.slot == slot).ok_or_else(|| no_result(call, slot))
    }

    /// What a call makes for a parameter.
    pub fn result(
        &mut self,
        client: &Client,
        run: &Arc<Run>,
        call: u32,
        slot: u16,
    ) -> Result<Data> {
        let value = self.value(call, slot)?;
        if let Some(data) = value.data.upgrade() {
            return Ok(data);
        }
        let id = value.wanted.unwrap_or_else(|| DataId(client.session().random()));
        let made = Made { run: run.clone(), call, slot };
        let data = Data::made(client, id, value.kind, made);
        value.extents.iter().for_each(|extents| data.has_extents(extents.clone()));
        value.data = data.weak();
        Ok(data)
    }

    /// Has the server keep a result.
    pub fn want(&mut self, client: &Client, call: u32, slot: u16) -> Result<DataId> {
        let value = self.value(call, slot)?;
        let id = value.id().unwrap_or_else(|| DataId(client.session().random()));
        value.wanted = Some(id);
        Ok(id)
    }

    /// The whole message, and the results that are wanted.
    pub fn finish(&mut self) -> (Message, Wanted) {
        let mut wanted = Wanted::default();
        let mut message = std::mem::take(&mut self.message);
        message.inputs = self.inputs.listed();
        for (call, made) in (0..).zip(std::mem::take(&mut self.made)) {
            for MadeValue { slot, kind, extents, wanted: named, data } in made {
                let kept = data.upgrade();
                let id = named.or_else(|| kept.as_ref().map(Data::id));
                let Some(id) = id else { continue };
                message.results.push(WantedResult { call, slot, name: id });
                wanted.0.insert((call, slot), WantedValue { id, kind, extents, data });
            }
        }
        (message, wanted)
    }
}

impl Wanted {
    /// A result that the server keeps.
    pub fn result(
        &mut self,
        client: &Client,
        run: &Arc<Run>,
        call: u32,
        slot: u16,
    ) -> Result<Data> {
        let value = self.0.get_mut(&(call, slot)).ok_or_else(|| {
            let message = "the server does not keep this result";
            Error::new(ErrorKind::NotFound, "read a result of a transaction", message)
                .with("call", call)
                .with("parameter", slot)
                .fix("want it before the transaction begins")
        })?;
        if let Some(data) = value.data.upgrade() {
            return Ok(data);
        }
        let made = Made { run: run.clone(), call, slot };
        let data = Data::made(client, value.id, value.kind, made);
        value.extents.iter().for_each(|extents| data.has_extents(extents.clone()));
        value.data = data.weak();
        Ok(data)
    }
}

pub(super) fn refused(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "write a transaction down", message)
}

fn no_result(call: u32, slot: u16) -> Error {
    let message = "the call has no such result, or it cannot stay at a server";
    Error::new(ErrorKind::NotFound, "read a result of a transaction", message)
        .with("call", call)
        .with("parameter", slot)
        .fix(
            "name an OUT or INOUT parameter that is a number, or an array of numbers or characters",
        )
}
