//! The 15-puzzle against Korf's table, a breadth-first count, and inputs that are refused.

use std::collections::HashMap;

use farcall_wide_area::ida::{
    Board, Instance, Job, Tally, read_instances, search, solve, solve_in_jobs, split,
};
use farcall_wide_area::input::Source;
use farcall_wide_area::random::Random;

const KORF: Source<'_> = Source { file: "korf50.tsv", text: include_str!("../data/korf50.tsv") };

fn instance(number: u32) -> Instance {
    let instances = read_instances(&KORF).expect("the list is well-formed");
    instances.into_iter().find(|instance| instance.number == number).expect("it is in the list")
}

fn assert_solved(number: u32, solutions: u64, nodes: u64) {
    let instance = instance(number);
    let solved = solve(instance.board);
    assert_eq!((solved.moves, solved.solutions, solved.nodes), (instance.moves, solutions, nodes));
}

#[test]
fn the_list_agrees_with_its_own_columns() {
    let instances = read_instances(&KORF).expect("the list is well-formed");
    assert_eq!(instances.len(), 50);
    for instance in &instances {
        assert_eq!(Job::root(instance.board).lower_bound(), instance.distance);
    }
}

#[test]
fn all_solutions_of_three_instances() {
    assert_solved(42, 1, 532_809);
    assert_solved(12, 1, 329_932);
    assert_solved(19, 2, 2_489_380);
}

#[test]
#[ignore = "ten of Korf's instances: run by make soak"]
fn optimal_moves_of_ten_instances() {
    for number in [9, 28, 30, 31, 45, 47, 48, 2, 13, 23] {
        let instance = instance(number);
        let solved = solve(instance.board);
        assert_eq!(solved.moves, instance.moves);
        // All solutions take no fewer nodes than the first; each visited one generates about two.
        assert!(solved.solutions > 0 && 3 * solved.nodes > instance.recomputed);
    }
}

#[test]
fn where_the_tree_is_cut_changes_nothing() {
    let board = instance(12).board;
    let whole = solve(board);
    for depth in [1, 2, 5, 13, 45, 80] {
        assert_eq!(solve_in_jobs(board, depth), whole, "depth {depth}");
    }
}

#[test]
fn jobs_may_be_expanded_one_by_one() {
    let root = Job::root(instance(12).board);
    let mut jobs = vec![root];
    let mut expanded = Tally::default();
    while let Some(job) = jobs.pop() {
        let sent = Job::from_bytes(&job.to_bytes()).expect("a job survives its journey");
        assert_eq!(sent, job);
        expanded.add(&split(&sent, 41, 1, &mut |child| jobs.push(child)));
    }
    assert_eq!(expanded, search(&root, 41));
}

/// Shortest ways from the goal to all boards within a number of moves, by breadth.
fn ways(moves: u32) -> HashMap<[u8; 16], (u32, u64)> {
    let mut known = HashMap::from([(*Board::GOAL.tiles(), (0, 1))]);
    let mut layer = vec![*Board::GOAL.tiles()];
    for depth in 1..=moves {
        let mut next = Vec::new();
        for tiles in &layer {
            let count = known[tiles].1;
            let blank = tiles.iter().position(|tile| *tile == 0).expect("a board has a blank");
            let beside = (0..16usize).filter(|square| {
                (square / 4).abs_diff(blank / 4) + (square % 4).abs_diff(blank % 4) == 1
            });
            for square in beside {
                let mut moved = *tiles;
                moved.swap(blank, square);
                let entry = known.entry(moved).or_insert_with(|| {
                    next.push(moved);
                    (depth, 0)
                });
                entry.1 += if entry.0 == depth { count } else { 0 };
            }
        }
        layer = next;
    }
    known
}

#[test]
fn counts_agree_with_breadth_first() {
    for (tiles, (moves, count)) in ways(13) {
        let text = tiles.map(|tile| tile.to_string()).join(" ");
        let board = Board::parse(&Source { file: "test", text: &text }).expect("it is solvable");
        let solved = solve(board);
        assert_eq!((solved.moves, solved.solutions), (moves, count), "{text}");
    }
}

fn refused(text: &str) -> String {
    let source = Source { file: "the command line", text };
    Board::parse(&source).expect_err("it is refused").to_string()
}

#[test]
fn boards_that_are_none_are_refused() {
    let cases = [
        ("", "the command line:1:1: a board has 16 tiles, here are 0"),
        ("1 2", "the command line:1:3: a board has 16 tiles, here are 2"),
        ("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0", "the command line:1:39: a board has 16"),
        ("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 16", "the command line:1:36: `16` is no tile"),
        ("0 1 2 3 4 5 6 7 8 9 10 -1 12 13 14 15", "the command line:1:24: `-1` is no tile"),
        ("0 1 2 3 4 5 6 7 8 9 10 10 12 13 14 15", "the command line:1:24: tile 10 is there"),
        ("0 2 1 3 4 5 6 7 8 9 10 11 12 13 14 15", "the command line:1:1: no moves lead"),
    ];
    for (text, expected) in cases {
        let error = refused(text);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn lists_that_are_none_are_refused() {
    let columns = read_instances(&Source { file: "f", text: "# list\n1 2 3\n" });
    let error = columns.expect_err("too few columns").to_string();
    assert!(error.starts_with("f:2:5: 3 columns, 21 expected"), "{error}");
    let line = "1 x 3 4 5 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
    let number = read_instances(&Source { file: "f", text: line });
    let error = number.expect_err("x is no number").to_string();
    assert!(error.starts_with("f:1:3: `x` is no whole number"), "{error}");
}

#[test]
fn random_bytes_are_no_panic() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let bytes = random.next_bits().to_le_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let _ = read_instances(&Source { file: "f", text: &text });
        let _ = Board::parse(&Source { file: "f", text: &text });
        let mut job = Job::root(Board::GOAL).to_bytes();
        let at = random.below(10) as usize;
        job[at] = random.next_bits() as u8;
        if let Some(job) = Job::from_bytes(&job) {
            search(&job, job.lower_bound());
        }
    }
}
