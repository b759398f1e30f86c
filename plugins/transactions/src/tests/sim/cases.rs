//! Single cases that seeds have found.

use super::faults::{Fault, HEALED, Kind, Plan};
use super::graphs::From::{Call, Input};
use super::graphs::{Work, work_of};
use super::world::World;

/// A plan in which nothing goes wrong.
fn calm(nodes: usize, servers: usize) -> Plan {
    Plan {
        kind: Kind::Nothing,
        nodes,
        servers,
        with_once: false,
        are_leaders: false,
        refuses: 0,
        pulls: false,
        is_abandoned: false,
        is_strict: true,
        faults: vec![(HEALED, Fault::Heal)],
    }
}

fn run(plan: Plan, work: Work) -> World {
    World::new(1, plan, work, false).run().unwrap()
}

/// A call is opened before the number is known that another one waits for, whose result it uses.
#[test]
fn a_call_uses_what_one_makes_that_waits_for_a_number() {
    let calls: [(&str, &[_]); 3] =
        [("sim/sum", &[Input(0)]), ("sim/grow", &[Call(0)]), ("sim/mix", &[Call(1), Input(0)])];
    let mut work = work_of(&calls);
    work.message.results.remove(1);
    let world = run(calm(1, 0), work);
    assert_eq!(world.client.got.len(), 2);
}
