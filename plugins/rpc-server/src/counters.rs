//! Counts of who called what and how it ended: additions, and one look into a small table for each
//! call. Pure.
//!
//! Names come from outside, so that tables of them are bounded: what finds them full is counted as
//! [`OTHER`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use farcall_base::ErrorKind;
use farcall_wire::{DURATIONS_NS, Use};

/// Stands for all that have no row of their own.
pub const OTHER: &str = "other";
/// Stands for the routine of calls that were refused: they may name anything.
const NO_ROUTINE: &str = "";
const KINDS: usize = ErrorKind::ALL.len() + 1;

/// A principal or a routine in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameNumber(u32);

impl NameNumber {
    /// As a plain number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The number that stands for [`OTHER`].
const OTHER_NUMBER: NameNumber = NameNumber(0);

/// One principal's calls of one routine in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowNumber(usize);

/// What became of a call.
pub struct Ended {
    /// Why it failed, if it did, by number of the kind.
    pub failure: Option<u16>,
    /// Bytes that went to the routine.
    pub bytes_in: u64,
    /// Bytes that came from it.
    pub bytes_out: u64,
    /// Time from its Open to its outcome.
    pub duration_ns: u64,
    /// Time for which its routine ran.
    pub running_ns: u64,
}

/// All counts.
pub struct Counters {
    principals: Names,
    routines: Names,
    /// Few at a time are asked for, over and over: cheaper to find than to hash.
    numbers: BTreeMap<(NameNumber, NameNumber), RowNumber>,
    /// Never empty: the first is that of all that have none of their own.
    rows: Vec<Row>,
    rows_max: usize,
    /// Clients that ever connected.
    pub connected: u64,
    /// Of them, those that were refused or broke a rule.
    pub refused: u64,
    /// Executables that were started.
    pub started: u64,
    /// Executables that were ended.
    pub stopped: u64,
    /// Executables that could not be started, or ended by themselves.
    pub crashed: u64,
}

struct Row {
    principal: Arc<str>,
    routine: Arc<str>,
    begun: u64,
    returned: u64,
    failed: [u64; KINDS],
    bytes_in: u64,
    bytes_out: u64,
    durations: [u64; DURATIONS_NS.len() + 1],
    duration_ns: u64,
    running_ns: u64,
}

impl Counters {
    /// Nothing happened yet; at most `rows_max` rows, besides the one for all others.
    pub fn new(rows_max: usize) -> Counters {
        let names =
            || Names { max: rows_max, numbers: HashMap::new(), all: vec![Arc::from(OTHER)] };
        Counters {
            principals: names(),
            routines: names(),
            numbers: BTreeMap::new(),
            rows: vec![Row::new(Arc::from(OTHER), Arc::from(OTHER))],
            rows_max,
            connected: 0,
            refused: 0,
            started: 0,
            stopped: 0,
            crashed: 0,
        }
    }

    /// The number of somebody who connects.
    pub fn principal(&mut self, name: &str) -> NameNumber {
        self.principals.number(name)
    }

    /// The number of a routine that is published.
    pub fn routine(&mut self, name: &str) -> NameNumber {
        self.routines.number(name)
    }

    /// A call was accepted.
    pub fn begun(&mut self, principal: NameNumber, routine: NameNumber) -> RowNumber {
        let row = self.row(principal, routine);
        self.rows[row.0].begun += 1;
        row
    }

    /// A call that was accepted is over.
    pub fn ended(&mut self, row: RowNumber, ended: &Ended) {
        let row = &mut self.rows[row.0];
        match ended.failure {
            None => row.returned += 1,
            Some(kind) => row.failed[kind_index(kind)] += 1,
        }
        row.bytes_in = row.bytes_in.saturating_add(ended.bytes_in);
        row.bytes_out = row.bytes_out.saturating_add(ended.bytes_out);
        row.durations[DURATIONS_NS.partition_point(|end| *end < ended.duration_ns)] += 1;
        // An executable that wrote over its memory may have told any time.
        row.duration_ns = row.duration_ns.saturating_add(ended.duration_ns);
        row.running_ns = row.running_ns.saturating_add(ended.running_ns);
    }

    /// A call was refused.
    pub fn refused(&mut self, principal: NameNumber, kind: ErrorKind) {
        let routine = self.routines.number(NO_ROUTINE);
        let row = self.row(principal, routine);
        self.rows[row.0].failed[kind_index(kind.code())] += 1;
    }

    fn row(&mut self, principal: NameNumber, routine: NameNumber) -> RowNumber {
        if let Some(row) = self.numbers.get(&(principal, routine)) {
            return *row;
        }
        if principal == OTHER_NUMBER || routine == OTHER_NUMBER || self.rows.len() > self.rows_max {
            return RowNumber(0);
        }
        let row = RowNumber(self.rows.len());
        self.rows.push(Row::new(self.principals.name(principal), self.routines.name(routine)));
        self.numbers.insert((principal, routine), row);
        row
    }

