//! Items that make others, delivered in any order that keeps that of each pair of members: each is
//! taken once, and the end is neither early nor missed.

use super::*;
use crate::ways::Ways;

struct World {
    members: Vec<Scatter>,
    ways: Ways,
    taken: usize,
}

impl World {
    fn new(sites: &str, has_tiers: bool, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("updates");
        let one = |own| Scatter::new(thing, own, sites.clone(), has_tiers);
        let members = sites.all().map(one).collect();
        World { members, ways: Ways::new(&sites, seed), taken: 0 }
    }

    /// What a member does after anything: it takes its items, each of which makes smaller ones.
    fn go_on(&mut self, at: Rank, mut out: Outbox) {
        let member = &mut self.members[at.0 as usize];
        while let Some(item) = member.next_due() {
            self.taken += 1;
            for _ in 0..item[0] {
                member.send(self.ways.any_rank(), &[item[0] - 1], &mut out).unwrap();
            }
        }
        member.settle(&mut out);
        self.ways.send(at, &mut out);
    }

    fn deliver(&mut self) -> bool {
        let Some((from, to, bytes)) = self.ways.take() else { return false };
        let mut out = Outbox::new();
        let message = Envelope::read(&bytes).unwrap();
        self.members[to.0 as usize].take(from, message, &mut out).unwrap();
        self.go_on(to, out);
        true
    }

    /// Each member sends so many items and then waits for the end; all deliveries in between.
    fn round(&mut self, items: usize, depth: u8) {
        let mut left: Vec<usize> = vec![items; self.members.len()];
        let mut waits = vec![None; self.members.len()];
        loop {
            let at = self.ways.any_rank();
            let index = at.0 as usize;
            let mut out = Outbox::new();
            if left[index] > 0 {
                left[index] -= 1;
                let owner = self.ways.any_rank();
                self.members[index].send(owner, &[depth], &mut out).unwrap();
                self.go_on(at, out);
            } else if waits[index].is_none() {
                waits[index] = Some(self.members[index].quiesce(&mut out));
                self.go_on(at, out);
            }
            let has_gone = self.deliver();
            let is_over = |(member, wait): (&Scatter, &Option<u64>)| {
                wait.is_some_and(|number| member.is_quiescent(number))
            };
            if self.members.iter().zip(&waits).all(is_over) {
                return;
            }
            assert!(has_gone || waits.iter().any(Option::is_none), "the end is missed");
        }
    }
}

/// An item of depth n makes n of depth n - 1.
fn size(depth: usize) -> usize {
    if depth == 0 { 1 } else { 1 + depth * size(depth - 1) }
}

#[test]
fn every_item_is_taken_once_before_the_end() {
    for sites in ["1", "5", "2+3", "1+1+1", "3+1+2+4"] {
        for seed in 0..30 {
            let mut world = World::new(sites, seed % 2 == 1, seed);
            for round in 1..4 {
                let depth = (seed % 4) as u8;
                world.round(7, depth);
                let wanted = round * 7 * world.members.len() * size(depth.into());
                assert_eq!(world.taken, wanted, "{sites}, seed {seed}, round {round}");
            }
        }
    }
}

#[test]
fn items_pass_links_together() {
    let [off, on] = [false, true].map(|has_tiers| {
        let mut world = World::new("4+4+4+4", has_tiers, 5);
        world.round(500, 0);
        assert_eq!(world.taken, 8000);
        world.ways.sent[1]
    });
    assert!(20 * on < off, "{off} messages between sites without tiers, {on} with");
}

#[test]
fn wrong_items_are_refused() {
    let mut world = World::new("2", false, 1);
    let mut out = Outbox::new();
    assert!(world.members[0].send(Rank(2), &[0], &mut out).is_err());
    let long = vec![0; ITEM_BYTES_MAX + 1];
    assert!(world.members[0].send(Rank(1), &long, &mut out).is_err());
}
