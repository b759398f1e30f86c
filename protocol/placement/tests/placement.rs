//! Where calls go, by what is known.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{ErrorKind, Instant};
use farcall_placement::policy::{self, FinishFirst};
use farcall_placement::{
    Contract, GrantId, Limits, MemberId, News, Outcome, Placement, Presence, Question, Report, Run,
    RunTimes, Sent, SiteId, Work,
};

const DGESV: Contract = [1; 32];
const EP: Contract = [2; 32];
const CLIENT: SiteId = SiteId(0);

fn at(seconds: f64) -> Instant {
    Instant::default() + Duration::from_secs_f64(seconds)
}

fn report(site: u32, processors: u32) -> Report {
    let contracts = BTreeSet::from([DGESV, EP]);
    Report {
        site: SiteId(site),
        addresses: vec![format!("tls://s{site}:7070")],
        processors,
        warm: contracts.clone(),
        contracts,
        ..Report::default()
    }
}

fn placement() -> Placement {
    Placement::new(Limits::default(), Box::new(FinishFirst))
}

fn work(n: f64) -> Work {
    Work { amount: 2.0 / 3.0 * n * n * n, sizes: n as u64, threads: 1 }
}

fn dgesv(n: f64) -> Question {
    Question {
        contract: DGESV,
        work: work(n),
        processors: 1,
        bytes_in: 8.0 * n * n,
        bytes_out: 8.0 * n,
        site: CLIENT,
        deadline_s: None,
        without: Vec::new(),
    }
}

fn ran(placement: &mut Placement, member: MemberId, n: f64, seconds: f64) {
    let run = Run { contract: DGESV, work: work(n), seconds, waited_s: 0.0, grant: None };
    placement.handle_run(member, &run);
}

/// A call that is placed, and whose arguments go at a rate.
fn send(placement: &mut Placement, now: f64, n: f64, rates: &[(MemberId, f64)]) -> MemberId {
    let grant = placement.handle_question(at(now), &dgesv(n)).unwrap();
    let member = grant.servers[0].candidate.member;
    let rate = rates.iter().find(|(known, _)| *known == member).unwrap().1;
    let bytes = 8.0 * n * n;
    let sent = Some(Sent { bytes, seconds: bytes / rate });
    let outcome =
        Outcome { grant: grant.id, site: CLIENT, member: Some(member), sent, returned: None };
    placement.handle_outcome(&outcome);
    member
}

#[test]
fn a_call_goes_where_it_ends_first_and_not_where_it_computes_fastest() {
    let mut placement = placement();
    let fast = placement.handle_report(at(0.0), "fast and far", report(1, 4)).unwrap();
    let near = placement.handle_report(at(0.0), "slow and near", report(2, 1)).unwrap();
    for n in [200.0, 600.0, 1000.0] {
        ran(&mut placement, fast, n, work(n).amount / 600e6);
        ran(&mut placement, near, n, work(n).amount / 100e6);
    }
    let rates = [(fast, 0.17e6), (near, 2.5e6)];
    for call in 0..8 {
        send(&mut placement, f64::from(call), 300.0, &rates);
    }
    let chosen =
        |placement: &mut Placement, n: f64| placement.explain(at(9.0), &dgesv(n))[0].member;
    assert_eq!(chosen(&mut placement, 1000.0), near, "its link decides");
    assert_eq!(chosen(&mut placement, 30_000.0), fast, "its processors decide");
}

#[test]
fn calls_that_were_placed_count_before_any_report_knows_of_them() {
    let mut placement = placement();
    let members: Vec<MemberId> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| placement.handle_report(at(0.0), name, report(1, 1)).unwrap())
        .collect();
    let chosen: BTreeSet<MemberId> = (0..4)
        .map(|_| placement.handle_question(at(0.1), &dgesv(500.0)).unwrap())
        .map(|grant| grant.servers[0].candidate.member)
        .collect();
    assert_eq!(chosen, members.into_iter().collect());
}

