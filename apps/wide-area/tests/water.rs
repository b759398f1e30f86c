//! Water against the laws that its motion obeys, and itself on any number of members.

use farcall_wide_area::split;
use farcall_wide_area::water::{
    Answer, Block, Forces, MOLECULES_MAX, Pairs, Part, Problem, Share, Stage, energy, needed_by,
    needs, solve,
};

/// Kinetic and potential energy of a block of all molecules.
fn total_energy(problem: &Problem, block: &Block) -> f64 {
    let mut forces = vec![[0; 9]; problem.molecules()];
    let part = Part { first: 0, places: block.places(), forces: &mut forces };
    let outer = problem.pairs_within(part).potential;
    energy(outer + block.inner_potential() + block.kinetic())
}

fn momentum(block: &Block) -> [f64; 3] {
    let masses = [15.9994, 1.008, 1.008];
    let mut sum = [0.0; 3];
    for velocity in block.velocities() {
        for axis in 0..9 {
            sum[axis % 3] += masses[axis / 3] * velocity[axis];
        }
    }
    sum
}

#[test]
fn energy_and_momentum_are_conserved() {
    let problem = Problem::new(125, 100, 1.0, 3).unwrap();
    let start = total_energy(&problem, &problem.block(0..125));
    let (answer, block) = solve(&problem).unwrap();
    let end = total_energy(&problem, &block);
    assert!((end - start).abs() < 0.002 * answer.kinetic, "{start} to {end}, {answer:?}");
    assert!(momentum(&block).iter().all(|sum| sum.abs() < 1e-9), "{:?}", momentum(&block));
    assert!(momentum(&problem.block(0..125)).iter().all(|sum| sum.abs() < 1e-12));
}

#[test]
fn the_error_of_energy_falls_with_the_square_of_the_time_step() {
    let error = |steps, time_step| {
        let problem = Problem::new(27, steps, time_step, 5).unwrap();
        let start = total_energy(&problem, &problem.block(0..27));
        total_energy(&problem, &solve(&problem).unwrap().1) - start
    };
    let [coarse, fine] = [error(40, 0.5), error(80, 0.25)];
    assert!((3.5..4.5).contains(&(coarse / fine)), "{coarse} {fine}");
}

/// One step by members one after the other, with partial sums given back.
fn step_in_blocks(problem: &Problem, blocks: &mut [Block], pairs: &mut Pairs) -> i64 {
    let mut inner = 0;
    for stage in [Stage::First, Stage::Second] {
        blocks.iter_mut().for_each(|block| block.drift(stage));
        let mut sums: Vec<Vec<Forces>> =
            blocks.iter().map(|block| vec![[0; 9]; block.places().len()]).collect();
        pairs.potential = 0;
        // The last member begins: no sum may depend on it.
        for rank in (0..blocks.len()).rev() {
            for (member, given) in forces_by(problem, blocks, rank, pairs) {
                for (sum, force) in sums[member].iter_mut().flatten().zip(given.iter().flatten()) {
                    *sum += force;
                }
            }
        }
        inner = 0;
        for (block, sum) in blocks.iter_mut().zip(&sums) {
            inner += block.kick(sum).unwrap();
        }
    }
    blocks.iter_mut().for_each(|block| block.drift(Stage::Last));
    inner
}

/// What a member computes: the forces on its own molecules, and on those of others.
fn forces_by(
    problem: &Problem,
    blocks: &[Block],
    rank: usize,
    pairs: &mut Pairs,
) -> Vec<(usize, Vec<Forces>)> {
    let own = &blocks[rank];
    let mut own_forces = vec![[0; 9]; own.places().len()];
    let part = Part { first: own.first(), places: own.places(), forces: &mut own_forces };
    pairs.add(problem.pairs_within(part));
    let mut given = Vec::new();
    for (member, share) in needs(blocks.len(), rank) {
        let other = &blocks[member];
        let mut forces = vec![[0; 9]; other.places().len()];
        let part = Part { first: own.first(), places: own.places(), forces: &mut own_forces };
        let others = Part { first: other.first(), places: other.places(), forces: &mut forces };
        pairs.add(problem.pairs_between(others, part, share));
        given.push((member, forces));
    }
    given.push((rank, own_forces));
    given
}

