//! Kept calls in conversations: what is done in a results folder, and what clients are told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use farcall_base::{CallId, ConnectionId, Error, ErrorKind};
use farcall_services::directory::PublishedRoutine;
use farcall_wire::{Argument, CallResult, CallTimes, Failure, Keep, KeptCall, Resume};

use super::Play;
use super::memory::Memory;
use super::words::{argument, open, word};
use crate::state::{Accepted, OwnMemory, ResultsOrder, Written};
use crate::step::{ReadBack, ReadMemory, Restored, Server, Surroundings, Was};

/// What the folder is told. The driver would write it down; scripts say what came of it.
pub fn ordered(server: &mut Server, memory: &mut Memory, order: ResultsOrder) -> String {
    let name = |id: &CallId| id.0[0];
    match order {
        ResultsOrder::Record(accepted, _) => {
            let how = if accepted.has_begun { "begun" } else { "waiting" };
            let Written { routine, principal, .. } = &accepted.written;
            format!("record call {} of {routine} for {principal}, {how}", name(&accepted.open.call))
        }
        ResultsOrder::Begin(id, executable) => {
            memory.beginning.push_back((id, executable));
            format!("record that call {} begins", name(&id))
        }
        ResultsOrder::Load(id, key) => {
            memory.loading.push_back(key);
            let arrays = server.argument_memory(key).len();
            format!("load call {}: {arrays} arrays", name(&id))
        }
        ResultsOrder::Store { finished, left, .. } => {
            let what = finished.result.failure.as_ref().map_or(String::new(), |failure| {
                format!(": failed: {}", Error::from(failure.clone()))
            });
            let said = format!("store call {} for {} s{what}", name(&finished.id), left.as_secs());
            server.stores(memory, finished);
            said
        }
        ResultsOrder::Fetch { call, principal, client, .. } => {
            memory.fetching.push_back((call, client));
            format!("fetch call {} for {principal}", name(&call))
        }
        ResultsOrder::Erase(call, who) => {
            memory.erasing.extend(who);
            format!("erase call {}", name(&call))
        }
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

/// The same routines with other interfaces, as far as callers can tell.
fn other_contracts(routines: &[Arc<PublishedRoutine>]) -> Vec<Arc<PublishedRoutine>> {
    let other = |routine: &Arc<PublishedRoutine>| {
        Arc::new(PublishedRoutine {
            routine: routine.routine.clone(),
            encoded: routine.encoded.clone(),
            contract: [0; 32],
            module: routine.module.clone(),
        })
    };
    routines.iter().map(other).collect()
}

impl Play {
    /// `recorded CALL [full]`, `begun [full]`, `loaded [damaged]`, `stored CALL [full]`, `erased
    /// [full]`, `read RESULT… | fail | damaged`, `restore NUMBER SECONDS [failed | ended |
    /// unreadable]`, `restore NUMBER waits ROUTINE ARGUMENT…`, `published`, `readmit [other |
    /// nothing]`.
    pub fn results_event(&mut self, words: &[&str]) {
        let full = || {
            Error::new(ErrorKind::LimitExceeded, "keep a result", "the disk is full").retryable()
        };
        let is_full = words.contains(&"full");
        match words[0] {
            "recorded" => {
                let id = self.peers.id(words[1]);
                self.server.recorded(
                    &mut self.memory,
                    id,
                    if is_full { Err(full()) } else { Ok(()) },
                );
            }
            "stored" => {
                let id = self.peers.id(words[1]);
                let is_news = self.server.stored(
                    &mut self.memory,
                    id,
                    if is_full { Err(full()) } else { Ok(1500) },
                );
                self.memory.said.extend(is_news.then(|| "the log tells of it".to_owned()));
            }
            "begun" => {
                let (id, executable) = self.memory.beginning.pop_front().expect("a call begins");
                self.server.begun(
                    &mut self.memory,
                    id,
                    executable,
                    if is_full { Err(full()) } else { Ok(()) },
                );
            }
            "loaded" => {
                let key = self.memory.loading.pop_front().expect("arguments are loaded");
                let damaged =
                    || Error::new(ErrorKind::Damaged, "read a result", "its file was damaged");
                let outcome = if words.contains(&"damaged") { Err(damaged()) } else { Ok(()) };
                self.server.loaded_arguments(&mut self.memory, key, outcome);
            }
            "erased" => {
                let (connection, channel) =
                    self.memory.erasing.pop_front().expect("somebody waits for that");
                self.server.erased(connection, channel, if is_full { Err(full()) } else { Ok(()) });
            }
            "published" => self.server.published(self.memory.now),
            "readmit" => {
                let routines = match words.get(1) {
                    Some(&"nothing") => Vec::new(),
                    Some(&"other") => other_contracts(&self.routines),
                    _ => self.routines.clone(),
                };
                self.server.readmit(&mut self.memory, &routines, &[]);
            }
            "restore" => self.restore(words),
            _ => self.read_result(&words[1..]),
        }
    }

    fn restore(&mut self, words: &[&str]) {
        let id = CallId([words[1].parse().unwrap(); 16]);
        let mut unreadable = Vec::new();
        let mut restored = Vec::new();
        let keep = Keep { after_end_us: 3_600_000_000, durable: true };
        let resume = Resume::new(id);
        let principal = "uid 1".to_owned();
        let written = Written { resume, routine: "m/scale".to_owned(), principal, keep };
        let ended = Error::new(
            ErrorKind::ShuttingDown,
            "run a routine",
            "the server stopped while the call ran",
        );
        let was = match &words[2..] {
            ["waits", request @ ..] => Was::Waiting(Box::new(Accepted {
                open: open(
                    id,
                    &request
                        .iter()
                        .copied()
                        .filter(|word| *word != "certificate")
                        .collect::<Vec<_>>(),
                    &self.routines,
                ),
                written: Written { routine: request[0].to_owned(), ..written.clone() },
                address: "client 1".to_owned(),
                owns_server: true,
                certificate: request.contains(&"certificate").then(|| "0a".into()),
                on_object: false,
                has_begun: false,
            })),
            [_, "ended"] => Was::Ended(CallResult {
                failure: Some((&ended).into()),
                results: Vec::new(),
                times: CallTimes::default(),
                attributes: None,
            }),
            _ => Was::Stored { failed: words.contains(&"failed") },
        };
        let left = Duration::from_secs(words[2].parse().unwrap_or(3600));
        match words.last() {
            Some(&"unreadable") => unreadable.push((id, ErrorKind::Version)),
            _ => restored.push(Restored { id, written: Box::new(written), was, bytes: 1500, left }),
        }
        self.server.restore(restored, unreadable, self.memory.now);
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
            let (id, identity, size) =
                self.memory.allocate(ConnectionId(0), bytes.values().sum()).unwrap();
            let memory = OwnMemory {
                id,
                identity,
                bytes: size,
                offsets: bytes.keys().map(|slot| (*slot, 0)).collect(),
            };
            ReadMemory { memory, bytes }
        });
        let result = CallResult { failure, results, times: CallTimes::default(), attributes: None };
        ReadBack { resume: Resume::new(id), result, memory }
    }
}
