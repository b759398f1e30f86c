//! Transactions that are kept, simulated with seeds: nodes with the plugin's state share a store, and
//! servers run calls, while nodes, servers, connections and the store fail.
//!
//! FARCALL_SIM_SEED is the first seed, FARCALL_SIM_SEEDS how many; FARCALL_SIM_LOG=1 prints what
//! happens.

mod cases;
mod client;
mod faults;
mod graphs;
mod net;
mod node;
mod server;
mod store;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::World;

/// Seeds of the test suite.
const SEEDS: u64 = 1000;
/// Failures that are told in full.
const TOLD_MAX: u64 = 5;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn run(seed: u64, prints: bool) -> Result<(), String> {
    let plan = faults::plan(seed);
    let work = graphs::work(seed, plan.with_once);
    let kind = plan.kind;
    let run = || World::new(seed, plan, work, prints).run().map(drop);
    let outcome = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => outcome,
        Err(panic) => Err(panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "it panics".to_owned())),
    };
    outcome.map_err(|why| format!("{kind:?}: {why}"))
}

#[test]
fn kept_transactions_in_every_seed() {
    let first = number("FARCALL_SIM_SEED", 1);
    let count = number("FARCALL_SIM_SEEDS", SEEDS);
    let prints = number("FARCALL_SIM_LOG", 0) > 0;
    let mut failed = Vec::new();
    for seed in first..first + count {
        if let Err(why) = run(seed, prints) {
            failed.push((seed, why));
        }
    }
    let told: Vec<String> = failed
        .iter()
        .take(number("FARCALL_SIM_TOLD", TOLD_MAX) as usize)
        .map(|(seed, why)| {
            format!(
                "seed {seed}: {why}\nalone: FARCALL_SIM_SEED={seed} FARCALL_SIM_SEEDS=1 \
                FARCALL_SIM_LOG=1 cargo test --release -p farcall-transactions sim"
            )
        })
        .collect();
    let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    assert!(
        failed.is_empty(),
        "{} of {count} seeds fail: {seeds:?}\n{}",
        seeds.len(),
        told.join("\n")
    );
}
