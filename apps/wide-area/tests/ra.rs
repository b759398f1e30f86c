//! Awari databases against published counts, a published position, and each other.

use farcall_wide_area::input::Source;
use farcall_wide_area::ra::{
    Board, Databases, Part, Share, Update, compute, compute_in_parts, game_positions, move_scores,
    positions, positions_up_to,
};
use farcall_wide_area::random::Random;

const COUNTS: &str = include_str!("../data/awari_counts_1-8.txt");

fn board(text: &str) -> Board {
    Board::parse(&Source { file: "test", text }).expect("it is a board")
}

/// The number behind the first `name` in a line of the list.
fn field(line: &str, name: &str) -> i64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == name).expect("the list has this field");
    words[at + 1].parse().expect("the list has a number")
}

#[test]
fn counts_up_to_eight_stones() {
    for line in COUNTS.lines() {
        let stones = line.split_whitespace().next().expect("a line begins with a number");
        let computed = compute(stones.parse().expect("it is a number")).expect("it fits");
        let counts = &computed.counts;
        assert_eq!(counts.by_score().iter().sum::<u64>() as i64, field(line, "all"));
        assert_eq!(counts.wins() as i64, field(line, "win"), "{line}");
        assert_eq!(counts.draws() as i64, field(line, "draw"), "{line}");
        assert_eq!(counts.losses() as i64, field(line, "loss"), "{line}");
        assert_eq!(counts.sum(), field(line, "sum"), "{line}");
    }
}

#[test]
fn the_papers_size() {
    let computed = compute(12).expect("it fits");
    let counts = &computed.counts;
    assert_eq!((counts.wins(), counts.draws(), counts.losses()), (714_486, 197_894, 439_698));
    assert_eq!(counts.by_score().iter().sum::<u64>(), 1_352_078);
}

#[test]
#[ignore = "databases of 16 stones: run by make soak"]
fn a_published_position() {
    let computed = compute(16).expect("it fits");
    let board = board("1 1 1 1 1 2 4 2 3 0 0 0");
    assert_eq!(computed.databases.score(&board), Some(0));
    let moves = move_scores(&computed.databases, &board);
    assert_eq!(moves, [-1, -1, -2, -2, -2, 0].map(Some));
}

#[test]
fn how_many_members_there_are_changes_nothing() {
    let whole = compute(7).expect("it fits");
    for members in [2, 3, 7, 60] {
        let parts = compute_in_parts(7, members).expect("it fits");
        assert_eq!(parts.databases, whole.databases, "{members} members");
        assert_eq!(parts.counts, whole.counts);
        assert_eq!((parts.operations, parts.updates), (whole.operations, whole.updates));
    }
}

#[test]
fn the_order_of_updates_changes_nothing() {
    let stones = 6;
    let done = compute(stones - 1).expect("it fits").databases;
    let expected = compute(stones).expect("it fits").databases;
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut part = Part::new(stones, Share::cyclic(positions(stones), 0, 1));
        let all = 0..part.share().len();
        part.initialize(&done, all.clone());
        let mut waiting: Vec<Update> = Vec::new();
        for level in (1..=stones as i8).rev() {
            part.decide(level, all.clone(), &mut |sent| waiting.push(sent));
            while !waiting.is_empty() {
                let taken = random.below(waiting.len() as u64) as usize;
                let update = Update::from_bytes(waiting.swap_remove(taken).to_bytes());
                part.apply(update, &mut |sent| waiting.push(sent));
            }
        }
        part.finish();
        assert_eq!(part.scores(), expected.scores(stones), "seed {seed}");
    }
}

#[test]
fn a_score_is_the_best_move_or_none_ends() {
    let databases = compute(8).expect("it fits").databases;
    for index in 0..positions(8) {
        let board = Board::of_index(8, index);
        let score = databases.score(&board).expect("it is there");
        let best = move_scores(&databases, &board).into_iter().flatten().max();
        // Play without end may hold a move that looks better than it is to 0, and no other.
        assert!(best.is_none_or(|best| best == score), "{board:?}: {score}, {best:?}");
        assert_eq!(best.is_none(), board.is_over());
    }
}

#[test]
fn indices_are_dense_and_exact() {
    assert_eq!(positions(12), 1_352_078);
    assert_eq!(positions_up_to(12), 2_704_156);
    assert_eq!((0..=48).map(game_positions).sum::<u64>(), 889_063_398_406);
    for stones in 0..7 {
        for index in 0..positions(stones) {
            let board = Board::of_index(stones, index);
            assert_eq!((board.stones(), board.index()), (stones, index));
        }
    }
    let mut random = Random::new(1);
    for _ in 0..10_000 {
        let stones = random.below(49) as usize;
        let index = random.below(positions(stones));
        assert_eq!(Board::of_index(stones, index).index(), index);
    }
}

#[test]
fn unmoves_are_the_moves_backwards() {
    // With 13 stones in one pit a move goes around the board and leaves its origin out.
    let long = board("13 0 1 0 0 0 0 0 0 0 0 1");
    let after = long.moves()[0].expect("it has stones").after;
    assert_eq!(after.pits(), &[1, 1, 1, 1, 1, 2, 0, 2, 3, 1, 1, 1]);
    for stones in [3, 5, 13, 14, 25] {
        let mut random = Random::new(stones as u64);
        for _ in 0..3000 {
            let board = Board::of_index(stones, random.below(positions(stones)));
            for made in board.moves().iter().flatten().filter(|made| made.captured == 0) {
                let mut count = 0;
                made.after.unmoves(|before| count += u64::from(before == board));
                let same = |other: &&_| *other == made;
                let moves = board.moves();
                assert_eq!(count, moves.iter().flatten().filter(same).count() as u64);
            }
            board.unmoves(|before| {
                let mut moves = before.moves().into_iter().flatten();
                assert!(moves.any(|made| made.captured == 0 && made.after == board));
            });
        }
    }
}

#[test]
fn shares_cover_all_positions_once() {
    for members in [1, 2, 7, 60, 500] {
        let shares: Vec<Share> =
            (0..members).map(|rank| Share::cyclic(364, rank, members)).collect();
        for index in 0..364 {
            let owner = Share::owner(index, members);
            for (rank, share) in shares.iter().enumerate() {
                let local = share.local(index);
                assert_eq!(local.is_some(), rank as u64 == owner);
                assert!(local.is_none_or(|local| share.index(local) == index));
            }
        }
        assert_eq!(shares.iter().map(Share::len).sum::<usize>(), 364);
    }
}

#[test]
fn what_is_no_board_is_refused() {
    let refuse = |text| {
        let source = Source { file: "the command line", text };
        Board::parse(&source).expect_err("it is refused").to_string()
    };
    let cases = [
        ("", "the command line:1:1: a board has 12 pits, here are 0"),
        ("1 2", "the command line:1:3: a board has 12 pits, here are 2"),
        ("0 0 0 0 0 0 0 0 0 0 0 x", "the command line:1:23: `x` is no number of stones"),
        ("40 9 0 0 0 0 0 0 0 0 0 0", "the command line:1:4: `9` is no number of stones"),
    ];
    for (text, expected) in cases {
        let error = refuse(text);
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(compute(40).is_err());
    assert_eq!(Databases::default().score(&board("1 0 0 0 0 0 0 0 0 0 0 0")), None);
}
