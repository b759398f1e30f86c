//! Calls while faults strike: each fault alone, and pairs drawn by a seed. No call is lost, none
//! runs twice, none hangs, and nothing stays. `make soak` does the same with many more calls.
//!
//! `FARCALL_SOAK_CALLS` is how many calls each scenario makes, and `FARCALL_SOAK_SEED` what is
//! drawn; a failure says both.

#![allow(clippy::unwrap_used)]

#[path = "faults/fault.rs"]
mod fault;
#[path = "faults/graphs.rs"]
mod graphs;
#[path = "faults/journal.rs"]
mod journal;
#[path = "faults/load.rs"]
mod load;
#[path = "faults/owners.rs"]
mod owners;
#[path = "faults/processes.rs"]
mod processes;
#[path = "faults/several.rs"]
mod several;
#[path = "faults/several_load.rs"]
mod several_load;
#[path = "faults/small.rs"]
mod small;
#[path = "faults/verdict.rs"]
mod verdict;
#[path = "faults/world.rs"]
mod world;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use farcall_base::{Random, SeededRandom};

use fault::Fault;
use verdict::Verdict;
use world::World;

/// Pairs of faults that are drawn.
const PAIRS: usize = 12;

fn number_of(variable: &str) -> Option<u64> {
    let given = std::env::var(variable).ok()?;
    Some(given.parse().unwrap_or_else(|_| panic!("{variable} is no number: {given}")))
}

fn calls() -> usize {
    number_of("FARCALL_SOAK_CALLS").unwrap_or(200) as usize
}

fn seed() -> u64 {
    number_of("FARCALL_SOAK_SEED").unwrap_or(21)
}

/// Strikes again and again, each time when some more calls are over, so that a slow machine gets
/// somewhere; how often it hit.
fn strike_until(over: &AtomicBool, world: &World, fault: Fault, mut random: SeededRandom) -> usize {
    let mut hits = 0;
    let mut next = fault.calls_between() / 2;
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(500 + random.next() % 2_000));
        let now = world.calls_over();
        if now >= next {
            hits += usize::from(fault.strike(world, &mut random));
            world.note_death();
            next = now + 1 + (random.next() % (2 * fault.calls_between() as u64)) as usize;
        }
    }
    hits
}

/// Makes the calls of one scenario while these faults strike, and looks at what became of them;
/// `None` where this machine cannot have such a fault.
fn play(faults: &[Fault], seed: u64) -> Option<Verdict> {
    let mut world = World::new(faults, calls())?;
    let over = AtomicBool::new(false);
    let hits = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (index, fault) in faults.iter().enumerate() {
            let world = &world;
            let over = &over;
            let hits = &hits;
            let random = SeededRandom::new(seed ^ (index as u64 + 1) << 32);
            scope.spawn(move || {
                hits.fetch_add(strike_until(over, world, *fault, random), Ordering::Relaxed)
            });
        }
        world.call_all(seed);
        over.store(true, Ordering::Relaxed);
    });
    let mut verdict = Verdict::of(&mut world);
    let hits = hits.into_inner();
    verdict.check(hits > 0, || "no fault struck: the test tests nothing".into());
    println!("{faults:?}: {hits} hits; {}", verdict.sum());
    Some(verdict)
}

fn holds(faults: &[Fault], seed: u64) -> Result<(), String> {
    let Some(verdict) = play(faults, seed) else { return Ok(()) };
    let again = format!("FARCALL_SOAK_SEED={seed} FARCALL_SOAK_CALLS={}", calls());
    verdict.outcome().map_err(|wrong| format!("{faults:?} ({again}): {}\n{wrong}", verdict.sum()))
}

fn alone(fault: Fault) {
    holds(&[fault], seed()).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn clients_that_are_killed_lose_no_call() {
    alone(Fault::Client);
}

#[test]
fn servers_that_are_killed_lose_no_call() {
    alone(Fault::Server);
}

#[test]
fn executables_that_are_killed_lose_no_call() {
    alone(Fault::Executable);
}

#[test]
fn zygotes_that_are_killed_lose_no_call() {
    alone(Fault::Zygote);
}

#[test]
fn pilots_that_are_killed_lose_no_call() {
    alone(Fault::Pilot);
}

#[test]
fn bridges_that_are_killed_lose_no_call() {
    alone(Fault::Bridge);
}

#[test]
fn relays_that_are_killed_lose_no_call() {
    alone(Fault::Relay);
}

#[test]
fn connections_that_are_cut_lose_no_call() {
    alone(Fault::Cut);
}

#[test]
fn a_disk_that_is_full_loses_no_call() {
    alone(Fault::Disk);
}

#[test]
fn too_few_descriptors_lose_no_call() {
    alone(Fault::Descriptors);
}

#[test]
fn a_small_cgroup_loses_no_call() {
    alone(Fault::Memory);
}

/// Pairs of different faults, no pair twice.
fn pairs(seed: u64) -> Vec<[Fault; 2]> {
    let mut all: Vec<[Fault; 2]> = Vec::new();
    for (index, first) in Fault::ALL.into_iter().enumerate() {
        all.extend(Fault::ALL.into_iter().skip(index + 1).map(|second| [first, second]));
    }
    let mut random = SeededRandom::new(seed);
    let mut draw = || all.remove((random.next() % all.len() as u64) as usize);
    (0..PAIRS).map(|_| draw()).collect()
}

/// Those of the drawn pairs whose place has this remainder: two tests, so that they run side by
/// side.
fn pairs_hold(remainder: usize) {
    let drawn = pairs(seed()).into_iter().enumerate().filter(|(index, _)| index % 2 == remainder);
    let wrong: Vec<String> =
        drawn.filter_map(|(index, pair)| holds(&pair, seed() + index as u64).err()).collect();
    assert!(wrong.is_empty(), "with FARCALL_SOAK_SEED={}:\n{}", seed(), wrong.join("\n"));
}

#[test]
fn pairs_of_faults_lose_no_call() {
    pairs_hold(0);
}

#[test]
fn other_pairs_of_faults_lose_no_call() {
    pairs_hold(1);
}

#[test]
fn several_servers_that_are_killed_lose_no_call() {
    several::holds(3 * calls(), seed());
}

#[test]
fn transactions_lose_no_call_when_servers_are_killed() {
    graphs::hold(2 * calls(), seed());
}

/// Short here; `make soak` does it for two minutes.
#[test]
fn transactions_outlive_metaservers_and_members_of_etcd() {
    let lasts = if calls() < 1000 { 15 } else { 150 };
    owners::hold(2 * calls(), Duration::from_secs(lasts), seed());
}

/// Run again as a process of its own by the tests above, which make their calls by it.
#[test]
fn as_a_caller() {
    if let Some(order) = load::Order::given("as_a_caller") {
        load::make_calls(&order);
    }
}

/// The same for calls that a metaserver places.
#[test]
fn as_a_caller_of_several() {
    if let Some(order) = load::Order::given("as_a_caller_of_several") {
        several_load::make_calls(&order);
    }
}
