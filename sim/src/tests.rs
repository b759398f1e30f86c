//! Every plan of `plans/` with many seeds, replays, and that a wrong world is noticed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Plan, World};

fn plans() -> Vec<(String, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file: &Path| Plan::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    files
        .iter()
        .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), read(file)))
        .collect()
}

/// Seeds of each plan where more are to be run than it says (`make soak`).
const SEEDS: &str = "FARCALL_SIM_SEEDS";

fn seeds(plan: &Plan) -> u64 {
    std::env::var(SEEDS)
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .map_or(plan.seeds, |more: u64| more.max(plan.seeds))
}

#[test]
fn promises_hold_in_every_plan() {
    let mut runs = 0;
    for (name, plan) in plans() {
        let mut kinds = BTreeSet::new();
        let mut returned = 0;
        for seed in plan.seed..plan.seed + seeds(&plan) {
            let report = World::run(&plan, seed);
            kinds.extend(report.failed.into_keys().map(str::to_owned));
            returned += report.returned;
            runs += 1;
        }
        assert!(returned > 0, "{name}: no call returns");
        assert_eq!(
            kinds,
            plan.failures.iter().cloned().collect(),
            "{name}: other failures than the plan says"
        );
    }
    assert!(runs >= 300, "only {runs} worlds");
}

#[test]
fn a_seed_gives_the_same_trace_again_and_another_seed_another() {
    for (name, plan) in plans() {
        let first = World::run(&plan, plan.seed);
        assert_eq!(first, World::run(&plan, plan.seed), "{name}: the replay differs");
        assert_ne!(
            first.trace,
            World::run(&plan, plan.seed + 1).trace,
            "{name}: the seed does not matter"
        );
    }
}

#[test]
fn a_plan_with_a_wrong_key_is_refused() {
    assert!(Plan::read("clients = 1\nspeed = 2").unwrap_err().to_string().contains("speed"));
}

#[test]
fn a_plan_of_several_servers_is_refused_with_the_key_that_they_do_without() {
    let read = |text: &str| Plan::read(text).unwrap_err().to_string();
    let several = "several = { servers = 2, metaservers = 1 }";
    assert!(Plan::read(several).is_ok());
    assert!(read(&format!("pause = 0.1\n{several}")).contains("pause: "));
    assert!(read("several = { servers = 2 }").contains("several.metaservers: "));
    assert!(read("several = { server = 2 }").contains("servers"));
}
