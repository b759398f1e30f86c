//! Test generation against the fault counts of the ISCAS-85 circuits, and all patterns tried.

use farcall_wide_area::atpg::{
    Circuit, Effort, FaultList, Generator, Simulator, Statistics, reduce, solve,
};
use farcall_wide_area::input::Source;
use farcall_wide_area::random::Random;

const CIRCUITS: [(&str, &str); 6] = [
    ("c17", include_str!("../data/c17.bench")),
    ("c432", include_str!("../data/c432.bench")),
    ("c880", include_str!("../data/c880.bench")),
    ("c1355", include_str!("../data/c1355.bench")),
    ("c1908", include_str!("../data/c1908.bench")),
    ("c6288", include_str!("../data/c6288.bench")),
];

const FAULTS: &str = include_str!("../data/iscas85-faults.txt");

fn read(file: &str, text: &str) -> Circuit {
    Circuit::read(&Source { file, text }).expect("the circuit is well-formed")
}

fn circuit(name: &str) -> Circuit {
    let found = CIRCUITS.iter().find(|(known, _)| *known == name);
    read(name, found.expect("it is in the list").1)
}

/// The number behind a word in a circuit's line of the list.
fn known(circuit: &str, word: &str) -> u64 {
    let file = format!("{circuit}.bench");
    let line = FAULTS.lines().find(|line| line.split_whitespace().next() == Some(&file));
    let words: Vec<&str> = line.expect("the circuit is in the list").split_whitespace().collect();
    let at = words.iter().position(|one| *one == word).expect("the list has this field");
    words[at + 1].parse().expect("the list has a number")
}

#[test]
fn fault_counts_are_exact() {
    for (name, text) in CIRCUITS {
        let circuit = read(name, text);
        let faults = FaultList::new(&circuit);
        assert_eq!(circuit.inputs() as u64, known(name, "in"));
        assert_eq!(circuit.outputs() as u64, known(name, "out"));
        assert_eq!(circuit.gates() as u64, known(name, "gates"));
        assert_eq!(faults.uncollapsed() as u64, known(name, "uncollapsed"));
        let statistics = solve(&circuit, Effort::default());
        assert_eq!(statistics.faults, known(name, "collapsed"));
        assert_eq!(statistics.redundant, known(name, "REDUNDANT"), "{name}");
        assert_eq!(statistics.aborted, 0);
        assert_eq!(statistics.covered + statistics.redundant, statistics.faults);
        let gates = circuit.gates() as u64;
        assert!((gates..=statistics.faults).contains(&statistics.patterns), "{statistics:?}");
    }
}

#[test]
fn how_gates_are_split_changes_nothing() {
    let circuit = circuit("c880");
    let faults = FaultList::new(&circuit);
    let whole = solve(&circuit, Effort::default());
    for members in [2, 7, 60, 1000] {
        let mut sum = Statistics::default();
        for rank in (0..members).rev() {
            let mut generator = Generator::new(&circuit, &faults, Effort::default());
            let own = circuit.nodes().skip(rank).step_by(members);
            sum.add(&generator.run(own, &mut |_| ()));
        }
        assert_eq!(sum, whole, "{members} members");
    }
}

fn patterns(circuit: &Circuit, effort: Effort) -> (Vec<Vec<bool>>, Statistics) {
    let faults = FaultList::new(circuit);
    let mut patterns = Vec::new();
    let mut generator = Generator::new(circuit, &faults, effort);
    let keep = &mut |pattern: &[bool]| patterns.push(pattern.to_vec());
    let statistics = generator.run(circuit.nodes(), keep);
    (patterns, statistics)
}

#[test]
fn patterns_show_what_they_claim() {
    for (name, kept_max) in [("c17", 8), ("c432", 120), ("c880", 120), ("c1908", 250)] {
        let circuit = circuit(name);
        let (patterns, statistics) = patterns(&circuit, Effort::default());
        assert_eq!(patterns.len() as u64, statistics.patterns);
        let reduced = reduce(&circuit, &FaultList::new(&circuit), &patterns);
        assert_eq!(reduced.covered, statistics.covered);
        assert!(reduced.kept.len() <= kept_max, "{name}: {}", reduced.kept.len());
    }
}

#[test]
fn each_search_alone_is_complete() {
    let podem = Effort { words: 0, backtracks: u32::MAX, ..Effort::default() };
    let clauses = Effort { words: 0, backtracks: 0, ..Effort::default() };
    // PODEM alone needs seconds for c432's redundant faults.
    for (name, effort) in [("c880", podem), ("c880", clauses), ("c432", clauses)] {
        let circuit = circuit(name);
        let whole = solve(&circuit, Effort::default());
        let alone = solve(&circuit, effort);
        assert_eq!((alone.covered, alone.redundant), (whole.covered, whole.redundant));
    }
}

