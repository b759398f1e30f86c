//! Arguments that are data: a call that names some waits until all of it is there.

use std::sync::Arc;

use farcall_base::{ConnectionId, DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_idl::interface::{Interface, Parameter};
use farcall_idl::layout::{ArrayLayout, CallLayout, ParameterLayout};
use farcall_link::strided::Strided;
use farcall_wire::{Argument, DATA, InlineBytes, Open};

use crate::state::{Call, CallKey, Content, Data, Value, ValuePlace};
use crate::step::calls::check::misfit;
use crate::step::calls::place::SlotMemory;
use crate::step::{Server, Surroundings};

/// What becomes of an argument that is data.
enum Came {
    /// It is there.
    Value(u16, Arc<Value>),
    /// It never will be.
    Never(Error),
}

impl Server {
    /// Refuses data that is not there, or of another type than the parameter that it is for.
    pub(in crate::step) fn check_data(
        &self,
        connection: ConnectionId,
        open: &Open,
        interface: &Interface,
        layout: &CallLayout,
    ) -> Result<()> {
        let mut named = named(open).peekable();
        if named.peek().is_none() {
            return Ok(());
        }
        let principal = self.rights(connection).map_or("", |rights| rights.principal());
        for (slot, id) in named {
            let parameter = &interface.parameters[slot];
            if !self.has_feature(connection, DATA) {
                return Err(misfit(parameter, "data was passed by a client that does not know it"));
            }
            let data = self.state.kept.data.of(id, principal).ok_or_else(|| not_there(*id));
            let data = data.map_err(|error| error.with("parameter", &parameter.name))?;
            check_kind(parameter, *id, data)?;
            match (&data.content, &layout.parameters[slot]) {
                (Content::Failed(failure), _) => {
                    return Err(lost(failure.clone().into(), parameter));
                }
                (Content::There(value), ParameterLayout::Array(array)) => {
                    check_extents(parameter, *id, array, value)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A call that was entered takes the data that is there, and waits for the rest.
    pub(in crate::step) fn wait_for_data(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let named: Vec<(usize, DataId)> = named(&call.open).map(|(slot, id)| (slot, *id)).collect();
        for (slot, id) in named {
            let Some(data) = self.state.kept.data.get_mut(&id) else { continue };
            let came = match &data.content {
                Content::There(value) => Some(value.clone()),
                _ => {
                    data.waiting.push(key);
                    None
                }
            };
            let Some(call) = self.state.calls.get_mut(&key) else { return };
            match came {
                Some(value) => give(call, slot as u16, value),
                None => call.arguments.fetching += 1,
            }
        }
    }

    /// Data came, failed or was deleted: calls that wait for it go on, or end.
    pub(in crate::step) fn wake_calls(&mut self, surroundings: &mut dyn Surroundings) {
        if std::mem::replace(&mut self.state.kept.data.is_waking, true) {
            return;
        }
        while let Some(key) = self.state.kept.data.woken.pop_front() {
            self.look_for_data(surroundings, key);
        }
        self.state.kept.data.is_waking = false;
    }

    fn look_for_data(&mut self, surroundings: &mut dyn Surroundings, key: CallKey) {
        let Some(call) = self.state.calls.get(&key) else { return };
        let came: Vec<Came> =
            named(&call.open).filter_map(|(slot, id)| self.came(call, slot, *id)).collect();
        for one in came {
            let Some(call) = self.state.calls.get_mut(&key) else { return };
            match one {
                Came::Value(slot, value) => {
                    give(call, slot, value);
                    call.arguments.fetching -= 1;
                }
                Came::Never(error) => return self.finish(surroundings, key, Err(error)),
            }
        }
        let is_ready = |call: &Call| call.arguments.fetching == 0 && call.arguments.complete;
        if self.state.calls.get(&key).is_some_and(is_ready) {
            self.enqueue(surroundings, key);
        }
    }

    /// What became of the data that a parameter of a call waits for; `None` while it is coming.
    fn came(&self, call: &Call, slot: usize, id: DataId) -> Option<Came> {
        let parameter = &call.routine.routine.interface.parameters[slot];
        let Some(data) = self.state.kept.data.get(&id) else {
            let error = Error::new(ErrorKind::NotFound, "run a routine", "its data was deleted");
            return Some(Came::Never(lost(error.with("data", id), parameter)));
        };
        match (&data.content, &call.layout.parameters[slot]) {
            (Content::Coming(_), _) => None,
            (Content::Failed(failure), _) => {
                Some(Came::Never(lost(failure.clone().into(), parameter)))
            }
            (Content::There(value), ParameterLayout::Array(array)) => {
                Some(match check_extents(parameter, id, array, value) {
                    Ok(()) => Came::Value(slot as u16, value.clone()),
                    Err(error) => Came::Never(error),
                })
            }
            (Content::There(_), _) => {
                Some(Came::Never(misfit(parameter, "data was passed for what is not an array")))
            }
        }
    }

    /// Something has no more use for a value: the last one releases its memory.
    pub(in crate::step) fn let_value_go(
        &mut self,
        surroundings: &mut dyn Surroundings,
        value: Arc<Value>,
    ) {
        if let Some(memory) = Arc::into_inner(value).as_ref().and_then(Value::memory) {
            surroundings.release(memory.id);
        }
    }
}

/// The arguments that are data.
fn named(open: &Open) -> impl Iterator<Item = (usize, &DataId)> {
    open.arguments.iter().enumerate().filter_map(|(slot, argument)| match argument {
        Argument::Data(id) => Some((slot, id)),
        _ => None,
    })
}

/// A parameter has its value: from here on it is as if the client had sent it.
fn give(call: &mut Call, slot: u16, value: Arc<Value>) {
    let argument = &mut call.open.arguments[usize::from(slot)];
    let order = call
        .routine
        .routine
        .interface
        .parameters
        .get(usize::from(slot))
        .and_then(DataKind::of_parameter);
    let order = order.map_or(value.kind.order, |kind| kind.order);
    match (&value.place, value.bytes()) {
        (_, 0) => *argument = Argument::Inline(InlineBytes::new()),
        (ValuePlace::Inline(bytes), _) => {
            let array = in_order(&value, order);
            *argument = Argument::Inline(gathered(bytes, &array));
        }
        (ValuePlace::Memory(_), bytes) => {
            *argument = Argument::Blocks(Some(bytes));
            call.memory.given.push((slot, value));
        }
    }
}

/// The elements of a value in the order in which they travel to a parameter of this storage order.
fn in_order(value: &Value, order: farcall_idl::interface::Order) -> Strided {
    let mut array = value.array();
    if value.kind.order != order {
        array.axes.reverse();
    }
    array
}

/// Bytes of an array, one element behind the other.
fn gathered(bytes: &[u8], array: &Strided) -> InlineBytes {
    if array.is_contiguous() {
        return bytes.into();
    }
    let mut all = InlineBytes::with_capacity(bytes.len());
    let mut index = vec![0; array.axes.len()];
    let width = array.element_bytes as usize;
    while all.len() < bytes.len() {
        let steps = index.iter().zip(&array.axes).map(|(at, axis)| *at * axis.stride as usize);
        let from = steps.sum::<usize>();
        all.extend_from_slice(&bytes[from..from + width]);
        for (at, axis) in index.iter_mut().zip(&array.axes) {
            *at += 1;
            if (*at as u64) < axis.count {
                break;
            }
            *at = 0;
        }
    }
    all
}

/// Where the value lies that a parameter was given, in the order in which it travels; `None` for
/// what was not given one.
pub(in crate::step) fn given_memory(call: &Call, slot: u16) -> Option<SlotMemory> {
    let value = call.memory.given(usize::from(slot))?;
    let parameter = call.routine.routine.interface.parameters.get(usize::from(slot))?;
    let order = DataKind::of_parameter(parameter)?.order;
    let memory = value.memory()?.id;
    Some(SlotMemory { memory, base: 0, array: in_order(value, order) })
}

fn check_kind(parameter: &Parameter, id: DataId, data: &Data) -> Result<()> {
    let Some(kind) = DataKind::of_parameter(parameter) else {
        return Err(misfit(parameter, "data was passed for what is not an array of numbers"));
    };
    if (kind.element, kind.rank) == (data.kind.element, data.kind.rank) {
        return Ok(());
    }
    let shown = |kind: &DataKind| format!("{} of {} dimensions", kind.element.name(), kind.rank);
    Err(unfit(parameter, id, "data has another type than the parameter")
        .with("data type", shown(&data.kind))
        .with("needed", shown(&kind))
        .fix("pass data of that type and number of dimensions"))
}

fn check_extents(
    parameter: &Parameter,
    id: DataId,
    array: &ArrayLayout,
    value: &Value,
) -> Result<()> {
    let needed: Vec<u64> = array.dimensions.iter().map(|dimension| dimension.count).collect();
    if needed == value.extents {
        return Ok(());
    }
    let shown = |extents: &[u64]| {
        extents.iter().map(|extent| format!("[{extent}]")).collect::<Vec<_>>().concat()
    };
    Err(unfit(parameter, id, "data has other extents than the call says")
        .with("data extents", shown(&value.extents))
        .with("needed", shown(&needed))
        .fix("pass the sizes that the data has"))
}

fn unfit(parameter: &Parameter, id: DataId, message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "accept a call", message)
        .with("parameter", &parameter.name)
        .with("data", id)
}

const NEVER: &str = "an argument will never be there";

/// The data of an argument will never be there.
fn lost(error: Error, parameter: &Parameter) -> Error {
    // Once, however long the chain is that it broke.
    let message = match error.message() {
        told if told.starts_with(NEVER) => told.to_owned(),
        told => format!("{NEVER}: {told}"),
    };
    Error::new(error.kind(), "run a routine", message).with("parameter", &parameter.name)
}

/// There is no such data, or another's: both read the same.
pub(in crate::step) fn not_there(id: DataId) -> Error {
    Error::new(ErrorKind::NotFound, "find data", "the server has no such data")
        .with("data", id)
        .fix(
            "it was deleted, its lease has ended, or it belongs to another user: `farcall data` \
            lists yours",
        )
}
