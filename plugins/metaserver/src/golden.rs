//! Plays the conversations of tests/golden against the step.
//!
//! Each event is `> TIME_MS EVENT …`; a `<` line is one action, the last one the next tick. `m/f` is a
//! routine; `m/f'` is one of the same name with another contract, `m/f!` an interface that is not
//! what it is said to be. A line `# settings KEY=VALUE …` at the head sets options.

use std::time::Duration;

use farcall_base::{ConnectionId, Error, ErrorKind, Instant};
use farcall_golden::Conversation;
use farcall_idl::encode::{contract_hash, encode_interface};
use farcall_idl::interface::Interface;
use farcall_link::hosts::CertifiedHosts;
use farcall_placement::routine_hash;
use farcall_services::directory::Visible;
use farcall_services::placement::{Asker, Request};
use farcall_wire::{
    CallOutcome, InterfaceReply, MeasuredTransfer, OfferedRoutine, PlaceAnswer, PlaceQuestion,
    RanCall, RelayToken, Reply, ReportAnswer, ServerReport, ServerState, StateQuestion,
};

use crate::options::Settings;
use crate::state::{LinkNumber, QuestionNumber, State, StreamEnd, StreamNumber};
use crate::step::Action;

#[test]
fn golden_conversations() {
    farcall_golden::play_all::<Play>(env!("CARGO_MANIFEST_DIR"), 7);
}

struct Play {
    state: State,
    questions: u64,
}

/// What a script writes behind a word: `KEY=VALUE`.
fn set<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn number(words: &[&str], key: &str) -> Option<f64> {
    set(words, key).map(|text| text.parse().unwrap())
}

fn list<'a>(words: &[&'a str], key: &str) -> Vec<&'a str> {
    set(words, key).map(|text| text.split(',').collect()).unwrap_or_default()
}

/// The routine that a script names.
pub fn interface(name: &str) -> InterfaceReply {
    let is_other = name.ends_with('\'');
    let is_wrong = name.ends_with('!');
    let name = name.trim_end_matches(['\'', '!']);
    let (module, bare) = name.split_once('/').unwrap();
    let interface = Interface {
        module: module.to_owned(),
        name: bare.to_owned(),
        aliases: Vec::new(),
        doc: String::new(),
        structs: Vec::new(),
        parameters: Vec::new(),
        idempotent: !is_other,
        complexity: None,
        processors: None,
        resources: Default::default(),
        class: String::new(),
        class_doc: String::new(),
    };
    let encoded = encode_interface(&interface);
    InterfaceReply {
        name: name.to_owned(),
        interface: if is_wrong { encoded[..encoded.len() - 1].to_vec() } else { encoded },
        contract: contract_hash(&interface),
        is_placed: None,
    }
}

fn offered(name: &str, hops: Option<u32>) -> OfferedRoutine {
    let InterfaceReply { name, contract, .. } = interface(name);
    OfferedRoutine { name, contract, in_jobs: false, hops }
}

/// How a server says it is.
fn report(words: &[&str]) -> ServerReport {
    let run = |text: &str| {
        let (name, seconds) = text.split_once(':').unwrap();
        let InterfaceReply { name, contract, .. } = interface(name);
        RanCall {
            routine: routine_hash(&name, &contract),
            sizes: 1,
            amount: 1e6,
            threads: 1,
            seconds: seconds.parse().unwrap(),
            waited_s: 0.0,
            grant: None,
        }
    };
    let hops = number(words, "hops").map(|hops| hops as u32);
    let offers = set(words, "offers").map(|_| list(words, "offers"));
    let interfaces = set(words, "interfaces").map(|_| list(words, "interfaces"));
    ServerReport {
        addresses: list(words, "addresses").into_iter().map(str::to_owned).collect(),
        host: set(words, "host").unwrap_or("h").to_owned(),
        instance: [number(words, "instance").unwrap_or(1.0) as u8; 16],
        processors: number(words, "processors").unwrap_or(2.0) as u32,
        busy: number(words, "busy").unwrap_or(0.0),
        calls: number(words, "calls").unwrap_or(0.0) as u64,
        backlog_s: number(words, "backlog").unwrap_or(0.0),
        revision: number(words, "revision").unwrap_or(1.0) as u64,
        offers: offers.map(|names| names.into_iter().map(|name| offered(name, hops)).collect()),
        interfaces: interfaces.map(|names| names.into_iter().map(interface).collect()),
        draining: words.contains(&"draining"),
        runs: list(words, "ran").into_iter().map(run).collect(),
        begun: list(words, "begun").into_iter().map(told).collect(),
        arrived: list(words, "arrived").into_iter().map(told).collect(),
        product: "farcall 9".to_owned(),
        leads: words.contains(&"leads"),
        ..ServerReport::default()
    }
}

