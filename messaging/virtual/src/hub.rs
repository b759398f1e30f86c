//! The hub of a run in virtual time: it has the clock and the network, and gives one member at a time
//! the right to run (spec/wide-area.md, section 10).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read, Write};

use farcall_base::{Error, ErrorKind, Result};
use farcall_wide_engines::{Destination, Rank, ThingNumber};

use crate::frames::{Declared, ToHub, ToMember};
use crate::model::Model;
use crate::network::{Delivery, Network};

/// Members of a circle of waits that an error names.
const NAMED_MAX: usize = 8;

/// Messages and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Inside sites.
    pub inside_messages: u64,
    /// Inside sites.
    pub inside_bytes: u64,
    /// From site to site.
    pub between_messages: u64,
    /// From site to site.
    pub between_bytes: u64,
    /// The same four of each thing.
    pub things: BTreeMap<ThingNumber, [u64; 4]>,
}

impl Traffic {
    pub(crate) fn inside(&mut self, message: &[u8]) {
        self.inside_messages += 1;
        self.inside_bytes += message.len() as u64;
        self.count(message, 0);
    }

    pub(crate) fn between(&mut self, message: &[u8]) {
        self.between_messages += 1;
        self.between_bytes += message.len() as u64;
        self.count(message, 2);
    }

    fn count(&mut self, message: &[u8], first: usize) {
        if let Some(number) = message.first_chunk::<4>() {
            let thing = self.things.entry(ThingNumber(u32::from_le_bytes(*number))).or_default();
            thing[first] += 1;
            thing[first + 1] += message.len() as u64;
        }
    }
}

/// What a member is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEnd {
    /// It waits, for this.
    Waits(String),
    /// It has ended.
    Ended,
}

/// What has become of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What member 0 said.
    pub answer: Option<String>,
    /// Nanoseconds until the last member ended.
    pub time: u64,
    /// Nanoseconds of all members' work.
    pub work: u64,
    /// What was sent.
    pub traffic: Traffic,
    /// The hash of all deliveries.
    pub trace: u64,
    /// Things by their numbers.
    pub things: BTreeMap<ThingNumber, Declared>,
}

struct Member<S> {
    from: BufReader<S>,
    to: S,
    /// When it goes on by itself.
    until: Option<u64>,
    end: MemberEnd,
}

/// The hub of one run.
pub struct Hub<S> {
    members: Vec<Member<S>>,
    network: Network,
    /// Members that go on by themselves, by the time.
    resumes: BTreeSet<(u64, Rank)>,
    finished: Finished,
    /// Who declared each thing first.
    declared_by: BTreeMap<ThingNumber, Rank>,
    room: Vec<u8>,
}

impl<S: Read + Write> Hub<S> {
    /// One whose members are at the other ends of these: to read from, and to write to.
    pub fn new(model: Model, streams: Vec<(S, S)>) -> Hub<S> {
        let member = |(from, to)| Member {
            from: BufReader::new(from),
            to,
            until: None,
            end: MemberEnd::Waits("its beginning".into()),
        };
        Hub {
            members: streams.into_iter().map(member).collect(),
            network: Network::new(model),
            resumes: BTreeSet::new(),
            finished: Finished {
                answer: None,
                time: 0,
                work: 0,
                traffic: Traffic::default(),
                trace: 0xcbf2_9ce4_8422_2325,
                things: BTreeMap::new(),
            },
            declared_by: BTreeMap::new(),
            room: Vec::new(),
        }
    }

    /// Runs until all members have ended.
    ///
    /// # Errors
    /// Whatever ends a run early. The context names the `member` that failed: `ConnectionLost` where its
    /// process has ended; its own error; members that wait for one another.
    pub fn run(mut self) -> Result<Finished> {
        for index in 0..self.members.len() {
            self.hear(Rank(index as u32))?;
        }
        loop {
            let arrives = self.network.next_time();
            let resumes = self.resumes.first().copied();
            match (arrives, resumes) {
                (Some(time), resume) if resume.is_none_or(|(at, _)| time <= at) => {
                    if let Some(delivery) = self.network.step() {
                        self.deliver(delivery)?;
                    }
                }
                (_, Some((at, rank))) => {
                    self.resumes.pop_first();
                    let horizon = self.horizon();
                    self.say(rank, &ToMember::Go(at, horizon))?;
                }
                (_, None) => break,
            }
        }
        if self.members.iter().any(|member| member.end != MemberEnd::Ended) {
            return Err(self.nobody_goes_on());
        }
        self.finished.traffic = self.network.traffic().clone();
        Ok(self.finished)
    }

