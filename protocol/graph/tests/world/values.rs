//! What values are, worked out without servers.

use std::collections::BTreeMap;

use farcall_graph::{CallNumber, DataNumber, Graph};

/// What the program gives.
pub fn given(data: DataNumber) -> u64 {
    u64::from(data.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1
}

/// What a call makes of what it uses.
pub fn result(call: CallNumber, made: DataNumber, used: &[u64]) -> u64 {
    let first = (u64::from(call.0) << 32 | u64::from(made.0)) ^ 0x517c_c1b7_2722_0a95;
    used.iter().fold(first, |sum, one| (sum ^ one).wrapping_mul(0x0100_0000_01b3).rotate_left(13))
}

/// What a value must be.
pub fn expected(graph: &Graph, data: DataNumber) -> u64 {
    let mut known: BTreeMap<DataNumber, u64> = BTreeMap::new();
    let mut wanted = vec![data];
    while let Some(one) = wanted.last().copied() {
        let Some(maker) = graph.maker(one) else {
            known.insert(one, given(one));
            wanted.pop();
            continue;
        };
        let uses = &graph.call(maker).uses;
        let missing: Vec<DataNumber> =
            uses.iter().copied().filter(|data| !known.contains_key(data)).collect();
        if missing.is_empty() {
            let used: Vec<u64> = uses.iter().map(|data| known[data]).collect();
            known.insert(one, result(maker, one, &used));
            wanted.pop();
        } else {
            wanted.extend(missing);
        }
    }
    known[&data]
}
