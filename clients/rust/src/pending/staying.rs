//! Calls whose arguments are data, or whose results stay as data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Bytes, DataId, Error, ErrorKind, Result};
use farcall_idl::interface::Mode;
use farcall_idl::layout::ParameterLayout;

use super::conditions::{audience_of, conditions};
use super::{Farmed, PendingCall};
use crate::argument::{Argument, Destination, Passed};
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::data::{self, Brought, Data, Target};
use crate::marshal::Prepared;
use crate::results::{Output, Outputs};
use crate::session::{Session, Stays};
use crate::view::{Place, Server};

/// What calls have to do with data.
pub(super) struct Staying {
    /// The results that stay, by parameter.
    made: Vec<(usize, Data)>,
    /// Data that was elsewhere.
    brought: Vec<Brought>,
    /// What is fetched.
    fetched: Option<Fetched>,
}

/// Data that is fetched.
struct Fetched {
    id: DataId,
    /// The server that has it.
    server: String,
    /// The call of a transaction that makes it.
    made_by: Option<u32>,
}

impl PendingCall {
    /// Opens a call where its data is, and names the results that stay.
    #[cold]
    #[inline(never)]
    pub(super) fn open_beside_data(
        client: Client,
        contract: &Arc<Contract>,
        mut passed: Passed,
        options: &CallOptions,
        waits: (Option<Duration>, Option<Farmed>),
    ) -> Result<Option<PendingCall>> {
        let Some(place) = place(&client, contract, &passed, options, waits.0)? else {
            return Ok(None);
        };
        let brought = match &place {
            Some(place) => data::bring(&client, place, &mut passed.arguments)?,
            None => Vec::new(),
        };
        let has_place = |index| has_place(contract, &passed, index);
        let stays = options.stay.results(&client, &contract.interface, has_place)?;
        let ids: Vec<_> = stays.iter().map(|(index, data)| (*index, data.id())).collect();
        if !ids.is_empty() {
            tell_extents(contract, &passed, &stays)?;
        }
        let lease = options.lease.filter(|lease| !lease.is_zero());
        let named = (!ids.is_empty()).then_some(Stays { ids, lease });
        let opened =
            PendingCall::open_passed(client, contract, passed, options, waits, (named, place))?;
        Ok(opened.map(|mut call| {
            call.stays = Some(Box::new(Staying { made: stays, brought, fetched: None }));
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
        let beside = (Some(stays), Some(data.open_place()));
        let opened =
            PendingCall::open_passed(client, contract, passed, options, (None, None), beside)?;
        opened.ok_or_else(|| Error::internal("put data", "the wait for a free place ended early"))
    }

    fn staying(&self) -> &[(usize, Data)] {
        self.stays.as_ref().map_or(&[], |stays| stays.made.as_slice())
    }

    /// A result that stays at the server ([`CallOptions::stay`]): an argument for other calls at once,
    /// which wait for it there. `None` for a result that does not stay.
    pub fn data(&self, parameter: usize) -> Option<&Data> {
        self.staying().iter().find(|(of, _)| *of == parameter).map(|(_, data)| data)
    }

    /// Its data is where it goes.
    pub(crate) fn data_is_made_here(&self) {
        let server = self.placed.as_ref().map(|placed| placed.server.clone());
        let made = self.staying().iter();
        made.for_each(|(_, data)| data.is_made_at(&self.session, server.clone(), self.number));
    }

    /// Has the value of data come; the server answers when the call that makes it has ended.
    pub(crate) fn fetch(
        data: &Data,
        (server, session): (&Arc<Server>, Arc<Session>),
        options: &CallOptions,
    ) -> Result<PendingCall> {
        let id = data.id().as_call();
        let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let audience = audience_of(options, &None);
        let conditions = conditions(options, audience, deadline, Some((id, None)), None);
        let late = || late(data.id(), &data.server());
        let number = session.begin_seek(id, conditions, deadline)?.ok_or_else(late)?;
        let contract = Arc::new(Contract::local(data.kind().interface()));
        let made_by = data.made_by().map(|made| made.call);
        let fetched = Some(Fetched { id: data.id(), server: data.server(), made_by });
        let client = data.client().clone();
        let found = (id, (number, contract));
        let mut call = PendingCall::taken_up(client, (server, session), found, deadline);
        call.stays = Some(Box::new(Staying { made: Vec::new(), brought: Vec::new(), fetched }));
        Ok(call)
    }

    /// Why data did not come, in the words of who fetched it.
    #[cold]
    pub(super) fn of_data(&self, error: Error) -> Error {
        let fetched = self.stays.as_ref().and_then(|stays| stays.fetched.as_ref());
        match fetched {
            // The call that makes it may have failed with an error of this kind.
            Some(Fetched { id, server, made_by }) if is_unknown(&error) => match made_by {
                Some(call) => data::result_not_found(*id, server, *call),
                None => data::not_found("fetch data", *id, server),
            },
            Some(Fetched { id, .. }) => error.with("data", *id),
            None => match &self.stays {
                Some(stays) => stays.of_brought(error, &self.contract),
                None => error,
            },
        }
    }

    /// Why a call is given up.
    #[cold]
    pub(super) fn out_of_time(&self) -> Error {
        if let Some(Fetched { id, server, .. }) =
            self.stays.as_ref().and_then(|stays| stays.fetched.as_ref())
        {
            return late(*id, server);
        }
        // Its own word would have said how long it waited and how long it ran.
        let message = "timed out, and the server did not say whether it ran or waited in the queue";
        Error::new(ErrorKind::TimedOut, "call", message)
            .with("routine", &self.contract.name)
            .fix("raise timeout=")
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
    /// What a call says that failed, if that was for data which is brought.
    fn of_brought(&self, error: Error, contract: &Contract) -> Error {
        let said: Vec<Error> =
            self.brought.iter().filter_map(|one| one.of_failed(&error, contract)).collect();
        said.into_iter().next().unwrap_or(error)
    }

    #[cold]
    fn put_into(&self, outputs: &mut Outputs) {
        for (index, data) in &self.made {
            let output = &mut outputs.outputs[*index];
            if let Output::Stayed(extents) = output {
                data.has_extents(extents.to_vec());
                *output = Output::Data(data.clone());
            }
        }
    }
}

/// Whether a server says that it does not have what was asked for.
fn is_unknown(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && error.operation() == "resume a call"
}

fn late(id: DataId, server: &str) -> Error {
    let message = "no answer in time: the call that makes it may still run";
    Error::new(ErrorKind::TimedOut, "fetch data", message)
        .with("data", id)
        .with("server", server)
        .fix("fetch it later, or raise the time limit")
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

/// Where a call goes that has data, or whose results stay: `None` if that is not known within
/// `wait`, and `None` inside where it goes as calls without data do.
fn place(
    client: &Client,
    contract: &Arc<Contract>,
    passed: &Passed,
    options: &CallOptions,
    wait: Option<Duration>,
) -> Result<Option<Option<Place>>> {
    let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let server = match data::target(client, contract, &passed.arguments, options)? {
        Target::Free => return Ok(Some(None)),
        Target::There(server) if client.view().is_home(&server) => None,
        Target::There(server) => Some(server),
        Target::Anywhere => {
            let waits = (deadline, wait);
            let found = client.place(contract, &passed.arguments, options, &[], waits)?;
            return Ok(found.map(|place| Some(place.bound())));
        }
    };
    match server {
        None => Ok(Some(Some(client.at_home()))),
        Some(server) => client.bound(server, (deadline, wait)).map(|place| Some(Some(place))),
    }
}
