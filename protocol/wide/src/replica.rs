//! State that all members have, and change by operations (spec/wide-area.md, section 8).

use std::collections::{BTreeMap, VecDeque};

use farcall_base::Result;

use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// To a sequencer: order this operation of that member.
const REQUEST: u8 = 0;
/// To all: apply it, with this number.
const ORDERED: u8 = 1;
/// From a sequencer to another one: the right to order, from this number on.
const TOKEN: u8 = 2;
/// To sequencers: the site of this number wants the right to order.
const WANT: u8 = 3;
/// To all: apply it, whenever it comes.
const UNORDERED: u8 = 4;
/// Operations of another site in a row behind which the sequencer moves there.
const MOVES_AFTER: u32 = 2;

/// In which order members apply operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All in one order.
    Total,
    /// Those of each member in its order.
    Fifo,
    /// In any order: the operations commute.
    None,
}

/// The operations on one replicated state, as one member sees them.
#[derive(Debug)]
pub struct Replica {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    has_tiers: bool,
    order: Order,
    /// Operations that are to be applied here, in order.
    due: VecDeque<(Rank, Vec<u8>)>,
    /// Own operations so far, and those of them that are not applied here yet.
    own_changes: u64,
    pending: u64,
    /// The number that is applied next, and what came before its turn.
    next: u64,
    early: BTreeMap<u64, (Rank, Vec<u8>)>,
    /// How many operations of each member have their numbers, as far as they were applied here.
    ordered: BTreeMap<Rank, u64>,
    sequencer: Sequencer,
}

/// What a sequencer knows; members that are none know where it is.
#[derive(Debug)]
struct Sequencer {
    /// The number of the next operation, at the one that has the right to order.
    right: Option<u64>,
    /// Operations that wait for that right.
    queue: BTreeMap<(Rank, u64), Vec<u8>>,
    /// Whether it has asked for the right.
    has_asked: bool,
    /// How often each site has asked for it, and, at the one that has it, been given it.
    wanted: Vec<u64>,
    given: Vec<u64>,
    /// With tiers: the member that was last known to have the right, and for which number.
    known: Rank,
    known_at: u64,
    /// With tiers: the site of the last operations, and how many they were.
    last: (u32, u32),
}

impl Replica {
    /// That of a member. Without tiers every order is total, as one sequencer of each site in turn
    /// makes it.
    pub fn new(
        (thing, own): (ThingNumber, Rank),
        (sites, has_tiers): (Sites, bool),
        order: Order,
    ) -> Replica {
        let order = if has_tiers { order } else { Order::Total };
        let sequencer = Sequencer {
            right: (own == Rank(0)).then_some(0),
            queue: BTreeMap::new(),
            has_asked: false,
            wanted: vec![0; sites.count() as usize],
            given: vec![0; sites.count() as usize],
            known: Rank(0),
            known_at: 0,
            last: (0, 0),
        };
        Replica {
            thing,
            own,
            sites,
            has_tiers,
            order,
            due: VecDeque::new(),
            own_changes: 0,
            pending: 0,
            next: 0,
            early: BTreeMap::new(),
            ordered: BTreeMap::new(),
            sequencer,
        }
    }

    /// This member changes the state by an operation.
    ///
    /// # Errors
    /// What no member can cause by itself: none so far.
    pub fn change(&mut self, operation: &[u8], out: &mut Outbox) -> Result<()> {
        if self.order != Order::Total {
            self.due.push_back((self.own, operation.to_vec()));
            let message = Envelope::write(self.thing, UNORDERED, &[], operation);
            out.send(Destination::All, message);
            return Ok(());
        }
        let number = self.own_changes;
        self.own_changes += 1;
        self.pending += 1;
        let sequencer = self.sequencer_of_site();
        match sequencer == self.own {
            true => self.request((self.own, number), operation.to_vec(), out),
            false => self.pass_request(sequencer, (self.own, number), operation, out),
        }
        Ok(())
    }

    /// The next operation that is to be applied here.
    pub fn next_due(&mut self) -> Option<(Rank, Vec<u8>)> {
        let (from, operation) = self.due.pop_front()?;
        if from == self.own && self.order == Order::Total {
            self.pending -= 1;
        }
        Some((from, operation))
    }

    /// Whether all own operations were applied here.
    pub fn is_settled(&self) -> bool {
        self.pending == 0
    }

    /// Whether a change ends only when it was applied here: without tiers its writer waits.
    pub fn has_waits(&self) -> bool {
        !self.has_tiers
    }

    /// Where this member's requests go.
    fn sequencer_of_site(&self) -> Rank {
        let own = self.sites.of(self.own);
        match self.has_tiers {
            // One that moved away passes them on.
            true if self.sites.of(self.sequencer.known) == own => self.sequencer.known,
            _ => self.sites.first(own),
        }
    }

    fn pass_request(
        &self,
        to: Rank,
        (writer, number): (Rank, u64),
        operation: &[u8],
        out: &mut Outbox,
    ) {
        let fields = [u64::from(writer.0), number];
        let message = Envelope::write(self.thing, REQUEST, &fields, operation);
        out.send(Destination::Member(to), message);
    }

    /// A sequencer is to order an operation.
    fn request(&mut self, request: (Rank, u64), operation: Vec<u8>, out: &mut Outbox) {
        if self.has_tiers && self.sequencer.right.is_none() {
            return self.pass_request(self.sequencer.known, request, &operation, out);
        }
        self.sequencer.queue.insert(request, operation);
        self.serve(out);
        if self.has_tiers || self.sequencer.queue.is_empty() || self.sequencer.has_asked {
            return;
        }
        self.sequencer.has_asked = true;
        let own = self.sites.of(self.own);
        self.sequencer.wanted[own as usize] += 1;
        let fields = [u64::from(own), self.sequencer.wanted[own as usize]];
        for site in (0..self.sites.count()).filter(|site| *site != own) {
            let message = Envelope::write(self.thing, WANT, &fields, &[]);
            out.send(Destination::Member(self.sites.first(site)), message);
        }
    }