/// A grant as the scripts number them: those of this metaserver have a random upper half.
fn told(grant: &str) -> u64 {
    grant.parse::<u64>().unwrap() ^ (7 << 32)
}

/// `CONNECTION` is the own user's; `CONNECTION:PRINCIPAL` another's, `CONNECTION:server:HOST` one
/// whose certificate names a host.
fn asker(word: &str) -> Asker {
    let (connection, principal) = word.split_once(':').unwrap_or((word, ""));
    let hosts: Vec<String> =
        principal.strip_prefix("server:").map(str::to_owned).into_iter().collect();
    Asker {
        connection: ConnectionId(connection.parse().unwrap()),
        principal: if principal.is_empty() { "uid 0" } else { principal }.to_owned(),
        visible: Visible::All,
        is_own_user: principal.is_empty(),
        hosts: CertifiedHosts::new(&hosts),
    }
}

impl Conversation for Play {
    fn begin(script: &str) -> Play {
        let mut settings = Settings::default();
        let head = script.lines().find_map(|line| line.strip_prefix("# settings "));
        let words: Vec<&str> = head.unwrap_or_default().split_whitespace().collect();
        settings.join = list(&words, "join").into_iter().map(str::to_owned).collect();
        settings.members = list(&words, "members").into_iter().map(str::to_owned).collect();
        let size = |key, default| number(&words, key).map_or(default, |number| number as usize);
        settings.relayed_max = size("relayed_max", settings.relayed_max);
        settings.relayed_of_one_max = size("relayed_of_one_max", settings.relayed_of_one_max);
        settings.members_max = size("members_max", settings.members_max);
        settings.routines_of_one_max = size("routines_of_one_max", settings.routines_of_one_max);
        settings.interfaces_bytes_max = size("interfaces_bytes_max", settings.interfaces_bytes_max);
        Play { state: State::new(settings, 7), questions: 0 }
    }

    fn event(&mut self, event: &str) -> Vec<String> {
        let words: Vec<&str> = event.split_whitespace().collect();
        let now = Instant(0) + Duration::from_millis(words[0].parse().unwrap());
        self.happen(now, &words[1..]);
        let mut said = Vec::new();
        while let Some(action) = self.state.poll_action() {
            said.extend(show(&self.state, action));
        }
        let next = self.state.next_tick().map(|at| at.0.div_ceil(1_000_000));
        said.push(next.map_or("sleep".to_owned(), |at| format!("tick {at}")));
        said
    }
}

impl Play {
    fn happen(&mut self, now: Instant, words: &[&str]) {
        let link = || LinkNumber(words[1].parse().unwrap());
        match words[0] {
            "tick" => self.state.tick(now),
            "own" => self.state.handle_own(now, Ok(Box::new(report(words)))),
            "own-fails" => self.state.handle_own(now, Err(Error::internal("ask", "it stops"))),
            "closed" => {
                self.state.handle_closed(now, ConnectionId(words[1].parse().unwrap()));
            }
            "open" => {
                let is_old = words.contains(&"old");
                let relays = words.contains(&"relays").then_some("relay");
                let features = (!is_old).then_some("placement").into_iter().chain(relays);
                let features: Vec<String> = features.map(str::to_owned).collect();
                self.state.handle_open(now, link(), &features);
            }
            "lost" => {
                let error = Error::new(ErrorKind::Unreachable, "connect", "nobody listens");
                self.state.handle_lost(now, link(), &error);
            }
            "state" => {
                self.state.handle_reply(now, link(), Reply::State(Box::new(report(words))));
            }
            "reported" => {
                let contracts =
                    list(words, "wanted").into_iter().map(|name| interface(name).contract);
                let answer = ReportAnswer {
                    wants_offers: words.contains(&"wants-offers"),
                    wanted: contracts.collect(),
                    dropped: Vec::new(),
                };
                self.state.handle_reply(now, link(), Reply::Reported(answer));
            }
            "dial-back" => {
                let count = number(words, "streams").unwrap_or(0.0) as u8;
                let tokens = (0..count).map(|one| RelayToken([one; 32])).collect();
                self.state.handle_reply(now, link(), Reply::DialBack(tokens));
            }
            "end" => {
                let end = if words[2] == "server" { StreamEnd::Server } else { StreamEnd::Client };
                self.state.handle_end(now, stream(words[1]), end);
            }
            "not-reached" => {
                let error = Error::new(ErrorKind::Unreachable, "connect", "nobody listens");
                self.state.handle_not_reached(stream(words[1]), error);
            }
            "flowed" => self.state.handle_flowed(stream(words[1])),
            "nonsense" => self.state.handle_reply(now, link(), Reply::Done),
            _ => self.ask(now, words),
        }
    }

