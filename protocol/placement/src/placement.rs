//! Members, what was learned of them, and the answers to questions.

mod candidate;
mod choice;
mod grants;
mod shares;

use std::collections::{BTreeMap, BTreeSet};

use farcall_base::{Error, ErrorKind, Instant, Result};

pub use candidate::{Candidate, Question};
pub use grants::{Grant, Granted, News, Outcome, Run, Sent};

use crate::limits::Limits;
use crate::member::{Member, Presence, Report};
use crate::members::Members;
use crate::offers::Offers;
use crate::paths::Paths;
use crate::policy::PlacementPolicy;
use crate::run_times::RunTimes;
use crate::{GrantId, MemberId};
use grants::Open;

/// What a metaserver knows, and how it decides.
#[derive(Debug)]
pub struct Placement {
    pub(crate) limits: Limits,
    policy: Box<dyn PlacementPolicy>,
    pub(crate) members: Members,
    /// How long calls ran where.
    pub runs: RunTimes,
    /// How fast the ways are.
    pub paths: Paths,
    offers: Offers,
    open: BTreeMap<GrantId, Open>,
    /// Those whose calls no server has seen to begin, by the time when they count no more.
    unseen: BTreeSet<(Instant, GrantId)>,
    last_grant: u64,
}

impl Placement {
    /// Nobody known yet.
    pub fn new(limits: Limits, policy: Box<dyn PlacementPolicy>) -> Placement {
        Placement {
            policy,
            members: Members::default(),
            runs: RunTimes::new(&limits),
            paths: Paths::new(&limits),
            offers: Offers::default(),
            open: BTreeMap::new(),
            unseen: BTreeSet::new(),
            last_grant: 0,
            limits,
        }
    }

    /// A server says how it is; a new name joins.
    ///
    /// # Errors
    /// `LimitExceeded` where too many are known already.
    pub fn handle_report(&mut self, now: Instant, name: &str, report: Report) -> Result<MemberId> {
        let news = report.news.clone();
        let speed = report.speed;
        let id = match self.members.named(name) {
            Some(id) => self.hear(now, id, report),
            None => self.join(now, name, report)?,
        };
        if let Some(speed) = speed {
            self.handle_claim(id, speed);
        }
        self.handle_news(now, id, &news);
        Ok(id)
    }

    /// What a server says of its speed, if it is another than before.
    fn handle_claim(&mut self, id: MemberId, speed: f64) {
        if !self.runs.handle_claim(id, speed) {
            return;
        }
        if let Some(known) = self.members.get(id) {
            self.offers.handle_run(id, &known.report.contracts, &self.runs);
        }
    }

    fn hear(&mut self, now: Instant, id: MemberId, report: Report) -> MemberId {
        let before = self.members.get(id).map(|member| &member.report);
        let is_same =
            |before: &Report| before.contracts == report.contracts && before.warm == report.warm;
        if !before.is_some_and(is_same) {
            self.offers.set(id, &report.contracts, &report.warm, &self.runs);
        }
        self.members.change(id, |member| member.handle_report(now, report));
        id
    }

    fn join(&mut self, now: Instant, name: &str, report: Report) -> Result<MemberId> {
        if self.members.len() >= self.limits.members_max {
            self.forget_gone(now);
        }
        if self.members.len() >= self.limits.members_max {
            return Err(Error::new(ErrorKind::LimitExceeded, "join", "too many servers are known")
                .with("limit", format!("members_max = {}", self.limits.members_max))
                .fix("raise members_max, or join another metaserver"));
        }
        let contracts = report.contracts.clone();
        let warm = report.warm.clone();
        let id = self.members.insert(Member::new(now, name.to_owned(), report));
        self.offers.set(id, &contracts, &warm, &self.runs);
        Ok(id)
    }

    /// Servers that are gone make room for others, and what is known of them, too.
    fn forget_gone(&mut self, now: Instant) {
        let limits = &self.limits;
        let is_gone = |member: &Member| member.presence(now, limits) == Presence::Gone;
        for id in self.members.remove_where(is_gone) {
            self.runs.forget(id);
            self.offers.forget(id);
        }
    }

    /// The connection to a server was lost: it is gone at once, until it reports again.
    pub fn handle_loss(&mut self, member: MemberId) {
        self.members.change(member, |member| member.lost = true);
        let of_it = |open: &Open| open.member == member;
        let ended: Vec<GrantId> =
            self.open.iter().filter(|(_, open)| of_it(open)).map(|(id, _)| *id).collect();
        ended.into_iter().for_each(|id| self.end_grant(id));
    }

    /// A server says how long a call ran there, and how long it had waited before.
    pub fn handle_run(&mut self, member: MemberId, run: &Run) {
        self.runs.observe(member, &run.contract, &run.work, run.seconds);
        if let Some(known) = self.members.get(member) {
            self.offers.handle_run(member, &known.report.contracts, &self.runs);
        }
        let expected = run.grant.and_then(|grant| self.open.get(&grant)).map(|open| open.wait_s);
        if let Some(expected) = expected {
            self.members.change(member, |member| member.handle_wait(run.waited_s, expected));
        }
    }

    /// Those that are known.
    pub fn members(&self) -> impl Iterator<Item = (MemberId, &Member)> {
        self.members.iter()
    }

    /// One of them.
    pub fn member(&self, id: MemberId) -> Option<&Member> {
        self.members.get(id)
    }

    /// Whether a server is there.
    pub fn presence(&self, now: Instant, id: MemberId) -> Presence {
        self.member(id).map_or(Presence::Gone, |member| member.presence(now, &self.limits))
    }
}
