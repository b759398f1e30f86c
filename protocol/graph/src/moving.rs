//! Values: where they are, how they are brought to where they are needed, and when they are deleted.

use std::collections::BTreeSet;

use farcall_base::Instant;

use crate::choice::Costs;
use crate::opening::seconds;
use crate::state::{Phase, Place, Run};
use crate::transaction::Transaction;
use crate::{Action, CallNumber, DataNumber, ServerNumber};

/// How often a value is fetched again before its call goes elsewhere.
const MOVES_MAX: u32 = 4;

impl Transaction {
    /// A value is somewhere already: an input on a server, where it stays the program's own; or a
    /// result with the program, which keeps it and can send it again.
    pub fn handle_there(&mut self, now: Instant, data: DataNumber, place: Place) {
        self.handle_time(now);
        let is_input = self.graph.maker(data).is_none();
        if let Place::Server(server) = place
            && is_input
            && self.is_there(server)
        {
            self.value_mut(data).lent.insert(server);
        }
        self.arrive(data, place);
    }

    /// A value has come to a server.
    pub fn handle_moved(&mut self, now: Instant, data: DataNumber, to: ServerNumber) {
        self.handle_time(now);
        self.value_mut(data).coming.remove(&to);
        self.arrive(data, Place::Server(to));
        self.drop_unneeded(data);
    }

    /// What a lost server has, or has got, is lost with it, however late its news comes.
    pub(crate) fn arrive(&mut self, data: DataNumber, place: Place) {
        let is_lost = matches!(place, Place::Server(server) if !self.is_there(server));
        if is_lost || !self.value_mut(data).places.insert(place) {
            return;
        }
        self.look_at_users(data);
        if self.value(data).places.len() == 1 {
            self.supply(data);
        }
    }

    /// A value could not be brought to a server.
    pub fn handle_not_moved(&mut self, now: Instant, data: DataNumber, to: ServerNumber) {
        self.handle_time(now);
        let value = self.value_mut(data);
        value.coming.remove(&to);
        value.troubles += 1;
        let is_hopeless = value.troubles > MOVES_MAX;
        if value.places.is_empty() && !self.is_being_made(data) {
            return self.make_again(data);
        }
        if !is_hopeless {
            return self.supply(data);
        }
        self.value_mut(data).troubles = 0;
        let waits = |call: &CallNumber| self.call(*call).runs.iter().any(|run| run.server == to);
        let users = self.graph.users[data.0 as usize].iter();
        let waiting: Vec<CallNumber> = users.copied().filter(waits).collect();
        for call in waiting {
            self.take_back(call, to);
        }
    }

    /// A call was opened with a name of a value under which it will not come to the server.
    pub fn handle_renamed(
        &mut self,
        now: Instant,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) {
        self.handle_time(now);
        let is_it = |run: &Run| run.server == server && run.attempt == attempt;
        if self.call(call).runs.iter().any(is_it) {
            self.take_back(call, server);
        }
    }

    /// The program has taken a result.
    pub fn handle_taken(&mut self, now: Instant, data: DataNumber) {
        self.handle_time(now);
        self.value_mut(data).wanted = false;
        self.drop_unneeded(data);
    }

    /// Has a value brought to the calls that are open, wait for it, and do not get it yet.
    pub(crate) fn supply(&mut self, data: DataNumber) {
        let users = self.graph.users[data.0 as usize].iter();
        let runs = users.flat_map(|user| self.call(*user).runs.iter().map(|run| run.server));
        let servers: BTreeSet<ServerNumber> = runs.collect();
        servers.into_iter().for_each(|server| self.fetch(data, server, self.now));
    }

    /// When a value is on a server that is to fetch it.
    pub(crate) fn arrival(
        &self,
        data: DataNumber,
        server: ServerNumber,
        costs: &dyn Costs,
    ) -> Instant {
        let bytes = self.graph.value(data).bytes;
        let ways = self.value(data).places.iter();
        let ways = ways.map(|place| costs.move_s(*place, server, bytes));
        self.now + seconds(ways.min_by(f64::total_cmp).unwrap_or(0.0))
    }

    /// Has a value brought to a server, unless it is there, on its way, or made there.
    pub(crate) fn fetch(&mut self, data: DataNumber, to: ServerNumber, arrives: Instant) {
        let value = self.value(data);
        if value.places.contains(&Place::Server(to)) || value.coming.contains_key(&to) {
            return;
        }
        let maker = self.graph.maker(data).map(|maker| self.call(maker));
        let runs = maker.filter(|maker| maker.phase == Phase::Open);
        let runs = runs.map_or(&[][..], |maker| &maker.runs);
        if runs.iter().any(|run| run.server == to) {
            return;
        }
        let servers = value.places.iter().filter_map(|place| match place {
            Place::Server(server) if self.is_there(*server) => Some(*server),
            _ => None,
        });
        let from = servers.chain(runs.iter().map(|run| run.server)).next();
        let action = match from {
            Some(from) => Action::Move { data, from, to },
            None if value.places.contains(&Place::Client) => Action::Send { data, to },
            None => return,
        };
        self.value_mut(data).coming.insert(to, arrives);
        self.out.push_back(action);
    }

    /// A call needs what it uses no more.
    pub(crate) fn release_uses(&mut self, call: CallNumber) {
        for data in self.graph.call(call).uses.clone() {
            let value = self.value_mut(data);
            value.users_left = value.users_left.saturating_sub(1);
            self.drop_unneeded(data);
        }
    }

    /// Deletes a value that nobody needs.
    pub(crate) fn drop_unneeded(&mut self, data: DataNumber) {
        let value = self.value(data);
        if value.users_left > 0 || value.wanted {
            return;
        }
        let value = self.value_mut(data);
        let stays = |place: &Place| match place {
            Place::Server(server) => value.lent.contains(server),
            Place::Client => true,
        };
        let (kept, unneeded) = std::mem::take(&mut value.places).into_iter().partition(stays);
        value.places = kept;
        let unneeded: BTreeSet<Place> = unneeded;
        for place in unneeded {
            if let Place::Server(server) = place {
                self.out.push_back(Action::Delete { data, server });
            }
        }
    }
}
