//! Satisfiability of clauses: watched literals, learned clauses, restarts (after Marques-Silva and
//! Sakallah 1999, and Moskewicz and others 2001).

use super::order::Order;

/// A variable or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Literal(u32);

impl Literal {
    pub(super) fn of(variable: u32, value: bool) -> Literal {
        Literal(2 * variable + u32::from(!value))
    }

    pub(super) fn not(self) -> Literal {
        Literal(self.0 ^ 1)
    }

    fn variable(self) -> usize {
        (self.0 / 2) as usize
    }

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// No clause: a decision, or a fact.
const NO_CLAUSE: u32 = u32::MAX;
/// Conflicts of the first run; runs follow Luby's sequence.
const RUN: u64 = 64;

/// A clause that waits for one of its literals to become false.
#[derive(Clone, Copy, Debug)]
struct Watch {
    clause: u32,
    /// Another literal of it: while it is true, the clause need not be looked at.
    other: Literal,
}

/// A value that is known for a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    True,
    False,
}

/// A set of clauses; its memory is used again after [`Solver::clear`].
#[derive(Debug, Default)]
pub(super) struct Solver {
    /// Clauses, each behind its length.
    arena: Vec<u32>,
    watches: Vec<Vec<Watch>>,
    values: Vec<Value>,
    levels: Vec<u32>,
    reasons: Vec<u32>,
    trail: Vec<Literal>,
    /// Where the trail of each decision begins.
    limits: Vec<usize>,
    head: usize,
    order: Order,
    phases: Vec<bool>,
    seen: Vec<bool>,
    learned: Vec<Literal>,
    is_contradicted: bool,
    operations: u64,
}

impl Solver {
    /// Forgets all clauses and variables.
    pub(super) fn clear(&mut self) {
        self.watches.iter_mut().for_each(Vec::clear);
        self.arena.clear();
        self.values.clear();
        self.levels.clear();
        self.reasons.clear();
        self.trail.clear();
        self.limits.clear();
        self.head = 0;
        self.order.clear();
        self.phases.clear();
        self.seen.clear();
        self.is_contradicted = false;
    }

    /// A new variable.
    pub(super) fn variable(&mut self) -> u32 {
        let variable = self.levels.len() as u32;
        self.values.extend([Value::Unknown; 2]);
        self.levels.push(0);
        self.reasons.push(NO_CLAUSE);
        self.phases.push(false);
        self.seen.push(false);
        self.order.push();
        if self.watches.len() < self.values.len() {
            self.watches.extend([Vec::new(), Vec::new()]);
        }
        variable
    }

    /// Whether a variable is true in the assignment that was found.
    pub(super) fn is_true(&self, variable: u32) -> bool {
        self.values[Literal::of(variable, true).at()] == Value::True
    }

    /// The operations since this was asked last.
    pub(super) fn take_operations(&mut self) -> u64 {
        std::mem::take(&mut self.operations)
    }

    /// Adds a clause, before the search.
    pub(super) fn add(&mut self, literals: &[Literal]) {
        self.operations += 1;
        let mut clause = std::mem::take(&mut self.learned);
        clause.clear();
        clause.extend_from_slice(literals);
        clause.sort_unstable();
        clause.dedup();
        let is_true = |literal: &Literal| self.values[literal.at()] == Value::True;
        let is_empty_talk = clause.windows(2).any(|pair| pair[0].not() == pair[1]);
        if !is_empty_talk && !clause.iter().any(is_true) {
            clause.retain(|literal| self.values[literal.at()] == Value::Unknown);
            match clause[..] {
                [] => self.is_contradicted = true,
                [fact] => self.set(fact, NO_CLAUSE),
                _ => {
                    self.store(&clause);
                }
            }
        }
        self.learned = clause;
    }

    /// Searches an assignment that makes all clauses true. Returns whether there is one; nothing
    /// after more than `conflicts_max` conflicts.
    pub(super) fn solve(&mut self, conflicts_max: u64) -> Option<bool> {
        if self.is_contradicted || self.propagate().is_some() {
            return Some(false);
        }
        let mut conflicts = 0;
        let mut runs = 0;
        loop {
            runs += 1;
            let run_end = conflicts + RUN * luby(runs);
            while conflicts < run_end {
                match self.step() {
                    Step::Decided => {}
                    Step::Learned => conflicts += 1,
                    Step::Satisfied => return Some(true),
                    Step::Contradicted => return Some(false),
                }
                if conflicts > conflicts_max {
                    return None;
                }
            }
            self.back_to(0);
        }
    }

