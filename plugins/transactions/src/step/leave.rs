//! A transaction leaves this process, and the store: nothing of it stays there when it was ended.

use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant, Result, TransactionId};
use farcall_services::store::{Change, Condition, Entry as Written, Version};
use farcall_wire::{Failure, Reply};

use super::take::is_at;
use crate::state::kept::{Keys, OwnedBy, read};
use crate::state::{Action, Keeping, QuestionNumber, State, Ticket, TransactionNumber};

/// Time for which others may take up what this process could not go on with.
const REST: Duration = Duration::from_secs(30);

impl State {
    /// A transaction leaves this process, and stays in the store for another one.
    pub(super) fn release(&mut self, now: Instant, number: TransactionNumber, why: &Error) {
        let Some(entry) = self.entry(number) else { return };
        let id = entry.id;
        self.warn(format!("transaction {id} is interrupted: {why}"));
        let owner = self.owner_of(number);
        self.forget(number, why);
        self.out.push_back(Action::Drop(number, None));
        if let Some(owner) = owner {
            let is_ours = Condition::Is(Keys(id).owner(), owner);
            self.keeping.leaving.insert(id, is_ours);
            self.keeping.resting.insert(id);
            self.keeping.retries.insert((now + REST, Ticket::Retake(id)));
            self.ask_again(Ticket::Release(id));
        }
    }

    /// Nothing of a transaction is to stay in the store.
    pub(super) fn erase(&mut self, id: TransactionId, owner: Version) {
        let is_ours = Condition::Is(Keys(id).owner(), owner);
        self.keeping.leaving.insert(id, is_ours);
        self.ask_again(Ticket::Erase(id));
    }

    /// What was to go from the store is gone, or it is not this process that runs it.
    pub(super) fn left_store(
        &mut self,
        now: Instant,
        ticket: Ticket,
        id: TransactionId,
        outcome: &Result<Option<Version>>,
    ) {
        match (ticket, outcome) {
            (_, Err(_)) => self.keeping.again(now, ticket),
            (Ticket::Erase(_), Ok(None)) => self.look_who_has(id),
            _ => self.has_left(id, &Ok(())),
        }
    }

    /// The lease of this process may have ended, and what it was to erase be nobody's, or another's.
    pub(super) fn look_who_has(&mut self, id: TransactionId) {
        let owner = Keys(id).owner();
        self.out.push_back(Action::Read(Ticket::Left(id), owner, None, 1));
    }

    /// Who runs a transaction that is to go from the store.
    pub(super) fn told_who_has(
        &mut self,
        now: Instant,
        id: TransactionId,
        outcome: Result<Vec<Written>>,
    ) {
        let found = match outcome {
            Ok(page) => page.into_iter().next(),
            Err(error) if error.kind() == ErrorKind::Damaged => None,
            Err(_) => return self.keeping.again(now, Ticket::Left(id)),
        };
        let condition = match found {
            None => Condition::Absent(Keys(id).owner()),
            Some(Written { key, value, version }) => match read::<OwnedBy>(&key, &value) {
                Ok(owner) if !self.is_own(&owner) => {
                    return self.has_left(id, &Err(is_at(&id, &owner.node)));
                }
                _ => Condition::Is(key, version),
            },
        };
        self.keeping.leaving.insert(id, condition);
        self.ask_again(Ticket::Erase(id));
    }

    /// A Begin was refused since the answer of the store was lost: what it may have written goes.
    pub(super) fn look_whether_claimed(&mut self, id: TransactionId) {
        self.out.push_back(Action::Read(Ticket::Claimed(id), Keys(id).owner(), None, 1));
    }

    /// Whether it was written after all. What is of anybody else stays.
    pub(super) fn told_whether_claimed(
        &mut self,
        now: Instant,
        id: TransactionId,
        outcome: Result<Vec<Written>>,
    ) {
        let found = match outcome {
            Ok(page) => page.into_iter().next(),
            Err(_) => return self.keeping.again(now, Ticket::Claimed(id)),
        };
        let Some(Written { key, value, version }) = found else { return };
        let is_own = read::<OwnedBy>(&key, &value).is_ok_and(|owner| self.is_own(&owner));
        if is_own && !self.has(&id) {
            self.erase(id, version);
        }
    }

    /// Whether this process has written that it runs a transaction.
    pub(super) fn is_own(&self, owner: &OwnedBy) -> bool {
        let store = self.keeping.store.as_ref();
        store.is_some_and(|it| it.node == owner.node && it.process == owner.process)
    }

    /// A transaction is not in the store any more, or another node has it. Who ended it is told.
    fn has_left(&mut self, id: TransactionId, outcome: &Result<()>) {
        self.keeping.leaving.remove(&id);
        let Keeping { ending, leaving, .. } = &mut self.keeping;
        let is_done = |(_, ids): &(_, &mut Vec<TransactionId>)| match outcome {
            Ok(()) => !ids.iter().any(|id| leaving.contains_key(id)),
            Err(_) => ids.contains(&id),
        };
        let done = ending.iter_mut().filter(is_done).map(|(question, _)| *question);
        for question in done.collect::<Vec<_>>() {
            self.keeping.ending.remove(&question);
            let answer = match outcome {
                Ok(()) => Ok(Reply::Done),
                Err(error) => Err(Failure::from(error).into()),
            };
            self.out.push_back(Action::Answer(question, answer));
        }
    }

    /// Whether some of these transactions are still in the store: who ended them is answered when
    /// they are not, and so cannot come back.
    pub(super) fn waits_to_leave(
        &mut self,
        question: QuestionNumber,
        ids: &[TransactionId],
    ) -> bool {
        let waits = ids.iter().any(|id| self.keeping.leaving.contains_key(id));
        if waits {
            self.keeping.ending.insert(question, ids.to_vec());
        }
        waits
    }

    /// Asks the store to delete all of a transaction, or only who runs it.
    pub(super) fn leave_store(&mut self, ticket: Ticket, id: TransactionId, is_all: bool) {
        let Some(condition) = self.keeping.leaving.get(&id).cloned() else { return };
        let keys = Keys(id);
        let mut changes = vec![Change::Delete { key: keys.owner() }];
        if is_all {
            changes.push(Change::Delete { key: keys.head() });
            changes.push(Change::DeleteAll { prefix: keys.all() });
        }
        self.out.push_back(Action::Write(ticket, vec![condition], changes));
    }
}
