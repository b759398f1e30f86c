//! What the studies of `studies/` show. Virtual time is exact, so the figures are tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use farcall_sim::study::{self, Ran, Results, Study, StudyPlan};

fn text(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies").join(name);
    std::fs::read_to_string(file).unwrap()
}

fn run(name: &str, text: &str, seed: u64) -> Results {
    let plan = StudyPlan::read(name, text).unwrap();
    Study::run(&plan, seed).unwrap()
}

fn placed_by(name: &str, policy: &str, seed: u64) -> Results {
    run(name, &format!("placement = \"{policy}\"\n{}", text(name)), seed)
}

fn queued_by(name: &str, queue: &str, seed: u64) -> Results {
    let lines = text(name);
    let line = lines.lines().find(|line| line.starts_with("queue = ")).unwrap();
    run(name, &lines.replace(line, &format!("queue = \"{queue}\"")), seed)
}

fn response_s(results: &Results) -> f64 {
    results.spread(Ran::response_s).mean
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn all_studies_run_and_a_seed_gives_the_same_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().to_string_lossy().into_owned();
        let one = run(&name, &text(&name), 1);
        assert_eq!(one.failed, 0, "{name}");
        assert_eq!(study::csv(&one), study::csv(&run(&name, &text(&name), 1)), "{name}");
        assert_ne!(study::csv(&one), study::csv(&run(&name, &text(&name), 2)), "{name}");
        assert!(study::json(&one).starts_with("{\"calls\":"), "{name}");
    }
}

/// Ninf paper, section 4.2.2: load alone sends all calls over the thin link.
#[test]
fn finish_first_beats_load_and_turns_where_one_link_is_thin() {
    let finish = response_s(&placed_by("wan-one-site.toml", "finish-first", 1));
    let load = response_s(&placed_by("wan-one-site.toml", "load-only", 1));
    let turns = response_s(&placed_by("wan-one-site.toml", "round-robin", 1));
    assert!(load / finish >= 7.0, "{load} against {finish}");
    assert!(turns / finish >= 2.0, "{turns} against {finish}");
}

#[test]
fn no_placement_gains_where_all_servers_are_behind_one_link() {
    let finish = response_s(&placed_by("one-thin-link.toml", "finish-first", 1));
    let load = response_s(&placed_by("one-thin-link.toml", "load-only", 1));
    assert!((0.95..=1.05).contains(&(finish / load)), "{finish} against {load}");
}

/// One cell of the paper's tables 6 and 7: the mean of what callers saw, in Mflop/s.
fn paper_cell(threads: &str, n: u32, clients: u32) -> f64 {
    let plan = text("paper-wan.toml")
        .replace("threads = \"one\"", &format!("threads = \"{threads}\""))
        .replace("n = 1000", &format!("n = {n}"))
        .replace("count = 16", &format!("count = {clients}"))
        .replace("warm_up = 64", &format!("warm_up = {}", 4 * clients));
    run("paper-wan.toml", &plan, 1).spread(Ran::mflops).mean
}

#[test]
fn the_paper_s_tables_6_and_7_come_out() {
    // The means of the column "Performance" for 2, 4, 8 and 16 clients. The paper's own cell of
    // table 7 for n = 600 and two clients is lower than that of table 6, though four processors
    // cannot be slower than one: it is left out.
    let table = [
        ("one", 600, [4.69, 2.41, 1.14, 0.54]),
        ("one", 1000, [7.18, 3.66, 1.83, 0.90]),
        ("one", 1400, [9.29, 5.38, 2.50, 1.26]),
        ("all", 600, [f64::NAN, 2.18, 1.08, 0.54]),
        ("all", 1000, [6.97, 3.97, 1.82, 0.91]),
        ("all", 1400, [9.77, 5.50, 2.55, 1.25]),
    ];
    let mut errors = Vec::new();
    for (threads, n, row) in table {
        for (clients, paper) in [2, 4, 8, 16].into_iter().zip(row) {
            let error = (paper_cell(threads, n, clients) / paper - 1.0).abs();
            assert!(error.is_nan() || error <= 0.15, "{threads}, n = {n}, c = {clients}: {error}");
            errors.extend(Some(error).filter(|error| !error.is_nan()));
        }
    }
    assert!(mean(errors.iter().copied()) <= 0.05, "{errors:?}");
}

