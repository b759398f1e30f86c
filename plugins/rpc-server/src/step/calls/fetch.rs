//! Arguments that callers name by URL: a call that has some waits until they have been fetched.

use farcall_base::{Error, ErrorKind, Result};
use farcall_idl::interface::{ElementType, Parameter, Shape};
use farcall_idl::layout::ParameterLayout;
use farcall_link::strided::Strided;
use farcall_services::fetcher::Wanted;
use farcall_wire::Argument;

use crate::state::{Action, Call, CallKey};
use crate::step::calls::place::SlotMemory;
use crate::step::{Server, Surroundings};

impl Server {
    /// Has the arrays fetched that a call names by URL; it waits in no line before all are there.
    pub(in crate::step) fn fetch_arguments(&mut self, key: CallKey) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        let wanted: Vec<(u16, Wanted)> = (0..call.open.arguments.len())
            .filter_map(|slot| Some((slot as u16, wanted(call, slot)?)))
            .collect();
        call.arguments.fetching = wanted.len();
        let actions = wanted.into_iter().map(|(slot, wanted)| Action::Fetch { key, slot, wanted });
        actions.for_each(|action| self.state.out.act(action));
    }

    /// Where the elements of an array belong that was fetched; `None` when its call is over.
    pub fn fetched_memory(&self, key: CallKey, slot: u16) -> Option<SlotMemory> {
        let call = self.state.calls.get(&key)?;
        let memory = call.memory.own.as_ref()?;
        let base = *memory.offsets.get(&slot)?;
        let ParameterLayout::Array(array) = call.layout.parameters.get(usize::from(slot))? else {
            return None;
        };
        Some(SlotMemory { memory: memory.id, base, array: Strided::of_layout(array) })
    }

    /// An array that was fetched lies in its place, or could not be had.
    pub fn fetched(
        &mut self,
        surroundings: &mut dyn Surroundings,
        key: CallKey,
        slot: u16,
        outcome: Result<()>,
    ) {
        let Some(call) = self.state.calls.get_mut(&key) else { return };
        if let Err(error) = outcome {
            let parameter = call.routine.routine.interface.parameters.get(usize::from(slot));
            let name = parameter.map_or(String::new(), |parameter| parameter.name.clone());
            return self.finish(surroundings, key, Err(error.with("parameter", name)));
        }
        let Some(ParameterLayout::Array(array)) = call.layout.parameters.get(usize::from(slot))
        else {
            return;
        };
        // From here on it is as if the client had sent it.
        call.open.arguments[usize::from(slot)] = Argument::Blocks(Some(array.transfer_bytes));
        call.arguments.fetching -= 1;
        if call.arguments.fetching == 0 && call.arguments.complete {
            self.enqueue(surroundings, key);
        }
    }
}

/// The array that a parameter names by URL, if it does.
fn wanted(call: &Call, slot: usize) -> Option<Wanted> {
    let Argument::Url(url) = &call.open.arguments[slot] else { return None };
    let ParameterLayout::Array(array) = &call.layout.parameters[slot] else { return None };
    let parameter = &call.routine.routine.interface.parameters[slot];
    let Shape::Array { order, .. } = &parameter.shape else { return None };
    Some(Wanted {
        url: url.clone(),
        principal: call.caller.rights.principal().to_owned(),
        element: parameter.element,
        shape: array.dimensions.iter().map(|dimension| dimension.count).collect(),
        order: *order,
    })
}

/// Only numbers and characters can be fetched: formats of files know no structs.
pub(in crate::step) fn check(parameter: &Parameter) -> Result<()> {
    if !matches!(
        parameter.element,
        ElementType::Struct(_) | ElementType::String | ElementType::Filename
    ) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidArgument,
        "accept a call",
        "a URL was passed for a parameter that is not an array of numbers",
    )
    .with("parameter", &parameter.name)
    .fix("send the array itself"))
}
