//! All databases up to a number of stones, by one member that plays several in turn.

use super::board::{Board, MOVES};
use super::database::{Counts, Databases};
use super::index::{positions, positions_up_to};
use super::part::{Part, Share, Update};

/// Positions that all databases together may have: three bytes each while they are computed.
const POSITIONS_MAX: u64 = 1 << 28;

/// What a computation of databases gave.
#[derive(Clone, Debug)]
pub struct Computed {
    /// All scores.
    pub databases: Databases,
    /// The counts of the largest database.
    pub counts: Counts,
    /// Operations counted.
    pub operations: u64,
    /// Updates sent.
    pub updates: u64,
}

/// All databases up to `stones`, by one member.
///
/// # Errors
/// As [`compute_in_parts`].
pub fn compute(stones: usize) -> Result<Computed, String> {
    compute_in_parts(stones, 1)
}

/// The same by parts of several members, one after the other; what comes out does not depend on
/// how many there are.
///
/// # Errors
/// More stones than fit: the databases would have more than 2^28 positions.
pub fn compute_in_parts(stones: usize, members: u64) -> Result<Computed, String> {
    if stones > super::STONES_MAX || !Part::fits(stones) || positions_up_to(stones) > POSITIONS_MAX
    {
        return Err(format!(
            "databases of {stones} stones have more than 2^28 positions; ask for fewer stones"
        ));
    }
    let databases = Databases::default();
    let mut counts = Counts::new(0);
    counts.count(databases.scores(0));
    let mut computed = Computed { databases, counts, operations: 0, updates: 0 };
    for stones in 1..=stones {
        computed.add_database(stones, members);
    }
    Ok(computed)
}

impl Computed {
    fn add_database(&mut self, stones: usize, members: u64) {
        let total = positions(stones);
        let mut parts: Vec<Part> = (0..members.max(1))
            .map(|rank| Part::new(stones, Share::cyclic(total, rank, members)))
            .collect();
        for part in &mut parts {
            self.operations += part.initialize(&self.databases, 0..part.share().len());
        }
        for level in (1..=stones as i8).rev() {
            self.run_level(&mut parts, level);
        }
        self.counts = Counts::new(stones);
        self.databases.grow();
        for part in &mut parts {
            part.finish();
            self.counts.add(&part.counts());
            self.databases.put_part(part);
        }
    }

    fn run_level(&mut self, parts: &mut [Part], level: i8) {
        let mut waiting = Vec::new();
        for rank in 0..parts.len() {
            let all = 0..parts[rank].share().len();
            self.operations += parts[rank].decide(level, all, &mut |sent| waiting.push(sent));
            self.drain(parts, &mut waiting);
        }
    }

    fn drain(&mut self, parts: &mut [Part], waiting: &mut Vec<Update>) {
        while let Some(update) = waiting.pop() {
            self.updates += 1;
            let owner = Share::owner(u64::from(update.index), parts.len() as u64);
            self.operations += parts[owner as usize].apply(update, &mut |sent| waiting.push(sent));
        }
    }
}

/// What each move from pits 0 to 5 gains; none where no move is, or no database.
pub fn move_scores(databases: &Databases, board: &Board) -> [Option<i8>; MOVES] {
    board.moves().map(|made| made.and_then(|made| databases.outcome(&made)))
}
