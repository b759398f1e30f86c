//! A transaction that is to survive this process: what it was given is in the store before it begins,
//! and what was decided is there before it is done (spec/transactions.md, section 5).

use std::collections::VecDeque;

use farcall_base::{Bytes, Error, ErrorKind, Instant, Result, TransactionId};
use farcall_graph::Plan;
use farcall_idl::encode::encode_interface;
use farcall_link::line::FetchedData;
use farcall_services::store::{Change, Condition, Version};
use farcall_services::transactions::User;
use farcall_wire::{Argument, TicketKey};

use crate::state::kept::{Head, InputHead, Keys, OwnedBy, VERSION, batches, pieces, written};
use crate::state::{Action, HERE, Journal, Phase, State, Tag, Ticket, TransactionNumber, Writing};

impl State {
    /// Whether a transaction is to be written down.
    pub(super) fn is_to_be_kept(&self, number: TransactionNumber) -> bool {
        let keep = self.entry(number).and_then(|entry| entry.keep);
        keep.is_some() && self.keeping.store.is_some()
    }

    /// A transaction that is to be kept was checked: this process runs it, if no other one does, and
    /// all that it was given is written before it runs.
    pub(super) fn write_down(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        plan: Plan,
    ) -> Result<()> {
        let began_us = self.keeping.since_1970_us(now);
        let most = self.settings.kept_inputs_max;
        let Some(entry) = self.entry(number) else { return Ok(()) };
        let tickets = self.keys.of(&entry.id, &entry.principal);
        let Some((entry, _)) = self.parts(number) else { return Ok(()) };
        let id = entry.id;
        let principal = entry.principal.clone();
        let keep_us = entry.keep.map_or(0, |keep| keep.as_micros() as u64);
        let Phase::Beginning(beginning) = &mut entry.phase else { return Ok(()) };
        let user = std::mem::replace(&mut beginning.user, Err(unavailable()))?;
        let bytes: u64 = beginning.inputs.values().map(|status| status.bytes).sum();
        if bytes > most {
            return Err(too_large(bytes, most));
        }
        let inputs = plan.message().inputs.iter().zip(0..);
        let inputs = inputs.map(|(input, index)| (index, input.name)).collect();
        let writes = batches(given(Keys(id), &plan)).into();
        beginning.plan = Some(plan);
        let User { address, certificate, .. } = user;
        let TicketKey(key) = tickets.made;
        let head = Head {
            version: VERSION,
            key,
            principal,
            address,
            certificate: certificate.map(|text| text.to_string()),
            keep_us,
            began_us,
            is_complete: false,
            expires_us: None,
        };
        let changes = vec![self.own(id, &head.principal)?, head.put(Keys(id))];
        let writing = Writing { owner: None, head, writes, inputs, is_complete: false };
        let Some((entry, _)) = self.parts(number) else { return Ok(()) };
        if let Phase::Beginning(beginning) = &mut entry.phase {
            beginning.writing = Some(Box::new(writing));
        }
        let keys = Keys(id);
        let conditions = vec![Condition::Absent(keys.owner()), Condition::Absent(keys.head())];
        self.out.push_back(Action::Write(Ticket::Claim(number, id), conditions, changes));
        Ok(())
    }

    /// The word that this process runs a transaction, as long as it lives.
    pub(super) fn own(&self, id: TransactionId, principal: &str) -> Result<Change> {
        let (Some(lease), Some(store)) = (self.keeping.lease, &self.keeping.store) else {
            return Err(unavailable());
        };
        let owner = OwnedBy {
            principal: principal.to_owned(),
            node: store.node.clone(),
            process: store.process.clone(),
        };
        Ok(Change::Put { key: Keys(id).owner(), value: written(&owner), lease: Some(lease) })
    }

    fn writing(&mut self, number: TransactionNumber) -> Option<&mut Writing> {
        match &mut self.entry_mut(number)?.phase {
            Phase::Beginning(beginning) => beginning.writing.as_deref_mut(),
            Phase::Running(_) => None,
        }
    }

    /// The store has taken a write of a transaction that begins, or not.
    pub(super) fn begun_writing(
        &mut self,
        now: Instant,
        ticket: Ticket,
        number: TransactionNumber,
        outcome: Result<Option<Version>>,
    ) {
        let version = match outcome {
            Ok(Some(version)) => version,
            Ok(None) => return self.end(number, &elsewhere()),
            Err(error) => {
                if error.kind() == ErrorKind::NotFound {
                    // The lease has ended: without it, nobody would take it up.
                    self.keeping.lease = None;
                    self.out.push_back(Action::Lease);
                }
                if let (Ticket::Claim(_, id), false) = (ticket, error.is_retryable()) {
                    self.end(number, &not_written(&error));
                    return self.look_whether_claimed(id);
                }
                return self.end(number, &not_written(&error));
            }
        };
        match (self.writing(number), ticket) {
            (Some(writing), Ticket::Claim(..)) => writing.owner = Some(version),
            (Some(writing), _) => drop(writing.writes.pop_front()),
            // It was ended meanwhile.
            (None, Ticket::Claim(_, id)) => return self.erase(id, version),
            (None, _) => return,
        }
        self.write_next(now, number);
    }

