//! Bags whose messages are delivered in any order that keeps that of each pair of members, by
//! members of any speed: every job is done once, and the end is neither early nor missed.

use std::collections::VecDeque;

use farcall_base::{Random, SeededRandom};

use super::*;
use crate::Destination;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// It wants its next job.
    Looks,
    /// It does one, which makes so many smaller ones.
    Works(u8),
    /// It has heard of the end.
    Ended,
}

struct World {
    sites: Sites,
    members: Vec<Box<dyn Jobs>>,
    programs: Vec<Program>,
    ways: Vec<VecDeque<Vec<u8>>>,
    done: usize,
    /// Messages with jobs, and without, between sites.
    between: usize,
    random: SeededRandom,
}

impl World {
    fn new(sites: &str, has_tiers: bool, queues: Queues, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("jobs");
        let one = |own| bag((thing, own), (sites.clone(), has_tiers), queues);
        let members: Vec<_> = sites.all().map(one).collect();
        let count = members.len();
        World {
            sites,
            members,
            programs: vec![Program::Looks; count],
            ways: vec![VecDeque::new(); count * count],
            done: 0,
            between: 0,
            random: SeededRandom::new(seed),
        }
    }

    fn send(&mut self, from: usize, out: &mut Outbox) {
        let own = self.sites.of(Rank(from as u32));
        for (to, bytes) in out.take() {
            let to: Vec<Rank> = match to {
                Destination::Member(rank) => vec![rank],
                Destination::Site(site) => self.sites.ranks(site).collect(),
                Destination::All => self.sites.all().collect(),
            };
            let mut far: Vec<u32> = to.iter().map(|to| self.sites.of(*to)).collect();
            far.dedup();
            self.between += far.into_iter().filter(|site| *site != own).count();
            for to in to.into_iter().filter(|to| to.0 as usize != from) {
                self.ways[from * self.members.len() + to.0 as usize].push_back(bytes.clone());
            }
        }
    }

    fn put(&mut self, at: usize, jobs: Vec<Vec<u8>>) {
        let mut out = Outbox::new();
        self.members[at].put(jobs, &mut out).unwrap();
        self.send(at, &mut out);
    }

    /// A program goes on.
    fn step(&mut self, at: usize) {
        let mut out = Outbox::new();
        match self.programs[at] {
            Program::Ended => {}
            Program::Works(more) => {
                self.done += 1;
                self.programs[at] = Program::Looks;
                let jobs: Vec<Vec<u8>> = (0..more).map(|one| vec![one]).collect();
                if !jobs.is_empty() {
                    self.put(at, jobs);
                }
            }
            Program::Looks => match self.members[at].take_job(&mut out).unwrap() {
                Some(job) => self.programs[at] = Program::Works(job[0]),
                None if self.members[at].has_ended() => self.programs[at] = Program::Ended,
                None => {}
            },
        }
        self.send(at, &mut out);
    }

    fn deliver(&mut self, way: usize) {
        let bytes = self.ways[way].pop_front().unwrap();
        let count = self.members.len();
        let mut out = Outbox::new();
        let message = Envelope::read(&bytes).unwrap();
        self.members[way % count].take(Rank((way / count) as u32), message, &mut out).unwrap();
        self.send(way % count, &mut out);
    }

    /// Until all programs have heard of the end. Some members are slow.
    fn play(&mut self) {
        let slow = self.random.next() as usize % self.members.len();
        for step in 0.. {
            assert!(step < 400_000, "the end is missed: {:?}", self.programs);
            let full: Vec<usize> =
                (0..self.ways.len()).filter(|way| !self.ways[*way].is_empty()).collect();
            let choice = self.random.next() as usize % (self.members.len() + full.len());
            match full.get(choice.wrapping_sub(self.members.len())) {
                Some(way) => self.deliver(*way),
                None if choice == slow && !self.random.next().is_multiple_of(20) => {}
                None => self.step(choice),
            }
            if self.programs.iter().all(|program| *program == Program::Ended) {
                return;
            }
        }
    }
}

/// A job and all that come from it: of number n come n jobs with the numbers below.
fn size(job: u8) -> usize {
    1 + (0..job).map(size).sum::<usize>()
}

#[test]
fn every_job_is_done_once_and_the_end_is_found() {
    for sites in ["1", "4", "2+3", "1+1+1", "3+1+2+4"] {
        for has_tiers in [false, true] {
            for queues in [Queues::Central, Queues::OfEachMember] {
                for seed in 0..25 {
                    let mut world = World::new(sites, has_tiers, queues, seed);
                    let jobs: Vec<u8> =
                        (0..world.random.next() % 40).map(|n| n as u8 % 6).collect();
                    let wanted: usize = jobs.iter().map(|job| size(*job)).sum();
                    let at = seed as usize % world.members.len();
                    world.put(at, jobs.into_iter().map(|job| vec![job]).collect());
                    world.play();
                    let what = format!("{sites}, tiers {has_tiers}, {queues:?}, seed {seed}");
                    assert_eq!(world.done, wanted, "{what}");
                }
            }
        }
    }
}

#[test]
fn sites_ask_one_another_seldom() {
    let mut between = [0; 2];
    for (has_tiers, between) in [false, true].into_iter().zip(&mut between) {
        let mut world = World::new("4+4+4+4", has_tiers, Queues::Central, 7);
        world.put(0, vec![vec![0]; 2000]);
        world.play();
        assert_eq!(world.done, 2000);
        *between = world.between;
    }
    let [off, on] = between;
    assert!(off > 2000 && 10 * on < off, "{off} messages between sites without tiers, {on} with");
}
