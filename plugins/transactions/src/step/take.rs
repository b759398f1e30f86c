//! Transactions in the store that no process runs: they are looked for when the node starts and when
//! an owner's lease ends, and read.

use std::collections::BTreeMap;

use farcall_base::{Error, ErrorKind, Instant, Result, TransactionId};
use farcall_services::store::{Changed, Condition, Entry as Written, LeaseId, Version};
use farcall_wire::TransactionRequest;

use super::not_there;
use crate::state::kept::{HEADS, Head, Keys, OWNERS, OwnedBy, VERSION, named_by, read};
use crate::state::{Action, AskedFor, Loading, QuestionNumber, State, Store, Ticket};

/// Entries of one page.
const PAGE: usize = 1000;

impl State {
    /// The node has a store.
    pub fn handle_store(&mut self, store: Store) {
        self.keeping.store = Some(store);
        self.out.push_back(Action::Lease);
    }

    /// There is a lease, or none.
    pub fn handle_lease(&mut self, now: Instant, outcome: Result<LeaseId>) {
        match outcome {
            Ok(lease) => {
                self.keeping.lease = Some(lease);
                self.take_next();
            }
            Err(error) => {
                if !std::mem::replace(&mut self.keeping.has_complained, true) {
                    self.warn(format!("transactions are not kept at present: {error}"));
                }
                self.keeping.again(now, Ticket::Lease);
            }
        }
    }

    /// Something changed in the store.
    pub fn handle_changed(&mut self, change: Changed) {
        match change {
            Changed::Gone(key) => {
                if let Some(id) = named_by(&key) {
                    self.keeping.damaged.remove(&id);
                    self.look_whether_own(id);
                    self.find(id);
                }
                self.take_next();
            }
            Changed::Lost => {
                let own = self.keeping.journals.values().map(|journal| journal.keys.0);
                for id in own.collect::<Vec<_>>() {
                    self.look_whether_own(id);
                }
                self.scan(None);
            }
            Changed::Put(_) => {}
        }
    }

    fn scan(&mut self, after: Option<String>) {
        self.keeping.scanned.clone_from(&after);
        self.out.push_back(Action::Read(Ticket::Scan, HEADS.to_owned(), after, PAGE));
    }

    /// The look through all of them goes on.
    pub(super) fn scan_again(&mut self) {
        self.scan(self.keeping.scanned.clone());
    }

    /// What this process could not go on with may be taken up again.
    pub(super) fn retake(&mut self, id: TransactionId) {
        self.keeping.resting.remove(&id);
        self.find(id);
        self.take_next();
    }

    /// The lease of this process may have ended: then another one takes up what runs here, which may
    /// have nothing to write for a long time.
    pub(super) fn look_whether_own(&mut self, id: TransactionId) {
        if self.has(&id) {
            self.out.push_back(Action::Read(Ticket::Own(id), Keys(id).owner(), None, 1));
        }
    }

    /// Whether this process still runs a transaction, as the store has it.
    fn told_whether_own(&mut self, now: Instant, id: TransactionId, outcome: Result<Vec<Written>>) {
        let found = match outcome {
            Ok(page) => page.into_iter().next(),
            Err(_) => return self.keeping.again(now, Ticket::Own(id)),
        };
        let mut own = self.keeping.journals.iter().filter(|(_, journal)| journal.keys.0 == id);
        let Some((number, owner)) = own.next().map(|(number, journal)| (*number, journal.owner))
        else {
            return;
        };
        if found.is_none_or(|found| found.version != owner) {
            self.lose(number);
            self.find(id);
            self.take_next();
        }
    }

    fn find(&mut self, id: TransactionId) {
        let is_known = self.has(&id) || self.keeping.damaged.contains_key(&id);
        if !is_known && !self.keeping.resting.contains(&id) {
            self.keeping.found.push_back(id);
        }
    }

    /// One that could not be read is tried again.
    pub(super) fn look_again(&mut self) {
        let Some(loading) = self.keeping.loading.take() else { return };
        self.keeping.found.push_back(loading.id);
        if let Some(owner) = loading.owner {
            let is_ours = Condition::Is(Keys(loading.id).owner(), owner);
            self.keeping.leaving.insert(loading.id, is_ours);
            self.ask_again(Ticket::Release(loading.id));
        }
        self.take_next();
    }

    /// The store has answered what was read.
    pub fn handle_read(&mut self, now: Instant, ticket: Ticket, outcome: Result<Vec<Written>>) {
        if let Ticket::Whose(question) = ticket {
            return self.told_whose(question, outcome);
        }
        if let Ticket::Claimed(id) = ticket {
            return self.told_whether_claimed(now, id, outcome);
        }
        if let Ticket::Own(id) = ticket {
            return self.told_whether_own(now, id, outcome);
        }
        if let Ticket::Left(id) = ticket {
            return self.told_who_has(now, id, outcome);
        }
        let page = match outcome {
            Ok(page) => page,
            Err(error) if error.kind() == ErrorKind::Damaged => return self.give_up(&error),
            Err(_) => return self.keeping.again(now, ticket),
        };
        match ticket {
            Ticket::Scan => {
                for id in page.iter().filter_map(|one| named_by(&one.key)) {
                    self.find(id);
                }
                match page.last() {
                    Some(last) => self.scan(Some(last.key.clone())),
                    None => self.keeping.scanned = None,
                }
                self.take_next();
            }
            Ticket::Head => self.head_read(page.into_iter().next()),
            Ticket::Holder => self.holder_read(page.into_iter().next()),
            _ => self.parts_read(now, page),
        }
    }