/// Ninf paper, section 5.3.
#[test]
fn calls_that_fit_pass_those_that_do_not() {
    let figure = |queue| {
        let results = (1..=20).map(|seed| queued_by("processors.toml", queue, seed));
        mean(results.map(|results| response_s(&results)))
    };
    let first_come = figure("first-come");
    for queue in ["fit-processors", "fit-most-processors"] {
        let gain = first_come / figure(queue);
        assert!(gain >= 2.5, "{queue}: {gain}");
    }
}

/// Ninf paper, section 5.2: calls that have room beside one another share a turn.
#[test]
fn co_scheduled_calls_wait_for_nobody_and_run_longer() {
    let results = queued_by("processors.toml", "co-schedule", 1);
    assert!(results.spread(Ran::wait_s).max < 1e-9);
    let first_come = queued_by("processors.toml", "first-come", 1);
    assert!(response_s(&results) < response_s(&first_come));
    let run_s = |ran: &Ran| ran.response_s() - ran.wait_s();
    assert!(results.spread(run_s).mean > first_come.spread(run_s).mean);
}

/// Ninf paper, table 8.
#[test]
fn clients_of_ep_share_the_processors_alone() {
    for (clients, paper) in [(1, 0.167), (4, 0.166), (8, 0.084), (16, 0.042)] {
        let plan = text("paper-ep.toml").replace("count = 16", &format!("count = {clients}"));
        let found = run("paper-ep.toml", &plan, 1).spread(Ran::mflops).mean;
        assert!((found / paper - 1.0).abs() < 0.05, "{clients}: {found}");
    }
}

/// Ninf paper, section 5.2.
#[test]
fn the_shortest_first_halves_the_time_and_passes_nobody_for_ever() {
    let seeds = || 1..=10;
    let both = seeds().map(|seed| {
        let first_come = queued_by("shortest.toml", "first-come", seed);
        (first_come, queued_by("shortest.toml", "shortest-first", seed))
    });
    let (gains, waits): (Vec<f64>, Vec<f64>) = both
        .map(|(first_come, shortest)| {
            let gain = response_s(&first_come) / response_s(&shortest);
            let wait = |results: &Results| results.spread(Ran::wait_s).max;
            (gain, wait(&shortest) / wait(&first_come))
        })
        .unzip();
    assert!(mean(gains.iter().copied()) >= 1.6, "{gains:?}");
    assert!(waits.iter().all(|wait| *wait <= 2.2), "{waits:?}");
}

#[test]
fn no_call_is_lost_with_its_server() {
    let results = run("server-dies.toml", &text("server-dies.toml"), 1);
    assert_eq!((results.ended(), results.failed), (1500, 0));
    let late = results.ran.iter().filter(|ran| ran.submitted.seconds() > 200.0);
    let fast = |ran: &&Ran| ran.server.as_deref() == Some("fast");
    let after: Vec<&Ran> = late.collect();
    let part = after.iter().copied().filter(fast).count() as f64 / after.len() as f64;
    assert!(part < 0.5, "the thin link is avoided: {part}");
}

#[test]
fn a_wrong_plan_is_told_with_its_line_and_the_nearest_key() {
    let wrong = |plan: &str| StudyPlan::read("p.toml", plan).unwrap_err().to_string();
    let shown = wrong(&text("shortest.toml").replace("mflops = 100", "mflop = 100"));
    assert!(shown.contains("line") && shown.contains("did you mean mflops"), "{shown}");
    let runs = |plan: &str| {
        let plan = StudyPlan::read("p.toml", plan).unwrap();
        Study::run(&plan, 1).unwrap_err().to_string()
    };
    let plan = text("shortest.toml");
    for (right, mistake, hint) in [
        ("queue = \"shortest-first\"", "queue = \"shortest\"", "shortest-first"),
        ("at = \"two\"", "at = \"tow\"", "did you mean two"),
        ("routine = \"linpack\"", "routine = \"linpak\"", "did you mean linpack"),
        ("sizes = { n =", "sizes = { m =", "no parameter m"),
        ("mflops = 100", "mflops = 0", "above 0"),
        ("[routine.linpack]", "placement = \"fastest\"\n[routine.linpack]", "placement"),
        ("Define linpack(", "Define linpack((", "routine"),
    ] {
        let shown = runs(&plan.replace(right, mistake));
        assert!(shown.contains(hint), "{mistake}: {shown}");
    }
}
