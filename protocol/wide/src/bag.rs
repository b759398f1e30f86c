//! Jobs that members share (spec/wide-area.md, section 9).
//!
//! Without tiers as the paper's programs have them: one queue at member 0 ([`central`]), or a queue of
//! each member from which others steal ([`stealing`]). With tiers ([`tiered`]) each member has a
//! queue, each site a pool at its first member, and sites ask one another.

mod central;
mod stealing;
mod tiered;

use std::collections::VecDeque;

use farcall_base::Result;

use crate::bytes::{Reader, Writer, malformed};
use crate::{Engine, Envelope, Outbox, Rank, Sites, ThingNumber};

/// Bytes that one job may have.
pub const JOB_BYTES_MAX: usize = 1 << 24;

/// What a member does with a bag.
pub trait Jobs: Engine {
    /// Puts jobs in.
    fn put(&mut self, jobs: Vec<Vec<u8>>, out: &mut Outbox) -> Result<()>;

    /// Takes one job; `None` where none is here yet: asked for, it comes later, or the bag ends.
    fn take_job(&mut self, out: &mut Outbox) -> Result<Option<Vec<u8>>>;

    /// Whether no job is left anywhere, and none will come.
    fn has_ended(&self) -> bool;
}

/// Where jobs are without tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// In one queue, first in, first out.
    Central,
    /// In a queue of each member: others steal from it.
    OfEachMember,
}

/// A bag of a member.
pub fn bag(
    (thing, own): (ThingNumber, Rank),
    (sites, has_tiers): (Sites, bool),
    queues: Queues,
) -> Box<dyn Jobs> {
    match (has_tiers, queues) {
        (true, _) => Box::new(tiered::Tiered::new(thing, own, sites, queues)),
        (false, Queues::Central) => Box::new(central::Central::new(thing, own, sites)),
        (false, Queues::OfEachMember) => Box::new(stealing::Stealing::new(thing, own, sites)),
    }
}

/// Writes a message with jobs: their number, and each with its length.
fn with_jobs(thing: ThingNumber, kind: u8, fields: &[u64], jobs: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.number(jobs.len() as u64);
    for job in jobs {
        writer.number(job.len() as u64);
        writer.raw(job);
    }
    Envelope::write(thing, kind, fields, &writer.finish())
}

fn read_jobs(mut content: Reader<'_>) -> Result<VecDeque<Vec<u8>>> {
    let count = content.number()?;
    let mut jobs = VecDeque::new();
    for _ in 0..count {
        let length = usize::try_from(content.number()?).unwrap_or(usize::MAX);
        jobs.push_back(content.raw(length)?.to_vec());
    }
    match content.is_empty() {
        true => Ok(jobs),
        false => Err(malformed("bytes follow the jobs")),
    }
}

/// Takes the older half of a queue, at least one job of it.
fn older_half(queue: &mut VecDeque<Vec<u8>>) -> Vec<Vec<u8>> {
    let count = queue.len().div_ceil(2);
    queue.drain(..count).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
