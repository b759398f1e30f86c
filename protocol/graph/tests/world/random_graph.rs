//! Graphs that a seed draws.

use farcall_base::{Random, SeededRandom};
use farcall_graph::{CallPlan, DataNumber, DataPlan, Graph, Limits};

/// A graph of these.
pub fn of(data: Vec<DataPlan>, calls: Vec<CallPlan>) -> Graph {
    Graph::new(data, calls, &Limits::default()).unwrap()
}

/// So many calls that use what calls before them make, or one of four given values.
pub fn new(seed: u64, calls: u32, may_run_again: bool) -> Graph {
    let mut random = SeededRandom::new(seed + 1);
    let mut data: Vec<DataPlan> =
        (0..4).map(|_| DataPlan { bytes: 1 << 16, wanted: false }).collect();
    let mut all = Vec::new();
    for _ in 0..calls {
        let mut uses = Vec::new();
        for _ in 0..random.next() % 4 {
            // Mostly what is new.
            let back = random.next() % 12;
            let last = data.len() as u64 - 1;
            uses.push(DataNumber((last - back.min(last)) as u32));
        }
        let made = DataNumber(data.len() as u32);
        data.push(DataPlan {
            bytes: random.next() % (1 << 20),
            wanted: random.next().is_multiple_of(5),
        });
        all.push(CallPlan { uses, makes: vec![made], after: Vec::new(), may_run_again });
    }
    of(data, all)
}
