//! TSP against TSPLIB's shortest tours, all permutations, and itself in other orders.

use farcall_wide_area::input::Source;
use farcall_wide_area::random::Random;
use farcall_wide_area::tsp::{
    Answer, Bound, LOOK_NODES, PAPER_BOUND, Pruning, Searcher, Table, prefixes, solve,
};

fn read(text: &str) -> Result<Table, String> {
    Table::read(&Source { file: "x.tsp", text }).map_err(|error| error.to_string())
}

/// Begins with the length of a simple tour, which is not optimal.
fn solve_from_nearest(table: &Table, pruning: Pruning) -> Answer {
    let start = table.nearest_neighbor_tour() as u32 + 1;
    solve(table, pruning, Bound::Shrinking(start), 2).unwrap()
}

#[test]
fn tsplibs_shortest_tours_come_out() {
    let files = [
        (include_str!("../data/gr17.tsp"), 2085),
        (include_str!("../data/gr21.tsp"), 2707),
        (include_str!("../data/burma14.tsp"), 3323),
        (include_str!("../data/ulysses16.tsp"), 6859),
    ];
    for (text, length) in files {
        let table = read(text).unwrap();
        let best = solve_from_nearest(&table, Pruning::Remainder).best.unwrap();
        assert_eq!(best.length, length);
        assert_eq!(table.length(&best.cities), Some(u64::from(length)));
        let below = solve(&table, Pruning::Remainder, Bound::Fixed(length), 1).unwrap();
        assert_eq!(below.best, None, "nothing is shorter");
    }
}

#[test]
#[ignore = "the paper's size by its own pruning: run by make soak"]
fn the_papers_size_visits_43_million_nodes() {
    let table = Table::default();
    let answer = solve(&table, Pruning::Length, Bound::Fixed(PAPER_BOUND), 4).unwrap();
    assert_eq!(answer.best.unwrap().length, PAPER_BOUND - 1);
    assert_eq!(answer.visited, 43_029_801);
}

/// The paths that begin with `path` and are shorter than `bound`.
fn paths_below(table: &Table, path: &mut Vec<u8>, length: u32, bound: u32) -> u64 {
    if length >= bound {
        return 0;
    }
    let mut count = 1;
    let last = path[path.len() - 1];
    for city in 1..table.cities() as u8 {
        if !path.contains(&city) {
            path.push(city);
            let longer = length + table.row(last.into())[usize::from(city)];
            count += paths_below(table, path, longer, bound);
            path.pop();
        }
    }
    count
}

#[test]
fn a_job_of_the_papers_table_visits_all_paths_below_its_bound() {
    let table = Table::default();
    let best = solve_from_nearest(&table, Pruning::Remainder).best.unwrap();
    assert_eq!(best.length, PAPER_BOUND - 1);
    let mut searcher = Searcher::new(&table, Pruning::Length).unwrap();
    let found = searcher.search(&[0, 5, 9], Bound::Fixed(PAPER_BOUND), &mut |_| 0).unwrap();
    let length = table.row(0)[5] + table.row(5)[9];
    let counted = paths_below(&table, &mut vec![0, 5, 9], length, PAPER_BOUND);
    assert_eq!((found.best, found.visited), (None, counted));
    assert!(counted > 1000);
}

/// The length of the shortest tour by the shortest paths over each set of cities (Bellman; Held and
/// Karp 1962).
fn shortest_by_sets(table: &Table) -> u32 {
    let others = table.cities() - 1;
    let row = |from: usize| table.row(from);
    let mut paths = vec![vec![u32::MAX; others]; 1 << others];
    (0..others).for_each(|city| paths[1 << city][city] = row(0)[city + 1]);
    for set in 1..1_usize << others {
        for last in (0..others).filter(|city| set & (1 << city) != 0) {
            let length = paths[set][last];
            for next in (0..others).filter(|city| set & (1 << city) == 0) {
                let longer = length + row(last + 1)[next + 1];
                let path = &mut paths[set | 1 << next][next];
                *path = longer.min(*path);
            }
        }
    }
    let tours = (0..others).map(|last| paths[(1 << others) - 1][last] + row(last + 1)[0]);
    tours.min().unwrap()
}

