//! Collectives of members whose messages are delivered in any order of the ways between them.

use super::*;
use crate::ways::Ways;

struct World {
    members: Vec<Collectives>,
    ways: Ways,
}

impl World {
    fn new(sites: &str, has_tiers: bool, seed: u64) -> World {
        let sites = Sites::read(sites).unwrap();
        let thing = ThingNumber::of("all");
        let member = |own| Collectives::new(thing, own, sites.clone(), has_tiers);
        World { members: sites.all().map(member).collect(), ways: Ways::new(&sites, seed) }
    }

    /// All begin, in any order with deliveries between; what each has as a result.
    fn play(&mut self, job: Job, given: impl Fn(Rank) -> Vec<u8>) -> Vec<Vec<u8>> {
        let mut waiting: Vec<Rank> = self.ways.sites.all().collect();
        let mut numbers = vec![0; waiting.len()];
        loop {
            let choices = waiting.len() + self.ways.full();
            let choice = self.ways.any(choices.max(1));
            let mut out = Outbox::new();
            if choice < waiting.len() {
                let rank = waiting.swap_remove(choice);
                let member = &mut self.members[rank.0 as usize];
                numbers[rank.0 as usize] = member.begin(job, given(rank), &mut out).unwrap();
                self.ways.send(rank, &mut out);
            } else if let Some((from, to, bytes)) = self.ways.take() {
                let message = Envelope::read(&bytes).unwrap();
                self.members[to.0 as usize].take(from, message, &mut out).unwrap();
                self.ways.send(to, &mut out);
            } else {
                break;
            }
        }
        let results = self.members.iter_mut().zip(numbers);
        let results = results.map(|(member, number)| member.result(number).unwrap()).collect();
        assert!(self.members.iter().all(|member| member.rounds.is_empty()));
        results
    }
}

const SHAPES: [&str; 6] = ["1", "7", "3+10+22", "15+15+15+15", "1+1+1", "2+5"];

fn float(rank: Rank) -> Vec<u8> {
    (1.0 / (f64::from(rank.0) + 3.0)).to_le_bytes().to_vec()
}

#[test]
fn tiers_change_no_bit_of_a_sum() {
    for shape in SHAPES {
        let mut sums = Vec::new();
        for seed in 0..6 {
            let mut world = World::new(shape, seed % 2 == 1, seed);
            let job = Job::AllReduce(Element::F64, Fold::Sum);
            let mut results = world.play(job, float);
            results.dedup();
            assert_eq!(results.len(), 1, "all have the same");
            sums.extend(results);
        }
        sums.dedup();
        assert_eq!(sums.len(), 1, "{shape}");
    }
}

#[test]
fn every_operation_gives_what_it_says() {
    let own = |rank: Rank| vec![rank.0 as u8; rank.0 as usize % 4];
    for shape in SHAPES {
        for seed in 0..6 {
            let mut world = World::new(shape, seed % 2 == 1, seed);
            let members = world.ways.sites.members();
            let root = Rank(seed as u32 % members);
            let told = world.play(Job::Broadcast(root), float);
            assert!(told.iter().all(|bytes| *bytes == float(root)));
            world.play(Job::BARRIER, |_| Vec::new());
            let rank_as_number = |rank: Rank| i64::from(rank.0).to_le_bytes().to_vec();
            let sums = world.play(Job::Reduce(root, Element::I64, Fold::Sum), rank_as_number);
            let sum = i64::from(members) * (i64::from(members) - 1) / 2;
            assert_eq!(sums[root.0 as usize], sum.to_le_bytes());
            let parts: Vec<Vec<u8>> = world.ways.sites.all().map(own).collect();
            let gathered = world.play(Job::Gather(root), own);
            assert_eq!(Collectives::parts(&gathered[root.0 as usize]).unwrap(), parts);
            for gathered in world.play(Job::AllGather, own) {
                assert_eq!(Collectives::parts(&gathered).unwrap(), parts);
            }
        }
    }
}

#[test]
fn each_link_is_passed_once_in_each_direction() {
    let mut world = World::new("15+15+15+15", true, 1);
    world.play(Job::BARRIER, |_| Vec::new());
    assert_eq!(world.ways.sent, [14 + 3 * 14 + 1, 2 * 3]);
    let mut world = World::new("15+15+15+15", false, 1);
    world.play(Job::BARRIER, |_| Vec::new());
    assert_eq!(world.ways.sent, [2 * 14, 2 * 45]);
}

#[test]
fn members_that_disagree_are_told() {
    let mut world = World::new("2", false, 1);
    let mut out = Outbox::new();
    world.members[1].begin(Job::BARRIER, Vec::new(), &mut out).unwrap();
    let bytes = out.take().next().unwrap().1;
    let error = world.members[0].begin(Job::AllGather, Vec::new(), &mut out).and_then(|_| {
        let message = Envelope::read(&bytes).unwrap();
        world.members[0].take(Rank(1), message, &mut out).map(|()| 0)
    });
    assert!(error.unwrap_err().to_string().contains("different operations"));
    let far = Job::Broadcast(Rank(2));
    assert!(world.members[0].begin(far, Vec::new(), &mut out).is_err());
}
