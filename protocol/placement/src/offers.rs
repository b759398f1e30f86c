//! Who publishes what, and how fast: for each routine the servers that have it, with what is their
//! own in its run times, ready for a decision among thousands.

use std::collections::{BTreeMap, BTreeSet};

use crate::run_times::RunTimes;
use crate::{Contract, MemberId};

/// One routine on one server.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The server.
    pub member: MemberId,
    /// Its factor on the time that all servers share.
    pub factor: f64,
    /// Whether the routine has an executable there.
    pub is_warm: bool,
}

/// All routines.
#[derive(Debug, Default)]
pub struct Offers {
    /// By routine; the servers of each in the order of their numbers.
    routines: BTreeMap<Contract, Vec<Offer>>,
}

impl Offers {
    /// The servers that publish a routine.
    pub fn of(&self, contract: &Contract) -> &[Offer] {
        self.routines.get(contract).map_or(&[], Vec::as_slice)
    }

    /// A server publishes these routines, and no others; some have executables.
    pub fn set(
        &mut self,
        member: MemberId,
        contracts: &BTreeSet<Contract>,
        warm: &BTreeSet<Contract>,
        runs: &RunTimes,
    ) {
        self.forget_where(member, |contract| !contracts.contains(contract));
        for contract in contracts {
            let offers = self.routines.entry(*contract).or_default();
            let factor = runs.log_own(member, contract).exp();
            let offer = Offer { member, factor, is_warm: warm.contains(contract) };
            match offers.binary_search_by_key(&member, |offer| offer.member) {
                Ok(at) => offers[at] = offer,
                Err(at) => offers.insert(at, offer),
            }
        }
    }

    /// A call ran on a server: what is known of its speed is another, for all that it publishes.
    pub fn handle_run(
        &mut self,
        member: MemberId,
        contracts: &BTreeSet<Contract>,
        runs: &RunTimes,
    ) {
        for contract in contracts {
            let Some(offers) = self.routines.get_mut(contract) else { continue };
            if let Ok(at) = offers.binary_search_by_key(&member, |offer| offer.member) {
                offers[at].factor = runs.log_own(member, contract).exp();
            }
        }
    }

    /// A server is gone.
    pub fn forget(&mut self, member: MemberId) {
        self.forget_where(member, |_| true);
    }

    fn forget_where(&mut self, member: MemberId, is_gone: impl Fn(&Contract) -> bool) {
        self.routines.retain(|contract, offers| {
            if is_gone(contract) {
                offers.retain(|offer| offer.member != member);
            }
            !offers.is_empty()
        });
    }
}
