//! Single cases that seeds have found.

use super::faults::{Fault, HEALED, Kind, Plan};
use super::graphs::From::{Call, Input};
use super::graphs::{Work, work_of};
use super::net::MS;
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

/// Another node takes the transaction up, at whose own server some of its calls have run: their
/// results are there, but not under the ids that the client asks for.
#[test]
fn results_at_the_server_of_the_new_owner_are_given_to_the_client() {
    for at in [150, 250, 400] {
        let calls: Vec<(&str, &[_])> =
            (0..6).map(|_| ("sim/mix", &[Input(0), Input(0)][..])).collect();
        let work = work_of(&calls);
        let mut plan = calm(2, 0);
        plan.faults.push((at * MS, Fault::KillNode(0, None)));
        let world = run(plan, work);
        assert_eq!(world.client.got.len(), 6);
    }
}

/// A number that was needed no more, and is again since what was made with it is lost.
#[test]
fn a_number_is_used_again_by_who_takes_the_transaction_up_twice() {
    for at in [300, 500, 700] {
        let sum: (&str, &[_]) = ("sim/sum", &[Input(0)]);
        let grow = |sum| ("sim/grow", [Call(sum)]);
        let grown = [0, 1, 2, 3].map(grow);
        let grown = grown.iter().map(|(name, from)| (*name, &from[..]));
        let calls: Vec<(&str, &[_])> = [sum; 4].into_iter().chain(grown).collect();
        let mut work = work_of(&calls);
        work.message.results.drain(..4);
        let mut plan = calm(2, 0);
        plan.faults.push((at * MS, Fault::EndLease(0)));
        plan.faults.push((1000 * MS, Fault::KillNode(0, None)));
        plan.faults.push((1001 * MS, Fault::KillNode(1, Some(50 * MS))));
        let world = run(plan, work);
        assert_eq!(world.client.got.len(), 4);
    }
}

/// A server is lost just when its result comes to where the client asks for it, and the call runs
/// again there.
#[test]
fn a_call_runs_again_where_its_result_comes_meanwhile() {
    for at in 400..440 {
        let call: (&str, &[_]) = ("sim/mix", &[Input(0), Input(0)]);
        let mut plan = calm(1, 1);
        plan.pulls = true;
        plan.faults.push((at * MS / 4, Fault::KillServer(1, None)));
        let world = run(plan, work_of(&[call; 4]));
        assert_eq!(world.client.got.len(), 4);
    }
}

/// The client asks just when another node has taken its transaction up, which has ended: the node says
/// so when its server has heard of the results, so that the client finds them.
#[test]
fn results_are_promised_again_before_the_client_hears_that_they_are_there() {
    super::run(30496, false).unwrap();
}
