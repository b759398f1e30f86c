//! Calls that all take a second, and what is asked of a transaction of them.

use farcall_base::Instant;
use farcall_graph::{
    Action, CallNumber, CallPlan, Costs, DataNumber, DataPlan, Graph, Limits, Place, ServerNumber,
    Transaction,
};

const MEGABYTE: u64 = 1 << 20;

/// Each call runs a second; a megabyte takes a tenth of that between servers, and one from the client.
pub struct Plain;

impl Costs for Plain {
    fn run_s(&self, _: CallNumber, _: ServerNumber) -> Option<f64> {
        Some(1.0)
    }

    fn move_s(&self, from: Place, _: ServerNumber, bytes: u64) -> f64 {
        let each = if from == Place::Client { 1.0 } else { 0.1 };
        bytes as f64 / MEGABYTE as f64 * each
    }
}

/// So many values of a megabyte; of these the program wants some.
pub fn data(count: usize, wanted: &[usize]) -> Vec<DataPlan> {
    (0..count).map(|at| DataPlan { bytes: MEGABYTE, wanted: wanted.contains(&at) }).collect()
}

/// A call that may run twice.
pub fn call(uses: &[u32], makes: &[u32]) -> CallPlan {
    let numbers = |all: &[u32]| all.iter().map(|one| DataNumber(*one)).collect();
    CallPlan { uses: numbers(uses), makes: numbers(makes), after: Vec::new(), may_run_again: true }
}

/// A call that may not run twice.
pub fn once(uses: &[u32], makes: &[u32]) -> CallPlan {
    CallPlan { may_run_again: false, ..call(uses, makes) }
}

/// A transaction on so many servers of one processor, after its first calls were opened.
pub fn started(data: Vec<DataPlan>, calls: Vec<CallPlan>, servers: u32) -> Transaction {
    let graph = Graph::new(data, calls, &Limits::default()).unwrap();
    let mut transaction = Transaction::new(Instant(1), graph, Limits::default(), |_| 1.0, |_| 0.1);
    (1..=servers).for_each(|server| transaction.handle_server(Instant(1), ServerNumber(server), 1));
    transaction.place(Instant(1), &Plain);
    transaction
}

/// All that is to be done.
pub fn actions(transaction: &mut Transaction) -> Vec<Action> {
    std::iter::from_fn(|| transaction.poll_action()).collect()
}

/// Which calls are to be opened, each with its server.
pub fn opened(actions: &[Action]) -> Vec<(u32, u32)> {
    let one = |action: &Action| match action {
        Action::Open { call, server, .. } => Some((call.0, server.0)),
        _ => None,
    };
    actions.iter().filter_map(one).collect()
}