fn solve_in_blocks(problem: &Problem, members: usize) -> Answer {
    let rows = |rank| split::part(problem.molecules(), members, rank);
    let mut blocks: Vec<Block> = (0..members).map(|rank| problem.block(rows(rank))).collect();
    let mut pairs = Pairs::default();
    let mut inner = 0;
    for _ in 0..problem.steps() {
        inner = step_in_blocks(problem, &mut blocks, &mut pairs);
    }
    pairs.check().unwrap();
    let checksums = blocks.iter().map(Block::checksum);
    Answer {
        kinetic: energy(blocks.iter().map(Block::kinetic).sum()),
        potential: energy(pairs.potential + inner),
        checksum: checksums.fold(0, u64::wrapping_add),
        pairs: pairs.looked,
    }
}

#[test]
fn members_change_no_bit() {
    let problem = Problem::new(61, 3, 1.0, 1).unwrap();
    let (answer, _) = solve(&problem).unwrap();
    assert_eq!(answer.pairs, 3 * 2 * (61 * 60 / 2));
    for members in [1, 2, 3, 4, 7, 8, 15, 60, 64] {
        assert_eq!(solve_in_blocks(&problem, members), answer, "{members} members");
    }
}

#[test]
fn each_pair_of_members_is_computed_once() {
    for members in 1..20 {
        let mut times = vec![vec![0; members]; members];
        for rank in 0..members {
            for (other, share) in needs(members, rank) {
                let halves = if share == Share::All { 2 } else { 1 };
                times[rank.min(other)][rank.max(other)] += halves;
                assert!(needed_by(members, other).any(|needing| needing == rank));
            }
            assert_eq!(needs(members, rank).count(), members / 2);
            assert_eq!(needed_by(members, rank).count(), members / 2);
        }
        for (rank, row) in times.iter().enumerate() {
            assert!(row[..=rank].iter().all(|halves| *halves == 0));
            assert!(row[rank + 1..].iter().all(|halves| *halves == 2), "{members}: {times:?}");
        }
    }
}

/// The paper's traffic (its table 4): blocks of 64 molecules that cross the wide area.
#[test]
fn four_sites_of_sixteen_members_need_1568_blocks_of_other_sites() {
    let site = |rank| rank / 16;
    let crossing = (0..64)
        .flat_map(|rank| needs(64, rank).filter(move |(other, _)| site(rank) != site(*other)));
    assert_eq!(crossing.count(), 1568);
}

#[test]
fn a_molecule_starts_where_it_does_in_any_block() {
    let problem = Problem::new(30, 1, 1.0, 9).unwrap();
    let whole = problem.block(0..30);
    let part = problem.block(10..17);
    assert_eq!(part.places(), &whole.places()[10..17]);
    assert_eq!(part.velocities(), &whole.velocities()[10..17]);
    assert!(problem.block(40..50).places().is_empty());
}

#[test]
fn one_molecule_alone_rests() {
    let (answer, block) = solve(&Problem::new(1, 50, 0.5, 1).unwrap()).unwrap();
    assert_eq!(answer.pairs, 0);
    assert!(answer.kinetic < 1e-12 && answer.potential < 1e-12, "{answer:?}");
    assert_eq!(block.first(), 0);
}

#[test]
fn what_is_no_water_is_an_error() {
    assert!(Problem::new(0, 1, 1.0, 1).is_err());
    assert!(Problem::new(MOLECULES_MAX + 1, 1, 1.0, 1).unwrap_err().contains("give 1 to 65536"));
    assert!(Problem::new(8, 1_000_001, 1.0, 1).unwrap_err().contains("give 1000000 at most"));
    for time_step in [0.0, -1.0, f64::NAN, 5.0] {
        let refused = Problem::new(8, 1, time_step, 1).unwrap_err();
        assert!(refused.starts_with("a time step of"), "{refused}");
    }
    let error = solve(&Problem::new(27, 200, 4.0, 1).unwrap()).unwrap_err();
    assert!(error.ends_with("give a shorter time step"), "{error}");
}

#[test]
#[ignore = "the paper's size: run by make soak"]
fn the_papers_size_has_its_answer_to_the_bit() {
    let (answer, block) = solve(&Problem::default()).unwrap();
    assert_eq!(answer.pairs, 4 * (4096 * 4095 / 2));
    assert_eq!(answer.checksum, 8_260_715_705_228_381_608);
    assert_eq!((answer.kinetic, answer.potential), (9062.667611761019, -830.5879529835656));
    assert!(momentum(&block).iter().all(|sum| sum.abs() < 1e-9));
}
