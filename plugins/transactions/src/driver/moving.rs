//! Values on their way from one server to another, through the memory of this process.

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
            ready: VecDeque::new(),
            last: 0,
            bytes: 0,
            bytes_max,
        }
    }

    /// A value is to be moved.
    pub fn queue(&mut self, transaction: TransactionNumber, moved: Move) {
        self.queue.push_back((transaction, moved));
    }

    /// A transaction has ended, with all that is on its way for it.
    pub fn forget(&mut self, transaction: TransactionNumber) {
        self.queue.retain(|(of, _)| *of != transaction);
        self.pulls.retain(|_, one| one.transaction != transaction);
        let mine = self.moves.iter().filter(|(_, one)| one.transaction == transaction);
        for number in mine.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.take(number);
        }
    }

    fn take(&mut self, number: MoveNumber) -> Option<OnItsWay> {
        if let Some(pulled) = self.pulls.remove(&number) {
            return Some(pulled);
        }
        let one = self.moves.remove(&number)?;
        self.bytes -= one.bytes;
        Some(one)
    }
}

impl Driver {
    /// Starts moves for which there is room: the connections over which something is to be sent.
    pub(super) fn start_moves(&mut self) -> Vec<LineNumber> {
        let mut touched = Vec::new();
        for number in std::mem::take(&mut self.moving.ready) {
            touched.extend(self.put(number));
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
            return None;
        }
        self.say(line, Due::Put(number), |line| line.put(put, &fetched, key.as_ref()).map(Some))
    }

    /// A value is to be pulled by the server that it is for: the connection over which that is told.
    pub(super) fn start_pull(
        &mut self,
        transaction: TransactionNumber,
        moved: Move,
        pull: Pull,
    ) -> Option<LineNumber> {
        let (to, data) = moved.to;
        let (_, source) = moved.from;
        let line = (transaction, to);
        if !self.lines.contains_key(&line) {
            let why = MoveFailure::Target(gone(&lost()));
            self.state.handle_moved(self.now(), transaction, &moved, Err(why));
            return None;
        }
        let ticket = pull.key.ticket(source, &pull.receiver, clock_us() + TICKET_FOR_US);
        let Pull { addresses, bytes_max, .. } = pull;
        let key = moved.key.map(|TicketKey(key)| key);
        let asked = PullRequest { data, source, addresses, ticket, bytes_max, key };
        self.moving.last += 1;
        let number = MoveNumber(self.moving.last);
        let one = OnItsWay { transaction, moved, bytes: 0, fetched: None };
        self.moving.pulls.insert(number, one);
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
        if let Some(one) = self.moving.take(number) {
            self.state.handle_not_pulled(one.transaction, &one.moved, &failure);
            self.moving.queue(one.transaction, one.moved);
        }
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
    pub(super) fn moves_lost(&mut self, connected: Connected, error: &Error) {
        for number in connected.moves().collect::<Vec<_>>() {
            self.finish_move(number, Err(MoveFailure::Target(gone(error))));
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