/// Many tours of equal length, which bounds alone do not tell apart.
#[test]
fn cities_in_few_places_are_solved() {
    let mut random = Random::new(2);
    let places: Vec<[u64; 2]> = (0..6).map(|_| [random.below(80), random.below(30)]).collect();
    let lines = (1..18).map(|city| {
        let [x, y] = places[random.below(6) as usize];
        format!("{city} {x} {y}\n")
    });
    let lines: String = lines.collect();
    let head = "DIMENSION: 17\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n";
    let table = read(&format!("{head}{lines}")).unwrap();
    let answer = solve_from_nearest(&table, Pruning::Remainder);
    assert_eq!(answer.best.unwrap().length, shortest_by_sets(&table));
    assert!(answer.visited < 3_000_000, "{}", answer.visited);
}

/// The shortest tour, by trying all.
fn shortest(table: &Table, path: &mut Vec<u8>, best: &mut u64) {
    if path.len() == table.cities() {
        *best = table.length(path).unwrap().min(*best);
    }
    for city in 1..table.cities() as u8 {
        if !path.contains(&city) {
            path.push(city);
            shortest(table, path, best);
            path.pop();
        }
    }
}

/// A file of a symmetric table with random weights.
fn symmetric(cities: usize, seed: u64) -> Table {
    let mut random = Random::new(seed);
    let weights = (0..cities * (cities - 1) / 2).map(|_| format!(" {}", random.below(50)));
    let head = format!("TYPE: TSP\nDIMENSION: {cities}\nEDGE_WEIGHT_TYPE: EXPLICIT\n");
    let weights: String = weights.collect();
    let text = format!("{head}EDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n{weights}\nEOF");
    read(&text).unwrap()
}

#[test]
fn both_prunings_find_the_shortest_of_all_tours() {
    for seed in 0..60 {
        let cities = 1 + seed as usize % 8;
        for table in [Table::random(cities, seed, 0..=20).unwrap(), symmetric(cities, seed)] {
            let mut best = u64::MAX;
            shortest(&table, &mut vec![0], &mut best);
            for pruning in [Pruning::Length, Pruning::Remainder] {
                for bound in [Bound::Shrinking(9999), Bound::Fixed(best as u32 + 1)] {
                    let found = solve(&table, pruning, bound, 1).unwrap().best.unwrap();
                    assert_eq!(u64::from(found.length), best, "seed {seed}, {pruning:?}");
                    assert_eq!(table.length(&found.cities), Some(best));
                }
            }
        }
    }
}

#[test]
fn nodes_and_tour_of_a_fixed_bound_depend_on_no_order() {
    for (table, pruning) in [
        (Table::random(11, 3, 1..=9).unwrap(), Pruning::Length),
        (Table::random(11, 3, 1..=9).unwrap(), Pruning::Remainder),
        (symmetric(11, 5), Pruning::Remainder),
    ] {
        let best = solve_from_nearest(&table, Pruning::Remainder).best.unwrap();
        let bound = Bound::Fixed(best.length + 1);
        let whole = solve(&table, pruning, bound, 3).unwrap();
        let jobs = prefixes(table.cities(), 3).unwrap();
        let mut visited = jobs.visited;
        let mut tours = Vec::new();
        let mut searcher = Searcher::new(&table, pruning).unwrap();
        for job in jobs.shortest_first(&table).jobs.iter().rev() {
            let found = searcher.search(job, bound, &mut |_| 0).unwrap();
            visited += found.visited;
            tours.extend(found.best);
        }
        assert_eq!((visited, tours.into_iter().min()), (whole.visited, whole.best));
    }
}

