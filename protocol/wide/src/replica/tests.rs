//! Replicas whose messages are delivered in any order that keeps that of each pair of members.

use super::*;
use crate::ways::Ways;

struct World {
    members: Vec<Replica>,
    ways: Ways,
    applied: Vec<Vec<(Rank, Vec<u8>)>>,
}

impl World {
    fn new(sites: &str, has_tiers: bool, order: Order, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("rows");
        let one = |own| Replica::new((thing, own), (sites.clone(), has_tiers), order);
        let members: Vec<_> = sites.all().map(one).collect();
        let applied = vec![Vec::new(); members.len()];
        World { members, ways: Ways::new(&sites, seed), applied }
    }

    fn go_on(&mut self, at: Rank, mut out: Outbox) {
        self.ways.send(at, &mut out);
        while let Some(due) = self.members[at.0 as usize].next_due() {
            self.applied[at.0 as usize].push(due);
        }
    }

    fn change(&mut self, writer: Rank, number: u32) {
        let mut out = Outbox::new();
        let operation = number.to_le_bytes();
        self.members[writer.0 as usize].change(&operation, &mut out).unwrap();
        self.go_on(writer, out);
    }

    /// Delivers one message of any way; whether there was one.
    fn deliver(&mut self) -> bool {
        let Some((from, to, bytes)) = self.ways.take() else { return false };
        let mut out = Outbox::new();
        let message = Envelope::read(&bytes).unwrap();
        self.members[to.0 as usize].take(from, message, &mut out).unwrap();
        self.go_on(to, out);
        true
    }

    /// So many changes of writers, with deliveries between them, and then all deliveries.
    fn play(&mut self, changes: u32) {
        let mut writer = Rank(0);
        for number in 0..changes {
            // Writers write several times in a row, as programs do.
            if self.ways.any(4) == 0 {
                writer = self.ways.any_rank();
            }
            self.change(writer, number);
            for _ in 0..self.ways.any(12) {
                self.deliver();
            }
        }
        let mut steps = 0;
        while self.deliver() {
            steps += 1;
            assert!(steps < 100_000, "it never ends");
        }
    }

    fn of_one(&self, at: usize, writer: Rank) -> Vec<u32> {
        let own = self.applied[at].iter().filter(|(from, _)| *from == writer);
        own.map(|(_, bytes)| u32::from_le_bytes(bytes[..].try_into().unwrap())).collect()
    }
}

const SHAPES: [&str; 4] = ["1", "5", "2+2+2", "1+3+2+1"];

#[test]
fn all_members_apply_one_sequence() {
    for shape in SHAPES {
        for seed in 0..60 {
            let mut world = World::new(shape, seed % 2 == 1, Order::Total, seed);
            world.play(80);
            assert_eq!(world.applied[0].len(), 80, "{shape}, seed {seed}");
            for (rank, applied) in world.applied.iter().enumerate() {
                assert_eq!(*applied, world.applied[0], "{shape}, seed {seed}, member {rank}");
            }
            assert!(world.members.iter().all(Replica::is_settled));
            let holders = world.members.iter().filter(|one| one.sequencer.right.is_some());
            assert_eq!(holders.count(), 1, "one has the right to order");
            assert!(world.ways.sites.all().all(|one| world.of_one(0, one).is_sorted()));
        }
    }
}

#[test]
fn weaker_orders_lose_nothing() {
    for order in [Order::Fifo, Order::None] {
        for seed in 0..20 {
            let mut world = World::new("1+3+2+1", true, order, seed);
            world.play(80);
            for at in 0..7 {
                assert_eq!(world.applied[at].len(), 80);
                assert!(world.ways.sites.all().all(|one| world.of_one(at, one).is_sorted()));
            }
        }
    }
}

#[test]
fn the_sequencer_moves_to_who_writes() {
    let count = |has_tiers| {
        let mut world = World::new("2+2+2+2", has_tiers, Order::Total, 1);
        for number in 0..20 {
            world.change(Rank(5), number);
            while world.deliver() {}
        }
        world.ways.sent[1]
    };
    // Two requests until it has moved, its move, and then each passes three links.
    assert_eq!(count(true), 2 + 1 + 3 * 20);
    // Each time it is asked for, and goes around.
    assert_eq!(count(false), 20 * (3 + 3 + 4) - 1);
}
