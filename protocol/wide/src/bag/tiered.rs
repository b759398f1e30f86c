//! A queue of each member, a pool of each site at its first member, and sites that ask one another.
//!
//! A member without jobs tells its pool. The pool gives what it has; it asks the members of its site
//! for what they can spare, and one other site, while the others of its own site work on. A site
//! that has none to give remembers who asked. The first pool finds the end by two equal counts.

use std::collections::VecDeque;

use farcall_base::Result;

use super::{Jobs, Queues, older_half, read_jobs, with_jobs};
use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// To a pool: this member has no job.
const HUNGRY: u8 = 0;
/// Jobs: to a member, to a pool from a member, or to a pool from another site.
const JOBS: u8 = 1;
/// To the members of a site: who has jobs to spare gives some to the pool.
const SPARE: u8 = 2;
/// To another pool: a site has hungry members.
const WANT: u8 = 3;
/// To another pool: jobs come when there are some again.
const LATER: u8 = 4;
/// To the first pool: all members are hungry; jobs sent to other sites, and received from them.
const IDLE: u8 = 5;
/// From the first pool: how is it now?
const COUNT: u8 = 6;
/// To the first pool: whether all are hungry; jobs sent to other sites, and received from them.
const COUNTED: u8 = 7;
/// No job is left.
const END: u8 = 8;

/// What the first pool knows of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    is_idle: bool,
    sent: u64,
    received: u64,
}

/// What the pool of a site knows.
struct Pool {
    /// Members without jobs, in the order of asking.
    hungry: VecDeque<Rank>,
    /// Sites that want jobs.
    wanting: VecDeque<u32>,
    /// Whether members were asked for what they can spare, and have not given any since.
    has_asked: bool,
    /// The site whose answer is awaited, and those that remember this one.
    asked: Option<u32>,
    remembered_by: Vec<bool>,
    sent: u64,
    received: u64,
    /// What was told to the first pool last.
    told: Option<(u64, u64)>,
    /// At the first pool.
    known: Vec<Known>,
    count: Option<(u32, [u64; 2])>,
}

pub(super) struct Tiered {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    queue: VecDeque<Vec<u8>>,
    /// Whether the oldest job is taken first, and not the newest.
    is_in_order: bool,
    /// Whether it has told its pool that it has no job.
    is_hungry: bool,
    /// Whether its pool wants what it can spare.
    is_asked: bool,
    has_ended: bool,
    pool: Option<Pool>,
}

impl Tiered {
    pub(super) fn new(thing: ThingNumber, own: Rank, sites: Sites, queues: Queues) -> Tiered {
        let count = sites.count() as usize;
        let is_first = sites.first(sites.of(own)) == own;
        let pool = is_first.then(|| Pool {
            hungry: VecDeque::new(),
            wanting: VecDeque::new(),
            has_asked: false,
            asked: None,
            remembered_by: vec![false; count],
            sent: 0,
            received: 0,
            told: None,
            known: vec![Known::default(); count],
            count: None,
        });
        Tiered {
            thing,
            own,
            sites,
            queue: VecDeque::new(),
            is_in_order: queues == Queues::Central,
            is_hungry: false,
            is_asked: false,
            has_ended: false,
            pool,
        }
    }

    fn site(&self) -> u32 {
        self.sites.of(self.own)
    }

    fn first(&self) -> Rank {
        self.sites.first(self.site())
    }

    fn send(&self, kind: u8, fields: &[u64], to: Destination, out: &mut Outbox) {
        out.send(to, Envelope::write(self.thing, kind, fields, &[]));
    }

    fn send_jobs(&self, to: Rank, jobs: &[Vec<u8>], out: &mut Outbox) {
        out.send(Destination::Member(to), with_jobs(self.thing, JOBS, &[], jobs));
    }

    /// A pool gives each other site its share of many new jobs at once, by its members; keeps the others.
    fn split(&mut self, mut jobs: Vec<Vec<u8>>, out: &mut Outbox) -> Vec<Vec<u8>> {
        let members = self.sites.members() as usize;
        if self.pool.is_none() || jobs.len() < members {
            return jobs;
        }
        let own = self.site();
        // As cards are dealt: each site gets first ones and last ones.
        let mut kept = Vec::new();
        let mut dealt: Vec<Vec<Vec<u8>>> = vec![Vec::new(); self.sites.count() as usize];
        for (place, job) in jobs.drain(..).enumerate() {
            let site = self.sites.of(Rank((place % members) as u32));
            if site == own { &mut kept } else { &mut dealt[site as usize] }.push(job);
        }
        for (site, jobs) in dealt.iter().enumerate().filter(|(_, jobs)| !jobs.is_empty()) {
            if let Some(pool) = &mut self.pool {
                pool.sent += jobs.len() as u64;
            }
            self.send_jobs(self.sites.first(site as u32), jobs, out);
        }
        kept
    }

