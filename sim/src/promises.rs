//! What every call was promised, and what became of it: a world tells everything that happens to a
//! call, and this panics when something does not hold.

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{CallId, ErrorKind, ExecutableId, ObjectId};
use farcall_services::spawner::Output;

use crate::plan::Plan;
use crate::program::{Target, Wish};

/// How a note begins that says how many bytes of output are left out.
const LEFT_OUT: &str = "[farcall: ";

/// What an object has done.
struct Object {
    executable: ExecutableId,
    calls: u64,
    /// The number of its last call.
    last: u64,
}

/// What routines printed in a call, and what its client heard of that.
#[derive(Default)]
struct Printed {
    lines: u64,
    bytes: u64,
    heard_bytes: u64,
    left_out: u64,
    /// The last line that was heard of each output.
    last: BTreeMap<u8, u64>,
}

/// All calls of a world.
pub struct Promises {
    calls: u64,
    calls_of_each: u64,
    wishes: BTreeMap<u64, Wish>,
    /// A call that is opened again has another id.
    numbers: BTreeMap<CallId, u64>,
    begun: BTreeSet<u64>,
    objects: BTreeMap<ObjectId, Object>,
    /// Of calls on objects: how many calls the object had with this one.
    positions: BTreeMap<u64, u64>,
    /// How often the function of each call was called.
    functions: BTreeMap<u64, u64>,
    /// Calls whose functions failed.
    failed_functions: BTreeSet<u64>,
    /// Clients that lost a connection, stood still or ended.
    disturbed: BTreeSet<u64>,
    printed: BTreeMap<u64, Printed>,
    outcomes: BTreeMap<u64, Option<ErrorKind>>,
}

impl Promises {
    /// Of a world in which nothing has happened.
    pub fn new(plan: &Plan) -> Promises {
        Promises {
            calls: (plan.clients * plan.calls) as u64,
            calls_of_each: plan.calls as u64,
            wishes: BTreeMap::new(),
            numbers: BTreeMap::new(),
            begun: BTreeSet::new(),
            objects: BTreeMap::new(),
            positions: BTreeMap::new(),
            functions: BTreeMap::new(),
            failed_functions: BTreeSet::new(),
            disturbed: BTreeSet::new(),
            printed: BTreeMap::new(),
            outcomes: BTreeMap::new(),
        }
    }

    /// A client wants a call.
    pub fn wished(&mut self, wish: &Wish) {
        self.wishes.insert(wish.number, wish.clone());
    }

    /// Calls were opened under these ids.
    pub fn opened(&mut self, opened: Vec<(CallId, u64)>) {
        self.numbers.extend(opened);
    }

    /// A client lost its connection, stands still or ends.
    pub fn disturbed(&mut self, client: usize) {
        self.disturbed.insert(client as u64);
    }

    fn is_disturbed(&self, number: u64) -> bool {
        self.disturbed.contains(&(number / self.calls_of_each))
    }

    /// The call of an id.
    pub fn wish_of(&self, call: CallId) -> &Wish {
        let number = self.numbers.get(&call).expect("a client has opened it");
        &self.wishes[number]
    }

    /// A routine begins: no call runs twice that may not. Calls on an object run in its own process, and in the
    /// order of their Opens where the client had one connection.
    pub fn begins(&mut self, call: CallId, executable: ExecutableId) -> Wish {
        let wish = self.wish_of(call).clone();
        let number = wish.number;
        let is_first = self.begun.insert(number);
        assert!(is_first || wish.target == Target::Again, "call {number} ran twice");
        if let Target::Add(id) = wish.target {
            let is_disturbed = self.is_disturbed(number);
            let object =
                self.objects.entry(id).or_insert(Object { executable, calls: 0, last: number });
            assert_eq!(object.executable, executable, "object {id} runs in two executables");
            assert!(
                is_disturbed || object.last <= number,
                "call {number} on object {id} ran after call {}",
                object.last
            );
            (object.calls, object.last) = (object.calls + 1, number);
            self.positions.insert(number, object.calls);
        }
        wish
    }

