//! ASP against Dijkstra's algorithm from each vertex, and itself in bands and widths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use farcall_wide_area::asp::{
    Band, Distance, Generated, Graph, Summary, VERTICES_MAX, Width, solve, solve_with,
};
use farcall_wide_area::input::Source;
use farcall_wide_area::random::Random;
use farcall_wide_area::split;

fn generated(vertices: usize, length_max: u32, absent: u16) -> Graph {
    Graph::generated(Generated { seed: 7, vertices, length_max, absent }).unwrap()
}

fn read(text: &str) -> Result<Graph, String> {
    Graph::read(&Source { file: "x.mtx", text }).map_err(|error| error.to_string())
}

/// The distances from a vertex (Dijkstra).
fn distances_from(graph: &Graph, from: usize) -> Vec<Option<u32>> {
    let mut distances = vec![None; graph.vertices()];
    let mut open = BinaryHeap::from([(Reverse(0), from)]);
    while let Some((Reverse(length), vertex)) = open.pop() {
        if distances[vertex].is_none() {
            distances[vertex] = Some(length);
            graph.edges_from(vertex, &mut |to, edge| open.push((Reverse(length + edge), to)));
        }
    }
    distances
}

/// Solves and compares each distance; returns the summary.
fn check<T: Distance>(graph: &Graph) -> Summary {
    let (answer, band) = solve_with::<T>(graph);
    let mut expected = Summary { checksum: answer.summary.checksum, sum: 0, unreachable: 0 };
    for from in 0..graph.vertices() {
        let row: Vec<_> = band.row(from).unwrap().iter().map(|cell| cell.length()).collect();
        let distances = distances_from(graph, from);
        expected.sum += distances.iter().flatten().map(|length| u64::from(*length)).sum::<u64>();
        expected.unreachable += distances.iter().filter(|length| length.is_none()).count() as u64;
        assert_eq!(row, distances, "from {from}");
    }
    assert_eq!(answer.summary, expected);
    expected
}

#[test]
fn distances_are_dijkstras() {
    for vertices in [1, 2, 3, 17, 60] {
        for absent in [0, 30_000, 60_000, 65_000, u16::MAX] {
            let graph = generated(vertices, 1000, absent);
            assert_eq!(check::<u16>(&graph), check::<u32>(&graph));
            assert_eq!(solve(&graph).summary, check::<u32>(&graph));
        }
    }
}

#[test]
fn long_distances_need_four_bytes() {
    let graph = generated(40, 9_000_000, 62_000);
    assert_eq!(graph.width(), Width::Four);
    let summary = check::<u32>(&graph);
    assert!(summary.sum > 40 * 40 * 65_536 && summary.unreachable > 0, "{summary:?}");
    assert_eq!(generated(40, 65_534, 0).width(), Width::Two);
    assert_eq!(generated(40, 65_535, 0).width(), Width::Four);
    assert_eq!(generated(40, 65_534 / 39, 9).width(), Width::Two);
    assert_eq!(generated(40, 65_534 / 39 + 1, 9).width(), Width::Four);
}

#[test]
fn the_longest_path_of_each_width_fits() {
    for (length, width) in [(21_844, Width::Two), ((u32::MAX / 2 - 1) / 3, Width::Four)] {
        let entries: String =
            (1..4).map(|from| format!("{from} {} {length}\n", from + 1)).collect();
        let text = format!("%%MatrixMarket matrix coordinate integer general\n4 4 3\n{entries}");
        let graph = read(&text).unwrap();
        assert_eq!(graph.width(), width);
        let summary = solve(&graph).summary;
        assert_eq!((summary.sum, summary.unreachable), (10 * u64::from(length), 6));
    }
}

/// Bands of members, each of which relaxes its rows in two pieces.
fn solve_in_bands(graph: &Graph, members: usize) -> (Summary, u64) {
    let vertices = graph.vertices();
    let rows = |rank| split::part(vertices, members, rank);
    let mut bands: Vec<Band<u16>> = (0..members).map(|rank| Band::new(graph, rows(rank))).collect();
    let mut through = vec![0; vertices];
    let mut relaxed = 0;
    for step in 0..vertices {
        let owner = split::owner(vertices, members, step).unwrap();
        assert!(bands[owner].copy_row(step, &mut through));
        for band in &mut bands {
            let middle = band.rows().start + band.rows().len() / 3;
            relaxed += band.relax(step, middle..vertices, &through);
            relaxed += band.relax(step, 0..middle, &through);
        }
    }
    let mut summary = Summary::default();
    bands.iter().for_each(|band| summary.add(&band.summary()));
    (summary, relaxed)
}

#[test]
fn bands_change_nothing() {
    for absent in [0, 60_000] {
        let graph = generated(50, 100, absent);
        let answer = solve(&graph);
        for members in [1, 2, 7, 15, 60] {
            assert_eq!(solve_in_bands(&graph, members), (answer.summary, answer.relaxed));
        }
    }
    assert_eq!(solve(&generated(50, 100, 0)).relaxed, 50 * 50 * 50);
}