    /// A member gives its pool what it can spare, if that wants some.
    fn spare(&mut self, out: &mut Outbox) {
        if self.is_asked && self.queue.len() > 1 && self.pool.is_none() {
            self.is_asked = false;
            let jobs = older_half(&mut self.queue);
            self.send_jobs(self.first(), &jobs, out);
        }
    }

    /// A pool gives jobs to those that want some, nearest first, and asks for more.
    fn serve(&mut self, out: &mut Outbox) {
        let Some(mut pool) = self.pool.take() else { return };
        // A pool's own program keeps one job to go on with.
        let keeps = usize::from(!self.is_hungry && !pool.hungry.contains(&self.own));
        while self.queue.len() > keeps {
            let Some(rank) = pool.hungry.pop_front() else { break };
            if rank == self.own {
                // It takes them from here.
                self.is_hungry = false;
                break;
            }
            // What is there is shared by all that wait, and by the pool's own program.
            let share = (self.queue.len() / (pool.hungry.len() + 2)).max(1);
            let jobs: Vec<Vec<u8>> = self.queue.drain(..share).collect();
            self.send_jobs(rank, &jobs, out);
        }
        while self.queue.len() > 1 && pool.hungry.is_empty() {
            let Some(site) = pool.wanting.pop_front() else { break };
            let jobs = older_half(&mut self.queue);
            pool.sent += jobs.len() as u64;
            self.send_jobs(self.sites.first(site), &jobs, out);
        }
        let is_wanted = !pool.hungry.is_empty() || !pool.wanting.is_empty();
        let others_work = pool.hungry.len() < self.sites.size(self.site()) as usize;
        if is_wanted && others_work && !pool.has_asked && self.sites.size(self.site()) > 1 {
            pool.has_asked = true;
            self.send(SPARE, &[], Destination::Site(self.site()), out);
        }
        if !pool.hungry.is_empty() && pool.asked.is_none() {
            self.ask_site(&mut pool, out);
        }
        self.pool = Some(pool);
        self.tell_idle(out);
    }

    /// Asks the next site that does not remember this one.
    fn ask_site(&self, pool: &mut Pool, out: &mut Outbox) {
        let own = self.site();
        let count = self.sites.count();
        let mut others = (1..count).map(|step| (own + step) % count);
        let next = others.find(|site| !pool.remembered_by[*site as usize]);
        if let Some(site) = next {
            pool.asked = Some(site);
            let to = Destination::Member(self.sites.first(site));
            self.send(WANT, &[u64::from(own)], to, out);
        }
    }

    fn now(&self) -> Known {
        let size = self.sites.size(self.site()) as usize;
        let known = |pool: &Pool| Known {
            is_idle: pool.hungry.len() == size && self.queue.is_empty(),
            sent: pool.sent,
            received: pool.received,
        };
        self.pool.as_ref().map(known).unwrap_or_default()
    }

    /// Tells the first pool when all members of the site are hungry.
    fn tell_idle(&mut self, out: &mut Outbox) {
        let Known { is_idle, sent, received } = self.now();
        let own = self.own;
        let Some(pool) = &mut self.pool else { return };
        if !is_idle {
            pool.told = None;
        } else if own == Rank(0) {
            self.look(out);
        } else if pool.told.replace((sent, received)) != Some((sent, received)) {
            self.send(IDLE, &[sent, received], Destination::Member(Rank(0)), out);
        }
    }

    /// At the first pool: whether all sites are idle and nothing travels between them; then all are
    /// asked once more.
    fn look(&mut self, out: &mut Outbox) {
        let now = self.now();
        let Some(pool) = self.pool.as_mut().filter(|_| self.own == Rank(0)) else { return };
        if self.has_ended || pool.count.is_some() {
            return;
        }
        pool.known[0] = now;
        let Some(sums) = sums(&pool.known) else { return };
        pool.count = Some((0, sums));
        for site in 1..self.sites.count() {
            self.send(COUNT, &[], Destination::Member(self.sites.first(site)), out);
        }
        self.judge(out);
    }