    fn ask(&mut self, now: Instant, words: &[&str]) {
        let request = match words[0] {
            "report" => {
                let name = words[2].to_owned();
                let mut report = report(words);
                if report.addresses.is_empty() && !words.contains(&"nowhere") {
                    report.addresses.push(name.clone());
                }
                Request::Report(Box::new(ServerReport { name, ..report }))
            }
            "place" => Request::Place(Box::new(question(words))),
            "how" => {
                let known = number(words, "known").map(|known| known as u64);
                let contracts =
                    list(words, "wanted").into_iter().map(|name| interface(name).contract);
                let asker = number(words, "asker").map(|run| [run as u8; 16]);
                let question = StateQuestion { known, wanted: contracts.collect(), asker };
                Request::State(question, Box::new(report(&words[2..])))
            }
            "relay" => Request::Relay(words[2].to_owned()),
            "dials-back" => Request::DialBack,
            "servers" => Request::Servers { host: "c".to_owned(), site: String::new() },
            "outcome" => Request::Outcomes(vec![CallOutcome {
                grant: told(words[2]),
                server: words[3].to_owned(),
                sent: Some(MeasuredTransfer {
                    bytes: number(words, "bytes").unwrap_or(1e6),
                    seconds: number(words, "seconds").unwrap_or(0.1),
                }),
                host: "c".to_owned(),
                continues: words.contains(&"continues"),
                ..CallOutcome::default()
            }]),
            other => panic!("no such event: {other}"),
        };
        self.questions += 1;
        self.state.handle_asked(now, QuestionNumber(self.questions), asker(words[1]), request);
    }
}

fn stream(word: &str) -> StreamNumber {
    StreamNumber(word.parse().unwrap())
}

fn question(words: &[&str]) -> PlaceQuestion {
    let InterfaceReply { name, contract, .. } = interface(words[2]);
    PlaceQuestion {
        name,
        contract,
        sizes: 1,
        amount: number(words, "amount").unwrap_or(1e6),
        processors: 1,
        bytes_in: number(words, "bytes").unwrap_or(1e6),
        bytes_out: 0.0,
        host: "c".to_owned(),
        calls: number(words, "calls").unwrap_or(1.0) as u32,
        without: list(words, "without").into_iter().map(str::to_owned).collect(),
        explains: words.contains(&"explains"),
        passed: list(words, "passed").into_iter().map(str::to_owned).collect(),
        ..PlaceQuestion::default()
    }
}

fn show(state: &State, action: Action) -> Vec<String> {
    match action {
        Action::Answer(_, Err(error)) => {
            let fix = error.advice().map(|fix| format!("; {fix}")).unwrap_or_default();
            let fix = if error.to_string().contains(&fix) { String::new() } else { fix };
            vec![format!("{} {error}{fix}", error.kind().name())]
        }
        Action::Answer(_, Ok(reply)) => reply_words(state, reply),
        Action::AskOwn(question) => {
            vec![format!("ask own known={:?} wanted={}", question.known, question.wanted.len())]
        }
        Action::Warn(address, message) => vec![format!("warn {address}: {message}")],
        Action::Learned(lines) => {
            let kinds = lines.lines().map(|line| line.split('\t').next().unwrap_or_default());
            vec![format!("learned {}", kinds.collect::<Vec<_>>().join(" "))]
        }
        Action::DialBack(address, tokens) => {
            vec![format!("dial back to {address} for {} streams", tokens.len())]
        }
        Action::TellStreams(_, streams) => {
            let numbers: Vec<String> = streams.iter().map(|one| one.0.to_string()).collect();
            vec![format!("tell the server of {}", numbers.join(", "))]
        }
        Action::Reach(stream, address) => vec![format!("reach {address} for {}", stream.0)],
        Action::TellTicket(_, stream, addresses) => {
            vec![format!("ticket for {} at {addresses:?}", stream.0)]
        }
        Action::Splice(stream) => vec![format!("splice {}", stream.0)],
        Action::EndStream(stream) => vec![format!("end {}", stream.0)],
        Action::Dial(number, address) => vec![format!("dial {} {address}", number.0)],
        Action::Hang(number) => vec![format!("hang {}", number.0)],
        Action::Ask(number, request) => vec![format!("to {}: {}", number.0, asked(&request))],
        Action::Tell(placed, elsewhere) => {
            let names: Vec<String> = placed
                .iter()
                .flat_map(|(name, contracts)| {
                    contracts.values().map(move |placed| format!("{name} {placed:?}"))
                })
                .collect();
            vec![format!("tell {} of others: {}", elsewhere.len(), names.join(", "))]
        }
    }
}

