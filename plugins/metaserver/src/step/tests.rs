//! Hostile servers and clients, many of them.

use farcall_base::{ConnectionId, Random as _, SeededRandom};
use farcall_link::hosts::CertifiedHosts;
use farcall_services::directory::Visible;
use farcall_services::placement::{Asker, Request};
use farcall_wire::{
    CallOutcome, InterfaceReply, MeasuredTransfer, OfferedRoutine, PlaceQuestion, RanCall,
    ServerReport,
};

use super::*;
use crate::golden::interface;
use crate::options::Settings;

fn asker(connection: u64) -> Asker {
    Asker {
        connection: ConnectionId(connection),
        principal: "uid 0".to_owned(),
        visible: Visible::All,
        is_own_user: true,
        hosts: CertifiedHosts::default(),
    }
}

fn own(state: &mut State, now: Instant) {
    let report = ServerReport {
        addresses: vec!["unix:/meta".to_owned()],
        instance: [9; 16],
        ..ServerReport::default()
    };
    state.handle_own(now, Ok(Box::new(report)));
}

fn at(milliseconds: u64) -> Instant {
    Instant(0) + Duration::from_millis(milliseconds)
}

#[test]
fn a_thousand_servers_join_at_once() {
    let mut state = State::new(Settings::default(), 1);
    own(&mut state, at(1));
    let f = interface("m/f");
    for number in 0..1000_u64 {
        let report = ServerReport {
            name: format!("tls://s{number}:1"),
            processors: 4,
            instance: [1; 16],
            revision: 1,
            offers: Some(vec![OfferedRoutine {
                name: "m/f".to_owned(),
                contract: f.contract,
                in_jobs: false,
                hops: None,
            }]),
            interfaces: Some(vec![f.clone()]),
            ..ServerReport::default()
        };
        let request = Request::Report(Box::new(report));
        state.handle_asked(at(2), QuestionNumber(number), asker(number), request);
    }
    let answers = std::iter::from_fn(|| state.poll_action());
    let told = answers.filter(|action| matches!(action, Action::Tell(..))).count();
    assert!(told <= 2, "the directory is told now and then: {told}");
    assert_eq!(state.servers.len(), 1001);
    let question = PlaceQuestion {
        name: "m/f".to_owned(),
        contract: f.contract,
        amount: 1e9,
        ..PlaceQuestion::default()
    };
    let request = Request::Place(Box::new(question));
    state.handle_asked(at(3), QuestionNumber(0), asker(0), request);
    let Some(Action::Answer(_, Ok(Reply::Placed(answer)))) = state.poll_action() else {
        panic!("it is placed")
    };
    assert_eq!(answer.servers.len(), 4);
}

/// Numbers below a bound.
trait Below {
    fn below(&mut self, bound: u64) -> u64;
}

impl Below for SeededRandom {
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Numbers that others tell, and that may be none.
fn real(random: &mut SeededRandom) -> f64 {
    match random.below(6) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -1e300,
        3 => 1e300,
        _ => random.below(1000) as f64 / 7.0,
    }
}

fn grant(random: &mut SeededRandom) -> u64 {
    random.below(8) ^ (1 << 32)
}

fn name(random: &mut SeededRandom) -> String {
    format!("tls://s{}:1", random.below(5))
}

fn hostile_report(random: &mut SeededRandom, interfaces: &[InterfaceReply]) -> ServerReport {
    let one = &interfaces[random.below(interfaces.len() as u64) as usize];
    let offered = |one: &InterfaceReply| OfferedRoutine {
        name: one.name.clone(),
        contract: one.contract,
        in_jobs: false,
        hops: None,
    };
    let offers = interfaces.iter().take(random.below(4) as usize).map(offered).collect();
    ServerReport {
        name: if random.below(20) == 0 { "a b\n".to_owned() } else { name(random) },
        addresses: vec!["tls://x:1".to_owned(); random.below(12) as usize],
        instance: [random.below(3) as u8; 16],
        processors: random.next() as u32,
        busy: real(random),
        calls: random.next(),
        backlog_s: real(random),
        load: real(random),
        start_s: real(random),
        revision: random.below(3),
        offers: (random.below(2) == 0).then_some(offers),
        interfaces: (random.below(2) == 0).then(|| vec![one.clone()]),
        warm: vec!["m".to_owned()],
        job_wait_s: Some(real(random)),
        speed: Some(real(random)),
        draining: random.below(9) == 0,
        runs: vec![RanCall {
            routine: farcall_placement::routine_hash(&one.name, &one.contract),
            sizes: random.below(3),
            amount: real(random),
            threads: random.next() as u32,
            seconds: real(random),
            waited_s: real(random),
            grant: Some(grant(random)),
        }],
        begun: vec![grant(random)],
        arrived: vec![grant(random)],
        ..ServerReport::default()
    }
}

fn hostile_question(random: &mut SeededRandom, interfaces: &[InterfaceReply]) -> PlaceQuestion {
    let one = &interfaces[random.below(interfaces.len() as u64) as usize];
    PlaceQuestion {
        name: one.name.clone(),
        contract: one.contract,
        sizes: random.below(3),
        amount: real(random),
        processors: random.next() as u32,
        bytes_in: real(random),
        bytes_out: real(random),
        host: format!("h{}", random.next()),
        deadline_s: Some(real(random)),
        without: vec![name(random)],
        calls: random.next() as u32,
        explains: random.below(3) == 0,
        ..PlaceQuestion::default()
    }
}

/// Anything at all, in the types that the wire allows.
fn hostile(random: &mut SeededRandom, interfaces: &[InterfaceReply]) -> Request {
    let transfer = |random: &mut SeededRandom| {
        Some(MeasuredTransfer { bytes: real(random), seconds: real(random) })
    };
    match random.below(5) {
        0 | 1 => Request::Report(Box::new(hostile_report(random, interfaces))),
        2 | 3 => Request::Place(Box::new(hostile_question(random, interfaces))),
        _ => Request::Outcomes(vec![CallOutcome {
            grant: grant(random),
            server: name(random),
            sent: transfer(random),
            returned: transfer(random),
            host: "c".to_owned(),
            ..CallOutcome::default()
        }]),
    }
}

#[test]
fn fuzz_of_reports_and_questions() {
    let interfaces = ["m/f", "m/f'", "m/g!", "k/h"].map(interface);
    for seed in 0..farcall_golden::fuzz_rounds(60) {
        let mut random = SeededRandom::new(seed);
        let settings = Settings { members_max: 4, grants_max: 16, ..Settings::default() };
        let mut state = State::new(settings, 1);
        let mut open = 0;
        for step in 0..300_u64 {
            let now = at(1 + step * 40);
            match random.below(12) {
                0 => own(&mut state, now),
                1 => state.tick(now),
                2 => state.handle_closed(now, ConnectionId(random.below(4))),
                _ => {
                    let request = hostile(&mut random, &interfaces);
                    open += 1;
                    let by = asker(random.below(4));
                    state.handle_asked(now, QuestionNumber(open), by, request);
                }
            }
            while let Some(action) = state.poll_action() {
                if let Action::Answer(_, Ok(Reply::Placed(answer))) = action {
                    assert!(answer.servers.iter().all(|one| {
                        [one.wait_s, one.send_s, one.run_s, one.return_s, one.error_s]
                            .iter()
                            .all(|seconds| !seconds.is_nan())
                    }));
                }
            }
            assert!(state.servers.len() <= 4 && state.placement.grants() <= 16, "seed {seed}");
            assert!(state.connections.owners.len() <= 64, "seed {seed}");
        }
    }
}