    /// Writes what comes next of what a transaction was given; after that, it runs.
    fn write_next(&mut self, now: Instant, number: TransactionNumber) {
        let Some(entry) = self.entry_mut(number) else { return };
        let keys = Keys(entry.id);
        let Some(writing) = self.writing(number) else { return };
        let Some(owner) = writing.owner else { return };
        if writing.writes.is_empty() && writing.inputs.is_empty() && !writing.is_complete {
            writing.is_complete = true;
            writing.head.is_complete = true;
            writing.writes.push_back(vec![writing.head.put(keys)]);
        }
        let next = writing.writes.front().cloned();
        let input = writing.inputs.front().copied();
        let action = match (next, input) {
            (Some(changes), _) => {
                let conditions = vec![Condition::Is(keys.owner(), owner)];
                Action::Write(Ticket::Given(number), conditions, changes)
            }
            (None, Some((input, id))) => Action::Fetch((number, HERE), Tag::Input(input), id),
            (None, None) => return self.start_written(now, number),
        };
        self.out.push_back(action);
    }

    fn start_written(&mut self, now: Instant, number: TransactionNumber) {
        let Some(entry) = self.entry_mut(number) else { return };
        let id = entry.id;
        let Phase::Beginning(beginning) = &mut entry.phase else { return };
        let Some(plan) = beginning.plan.take() else { return };
        let Some(writing) = beginning.writing.take() else { return };
        if let Some(owner) = writing.owner {
            let journal = Journal::new(id, owner, writing.head, 0);
            self.keeping.journals.insert(number, journal);
        }
        self.start(now, number, plan);
    }

    /// An input has come that is to be written down.
    pub fn handle_input(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        input: u32,
        fetched: &FetchedData,
    ) {
        let Some(entry) = self.entry_mut(number) else { return };
        let keys = Keys(entry.id);
        let changes = match input_changes(keys, input as usize, fetched) {
            Ok(changes) => changes,
            Err(error) => return self.end(number, &error),
        };
        let Some(writing) = self.writing(number) else { return };
        writing.inputs.pop_front();
        writing.writes = batches(changes).into();
        self.write_next(now, number);
    }

    /// Has all written that is new. What was decided is done when it is written.
    pub fn commit(&mut self, now: Instant) {
        for number in std::mem::take(&mut self.keeping.dirty) {
            if self.is_closed(number) {
                self.keeping.dirty.insert(number);
            } else {
                self.commit_one(now, number);
            }
        }
    }

    fn commit_one(&mut self, now: Instant, number: TransactionNumber) {
        let Some(entry) = self.entry(number) else { return };
        let expires = entry.expires;
        let expires_us = expires.map(|at| {
            let left = u64::try_from(at.since(now).as_micros()).unwrap_or(u64::MAX);
            self.keeping.since_1970_us(now).saturating_add(left)
        });
        let Some(journal) = self.keeping.journals.get(&number) else { return };
        // A clock that is set does not make another time of it.
        let has_head = expires.is_some() != journal.head.expires_us.is_some();
        let is_whole = journal.wants_whole();
        let has_servers = journal.has_servers;
        let running = self.entry_mut(number).and_then(|entry| entry.running_mut());
        let record = running.and_then(|running| running.record(is_whole, has_servers));
        let Some(journal) = self.keeping.journals.get_mut(&number) else { return };
        if record.is_none() && !has_head {
            self.out.append(&mut journal.pending);
            return;
        }
        if has_head {
            journal.head.expires_us = expires_us;
        }
        journal.write(record.as_ref(), is_whole, has_head);
        self.write_record(number);
    }

    fn write_record(&mut self, number: TransactionNumber) {
        let journal = self.keeping.journals.get(&number);
        if let Some((conditions, changes)) = journal.and_then(Journal::current) {
            self.out.push_back(Action::Write(Ticket::Record(number), conditions, changes));
        }
    }

    /// A record is in the store, or not.
    pub(super) fn record_written(
        &mut self,
        now: Instant,
        number: TransactionNumber,
        outcome: Result<Option<Version>>,
    ) {
        let Some(journal) = self.keeping.journals.get_mut(&number) else { return };
        match outcome {
            Ok(Some(_)) => {
                self.out.append(&mut journal.written());
                self.keeping.dirty.insert(number);
                self.write_record(number);
            }
            Ok(None) => self.lose(number),
            Err(error) => {
                if journal.stuck_since.replace(now).is_none() {
                    let warning = format!(
                        "transaction {} waits, since the store does not take its records: {error}",
                        journal.keys.0
                    );
                    self.warn(warning);
                }
                self.keeping.again(now, Ticket::Record(number));
            }
        }
    }

