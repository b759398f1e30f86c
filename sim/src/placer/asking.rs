//! Asks metaservers, one question after the other: another one where one does not answer, and
//! nobody where none does.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant};
use farcall_link::line::{Line, LineEvent};
use farcall_link::stream::ByteStream;
use farcall_wire::{PLACEMENT, PlaceQuestion, RELAY, Reply, Request};

use super::{Askers, Order, Placer};

/// Time that a metaserver has where servers are known to go on with, and otherwise.
const BRIEF: Duration = Duration::from_secs(2);
const PATIENT: Duration = Duration::from_secs(10);

impl Placer {
    /// A metaserver was reached, or nobody listens there.
    pub fn reached(&mut self, now: Instant, stream: Option<Box<dyn ByteStream>>) {
        match stream {
            Some(stream) => {
                self.askers.line = Some(Line::new(stream, &[PLACEMENT, RELAY]));
                self.askers.since = Some(now);
            }
            None => self.nobody_answers(),
        }
    }

    /// When it has something to do without being told.
    pub fn next_tick(&self) -> Option<Instant> {
        let silent = self.askers.since.map(|since| since + self.patience());
        let looking = self.calls.values().filter(|call| call.on.is_none());
        let deadlines = looking.filter_map(|call| call.wish.deadline);
        // While an answer is awaited, nothing else is told.
        let tells_at = self.tells_at.filter(|_| silent.is_none());
        silent.into_iter().chain(tells_at).chain(deadlines).min()
    }

    fn patience(&self) -> Duration {
        if self.last.is_empty() { PATIENT } else { BRIEF }
    }

    /// Does what it can; whether anything moved.
    pub fn work(&mut self, now: Instant) -> bool {
        let mut moved = self.work_line();
        let is_silent = |since: Instant| now.since(since) >= self.patience();
        if self.askers.since.is_some_and(is_silent) {
            self.nobody_answers();
            moved = true;
        }
        let is_late = |deadline: Instant| deadline <= now;
        let looking = self.calls.iter().filter(|(_, call)| call.on.is_none());
        let late = looking.filter(|(_, call)| call.wish.deadline.is_some_and(is_late));
        for number in late.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.end(number, Err(Error::new(ErrorKind::TimedOut, "call", "it timed out")));
        }
        self.ask(now);
        moved || !self.orders.is_empty()
    }

    fn work_line(&mut self) -> bool {
        let Some(line) = &mut self.askers.line else { return false };
        let outcome = line.work();
        let events = line.take_events();
        let moved = !events.is_empty() || outcome.is_err();
        for event in events {
            self.askers.since = None;
            match event {
                LineEvent::Open(..)
                | LineEvent::TakenUp(_)
                | LineEvent::Ended(..)
                | LineEvent::Fetched(..) => {}
                LineEvent::Reply(_, reply) => self.take_reply(reply),
            }
        }
        if outcome.is_err() && self.askers.line.is_some() {
            self.nobody_answers();
        }
        moved
    }

    fn take_reply(&mut self, reply: Reply) {
        let Some(number) = self.askers.asked.take() else { return };
        match reply {
            Reply::Placed(answer) => {
                self.askers.tried = 0;
                self.take_answer(number, *answer);
            }
            Reply::Failed(failure) => {
                let error = Error::from(failure);
                if error.kind() != ErrorKind::NotFound {
                    return self.give_up(number, error);
                }
                // It may have been started a moment ago: others are asked, too.
                self.askers.waiting.push_front(number);
                if self.calls.contains_key(&number) {
                    self.nobody_answers();
                }
            }
            other => panic!("a question was answered by {other:?}"),
        }
    }

    /// The metaserver is gone, silent, or knows nobody: the next one is asked, and behind the last
    /// one the servers that were named last are called.
    fn nobody_answers(&mut self) {
        let Askers { line, since, asked, waiting, tried, current, names } = &mut self.askers;
        (*line, *since) = (None, None);
        let asked = asked.take().filter(|number| self.calls.contains_key(number));
        asked.into_iter().for_each(|number| waiting.push_front(number));
        if waiting.is_empty() {
            return;
        }
        *tried += 1;
        *current = (*current + 1) % names.len();
        if *tried < names.len() {
            return;
        }
        *tried = 0;
        for number in std::mem::take(waiting) {
            if let Some(call) = self.calls.get_mut(&number) {
                call.wish.grant = 0;
            }
            let error = Error::new(
                ErrorKind::Unreachable,
                "ask where a call runs",
                "no metaserver answers",
            );
            self.call_last(number, error);
        }
    }

    /// Asks what is to be asked, or tells what is to be told.
    fn ask(&mut self, now: Instant) {
        let has_to_tell = self.tells_at.is_some_and(|at| at <= now);
        let has_to_ask = !self.askers.waiting.is_empty();
        if self.askers.since.is_some() || !(has_to_ask || has_to_tell) {
            return;
        }
        if self.askers.line.is_none() {
            if !has_to_ask {
                // A metaserver that is gone has forgotten the grants.
                (self.tells_at, self.outcomes) = (None, Vec::new());
                return;
            }
            self.askers.since = Some(now);
            let name = self.askers.names[self.askers.current].clone();
            return self.orders.push(Order::Reach(name));
        }
        self.tells_at = None;
        let outcomes = std::mem::take(&mut self.outcomes);
        let asked = self.askers.waiting.pop_front();
        let request = match asked.and_then(|number| self.calls.get(&number)) {
            Some(call) => {
                let left = call.wish.deadline.map(|deadline| deadline.since(now).as_secs_f64());
                Request::Place(Box::new(PlaceQuestion {
                    without: call.without.clone(),
                    deadline_s: left,
                    outcomes,
                    ..call.question.clone()
                }))
            }
            None => Request::Outcomes(outcomes),
        };
        self.askers.asked = asked;
        self.askers.since = Some(now);
        let line = self.askers.line.as_mut();
        if line.is_some_and(|line| line.ask(&request).is_err()) {
            self.nobody_answers();
        }
    }
}
