//! How long one decision takes with many servers known, in real time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant as Clock};

use farcall_base::{Instant, Result};
use farcall_placement::policy::FinishFirst;
use farcall_placement::{Limits, Outcome, Placement, Question, Report, Run, Sent, SiteId, Work};

/// Microseconds for each of many calls, with what is told of them before the next one.
///
/// # Errors
/// Those of the placement.
pub fn decide(servers: u32, sites: u32) -> Result<f64> {
    const CALLS: u32 = 20_000;
    let mut placement = Placement::new(Limits::default(), Box::new(FinishFirst));
    let contract = [7; 32];
    for number in 0..servers {
        let contracts = BTreeSet::from([contract]);
        let report = Report {
            site: SiteId(1 + number % sites),
            addresses: vec![format!("tls://s{number}:7070")],
            processors: 4,
            warm: contracts.clone(),
            contracts,
            ..Report::default()
        };
        placement.handle_report(Instant(0), &format!("s{number}"), report)?;
    }
    let work = Work { amount: 1e6, sizes: 9, threads: 1 };
    let question = Question {
        contract,
        work,
        processors: 1,
        bytes_in: 1e6,
        bytes_out: 1e6,
        site: SiteId(0),
        deadline_s: None,
        without: Vec::new(),
    };
    let begun = Clock::now();
    for call in 0..CALLS {
        let now = Instant(u64::from(call) * 1000) + Duration::from_millis(1);
        let grant = placement.handle_question(now, &question)?;
        let member = grant.servers[0].candidate.member;
        placement.handle_run(
            member,
            &Run { contract, work, seconds: 1e-3, waited_s: 0.0, grant: Some(grant.id) },
        );
        let sent = Some(Sent { bytes: 1e6, seconds: 1e-2 });
        let outcome = Outcome {
            grant: grant.id,
            site: SiteId(0),
            member: Some(member),
            sent,
            returned: sent,
        };
        placement.handle_outcome(&outcome);
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS))
}
