//! One transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ConnectionId, DataId, Instant, Result, TransactionId};
use farcall_graph::{Message, Plan};
use farcall_idl::interface::Interface;
use farcall_services::transactions::{ClientName, User};
use farcall_wire::{DataStatus, Failure};

use super::{QuestionNumber, Running, Servers, Taken, Writing};

/// A transaction.
pub struct Entry {
    /// Its id.
    pub id: TransactionId,
    /// Whose it is.
    pub principal: String,
    /// Who began it.
    pub owner: Owner,
    /// For how long it stays when it has ended and its client has left.
    pub keep: Option<Duration>,
    /// When it began.
    pub began: Instant,
    /// When it is forgotten.
    pub expires: Option<Instant>,
    /// When something is to be done, as the table of all has it.
    pub due: Option<Instant>,
    /// Who is to be told when it has ended.
    pub awaiting: Vec<QuestionNumber>,
    /// How far it is.
    pub phase: Phase,
}

/// The client that began a transaction.
#[derive(Default)]
pub struct Owner {
    /// Its connection, while it has one.
    pub connection: Option<ConnectionId>,
    /// Who it is, if it may come back.
    pub client: Option<ClientName>,
    /// For how long it may come back.
    pub may_return: Option<Duration>,
}

/// How far a transaction is.
pub enum Phase {
    /// It is being checked.
    Beginning(Box<Beginning>),
    /// It runs, or has ended.
    Running(Box<Running>),
}

/// A transaction that is being checked.
pub struct Beginning {
    /// Who is to be told: a client that lost its connection begins it again.
    pub questions: Vec<QuestionNumber>,
    /// What it says.
    pub message: Message,
    /// The interfaces of its routines, as far as the server has told them.
    pub interfaces: Vec<Option<Arc<Interface>>>,
    /// What the server has of its inputs.
    pub inputs: BTreeMap<DataId, DataStatus>,
    /// Servers that its calls can run on.
    pub servers: Servers,
    /// Routines that others have, or had a moment ago, and maybe they alone.
    pub placed: BTreeSet<u32>,
    /// Whether other servers have been dialled.
    pub has_dialled: bool,
    /// Answers of servers that are missing.
    pub unanswered: usize,
    /// The checked graph, once it was checked.
    pub plan: Option<Plan>,
    /// The user that its calls are made for when the client has left; else why that cannot be.
    pub user: Result<User>,
    /// What is written of it before it runs.
    pub writing: Option<Box<Writing>>,
    /// What the store had of it, if it is taken up.
    pub taken: Option<Box<Taken>>,
}

impl Beginning {
    /// When servers of a transaction that is taken up are tried again, or waited for no more.
    fn next_due(&self) -> Option<Instant> {
        let taken = self.taken.as_ref()?;
        let until = (self.unanswered == 0 && self.has_dialled).then_some(taken.until);
        self.servers.next_again().into_iter().chain(until).min()
    }
}

impl Entry {
    /// It runs, or has ended.
    pub fn running(&self) -> Option<&Running> {
        match &self.phase {
            Phase::Running(running) => Some(running),
            Phase::Beginning(_) => None,
        }
    }

    /// The same, to change it.
    pub fn running_mut(&mut self) -> Option<&mut Running> {
        match &mut self.phase {
            Phase::Running(running) => Some(running),
            Phase::Beginning(_) => None,
        }
    }

    /// What its client said that it is.
    pub fn message(&self) -> &Message {
        match &self.phase {
            Phase::Beginning(beginning) => {
                beginning.plan.as_ref().map_or(&beginning.message, Plan::message)
            }
            Phase::Running(running) => running.plan.message(),
        }
    }

    /// Servers that it runs on.
    pub fn servers(&self) -> &Servers {
        match &self.phase {
            Phase::Beginning(beginning) => &beginning.servers,
            Phase::Running(running) => &running.servers,
        }
    }

    /// What the store had of it, while it is taken up.
    pub fn taken(&self) -> Option<&Taken> {
        match &self.phase {
            Phase::Beginning(beginning) => beginning.taken.as_deref(),
            Phase::Running(_) => None,
        }
    }

    /// Whether it is taken up from the store, and does not run yet.
    pub fn is_taken_up(&self) -> bool {
        matches!(&self.phase, Phase::Beginning(beginning) if beginning.taken.is_some())
    }

    /// Whether all its calls have ended.
    pub fn is_over(&self) -> bool {
        self.running().is_some_and(|running| running.transaction.is_over())
    }

    /// How many calls it has.
    pub fn calls(&self) -> usize {
        match &self.phase {
            Phase::Beginning(_) => self.message().calls.len(),
            Phase::Running(running) => running.transaction.graph().calls(),
        }
    }

    /// Why the first of its calls that failed did so.
    pub fn first_failure(&self) -> Option<Failure> {
        let running = self.running()?;
        running.failed_calls().next().map(|call| running.failure_of(call))
    }

    /// When something is to be done.
    pub fn next_due(&self) -> Option<Instant> {
        let running = self.running();
        let late = running.and_then(|running| running.transaction.next_late());
        let again = running.filter(|running| !running.transaction.is_over());
        let again = again.and_then(|running| running.servers.next_again());
        let taken = match &self.phase {
            Phase::Beginning(beginning) => beginning.next_due(),
            Phase::Running(_) => None,
        };
        self.expires.into_iter().chain(late).chain(again).chain(taken).min()
    }

    /// Sets when it is forgotten: its client has come, left, or it has ended.
    pub fn set_expiry(&mut self, now: Instant) {
        let stays = self.keep.max(self.owner.may_return);
        let runs_on = self.keep.is_some() && !self.is_over();
        self.expires = match stays {
            _ if self.owner.connection.is_some() || runs_on => None,
            stays => Some(now + stays.unwrap_or_default()),
        };
    }
}