    /// Orders what waits, if this member has the right to, and has applied what was ordered before.
    fn serve(&mut self, out: &mut Outbox) {
        let mut has_served = false;
        while self.sequencer.right == Some(self.next) {
            // A member's operations are ordered as it made them, whatever way they came.
            let is_next = |(writer, number): &(Rank, u64)| {
                self.ordered.get(writer).copied().unwrap_or(0) == *number
            };
            let Some(request) = self.sequencer.queue.keys().copied().find(is_next) else { break };
            let operation = self.sequencer.queue.remove(&request).unwrap_or_default();
            let fields = [self.next, u64::from(request.0.0)];
            out.send(Destination::All, Envelope::write(self.thing, ORDERED, &fields, &operation));
            self.sequencer.right = Some(self.next + 1);
            self.early.insert(self.next, (request.0, operation));
            self.apply();
            has_served = true;
            let site = self.sites.of(request.0);
            let (last, count) = self.sequencer.last;
            self.sequencer.last = (site, if last == site { count.saturating_add(1) } else { 1 });
        }
        if self.sequencer.queue.is_empty() {
            self.sequencer.has_asked = false;
        }
        let is_at_rest = self.sequencer.right == Some(self.next);
        if !self.has_tiers && is_at_rest && (has_served || self.is_wanted()) {
            self.pass_on(out);
        }
        if self.has_tiers && has_served {
            self.move_on(out);
        }
    }

    fn is_wanted(&self) -> bool {
        let Sequencer { wanted, given, .. } = &self.sequencer;
        wanted.iter().zip(given).any(|(wanted, given)| wanted > given)
    }

    /// Without tiers: it is the next site's turn.
    fn pass_on(&mut self, out: &mut Outbox) {
        let own = self.sites.of(self.own);
        let next = (own + 1) % self.sites.count();
        if next == own {
            return;
        }
        let Some(number) = self.sequencer.right.take() else { return };
        let fields: Vec<u64> =
            std::iter::once(number).chain(self.sequencer.given.clone()).collect();
        let message = Envelope::write(self.thing, TOKEN, &fields, &[]);
        out.send(Destination::Member(self.sites.first(next)), message);
    }

    /// With tiers: the sequencer moves to the site that writes.
    fn move_on(&mut self, out: &mut Outbox) {
        let (site, count) = self.sequencer.last;
        if site == self.sites.of(self.own) || count < MOVES_AFTER {
            return;
        }
        let Some(number) = self.sequencer.right.take() else { return };
        let to = self.sites.first(site);
        self.sequencer.known = to;
        self.sequencer.known_at = number;
        let message = Envelope::write(self.thing, TOKEN, &[number], &[]);
        out.send(Destination::Member(to), message);
        for (request, operation) in std::mem::take(&mut self.sequencer.queue) {
            self.pass_request(to, request, &operation, out);
        }
    }

    fn token(&mut self, number: u64, given: Vec<u64>, out: &mut Outbox) -> Result<()> {
        if self.sequencer.right.is_some() {
            return Err(malformed("two members have the right to order"));
        }
        let own = self.sites.of(self.own);
        self.sequencer.right = Some(number);
        self.sequencer.known = self.own;
        self.sequencer.known_at = number;
        self.sequencer.last = (own, 0);
        if !self.has_tiers {
            if given.len() != self.sequencer.given.len() {
                return Err(malformed("it is of another number of sites"));
            }
            self.sequencer.given = given;
            self.sequencer.given[own as usize] = self.sequencer.wanted[own as usize];
        }
        self.serve(out);
        Ok(())
    }

    /// What is next in order becomes due.
    fn apply(&mut self) {
        while let Some(operation) = self.early.remove(&self.next) {
            *self.ordered.entry(operation.0).or_default() += 1;
            self.due.push_back(operation);
            self.next += 1;
        }
    }

    fn member(&self, number: u64) -> Result<Rank> {
        let rank = u32::try_from(number).ok().filter(|rank| *rank < self.sites.members());
        rank.map(Rank).ok_or_else(|| malformed("there is no such member"))
    }
}

impl Engine for Replica {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        match kind {
            REQUEST => {
                let writer = self.member(content.number()?)?;
                let number = content.number()?;
                self.request((writer, number), content.rest().to_vec(), out);
            }
            ORDERED => {
                let number = content.number()?;
                let writer = self.member(content.number()?)?;
                // Requests go where the newest order came from: never back to an earlier sequencer.
                if self.sequencer.right.is_none() && number >= self.sequencer.known_at {
                    self.sequencer.known = from;
                    self.sequencer.known_at = number;
                }
                let operation = content.rest().to_vec();
                let is_new = number >= self.next;
                if !is_new || self.early.insert(number, (writer, operation)).is_some() {
                    return Err(malformed("a number of an order comes twice"));
                }
                self.apply();
                self.serve(out);
            }
            TOKEN => {
                let number = content.number()?;
                let mut given = Vec::new();
                while !content.is_empty() {
                    given.push(content.number()?);
                }
                self.token(number, given, out)?;
            }
            WANT => {
                let site = content.number()? as usize;
                let number = content.number()?;
                let wanted = self.sequencer.wanted.get_mut(site);
                let wanted = wanted.ok_or_else(|| malformed("there is no such site"))?;
                *wanted = number.max(*wanted);
                self.serve(out);
            }
            UNORDERED => self.due.push_back((from, content.rest().to_vec())),
            kind => return Err(unknown(kind)),
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