    /// Takes the next transaction up that may have no owner, one at a time.
    pub(super) fn take_next(&mut self) {
        if self.keeping.loading.is_some() || self.keeping.lease.is_none() {
            return;
        }
        while let Some(id) = self.keeping.found.pop_front() {
            if !self.has(&id) && !self.keeping.leaving.contains_key(&id) {
                let parts = BTreeMap::new();
                let loading = Loading { id, head: None, holder: None, owner: None, parts };
                self.keeping.loading = Some(loading);
                let head = Keys(id).head();
                return self.out.push_back(Action::Read(Ticket::Head, head, None, 1));
            }
        }
    }

    fn head_read(&mut self, found: Option<Written>) {
        let Some(loading) = &mut self.keeping.loading else { return };
        let id = loading.id;
        let keys = Keys(id);
        let Some(Written { key, value, version }) = found else { return self.pass() };
        let head: Head = match read(&key, &value) {
            Ok(head) => head,
            Err(error) => return self.give_up(&error),
        };
        if head.version != VERSION {
            return self.give_up(&another_version(head.version));
        }
        if let Some(loading) = &mut self.keeping.loading {
            loading.head = Some((head, version));
        }
        self.take(Condition::Absent(keys.owner()));
    }

    /// This process is to run the transaction that is being read, if this holds.
    fn take(&mut self, condition: Condition) {
        let Some(Loading { id, head: Some((head, version)), .. }) = &self.keeping.loading else {
            return;
        };
        let conditions = vec![condition, Condition::Is(Keys(*id).head(), *version)];
        match self.own(*id, &head.principal) {
            Ok(change) => {
                self.out.push_back(Action::Write(Ticket::Take, conditions, vec![change]));
            }
            Err(_) => self.pass(),
        }
    }

    /// Another process has it. One that was killed on this host need not be waited for until its lease
    /// ends.
    fn holder_read(&mut self, found: Option<Written>) {
        let Some(Written { key, value, version }) = found else { return self.pass() };
        let owner = read::<OwnedBy>(&key, &value);
        // It was written, and the store's answer was lost.
        let is_own = owner.as_ref().is_ok_and(|owner| self.is_own(owner));
        let Some(loading) = &mut self.keeping.loading else { return };
        if is_own {
            loading.owner = Some(version);
            return self.read_parts();
        }
        loading.holder = Some(version);
        match owner {
            Ok(owner) => self.out.push_back(Action::Look(owner.process)),
            Err(_) => self.pass(),
        }
    }

    /// Whether the process that has the transaction which is being read is known to have ended.
    pub fn handle_process(&mut self, has_ended: bool) {
        let Some(Loading { id, holder, .. }) = &self.keeping.loading else { return };
        match holder.as_ref().filter(|_| has_ended) {
            Some(version) => self.take(Condition::Is(Keys(*id).owner(), *version)),
            None => self.pass(),
        }
    }

    /// Another process has it, or nobody needs it any more.
    fn pass(&mut self) {
        self.keeping.loading = None;
        self.take_next();
    }

    /// A transaction in the store cannot be taken up, and stays there.
    pub(super) fn give_up(&mut self, error: &Error) {
        if let Some(loading) = self.keeping.loading.take() {
            self.warn(format!("transaction {} cannot be taken up: {error}", loading.id));
            if let Loading { id, head: Some((head, _)), owner: Some(owner), .. } = loading {
                self.is_damaged(id, (&head, owner), error);
            }
        }
        self.take_next();
    }

    /// The store has taken a write, or not.
    pub fn handle_written(
        &mut self,
        now: Instant,
        ticket: Ticket,
        outcome: Result<Option<Version>>,
    ) {
        match ticket {
            Ticket::Claim(number, _) | Ticket::Given(number) => {
                self.begun_writing(now, ticket, number, outcome);
            }
            Ticket::Record(number) => self.record_written(now, number, outcome),
            Ticket::Erase(id) | Ticket::Release(id) => self.left_store(now, ticket, id, &outcome),
            _ => match outcome {
                Ok(Some(version)) => {
                    let Some(loading) = &mut self.keeping.loading else { return };
                    loading.owner = Some(version);
                    self.read_parts();
                }
                Ok(None) => match &self.keeping.loading {
                    Some(loading) if loading.holder.is_none() => {
                        let owner = Keys(loading.id).owner();
                        self.out.push_back(Action::Read(Ticket::Holder, owner, None, 1));
                    }
                    _ => self.pass(),
                },
                Err(error) => {
                    if error.kind() == ErrorKind::NotFound {
                        self.keeping.lease = None;
                        self.out.push_back(Action::Lease);
                    }
                    self.keeping.again(now, ticket);
                }
            },
        }
    }

