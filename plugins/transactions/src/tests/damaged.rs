//! Records that are damaged, cut off, missing or in the place of others: a transaction that cannot go
//! on is named, told of and ended, and the node lives.

use std::collections::BTreeMap;

use farcall_base::{Random, SeededRandom};
use farcall_golden::{damage, fuzz_rounds};
use farcall_graph::CallNumber;
use farcall_services::store::{Change, Condition};
use farcall_wire::{Reply, TransactionReply, TransactionRequest};

use super::world::{ID, World, node};
use crate::state::kept::Keys;

const ROUNDS: u64 = 400;

/// What the store has of a transaction of which some calls have ended.
fn kept() -> BTreeMap<String, Vec<u8>> {
    let mut world = World::new();
    let mut one = node(&mut world, "one");
    one.begin(&mut world, 4);
    one.work(&mut world);
    for call in [1, 2] {
        one.returns(&mut world, CallNumber(call));
        one.work(&mut world);
    }
    world.store.end(one.lease.unwrap());
    let page = world.store.read(world.now, "", None, 1000).unwrap();
    page.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

/// Changes one thing; the head stays, by which its user is known.
fn damaged(
    kept: &BTreeMap<String, Vec<u8>>,
    random: &mut SeededRandom,
) -> BTreeMap<String, Vec<u8>> {
    let mut kept = kept.clone();
    let parts: Vec<String> =
        kept.keys().filter(|key| key.starts_with("transactions/")).cloned().collect();
    let drawn = parts[random.next() as usize % parts.len()].clone();
    let other = parts[random.next() as usize % parts.len()].clone();
    let mut value = kept.remove(&drawn).unwrap_or_default();
    match random.next() % 5 {
        0 => return kept,
        1 => value.truncate(random.next() as usize % (value.len() + 1)),
        2 => value = kept.get(&other).cloned().unwrap_or_default(),
        3 => {
            let place = random.next() as usize % value.len().max(1);
            if let Some(byte) = value.get_mut(place) {
                *byte ^= 1 << (random.next() % 8);
            }
        }
        _ => damage(&mut value, &random.bytes16()),
    }
    kept.insert(drawn, value);
    kept
}

#[test]
fn damaged_records_fuzz() {
    let sound = kept();
    let mut refused = 0;
    for seed in 0..fuzz_rounds(ROUNDS) {
        let mut random = SeededRandom::new(seed);
        let mut world = World::new();
        let put = |(key, value)| Change::Put { key, value, lease: None };
        let changes = damaged(&sound, &mut random).into_iter().map(put).collect();
        let none: [Condition; 0] = [];
        world.store.write(world.now, &none, changes).unwrap();
        let mut two = node(&mut world, "two");
        two.is_alone = true;
        two.work(&mut world);
        if !two.state.has(&ID) {
            refused += 1;
            let is_named = two.warned.iter().any(|text| text.contains(&ID.to_string()));
            assert!(is_named, "seed {seed}: {:?}", two.warned);
        }
        two.ask(TransactionRequest::List(Vec::new()));
        two.work(&mut world);
        let answers = two.answers();
        let Some(Ok(Reply::Transaction(TransactionReply::List(list)))) = answers.last() else {
            panic!("seed {seed}: {answers:?}")
        };
        assert_eq!(list.len(), 1, "seed {seed}");
        two.ask(TransactionRequest::End(vec![ID]));
        two.work(&mut world);
        assert_eq!(two.answers().last(), Some(&Ok(Reply::Done)), "seed {seed}");
        assert!(world.keys().is_empty(), "seed {seed}: {:?}", world.keys());
        assert!(!two.state.has(&ID), "seed {seed}: {}", Keys(ID).all());
    }
    assert!(refused > 0, "nothing was damaged");
}
