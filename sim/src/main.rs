//! Runs one experiment: `farcall-sim PLAN.toml [SEED]` prints everything that happened, and how the
//! calls ended.

use std::process::ExitCode;

use farcall_sim::{Plan, World};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let plan = words
        .first()
        .map(|file| std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}")));
    let plan = plan.unwrap_or_else(|| Err("usage: farcall-sim PLAN.toml [SEED]".to_owned()));
    let run =
        plan.and_then(|text| Plan::read(&text).map_err(|error| error.to_string())).map(|plan| {
            let seed = words.get(1).and_then(|seed| seed.parse().ok()).unwrap_or(plan.seed);
            World::run(&plan, seed)
        });
    match run {
        Ok(report) => {
            report.trace.iter().for_each(|line| println!("{line}"));
            println!("returned {}, failed {:?}", report.returned, report.failed);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