#[test]
fn depth_changes_no_node_while_no_prefix_is_pruned() {
    let table = Table::random(10, 8, 100..=200).unwrap();
    let bound = Bound::Fixed(solve_from_nearest(&table, Pruning::Length).best.unwrap().length + 1);
    let answers = [1, 2, 3, 4].map(|depth| solve(&table, Pruning::Length, bound, depth).unwrap());
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[test]
fn a_search_looks_at_the_newest_bound() {
    let table = Table::default();
    let mut searcher = Searcher::new(&table, Pruning::Length).unwrap();
    let mut looks = 0;
    let found = searcher.search(&[0], Bound::Shrinking(5000), &mut |nodes| {
        assert_eq!(nodes, LOOK_NODES);
        looks += 1;
        if looks < 5 { u32::MAX } else { 0 }
    });
    assert_eq!(looks, 5);
    assert!((5 * LOOK_NODES..6 * LOOK_NODES).contains(&found.unwrap().visited));
}

#[test]
fn prefixes_are_all_paths() {
    let made = prefixes(17, 4).unwrap();
    assert_eq!((made.jobs.len(), made.visited), (3360, 1 + 16 + 240));
    assert_eq!(made.jobs[0], [0, 1, 2, 3]);
    assert_eq!(prefixes(1, 1).unwrap().jobs, [[0]]);
    assert!(prefixes(17, 0).is_err() && prefixes(3, 4).is_err() && prefixes(65, 1).is_err());
    assert!(prefixes(60, 6).unwrap_err().contains("give a smaller depth"));
}

#[test]
fn a_prefix_that_is_no_path_is_refused() {
    let table = Table::random(5, 1, 1..=9).unwrap();
    let mut searcher = Searcher::new(&table, Pruning::Length).unwrap();
    for prefix in [&[][..], &[1], &[0, 5], &[0, 0], &[0, 2, 2], &[0, 255], &[0, 1, 2, 3, 4, 1]] {
        let refused = searcher.search(prefix, Bound::Fixed(99), &mut |_| 0).unwrap_err();
        assert!(refused.contains("is no path from city 0"), "{refused}");
    }
    assert!(Searcher::new(&Table::random(65, 1, 1..=9).unwrap(), Pruning::Length).is_err());
}

fn explicit(format: &str, weights: &str) -> Result<Table, String> {
    read(&format!(
        "NAME : x\nTYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\n\
         EDGE_WEIGHT_FORMAT : {format}\nEDGE_WEIGHT_SECTION\n{weights}\nEOF\n"
    ))
}

#[test]
fn each_format_of_a_matrix_is_the_same_table() {
    let full = explicit("FULL_MATRIX", "9 1 2 1 9 3\n2 3\n9").unwrap();
    assert_eq!(full.row(1), [1, 0, 3]);
    assert!(full.row(3).is_empty());
    for (format, weights) in [
        ("UPPER_ROW", "1 2 3"),
        ("LOWER_ROW", "1\n2 3"),
        ("UPPER_DIAG_ROW", "0 1 2 0 3 0"),
        ("LOWER_DIAG_ROW", "0 1 0 2 3 0"),
        ("LOWER_COL", "1 2 3"),
        ("UPPER_COL", "1 2 3"),
    ] {
        assert_eq!(explicit(format, weights).unwrap(), full, "{format}");
    }
}

#[test]
fn coordinates_are_rounded_as_tsplib_does() {
    let distance = |kind: &str, points: &str| {
        let head = format!("DIMENSION: 2\nEDGE_WEIGHT_TYPE: {kind}\n");
        read(&format!("{head}NODE_COORD_SECTION\n{points}\n")).unwrap().row(0)[1]
    };
    let points = "1 0.0 0.0\n2 3.2 1e0";
    assert_eq!(distance("EUC_2D", points), 3);
    assert_eq!(distance("CEIL_2D", points), 4);
    assert_eq!(distance("MAN_2D", points), 4);
    assert_eq!(distance("MAX_2D", points), 3);
    assert_eq!(distance("ATT", "2 0 0\n1 10 20"), 8);
    assert_eq!(distance("GEO", "1 16.47 96.10\n2 16.47 94.44"), 153);
}

#[test]
fn mistakes_in_a_file_have_a_place_and_a_fix() {
    let head = "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\n";
    let with = |rest: &str| read(&format!("{head}{rest}")).unwrap_err();
    let cases = [
        (read("").unwrap_err(), "x.tsp:1:1: the file has no EDGE_WEIGHT_SECTION"),
        (read("TYPE: SOP").unwrap_err(), "x.tsp:1:7: `SOP` is not supported; give TSP or ATSP"),
        (read("TYPE").unwrap_err(), "x.tsp:1:1: `TYPE` has no value; write `TYPE: VALUE`"),
        (read("DIMENSION: 0").unwrap_err(), "x.tsp:1:12: `0` is not supported; give a whole"),
        (read("DIMENSION: 99999999999999999999").unwrap_err(), "give a whole number of cities"),
        (read("\n  Dim: 3").unwrap_err(), "x.tsp:2:3: unknown key `Dim`"),
        (with("EDGE_WEIGHT_TYPE: EUC_3D"), "x.tsp:3:19: `EUC_3D` is not supported; give EXPLICIT"),
        (with("EDGE_WEIGHT_SECTION\n1"), "x.tsp:3:1: weights of a file whose"),
        (with("NODE_COORD_SECTION\n1 0 0\n1 1 1"), "x.tsp:5:1: `1` where the number of a new"),
        (with("NODE_COORD_SECTION\n1 0 0\n3 1 1"), "x.tsp:5:1: `3` where the number of a new"),
        (with("NODE_COORD_SECTION\n1 0 nan"), "x.tsp:4:5: `nan` where a coordinate"),
        (with("NODE_COORD_SECTION\n1 0 1e8"), "x.tsp:4:5: `1e8` where a coordinate"),
        (with("NODE_COORD_SECTION\n1 0 0"), "x.tsp:4:1: the file ends where the number of a new"),
        (with("NODE_COORD_SECTION\n1 0 0\n2 0 0 7"), "x.tsp:5:7: `7` is more than the section"),
        (read("NODE_COORD_SECTION").unwrap_err(), "stands before DIMENSION; move it behind"),
        (read("DIMENSION: 2\nNODE_COORD_SECTION").unwrap_err(), "before EDGE_WEIGHT_TYPE"),
        (explicit("FULL", "").unwrap_err(), "x.tsp:5:22: `FULL` is not supported; give FULL_M"),
        (explicit("FUNCTION", "").unwrap_err(), "x.tsp:6:1: EDGE_WEIGHT_FORMAT is missing"),
        (explicit("UPPER_ROW", "1 -2 3").unwrap_err(), "x.tsp:7:3: `-2` where a whole distance"),
        (explicit("UPPER_ROW", "1 2").unwrap_err(), "x.tsp:8:1: `EOF` where a whole distance"),
        (explicit("UPPER_ROW", "1 2 3 4").unwrap_err(), "x.tsp:7:7: `4` is more than the section"),
        (explicit("UPPER_ROW", "1 2 33554433").unwrap_err(), "x.tsp:7:5: `33554433` where"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
}

#[test]
fn any_damage_to_a_file_is_read_or_refused() {
    let text = include_str!("../data/gr17.tsp");
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b" \n:0-9AE\xff"[random.below(9) as usize];
        }
        bytes.truncate(1 + random.below(2 * bytes.len() as u64) as usize);
        let _ = read(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn absurd_tables_are_refused() {
    assert!(Table::random(0, 1, 1..=9).is_err());
    assert!(Table::random(5000, 1, 1..=9).unwrap_err().contains("give 1 to 4096"));
    let empty = std::ops::RangeInclusive::new(9, 1);
    assert!(Table::random(5, 1, empty).unwrap_err().starts_with("distances from 9 to 1"));
    assert!(Table::random(5, 1, 1..=u32::MAX).is_err());
    assert_eq!(Table::random(5, 1, 1..=9).unwrap().length(&[0, 1, 2, 3, 3]), None);
}
