//! The best value that any member has found (spec/wide-area.md, section 7).

use farcall_base::{Error, ErrorKind, Result};

use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Element, Engine, Envelope, Fold, Outbox, Rank, Sites, ThingNumber};

/// A value that a member has found.
const FOUND: u8 = 0;
/// The best one so far.
const BEST: u8 = 1;

/// One value that only becomes better: smaller, or greater. What a member reads may be old, and is
/// never better than what was found.
#[derive(Debug)]
pub struct Bound {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    has_tiers: bool,
    element: Element,
    fold: Fold,
    best: [u8; 8],
}

impl Bound {
    /// One that begins with a value at all members. `fold` is `Min` or `Max`.
    pub fn new(
        (thing, own): (ThingNumber, Rank),
        (sites, has_tiers): (Sites, bool),
        (element, fold): (Element, Fold),
        start: [u8; 8],
    ) -> Bound {
        Bound { thing, own, sites, has_tiers, element, fold, best: start }
    }

    /// The best value that is known here.
    pub fn best(&self) -> [u8; 8] {
        self.best
    }

    /// This member has found a value; says whether it is better than what was known here.
    ///
    /// # Errors
    /// `InvalidArgument` for NaN.
    pub fn offer(&mut self, value: [u8; 8], out: &mut Outbox) -> Result<bool> {
        if !self.improve(value)? {
            return Ok(false);
        }
        let leader = self.leader();
        match leader == self.own {
            true => self.spread(out),
            false => self.send(FOUND, Destination::Member(leader), out),
        }
        Ok(true)
    }

    /// Takes a value if it is better.
    fn improve(&mut self, value: [u8; 8]) -> Result<bool> {
        if self.element == Element::F64 && f64::from_le_bytes(value).is_nan() {
            return Err(Error::new(ErrorKind::InvalidArgument, "offer a value", "it is NaN")
                .fix("offer numbers alone: NaN is neither smaller nor greater than another one"));
        }
        let mut best = self.best;
        self.fold.fold(self.element, &mut best, &value)?;
        let is_better = best != self.best;
        self.best = best;
        Ok(is_better)
    }

    /// Who tells others of what this member finds: the first member of all, or of the site.
    fn leader(&self) -> Rank {
        if self.has_tiers { self.sites.first(self.sites.of(self.own)) } else { Rank(0) }
    }

    /// A leader tells others of the best value: with tiers the leaders of other sites, which tell theirs.
    fn spread(&self, out: &mut Outbox) {
        if !self.has_tiers {
            let others = self.sites.all().filter(|rank| *rank != self.own);
            return others.for_each(|rank| self.send(BEST, Destination::Member(rank), out));
        }
        let own = self.sites.of(self.own);
        for site in (0..self.sites.count()).filter(|site| *site != own) {
            self.send(BEST, Destination::Site(site), out);
        }
        if self.sites.size(own) > 1 {
            self.send(BEST, Destination::Site(own), out);
        }
    }

    fn send(&self, kind: u8, to: Destination, out: &mut Outbox) {
        out.send(to, Envelope::write(self.thing, kind, &[], &self.best));
    }
}

impl Engine for Bound {
    fn take(&mut self, _: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, content, .. } = message;
        let value = content.rest().try_into();
        let value = value.map_err(|_| malformed("a value has eight bytes"))?;
        let is_better = self.improve(value)?;
        match kind {
            FOUND if self.leader() != self.own => Err(malformed("it is for a leader")),
            FOUND if is_better => {
                self.spread(out);
                Ok(())
            }
            FOUND | BEST => Ok(()),
            kind => Err(unknown(kind)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(sites: &str, has_tiers: bool) -> Vec<Bound> {
        let sites = Sites::read(sites).unwrap();
        let kind = (Element::I64, Fold::Min);
        let one = |own| {
            let thing = (ThingNumber::of("shortest"), own);
            Bound::new(thing, (sites.clone(), has_tiers), kind, 100i64.to_le_bytes())
        };
        sites.all().map(one).collect()
    }

    /// Delivers until nothing travels; how many messages passed links, one per site.
    fn settle(all: &mut [Bound], from: Rank, mut out: Outbox) -> usize {
        let sites = all[0].sites.clone();
        let mut between = 0;
        let mut travel: Vec<_> = out.take().map(|sent| (from, sent)).collect();
        while let Some((from, (to, bytes))) = travel.pop() {
            let to: Vec<Rank> = match to {
                Destination::Member(rank) => vec![rank],
                Destination::Site(site) => sites.ranks(site).filter(|to| *to != from).collect(),
                Destination::All => unreachable!("no bound does"),
            };
            between += usize::from(!sites.are_together(from, to[0]));
            for to in to {
                let message = Envelope::read(&bytes).unwrap();
                all[to.0 as usize].take(from, message, &mut out).unwrap();
                travel.extend(out.take().map(|sent| (to, sent)));
            }
        }
        between
    }

    #[test]
    fn everybody_hears_of_what_is_better_and_of_nothing_else() {
        for (has_tiers, passed) in [(false, [3, 4]), (true, [2, 2])] {
            let mut members = all("2+1+3", has_tiers);
            let mut offer = |rank: u32, value: i64| {
                let mut out = Outbox::new();
                members[rank as usize].offer(value.to_le_bytes(), &mut out).unwrap();
                let between = settle(&mut members, Rank(rank), out);
                let known = members.iter().map(|one| i64::from_le_bytes(one.best()));
                (between, known.collect::<Vec<_>>())
            };
            assert_eq!(offer(4, 50).1, [50; 6]);
            assert_eq!(offer(1, 60), (0, vec![50; 6]), "it is worse");
            let (between, known) = offer(1, 40);
            assert_eq!(known, [40; 6]);
            assert!(between == passed[0] || between == passed[1], "{between} with {has_tiers}");
        }
    }

    #[test]
    fn nan_is_refused() {
        let thing = (ThingNumber::of("x"), Rank(0));
        let sites = Sites::new(&[1]).unwrap();
        let kind = (Element::F64, Fold::Max);
        let mut bound = Bound::new(thing, (sites, false), kind, 1f64.to_le_bytes());
        assert!(bound.offer(f64::NAN.to_le_bytes(), &mut Outbox::new()).is_err());
        assert_eq!(bound.best(), 1f64.to_le_bytes());
    }
}
