//! The traveling salesman's problem: members take prefixes of tours from a bag, and share the length of
//! the shortest tour (wide-area paper, section 4.2).
//!
//! Usage: tsp [FILE.tsp | CITIES SEED] [--depth N]; without arguments the paper's size: 17 cities, with a bound that
//! is fixed before, so that every run visits the same nodes. A file is of TSPLIB.

use std::process::ExitCode;

use farcall_wide::{Error, ErrorKind, Fold, Member, Queues, Result};
use farcall_wide_area::input::Source;
use farcall_wide_area::tsp::{Bound, PAPER_BOUND, Pruning, Searcher, Table, prefixes};

/// Cities of a prefix.
const DEPTH: usize = 5;
/// The same where what is left is bounded well: fewer and larger jobs.
const DEPTH_OF_FILES: usize = 3;
/// Distances of random tables.
const DISTANCES: [u32; 2] = [100, 1000];

fn main() -> ExitCode {
    farcall_wide::main(program)
}

/// What is solved, and how.
struct Task {
    table: Table,
    pruning: Pruning,
    bound: Bound,
    depth: usize,
}

fn program(me: &Member) -> Result<()> {
    let task = task(std::env::args().skip(1).collect())?;
    let tours = me.bag("tours", Queues::Central)?;
    let shortest = me.bound("shortest", Fold::Min, u64::from(task.bound.limit()))?;
    let mut searcher = Searcher::new(&task.table, task.pruning).map_err(refused)?;
    let mut visited = 0;
    if me.rank() == 0 {
        let prefixes = prefixes(task.table.cities(), task.depth).map_err(refused)?;
        visited = prefixes.visited;
        me.work("tsp", visited)?;
        tours.put(prefixes.shortest_first(&task.table).jobs)?;
    }
    while let Some(job) = tours.next_job()? {
        let mut counted = 0;
        let mut trouble = Ok(());
        let limit = shortest.value()? as u32;
        let bound = match task.bound {
            Bound::Fixed(_) => task.bound,
            Bound::Shrinking(_) => Bound::Shrinking(limit),
        };
        let mut look = |nodes: u64| {
            let newest = me.work("tsp", nodes - counted).and_then(|()| shortest.value());
            counted = nodes;
            newest.map_or_else(
                |error| {
                    trouble = Err(error);
                    limit
                },
                |newest| newest as u32,
            )
        };
        let found = searcher.search(&job, bound, &mut look).map_err(refused)?;
        trouble?;
        me.work("tsp", found.visited - counted)?;
        visited += found.visited;
        if let Some(tour) = found.best {
            shortest.offer(u64::from(tour.length))?;
        }
    }
    let length = shortest.last(me)?;
    let visited = me.all_reduce(Fold::Sum, &[visited])?[0];
    let found = match length < u64::from(task.bound.limit()) {
        true => format!("length {length}"),
        false => "no tour is shorter than the bound".to_owned(),
    };
    me.answer(&match task.bound {
        Bound::Fixed(_) => format!("{found}, {visited} nodes"),
        // How many nodes are visited depends on when a bound is heard of.
        Bound::Shrinking(_) => found,
    })
}

fn task(mut arguments: Vec<String>) -> Result<Task> {
    let number = |text: &String| {
        text.parse::<u64>().map_err(|_| wrong("an argument is no number").with("argument", text))
    };
    let mut depth = None;
    if let Some(at) = arguments.iter().position(|argument| argument == "--depth") {
        let given = arguments.get(at + 1).ok_or_else(|| wrong("--depth takes a number"))?;
        depth = Some(number(given)? as usize);
        arguments.drain(at..at + 2);
    }
    let table = match arguments.as_slice() {
        [] => {
            let bound = Bound::Fixed(PAPER_BOUND);
            let depth = depth.unwrap_or(DEPTH);
            let table = Table::default();
            return Ok(Task { table, pruning: Pruning::Length, bound, depth });
        }
        [file] => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Error::system("read a table", error).with("file", file))?;
            let source = Source { file, text: &text };
            Table::read(&source).map_err(|error| refused(error.to_string()))?
        }
        [cities, seed] => {
            let [least, most] = DISTANCES;
            Table::random(number(cities)? as usize, number(seed)?, least..=most).map_err(refused)?
        }
        _ => return Err(wrong("it takes a file, or cities and a seed")),
    };
    let first = table.nearest_neighbor_tour().saturating_add(1);
    let bound = Bound::Shrinking(u32::try_from(first).unwrap_or(u32::MAX));
    let depth = depth.unwrap_or(DEPTH_OF_FILES).min(table.cities());
    Ok(Task { table, pruning: Pruning::Remainder, bound, depth })
}

fn refused(message: String) -> Error {
    wrong("this cannot be solved").with("because", message)
}

fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "read the arguments", message)
        .fix("tsp [FILE.tsp | CITIES SEED] [--depth N]")
}
