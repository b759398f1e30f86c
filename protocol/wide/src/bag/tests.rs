//! Bags whose messages are delivered in any order that keeps that of each pair of members, by
//! members of any speed: every job is done once, and the end is neither early nor missed.

use super::*;
use crate::ways::Ways;

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
    members: Vec<Box<dyn Jobs>>,
    programs: Vec<Program>,
    ways: Ways,
    done: usize,
}

impl World {
    fn new(sites: &str, has_tiers: bool, queues: Queues, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("jobs");
        let one = |own| bag((thing, own), (sites.clone(), has_tiers), queues);
        let members: Vec<_> = sites.all().map(one).collect();
        let programs = vec![Program::Looks; members.len()];
        World { members, programs, ways: Ways::new(&sites, seed), done: 0 }
    }

    fn send(&mut self, from: usize, out: &mut Outbox) {
        self.ways.send(Rank(from as u32), out);
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

    fn deliver(&mut self) {
        let Some((from, to, bytes)) = self.ways.take() else { return };
        let mut out = Outbox::new();
        let message = Envelope::read(&bytes).unwrap();
        self.members[to.0 as usize].take(from, message, &mut out).unwrap();
        self.ways.send(to, &mut out);
    }

    /// Until all programs have heard of the end. Some members are slow.
    fn play(&mut self) {
        let slow = self.ways.any(self.members.len());
        for step in 0.. {
            assert!(step < 400_000, "the end is missed: {:?}", self.programs);
            let choice = self.ways.any(self.members.len() + self.ways.full());
            if choice >= self.members.len() {
                self.deliver();
            } else if choice != slow || self.ways.any(20) == 0 {
                self.step(choice);
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
                    let jobs: Vec<u8> = (0..world.ways.any(40)).map(|n| n as u8 % 6).collect();
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
        *between = world.ways.sent[1];
    }
    let [off, on] = between;
    assert!(off > 2000 && 10 * on < off, "{off} messages between sites without tiers, {on} with");
}
