//! What all members do together (spec/wide-area.md, section 5).

use std::collections::BTreeMap;

use farcall_base::{Error, ErrorKind, Result};

use crate::bytes::{Reader, Writer, malformed};
use crate::mail::unknown;
use crate::{Destination, Element, Engine, Envelope, Fold, Outbox, Rank, Sites, ThingNumber};

const UP: u8 = 0;
const DOWN: u8 = 1;
/// Rounds that others may be ahead.
const AHEAD_MAX: u64 = 1 << 20;

/// One thing that all members do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// All have the root's bytes.
    Broadcast(Rank),
    /// The root has the members' numbers, combined.
    Reduce(Rank, Element, Fold),
    /// All have them.
    AllReduce(Element, Fold),
    /// The root has the bytes of each member.
    Gather(Rank),
    /// All have them.
    AllGather,
}

impl Job {
    /// Nobody goes on before all have come.
    pub const BARRIER: Job = Job::AllReduce(Element::U64, Fold::Sum);

    fn root(self) -> Rank {
        match self {
            Job::Broadcast(root) | Job::Reduce(root, ..) | Job::Gather(root) => root,
            Job::AllReduce(..) | Job::AllGather => Rank(0),
        }
    }

    fn has_up(self) -> bool {
        !matches!(self, Job::Broadcast(_))
    }

    fn has_down(self) -> bool {
        !matches!(self, Job::Reduce(..) | Job::Gather(_))
    }

    fn fold(self) -> Option<(Element, Fold)> {
        match self {
            Job::Reduce(_, element, fold) | Job::AllReduce(element, fold) => Some((element, fold)),
            _ => None,
        }
    }

    fn code(self) -> [u64; 2] {
        let kind = match self {
            Job::Broadcast(_) => 0,
            Job::Reduce(..) => 1,
            Job::AllReduce(..) => 2,
            Job::Gather(_) => 3,
            Job::AllGather => 4,
        };
        let of_fold = self.fold().map_or(0, |(element, fold)| element.code() | fold.code() << 4);
        [kind | of_fold << 4, u64::from(self.root().0)]
    }

    fn read(content: &mut Reader<'_>, members: u32) -> Result<Job> {
        let code = content.number()?;
        let root = Rank(content.small()?);
        let element = Element::from_code(code >> 4 & 0xf);
        let fold = Fold::from_code(code >> 8);
        let job = match (code & 0xf, element, fold) {
            (0, ..) => Some(Job::Broadcast(root)),
            (1, Some(element), Some(fold)) => Some(Job::Reduce(root, element, fold)),
            (2, Some(element), Some(fold)) => Some(Job::AllReduce(element, fold)),
            (3, ..) => Some(Job::Gather(root)),
            (4, ..) => Some(Job::AllGather),
            _ => None,
        };
        job.filter(|job| job.code() == [code, u64::from(root.0)] && root.0 < members)
            .ok_or_else(|| malformed("it is of an unknown operation"))
    }

    /// Both as one: numbers combined, or bytes of one member behind those of others.
    fn join(self, all: &mut Vec<u8>, other: &[u8]) -> Result<()> {
        match self.fold() {
            Some((element, fold)) => fold.fold(element, all, other),
            None => {
                all.extend_from_slice(other);
                Ok(())
            }
        }
    }
}

/// One operation until this member has its result.
#[derive(Debug)]
struct Round {
    job: Job,
    has_begun: bool,
    /// What this member was given by the members of its site, or by all.
    given: BTreeMap<Rank, Vec<u8>>,
    /// What sites have given in all.
    sites: BTreeMap<u32, Vec<u8>>,
    result: Option<Vec<u8>>,
}

/// The operations of all members, in their order.
#[derive(Debug)]
pub struct Collectives {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    has_tiers: bool,
    /// The number of the next one that this member begins.
    next: u64,
    rounds: BTreeMap<u64, Round>,
}

impl Collectives {
    /// Those of a member.
    pub fn new(thing: ThingNumber, own: Rank, sites: Sites, has_tiers: bool) -> Collectives {
        Collectives { thing, own, sites, has_tiers, next: 0, rounds: BTreeMap::new() }
    }