#[test]
#[ignore = "the paper's size: run by make soak"]
fn the_papers_size_has_its_answer() {
    let answer = solve(&Graph::generated(Generated::default()).unwrap());
    assert_eq!((answer.summary.sum, answer.summary.unreachable), (54_453_715, 0));
    assert_eq!(answer.relaxed, 27_000_000_000);
}

#[test]
fn a_file_is_read_in_each_form() {
    let banner = "%%MatrixMarket MATRIX coordinate integer";
    let general = format!("{banner} general\n% a comment\n\n3 3 4\n1 2 5\n2 1 5\n3 3 9\n 3 1 2\n");
    let summary = solve(&read(&general).unwrap()).summary;
    assert_eq!((summary.sum, summary.unreachable), (5 + 5 + 2 + 7, 2));
    let symmetric = format!("{banner} symmetric\n3 3 2\n2 1 5\n3 1 2\n");
    let summary = solve(&read(&symmetric).unwrap()).summary;
    assert_eq!((summary.sum, summary.unreachable), (2 * (5 + 2 + 7), 0));
    let array = "%%MatrixMarket matrix array integer general\n2 2\n0 3\n4 0\n";
    assert_eq!(solve(&read(array).unwrap()).summary.sum, 7);
    let array = "%%MatrixMarket matrix array integer symmetric\n2 2\n0 3\n0\n";
    assert_eq!(solve(&read(array).unwrap()).summary.sum, 6);
    let tsplib = read(include_str!("../data/gr17.tsp")).unwrap();
    assert_eq!(tsplib.vertices(), 17);
    assert_eq!(check::<u16>(&tsplib).unreachable, 0);
}

#[test]
fn mistakes_in_a_file_have_a_place_and_a_fix() {
    let with = |rest: &str| {
        read(&format!("%%MatrixMarket matrix coordinate integer symmetric\n{rest}")).unwrap_err()
    };
    let cases = [
        (read("%%MatrixMarket matrix").unwrap_err(), "x.mtx:1:22: here `%%MatrixMarket matrix coo"),
        (read("%%MatrixMarket matrix coordinate real general").unwrap_err(), "x.mtx:1:34: `real`"),
        (read("% a comment").unwrap_err(), "x.mtx:1:1: `%` where"),
        (with(""), "x.mtx:2:1: the file ends where the number of rows was expected"),
        (with("0 0 0"), "x.mtx:2:1: `0` where the number of rows was expected, a whole number"),
        (with("% x\n2 3 1"), "x.mtx:3:3: `3` where the number of columns, as many as rows,"),
        (with("2 2 5"), "x.mtx:2:5: `5` where the number of entries was expected, a whole number"),
        (with("2 2 1\n1 2 3"), "x.mtx:3:3: `2` where an entry's column was expected, a whole"),
        (with("2 2 1\n2 1 -3"), "x.mtx:3:5: `-3` where an entry's value was expected"),
        (with("2 2 1\n2 1 1.5"), "x.mtx:3:5: `1.5` where an entry's value"),
        (with("2 2 1\n2 1 2147483647"), "a whole number from 0 to 2147483646"),
        (with("2 2 2\n2 1 1\n2 1 1"), "x.mtx:4:1: row 2, column 1 stands here again; remove one"),
        (with("2 2 1\n2 1 1\n2 2 1"), "x.mtx:4:1: `2` is more than the file announced"),
        (with("2 2 1\n2 1"), "x.mtx:3:4: the file ends where an entry's value was expected"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
}

#[test]
fn any_damage_to_a_file_is_read_or_refused() {
    let text =
        "%%MatrixMarket matrix coordinate integer general\n3 3 4\n1 2 5\n2 1 5\n3 3 9\n3 1 2";
    let mut random = Random::new(6);
    for _ in 0..5000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b" \n%09-x\xff"[random.below(8) as usize];
        }
        bytes.truncate(1 + random.below(2 * bytes.len() as u64) as usize);
        let _ = read(&String::from_utf8_lossy(&bytes)).map(|graph| graph.vertices());
    }
}

#[test]
fn absurd_graphs_and_rows_are_refused() {
    let new = |vertices, length_max| {
        Graph::generated(Generated { seed: 1, vertices, length_max, absent: 0 })
    };
    assert!(new(0, 1).is_err() && new(9, 0).is_err());
    assert!(new(VERTICES_MAX + 1, 1).unwrap_err().contains("give 1 to 16384"));
    assert!(new(3, u32::MAX).unwrap_err().starts_with("edges of lengths up to"));
    let mut band: Band<u16> = Band::new(&new(4, 9).unwrap(), 1..3);
    assert!(band.row(0).is_none() && band.row(3).is_none());
    assert!(!band.copy_row(0, &mut [0; 4]) && !band.copy_row(1, &mut [0; 3]));
    assert_eq!(band.relax(4, 0..4, &[0; 4]), 0);
    assert_eq!(band.relax(0, 3..4, &[0; 4]), 0);
    assert_eq!(band.relax(0, 0..4, &[0; 4]), 8);
    let empty: Band<u32> = Band::new(&new(4, 9).unwrap(), 9..12);
    assert_eq!(empty.summary(), Summary::default());
}
