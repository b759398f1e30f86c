//! When nothing is left: members say when they send no more, and are then counted until two counts in a
//! row are equal, and as many items were taken as sent (Mattern's four counters).

use std::collections::BTreeSet;

use farcall_base::Result;

use crate::bytes::{Reader, malformed};
use crate::{Destination, Envelope, Outbox, Rank, Sites, ThingNumber};

/// To the leader: this member sends no more.
const QUIET: u8 = 3;
/// To member 0: nor does any of this site.
const SITE_QUIET: u8 = 4;
/// To a site: all of it send no more.
const READY: u8 = 5;
/// From member 0 to leaders, and to their members: count.
const COUNT: u8 = 6;
/// To the leader: items sent and taken.
const COUNTED: u8 = 7;
/// To member 0: those of a site.
const SITE_COUNTED: u8 = 8;
/// To all: nothing is left.
const END: u8 = 9;

/// Sums of one count, as they come in.
#[derive(Debug, Default)]
struct Sums {
    heard: BTreeSet<Rank>,
    sent: u64,
    received: u64,
}

impl Sums {
    fn add(&mut self, from: Rank, sent: u64, received: u64) -> usize {
        if self.heard.insert(from) {
            self.sent += sent;
            self.received += received;
        }
        self.heard.len()
    }
}

/// One member's part of it. Without tiers member 0 leads all; else each site has a leader, and member 0
/// leads those.
pub(super) struct Counting {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    has_tiers: bool,
    /// Items that this member has sent and taken.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// How many ends this member has begun to wait for, how often its site was ready, and how many ends
    /// there were.
    begun: u64,
    ready: u64,
    pub(super) ended: u64,
    /// At a leader: who sends no more, and the count of the members.
    quiet: BTreeSet<Rank>,
    members: Sums,
    /// At member 0: the leaders that are ready, their count, and the count before.
    leaders: BTreeSet<Rank>,
    all: Sums,
    before: Option<(u64, u64)>,
    wave: u64,
    /// A count that is answered when all items that are here were taken.
    asked: Option<u64>,
}

impl Counting {
    pub(super) fn new(thing: ThingNumber, own: Rank, sites: Sites, has_tiers: bool) -> Counting {
        Counting {
            thing,
            own,
            sites,
            has_tiers,
            sent: 0,
            received: 0,
            begun: 0,
            ready: 0,
            ended: 0,
            quiet: BTreeSet::new(),
            members: Sums::default(),
            leaders: BTreeSet::new(),
            all: Sums::default(),
            before: None,
            wave: 0,
            asked: None,
        }
    }

    pub(super) fn has(kind: u8) -> bool {
        (QUIET..=END).contains(&kind)
    }

    /// Whether this member's program waits for the end.
    pub(super) fn is_quiet(&self) -> bool {
        self.begun > self.ended
    }

    /// Whether all of its site do.
    pub(super) fn is_site_quiet(&self) -> bool {
        self.ready > self.ended
    }

    /// The program waits for the end; gives its number.
    pub(super) fn begin(&mut self, out: &mut Outbox) -> u64 {
        let number = self.begun;
        self.begun += 1;
        match self.leader() == self.own {
            true => self.is_quiet_now(self.own, out),
            false => self.send(QUIET, &[number], self.leader(), out),
        }
        number
    }

    /// Answers a count when nothing is left to take.
    pub(super) fn go_on(&mut self, out: &mut Outbox) {
        // A member that is alone begins the next count by its answer.
        while let Some(wave) = self.asked.take() {
            match self.leader() == self.own {
                true => self.counted(self.own, wave, (self.sent, self.received), out),
                false => self.send(COUNTED, &[wave, self.sent, self.received], self.leader(), out),
            }
        }
    }

    fn leader(&self) -> Rank {
        if self.has_tiers { self.sites.first(self.sites.of(self.own)) } else { Rank(0) }
    }

    /// How many this leader leads, itself included.
    fn led(&self) -> usize {
        match self.has_tiers {
            true => self.sites.size(self.sites.of(self.own)) as usize,
            false => self.sites.members() as usize,
        }
    }

    fn leaders_count(&self) -> usize {
        if self.has_tiers { self.sites.count() as usize } else { 1 }
    }