#[test]
fn what_was_placed_since_an_old_report_is_not_taken_for_done() {
    let mut placement = placement();
    let member = placement.handle_report(at(0.0), "a", report(1, 2)).unwrap();
    for _ in 0..4 {
        placement.handle_question(at(4.0), &dgesv(2000.0)).unwrap();
    }
    assert!(placement.member(member).unwrap().hot().wait_s(at(4.0), 1.0) > 1.0);
}

#[test]
fn a_grant_that_nobody_uses_counts_no_more_after_a_while() {
    let mut placement = placement();
    placement.handle_report(at(0.0), "a", report(1, 1)).unwrap();
    for _ in 0..5 {
        placement.handle_question(at(0.0), &dgesv(2000.0)).unwrap();
    }
    let member = placement.handle_report(at(1.0), "a", report(1, 1)).unwrap();
    assert!(placement.member(member).unwrap().hot().wait_s(at(1.0), 1.0) > 0.0);
    placement.handle_report(at(60.0), "a", report(1, 1)).unwrap();
    assert_eq!(placement.member(member).unwrap().hot().wait_s(at(60.0), 1.0), 0.0);
    assert_eq!(placement.grants(), 0);
}

#[test]
fn seen_calls_are_counted_once() {
    let mut placement = placement();
    let member = placement.handle_report(at(0.0), "a", report(1, 2)).unwrap();
    let grant = placement.handle_question(at(0.0), &dgesv(500.0)).unwrap();
    let arrived = vec![grant.id, GrantId(77)];
    let news = News { arrived, ..News::default() };
    let seen = Report { busy: 1.0, news, ..report(1, 2) };
    placement.handle_report(at(0.5), "a", seen).unwrap();
    assert_eq!(placement.member(member).unwrap().hot().load(), 0.5);
}

#[test]
fn silence_makes_a_server_suspect_and_then_gone_and_a_lost_connection_at_once() {
    let mut placement = placement();
    let quiet = placement.handle_report(at(0.0), "quiet", report(1, 64)).unwrap();
    let other = placement.handle_report(at(0.0), "other", report(2, 1)).unwrap();
    placement.handle_report(at(7.0), "other", report(2, 1)).unwrap();
    assert_eq!(placement.presence(at(7.0), quiet), Presence::Suspect);
    let first = placement.handle_question(at(7.0), &dgesv(100.0)).unwrap().servers[0].clone();
    assert_eq!(first.candidate.member, other);
    assert_eq!(placement.presence(at(30.0), quiet), Presence::Gone);
    placement.handle_report(at(30.0), "quiet", report(1, 64)).unwrap();
    placement.handle_loss(quiet);
    assert_eq!(placement.presence(at(30.0), quiet), Presence::Gone);
    let error = {
        placement.handle_loss(other);
        placement.handle_question(at(30.0), &dgesv(100.0)).unwrap_err()
    };
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_server_that_claims_to_be_idle_and_is_not_loses() {
    let mut placement = placement();
    let liar = placement.handle_report(at(0.0), "liar", report(1, 1_000_000)).unwrap();
    let honest = placement.handle_report(at(0.0), "honest", report(1, 4)).unwrap();
    let mut last = liar;
    for call in 0..12 {
        let now = at(f64::from(call));
        placement.handle_report(now, "liar", report(1, 1_000_000)).unwrap();
        placement.handle_report(now, "honest", report(1, 4)).unwrap();
        let grant = placement.handle_question(now, &dgesv(400.0)).unwrap();
        last = grant.servers[0].candidate.member;
        let waited_s = if last == liar { 30.0 } else { 0.0 };
        let run = Run {
            contract: DGESV,
            work: work(400.0),
            seconds: 0.4,
            waited_s,
            grant: Some(grant.id),
        };
        placement.handle_run(last, &run);
        let outcome = Outcome {
            grant: grant.id,
            site: CLIENT,
            member: Some(last),
            sent: None,
            returned: None,
        };
        placement.handle_outcome(&outcome);
    }
    assert_eq!(last, honest);
}

#[test]
fn garbage_in_a_report_stays_within_bounds() {
    let mut placement = placement();
    let garbage = Report {
        busy: f64::NAN,
        backlog_s: f64::INFINITY,
        load: -1e300,
        start_s: f64::NAN,
        job_wait_s: Some(f64::INFINITY),
        speed: Some(f64::NAN),
        processors: 0,
        ..report(1, 1)
    };
    let member = placement.handle_report(at(0.0), "garbage", garbage).unwrap();
    let wait = placement.member(member).unwrap().hot().wait_s(at(0.0), 1.0);
    assert!(wait.is_finite(), "{wait}");
    for seconds in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        ran(&mut placement, member, 100.0, seconds);
    }
    let explained = placement.explain(at(0.0), &dgesv(1e12));
    assert!(explained.iter().all(|one| !one.total_s().is_nan()), "{explained:?}");
}

