//! Where a call goes: by a grant that is good still, or by looking for a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{Bytes, Result};
use farcall_idl::values::ByteValues;
use farcall_placement::Demand;

use super::finding::{Place, Placed, Wanted};
use super::placing::{Chosen, Next};
use super::search::Search;
use crate::argument::Argument;
use crate::client::{CallOptions, Client};
use crate::contract::Contract;
use crate::marshal::Prepared;
use crate::session::earlier;

impl Client {
    /// Where a call goes; `None` if that is not known within `wait`. Servers of `without` are left
    /// out.
    ///
    /// # Errors
    /// Why it goes nowhere.
    #[inline]
    pub(crate) fn place(
        &self,
        contract: &Arc<Contract>,
        arguments: &[Argument<'static>],
        options: &CallOptions,
        without: &[String],
        waits: (Option<Instant>, Option<Duration>),
    ) -> Result<Option<Place>> {
        if let Some(at) = &options.at {
            return self.bound_at(at, waits).map(Some);
        }
        let Some(placing) = &contract.placing else { return Ok(Some(self.at_home())) };
        if let Some(object) = options.on {
            return self.bound_to(object, waits).map(Some);
        }
        if let Some(chosen) = placing.choose(arguments) {
            let Chosen { server, session, grant, led, alone, is_low } = chosen;
            let placed = Placed { server, grant, led, is_movable: true, is_low, alone };
            return Ok(Some(Place { session, placed: Some(placed) }));
        }
        self.look_for(contract, arguments, without, waits)
    }

    /// At the server that was connected to.
    pub(crate) fn at_home(&self) -> Place {
        Place { session: self.view().home_session.clone(), placed: None }
    }

    #[cold]
    fn look_for(
        &self,
        contract: &Arc<Contract>,
        arguments: &[Argument<'static>],
        without: &[String],
        (deadline, wait): (Option<Instant>, Option<Duration>),
    ) -> Result<Option<Place>> {
        let view = self.view();
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let placing = contract.placing.as_ref();
        if let Some(search) = placing.and_then(|placing| placing.take_search(arguments)) {
            return self.go_on(contract, arguments, search, until);
        }
        let wanted = self.wanted(contract, arguments, without, deadline)?;
        if until.is_none() {
            return wanted.find(view).map(|found| Some(found.place()));
        }
        let search = Search::begin(view, wanted, None);
        self.go_on(contract, arguments, search, until)
    }

    /// Waits for a search in pieces.
    fn go_on(
        &self,
        contract: &Arc<Contract>,
        arguments: &[Argument<'static>],
        search: Arc<Search>,
        until: Option<Instant>,
    ) -> Result<Option<Place>> {
        if let Some(found) = search.wait(until) {
            return found.map(|found| Some(found.place()));
        }
        let placing = contract.placing.as_ref();
        if let Some((placing, like)) =
            placing.and_then(|placing| Some((placing, placing.like(contract, arguments)?)))
        {
            placing.put_search(like, search);
        }
        Ok(None)
    }

    fn wanted(
        &self,
        contract: &Arc<Contract>,
        arguments: &[Argument<'static>],
        without: &[String],
        deadline: Option<Instant>,
    ) -> Result<Wanted> {
        let demand = demand(contract, arguments)?;
        let placing = contract.placing.as_ref();
        let like = placing.and_then(|placing| placing.like(contract, arguments));
        let next = placing.and_then(|placing| placing.next(arguments));
        let first = Next { demand, calls: 1, ahead: None };
        let Next { calls, ahead, .. } = next.unwrap_or(first);
        let without = without.to_vec();
        // It was asked without knowing that.
        let ahead = ahead.filter(|_| without.is_empty());
        Ok(Wanted { like, calls, ahead, without, ..Wanted::new(contract, demand, deadline) })
    }
}

/// What a call with these arguments asks for.
pub fn demand(contract: &Contract, arguments: &[Argument<'_>]) -> Result<Demand> {
    let limit = Bytes(u64::MAX);
    let values = Prepared::values(contract, arguments, limit)?;
    let bytes: Vec<Option<&[u8]>> = values.bytes.iter().map(Option::as_deref).collect();
    Demand::of(&contract.interface, &ByteValues::new(&contract.interface, bytes), limit)
}

/// The time of a wait in pieces, or of the call.
pub fn until_of((deadline, wait): (Option<Instant>, Option<Duration>)) -> Option<Instant> {
    earlier(deadline, wait.and_then(|wait| Instant::now().checked_add(wait)))
}
