//! Values on their way from one server to another, through the memory of this process.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind};
use farcall_link::line::FetchedData;
use farcall_wire::{CallResult, Failure, PullRequest, Reply, Request, TicketKey};

use super::Driver;
use super::connected::{Connected, Due};
use crate::state::{LineNumber, Move, Pull, TransactionNumber};
use crate::step::MoveFailure;

/// Values that are on their way at a time.
const FETCHES_MAX: usize = 256;

/// How long a ticket is good, beside what the clocks of two servers differ: its value may be made for
/// a while yet, but a ticket is shown before.
const TICKET_FOR_US: u64 = 600_000_000;

/// Values that one server is asked to pull at a time for one transaction: each takes a thread there.
const PULLS_MAX: usize = 32;

/// A move, as the driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MoveNumber(u64);

struct OnItsWay {
    transaction: TransactionNumber,
    moved: Move,
    /// What of it lies here.
    bytes: u64,
    /// Its value, until that goes on.
    fetched: Option<FetchedData>,
}

/// All of them.
pub struct Moving {
    queue: VecDeque<(TransactionNumber, Move)>,
    moves: BTreeMap<MoveNumber, OnItsWay>,
    /// Those that servers pull: nothing of them lies here.
    pulls: BTreeMap<MoveNumber, OnItsWay>,
    /// How many of them each server has been asked for.
    pulling: BTreeMap<LineNumber, usize>,
    /// Those that it is to be asked for.
    to_pull: BTreeMap<LineNumber, VecDeque<(Move, Pull)>>,
    /// When the last ticket ends.
    last_until_us: u64,
    /// Those whose value has come, and goes on.
    ready: VecDeque<MoveNumber>,
    last: u64,
    bytes: u64,
    bytes_max: u64,
}

impl Moving {
    /// There are none, and together they may take so many bytes.
    pub fn new(bytes_max: u64) -> Moving {
        Moving {
            queue: VecDeque::new(),
            moves: BTreeMap::new(),
            pulls: BTreeMap::new(),
            pulling: BTreeMap::new(),
            to_pull: BTreeMap::new(),
            last_until_us: 0,
            ready: VecDeque::new(),
            last: 0,
            bytes: 0,
            bytes_max,
        }
    }

    /// A value is to be moved: the server that it is for pulls it in this way, if there is one.
    pub fn queue(&mut self, transaction: TransactionNumber, moved: Move, pull: Option<Pull>) {
        let line = (transaction, moved.to.0);
        match pull {
            Some(pull) => self.to_pull.entry(line).or_default().push_back((moved, pull)),
            None => self.queue.push_back((transaction, moved)),
        }
    }

    /// Moves from a server or to it that wait for room: none of them would come to an end.
    fn take_queued(&mut self, (transaction, server): LineNumber) -> Vec<Move> {
        let mut taken = Vec::new();
        self.queue.retain(|(of, moved)| {
            let stays = *of != transaction || ![moved.from.0, moved.to.0].contains(&server);
            if !stays {
                taken.push(moved.clone());
            }
            stays
        });
        taken
    }

    /// The next value that a server is to be asked for, if it is not asked for as many already.
    fn next_pull(&mut self, line: LineNumber) -> Option<(Move, Pull)> {
        if self.pulling.get(&line).is_some_and(|count| *count >= PULLS_MAX) {
            return None;
        }
        let queue = self.to_pull.get_mut(&line)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.to_pull.remove(&line);
        }
        next
    }

    /// Until when a ticket is good: no two are alike, though they are for one value and one receiver.
    fn until_us(&mut self) -> u64 {
        self.last_until_us = (clock_us() + TICKET_FOR_US).max(self.last_until_us + 1);
        self.last_until_us
    }

    /// A transaction has ended, with all that is on its way for it.
    pub fn forget(&mut self, transaction: TransactionNumber) {
        self.queue.retain(|(of, _)| *of != transaction);
        self.to_pull.retain(|(of, _), _| *of != transaction);
        let moves = self.moves.iter().chain(&self.pulls);
        let mine = moves.filter(|(_, one)| one.transaction == transaction);
        for number in mine.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.take(number);
        }
    }

    fn take(&mut self, number: MoveNumber) -> Option<OnItsWay> {
        if let Some(pulled) = self.pulls.remove(&number) {
            let line = (pulled.transaction, pulled.moved.to.0);
            if let Entry::Occupied(mut count) = self.pulling.entry(line) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
            return Some(pulled);
        }
        let one = self.moves.remove(&number)?;
        self.bytes -= one.bytes;
        Some(one)
    }
}