fn asked(request: &farcall_wire::Request) -> String {
    match request {
        farcall_wire::Request::Report(report) => format!(
            "report {} busy {} offers={:?} interfaces={:?} runs {} begun {:?}",
            report.name,
            report.busy,
            report.offers.as_ref().map(Vec::len),
            report.interfaces.as_ref().map(Vec::len),
            report.runs.len(),
            report.begun
        ),
        farcall_wire::Request::State(question) => {
            format!("state? known={:?} wanted={}", question.known, question.wanted.len())
        }
        other => format!("{other:?}"),
    }
}

fn reply_words(state: &State, reply: Reply) -> Vec<String> {
    match reply {
        Reply::Done => vec!["done".to_owned()],
        Reply::Reported(answer) => {
            let dropped = answer.dropped.iter();
            let dropped = dropped.map(|one| format!(", without {}: {}", one.address, one.reason));
            vec![format!(
                "reported wants_offers={} wanted={}{}",
                answer.wants_offers,
                answer.wanted.len(),
                dropped.collect::<String>()
            )]
        }
        Reply::Placed(answer) => placed(state, &answer),
        Reply::State(report) => vec![state_words(&report)],
        Reply::Servers(servers) => servers.iter().map(server).collect(),
        other => vec![format!("{other:?}")],
    }
}

fn placed(state: &State, answer: &PlaceAnswer) -> Vec<String> {
    let grant = if answer.grant == 0 { 0 } else { state.grant(answer.grant).0 };
    let passed = if answer.passed.is_empty() {
        String::new()
    } else {
        format!(", passed {}", answer.passed.join(" "))
    };
    let mut said = vec![format!("grant {grant} valid {} ms{passed}", answer.valid_us / 1000)];
    said.extend(answer.servers.iter().map(|one| {
        let own = if one.is_self { " (own)" } else { "" };
        let own = if one.leads { " (leads)" } else { own };
        let note = if one.note.is_empty() { String::new() } else { format!(": {}", one.note) };
        match one.excluded {
            true => format!("- not {}{own}{note}", one.name),
            false => format!(
                "- {}{own} calls {} wait {:.3} send {:.3} run {:.3}{note}",
                one.name, one.calls, one.wait_s, one.send_s, one.run_s
            ),
        }
    }));
    said
}

fn state_words(report: &ServerReport) -> String {
    let offers = report.offers.as_ref().map(|all| {
        let one = |offer: &OfferedRoutine| match offer.hops {
            Some(hops) => format!("{} over {hops}", offer.name),
            None => offer.name.clone(),
        };
        all.iter().map(one).collect::<Vec<_>>()
    });
    let interfaces = report.interfaces.as_ref().map(Vec::len);
    format!(
        "state: leads={} processors {} busy {} offers {offers:?} interfaces {interfaces:?} runs {}",
        report.leads,
        report.processors,
        report.busy,
        report.runs.len()
    )
}

fn server(one: &ServerState) -> String {
    let own = if one.is_self { " (own)" } else { "" };
    let note = if one.note.is_empty() { String::new() } else { format!(": {}", one.note) };
    let rate = one.sends_at.map_or(String::new(), |rate| format!(" at {:.0} kB/s", rate / 1e3));
    format!(
        "- {}{own} {:?} processors {} busy {} routines {}{rate}{note}",
        one.name, one.presence, one.processors, one.busy, one.routines
    )
}
