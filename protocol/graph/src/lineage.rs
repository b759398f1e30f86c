//! What is lost with a server is made again, from what it was made of, back to what the program gave.

use farcall_base::{ErrorKind, Instant};

use crate::state::{Phase, Place, Run};
use crate::transaction::Transaction;
use crate::{CallNumber, DataNumber, Ended, Failure, ServerNumber};

impl Transaction {
    /// A server is gone, with all that is on it. Calls that may run twice run elsewhere; of others
    /// it is unknown how far they came, and they are reported.
    pub fn handle_lost(&mut self, now: Instant, server: ServerNumber) {
        self.handle_time(now);
        match self.servers.get_mut(&server) {
            Some(known) => {
                known.is_there = false;
                known.is_asked = true;
            }
            None => return,
        }
        // What was only on its way there is lost, too.
        let place = Place::Server(server);
        let is_hit = |data: &DataNumber| {
            let value = self.value(*data);
            value.places.contains(&place) || value.coming.contains_key(&server)
        };
        let lost: Vec<DataNumber> = self.all_values().filter(is_hit).collect();
        for data in &lost {
            let value = self.value_mut(*data);
            value.coming.remove(&server);
            value.remove(place);
        }
        let is_there = |run: &Run| run.server == server;
        let hit = |call: &CallNumber| self.call(*call).runs.iter().any(is_there);
        let calls: Vec<CallNumber> = self.all_calls().filter(hit).collect();
        let mut again = Vec::new();
        for call in calls {
            let runs = std::mem::take(&mut self.call_mut(call).runs);
            let (gone, kept): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(is_there);
            for run in &gone {
                self.unload(call, run);
                self.keep_times(call, run);
            }
            self.call_mut(call).runs = kept;
            match self.call(call).runs.first() {
                Some(run) => self.watch(call, run.late),
                None => again.push(call),
            }
        }
        // All of them first, so that none counts as being made. A call may be what ends its servers.
        let (again, ended): (Vec<_>, Vec<_>) = again
            .into_iter()
            .partition(|call| self.may_try_again(*call) && self.graph.call(*call).may_run_again);
        again.iter().for_each(|call| self.call_mut(*call).phase = Phase::Waiting);
        for call in ended {
            let message = if self.graph.call(call).may_run_again {
                "each of its servers was lost"
            } else {
                "its server was lost, and it may not run twice"
            };
            let kind = ErrorKind::ConnectionLost;
            let failure = Failure { kind, message: message.to_owned(), has_run: true };
            self.fail(call, Ended::Failed(failure));
        }
        lost.into_iter().for_each(|data| self.make_again(data));
        for call in again {
            if self.call(call).phase == Phase::Waiting {
                self.wait_again(call);
            }
        }
    }

    /// The program has left, with all that only it has. What it has left on servers stays there.
    pub fn handle_client_left(&mut self, now: Instant) {
        self.handle_time(now);
        let has = |data: &DataNumber| self.value(*data).places.contains(&Place::Client);
        let left: Vec<DataNumber> = self.all_values().filter(has).collect();
        for data in &left {
            self.value_mut(*data).remove(Place::Client);
        }
        left.into_iter().for_each(|data| self.make_again(data));
    }

    /// A value is not somewhere any more: it was deleted on a server that stays, its lease there ended,
    /// who fetched it from there was told so, or the program does not have it.
    pub fn handle_gone(&mut self, now: Instant, data: DataNumber, place: Place) {
        self.handle_time(now);
        if self.value_mut(data).remove(place) {
            self.make_again(data);
            // A call that is open there may not have begun.
            self.supply(data);
        }
    }

    /// The program ends the transaction, or nobody needs it any more: what is open is cancelled, and
    /// what is on servers is deleted.
    pub fn handle_end(&mut self, now: Instant) {
        self.handle_time(now);
        for call in self.all_calls() {
            if !self.call(call).has_ended() {
                let message = "the transaction was ended".to_owned();
                let has_run = self.call(call).runs.iter().any(|run| run.begun_us.is_some());
                let kind = ErrorKind::Cancelled;
                self.fail(call, Ended::Failed(Failure { kind, message, has_run }));
            }
        }
        for data in self.all_values() {
            self.value_mut(data).wanted = false;
            self.drop_unneeded(data);
        }
    }

    /// Has a value made again that is nowhere, if anybody needs it. Of what cannot be made again, the
    /// calls that need it end; but not as long as it is still on its way somewhere.
    pub(crate) fn make_again(&mut self, data: DataNumber) {
        self.may_be_stuck = true;
        let mut missing = vec![data];
        let mut calls = Vec::new();
        while let Some(data) = missing.pop() {
            let value = self.value(data);
            let is_needed = value.users_left > 0 || value.wanted;
            if !is_needed || !value.places.is_empty() {
                continue;
            }
            let is_coming = !value.coming.is_empty();
            let maker = self.graph.maker(data);
            match maker.map(|maker| (maker, self.call(maker).phase)) {
                Some((_, Phase::Waiting | Phase::Ready | Phase::Open)) => {}
                Some((maker, Phase::Done)) if self.graph.call(maker).may_run_again => {
                    self.run_again(maker);
                    calls.push(maker);
                    missing.extend(self.graph.call(maker).uses.iter().copied());
                }
                _ if is_coming => {}
                _ => self.lose(data, maker),
            }
        }
        calls.into_iter().for_each(|call| self.look(call));
    }

    /// A value is nowhere, and is not made again: calls that need it end.
    fn lose(&mut self, data: DataNumber, maker: Option<CallNumber>) {
        let message = match maker {
            Some(_) => "its result was lost with its server, and it may not run twice",
            None => "an input is on no server any more: it was deleted, or its server was lost",
        };
        let failure =
            |kind| Failure { kind, message: message.to_owned(), has_run: maker.is_some() };
        let was_wanted = std::mem::take(&mut self.value_mut(data).wanted);
        if let Some(maker) =
            maker.filter(|maker| was_wanted && self.call(*maker).phase == Phase::Done)
        {
            return self.fail(maker, Ended::Failed(failure(ErrorKind::ConnectionLost)));
        }
        let ended = |phase| matches!(phase, Phase::Done | Phase::Failed);
        let users = self.graph.users[data.0 as usize].clone();
        for user in
            users.into_iter().filter(|user| !ended(self.call(*user).phase)).collect::<Vec<_>>()
        {
            let outcome = match maker {
                Some(maker) => Ended::NotRun(maker),
                None => Ended::Failed(failure(ErrorKind::NotFound)),
            };
            self.fail(user, outcome);
        }
    }
}
