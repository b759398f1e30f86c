//! Kept calls in conversations: what is done in a results folder, and what clients are told.

use std::collections::BTreeMap;
use std::time::Duration;

use farcall_base::{CallId, ConnectionId, Error, ErrorKind};
use farcall_wire::{Argument, CallResult, CallTimes, Failure, Keep, KeptCall, Resume};

use super::Play;
use super::memory::Memory;
use super::words::{argument, word};
use crate::state::{OwnMemory, ResultsOrder};
use crate::step::{ReadBack, ReadMemory, Restored, Server, Surroundings};

/// What the folder is told. The driver would write it down; scripts say what came of it.
pub fn ordered(server: &mut Server, memory: &mut Memory, order: ResultsOrder) -> String {
    let name = |id: &CallId| id.0[0];
    match order {
        ResultsOrder::Record(written) => {
            format!("record call {} of {} for {}", name(&written.resume.call), written.routine, written.principal)
        }
        ResultsOrder::Store(_, finished) => {
            let said = format!("store call {}", name(&finished.id));
            server.stores(memory, finished);
            said
        }
        ResultsOrder::Fetch { call, principal, client, .. } => {
            memory.fetching.push_back((call, client));
            format!("fetch call {} for {principal}", name(&call))
        }
        ResultsOrder::Erase(call) => format!("erase call {}", name(&call)),
    }
}

/// An answer to the question what is kept.
pub fn shown(calls: &[KeptCall]) -> String {
    let one = |call: &KeptCall| {
        let durable = if call.durable { " durable" } else { "" };
        let seconds = call.left_us / 1_000_000;
        format!(
            "{} {} {} {} bytes {seconds} s{durable} of {}",
            call.id.0[0],
            call.routine,
            call.state.word(),
            call.bytes,
            call.principal
        )
    };
    format!("is told of {}", calls.iter().map(one).collect::<Vec<_>>().join("; "))
}

/// The server has the call.
pub fn agreed(resume: &Resume) -> String {
    let was = resume.interface.as_ref().map_or(String::new(), |interface| {
        let arguments = resume.arguments.iter().flatten().map(word).collect::<Vec<_>>().join(" ");
        format!(": {} {arguments}", interface.name)
    });
    format!("takes up call {}{was}", resume.call.0[0])
}

impl Play {
    /// `recorded CALL [full]`, `stored CALL [full]`, `read RESULT… | fail | damaged`, `restore NUMBER SECONDS [failed]`.
    pub fn results_event(&mut self, words: &[&str]) {
        let full = || Error::new(ErrorKind::LimitExceeded, "keep a result", "the disk is full").retryable();
        let is_full = words.contains(&"full");
        match words[0] {
            "recorded" => {
                let id = self.peers.id(words[1]);
                self.server.recorded(&mut self.memory, id, if is_full { Err(full()) } else { Ok(()) });
            }
            "stored" => {
                let id = self.peers.id(words[1]);
                self.server.stored(&mut self.memory, id, if is_full { Err(full()) } else { Ok(1500) });
            }
            "restore" => {
                let (id, seconds) = (CallId([words[1].parse().unwrap(); 16]), words[2].parse().unwrap());
                let restored = Restored {
                    id,
                    routine: "m/scale".to_owned(),
                    principal: "uid 1".to_owned(),
                    keep: Keep { after_end_us: 3_600_000_000, durable: true },
                    failed: words.contains(&"failed"),
                    bytes: 1500,
                    left: Duration::from_secs(seconds),
                };
                self.server.restore(vec![restored], self.memory.now);
            }
            _ => self.read_result(&words[1..]),
        }
    }

    fn read_result(&mut self, words: &[&str]) {
        let (id, client) = self.memory.fetching.pop_front().expect("something is being fetched");
        let damaged = Error::new(ErrorKind::Damaged, "read a result", "its file was damaged");
        let fetched = match words[0] {
            "damaged" => Err(damaged),
            "fail" => Ok(self.read(id, Vec::new(), Some(Failure::from(&damaged)))),
            _ => {
                let results = words.iter().map(|word| argument(word)).collect();
                Ok(self.read(id, results, None))
            }
        };
        self.server.read_back(&mut self.memory, id, client, fetched);
    }

    fn read(&mut self, id: CallId, results: Vec<Argument>, failure: Option<Failure>) -> ReadBack {
        let blocks = results.iter().enumerate().filter_map(|(slot, argument)| match argument {
            Argument::Blocks(Some(bytes)) => Some((slot as u16, *bytes)),
            _ => None,
        });
        let bytes: BTreeMap<u16, u64> = blocks.collect();
        let memory = (!bytes.is_empty()).then(|| {
            let (id, identity, size) = self.memory.allocate(ConnectionId(0), bytes.values().sum()).unwrap();
            let memory =
                OwnMemory { id, identity, bytes: size, offsets: bytes.keys().map(|slot| (*slot, 0)).collect() };
            ReadMemory { memory, bytes }
        });
        let result = CallResult { failure, results, times: CallTimes::default(), attributes: None };
        ReadBack { resume: Resume::new(id), result, memory }
    }
}
