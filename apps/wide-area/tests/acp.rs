//! Arc consistency against known closures, a plain closure, and other orders of removals.

use farcall_wide_area::acp::{
    Generated, Network, Removal, Selection, Solved, State, read_rlfap, solve,
};
use farcall_wide_area::input::Source;
use farcall_wide_area::random::Random;

const SPAN_GRAPH_03: &str = include_str!("../data/Rlfap-span-graph-03.json");
const MAX_SCEN_06: &str = include_str!("../data/Rlfap-max-scen-06.json");
const CARD_SCEN_02: &str = include_str!("../data/Rlfap-card-scen-02.json");
const CARD_SCEN_04: &str = include_str!("../data/Rlfap-card-scen-04.json");

const CLOSURES: &str = include_str!("../data/rlfap-closure.tsv");

fn network(text: &str, selection: Selection) -> Network {
    read_rlfap(&Source { file: "test", text }, selection).expect("the file is well-formed")
}

/// The numbers behind a name in the list: variables, constraints, values, removed, left.
fn known(name: &str) -> [u64; 5] {
    let line = CLOSURES.lines().find(|line| line.split('\t').next() == Some(name));
    let numbers = line.expect("the name is in the list").split('\t').skip(1).take(5);
    let number = |field: &str| field.rsplit(' ').next().and_then(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.filter_map(number).collect();
    numbers.try_into().expect("the list has five numbers")
}

fn figures(network: &Network) -> [u64; 5] {
    let answer = solve(network).answer;
    assert_eq!((answer.emptied, answer.first_emptied), (0, None));
    let variables = network.variables() as u64;
    let constraints = network.constraints() as u64;
    [variables, constraints, network.values(), answer.removed, answer.left]
}

#[test]
fn closures_of_frequency_assignment() {
    let hard = Selection::default();
    let cases = [
        ("span-graph-03 hard", SPAN_GRAPH_03, hard),
        ("max-scen-06 hard", MAX_SCEN_06, hard),
        ("card-scen-02 hard", CARD_SCEN_02, hard),
        ("card-scen-04 hard", CARD_SCEN_04, hard),
        ("mod 2-f24", CARD_SCEN_02, Selection { highest_dropped: 24, ..hard }),
        // The list leaves the second half of this name out: its values are those without two.
        ("mod 6-w2", MAX_SCEN_06, Selection { weight_max: 2, highest_dropped: 2 }),
    ];
    for (name, text, selection) in cases {
        assert_eq!(figures(&network(text, selection)), known(name), "{name}");
    }
}

#[test]
fn the_papers_size() {
    let network = Generated::default().network().expect("it fits");
    let solved = solve(&network);
    assert_eq!(network.variables(), 1500);
    assert_eq!((solved.answer.removed, solved.answer.emptied), (21_676, 0));
    assert_eq!((solved.rounds, solved.removals), (35, 7410));
}

#[test]
fn networks_without_solutions_end_alike() {
    let dense = Generated { constraints: 3000, ..Generated::default() };
    let network = dense.network().expect("it fits");
    let solved = solve(&network);
    assert!(solved.answer.emptied > 1000 && solved.answer.first_emptied.is_some());
    assert_eq!(run_members(&network, 7, 1).answer(&network), solved.answer);
}

/// Members that revise some of their variables when chance wants it, while removals come to them
/// late, in any order, and sometimes twice. Checks that all end alike.
fn run_members(network: &Network, members: usize, seed: u64) -> State {
    let mut random = Random::new(seed);
    let mut states = vec![State::new(network); members];
    let mut travelling: Vec<(usize, Removal)> = Vec::new();
    let mut found = Vec::new();
    let own = |member: usize| {
        let variables = network.variables();
        member * variables / members..(member + 1) * variables / members
    };
    loop {
        let member = random.below(members as u64) as usize;
        let range = own(member);
        let some = range.start + random.below(range.len() as u64 + 1) as usize;
        states[member].revise(network, range.start..some, &mut found);
        states[member].revise(network, some..range.end.min(some + 40), &mut found);
        for removal in found.drain(..) {
            let sent = Removal::from_bytes(removal.to_bytes());
            travelling.extend((0..members).map(|to| (to, sent)));
        }
        for _ in 0..random.below(1 + travelling.len() as u64) {
            let at = random.below(travelling.len() as u64) as usize;
            let arrived =
                if random.below(8) == 0 { travelling[at] } else { travelling.swap_remove(at) };
            states[arrived.0].apply(network, &arrived.1);
        }
        let is_quiet = |member: usize| !states[member].has_pending(own(member));
        if travelling.is_empty() && (0..members).all(is_quiet) {
            break;
        }
    }
    let answers: Vec<_> = states.iter().map(|state| state.answer(network)).collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    states.swap_remove(0)
}

#[test]
fn order_and_members_change_nothing() {
    let network = network(SPAN_GRAPH_03, Selection::default());
    let Solved { answer, .. } = solve(&network);
    for seed in 0..5 {
        for members in [1, 2, 7, 60] {
            assert_eq!(run_members(&network, members, seed).answer(&network), answer);
        }
    }
}

/// A random network of small domains of more than a word, and its closure by repeated looking.
fn plain_closure(random: &mut Random) -> (Network, Vec<Vec<bool>>) {
    const VALUES: usize = 70;
    let variables = 8;
    let mut network = Network::new(variables, VALUES);
    let mut left = vec![vec![false; VALUES]; variables];
    for (variable, left) in left.iter_mut().enumerate() {
        for (value, left) in left.iter_mut().enumerate().filter(|_| random.below(4) > 0) {
            network.add_value(variable, value);
            *left = true;
        }
    }
    let mut constraints = Vec::new();
    for name in 0..14 {
        let x = random.below(variables as u64) as usize;
        let y = (x + 1 + random.below(variables as u64 - 1) as usize) % variables;
        let table: Vec<bool> = (0..VALUES * VALUES).map(|_| random.below(45) == 0).collect();
        let allows = |a: usize, b: usize| table[a * VALUES + b];
        network.constrain((x, y), (VALUES, VALUES), [name, 0, 0, 0], allows).expect("it fits");
        constraints.push((x, y, table));
    }
    loop {
        let before = left.clone();
        for (x, y, table) in &constraints {
            for a in 0..VALUES {
                left[*x][a] &= (0..VALUES).any(|b| left[*y][b] && table[a * VALUES + b]);
            }
            for b in 0..VALUES {
                left[*y][b] &= (0..VALUES).any(|a| left[*x][a] && table[a * VALUES + b]);
            }
        }
        if left == before {
            return (network, left);
        }
    }
}

#[test]
fn random_networks_agree_with_a_plain_closure() {
    let mut random = Random::new(1);
    let mut partly = 0;
    for _ in 0..60 {
        let (network, left) = plain_closure(&mut random);
        let state = run_members(&network, 3, random.next_bits());
        for (variable, left) in left.iter().enumerate() {
            let domain = state.domain(&network, variable);
            let is_left = |value: usize| (domain[value / 64] >> (value % 64)) & 1 == 1;
            assert!(left.iter().enumerate().all(|(value, left)| is_left(value) == *left));
        }
        let answer = state.answer(&network);
        assert_eq!(answer, solve(&network).answer);
        partly += u32::from(answer.removed > 0 && answer.left > 0);
    }
    assert!(partly > 10, "{partly} of 60 networks lose some values and keep some");
}

#[test]
fn files_that_are_no_networks_are_refused() {
    let refuse = |text: &str| {
        let refused = read_rlfap(&Source { file: "f", text }, Selection::default());
        refused.expect_err("it is refused").to_string()
    };
    let whole = |constraint: &str| {
        format!(
            "{{\"domains\":[null,[1,2]],\"vars\":[{{\"domain\":1}},{{\"domain\":1}}],\n\
             \"ctrs\":[{constraint}]}}"
        )
    };
    let cases = [
        (String::new(), "f:1:1: the file ends, expected a value"),
        ("[1,\n 2".to_string(), "f:2:3: the file ends, expected `,` or `]`; is it complete?"),
        ("{\"domains\":[1.5]}".to_string(), "f:1:13: `1.5` is no whole number"),
        ("{\"domains\":[[1,1]]}".to_string(), "f:1:16: frequency 1 is there twice"),
        ("{\"domains\":7}".to_string(), "f:1:12: a number, expected a list: `domains`"),
        ("{\"vars\":[]}".to_string(), "f:1:1: an object without `domains`; add this"),
        ("[]x".to_string(), "f:1:3: `x` is here, expected the end of the file"),
        ("[".repeat(40), "f:1:17: more than 16 values lie in one another"),
        (whole("{\"x\":0,\"y\":2}"), "f:2:20: `y` is 2, but there are 2, from 0 on"),
        (whole("{\"x\":0,\"y\":0}"), "f:2:9: `x` and `y` are the same variable"),
        (whole("{\"x\":0,\"y\":1}"), "f:2:9: an object without `limit`"),
        (
            whole("{\"x\":0,\"y\":1,\"limit\":3,\"operator\":\"<\"}"),
            "f:2:43: `operator` is \"=\" or \">\"",
        ),
    ];
    for (text, expected) in cases {
        let error = refuse(&text);
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(Generated { variables: 1, ..Generated::default() }.network().is_err());
}

#[test]
fn broken_files_are_no_panic() {
    let text: String = SPAN_GRAPH_03.chars().take(2000).collect();
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let mut bytes = text.as_bytes().to_vec();
        bytes.truncate(random.below(2000) as usize + 1);
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b"{}[]\",:-9n\\\xff"[random.below(12) as usize];
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = read_rlfap(&Source { file: "f", text: &text }, Selection::default());
    }
}
