//! Functions that a routine is given: they make calls of the client.

use std::sync::Arc;

use farcall_base::{CallId, Error, ErrorKind, Result};
use farcall_idl::callback::CallbackType;
use farcall_idl::encode::contract_hash;
use farcall_idl::interface::{Language, Parameter, Routine};
use farcall_native::invoke::Slot;
use farcall_native::{Closure, Entered};
use farcall_wire::{Argument, Open, callback_attribute};

use super::super::{Session, running};
use super::{Closures, Outgoing, check};

/// Makes them, once for all calls of the routine.
pub fn closures(routine: &Routine) -> Result<Closures> {
    let interface = &routine.interface;
    let mut made: Closures = vec![None; interface.parameters.len()];
    let contract = contract_hash(interface);
    for (slot, kind) in CallbackType::all(interface) {
        check(&kind)?;
        let fortran = routine.implementation.language == Language::Fortran;
        let entry = Entry {
            kind: kind.clone(),
            routine: interface.full_name(),
            contract,
            slot: slot as u16,
            fortran,
        };
        made[slot] = Some(Closure::new(&kind.interface, &routine.implementation, Box::new(entry))?);
    }
    Ok(made)
}

/// What a made function knows.
pub(super) struct Entry {
    pub(super) kind: Arc<CallbackType>,
    pub(super) routine: String,
    pub(super) contract: [u8; 32],
    pub(super) slot: u16,
    pub(super) fortran: bool,
}

/// Callbacks of the call that is to run find its parameters there.
pub fn keep_slots(slots: &[Slot]) {
    running::with(|running| {
        if let Some(running) = &mut running.way().session.running {
            running.slots = slots.to_vec();
        }
    });
}

/// The routine's parameters that the callback's sizes name.
fn add_captured(parameters: &[Parameter], slots: &mut [Slot]) {
    if parameters.iter().all(|parameter| parameter.captured.is_none()) {
        return;
    }
    running::with(|running| {
        let Some(running) = &running.way().session.running else { return };
        for (parameter, slot) in parameters.iter().zip(slots) {
            let captured = parameter.captured.map(usize::from);
            let routines = captured.and_then(|index| running.slots.get(index));
            *slot = routines.map_or(*slot, |routines| *routines);
        }
    });
}

impl Entered for Entry {
    fn enter(&self, slots: &mut [Slot]) {
        add_captured(&self.kind.interface.parameters, slots);
        let outcome =
            Outgoing::new(self, slots).and_then(|(call, arguments)| self.call(call, arguments));
        if let Err(error) = outcome {
            let error = error.with("callback", self.kind.interface.full_name());
            // Where no call runs any more there is nobody to tell but whoever reads what the
            // process says.
            let told = running::with(|running| {
                running.way().session.callbacks.failed(error);
            });
            if told.is_none() {
                eprintln!(
                    "farcall: {} was called after its call had ended",
                    self.kind.interface.full_name()
                );
            }
        }
    }
}

impl Entry {
    pub(super) fn call(&self, call: Outgoing, arguments: Vec<Argument>) -> Result<()> {
        let over = || Error::new(ErrorKind::Cancelled, "call back", "its call has ended");
        let ticket = running::with(|running| {
            let parent = running.call;
            let way = running.way();
            if way.session.running.as_ref().is_none_or(|running| running.routine != self.routine) {
                return Err(over());
            }
            let Session { callbacks, connection, .. } = &mut *way.session;
            let ticket =
                callbacks.open(connection, call, |ticket| self.open(parent, ticket, arguments))?;
            way.look();
            Ok(ticket)
        });
        let ticket = ticket.unwrap_or_else(|| Err(over()))?;
        let outcome = running::wait_until(|running| {
            let session = &mut *running.way().session;
            let gone = session.left || session.broken.is_some();
            session.callbacks.take_outcome(ticket).or_else(|| gone.then(|| Err(over())))
        });
        outcome.unwrap_or_else(|| Err(over()))
    }

    pub(super) fn open(&self, parent: CallId, ticket: u64, arguments: Vec<Argument>) -> Open {
        // Random where the parent's is, and unlike any other inside it.
        let mut id = parent.0;
        id.iter_mut().zip((!ticket).to_le_bytes()).for_each(|(byte, with)| *byte ^= with);
        Open {
            call: CallId(id),
            routine: self.routine.clone(),
            contract: self.contract,
            arguments,
            wanted: None,
            remaining_us: None,
            result_credit: None,
            parent: Some(parent.0.to_vec().into()),
            principal: None,
            trace: None,
            attributes: Some(vec![callback_attribute(self.slot)]),
        }
    }
}
