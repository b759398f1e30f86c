//! A client's objects: they are asked for together, and released together.

use std::time::Duration;

use farcall_base::{ErrorKind, Instant, ObjectId};
use farcall_peer::Caller;
use farcall_wire::{HoldRequest, Reply, Request};

use crate::program::Program;

/// How far a question about the objects is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It was not asked.
    Not,
    /// This one waits for its answer.
    Waits(u64),
    /// It was done.
    Done,
    /// It failed.
    Failed(ErrorKind),
}

/// Objects of one client.
pub struct Held {
    request: HoldRequest,
    /// Whether they came.
    pub came: Asked,
    /// Whether they are to end.
    pub is_to_go: bool,
    /// Whether they have ended.
    pub went: Asked,
}

impl Held {
    /// Objects that are not asked for yet.
    pub fn new(request: HoldRequest) -> Held {
        Held { request, came: Asked::Not, is_to_go: false, went: Asked::Not }
    }

    /// The one with this index.
    pub fn object(&self, index: u32) -> ObjectId {
        self.request.first.after(index).expect("there are enough ids")
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.request.count
    }

    /// Asks what is to be asked, and takes the answers; whether there is something to send.
    pub fn ask(&mut self, caller: &mut Caller<Program>, patience: Duration, now: Instant) -> bool {
        let hold = Request::Hold(Box::new(self.request.clone()));
        let mut asks = advance(&mut self.came, &hold, caller, patience, now);
        if self.is_to_go {
            let release = Request::Release(self.request.first, self.request.count);
            asks |= advance(&mut self.went, &release, caller, patience, now);
        }
        asks
    }
}

fn advance(
    asked: &mut Asked,
    request: &Request,
    caller: &mut Caller<Program>,
    patience: Duration,
    now: Instant,
) -> bool {
    match *asked {
        Asked::Not => {
            let question = caller.ask(request, patience, now).expect("the connection has room").0;
            caller.keep_question(question);
            *asked = Asked::Waits(question);
            true
        }
        Asked::Waits(question) => {
            match caller.take_answer(question) {
                Some(Some(Reply::Done)) => *asked = Asked::Done,
                Some(Some(Reply::Failed(failure))) => {
                    *asked = Asked::Failed(farcall_base::Error::from(failure).kind());
                }
                Some(other) => panic!("{request:?} was answered by {other:?}"),
                None => {}
            }
            false
        }
        Asked::Done | Asked::Failed(_) => false,
    }
}
