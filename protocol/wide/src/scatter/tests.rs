//! Items that make others, delivered in any order that keeps that of each pair of members: each is
//! taken once, and the end is neither early nor missed.

use farcall_base::{Random, SeededRandom};

use super::*;

struct World {
    sites: Sites,
    members: Vec<Scatter>,
    ways: Vec<VecDeque<Vec<u8>>>,
    taken: usize,
    between: usize,
    random: SeededRandom,
}

impl World {
    fn new(sites: &str, has_tiers: bool, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("updates");
        let one = |own| Scatter::new(thing, own, sites.clone(), has_tiers);
        let members: Vec<_> = sites.all().map(one).collect();
        let count = members.len();
        let ways = vec![VecDeque::new(); count * count];
        World { sites, members, ways, taken: 0, between: 0, random: SeededRandom::new(seed) }
    }

    /// What a member does after anything: it takes its items, each of which makes smaller ones.
    fn go_on(&mut self, at: usize, mut out: Outbox) {
        while let Some(item) = self.members[at].next_due() {
            self.taken += 1;
            for _ in 0..item[0] {
                let owner = Rank((self.random.next() % self.members.len() as u64) as u32);
                self.members[at].send(owner, &[item[0] - 1], &mut out).unwrap();
            }
        }
        self.members[at].settle(&mut out);
        let own = self.sites.of(Rank(at as u32));
        for (to, bytes) in out.take() {
            let to: Vec<Rank> = match to {
                Destination::Member(rank) => vec![rank],
                Destination::Site(site) => self.sites.ranks(site).collect(),
                Destination::All => self.sites.all().collect(),
            };
            let mut far: Vec<u32> = to.iter().map(|to| self.sites.of(*to)).collect();
            far.dedup();
            self.between += far.into_iter().filter(|site| *site != own).count();
            for to in to.into_iter().filter(|to| to.0 as usize != at) {
                self.ways[at * self.members.len() + to.0 as usize].push_back(bytes.clone());
            }
        }
    }

    fn deliver(&mut self) -> bool {
        let full: Vec<usize> =
            (0..self.ways.len()).filter(|way| !self.ways[*way].is_empty()).collect();
        if full.is_empty() {
            return false;
        }
        let way = full[self.random.next() as usize % full.len()];
        let bytes = self.ways[way].pop_front().unwrap();
        let count = self.members.len();
        let mut out = Outbox::new();
        let message = Envelope::read(&bytes).unwrap();
        self.members[way % count].take(Rank((way / count) as u32), message, &mut out).unwrap();
        self.go_on(way % count, out);
        true
    }

    /// Each member sends so many items and then waits for the end; all deliveries in between.
    fn round(&mut self, items: usize, depth: u8) {
        let mut left: Vec<usize> = vec![items; self.members.len()];
        let mut waits = vec![None; self.members.len()];
        loop {
            let at = self.random.next() as usize % self.members.len();
            let mut out = Outbox::new();
            if left[at] > 0 {
                left[at] -= 1;
                let owner = Rank((self.random.next() % self.members.len() as u64) as u32);
                self.members[at].send(owner, &[depth], &mut out).unwrap();
                self.go_on(at, out);
            } else if waits[at].is_none() {
                waits[at] = Some(self.members[at].quiesce(&mut out));
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
        world.between
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