    /// Begins the next operation with what this member gives; what it is not asked for is not looked at.
    /// Gives its number.
    ///
    /// # Errors
    /// `InvalidArgument` where members began different operations, or with different lengths; a root
    /// that is no member.
    pub fn begin(&mut self, job: Job, given: Vec<u8>, out: &mut Outbox) -> Result<u64> {
        if job.root().0 >= self.sites.members() {
            return Err(wrong("there is no such member").with("root", job.root().0));
        }
        let number = self.next;
        let round = self.rounds.entry(number).or_insert_with(|| Round::new(job));
        if round.job != job {
            let both = [round.job, job].map(|job| format!("{job:?}"));
            return Err(wrong("members began different operations")
                .with("others", &both[0])
                .with("this member", &both[1])
                .fix("call the same operations at all members, in the same order"));
        }
        round.has_begun = true;
        self.next += 1;
        if !job.has_up() {
            if self.own == job.root() {
                self.send_down(number, job, &given, out);
                self.end(number, given);
            }
            return Ok(number);
        }
        let given = match job.fold() {
            Some(_) => given,
            None => entry(self.own, &given),
        };
        self.give(number, self.own, given, out)?;
        Ok(number)
    }

    /// The result of an operation, when it has one here: bytes; numbers; or, for a gather, the bytes of
    /// all members ([`Collectives::parts`]). Members that get none have an empty one.
    pub fn result(&mut self, number: u64) -> Option<Vec<u8>> {
        self.rounds.get(&number).filter(|round| round.has_begun && round.result.is_some())?;
        self.rounds.remove(&number)?.result
    }

    /// The parts of what a gather gave, by rank.
    ///
    /// # Errors
    /// `Protocol`.
    pub fn parts(gathered: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut reader = Reader::new(gathered);
        let mut parts = Vec::new();
        while !reader.is_empty() {
            if reader.number()? != parts.len() as u64 {
                return Err(malformed("the parts of a gather are not in order"));
            }
            let length = usize::try_from(reader.number()?).unwrap_or(usize::MAX);
            parts.push(reader.raw(length)?.to_vec());
        }
        Ok(parts)
    }

    /// Members that an operation waits for here: of those that send to this one.
    pub fn missing(&self, number: u64) -> Vec<Rank> {
        let Some(round) = self.rounds.get(&number) else { return Vec::new() };
        let job = round.job;
        if job.has_up() && self.own == self.collector(job, self.own) {
            let from = self.sites.all().filter(|rank| self.collector(job, *rank) == self.own);
            return from.filter(|rank| !round.given.contains_key(rank)).collect();
        }
        vec![job.root()]
    }

    /// The member that a part goes to.
    fn collector(&self, job: Job, rank: Rank) -> Rank {
        let root = job.root();
        match !self.has_tiers || self.sites.are_together(rank, root) {
            true => root,
            false => self.sites.first(self.sites.of(rank)),
        }
    }

    /// A member's part has come, or is this one's own.
    fn give(&mut self, number: u64, from: Rank, given: Vec<u8>, out: &mut Outbox) -> Result<()> {
        let Some(round) = self.rounds.get_mut(&number) else { return Ok(()) };
        let job = round.job;
        let collector = self.collector(job, from);
        if collector != self.own {
            // Only the own part goes on as it is.
            self.send(number, UP, job, Destination::Member(collector), &given, out);
            if !job.has_down() {
                self.end(number, Vec::new());
            }
            return Ok(());
        }
        let round = self.rounds.get_mut(&number).expect("it was there above");
        if round.given.insert(from, given).is_some() {
            return Err(malformed("a member gives its part twice").with("member", from.0));
        }
        self.join_site(number, self.sites.of(from), out)
    }