    fn step(&mut self) -> Step {
        if let Some(conflict) = self.propagate() {
            if self.limits.is_empty() {
                return Step::Contradicted;
            }
            let level = self.analyze(conflict);
            self.back_to(level);
            self.assert_learned();
            self.order.decay();
            return Step::Learned;
        }
        while let Some(variable) = self.order.take() {
            let literal = Literal::of(variable, self.phases[variable as usize]);
            if self.values[literal.at()] == Value::Unknown {
                self.limits.push(self.trail.len());
                self.set(literal, NO_CLAUSE);
                return Step::Decided;
            }
        }
        Step::Satisfied
    }

    fn store(&mut self, clause: &[Literal]) -> u32 {
        let at = self.arena.len() as u32;
        self.arena.push(clause.len() as u32);
        self.arena.extend(clause.iter().map(|literal| literal.0));
        self.watches[clause[0].at()].push(Watch { clause: at, other: clause[1] });
        self.watches[clause[1].at()].push(Watch { clause: at, other: clause[0] });
        at
    }

    fn set(&mut self, literal: Literal, reason: u32) {
        self.values[literal.at()] = Value::True;
        self.values[literal.not().at()] = Value::False;
        let variable = literal.variable();
        self.levels[variable] = self.limits.len() as u32;
        self.reasons[variable] = reason;
        self.phases[variable] = literal == Literal::of(variable as u32, true);
        self.trail.push(literal);
    }