    /// Another process runs a transaction: nothing more is done here, and nothing is cancelled.
    pub(super) fn lose(&mut self, number: TransactionNumber) {
        let Some(entry) = self.entry(number) else { return };
        let warning = format!(
            "another node has taken transaction {} up, since this one could not say in time that it \
            still runs it",
            entry.id
        );
        self.warn(warning);
        self.forget(number, &elsewhere());
        self.out.push_back(Action::Drop(number, None));
    }

    /// When this process wrote that it runs a transaction, if it did.
    pub(super) fn owner_of(&self, number: TransactionNumber) -> Option<Version> {
        if let Some(journal) = self.keeping.journals.get(&number) {
            return Some(journal.owner);
        }
        match &self.entry(number)?.phase {
            Phase::Beginning(beginning) => {
                let writing = beginning.writing.as_ref().and_then(|writing| writing.owner);
                writing.or(beginning.taken.as_ref().map(|taken| taken.owner))
            }
            Phase::Running(_) => None,
        }
    }

    /// Writes to the store what it did not take, or what it is to take now.
    pub(super) fn ask_again(&mut self, ticket: Ticket) {
        let (id, is_all) = match ticket {
            Ticket::Lease => return self.out.push_back(Action::Lease),
            Ticket::Record(number) => return self.write_record(number),
            Ticket::Erase(id) => (id, true),
            Ticket::Release(id) => (id, false),
            Ticket::Retake(id) => return self.retake(id),
            Ticket::Scan => return self.scan_again(),
            Ticket::Left(id) => return self.look_who_has(id),
            Ticket::Claimed(id) => return self.look_whether_claimed(id),
            Ticket::Own(id) => return self.look_whether_own(id),
            _ => return self.look_again(),
        };
        self.leave_store(ticket, id, is_all);
    }

    /// People should know this.
    pub(super) fn warn(&mut self, warning: String) {
        self.keeping.warnings.push_back(warning);
    }

    /// What people should know.
    pub fn take_warnings(&mut self) -> VecDeque<String> {
        std::mem::take(&mut self.keeping.warnings)
    }
}

/// The message of a transaction, and the interfaces that it was checked with.
fn given(keys: Keys, plan: &Plan) -> Vec<Change> {
    let put = |key, value| Change::Put { key, value, lease: None };
    let message = plan.message().encode();
    let pieces = pieces(&message).into_iter().zip(0..);
    let mut changes: Vec<Change> =
        pieces.map(|(piece, index)| put(keys.message(index), piece.to_vec())).collect();
    for routine in 0..plan.message().routines.len() as u32 {
        if let Some(interface) = plan.interface_of(routine) {
            changes.push(put(keys.interface(routine as usize), encode_interface(interface)));
        }
    }
    changes
}

fn input_changes(keys: Keys, input: usize, fetched: &FetchedData) -> Result<Vec<Change>> {
    let elements = fetched.elements()?;
    let extent = |extent: &Argument| match extent {
        Argument::Inline(bytes) => {
            bytes.as_slice().first_chunk().map(|one| u64::from_ne_bytes(*one))
        }
        _ => None,
    };
    let extents = fetched.extents.iter().map(extent).collect::<Option<_>>();
    let extents = extents.ok_or_else(|| Error::internal("keep a transaction", "no extent"))?;
    let head = InputHead { kind: fetched.kind.clone(), extents, bytes: elements.len() as u64 };
    let put = |(value, piece)| Change::Put { key: keys.input(input, piece), value, lease: None };
    let values =
        [written(&head)].into_iter().chain(pieces(&elements).into_iter().map(<[u8]>::to_vec));
    Ok(values.zip(0..).map(put).collect())
}

pub(super) fn unavailable() -> Error {
    let message = "the store of this node is not reached";
    Error::new(ErrorKind::Unavailable, "keep a transaction", message)
        .fix("wait until it is there again, or begin the transaction without keep")
        .retryable()
}

fn not_written(error: &Error) -> Error {
    let message = format!("it could not be written to the store: {}", error.message());
    let all = Error::new(error.kind(), "keep a transaction", message);
    let context = error.context().iter();
    let all = context.fold(all, |all, (key, value)| all.with(key.clone(), value));
    if error.is_retryable() || error.kind() == ErrorKind::LimitExceeded {
        return all
            .fix("wait until there is room and the store is reached, or begin it without keep")
            .retryable();
    }
    // What is damaged or not this user's does not pass by itself.
    let advice = error.advice().unwrap_or("have the server's administrator look at its store");
    all.fix(format!("{advice}; or begin it without keep"))
}

pub(super) fn elsewhere() -> Error {
    let message = "another node runs the transaction of this id";
    Error::new(ErrorKind::Unavailable, "run a transaction", message)
        .fix("ask that node: `farcall transactions` there lists it")
}

fn too_large(bytes: u64, most: u64) -> Error {
    let message = "its inputs are too large to be written to the store";
    Error::new(ErrorKind::LimitExceeded, "keep a transaction", message)
        .with("inputs", Bytes(bytes))
        .with("kept_inputs_max", Bytes(most))
        .fix(
            "raise kept_inputs_max of the plugin transactions in farcall.toml, have calls make the \
            arrays, or begin it without keep",
        )
}
