//! The search under one bound, as jobs that any member may take.

use super::board::{Board, MOVES_MAX, SQUARES};

/// Bytes of a job as it travels.
pub const JOB_BYTES: usize = 10;

/// A part of the tree: a board, how it was reached, and its distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The tile on each square, four bits each, the first square lowest.
    tiles: u64,
    blank: u8,
    /// The square that the blank came from; the blank's own at the root.
    before: u8,
    made: u8,
    distance: u8,
}

/// What a part of a search found. Tallies of parts add up to that of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Ways to the goal within the bound.
    pub solutions: u64,
    /// Nodes visited: the counted operations.
    pub nodes: u64,
    /// The smallest bound beyond this one under which more is visited.
    pub next_bound: u32,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { solutions: 0, nodes: 0, next_bound: u32::MAX }
    }
}

impl Tally {
    /// Takes the tally of another part in.
    pub fn add(&mut self, part: &Tally) {
        self.solutions += part.solutions;
        self.nodes += part.nodes;
        self.next_bound = self.next_bound.min(part.next_bound);
    }
}

/// Squares beside each square, in the order in which the blank goes there, and how many.
const NEIGHBORS: [([u8; 4], usize); SQUARES] = neighbors();

const fn neighbors() -> [([u8; 4], usize); SQUARES] {
    let mut all = [([0; 4], 0); SQUARES];
    let mut square = 0;
    while square < SQUARES {
        let beside = [
            (square >= 4, square.wrapping_sub(4)),
            (square % 4 > 0, square.wrapping_sub(1)),
            (square % 4 < 3, square + 1),
            (square < 12, square + 4),
        ];
        let mut at = 0;
        while at < 4 {
            if beside[at].0 {
                all[square].0[all[square].1] = beside[at].1 as u8;
                all[square].1 += 1;
            }
            at += 1;
        }
        square += 1;
    }
    all
}

/// Moves that a tile on a square is from its goal at least; the blank is nowhere far.
const DISTANCES: [[u8; SQUARES]; SQUARES] = distances();

const fn distances() -> [[u8; SQUARES]; SQUARES] {
    let mut all = [[0; SQUARES]; SQUARES];
    let mut tile = 1;
    while tile < SQUARES {
        let mut square = 0;
        while square < SQUARES {
            all[tile][square] =
                ((tile % 4).abs_diff(square % 4) + (tile / 4).abs_diff(square / 4)) as u8;
            square += 1;
        }
        tile += 1;
    }
    all
}

impl Job {
    /// The whole tree of a board.
    pub fn root(board: Board) -> Job {
        let squares = board.tiles().iter().enumerate();
        let distance = squares.map(|(square, tile)| DISTANCES[usize::from(*tile)][square]).sum();
        let tiles = board.tiles().iter().rev().fold(0, |tiles, tile| tiles << 4 | u64::from(*tile));
        Job { tiles, blank: board.blank(), before: board.blank(), made: 0, distance }
    }

    /// Moves that every solution through this job has at least. The root's is the first bound.
    pub fn lower_bound(&self) -> u32 {
        u32::from(self.made) + u32::from(self.distance)
    }

    /// Moves that led from the root to this job.
    pub fn moves_made(&self) -> u32 {
        u32::from(self.made)
    }

    /// The job as it travels: the tiles, the square that the blank came from, and moves made.
    pub fn to_bytes(&self) -> [u8; JOB_BYTES] {
        let [a, b, c, d, e, f, g, h] = self.tiles.to_le_bytes();
        [a, b, c, d, e, f, g, h, self.before, self.made]
    }

    /// The job of these bytes; nothing if no job has them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Job> {
        let [tiles @ .., before, made]: [u8; JOB_BYTES] = bytes.try_into().ok()?;
        let job = Job { before, made, ..Job::root(Board::from_nibbles(&tiles)?) };
        let beside = NEIGHBORS[usize::from(job.blank)];
        let is_root = made == 0 && before == job.blank;
        let is_reached = made > 0 && beside.0[..beside.1].contains(&before);
        ((is_root || is_reached) && u32::from(made) <= MOVES_MAX).then_some(job)
    }

    /// The job after the blank went to `square`.
    fn after(&self, square: u8) -> Job {
        let from = shift(square);
        let tile = (self.tiles >> from) & 15;
        let far = &DISTANCES[tile as usize];
        let nearer = far[usize::from(square & 15)];
        let distance = self.distance + far[usize::from(self.blank & 15)] - nearer;
        let tiles = self.tiles ^ (tile << from) ^ (tile << shift(self.blank));
        Job { tiles, blank: square, before: self.blank, made: self.made + 1, distance }
    }
}

/// Where a square's tile is in a board's word.
fn shift(square: u8) -> u32 {
    4 * u32::from(square & 15)
}

/// Searches a job under a bound, to the end.
pub fn search(job: &Job, bound: u32) -> Tally {
    let mut tally = Tally::default();
    enter(*job, bound, u32::MAX, &mut tally, &mut |_| ());
    tally
}

/// Visits the nodes of a job that are fewer than `depth` moves below it, and hands out the ones
/// at that depth as jobs, which it does not count. One member puts these into the bag; a depth of
/// 1 expands one job into its children.
pub fn split(job: &Job, bound: u32, depth: u32, put: &mut impl FnMut(Job)) -> Tally {
    let mut tally = Tally::default();
    enter(*job, bound, job.moves_made().saturating_add(depth), &mut tally, put);
    tally
}

/// Visits a job that is within the bound, and what is below it.
fn descend(job: Job, bound: u32, depth: u32, tally: &mut Tally, put: &mut impl FnMut(Job)) {
    if job.moves_made() >= depth {
        put(job);
        return;
    }
    tally.nodes += 1;
    if job.distance == 0 {
        tally.solutions += 1;
        return;
    }
    let beside = &NEIGHBORS[usize::from(job.blank & 15)];
    for square in beside.0.iter().take(beside.1) {
        if *square != job.before {
            enter(job.after(*square), bound, depth, tally, put);
        }
    }
}

#[inline(always)]
fn enter(job: Job, bound: u32, depth: u32, tally: &mut Tally, put: &mut impl FnMut(Job)) {
    let least = job.lower_bound();
    if least > bound {
        tally.next_bound = tally.next_bound.min(least);
    } else {
        descend(job, bound, depth, tally, put);
    }
}

/// The answer of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solved {
    /// Moves of every shortest solution.
    pub moves: u32,
    /// Shortest solutions.
    pub solutions: u64,
    /// Nodes visited under all bounds.
    pub nodes: u64,
}

/// All shortest solutions of a board, by one member.
pub fn solve(board: Board) -> Solved {
    solve_in_jobs(board, 0)
}

/// The same by way of jobs at a depth; the answer does not depend on it.
pub fn solve_in_jobs(board: Board, depth: u32) -> Solved {
    let root = Job::root(board);
    let mut bound = root.lower_bound();
    let mut nodes = 0;
    loop {
        let mut below = Tally::default();
        let mut whole = split(&root, bound, depth, &mut |job| below.add(&search(&job, bound)));
        whole.add(&below);
        nodes += whole.nodes;
        // A board that can be solved has a solution within MOVES_MAX.
        if whole.solutions > 0 || whole.next_bound > MOVES_MAX {
            return Solved { moves: bound, solutions: whole.solutions, nodes };
        }
        bound = whole.next_bound;
    }
}