    /// At the first pool: ends the bag when all sites have said the same again.
    fn judge(&mut self, out: &mut Outbox) {
        let now = self.now();
        let Some(pool) = &mut self.pool else { return };
        let Some((answers, before)) = pool.count else { return };
        if answers + 1 < self.sites.count() {
            return;
        }
        pool.count = None;
        pool.known[0] = now;
        if sums(&pool.known) == Some(before) {
            self.has_ended = true;
            self.send(END, &[], Destination::All, out);
        } else {
            self.look(out);
        }
    }

    fn hear(&mut self, from: Rank, known: Known) {
        let site = self.sites.of(from) as usize;
        if let Some(pool) = &mut self.pool {
            pool.known[site] = known;
        }
    }

    /// Jobs have come: from the pool, from a member of the site, or from another site.
    fn came(&mut self, from: Rank, jobs: VecDeque<Vec<u8>>, out: &mut Outbox) {
        let count = jobs.len() as u64;
        self.queue.extend(jobs);
        let are_together = self.sites.are_together(from, self.own);
        match &mut self.pool {
            Some(pool) if are_together => pool.has_asked = false,
            Some(pool) => {
                pool.received += count;
                let site = self.sites.of(from);
                pool.remembered_by[site as usize] = false;
                if pool.asked == Some(site) {
                    pool.asked = None;
                }
            }
            None => self.is_hungry = false,
        }
        self.serve(out);
    }

    fn pool(&mut self) -> Result<&mut Pool> {
        self.pool.as_mut().ok_or_else(|| malformed("it is for the first member of a site"))
    }
}

/// Jobs sent and received by all sites, if all are idle and both are equal.
fn sums(known: &[Known]) -> Option<[u64; 2]> {
    let sent: u64 = known.iter().map(|site| site.sent).sum();
    let received: u64 = known.iter().map(|site| site.received).sum();
    (known.iter().all(|site| site.is_idle) && sent == received).then_some([sent, received])
}

impl Jobs for Tiered {
    fn put(&mut self, jobs: Vec<Vec<u8>>, out: &mut Outbox) -> Result<()> {
        let jobs = self.split(jobs, out);
        self.queue.extend(jobs);
        self.spare(out);
        self.serve(out);
        Ok(())
    }

    fn take_job(&mut self, out: &mut Outbox) -> Result<Option<Vec<u8>>> {
        self.spare(out);
        let job = if self.is_in_order { self.queue.pop_front() } else { self.queue.pop_back() };
        if let Some(job) = job {
            if let Some(pool) = &mut self.pool {
                pool.hungry.retain(|rank| *rank != self.own);
            }
            self.is_hungry = false;
            self.serve(out);
            return Ok(Some(job));
        }
        if self.has_ended || self.is_hungry {
            return Ok(None);
        }
        self.is_hungry = true;
        match &mut self.pool {
            Some(pool) => {
                pool.hungry.push_back(self.own);
                self.serve(out);
            }
            None => self.send(HUNGRY, &[], Destination::Member(self.first()), out),
        }
        Ok(None)
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl Engine for Tiered {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        match kind {
            HUNGRY => {
                self.pool()?.hungry.push_back(from);
                self.serve(out);
            }
            JOBS => self.came(from, read_jobs(content)?, out),
            SPARE => {
                self.is_asked = true;
                self.spare(out);
            }
            WANT => {
                let site = content.small()?;
                if site >= self.sites.count() || site == self.site() {
                    return Err(malformed("there is no such site"));
                }
                self.pool()?.wanting.push_back(site);
                self.serve(out);
                let is_later = self.pool()?.wanting.contains(&site);
                if is_later {
                    self.send(LATER, &[], Destination::Member(from), out);
                }
            }
            LATER => {
                let site = self.sites.of(from);
                let pool = self.pool()?;
                if pool.asked == Some(site) {
                    pool.asked = None;
                    pool.remembered_by[site as usize] = true;
                }
                self.serve(out);
            }
            IDLE => {
                let sent = content.number()?;
                let received = content.number()?;
                self.hear(from, Known { is_idle: true, sent, received });
                self.look(out);
            }
            COUNT => {
                let Known { is_idle, sent, received } = self.now();
                let fields = [u64::from(is_idle), sent, received];
                self.send(COUNTED, &fields, Destination::Member(from), out);
            }
            COUNTED => {
                let is_idle = content.number()? == 1;
                let sent = content.number()?;
                let received = content.number()?;
                self.hear(from, Known { is_idle, sent, received });
                if let Some((answers, _)) = &mut self.pool()?.count {
                    *answers += 1;
                }
                self.judge(out);
            }
            END => self.has_ended = true,
            kind => return Err(unknown(kind)),
        }
        Ok(())
    }
}
