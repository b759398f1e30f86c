//! What became of a run (spec/wide-area.md, section 11).

use farcall_messaging_virtual::Finished;
use serde_json::{Map, Value, json};

/// What a run has found, and what it cost.
#[derive(Clone, Debug)]
pub struct Report {
    pub(crate) finished: Finished,
    pub(crate) members: u32,
    pub(crate) sites: u32,
}

impl Report {
    /// What member 0 said.
    pub fn answer(&self) -> Option<&str> {
        self.finished.answer.as_deref()
    }

    /// Virtual seconds from the first join to the end of the last member.
    pub fn seconds(&self) -> f64 {
        self.finished.time as f64 / 1e9
    }

    /// All of it.
    pub fn json(&self) -> Value {
        let Finished { answer, work, traffic, trace, things, .. } = &self.finished;
        let counted = |messages: u64, bytes: u64| json!({ "messages": messages, "bytes": bytes });
        let of_thing = |(number, counts): (_, &[u64; 4])| {
            let name = things.get(number).map_or("?", |thing| thing.name.as_str());
            let [inside, inside_bytes, between, between_bytes] = *counts;
            let counts = json!({
                "inside": counted(inside, inside_bytes),
                "between": counted(between, between_bytes),
            });
            (name.to_owned(), counts)
        };
        json!({
            "answer": answer,
            "seconds": self.seconds(),
            "work_seconds": *work as f64 / 1e9,
            "members": self.members,
            "sites": self.sites,
            "inside": counted(traffic.inside_messages, traffic.inside_bytes),
            "between": counted(traffic.between_messages, traffic.between_bytes),
            "things": traffic.things.iter().map(of_thing).collect::<Map<String, Value>>(),
            "trace": format!("{trace:016x}"),
        })
    }
}
