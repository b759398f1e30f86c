//! What became of a scenario's calls, and what is left of it.

use farcall_tests::eventually;
use std::collections::BTreeMap;

use crate::journal::{Entry, Record};
use crate::load::{BOUND, CALLS_OF_A_CALLER, fetch};
use crate::world::World;

/// Descriptors of a server beside those of its processes and segments, such as listeners; and
/// segments, of which it keeps 16 for later calls.
const DESCRIPTORS: usize = 45;
const DESCRIPTORS_OF_A_PROCESS: usize = 8;
const MAPPINGS: usize = 24;

pub struct Verdict {
    calls: usize,
    right: usize,
    failed: usize,
    /// Calls of clients that were killed before they heard of an outcome.
    unheard: usize,
    wrong: Vec<String>,
}

impl Verdict {
    /// Ends the world, and says how it was.
    pub fn of(world: &mut World) -> Verdict {
        let mut verdict = Verdict {
            calls: world.calls(),
            right: 0,
            failed: 0,
            unheard: 0,
            wrong: world.troubles(),
        };
        let mut records = world.records();
        verdict.find_kept(world, &mut records);
        verdict.count(&records, &world.marks(), world.callers_killed());
        verdict.look_for_leaks(world);
        verdict
    }

    /// Notes what must be.
    pub fn check(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(wrong());
        }
    }

    /// Outcomes of calls that were left to the server by callers that are gone.
    fn find_kept(&mut self, world: &World, records: &mut BTreeMap<usize, Record>) {
        for (number, record) in records.iter_mut().filter(|(_, record)| record.outcome.is_none()) {
            let Some(id) = record.kept else { continue };
            match world.try_client_of(*number) {
                Ok(mut client) => {
                    record.outcome =
                        Some(fetch(&mut client, || world.try_client_of(*number), *number, id));
                }
                Err(error) => self.wrong.push(format!("nobody can connect: {error}")),
            }
        }
    }

    fn count(
        &mut self,
        records: &BTreeMap<usize, Record>,
        marks: &BTreeMap<usize, usize>,
        killed: usize,
    ) {
        for number in 0..self.calls {
            let record = records.get(&number);
            let times = marks.get(&number).copied().unwrap_or(0);
            self.check(times <= 1, || format!("call {number} ran {times} times"));
            match record.map(|record| &record.outcome) {
                None => self.wrong.push(format!("call {number} was never made")),
                Some(None) => self.unheard += 1,
                Some(Some(Entry::Right)) => {
                    self.right += 1;
                    self.check(times == 1, || format!("call {number} returned and never ran"));
                }
                Some(Some(Entry::Failed(_))) => self.failed += 1,
                Some(Some(entry)) => self.wrong.push(format!("call {number}: {entry:?}")),
            }
        }
        let unheard = self.unheard;
        let excused = killed * CALLS_OF_A_CALLER;
        self.check(unheard <= excused, || {
            format!("{unheard} calls are lost: {killed} clients that were killed excuse {excused}")
        });
        let right = self.right;
        let calls = self.calls;
        self.check(right * 4 >= calls, || {
            format!("only {right} of {calls} calls returned: the test tests little")
        });
    }

    fn look_for_leaks(&mut self, world: &mut World) {
        let open = || {
            world
                .try_client()
                .and_then(|client| client.status(BOUND))
                .map_or(u64::MAX, |status| status.calls_open)
        };
        self.check(eventually(|| open() == 0), || {
            format!("{} calls are open when all are over", open())
        });
        let costs = || {
            let (descriptors, processes) = world.descriptors();
            let mappings = world.mappings();
            (descriptors, DESCRIPTORS + DESCRIPTORS_OF_A_PROCESS * processes + mappings, mappings)
        };
        let settled = || {
            let (descriptors, most, mappings) = costs();
            descriptors <= most && mappings <= MAPPINGS
        };
        self.check(eventually(settled), || {
            format!("descriptors, most of them, and segments are {:?}", costs())
        });
        let left = world.end();
        self.check(left.is_empty(), || format!("left behind: {}", left.join("\n  ")));
    }

    pub fn sum(&self) -> String {
        let Verdict { calls, right, failed, unheard, wrong } = self;
        format!(
            "of {calls} calls {right} right, {failed} failed, {unheard} of killed clients; {} \
                wrong",
            wrong.len()
        )
    }

    /// What was wrong, the first of it.
    pub fn outcome(&self) -> Result<(), String> {
        let shown = self
            .wrong
            .iter()
            .take(20)
            .map(|wrong| format!("  {wrong}"))
            .collect::<Vec<_>>()
            .join("\n");
        if self.wrong.is_empty() { Ok(()) } else { Err(shown) }
    }
}