    /// Follows all clauses with one literal left; returns a clause with none left.
    fn propagate(&mut self) -> Option<u32> {
        while let Some(literal) = self.trail.get(self.head).copied() {
            self.head += 1;
            let falsified = literal.not();
            let mut watches = std::mem::take(&mut self.watches[falsified.at()]);
            let conflict = self.visit(&mut watches, falsified);
            // No clause moves its watch to the literal that has just become false.
            self.watches[falsified.at()] = watches;
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Visits the clauses that watch a literal, which has become false, and keeps in `watches`
    /// those that still do.
    fn visit(&mut self, watches: &mut Vec<Watch>, falsified: Literal) -> Option<u32> {
        let mut conflict = None;
        let mut kept = 0;
        for at in 0..watches.len() {
            let watch = watches[at];
            if conflict.is_some() || self.values[watch.other.at()] == Value::True {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            self.operations += 1;
            let other = self.other_watch(watch.clause, falsified);
            if self.values[other.at()] != Value::True && self.rewatch(watch.clause, other) {
                continue;
            }
            watches[kept] = Watch { clause: watch.clause, other };
            kept += 1;
            match self.values[other.at()] {
                Value::True => {}
                Value::Unknown => self.set(other, watch.clause),
                Value::False => conflict = Some(watch.clause),
            }
        }
        watches.truncate(kept);
        conflict
    }

    /// Puts the false literal second, and returns the first.
    fn other_watch(&mut self, clause: u32, falsified: Literal) -> Literal {
        let first = clause as usize + 1;
        if self.arena[first] == falsified.0 {
            self.arena.swap(first, first + 1);
        }
        Literal(self.arena[first])
    }

    /// Watches a third literal that is not false instead of the second, if there is one.
    fn rewatch(&mut self, clause: u32, other: Literal) -> bool {
        let first = clause as usize + 1;
        let end = first + self.arena[clause as usize] as usize;
        for at in first + 2..end {
            let literal = Literal(self.arena[at]);
            if self.values[literal.at()] != Value::False {
                self.arena.swap(first + 1, at);
                self.watches[literal.at()].push(Watch { clause, other });
                return true;
            }
        }
        false
    }

    /// Learns the clause of the first literal through which all of this level leads to a conflict.
    /// Returns the level that it makes a literal known at.
    fn analyze(&mut self, conflict: u32) -> u32 {
        let here = self.limits.len() as u32;
        self.learned.clear();
        self.learned.push(Literal(0));
        let mut clause = conflict;
        let mut open = 0;
        let mut at = self.trail.len();
        loop {
            open += self.mark(clause, here);
            let literal = loop {
                at -= 1;
                if self.seen[self.trail[at].variable()] {
                    break self.trail[at];
                }
            };
            self.seen[literal.variable()] = false;
            open -= 1;
            if open == 0 {
                self.learned[0] = literal.not();
                break;
            }
            clause = self.reasons[literal.variable()];
        }
        for at in 1..self.learned.len() {
            self.seen[self.learned[at].variable()] = false;
        }
        self.second_level()
    }

    /// Marks the literals of a clause; returns how many are new and of level `here`.
    fn mark(&mut self, clause: u32, here: u32) -> usize {
        let first = clause as usize + 1;
        let end = first + self.arena[clause as usize] as usize;
        let mut open = 0;
        for at in first..end {
            let literal = Literal(self.arena[at]);
            let variable = literal.variable();
            let is_implied = self.values[literal.at()] == Value::True;
            if is_implied || self.seen[variable] || self.levels[variable] == 0 {
                continue;
            }
            self.seen[variable] = true;
            self.order.bump(variable as u32);
            if self.levels[variable] == here {
                open += 1;
            } else {
                self.learned.push(literal);
            }
        }
        open
    }

    /// Puts a literal of the highest level behind the first into the second place.
    fn second_level(&mut self) -> u32 {
        let level = |literal: &Literal| self.levels[literal.variable()];
        let Some(highest) = (1..self.learned.len()).max_by_key(|at| level(&self.learned[*at]))
        else {
            return 0;
        };
        self.learned.swap(1, highest);
        level(&self.learned[1])
    }

    fn assert_learned(&mut self) {
        let clause = std::mem::take(&mut self.learned);
        let reason = if clause.len() > 1 { self.store(&clause) } else { NO_CLAUSE };
        self.set(clause[0], reason);
        self.learned = clause;
    }

    fn back_to(&mut self, level: u32) {
        let Some(limit) = self.limits.get(level as usize).copied() else { return };
        for literal in self.trail.drain(limit..) {
            self.values[literal.at()] = Value::Unknown;
            self.values[literal.not().at()] = Value::Unknown;
            self.order.put_back(literal.variable() as u32);
        }
        self.limits.truncate(level as usize);
        self.head = limit;
    }
}

/// What one step of the search did.
enum Step {
    Decided,
    Learned,
    Satisfied,
    Contradicted,
}

/// Luby's sequence 1 1 2 1 1 2 4 …, from 1 on.
fn luby(index: u64) -> u64 {
    let mut index = index;
    loop {
        let bits = u64::BITS - index.leading_zeros();
        if index == (1 << bits) - 1 {
            return 1 << (bits - 1);
        }
        index -= (1 << (bits - 1)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Whether some assignment of few variables makes all clauses true, by trying all.
    fn is_satisfiable(variables: u32, clauses: &[Vec<Literal>]) -> bool {
        let holds = |assignment: u32, literal: &Literal| {
            let value = (assignment >> literal.variable()) & 1 == 1;
            *literal == Literal::of(literal.variable() as u32, value)
        };
        (0..1u32 << variables).any(|assignment| {
            clauses.iter().all(|clause| clause.iter().any(|literal| holds(assignment, literal)))
        })
    }

    #[test]
    fn random_clauses_agree_with_trying_all() {
        let mut random = Random::new(3);
        let mut solver = Solver::default();
        let mut satisfiable = 0;
        for _ in 0..2000 {
            solver.clear();
            let variables: Vec<u32> = (0..10).map(|_| solver.variable()).collect();
            let clauses: Vec<Vec<Literal>> = (0..42)
                .map(|_| {
                    let literal = |random: &mut Random| {
                        let bits = random.next_bits();
                        Literal::of(variables[(bits >> 8) as usize % 10], bits & 1 == 1)
                    };
                    (0..3).map(|_| literal(&mut random)).collect()
                })
                .collect();
            clauses.iter().for_each(|clause| solver.add(clause));
            let expected = is_satisfiable(10, &clauses);
            assert_eq!(solver.solve(u64::MAX), Some(expected));
            satisfiable += u32::from(expected);
            let is_held = |clause: &Vec<Literal>| {
                clause.iter().any(|literal| solver.values[literal.at()] == Value::True)
            };
            assert!(!expected || clauses.iter().all(is_held));
        }
        assert!((500..1900).contains(&satisfiable), "{satisfiable} of 2000");
    }

    #[test]
    fn lubys_sequence() {
        let begin: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(begin, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