    fn send(&self, kind: u8, fields: &[u64], to: Rank, out: &mut Outbox) {
        let message = Envelope::write(self.thing, kind, fields, &[]);
        out.send(Destination::Member(to), message);
    }

    /// To all that this leader leads, but itself.
    fn tell(&self, kind: u8, fields: &[u64], out: &mut Outbox) {
        if !self.has_tiers {
            let others = self.sites.all().filter(|rank| *rank != self.own);
            return others.for_each(|rank| self.send(kind, fields, rank, out));
        }
        let site = self.sites.of(self.own);
        if self.sites.size(site) > 1 {
            let message = Envelope::write(self.thing, kind, fields, &[]);
            out.send(Destination::Site(site), message);
        }
    }

    /// From member 0 to the other leaders.
    fn tell_leaders(&self, kind: u8, fields: &[u64], out: &mut Outbox) {
        let count = self.leaders_count() as u32;
        for site in 1..count {
            self.send(kind, fields, self.sites.first(site), out);
        }
    }

    /// A leader hears that a member sends no more.
    fn is_quiet_now(&mut self, from: Rank, out: &mut Outbox) {
        self.quiet.insert(from);
        if self.quiet.len() < self.led() {
            return;
        }
        self.quiet.clear();
        self.ready = self.ended + 1;
        self.tell(READY, &[self.ready], out);
        match self.own == Rank(0) {
            true => self.is_site_quiet_now(self.own, out),
            false => self.send(SITE_QUIET, &[], Rank(0), out),
        }
    }

    /// Member 0 hears that a site sends no more.
    fn is_site_quiet_now(&mut self, from: Rank, out: &mut Outbox) {
        self.leaders.insert(from);
        if self.leaders.len() == self.leaders_count() {
            self.leaders.clear();
            self.before = None;
            self.count(out);
        }
    }

    /// Member 0 begins the next count.
    fn count(&mut self, out: &mut Outbox) {
        self.wave += 1;
        self.all = Sums::default();
        self.tell_leaders(COUNT, &[self.wave], out);
        self.count_members(self.wave, out);
    }

    /// A leader counts its members.
    fn count_members(&mut self, wave: u64, out: &mut Outbox) {
        self.members = Sums::default();
        self.tell(COUNT, &[wave], out);
        self.asked = Some(wave);
    }

    /// A leader hears of a member.
    fn counted(&mut self, from: Rank, wave: u64, (sent, received): (u64, u64), out: &mut Outbox) {
        if self.members.add(from, sent, received) < self.led() {
            return;
        }
        let sums = (self.members.sent, self.members.received);
        match self.own == Rank(0) {
            true => self.site_counted(self.own, sums, out),
            false => self.send(SITE_COUNTED, &[wave, sums.0, sums.1], Rank(0), out),
        }
    }

    /// Member 0 hears of a site.
    fn site_counted(&mut self, from: Rank, (sent, received): (u64, u64), out: &mut Outbox) {
        if self.all.add(from, sent, received) < self.leaders_count() {
            return;
        }
        let now = (self.all.sent, self.all.received);
        let is_over = now.0 == now.1 && self.before == Some(now);
        self.before = Some(now);
        if !is_over {
            return self.count(out);
        }
        self.ended += 1;
        out.send(Destination::All, Envelope::write(self.thing, END, &[self.ended], &[]));
    }

    pub(super) fn take(
        &mut self,
        from: Rank,
        kind: u8,
        mut content: Reader<'_>,
        out: &mut Outbox,
    ) -> Result<()> {
        let mut fields = [0; 3];
        for field in &mut fields {
            if !content.is_empty() {
                *field = content.number()?;
            }
        }
        let [first, sent, received] = fields;
        let is_root = self.own == Rank(0);
        let is_leader = self.leader() == self.own;
        match kind {
            QUIET if is_leader => self.is_quiet_now(from, out),
            SITE_QUIET if is_root => self.is_site_quiet_now(from, out),
            READY => self.ready = first,
            COUNT if is_leader => self.count_members(first, out),
            COUNT => self.asked = Some(first),
            COUNTED if is_leader => self.counted(from, first, (sent, received), out),
            SITE_COUNTED if is_root => self.site_counted(from, (sent, received), out),
            END => self.ended = first,
            _ => return Err(malformed("it is not for this member")),
        }
        Ok(())
    }
}
