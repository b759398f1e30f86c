//! Placement in the words of the scripts: how the server is, and what its metaserver is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind};
use farcall_services::directory::{ElsewhereRoutine, PublishedRoutine};
use farcall_services::placement::{Asker, Placed, Request as PlacementRequest};
use farcall_wire::{PlaceQuestion, Reply, Request, ServerReport, StateQuestion};

use super::Play;
use crate::step::{NodeFacts, Union};

/// The revision of all that is published.
const REVISION: u64 = 3;

/// A request of a client.
pub fn request(what: &str, words: &[&str], routines: &[Arc<PublishedRoutine>]) -> Request {
    let contract = |name: &str| {
        let find = |one: &&Arc<PublishedRoutine>| one.routine.interface.full_name() == name;
        routines.iter().find(find).map_or([9; 32], |routine| routine.contract)
    };
    match what {
        "state" => Request::State(StateQuestion {
            known: words.contains(&"known").then_some(REVISION),
            wanted: words
                .iter()
                .filter(|word| word.contains('/'))
                .map(|name| contract(name))
                .collect(),
            asker: None,
        }),
        "report" => Request::Report(Box::new(ServerReport {
            name: words[0].to_owned(),
            ..ServerReport::default()
        })),
        "place" => Request::Place(Box::new(PlaceQuestion {
            name: words[0].to_owned(),
            contract: contract(words[0]),
            ..PlaceQuestion::default()
        })),
        "servers" => Request::Servers("host".to_owned(), String::new()),
        _ => Request::Outcomes(Vec::new()),
    }
}

/// What the metaserver is asked, and for which client.
pub fn asked(asker: &Asker, request: &PlacementRequest) -> String {
    let words = format!("{request:?}");
    let kind = words.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let name = match request {
        PlacementRequest::Place(question) => &question.name,
        PlacementRequest::Report(report) => &report.name,
        PlacementRequest::Servers { host, .. } => host,
        PlacementRequest::Relay(name) => name,
        PlacementRequest::Outcomes(_)
        | PlacementRequest::DialBack
        | PlacementRequest::State(..) => "",
    };
    let owner = if asker.is_own_user { ", who owns the server" } else { "" };
    format!("ask the metaserver for {}{owner}: {kind} {name}", asker.principal)
}

/// What a server says of itself, without what is nothing.
pub fn shown(report: &ServerReport) -> String {
    let offers = report.offers.as_ref().map(|all| format!(" offers {}", all.len()));
    let interfaces = report.interfaces.as_ref().map(|all| {
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        format!(" interfaces {}", names.join(" "))
    });
    let runs = report.runs.iter().map(|run| {
        let grant = run.grant.map_or(String::new(), |grant| format!(" by {grant}"));
        format!(" ran {:.3} s after {:.3} s for {}{grant}", run.seconds, run.waited_s, run.amount)
    });
    format!(
        "server: processors {} busy {} calls {} warm {:?} begun {:?} arrived {:?}{}{}{}{}",
        report.processors,
        report.busy,
        report.calls,
        report.warm,
        report.begun,
        report.arrived,
        if report.draining { " draining" } else { "" },
        runs.collect::<String>(),
        offers.unwrap_or_default(),
        interfaces.unwrap_or_default()
    )
}

impl Play {
    pub(super) fn placing_event(&mut self, words: &[&str]) {
        match words[0] {
            "stated" => {
                let (connection, channel, question) = self.peers.states.pop_front().unwrap();
                let now = self.memory.now;
                let facts = NodeFacts { revision: REVISION, load: 1.0, ..NodeFacts::default() };
                let is_known = question.known == Some(REVISION) && question.wanted.is_empty();
                let listing = (!is_known).then(|| Ok(self.routines.clone()));
                self.server.tell_state(now, (connection, channel), &question, listing, facts);
            }
            "answered" | "answered-not" => {
                let (connection, channel) = self.peers.questions.pop_front().unwrap();
                let missing = || Error::new(ErrorKind::NotFound, "place a call", "nobody is there");
                let answer = if words[0] == "answered" { Ok(Reply::Done) } else { Err(missing()) };
                self.server.placed(connection, channel, answer);
            }
            "elsewhere" | "also" => {
                let is_also = words[0] == "also";
                let placed = if is_also { Placed::Also } else { Placed::Elsewhere };
                let mut own = self.routines.iter();
                let own = own.find(|one| one.routine.interface.full_name() == words[1]);
                let contract = own.filter(|_| is_also).map_or([9; 32], |one| one.contract);
                let contracts = BTreeMap::from([(contract, placed)]);
                let all = BTreeMap::from([(words[1].to_owned(), contracts)]);
                self.server.set_placed(Arc::new(all));
            }
            "resolve-elsewhere" => {
                let (connection, channel) = self.peers.questions.pop_front().unwrap();
                self.server.resolved_elsewhere(connection, channel, &self.far(words[1]));
            }
            "held-elsewhere" => {
                let hold = self.peers.holds.pop_front().unwrap();
                let far = self.far(words[1]);
                self.server.held_elsewhere(&mut self.memory, hold, &far);
            }
            _ => {
                let (connection, channel) = self.peers.questions.pop_front().unwrap();
                let others = words[1..].iter().map(|name| Arc::new(self.far(name))).collect();
                let union = Union { own: self.routines.clone(), others };
                self.server.listed(connection, channel, Ok(union));
            }
        }
    }

    /// A routine that others publish.
    fn far(&self, name: &str) -> ElsewhereRoutine {
        let (module, bare) = name.split_once('/').unwrap();
        let mut interface = self.routines[0].routine.interface.clone();
        (interface.module, interface.name) = (module.to_owned(), bare.to_owned());
        ElsewhereRoutine {
            interface: Arc::new(interface),
            encoded: self.routines[0].encoded.clone(),
            contract: [9; 32],
            servers: 2,
        }
    }
}