    /// When all of a site have given their parts, they become one, in the order of ranks.
    fn join_site(&mut self, number: u64, site: u32, out: &mut Outbox) -> Result<()> {
        let Some(round) = self.rounds.get_mut(&number) else { return Ok(()) };
        let job = round.job;
        if !self.sites.ranks(site).all(|rank| round.given.contains_key(&rank)) {
            return Ok(());
        }
        let mut parts = self.sites.ranks(site).filter_map(|rank| round.given.remove(&rank));
        let mut all = parts.next().unwrap_or_default();
        parts.try_for_each(|part| job.join(&mut all, &part))?;
        if self.own != job.root() {
            self.send(number, UP, job, Destination::Member(job.root()), &all, out);
            if !job.has_down() {
                self.end(number, Vec::new());
            }
            return Ok(());
        }
        self.join_all(number, site, all, out)
    }

    /// When all sites have given theirs, they become the result, in the order of sites.
    fn join_all(&mut self, number: u64, site: u32, all: Vec<u8>, out: &mut Outbox) -> Result<()> {
        let Some(round) = self.rounds.get_mut(&number) else { return Ok(()) };
        let job = round.job;
        if round.sites.insert(site, all).is_some() {
            return Err(malformed("a site gives its part twice").with("site", site));
        }
        if round.sites.len() < self.sites.count() as usize {
            return Ok(());
        }
        let mut parts = std::mem::take(&mut round.sites).into_values();
        let mut all = parts.next().unwrap_or_default();
        parts.try_for_each(|part| job.join(&mut all, &part))?;
        if job.has_down() {
            self.send_down(number, job, &all, out);
        }
        self.end(number, all);
        Ok(())
    }

    fn send_down(&self, number: u64, job: Job, result: &[u8], out: &mut Outbox) {
        if !self.has_tiers {
            for rank in self.sites.all().filter(|rank| *rank != self.own) {
                self.send(number, DOWN, job, Destination::Member(rank), result, out);
            }
            return;
        }
        // Those far away first: theirs takes longest.
        let own = self.sites.of(self.own);
        let others = (0..self.sites.count()).filter(|site| *site != own);
        for site in others.chain(Some(own).filter(|own| self.sites.size(*own) > 1)) {
            self.send(number, DOWN, job, Destination::Site(site), result, out);
        }
    }

    fn send(
        &self,
        number: u64,
        kind: u8,
        job: Job,
        to: Destination,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        let [code, root] = job.code();
        out.send(to, Envelope::write(self.thing, kind, &[number, code, root], bytes));
    }

    fn end(&mut self, number: u64, result: Vec<u8>) {
        if let Some(round) = self.rounds.get_mut(&number) {
            round.result = Some(result);
        }
    }
}

impl Round {
    fn new(job: Job) -> Round {
        let given = BTreeMap::new();
        Round { job, has_begun: false, given, sites: BTreeMap::new(), result: None }
    }
}

impl Engine for Collectives {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        let number = content.number()?;
        let job = Job::read(&mut content, self.sites.members())?;
        let has_ended = number < self.next && !self.rounds.contains_key(&number);
        if has_ended || number > self.next.saturating_add(AHEAD_MAX) {
            return Err(malformed("it is of an operation that has ended").with("operation", number));
        }
        let round = self.rounds.entry(number).or_insert_with(|| Round::new(job));
        if round.job != job {
            return Err(wrong("members began different operations")
                .with("this member", format!("{:?}", round.job))
                .with("another one", format!("{job:?}"))
                .with("member", from.0)
                .fix("call the same operations at all members, in the same order"));
        }
        let bytes = content.rest().to_vec();
        match kind {
            UP if self.collector(job, from) == self.own => self.give(number, from, bytes, out),
            UP if self.own == job.root() => self.join_all(number, self.sites.of(from), bytes, out),
            DOWN if from == job.root() => {
                self.end(number, bytes);
                Ok(())
            }
            UP | DOWN => Err(malformed("it is not for this member")),
            kind => Err(unknown(kind)),
        }
    }
}

/// A member's part of a gather.
fn entry(rank: Rank, given: &[u8]) -> Vec<u8> {
    let mut writer = Writer::with_room(given.len() + 8);
    writer.number(u64::from(rank.0));
    writer.number(given.len() as u64);
    writer.raw(given);
    writer.finish()
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "do something together", message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
