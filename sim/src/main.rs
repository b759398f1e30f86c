//! Runs one experiment. `farcall-sim PLAN.toml [SEED]` tests faults: it prints everything that
//! happened, and how the calls ended. `farcall-sim study PLAN.toml [SEED] [--csv | --json]` is about
//! placement: it prints how long calls took and where they ran. `farcall-sim decide` times decisions,
//! and `farcall-sim flows` prints when the flows of a plan end.

use std::process::ExitCode;

use farcall_sim::study::{self, FlowPlan, Study, StudyPlan};
use farcall_sim::{Plan, World};

const USAGE: &str = "usage: farcall-sim PLAN.toml [SEED]
       farcall-sim study PLAN.toml [SEED] [--csv | --json]
       farcall-sim decide [SERVERS]
       farcall-sim flows PLAN.toml";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"study", words)) => run_study(words),
        Some((&"decide", words)) => time_decisions(words.first().copied()),
        Some((&"flows", words)) => run_flows(words),
        Some((file, words)) => run_world(file, words.first().copied()),
        None => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("farcall: {message}");
            ExitCode::from(2)
        }
    }
}

fn read(file: &str) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

/// The seed that a word names; a plan's own without one.
fn seed(word: Option<&str>, own: u64) -> Result<u64, String> {
    let Some(word) = word else { return Ok(own) };
    word.parse().map_err(|_| format!("\"{word}\" is not a seed: write a whole number\n{USAGE}"))
}

fn run_world(file: &str, word: Option<&str>) -> Result<(), String> {
    let plan = Plan::read(&read(file)?).map_err(|error| error.to_string())?;
    let report = World::run(&plan, seed(word, plan.seed)?);
    report.trace.iter().for_each(|line| println!("{line}"));
    println!("returned {}, failed {:?}", report.returned, report.failed);
    Ok(())
}

fn time_decisions(word: Option<&str>) -> Result<(), String> {
    let wrong = |word| format!("\"{word}\" is not a number of servers\n{USAGE}");
    let servers = word.map_or(Ok(1000), |word| word.parse().map_err(|_| wrong(word)))?;
    for sites in [1, servers] {
        let took = study::decide(servers, sites).map_err(|error| error.to_string())?;
        println!("{servers} servers at {sites} sites: {took:.2} µs a call");
    }
    Ok(())
}

fn run_flows(words: &[&str]) -> Result<(), String> {
    let [file] = words else { return Err(USAGE.to_owned()) };
    let plan = FlowPlan::read(file, &read(file)?).map_err(|error| error.to_string())?;
    study::flows(&plan).iter().for_each(|end| println!("{end}"));
    Ok(())
}

fn run_study(words: &[&str]) -> Result<(), String> {
    let (options, words): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with("--"));
    let file = words.first().ok_or(USAGE)?;
    let show = match options[..] {
        [] => study::table,
        ["--csv"] => study::csv,
        ["--json"] => study::json,
        _ => return Err(format!("unknown option {}\n{USAGE}", options.join(" "))),
    };
    let plan = StudyPlan::read(file, &read(file)?).map_err(|error| error.to_string())?;
    let seed = seed(words.get(1).copied(), plan.seed)?;
    let results = Study::run(&plan, seed).map_err(|error| error.to_string())?;
    print!("{}", show(&results));
    Ok(())
}
