//! Records of a kept transaction, as a store that is damaged may give them: they are read, or refused
//! as damaged, and a transaction that goes on from them can be ended.
#![no_main]

use std::collections::BTreeMap;

use farcall_base::{ErrorKind, Instant, TransactionId};
use farcall_graph::{
    CallNumber, CallPlan, Costs, DataNumber, DataPlan, Graph, Limits, Place, ServerNumber,
    Transaction,
};
use farcall_transactions::state::kept::{Keys, records};
use libfuzzer_sys::fuzz_target;

const ACTIONS_MAX: usize = 10_000;

struct Plain;

impl Costs for Plain {
    fn run_s(&self, _: CallNumber, _: ServerNumber) -> Option<f64> {
        Some(1.0)
    }

    fn move_s(&self, _: Place, _: ServerNumber, _: u64) -> f64 {
        0.1
    }
}

/// Three calls in a row; the one in the middle may not run twice.
fn graph() -> Graph {
    let call = |at: u32| CallPlan {
        uses: vec![DataNumber(at)],
        makes: vec![DataNumber(at + 1)],
        after: Vec::new(),
        may_run_again: at != 1,
    };
    let data = (0..4).map(|at| DataPlan { bytes: 8, wanted: at == 3 }).collect();
    Graph::new(data, (0..3).map(call).collect(), &Limits::default()).expect("the graph is right")
}

/// What the store has: pieces of records behind one another, before each a byte that says which it is,
/// and whether it says how many pieces there are.
fn parts(keys: Keys, bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut parts = BTreeMap::new();
    for part in bytes.split(|byte| *byte == 0xff) {
        let Some((which, piece)) = part.split_first() else { continue };
        let epoch = u32::from(which & 3);
        let number = u32::from(which >> 2 & 7);
        let key = keys.record(epoch, number, usize::from(which >> 5 & 1));
        let count: &[u8] = if which & 64 == 0 { &[1, 0, 0, 0] } else { &[] };
        parts.insert(key, [count, piece].concat());
    }
    parts
}

fuzz_target!(|bytes: &[u8]| {
    let keys = Keys(TransactionId([9; 16]));
    let all = match records(keys, &parts(keys, bytes)) {
        Ok((_, all)) => all,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::Damaged),
    };
    let rows = all.iter().filter_map(|record| record.graph.as_deref().map(Vec::as_slice));
    let limits = Limits::default();
    let now = Instant(1);
    let restored =
        Transaction::restore(now, graph(), limits, |_| 1.0, |_| 0.1, rows, |server| server);
    let mut transaction = match restored {
        Ok(transaction) => transaction,
        Err(error) => {
            return assert!(matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Version));
        }
    };
    transaction.handle_server(now, ServerNumber(1), 1);
    transaction.handle_client_left(now);
    transaction.place(now, &Plain);
    transaction.handle_lost(now, ServerNumber(1));
    transaction.handle_end(now);
    assert!(transaction.is_over());
    let left = std::iter::from_fn(|| transaction.poll_action()).take(ACTIONS_MAX).count();
    assert!(left < ACTIONS_MAX, "it never ends");
});