#[test]
fn too_many_servers_are_refused_with_the_limit_and_gone_ones_make_room() {
    let limits = Limits { members_max: 3, ..Limits::default() };
    let mut placement = Placement::new(limits, Box::new(FinishFirst));
    for name in ["a", "b", "c"] {
        placement.handle_report(at(0.0), name, report(1, 1)).unwrap();
    }
    let error = placement.handle_report(at(1.0), "d", report(1, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("members_max"), "{error}");
    placement.handle_report(at(100.0), "d", report(1, 1)).unwrap();
    assert_eq!(placement.members().count(), 1);
}

#[test]
fn each_policy_decides_by_what_its_name_says() {
    let chosen = |name: &str, deadline_s: Option<f64>| {
        let policy = policy::by_name(name).unwrap();
        let mut placement = Placement::new(Limits::default(), policy);
        let far = placement.handle_report(at(0.0), "far", report(1, 4)).unwrap();
        let near = placement.handle_report(at(0.0), "near", report(2, 4)).unwrap();
        for n in [500.0, 1000.0] {
            ran(&mut placement, far, n, work(n).amount / 600e6);
            ran(&mut placement, near, n, work(n).amount / 60e6);
        }
        let question = Question { deadline_s, ..dgesv(1000.0) };
        let grant = placement.handle_question(at(0.0), &question).unwrap();
        if grant.servers[0].candidate.member == far { "far" } else { "near" }
    };
    assert_eq!(chosen("load-only", None), "far");
    assert_eq!(chosen("finish-first", None), "far");
    assert_eq!(chosen("deadline", Some(60.0)), "near", "the slow one ends in time");
    assert_eq!(chosen("deadline", Some(3.0)), "far");
    assert!(policy::by_name("fastest").is_none());
}

#[test]
fn sizes_that_were_seen_are_known_and_others_follow_from_them() {
    let mut placement = placement();
    let member = placement.handle_report(at(0.0), "a", report(1, 1)).unwrap();
    // Slower where the matrix leaves the cache.
    let time = |n: f64| work(n).amount / if n < 700.0 { 2e9 } else { 1.2e9 } + 2e-4;
    let mut errors = Vec::new();
    for call in 0..60 {
        let n = 100.0 + f64::from((call * 787) % 1400);
        let expected = placement.explain(at(0.0), &dgesv(n))[0].run_s;
        errors.push((expected / time(n) - 1.0).abs());
        ran(&mut placement, member, n, time(n));
    }
    let mut late: Vec<f64> = errors[20..].to_vec();
    late.sort_by(f64::total_cmp);
    assert!(late[late.len() / 2] < 0.1, "{late:?}");
}

#[test]
fn a_new_server_is_guessed_from_what_it_did_with_other_routines() {
    let mut placement = placement();
    let known = placement.handle_report(at(0.0), "known", report(1, 1)).unwrap();
    let new = placement.handle_report(at(0.0), "new", report(2, 1)).unwrap();
    for _ in 0..5 {
        ran(&mut placement, known, 500.0, 0.1);
        let ep = |seconds| Run {
            contract: EP,
            work: Work { amount: 1e8, sizes: 1, threads: 1 },
            seconds,
            waited_s: 0.0,
            grant: None,
        };
        placement.handle_run(known, &ep(1.0));
        placement.handle_run(new, &ep(3.0));
    }
    let explained = placement.explain(at(0.0), &dgesv(500.0));
    let guess = explained.iter().find(|one| one.member == new).unwrap().run_s;
    assert!((0.2..0.45).contains(&guess), "{guess}");
}

#[test]
fn a_server_that_becomes_slow_is_left_within_a_few_calls() {
    let mut placement = placement();
    let a = placement.handle_report(at(0.0), "a", report(1, 1)).unwrap();
    let b = placement.handle_report(at(0.0), "b", report(1, 1)).unwrap();
    for _ in 0..20 {
        ran(&mut placement, a, 500.0, 0.1);
        ran(&mut placement, b, 500.0, 0.15);
    }
    assert_eq!(placement.explain(at(0.0), &dgesv(500.0))[0].member, a);
    (0..3).for_each(|_| ran(&mut placement, a, 500.0, 0.5));
    assert_eq!(placement.explain(at(0.0), &dgesv(500.0))[0].member, b);
}

#[test]
fn many_calls_are_split_so_that_all_end_soon() {
    let mut placement = placement();
    let two = placement.handle_report(at(0.0), "two processors", report(1, 2)).unwrap();
    let four = placement.handle_report(at(0.0), "four processors", report(1, 4)).unwrap();
    let slow = placement.handle_report(at(0.0), "half as fast", report(1, 4)).unwrap();
    for n in [200.0, 400.0, 200.0, 400.0] {
        for (member, rate) in [(two, 1e9), (four, 1e9), (slow, 0.5e9)] {
            ran(&mut placement, member, n, work(n).amount / rate);
        }
    }
    let grant = placement.handle_questions(at(0.0), &dgesv(400.0), 80).unwrap();
    let share = |member| {
        let one = grant.servers.iter().find(|one| one.candidate.member == member);
        one.map_or(0, |one| one.calls)
    };
    let all: u32 = grant.servers.iter().map(|one| one.calls).sum();
    assert_eq!(all, 80);
    assert!((18..=22).contains(&share(two)), "{}", share(two));
    assert!((36..=44).contains(&share(four)), "{}", share(four));
    assert!((16..=24).contains(&share(slow)), "{}", share(slow));
    assert_eq!(placement.grants(), 0, "they are not followed one by one");
}

#[test]
fn of_a_routine_that_never_ran_one_call_is_placed_whatever_was_asked_for() {
    let mut placement = placement();
    placement.handle_report(at(0.0), "a", report(1, 2)).unwrap();
    placement.handle_report(at(0.0), "b", report(1, 2)).unwrap();
    let grant = placement.handle_questions(at(0.0), &dgesv(400.0), 64).unwrap();
    let calls: Vec<u32> = grant.servers.iter().map(|one| one.calls).collect();
    assert_eq!((calls, placement.grants()), (vec![1, 0], 1));
}

#[test]
fn calls_without_number_are_split_within_a_bound() {
    let mut placement = placement();
    let one = placement.handle_report(at(0.0), "one", report(1, 2)).unwrap();
    ran(&mut placement, one, 200.0, 1.0);
    let grant = placement.handle_questions(at(0.0), &dgesv(200.0), u32::MAX).unwrap();
    assert_eq!(grant.servers[0].calls, 65_536);
}

#[test]
fn short_calls_do_not_disturb_what_is_known_of_long_ones() {
    let mut runs = RunTimes::new(&Limits::default());
    let long = Work { amount: 1e9, sizes: 1, threads: 1 };
    let short = Work { amount: 16.0, sizes: 2, threads: 1 };
    for _ in 0..4 {
        runs.observe(MemberId(0), &[1; 32], &long, 0.5);
    }
    // What so short a call takes is chance.
    for at in 0..1000 {
        runs.observe(MemberId(0), &[2; 32], &short, if at % 3 == 0 { 2e-5 } else { 5e-6 });
    }
    let seconds = runs.predict(MemberId(0), &[1; 32], &long).seconds;
    assert!((0.48..0.52).contains(&seconds), "{seconds}");
}
