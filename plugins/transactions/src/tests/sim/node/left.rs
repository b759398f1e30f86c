//! What is left in the state of a node when all has ended.

use crate::state::State;

/// What a state still has to do.
pub fn left_of(state: &State) -> Vec<String> {
    let keeping = &state.keeping;
    let entries = state.entries().map(|(_, entry)| {
        let open = entry.running().map(|running| running.transaction.open_runs());
        let left = entry.running().map(|running| running.transaction.left());
        format!("a transaction: {left:?} calls left, {open:?} open")
    });
    let counts = [
        ("journals", keeping.journals.len()),
        ("dirty", keeping.dirty.len()),
        ("leaving", keeping.leaving.len()),
        ("ending", keeping.ending.len()),
        ("found", keeping.found.len()),
        ("resting", keeping.resting.len()),
        ("asking", keeping.asking.len()),
        ("loading", usize::from(keeping.loading.is_some())),
        ("scanned", usize::from(keeping.scanned.is_some())),
        ("retries", keeping.retries.len()),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    entries.chain(counts.map(|(name, count)| format!("{count} {name}"))).collect()
}
