//! Calls whose arguments are data, or whose results stay as data.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{Bytes, Error, Result};
use farcall_idl::interface::Mode;
use farcall_idl::layout::ParameterLayout;

use super::{Farmed, PendingCall};
use crate::argument::{Argument, Destination, Passed};
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::data::{self, Data};
use crate::marshal::Prepared;
use crate::results::{Output, Outputs};
use crate::session::Stays;

/// The results of a call that stay, by parameter.
pub(super) struct Staying(Vec<(usize, Data)>);

impl PendingCall {
    /// Opens a call where its data is, and names the results that stay.
    #[cold]
    #[inline(never)]
    pub(super) fn open_beside_data(
        client: Client,
        contract: &Arc<Contract>,
        passed: Passed,
        options: &CallOptions,
        waits: (Option<Duration>, Option<Farmed>),
    ) -> Result<Option<PendingCall>> {
        let mut bound = options.clone();
        if let Some((id, holder)) = data::server_of(&passed.arguments)? {
            match &options.at {
                Some(at) => data::check_at(&client, at, id, &holder)?,
                None if Arc::ptr_eq(&holder, client.view().home()) => {}
                None => bound.at = Some(holder.name.clone()),
            }
        }
        let has_place = |index| has_place(contract, &passed, index);
        let stays = bound.stay.results(&client, &contract.interface, has_place)?;
        let ids: Vec<_> = stays.iter().map(|(index, data)| (*index, data.id())).collect();
        if !ids.is_empty() {
            tell_extents(contract, &passed, &stays)?;
        }
        let lease = options.lease.filter(|lease| !lease.is_zero());
        let named = (!ids.is_empty()).then_some(Stays { ids, lease });
        let opened = PendingCall::open_passed(client, contract, passed, &bound, waits, named)?;
        Ok(opened.map(|mut call| {
            call.stays = Some(Box::new(Staying(stays)));
            call.data_is_made_here();
            call
        }))
    }

    /// Sends an array, from then on this data. The contract is that of the routine that takes it.
    pub(crate) fn put(
        data: &Data,
        contract: &Arc<Contract>,
        array: Argument<'static>,
        options: &CallOptions,
    ) -> Result<PendingCall> {
        let value = contract.interface.parameters.len() - 1;
        let extents = (0..value).map(|_| Argument::Unset);
        let passed = Passed::owned(extents.chain([array]).collect());
        let stays = Stays { ids: vec![(value, data.id())], lease: options.lease };
        let client = data.client().clone();
        let opened =
            PendingCall::open_passed(client, contract, passed, options, (None, None), Some(stays))?;
        opened.ok_or_else(|| Error::internal("put data", "the wait for a free place ended early"))
    }

    fn staying(&self) -> &[(usize, Data)] {
        self.stays.as_ref().map_or(&[], |stays| stays.0.as_slice())
    }

    /// A result that stays at the server ([`CallOptions::stay`]): an argument for other calls at once,
    /// which wait for it there. `None` for a result that does not stay.
    pub fn data(&self, parameter: usize) -> Option<&Data> {
        self.staying().iter().find(|(of, _)| *of == parameter).map(|(_, data)| data)
    }

    /// Its data is where it goes.
    pub(crate) fn data_is_made_here(&self) {
        let server = self.placed.as_ref().map(|placed| placed.server.clone());
        self.staying().iter().for_each(|(_, data)| data.is_made_at(&self.session, server.clone()));
    }

    /// Its results that stayed are data.
    #[inline]
    pub(super) fn with_data(&self, mut outputs: Outputs) -> Outputs {
        if let Some(stays) = &self.stays {
            stays.put_into(&mut outputs);
        }
        outputs
    }
}

impl Staying {
    #[cold]
    fn put_into(&self, outputs: &mut Outputs) {
        for (index, data) in &self.0 {
            let output = &mut outputs.outputs[*index];
            if let Output::Stayed(extents) = output {
                data.has_extents(extents.to_vec());
                *output = Output::Data(data.clone());
            }
        }
    }
}

/// Whether an array was given that a result goes to.
fn has_place(contract: &Contract, passed: &Passed, index: usize) -> bool {
    let is_destination =
        matches!(passed.destinations.get(index), Some(Destination::Into(_) | Destination::InPlace));
    let is_output = contract.interface.parameters[index].mode == Mode::Out;
    is_destination || (is_output && matches!(passed.arguments[index], Argument::Array(_)))
}

/// The extents of results that stay are known before the call has ended, unless the routine decides
/// them.
fn tell_extents(contract: &Contract, passed: &Passed, stays: &[(usize, Data)]) -> Result<()> {
    if contract.sizer.results_decide() {
        return Ok(());
    }
    let values = Prepared::values(contract, &passed.arguments, Bytes(u64::MAX))?;
    for (index, data) in stays {
        if let ParameterLayout::Array(array) = &values.layout.parameters[*index] {
            data.has_extents(array.dimensions.iter().map(|dimension| dimension.count).collect());
        }
    }
    Ok(())
}
