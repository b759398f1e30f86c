//! Which servers take calls of a routine: asked for calls whose data is at a server that may not be
//! one of them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use farcall_placement::Demand;
use farcall_wire::PlaceQuestion;

use super::asking::{Answered, Asking, places};
use super::server::Server;
use super::{View, lock};
use crate::client::Client;
use crate::contract::Contract;

/// Time for which an answer counts: calls of a loop are not to ask each time.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// What is known of who takes the calls of a routine, and since when.
#[derive(Default)]
pub struct KnownTakers(Mutex<Option<(Arc<Takers>, Instant)>>);

/// Who takes the calls of a routine.
#[derive(Default)]
pub struct Takers {
    /// These do, the best first.
    pub takes: Vec<Arc<Server>>,
    /// These do not, by name.
    not: Vec<String>,
    /// Whether the server that was connected to does not.
    is_home_left_out: bool,
}

impl Takers {
    /// Whether a server is known to take none: it does not publish the routine, say. One that
    /// another metaserver leads to is not known here.
    pub fn leaves_out(&self, view: &View, server: &Arc<Server>) -> bool {
        let is_named = self.not.iter().any(|name| **name == *server.name);
        is_named || self.is_home_left_out && view.is_home(server)
    }

    fn of(view: &Arc<View>, answered: &Answered) -> Takers {
        let takes = view.servers_of(answered, &[]).into_iter().filter(|named| !named.leads);
        let by_home = Arc::ptr_eq(&answered.by, view.home_session());
        let mut takers =
            Takers { takes: takes.map(|named| named.server).collect(), ..Takers::default() };
        for one in answered.answer.servers.iter().filter(|one| one.excluded) {
            takers.is_home_left_out |= one.is_self && by_home;
            takers.not.push(one.name.clone());
        }
        takers
    }
}

impl Client {
    /// Who takes calls of a routine; `None` where nobody can be asked, or nobody is known.
    pub(crate) fn takers(&self, contract: &Contract) -> Option<Arc<Takers>> {
        let mut known = lock(&contract.takers.0);
        if let Some((takers, _)) = known.as_ref().filter(|(_, since)| since.elapsed() < GOOD_FOR) {
            return Some(takers.clone());
        }
        let view = self.view();
        if !places(self.session()) {
            return None;
        }
        let nothing =
            Demand { operations: None, processors: None, bytes_in: 0.0, bytes_out: 0.0, sizes: 0 };
        let question = PlaceQuestion { explains: true, ..view.question(contract, &nothing, 1) };
        let answered = view.ask(&question, None, (None, Asking::Briefly)).ok()?;
        let takers = Arc::new(Takers::of(view, &answered));
        let is_any = answered.answer.servers.iter().any(|one| !one.excluded);
        is_any.then(|| {
            *known = Some((takers.clone(), Instant::now()));
            takers
        })
    }
}