    /// When something happens next.
    fn horizon(&self) -> u64 {
        let resumes = self.resumes.first().map(|(at, _)| *at);
        [self.network.next_time(), resumes].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn deliver(&mut self, delivery: Delivery) -> Result<()> {
        let Delivery { time, from, to, message } = delivery;
        for part in [&time.to_le_bytes()[..], &from.0.to_le_bytes(), &to.0.to_le_bytes(), &message]
        {
            let trace = self.finished.trace;
            self.finished.trace = part
                .iter()
                .fold(trace, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        }
        let member = &mut self.members[to.0 as usize];
        if member.end == MemberEnd::Ended {
            return Ok(());
        }
        if let Some(until) = member.until.take() {
            self.resumes.remove(&(until, to));
        }
        let horizon = self.horizon();
        self.say(to, &ToMember::Deliver(time, horizon, from, message.to_vec()))
    }

    /// Lets a member run.
    fn say(&mut self, rank: Rank, what: &ToMember) -> Result<()> {
        let member = &mut self.members[rank.0 as usize];
        member.until = None;
        what.send(&mut member.to, &mut self.room).map_err(|error| named(error, rank))?;
        self.hear(rank)
    }

    /// Takes all that a member does until it waits or ends.
    fn hear(&mut self, rank: Rank) -> Result<()> {
        loop {
            let member = &mut self.members[rank.0 as usize];
            match ToHub::read(&mut member.from).map_err(|error| named(error, rank))? {
                ToHub::Send(time, to, message) => self.send(rank, time, to, message)?,
                ToHub::Wait(until, what) => {
                    member.end = MemberEnd::Waits(what);
                    member.until = until;
                    self.resumes.extend(until.map(|until| (until, rank)));
                    return Ok(());
                }
                ToHub::Declare(declared) => self.declare(rank, declared)?,
                ToHub::Answer(text) if rank == Rank(0) => self.finished.answer = Some(text),
                ToHub::Answer(_) => {}
                ToHub::End(time, work) => {
                    member.end = MemberEnd::Ended;
                    self.finished.time = self.finished.time.max(time);
                    self.finished.work = self.finished.work.saturating_add(work);
                    return Ok(());
                }
                ToHub::Fail(text) => {
                    return Err(named(
                        Error::new(ErrorKind::RoutineFailed, "run a program", text),
                        rank,
                    ));
                }
            }
        }
    }

    fn send(&mut self, from: Rank, time: u64, to: Destination, message: Vec<u8>) -> Result<()> {
        let sites = &self.network.model().sites;
        let is_there = match to {
            Destination::Member(rank) => rank.0 < sites.members() && rank != from,
            Destination::Site(site) => site < sites.count(),
            Destination::All => true,
        };
        if !is_there {
            let error =
                Error::new(ErrorKind::Protocol, "send a message", "there is no such member");
            return Err(named(error.with("to", format!("{to:?}")), from));
        }
        self.network.send(time, from, to, message);
        Ok(())
    }

    fn declare(&mut self, rank: Rank, declared: Declared) -> Result<()> {
        let number = declared.number;
        let first = *self.declared_by.entry(number).or_insert(rank);
        let known = self.finished.things.entry(number).or_insert_with(|| declared.clone());
        if *known == declared {
            return Ok(());
        }
        let shown = |one: &Declared| format!("{}: {}", one.name, one.description);
        let message = match known.name == declared.name {
            true => "members disagree on a thing",
            false => "two names of things have the same number",
        };
        let fix = match known.name == declared.name {
            true => "make it in the same way at all members",
            false => "give one of them another name",
        };
        Err(Error::new(ErrorKind::InvalidArgument, "make a thing", message)
            .with("at member", first.0)
            .with("it is", shown(known))
            .with("at member", rank.0)
            .with("it is", shown(&declared))
            .fix(fix))
    }

    /// Every member that has not ended waits, and nothing travels.
    fn nobody_goes_on(&self) -> Error {
        let message = "every member waits, and no message travels: nobody can go on";
        let mut error = Error::new(ErrorKind::Cancelled, "run a program", message);
        let waits =
            self.members.iter().enumerate().filter_map(|(index, member)| match &member.end {
                MemberEnd::Waits(what) => Some((index, what)),
                MemberEnd::Ended => None,
            });
        let count = waits.clone().count();
        for (index, what) in waits.take(NAMED_MAX) {
            error = error.with("member", format!("{index} waits for {what}"));
        }
        if count > NAMED_MAX {
            error = error.with("and others", count - NAMED_MAX);
        }
        error.fix("look for what these members wait for: nobody sends it")
    }
}

fn named(error: Error, rank: Rank) -> Error {
    error.with("member", rank.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
