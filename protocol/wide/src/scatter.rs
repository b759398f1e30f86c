//! Small messages from anybody to owners, combined on the way, and their end (spec/wide-area.md,
//! section 12).

mod counting;

use std::collections::{BTreeMap, VecDeque};

use farcall_base::{Error, ErrorKind, Result};

use crate::bytes::{Reader, Writer, malformed};
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};
use counting::Counting;

/// Items for the receiver.
const ITEMS: u8 = 0;
/// To a combiner of the own site: items for members of another one.
const PASS: u8 = 1;
/// To a member of another site: items for members of its site.
const BATCH: u8 = 2;

/// Bytes of items that go as one message: without tiers, for a member of the own site, to a combiner,
/// and from site to site.
const PLAIN_BYTES: usize = 16;
const NEAR_BYTES: usize = 1 << 10;
const PASSED_BYTES: usize = 1 << 10;
const FAR_BYTES: usize = 16 << 10;
/// Bytes that one item may have.
const ITEM_BYTES_MAX: usize = 64 << 10;

/// Small messages of one thing at one member.
pub struct Scatter {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    has_tiers: bool,
    /// Items that this member owns, and has not taken yet.
    due: VecDeque<Vec<u8>>,
    /// For members: without tiers for all, else for those of the own site.
    near: BTreeMap<Rank, Writer>,
    /// For combiners, by the other site.
    passed: BTreeMap<u32, Writer>,
    /// At a combiner, by the other site.
    far: BTreeMap<u32, Writer>,
    counting: Counting,
}

impl Scatter {
    /// That of a member.
    pub fn new(thing: ThingNumber, own: Rank, sites: Sites, has_tiers: bool) -> Scatter {
        Scatter {
            thing,
            own,
            due: VecDeque::new(),
            near: BTreeMap::new(),
            passed: BTreeMap::new(),
            far: BTreeMap::new(),
            counting: Counting::new(thing, own, sites.clone(), has_tiers),
            sites,
            has_tiers,
        }
    }

    /// Sends an item to its owner, maybe this member.
    ///
    /// # Errors
    /// `InvalidArgument` for an owner that is no member, and an item of more than 64 KiB.
    pub fn send(&mut self, owner: Rank, item: &[u8], out: &mut Outbox) -> Result<()> {
        if owner.0 >= self.sites.members() || item.len() > ITEM_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "scatter an item",
                "the owner is no member, or the item has more than 64 KiB",
            )
            .with("owner", owner.0)
            .with("bytes", item.len()));
        }
        self.counting.sent += 1;
        self.forward(owner, item, out);
        Ok(())
    }

    /// The next item that this member owns.
    pub fn next_due(&mut self) -> Option<Vec<u8>> {
        let item = self.due.pop_front()?;
        self.counting.received += 1;
        Some(item)
    }

    /// This member sends no more but what follows from items that come: the number of the end that it
    /// waits for.
    pub fn quiesce(&mut self, out: &mut Outbox) -> u64 {
        self.flush(out);
        self.counting.begin(out)
    }

    /// Whether every item was taken by its owner, and none follows.
    pub fn is_quiescent(&self, number: u64) -> bool {
        self.counting.ended > number
    }

    /// After items were taken: what follows from them goes on at once where nothing else would send it.
    pub fn settle(&mut self, out: &mut Outbox) {
        if self.counting.is_quiet() {
            self.flush(out);
        }
        self.counting.go_on(out);
    }

    /// On its way to its owner.
    fn forward(&mut self, owner: Rank, item: &[u8], out: &mut Outbox) {
        if owner == self.own {
            return self.due.push_back(item.to_vec());
        }
        let site = self.sites.of(owner);
        if !self.has_tiers || site == self.sites.of(self.own) {
            let most = if self.has_tiers { NEAR_BYTES } else { PLAIN_BYTES };
            let writer = self.near.entry(owner).or_default();
            writer.number(item.len() as u64);
            writer.raw(item);
            if writer.len() >= most {
                self.flush_near(owner, out);
            }
            return;
        }
        let is_combiner = self.combiner(site) == self.own;
        let (place, most) = match is_combiner {
            true => (&mut self.far, FAR_BYTES),
            false => (&mut self.passed, PASSED_BYTES),
        };
        let writer = place.entry(site).or_default();
        writer.number(u64::from(owner.0));
        writer.number(item.len() as u64);
        writer.raw(item);
        if writer.len() >= most {
            self.flush_to_site(site, is_combiner, out);
        }
    }

    /// The member of this site that combines what goes to another one, and the one there that takes it.
    fn combiner(&self, site: u32) -> Rank {
        self.between(self.sites.of(self.own), site)
    }

    fn between(&self, at: u32, other: u32) -> Rank {
        Rank(self.sites.first(at).0 + other % self.sites.size(at))
    }

    fn flush_near(&mut self, owner: Rank, out: &mut Outbox) {
        let Some(writer) = self.near.remove(&owner) else { return };
        let message = Envelope::write(self.thing, ITEMS, &[], &writer.finish());
        out.send(Destination::Member(owner), message);
    }

    fn flush_to_site(&mut self, site: u32, is_far: bool, out: &mut Outbox) {
        let place = if is_far { &mut self.far } else { &mut self.passed };
        let Some(writer) = place.remove(&site) else { return };
        let (kind, to) = match is_far {
            true => (BATCH, self.between(site, self.sites.of(self.own))),
            false => (PASS, self.combiner(site)),
        };
        let message = Envelope::write(self.thing, kind, &[], &writer.finish());
        out.send(Destination::Member(to), message);
    }

    /// Sends what waits for more; between sites only when the whole site sends no more.
    fn flush(&mut self, out: &mut Outbox) {
        for owner in self.near.keys().copied().collect::<Vec<_>>() {
            self.flush_near(owner, out);
        }
        for site in self.passed.keys().copied().collect::<Vec<_>>() {
            self.flush_to_site(site, false, out);
        }
        if self.counting.is_site_quiet() {
            for site in self.far.keys().copied().collect::<Vec<_>>() {
                self.flush_to_site(site, true, out);
            }
        }
    }

    fn take_items(&mut self, mut content: Reader<'_>) -> Result<()> {
        while !content.is_empty() {
            let length = content.small()? as usize;
            self.due.push_back(content.raw(length)?.to_vec());
        }
        Ok(())
    }

    fn take_passed(&mut self, mut content: Reader<'_>, out: &mut Outbox) -> Result<()> {
        while !content.is_empty() {
            let owner = Rank(content.small()?);
            let length = content.small()? as usize;
            let item = content.raw(length)?;
            if owner.0 >= self.sites.members() {
                return Err(malformed("the owner of an item is no member"));
            }
            self.forward(owner, item, out);
        }
        Ok(())
    }
}

impl Engine for Scatter {
    /// [`Scatter::settle`] is to be called when the items were taken.
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, content, .. } = message;
        match kind {
            ITEMS => self.take_items(content),
            PASS | BATCH => self.take_passed(content, out),
            kind if Counting::has(kind) => self.counting.take(from, kind, content, out),
            kind => Err(unknown(kind)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
