//! One queue at member 0, first in, first out: the paper's TSP. The queue's owner knows who waits, and
//! so when no job is left.

use std::collections::VecDeque;

use farcall_base::Result;

use super::{Jobs, read_jobs, with_jobs};
use crate::bytes::malformed;
use crate::mail::unknown;
use crate::{Destination, Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// To the owner: put these in.
const PUT: u8 = 0;
/// To the owner: I want a job, and have done the one before.
const WANT: u8 = 1;
/// To a member: one job.
const JOB: u8 = 2;
/// To all: there is no job any more.
const END: u8 = 3;

pub(super) struct Central {
    thing: ThingNumber,
    own: Rank,
    sites: Sites,
    /// The owner's jobs, or the one that came.
    queue: VecDeque<Vec<u8>>,
    has_asked: bool,
    has_ended: bool,
    /// At the owner: who waits for a job, in the order of asking.
    waiting: VecDeque<Rank>,
}

impl Central {
    pub(super) fn new(thing: ThingNumber, own: Rank, sites: Sites) -> Central {
        Central {
            thing,
            own,
            sites,
            queue: VecDeque::new(),
            has_asked: false,
            has_ended: false,
            waiting: VecDeque::new(),
        }
    }

    fn is_owner(&self) -> bool {
        self.own == Rank(0)
    }

    /// Gives jobs to those that wait, and ends the bag when all do.
    fn serve(&mut self, out: &mut Outbox) {
        while let Some(rank) = self.waiting.front().copied().filter(|_| !self.queue.is_empty()) {
            if rank == self.own {
                // Its own program takes it from the queue.
                break;
            }
            self.waiting.pop_front();
            let job = self.queue.pop_front().unwrap_or_default();
            let message = with_jobs(self.thing, JOB, &[], &[job]);
            out.send(Destination::Member(rank), message);
        }
        if self.queue.is_empty() && self.waiting.len() == self.sites.members() as usize {
            self.has_ended = true;
            self.waiting.clear();
            for rank in self.sites.all().filter(|rank| *rank != self.own) {
                let message = Envelope::write(self.thing, END, &[], &[]);
                out.send(Destination::Member(rank), message);
            }
        }
    }
}

impl Jobs for Central {
    fn put(&mut self, jobs: Vec<Vec<u8>>, out: &mut Outbox) -> Result<()> {
        if !self.is_owner() {
            out.send(Destination::Member(Rank(0)), with_jobs(self.thing, PUT, &[], &jobs));
            return Ok(());
        }
        self.queue.extend(jobs);
        self.serve(out);
        Ok(())
    }

    fn take_job(&mut self, out: &mut Outbox) -> Result<Option<Vec<u8>>> {
        if self.has_ended {
            return Ok(None);
        }
        if self.is_owner() {
            let is_turn = self.waiting.front().is_none_or(|first| *first == self.own);
            if is_turn && let Some(job) = self.queue.pop_front() {
                self.waiting.pop_front();
                self.serve(out);
                return Ok(Some(job));
            }
            if !self.waiting.contains(&self.own) {
                self.waiting.push_back(self.own);
                self.serve(out);
            }
            return Ok(None);
        }
        if let Some(job) = self.queue.pop_front() {
            self.has_asked = false;
            return Ok(Some(job));
        }
        if !self.has_asked {
            self.has_asked = true;
            let message = Envelope::write(self.thing, WANT, &[], &[]);
            out.send(Destination::Member(Rank(0)), message);
        }
        Ok(None)
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl Engine for Central {
    fn take(&mut self, from: Rank, message: Envelope<'_>, out: &mut Outbox) -> Result<()> {
        let Envelope { kind, content, .. } = message;
        match kind {
            PUT | WANT if !self.is_owner() => return Err(malformed("it is for the queue's owner")),
            PUT => self.queue.extend(read_jobs(content)?),
            WANT => self.waiting.push_back(from),
            JOB => self.queue.extend(read_jobs(content)?),
            END => self.has_ended = true,
            kind => return Err(unknown(kind)),
        }
        if self.is_owner() {
            self.serve(out);
        }
        Ok(())
    }
}
