//! A transaction goes on from its records.

use crate::world::{Fault, World, random_graph};

#[test]
fn promises_hold_when_the_owner_is_ended_again_and_again() {
    let mut restarts = 0;
    for seed in 0..200 {
        for may_run_again in [true, false] {
            let graph = random_graph::new(seed, 80, may_run_again);
            let report = World::new(graph, 4, seed).with_restarts(2 + seed % 40).run(Vec::new());
            // Nothing but the owner was ended: so nothing is lost.
            assert_eq!(report.failed, 0, "seed {seed}: {:?}", report.failures);
            restarts += report.restarts;
        }
    }
    assert!(restarts > 1000, "{restarts}");
}

#[test]
fn promises_hold_when_servers_and_values_are_lost_too() {
    let mut lost = 0;
    for seed in 0..200 {
        for may_run_again in [true, false] {
            let graph = random_graph::new(seed, 80, may_run_again);
            let deaths = (0..4).map(|at| Fault::new(seed, at));
            let gone = (0..20).map(|at| Fault::gone(seed, at));
            let world = World::new(graph, 4, seed).with_restarts(5 + seed % 40);
            let report = world.run(deaths.chain(gone).collect());
            if may_run_again {
                assert_eq!(report.failed, 0, "seed {seed}: {:?}", report.failures);
            }
            lost += report.failed;
        }
    }
    assert!(lost > 100, "{lost}");
}

/// Each call ends, and what returned is right.
#[test]
fn promises_hold_when_the_program_leaves() {
    let mut lost = 0;
    for seed in 0..300 {
        let graph = random_graph::new(seed, 80, seed % 3 > 0);
        let mut faults: Vec<Fault> = (0..4).map(|at| Fault::new(seed, at)).collect();
        faults.push(Fault::leaving(seed * 7 % 600));
        faults.extend((0..4).map(|at| Fault::gone(seed, at)));
        let every = if seed % 2 == 0 { 0 } else { 20 };
        lost += World::new(graph, 4, seed).with_restarts(every).run(faults).failed;
    }
    assert!(lost > 100, "{lost}");
}
