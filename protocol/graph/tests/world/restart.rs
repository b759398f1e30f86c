//! The owner of a transaction writes its records, is ended, and goes on from them.

use std::collections::BTreeMap;

use farcall_base::{Instant, Random};
use farcall_graph::{
    CallNumber, Costs, DataNumber, Ended, Graph, Limits, Place, ServerNumber, Transaction,
};

use super::{Estimate, Event, World};

/// The process that runs the transaction.
#[derive(Default)]
pub struct Owner {
    pub is_down: bool,
    /// Of so many turns one ends it; 0: none does.
    pub every: u64,
    pub restarts: usize,
    pub records: Vec<Vec<u8>>,
    /// Lives of servers that it has heard of.
    pub lives: BTreeMap<u32, u32>,
}

impl World {
    /// A world whose owner is ended again and again.
    pub fn with_restarts(mut self, every: u64) -> World {
        self.owner.every = every;
        self
    }

    /// What the owner does after each news: decide, write, act. It may be ended in between.
    pub fn turn(&mut self) {
        if self.owner.every > 0 && self.random.next().is_multiple_of(20) {
            self.owner.records = vec![self.transaction.record_all()];
        }
        let ends = self.owner.every > 0 && self.random.next().is_multiple_of(self.owner.every);
        let mut acts = if ends { self.random.next() % 16 } else { u64::MAX };
        // Acting leads to news, and these to more to do, which is written first.
        while acts > 0 {
            self.transaction.place(Instant(self.now), &Estimate);
            self.transaction.hurry(Instant(self.now), &Estimate);
            self.write();
            let Some(action) = self.transaction.poll_action() else { break };
            acts -= 1;
            self.act(action);
        }
        if ends {
            self.owner.is_down = true;
            self.owner.restarts += 1;
            let away = self.random.next() % 50_000;
            self.after(away, Event::Restored);
        }
    }

    fn write(&mut self) {
        if self.owner.every > 0 {
            self.owner.records.extend(self.transaction.record());
        }
    }

    pub fn restore(&mut self) {
        let mean = |call: CallNumber| Estimate.run_s(call, ServerNumber(1)).unwrap();
        let records = self.owner.records.iter().map(Vec::as_slice);
        let graph = Graph::clone(&self.graph);
        let now = Instant(self.now);
        let restored = Transaction::restore(
            now,
            graph,
            Limits::default(),
            mean,
            |_| 0.001,
            records,
            |server| server,
        );
        self.transaction = restored.unwrap();
        self.owner.is_down = false;
        for call in (0..self.graph.calls() as u32).map(CallNumber) {
            let outcome = self.transaction.outcome(call);
            let has_returned = outcome.map(|outcome| matches!(outcome, Ended::Returned(_)));
            // What was told was written before.
            assert!(!self.ended.contains_key(&call) || has_returned.is_some(), "{call:?}");
            if let Some(has_returned) = has_returned {
                self.ended.insert(call, has_returned);
            }
        }
        if self.has_left {
            self.transaction.handle_client_left(now);
        }
        let servers: Vec<(u32, bool, u32)> =
            self.servers.iter().map(|(number, it)| (*number, it.is_up, it.life)).collect();
        for (number, is_up, life) in servers {
            let server = ServerNumber(number);
            if !is_up || self.owner.lives.get(&number) != Some(&life) {
                self.transaction.handle_lost(now, server);
            }
            if is_up {
                self.owner.lives.insert(number, life);
                self.transaction.handle_server(now, server, 2);
            }
        }
    }

    /// Compares what a server has with what is to be there.
    pub fn take_up(
        &mut self,
        server: ServerNumber,
        calls: &[(CallNumber, u32)],
        data: &[DataNumber],
    ) {
        let number = server.0;
        let Some(it) = self.servers.get_mut(&number).filter(|it| it.is_up) else { return };
        it.waiting.retain(|call| calls.contains(call));
        it.running.retain(|call, _| calls.contains(call));
        // An outcome is kept until the owner has written it down; here for ever.
        let done = it.done.clone();
        let graph = &self.graph;
        let made =
            |one: &DataNumber| calls.iter().any(|(call, _)| graph.call(*call).makes.contains(one));
        it.values.retain(|one, _| data.contains(one) || made(one));
        let is_open =
            |call: &(CallNumber, u32)| it.waiting.contains(call) || it.running.contains_key(call);
        let missing: Vec<DataNumber> = data
            .iter()
            .copied()
            .filter(|one| !it.values.contains_key(one) && !it.coming.contains(one))
            .collect();
        let there: Vec<DataNumber> =
            data.iter().copied().filter(|one| it.values.contains_key(one)).collect();
        let (open, ended): (Vec<_>, Vec<_>) = calls.iter().copied().partition(is_open);
        drop(open);
        for (call, attempt) in ended {
            if done.contains(&(call, attempt)) {
                self.tell(|it, now| it.handle_returned(now, call, server, attempt));
                self.report_gone(call, server);
            } else {
                self.tell(|it, now| it.handle_unknown(now, call, server, attempt));
            }
        }
        there.into_iter().for_each(|one| self.tell(|it, now| it.handle_moved(now, one, server)));
        for one in missing {
            self.tell(|it, now| {
                it.handle_gone(now, one, Place::Server(server));
                it.handle_not_moved(now, one, server);
            });
        }
        // Who waits for what was ended here waits in vain.
        let stuck = std::mem::take(&mut self.pulls);
        stuck.into_iter().for_each(|(data, from, to)| self.pull(data, from, to));
    }

    /// Results of a call that returned meanwhile may be gone already.
    fn report_gone(&mut self, call: CallNumber, server: ServerNumber) {
        for made in self.graph.call(call).makes.clone() {
            if !self.servers[&server.0].values.contains_key(&made) {
                self.tell(|it, now| it.handle_gone(now, made, Place::Server(server)));
            }
        }
    }
}