    /// What was counted of each of `whose` calls, or of everybody's.
    pub fn uses(&self, whose: Option<&str>) -> Vec<Use> {
        let seen = self.rows.iter().filter(|row| !row.is_empty());
        seen.filter(|row| whose.is_none_or(|name| name == &*row.principal))
            .map(Row::shown)
            .collect()
    }
}

/// Kinds of error that a later version knows share a place.
fn kind_index(code: u16) -> usize {
    ErrorKind::from_code(code).map_or(0, |kind| usize::from(kind.code()))
}

impl Row {
    fn new(principal: Arc<str>, routine: Arc<str>) -> Row {
        Row {
            principal,
            routine,
            begun: 0,
            returned: 0,
            failed: [0; KINDS],
            bytes_in: 0,
            bytes_out: 0,
            durations: [0; DURATIONS_NS.len() + 1],
            duration_ns: 0,
            running_ns: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.begun == 0 && self.failed.iter().all(|count| *count == 0)
    }

    fn shown(&self) -> Use {
        let failed = self.failed.iter().enumerate().filter(|(_, count)| **count > 0);
        Use {
            principal: self.principal.to_string(),
            routine: self.routine.to_string(),
            begun: self.begun,
            returned: self.returned,
            failed: failed.map(|(kind, count)| (kind as u16, *count)).collect(),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            durations: self.durations.to_vec(),
            duration_ns: self.duration_ns,
            running_ns: self.running_ns,
        }
    }
}

/// Names and their numbers.
struct Names {
    max: usize,
    numbers: HashMap<Arc<str>, NameNumber>,
    all: Vec<Arc<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> NameNumber {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.all.len() > self.max {
            return OTHER_NUMBER;
        }
        let number = NameNumber(self.all.len() as u32);
        let name: Arc<str> = Arc::from(name);
        self.all.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn name(&self, number: NameNumber) -> Arc<str> {
        self.all[number.0 as usize].clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn returned(duration_ns: u64) -> Ended {
        Ended {
            failure: None,
            bytes_in: 8,
            bytes_out: 16,
            duration_ns,
            running_ns: duration_ns / 2,
        }
    }

    #[test]
    fn calls_are_counted_by_principal_and_routine_with_their_times() {
        let mut counters = Counters::new(8);
        let anna = counters.principal("anna");
        let bert = counters.principal("bert");
        let routine = counters.routine("m/f");
        let row = counters.begun(anna, routine);
        assert_eq!(counters.begun(anna, routine), row, "one row for both");
        counters.ended(row, &returned(10_000));
        counters.ended(
            row,
            &Ended { failure: Some(ErrorKind::RoutineCrashed.code()), ..returned(u64::MAX) },
        );
        counters.refused(bert, ErrorKind::PermissionDenied);
        let uses = counters.uses(None);
        assert_eq!(uses.len(), 2, "{uses:?}");
        assert_eq!(
            (uses[0].begun, uses[0].returned, uses[0].bytes_in, uses[0].bytes_out),
            (2, 1, 16, 32)
        );
        assert_eq!(uses[0].failed, [(ErrorKind::RoutineCrashed.code(), 1)]);
        assert_eq!(
            (uses[0].durations[0], uses[0].durations[15], uses[0].duration_ns),
            (1, 1, u64::MAX)
        );
        assert_eq!(
            (uses[1].principal.as_str(), uses[1].routine.as_str(), uses[1].begun),
            ("bert", "", 0)
        );
        assert_eq!(counters.uses(Some("bert")), uses[1..]);
    }

    /// Whoever invents names fills no memory: the table ends, and the sum of all rows stays right.
    #[test]
    fn what_finds_the_table_full_is_counted_as_other() {
        let mut counters = Counters::new(3);
        let routine = counters.routine("m/f");
        for number in 0..1000 {
            let principal = counters.principal(&format!("user {number}"));
            let row = counters.begun(principal, routine);
            counters.ended(row, &returned(1));
            counters.refused(principal, ErrorKind::NotFound);
        }
        let uses = counters.uses(None);
        assert_eq!(
            (uses.len(), uses[0].principal.as_str(), uses[0].routine.as_str()),
            (4, OTHER, OTHER)
        );
        assert_eq!(uses.iter().map(|one| one.begun).sum::<u64>(), 1000);
        assert_eq!(
            uses.iter().flat_map(|one| &one.failed).map(|(_, count)| count).sum::<u64>(),
            1000
        );
        assert!(counters.principals.all.len() <= 4 && counters.numbers.len() <= 3);
    }

    #[test]
    fn kinds_of_later_versions_have_a_place() {
        let mut counters = Counters::new(3);
        let principal = counters.principal("anna");
        let routine = counters.routine("m/f");
        let row = counters.begun(principal, routine);
        counters.ended(row, &Ended { failure: Some(999), ..returned(1) });
        assert_eq!(counters.uses(None)[0].failed, [(0, 1)]);
    }
}