/// A circuit of eight inputs, of every kind of gate, with lines that part and end.
fn random_circuit(seed: u64) -> Circuit {
    let kinds = ["AND", "NAND", "OR", "NOR", "XOR", "XNOR", "NOT", "BUF"];
    let mut random = Random::new(seed);
    let mut text: String = (0..8).map(|input| format!("INPUT(n{input})\n")).collect();
    for node in 8..30u64 {
        let kind = kinds[random.below(8) as usize];
        let pins = if matches!(kind, "NOT" | "BUF") { 1 } else { 2 + random.below(2) };
        // Gates mostly read the nodes just before them: then few patterns reach them.
        let read = |_| format!("n{}", node - 1 - random.below(8.min(node)));
        let reads: Vec<String> = (0..pins).map(read).collect();
        text += &format!("n{node} = {kind}({})\n", reads.join(", "));
    }
    text += "OUTPUT(n29)\nOUTPUT(n27)\nOUTPUT(n20)\nOUTPUT(n3)\n";
    read("random", &text)
}

/// How many classes of faults some of all 256 patterns shows.
fn covered_by_all(circuit: &Circuit) -> u64 {
    let faults = FaultList::new(circuit);
    let mut simulator = Simulator::new(circuit);
    let mut shown = vec![false; faults.classes().len()];
    for high in 0..4u64 {
        simulator.load(|input| match input {
            6 | 7 => 0u64.wrapping_sub((high >> (input - 6)) & 1),
            _ => (0..64).map(|pattern| ((pattern >> input) & 1) << pattern).sum(),
        });
        for (fault, shown) in faults.classes().iter().zip(&mut shown) {
            *shown |= simulator.detect(fault).0 != 0;
        }
    }
    shown.iter().filter(|shown| **shown).count() as u64
}

#[test]
fn random_circuits_agree_with_all_patterns() {
    let mut redundant = 0;
    for seed in 0..150 {
        let circuit = random_circuit(seed);
        let expected = covered_by_all(&circuit);
        for (words, backtracks) in [(8, 64), (0, u32::MAX), (0, 0), (0, 3)] {
            let effort = Effort { words, backtracks, ..Effort::default() };
            let statistics = solve(&circuit, effort);
            assert_eq!((statistics.covered, statistics.aborted), (expected, 0), "seed {seed}");
            redundant += statistics.redundant;
        }
    }
    assert!(redundant > 1000, "few redundant faults: {redundant}");
}

#[test]
fn files_that_are_no_circuits_are_refused() {
    let refuse = |text| {
        let refused = Circuit::read(&Source { file: "f", text });
        refused.expect_err("it is refused").to_string()
    };
    let cases = [
        ("", "f:1:1: no inputs"),
        ("INPUT(a)\n", "f:1:1: no outputs"),
        ("INPUT(a)\n  what\n", "f:2:3: no list in parentheses; expected `INPUT(a)`"),
        ("INPUT(a, b)\n", "f:1:1: `INPUT` names one line, here are 2"),
        ("INPUT(a b)\n", "f:1:7: `a b` is no name"),
        ("INPUT()\n", "f:1:7: `` is no name"),
        ("PUT(a)\n", "f:1:1: `PUT` is no statement; write `INPUT(a)`"),
        ("INPUT(a)\nINPUT(a)\n", "f:2:7: `a` is already defined on line 1"),
        ("INPUT(a)\nb = NNAD(a, a)\n", "f:2:5: `NNAD` is no kind of gate; write one of AND"),
        ("INPUT(a)\nb = DFF(a)\n", "f:2:5: `DFF` is no kind of gate (circuits here keep no"),
        ("INPUT(a)\nb = NOT(a, a)\n", "f:2:1: `b` has 2 inputs; its kind has 1"),
        ("INPUT(a)\nb = AND(a)\n", "f:2:1: `b` has 1 inputs; its kind has 2 or more"),
        ("INPUT(a)\nOUTPUT(b)\nb = AND(a, c)\n", "f:3:12: `c` is defined nowhere"),
        ("INPUT(a)\nOUTPUT(z)\n", "f:2:8: `z` is defined nowhere"),
        ("INPUT(a)\nOUTPUT(a)\nOUTPUT(a)\n", "f:3:8: `a` is an output already"),
        ("INPUT(a)\nb = AND(a, c)\nc = NOT(b)\n", "f:2:1: `b` depends on itself"),
    ];
    for (text, expected) in cases {
        let error = refuse(text);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn broken_files_are_no_panic() {
    let text = CIRCUITS[0].1;
    let mut random = Random::new(1);
    for _ in 0..5000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b"(),=#\n1aN \xff"[random.below(11) as usize];
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(circuit) = Circuit::read(&Source { file: "f", text: &text }) {
            assert_eq!(solve(&circuit, Effort::default()).aborted, 0);
        }
    }
}
