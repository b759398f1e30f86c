//! Where a call goes that has data: to where that is, or else to where most of it is of the servers
//! that take the call. What is elsewhere is brought there.

use std::sync::Arc;

use farcall_base::Result;

use super::{Brought, Data};
use crate::argument::Argument;
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::view::{Place, Server, Takers};

/// Where a call goes.
pub(crate) enum Target {
    /// It has no data.
    Free,
    /// There, and nowhere else.
    There(Arc<Server>),
    /// Where it is placed: none of its data is at a server that takes it.
    Anywhere,
}

/// Where a call with these arguments goes.
///
/// # Errors
/// `InvalidArgument` for data that no server has, `NotFound` for a server that is unknown.
pub(crate) fn target(
    client: &Client,
    contract: &Contract,
    arguments: &[Argument<'_>],
    options: &CallOptions,
) -> Result<Target> {
    let all: Vec<&Data> = data_of(arguments).collect();
    let Some(first) = all.first() else { return Ok(Target::Free) };
    all.iter().try_for_each(|data| data.check_begun("call"))?;
    let view = client.view();
    if let Some(at) = &options.at {
        return view.server_at(at).map(Target::There);
    }
    if let Some(object) = options.on {
        return Ok(Target::There(view.holder(object).unwrap_or_else(|| view.home().clone())));
    }
    let holder = first.holder();
    let is_together = all.iter().all(|data| data.is_at(&holder));
    // No other server publishes it.
    if is_together && contract.placing.is_none() && view.is_home(&holder) {
        return Ok(Target::There(holder));
    }
    let takers = client.takers(contract);
    let takes = |server: &Arc<Server>| {
        takers.as_ref().is_none_or(|takers| !takers.leaves_out(view, server))
    };
    if is_together && takes(&holder) {
        return Ok(Target::There(holder));
    }
    let holders = all.iter().map(|data| data.holder()).filter(takes);
    let best = most_of(&all, holders.chain(named(takers.as_deref())));
    Ok(match (best, takers.as_deref()) {
        (Some(server), _) => Target::There(server),
        (None, Some(takers)) if contract.placing.is_none() && !takers.takes.is_empty() => {
            Target::There(takers.takes[0].clone())
        }
        (None, Some(_)) => Target::Anywhere,
        // It is unknown who takes it: what is there decides.
        (None, None) => Target::There(holder),
    })
}

fn named(takers: Option<&Takers>) -> impl Iterator<Item = Arc<Server>> {
    takers.into_iter().flat_map(|takers| takers.takes.iter().cloned())
}

/// The first of those servers that have most bytes of the data, if one has any.
fn most_of(all: &[&Data], servers: impl Iterator<Item = Arc<Server>>) -> Option<Arc<Server>> {
    let mut best = None;
    let mut most = 0;
    for server in servers {
        let bytes: u64 =
            all.iter().filter(|data| data.is_at(&server)).map(|data| data.bytes()).sum();
        if bytes > most {
            most = bytes;
            best = Some(server);
        }
    }
    best
}

fn data_of<'a>(arguments: &'a [Argument<'_>]) -> impl Iterator<Item = &'a Data> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Data(data) => Some(data),
        _ => None,
    })
}

/// Has data that is elsewhere come to where a call goes, which then names what comes.
///
/// # Errors
/// Why the server takes none: `Version`, `LimitExceeded`, `ConnectionLost`.
pub(crate) fn bring(
    client: &Client,
    place: &Place,
    arguments: &mut [Argument<'_>],
) -> Result<Vec<Brought>> {
    let mut brought = Vec::new();
    for (parameter, argument) in arguments.iter_mut().enumerate() {
        let Argument::Data(data) = argument else { continue };
        let copy = data.copy_at(client, place)?;
        if copy.id() != data.id() {
            let data = std::mem::replace(data, copy.clone());
            brought.push(Brought { parameter, data, copy });
        }
    }
    Ok(brought)
}

impl Data {
    /// How large it is, as far as that is known; never nothing.
    fn bytes(&self) -> u64 {
        let bytes = |extents: &[u64]| self.kind().layout(extents).transfer_bytes;
        self.extents().map_or(1, bytes).max(1)
    }

    /// Whether it is at a server, or a copy of it.
    fn is_at(&self, server: &Arc<Server>) -> bool {
        self.lies_at(server) || self.0.copies.any(|copy| copy.lies_at(server))
    }

    fn lies_at(&self, server: &Arc<Server>) -> bool {
        Arc::ptr_eq(&self.holder(), server) || server.is_over(&self.place().session)
    }
}
