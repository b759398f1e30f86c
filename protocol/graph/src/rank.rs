//! Which call is the more urgent: the longest way from it to the end of the graph (HEFT's upward rank:
//! Topcuoglu, Hariri, Wu, 2002).

use crate::{CallNumber, Graph};

/// Of each call, the seconds from its beginning to the end of all that waits for it. `run_s` is what a
/// call takes, and `move_s` what a value takes from one server to another, on average.
pub fn upward_ranks(
    graph: &Graph,
    run_s: impl Fn(CallNumber) -> f64,
    move_s: impl Fn(u64) -> f64,
) -> Vec<f64> {
    let mut ranks = vec![0.0_f64; graph.calls()];
    for call in graph.order.iter().rev() {
        let plan = graph.call(*call);
        let mut behind = 0.0_f64;
        for made in &plan.makes {
            let way = move_s(graph.value(*made).bytes);
            let users = &graph.users[made.0 as usize];
            let longest = users.iter().map(|user| ranks[user.0 as usize] + way);
            behind = longest.fold(behind, f64::max);
        }
        let later = graph.later[call.0 as usize].iter().map(|later| ranks[later.0 as usize]);
        behind = later.fold(behind, f64::max);
        ranks[call.0 as usize] = behind + run_s(*call).max(0.0);
    }
    ranks
}
