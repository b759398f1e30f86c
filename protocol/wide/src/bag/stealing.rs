//! A queue of each member: the paper's 15-puzzle. A member without jobs asks those 1, 2, 4, … behind
//! it, again and again while any other one works, and tells all when it has none and when it has one
//! again. Member 0 finds the end by two equal counts.

use std::collections::VecDeque;

use farcall_base::Result;

use super::{Jobs, read_jobs, with_jobs};
use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// To a victim: give me a job.
const STEAL: u8 = 0;
/// To a thief: one job, or none.
const GIVEN: u8 = 1;
/// To all: I have no job. To member 0 with the jobs given away and received.
const IDLE: u8 = 2;
/// To all: I have jobs again.
const ACTIVE: u8 = 3;
/// From member 0: how is it now?
const COUNT: u8 = 4;
/// To member 0: whether it has no job; jobs given away and received.
const COUNTED: u8 = 5;
/// To all: no job is left.
const END: u8 = 6;

/// What member 0 knows of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    is_idle: bool,
    given: u64,
    received: u64,
}

pub(super) struct Stealing {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    queue: VecDeque<Vec<u8>>,
    /// Which member is asked next, as an exponent of 2, while this one looks for a job.
    asked: Option<u32>,
    is_idle: bool,
    has_ended: bool,
    given: u64,
    received: u64,
    /// At member 0: what was said last, and by how many in the count that runs.
    known: Vec<Known>,
    count: Option<(usize, [u64; 2])>,
}

impl Stealing {
    pub(super) fn new(thing: ThingNumber, own: Rank, sites: Sites) -> Stealing {
        let known = vec![Known::default(); sites.members() as usize];
        Stealing {
            thing,
            own,
            sites,
            queue: VecDeque::new(),
            asked: None,
            is_idle: false,
            has_ended: false,
            given: 0,
            received: 0,
            known,
            count: None,
        }
    }

    /// The next victim, from 2^exponent behind this one.
    fn victim(&self, exponent: u32) -> Option<Rank> {
        let members = self.sites.members();
        let step = 1u32.checked_shl(exponent).filter(|step| *step < members)?;
        Some(Rank((self.own.0 + step) % members))
    }

    /// Asks the next victim, or finds that none has a job.
    fn ask(&mut self, exponent: u32, out: &mut Outbox) {
        if let Some(victim) = self.victim(exponent) {
            self.asked = Some(exponent);
            let message = Envelope::write(self.thing, STEAL, &[], &[]);
            return out.send(Destination::Member(victim), message);
        }
        self.asked = None;
        if !self.is_idle {
            self.is_idle = true;
            self.tell_all(IDLE, out);
        }
        self.look(out);
        let mut others = self.sites.all().filter(|rank| *rank != self.own);
        let others_work = others.any(|rank| !self.known[rank.0 as usize].is_idle);
        if others_work && !self.has_ended {
            self.ask(0, out);
        }
    }

    fn tell_all(&mut self, kind: u8, out: &mut Outbox) {
        self.known[self.own.0 as usize] = self.now();
        let fields = [self.given, self.received];
        for rank in self.sites.all().filter(|rank| *rank != self.own) {
            let message = Envelope::write(self.thing, kind, &fields, &[]);
            out.send(Destination::Member(rank), message);
        }
    }

    fn now(&self) -> Known {
        let is_idle = self.is_idle && self.queue.is_empty();
        Known { is_idle, given: self.given, received: self.received }
    }

    /// At member 0: whether all are idle and nothing travels; then all are asked once more.
    fn look(&mut self, out: &mut Outbox) {
        if self.own != Rank(0) || self.has_ended || self.count.is_some() {
            return;
        }
        self.known[0] = self.now();
        let Some(sums) = self.sums() else { return };
        self.count = Some((0, sums));
        for rank in self.sites.all().filter(|rank| *rank != self.own) {
            let message = Envelope::write(self.thing, COUNT, &[], &[]);
            out.send(Destination::Member(rank), message);
        }
        self.judge(out);
    }

    /// Jobs given away and received by all, if all are idle and both are equal.
    fn sums(&self) -> Option<[u64; 2]> {
        let are_idle = self.known.iter().all(|known| known.is_idle);
        let given: u64 = self.known.iter().map(|known| known.given).sum();
        let received: u64 = self.known.iter().map(|known| known.received).sum();
        (are_idle && given == received).then_some([given, received])
    }

    /// At member 0: ends the bag when all have said the same again.
    fn judge(&mut self, out: &mut Outbox) {
        let Some((answers, sums)) = self.count else { return };
        if answers + 1 < self.sites.members() as usize {
            return;
        }
        self.count = None;
        self.known[0] = self.now();
        if self.sums() == Some(sums) {
            self.has_ended = true;
            self.tell_all(END, out);
        } else {
            // Who became active says so when it is idle again.
            self.look(out);
        }
    }

    fn hear(&mut self, from: Rank, known: Known) {
        self.known[from.0 as usize] = known;
    }
}

impl Jobs for Stealing {
    fn put(&mut self, jobs: Vec<Vec<u8>>, _: &mut Outbox) -> Result<()> {
        self.queue.extend(jobs);
        Ok(())
    }

    fn take_job(&mut self, out: &mut Outbox) -> Result<Option<Vec<u8>>> {
        if let Some(job) = self.queue.pop_back() {
            if self.is_idle {
                self.is_idle = false;
                self.tell_all(ACTIVE, out);
            }
            return Ok(Some(job));
        }
        if !self.has_ended && self.asked.is_none() && !self.is_idle {
            self.ask(0, out);
        }
        Ok(None)
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl Engine for Stealing {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, mut content, .. } = message;
        match kind {
            STEAL => {
                let jobs: Vec<Vec<u8>> = self.queue.pop_front().into_iter().collect();
                self.given += jobs.len() as u64;
                out.send(Destination::Member(from), with_jobs(self.thing, GIVEN, &[], &jobs));
            }
            GIVEN => {
                let asked = self.asked.ok_or_else(|| malformed("nobody asked for a job"))?;
                let jobs = read_jobs(content)?;
                self.received += jobs.len() as u64;
                self.queue.extend(jobs);
                match self.queue.is_empty() {
                    true => self.ask(asked + 1, out),
                    false => self.asked = None,
                }
            }
            IDLE | ACTIVE => {
                let given = content.number()?;
                let received = content.number()?;
                self.hear(from, Known { is_idle: kind == IDLE, given, received });
                // An idle member looks again where there is work again.
                if kind == ACTIVE && self.is_idle && self.asked.is_none() && self.queue.is_empty() {
                    self.ask(0, out);
                }
                self.look(out);
            }
            COUNT => {
                let Known { is_idle, given, received } = self.now();
                let fields = [u64::from(is_idle), given, received];
                let message = Envelope::write(self.thing, COUNTED, &fields, &[]);
                out.send(Destination::Member(from), message);
            }
            COUNTED => {
                let is_idle = content.number()? == 1;
                let given = content.number()?;
                let received = content.number()?;
                self.hear(from, Known { is_idle, given, received });
                if let Some((answers, _)) = &mut self.count {
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