impl Driver {
    /// Starts moves for which there is room: the connections over which something is to be sent, or
    /// which are lost.
    pub(super) fn start_moves(&mut self) -> Vec<LineNumber> {
        let mut touched = Vec::new();
        for number in std::mem::take(&mut self.moving.ready) {
            touched.extend(self.put(number));
        }
        for line in self.moving.to_pull.keys().copied().collect::<Vec<_>>() {
            while !self.state.is_closed(line.0)
                && let Some((moved, pull)) = self.moving.next_pull(line)
            {
                touched.extend(self.start_pull(line, moved, pull));
            }
        }
        let mut waiting = VecDeque::new();
        while self.moving.moves.len() < FETCHES_MAX && self.moving.bytes < self.moving.bytes_max {
            let Some((transaction, moved)) = self.moving.queue.pop_front() else { break };
            if self.state.is_closed(transaction) {
                waiting.push_back((transaction, moved));
                continue;
            }
            self.moving.last += 1;
            let number = MoveNumber(self.moving.last);
            let (from, id) = moved.from;
            let line = (transaction, from);
            if !self.lines.contains_key(&line) {
                let why = MoveFailure::Target(gone(&lost()));
                self.state.handle_moved(self.now(), transaction, &moved, Err(why));
                // Something else is to be done now.
                touched.push(line);
                continue;
            }
            let one = OnItsWay { transaction, moved, bytes: 0, fetched: None };
            self.moving.moves.insert(number, one);
            touched.extend(self.say(line, Due::Fetched(number), |line| line.fetch(id).map(Some)));
        }
        waiting.append(&mut self.moving.queue);
        self.moving.queue = waiting;
        touched
    }

    /// A value has come from its server. It goes on to the other one when all news that came with it
    /// are written down, if they are to be.
    pub(super) fn fetched(&mut self, number: MoveNumber, fetched: FetchedData) {
        let Some(one) = self.moving.moves.get_mut(&number) else { return };
        one.bytes = fetched.bytes;
        self.moving.bytes += fetched.bytes;
        one.fetched = Some(fetched);
        self.moving.ready.push_back(number);
    }

    fn put(&mut self, number: MoveNumber) -> Option<LineNumber> {
        let one = self.moving.moves.get_mut(&number)?;
        if self.state.is_closed(one.transaction) {
            self.moving.ready.push_back(number);
            return None;
        }
        let fetched = one.fetched.take()?;
        let (to, id) = one.moved.to;
        let line = (one.transaction, to);
        let put = (one.moved.call, id);
        let key = one.moved.key;
        if !self.lines.contains_key(&line) {
            let why = MoveFailure::Target(gone(&lost()));
            self.finish_move(number, Err(why));
            return Some(line);
        }
        self.say(line, Due::Put(number), |line| line.put(put, &fetched, key.as_ref()).map(Some))
    }

    /// Asks a server to pull a value: the connection over which that is told.
    fn start_pull(&mut self, line: LineNumber, moved: Move, pull: Pull) -> Option<LineNumber> {
        let (_, data) = moved.to;
        let (_, source) = moved.from;
        let (transaction, _) = line;
        if !self.lines.contains_key(&line) {
            let why = MoveFailure::Target(gone(&lost()));
            self.state.handle_moved(self.now(), transaction, &moved, Err(why));
            return Some(line);
        }
        let ticket = pull.key.ticket(source, &pull.receiver, self.moving.until_us());
        let Pull { addresses, bytes_max, .. } = pull;
        let key = moved.key.map(|TicketKey(key)| key);
        let asked = PullRequest { data, source, addresses, ticket, bytes_max, key };
        self.moving.last += 1;
        let number = MoveNumber(self.moving.last);
        let one = OnItsWay { transaction, moved, bytes: 0, fetched: None };
        self.moving.pulls.insert(number, one);
        *self.moving.pulling.entry(line).or_default() += 1;
        let request = Request::Pull(Box::new(asked));
        self.say(line, Due::Pulled(number), |line| line.ask(&request).map(Some))
    }

    /// A server has pulled a value, or could not: then it passes through here.
    pub(super) fn pull_ended(&mut self, number: MoveNumber, reply: Reply) {
        let failure = match reply {
            Reply::Done => return self.finish_move(number, Ok(())),
            Reply::Failed(failure) => failure,
            _ => gone(&Error::new(ErrorKind::Protocol, "pull a value", "another answer came")),
        };
        let Some(OnItsWay { transaction, moved, .. }) = self.moving.take(number) else { return };
        self.state.handle_not_pulled(transaction, &moved, &failure);
        if self.lines.contains_key(&(transaction, moved.from.0)) {
            return self.moving.queue(transaction, moved, None);
        }
        let why = MoveFailure::Target(gone(&lost()));
        self.state.handle_moved(self.now(), transaction, &moved, Err(why));
    }

    /// A server said how its part of a move ended.
    pub(super) fn end_move(&mut self, number: MoveNumber, result: CallResult, is_source: bool) {
        let outcome = match result.failure {
            None => Ok(()),
            Some(failure) if is_source => Err(MoveFailure::Source(failure)),
            Some(failure) => Err(MoveFailure::Target(failure)),
        };
        self.finish_move(number, outcome);
    }

    /// A connection is lost, and so is what was on its way over it.
    pub(super) fn moves_lost(&mut self, line: LineNumber, connected: Connected, error: &Error) {
        let why = MoveFailure::Target(gone(error));
        for number in connected.moves().collect::<Vec<_>>() {
            self.finish_move(number, Err(why.clone()));
        }
        for moved in self.moving.take_queued(line) {
            self.state.handle_moved(self.now(), line.0, &moved, Err(why.clone()));
        }
    }

    fn finish_move(&mut self, number: MoveNumber, outcome: Result<(), MoveFailure>) {
        if let Some(one) = self.moving.take(number) {
            self.state.handle_moved(self.now(), one.transaction, &one.moved, outcome);
        }
    }
}

fn gone(error: &Error) -> Failure {
    Failure::from(error)
}

/// Microseconds since 1970.
fn clock_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX / 2)
}

fn lost() -> Error {
    Error::new(ErrorKind::ConnectionLost, "move a value", "a server is lost")
}
