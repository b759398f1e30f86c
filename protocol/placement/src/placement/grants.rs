//! Calls that were placed and are not known to have ended. They count against the server and the
//! link that they were given, since no report knows of them yet.

use std::time::Duration;

use farcall_base::Instant;

use super::{Candidate, Placement, Question};
use crate::paths::{Direction, Transfer};
use crate::run_times::Work;
use crate::{Contract, GrantId, MemberId, SiteId};

/// An answer: servers for a call, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// Names it in reports and outcomes.
    pub id: GrantId,
    /// At least one.
    pub servers: Vec<Granted>,
}

/// One of the servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    /// Where clients reach it, the best address first.
    pub addresses: Vec<String>,
    /// What the call needs there.
    pub candidate: Candidate,
    /// Of the calls that were asked for, those that it is to have.
    pub calls: u32,
}

/// What a server tells of calls that were placed on it, since its last report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Those that have begun to come.
    pub begun: Vec<GrantId>,
    /// Those that are there with all their arguments.
    pub arrived: Vec<GrantId>,
}

/// A call that ran, as its server tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The routine.
    pub contract: Contract,
    /// How much it did.
    pub work: Work,
    /// While the routine ran.
    pub seconds: f64,
    /// From its arguments being there to its beginning.
    pub waited_s: f64,
    /// What placed it, if anything did.
    pub grant: Option<GrantId>,
}

/// A transfer as the client measured it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Bytes of arrays, as they were after compression.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
}

/// What became of a call, as its client tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// What placed it.
    pub grant: GrantId,
    /// Where its caller is.
    pub site: SiteId,
    /// Where it ran; nothing: nowhere.
    pub member: Option<MemberId>,
    /// How its arguments went.
    pub sent: Option<Sent>,
    /// How its results came.
    pub returned: Option<Sent>,
}

/// A grant without an outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub member: MemberId,
    pub wait_s: f64,
    there: Direction,
    /// Whether its server has all of it, so that its reports count it.
    arrived: bool,
    /// Whether its arguments use the link no more.
    sent: bool,
    processors: f64,
    run_s: f64,
    /// When it must have been seen to begin.
    seen_until: Instant,
    /// Others on the link while its arguments went.
    beside: f64,
    /// Bytes of others that they were expected to have before them.
    before: f64,
}

impl Placement {
    pub(super) fn open_grant(
        &mut self,
        now: Instant,
        question: &Question,
        chosen: &Candidate,
    ) -> GrantId {
        self.last_grant += 1;
        let id = GrantId(self.last_grant);
        let Some(member) = self.members.get(chosen.member) else { return id };
        let site = member.report.site;
        let open = Open {
            member: chosen.member,
            wait_s: chosen.wait_s,
            there: Direction { from: question.site, to: site },
            arrived: false,
            sent: false,
            processors: f64::from(question.processors.min(member.report.processors)),
            run_s: chosen.run_s,
            seen_until: now + seconds(chosen.send_s * 3.0) + self.limits.grant_unused,
            beside: 0.0,
            before: 0.0,
        };
        let turn = self.last_grant;
        self.members.change(chosen.member, |member| {
            member.turn = turn;
            member.granted_processors += open.processors;
            member.granted_s += open.processors * open.run_s;
        });
        let before = self.paths.before(now, open.there, question.bytes_in);
        self.paths.begin(now, open.there, id, question.bytes_in);
        let open = Open { before, ..open };
        self.unseen.insert((open.seen_until, id));
        self.open.insert(id, open);
        id
    }

    /// A server says which calls have begun to come, and which are there with all their arguments:
    /// from now on its reports count these.
    pub(super) fn handle_news(&mut self, now: Instant, member: MemberId, news: &News) {
        for id in &news.begun {
            if let Some(open) = self.open.get(id).filter(|open| open.member == member) {
                self.unseen.remove(&(open.seen_until, *id));
            }
        }
        for id in &news.arrived {
            self.handle_arrival(member, *id);
        }
        self.drop_unused(now);
    }

    fn handle_arrival(&mut self, member: MemberId, id: GrantId) {
        let Some(open) = self.open.get_mut(&id).filter(|open| open.member == member) else {
            return;
        };
        if open.arrived {
            return;
        }
        open.arrived = true;
        if !std::mem::replace(&mut open.sent, true) {
            open.beside = self.paths.end(open.there, id);
        }
        let open = *open;
        self.unseen.remove(&(open.seen_until, id));
        self.take_off(&open);
    }

    /// A client says that the arguments of its call are there. They use the link no more; until its
    /// server's reports count the call, the grant does.
    pub fn handle_sent(&mut self, id: GrantId) {
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.sent) else { return };
        open.sent = true;
        open.beside = self.paths.end(open.there, id);
    }

    /// What a grant counted on its server counts no more.
    fn take_off(&mut self, open: &Open) {
        self.members.change(open.member, |member| {
            member.granted_processors = (member.granted_processors - open.processors).max(0.0);
            member.granted_s = (member.granted_s - open.processors * open.run_s).max(0.0);
        });
    }

    /// A client says what became of its call. What it says of its own paths is learned; how long a
    /// call ran is the server's to tell.
    pub fn handle_outcome(&mut self, outcome: &Outcome) {
        let site = outcome.member.and_then(|id| Some(self.members.get(id)?.report.site));
        if let Some(site) = site {
            let there = Direction { from: outcome.site, to: site };
            let back = Direction { from: site, to: outcome.site };
            self.learn_crowding(outcome, there);
            let beside = self.beside(outcome.grant, there);
            self.learn(there, outcome.sent, beside);
            self.learn(back, outcome.returned, 0.0);
        }
        self.end_grant(outcome.grant);
    }

    /// How many others used the link while a call's arguments went. A call whose grant was given up
    /// is taken to have had as many beside it as there are now.
    fn beside(&mut self, grant: GrantId, there: Direction) -> f64 {
        match self.open.get(&grant) {
            Some(open) if open.there == there && open.sent => open.beside,
            Some(open) if open.there == there => self.paths.end(there, grant),
            _ => self.paths.under_way(there) as f64,
        }
    }

    fn learn_crowding(&mut self, outcome: &Outcome, there: Direction) {
        let open = self.open.get(&outcome.grant).filter(|open| open.there == there);
        if let (Some(before), Some(sent)) = (open.map(|open| open.before), outcome.sent) {
            self.paths.learn_crowding(there, before, sent.bytes, sent.seconds);
        }
    }

    fn learn(&mut self, direction: Direction, sent: Option<Sent>, beside: f64) {
        let Some(Sent { bytes, seconds }) = sent else { return };
        if seconds.is_finite() && seconds >= 0.0 && bytes.is_finite() && bytes >= 0.0 {
            self.paths.observe(direction, &Transfer { bytes, seconds, beside });
        }
    }

    pub(super) fn end_grant(&mut self, id: GrantId) {
        let Some(open) = self.open.remove(&id) else { return };
        self.paths.end(open.there, id);
        self.unseen.remove(&(open.seen_until, id));
        if !open.arrived {
            self.take_off(&open);
        }
    }

    /// Grants that nobody used in time count no more.
    pub(super) fn drop_unused(&mut self, now: Instant) {
        while let Some((_, id)) = self.unseen.first().filter(|(until, _)| *until < now).copied() {
            self.end_grant(id);
        }
    }

    /// Whether a grant counts.
    pub fn is_open(&self, grant: GrantId) -> bool {
        self.open.contains_key(&grant)
    }

    /// Grants without an outcome.
    pub fn grants(&self) -> usize {
        self.open.len()
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}
