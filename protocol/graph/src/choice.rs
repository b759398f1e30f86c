//! Which server a call goes to: where it ends first, the ways of its data included (the second step of
//! HEFT).

use farcall_base::Instant;

use crate::state::{Phase, Place};
use crate::transaction::Transaction;
use crate::{CallNumber, DataNumber, ServerNumber};

/// What is predicted. The plugin answers from what its metaserver learned.
pub trait Costs {
    /// Seconds that a call runs on a server; none where that does not take it.
    fn run_s(&self, call: CallNumber, server: ServerNumber) -> Option<f64>;
    /// Seconds that so many bytes take to a server.
    fn move_s(&self, from: Place, to: ServerNumber, bytes: u64) -> f64;
    /// Whether a server that is not there may still come and take a call. Until then one that no
    /// other server takes waits.
    fn may_come(&self, call: CallNumber) -> bool {
        let _ = call;
        false
    }
}

/// A server for a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub server: ServerNumber,
    pub run_s: f64,
    /// From now.
    pub ends_s: f64,
}

/// What was found for a call.
pub(crate) enum Chosen {
    Server(Choice),
    /// Those that take it have as many calls as they may.
    NoRoom,
    /// No server that is there takes it.
    Nobody,
}

impl Transaction {
    /// The server where a call ends first; `other` is one that it runs on already.
    pub(crate) fn choose(
        &self,
        call: CallNumber,
        costs: &dyn Costs,
        other: Option<ServerNumber>,
    ) -> Chosen {
        let mut best: Option<Choice> = None;
        let mut has_one = false;
        for (number, server) in self.servers.iter().filter(|(_, server)| server.is_there) {
            let is_out = Some(*number) == other || self.call(call).without.contains(number);
            let Some(run_s) = costs.run_s(call, *number).filter(|_| !is_out) else { continue };
            has_one = true;
            if server.open >= self.limits.open_max {
                continue;
            }
            let queue_s = server.load_s / f64::from(server.processors.max(1));
            let uses = self.graph.call(call).uses.iter();
            let data_s = uses.map(|data| self.data_s(*data, *number, costs));
            let ends_s = data_s.fold(queue_s, f64::max) + run_s.max(0.0);
            if best.is_none_or(|best| ends_s < best.ends_s) {
                best = Some(Choice { server: *number, run_s: run_s.max(0.0), ends_s });
            }
        }
        match best {
            Some(best) => Chosen::Server(best),
            None if has_one => Chosen::NoRoom,
            None => Chosen::Nobody,
        }
    }

    /// When a value is on a server, in seconds from now.
    fn data_s(&self, data: DataNumber, server: ServerNumber, costs: &dyn Costs) -> f64 {
        let value = self.value(data);
        let from_now = |at: Instant| at.since(self.now).as_secs_f64();
        if value.places.contains(&Place::Server(server)) {
            return 0.0;
        }
        if let Some(at) = value.coming.get(&server) {
            return from_now(*at);
        }
        let bytes = self.graph.value(data).bytes;
        let ways = value.places.iter().map(|place| costs.move_s(*place, server, bytes));
        if let Some(shortest) = ways.min_by(f64::total_cmp) {
            return shortest.max(0.0);
        }
        let maker = self.graph.maker(data).map(|maker| self.call(maker));
        let run = maker.filter(|maker| maker.phase == Phase::Open).and_then(|it| it.runs.first());
        run.map_or(0.0, |run| {
            let is_there = run.server == server;
            let way =
                if is_there { 0.0 } else { costs.move_s(Place::Server(run.server), server, bytes) };
            from_now(run.ends) + way.max(0.0)
        })
    }
}