    /// A function of a client's runs: for a call that is under way, in order, and never twice.
    pub fn function_runs(&mut self, number: u64, index: u64) {
        assert!(!self.outcomes.contains_key(&number), "call {number} calls back after its end");
        let next = self.functions.entry(number).or_insert(0);
        assert_eq!(*next, index, "the function of call {number} ran twice or out of order");
        *next += 1;
    }

    /// A function fails.
    pub fn function_fails(&mut self, number: u64) {
        self.failed_functions.insert(number);
    }

    /// The routine of a call prints a line: the bytes.
    pub fn prints(&mut self, call: CallId, output: Output, padding: usize) -> Vec<u8> {
        let number = self.wish_of(call).number;
        let printed = self.printed.entry(number).or_default();
        printed.lines += 1;
        let line = format!("{number} {} {} {}\n", output as u8, printed.lines, ".".repeat(padding));
        printed.bytes += line.len() as u64;
        line.into_bytes()
    }

    /// A client hears what the routine of a call printed: nothing of another's, in order, nothing
    /// twice.
    pub fn heard(&mut self, number: u64, output: u8, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).expect("routines print plain text");
        assert!(self.wishes[&number].shows_output, "call {number} wants no output");
        let printed = self.printed.entry(number).or_default();
        if let Some(note) = text.trim_start().strip_prefix(LEFT_OUT) {
            let count = note.split_once(' ').and_then(|(count, _)| count.parse::<u64>().ok());
            printed.left_out += count.expect("a note says how many bytes");
            return;
        }
        printed.heard_bytes += bytes.len() as u64;
        for line in text.lines() {
            let mut words = line.split(' ').map(str::parse::<u64>);
            let mut word = || words.next().and_then(Result::ok).expect("a whole line is heard");
            assert_eq!((word(), word()), (number, output.into()), "output of another call");
            let line = word();
            let last = printed.last.entry(output).or_insert(0);
            assert!(*last < line, "call {number} printed line {line} after line {last}");
            *last = line;
        }
    }

    /// A call has ended, once, and as it was promised.
    pub fn ended(&mut self, number: u64, outcome: Result<Option<u64>, ErrorKind>) {
        let failure = outcome.err();
        assert!(self.outcomes.insert(number, failure).is_none(), "call {number} ended twice");
        let wish = &self.wishes[&number];
        if let Ok(position) = outcome {
            assert_eq!(position, self.positions.get(&number).copied(), "of call {number}");
            if let Target::Apply(times) = wish.target {
                let ran = self.functions.get(&number).copied().unwrap_or(0);
                assert_eq!(ran, times, "call {number} returned without its function");
            }
        }
        let may_fail = wish.keep || self.is_disturbed(number);
        assert!(
            failure != Some(ErrorKind::RoutineFailed)
                || may_fail
                || self.failed_functions.contains(&number),
            "the function of call {number} has not failed"
        );
        let is_whole = matches!(
            failure,
            None | Some(
                ErrorKind::RoutineFailed | ErrorKind::RoutineCrashed | ErrorKind::RoutineExited
            )
        );
        if is_whole && wish.shows_output && !may_fail {
            self.check_output(number);
        }
    }

    /// Everything was told that a routine printed before its call ended, or how much of it was not.
    fn check_output(&self, number: u64) {
        if let Some(printed) = self.printed.get(&number) {
            assert_eq!(
                printed.heard_bytes + printed.left_out,
                printed.bytes,
                "output of call {number} is missing"
            );
        }
    }

    /// Whether every call has ended.
    pub fn all_ended(&self) -> bool {
        self.outcomes.len() as u64 >= self.calls
    }

    /// Every call has ended.
    pub fn check_all_ended(&self) {
        let missing = (0..self.calls).find(|number| !self.outcomes.contains_key(number));
        assert_eq!(missing, None, "a call never ended");
    }

    /// Calls that returned.
    pub fn returned(&self) -> usize {
        self.outcomes.values().filter(|failure| failure.is_none()).count()
    }

    /// Calls that failed, by kind.
    pub fn failed(&self) -> BTreeMap<&'static str, usize> {
        let mut failed = BTreeMap::new();
        for kind in self.outcomes.values().flatten() {
            *failed.entry(kind.name()).or_insert(0) += 1;
        }
        failed
    }
}