    fn read_parts(&mut self) {
        let Some(loading) = &self.keeping.loading else { return };
        let after = loading.parts.keys().next_back().cloned();
        let prefix = Keys(loading.id).all();
        self.out.push_back(Action::Read(Ticket::Parts, prefix, after, PAGE));
    }

    fn parts_read(&mut self, now: Instant, page: Vec<Written>) {
        let Some(loading) = &mut self.keeping.loading else { return };
        if !page.is_empty() {
            loading.parts.extend(page.into_iter().map(|one| (one.key, one.value)));
            return self.read_parts();
        }
        let Some(loading) = self.keeping.loading.take() else { return };
        let id = loading.id;
        let known = loading.head.as_ref().map(|(head, _)| head.clone()).zip(loading.owner);
        if let Err(error) = self.build(now, loading) {
            self.warn(format!("transaction {id} cannot be taken up: {error}"));
            if let Some((head, owner)) = known {
                self.is_damaged(id, (&head, owner), &error);
            }
        }
        self.take_next();
    }

    /// Of a transaction that is not here, the store may know where it is: who asks is told. Else the
    /// request comes back.
    pub(super) fn look_elsewhere(
        &mut self,
        question: QuestionNumber,
        principal: &str,
        request: TransactionRequest,
    ) -> Option<TransactionRequest> {
        let id = match &request {
            TransactionRequest::Await(id)
            | TransactionRequest::Timeline(id, _)
            | TransactionRequest::Results(id, _) => *id,
            TransactionRequest::End(ids) if ids.len() == 1 => ids[0],
            _ => return Some(request),
        };
        if let Some(failure) = self.damage_of(&id, principal) {
            if matches!(request, TransactionRequest::End(_)) {
                return Some(request);
            }
            self.out.push_back(Action::Answer(question, Err(failure.into())));
            return None;
        }
        if self.of(&id, principal).is_some() || self.keeping.store.is_none() {
            return Some(request);
        }
        let asked = AskedFor { id, principal: principal.to_owned(), has_no_owner: false };
        self.keeping.asking.insert(question, asked);
        let key = Keys(id).owner();
        self.out.push_back(Action::Read(Ticket::Whose(question), key, None, 1));
        None
    }

    fn told_whose(&mut self, question: QuestionNumber, outcome: Result<Vec<Written>>) {
        let Some(mut asked) = self.keeping.asking.remove(&question) else { return };
        let found = match outcome {
            Ok(page) => page.into_iter().next(),
            Err(error) => return self.out.push_back(Action::Answer(question, Err(error))),
        };
        if found.is_none() && !asked.has_no_owner {
            let head = Keys(asked.id).head();
            asked.has_no_owner = true;
            self.keeping.asking.insert(question, asked);
            return self.out.push_back(Action::Read(Ticket::Whose(question), head, None, 1));
        }
        let error =
            self.whereabouts(&asked, found.as_ref()).unwrap_or_else(|| not_there(&asked.id));
        self.out.push_back(Action::Answer(question, Err(error)));
    }

    /// Where a transaction is, of which the store has this owner, or no owner and this head.
    fn whereabouts(&self, asked: &AskedFor, found: Option<&Written>) -> Option<Error> {
        let Written { key, value, .. } = found?;
        if asked.has_no_owner {
            let head = read::<Head>(key, value).ok()?;
            return (head.principal == asked.principal).then(|| is_taken_up(&asked.id));
        }
        let owner = read::<OwnedBy>(key, value).ok()?;
        let here = self.keeping.store.as_ref().map(|store| &store.node);
        // That of this node is one before this, or it is being read.
        (owner.principal == asked.principal).then(|| match here == Some(&owner.node) {
            true => is_taken_up(&asked.id),
            false => is_at(&asked.id, &owner.node),
        })
    }

    /// Whether what went is the word of who runs a transaction.
    pub fn watched() -> &'static str {
        OWNERS
    }
}

pub(super) fn is_at(id: &TransactionId, node: &str) -> Error {
    let message = format!("the transaction is not here: node \"{node}\" has it");
    Error::new(ErrorKind::NotFound, "find a transaction", message)
        .with("transaction", id)
        .with("node", node)
        .fix("connect to that node, or give the addresses of all nodes")
}

/// Another process has not asked all servers of a transaction yet, or has not begun to.
pub(super) fn is_taken_up(id: &TransactionId) -> Error {
    let message = "the node that ran the transaction is lost, and another one takes it up";
    Error::new(ErrorKind::NotFound, "find a transaction", message)
        .with("transaction", id)
        .fix("ask again in some seconds")
        .retryable()
}

fn another_version(version: u32) -> Error {
    let message = format!("it was written as version {version}, this program reads {VERSION}");
    Error::new(ErrorKind::Version, "take up a transaction", message)
        .fix("start the version of Farcall that began it")
}
