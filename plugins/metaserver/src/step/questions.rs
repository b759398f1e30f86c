//! Where a call runs, and which servers there are.

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Instant, Result};
use farcall_placement::{
    Candidate, Direction, Granted, Lesson, MemberId, Outcome, Presence, Question, Sent, SiteId,
    Transfer, Work, routine_hash,
};
use farcall_services::placement::{Asker, Request};
use farcall_wire::{
    CallOutcome, MeasuredTransfer, PlaceAnswer, PlaceQuestion, PlacedServer, Reply, ServerPresence,
    ServerState, TOLD_MAX,
};

use super::Action;
use super::reports::shown;
use super::servers::{amount, bytes, seconds};
use crate::state::{KnownServer, LinkKind, QuestionNumber, Source, State};

/// A call that takes no longer, and moves no more, is small: an answer is good for more of them.
const SMALL_S: f64 = 0.02;
const SMALL_BYTES: f64 = 65_536.0;
/// So many of them are split at a time.
const SMALL_CALLS: u32 = 64;
/// Other metaservers in an answer.
const METASERVERS_MAX: usize = 8;
/// Names of servers that a caller does not want.
const WITHOUT_MAX: usize = 64;

impl State {
    /// Answers a question, the own node having said how it is.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        number: QuestionNumber,
        asker: &Asker,
        request: Request,
    ) {
        let answer = match request {
            Request::Place(question) => {
                self.place(now, asker, *question).map(|answer| Reply::Placed(Box::new(answer)))
            }
            Request::Servers { host, site } => {
                Ok(Reply::Servers(self.all_servers(now, asker, &host, &site)))
            }
            Request::Report(_)
            | Request::Outcomes(_)
            | Request::Relay(_)
            | Request::DialBack
            | Request::State(..) => {
                Err(Error::internal("place a call", "it needs no word of the own node"))
            }
        };
        self.out.push_back(Action::Answer(number, answer));
    }

    fn place(
        &mut self,
        now: Instant,
        asker: &Asker,
        mut question: PlaceQuestion,
    ) -> Result<PlaceAnswer> {
        self.handle_outcomes(now, asker, std::mem::take(&mut question.outcomes));
        let asked = self.question(asker, &question);
        if question.explains {
            return Ok(self.explained(now, &question, &asked));
        }
        let calls = self.calls_of(now, &question, &asked);
        let grant = self.placement.handle_questions(now, &asked, calls);
        let grant = grant.map_err(|error| self.explain_nobody(now, &question, error))?;
        if self.placement.is_open(grant.id) {
            self.own_grant(asker, grant.id);
        }
        let servers: Vec<PlacedServer> = grant.servers.iter().map(|one| self.placed(one)).collect();
        let is_for_more = grant.servers.iter().map(|one| one.calls).sum::<u32>() > 1;
        let valid_us = if is_for_more { self.settings.grant_valid_ms * 1000 } else { 0 };
        Ok(PlaceAnswer {
            grant: self.told(grant.id),
            valid_us,
            metaservers: self.metaservers_of(&grant.servers),
            passed: self.passed(&question, &servers),
            servers,
        })
    }

    /// Other metaservers that the servers of a grant report to: clients go on there when this one is
    /// gone.
    fn metaservers_of(&self, servers: &[Granted]) -> Vec<String> {
        let own = self.own.report.as_ref();
        let is_own = |address: &String| {
            *address == self.own.name || own.is_some_and(|own| own.addresses.contains(address))
        };
        let names = servers.iter().filter_map(|one| self.placement.member(one.candidate.member));
        let known = names.filter_map(|member| self.servers.get(&member.name));
        let all = known.flat_map(|known| &known.report.metaservers).filter(|one| !is_own(one));
        let all: BTreeSet<&String> = all.collect();
        all.into_iter().take(METASERVERS_MAX).cloned().collect()
    }

    fn own_grant(&mut self, asker: &Asker, grant: farcall_placement::GrantId) {
        if self.connections.owners.len() >= self.settings.grants_max.saturating_mul(2) {
            let placement = &self.placement;
            self.connections.owners.retain(|(_, grant)| placement.is_open(*grant));
        }
        self.connections.owners.insert((asker.connection, grant));
    }

    /// As the placement asks it.
    fn question(&mut self, asker: &Asker, question: &PlaceQuestion) -> Question {
        let mut without: Vec<MemberId> = Vec::new();
        for name in question.without.iter().take(WITHOUT_MAX) {
            without.extend(self.servers.get(name).map(|known| known.id));
        }
        if !question.passed.is_empty() {
            without.extend(self.not_again(&question.passed));
        }
        let processors = question.processors.max(1);
        Question {
            contract: routine_hash(&question.name, &question.contract),
            work: Work {
                amount: amount(question.amount),
                sizes: question.sizes,
                threads: processors,
            },
            processors,
            bytes_in: bytes(question.bytes_in),
            bytes_out: bytes(question.bytes_out),
            site: self.site_of(asker, &question.host, &question.site),
            deadline_s: question.deadline_s.map(seconds),
            without,
        }
    }

    /// What others than the own user say of themselves is for their own paths alone.
    fn site_of(&mut self, asker: &Asker, host: &str, site: &str) -> SiteId {
        let whose = if asker.is_own_user { "" } else { &asker.principal };
        self.sites.of(host, site, whose)
    }

    /// For how many calls the answer is to be: those that were asked for, and of small ones many.
    fn calls_of(&mut self, now: Instant, question: &PlaceQuestion, asked: &Question) -> u32 {
        let calls = question.calls.max(1);
        if calls > 1 || asked.bytes_in + asked.bytes_out > SMALL_BYTES {
            return calls;
        }
        let best = self.placement.explain(now, asked);
        let is_small =
            best.first().is_some_and(|best| best.send_s + best.run_s + best.return_s < SMALL_S);
        if is_small { SMALL_CALLS } else { 1 }
    }

    fn placed(&self, one: &Granted) -> PlacedServer {
        let mut placed = self.predicted(&one.candidate);
        placed.addresses.clone_from(&one.addresses);
        placed.calls = one.calls;
        placed
    }

    fn predicted(&self, one: &Candidate) -> PlacedServer {
        let name = self.placement.member(one.member).map(|member| member.name.clone());
        let name = name.unwrap_or_default();
        let known = self.servers.get(&name);
        PlacedServer {
            addresses: known.map(|known| known.report.addresses.clone()).unwrap_or_default(),
            host: known.map(|known| known.report.host.clone()).unwrap_or_default(),
            is_self: known.is_some_and(|known| known.source == Source::Own),
            leads: known.is_some_and(KnownServer::leads_on),
            name,
            wait_s: one.wait_s,
            send_s: one.send_s,
            run_s: one.run_s,
            return_s: one.return_s,
            error_s: one.error_s,
            ..PlacedServer::default()
        }
    }

    /// All servers with predictions, and those that cannot be chosen, with the reason.
    fn explained(
        &mut self,
        now: Instant,
        question: &PlaceQuestion,
        asked: &Question,
    ) -> PlaceAnswer {
        let best = self.placement.explain(now, asked);
        let mut servers: Vec<PlacedServer> = Vec::new();
        for one in best.iter().take(TOLD_MAX) {
            let mut placed = self.predicted(one);
            placed.calls = u32::from(servers.is_empty());
            placed.note = self.note_of(now, &placed.name, one.member, question);
            servers.push(placed);
        }
        let is_listed = |id: MemberId| best.iter().any(|one| one.member == id);
        let others = self.servers.iter().filter(|(_, known)| !is_listed(known.id));
        let others = others.map(|(name, known)| PlacedServer {
            name: name.clone(),
            addresses: known.report.addresses.clone(),
            host: known.report.host.clone(),
            note: self.reason(now, known, question),
            excluded: true,
            is_self: known.source == Source::Own,
            ..PlacedServer::default()
        });
        let left = TOLD_MAX.saturating_sub(servers.len());
        let others: Vec<PlacedServer> = others.take(left).collect();
        servers.extend(others);
        let left = TOLD_MAX.saturating_sub(servers.len());
        servers.extend(self.unreached().take(left).map(|(name, note)| PlacedServer {
            name,
            note,
            excluded: true,
            ..PlacedServer::default()
        }));
        let passed = self.passed(question, &servers);
        PlaceAnswer { servers, passed, ..PlaceAnswer::default() }
    }

    /// What people should know of a server that can be chosen.
    fn note_of(&self, now: Instant, name: &str, id: MemberId, question: &PlaceQuestion) -> String {
        let Some(known) = self.servers.get(name) else { return String::new() };
        if self.placement.presence(now, id) == Presence::Suspect {
            return format!("does not answer since {}", in_words(now.since(known.heard)));
        }
        if known.leads_on() {
            return "a metaserver: one of its servers".to_owned();
        }
        let in_jobs = known.offers.iter().any(|offer| offer.name == question.name && offer.in_jobs);
        match known.report.job_wait_s {
            None if in_jobs => "runs in jobs; none has run yet".to_owned(),
            Some(_) if in_jobs => {
                "runs in jobs: the wait is the median of the last ones".to_owned()
            }
            _ if self.takes_no_transactions(known) => {
                "takes no transactions of this server: it has not joined it".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Whether a member did not join, and so does not believe this server in whose name it calls. A
    /// server that listens to no other host dials its members as its user.
    fn takes_no_transactions(&self, known: &KnownServer) -> bool {
        let own = self.own.report.iter().flat_map(|own| &own.addresses);
        let is_shared = own.into_iter().any(|address| address.starts_with("tls://"));
        let is_listed = matches!(known.source, Source::Link(_));
        is_shared && is_listed && known.report.name.starts_with("tls://")
    }

    /// Why a server cannot be chosen.
    fn reason(&self, now: Instant, known: &KnownServer, question: &PlaceQuestion) -> String {
        if let Some(lost) = known.lost {
            return format!("its connection was lost {} ago", in_words(now.since(lost)));
        }
        if self.is_gone(now, known.id) {
            return format!("does not answer since {}", in_words(now.since(known.heard)));
        }
        if known.report.draining {
            return "takes no more calls".to_owned();
        }
        let named = || known.offers.iter().filter(|offer| offer.name == question.name);
        if named().any(|offer| offer.contract == question.contract) {
            let is_unwanted = question.without.contains(&known.report.name);
            return match is_unwanted {
                true => "was tried by the caller, and refused or did not answer".to_owned(),
                false => "its interface is not known yet".to_owned(),
            };
        }
        match named().next() {
            Some(_) => format!("publishes another version of {}", shown(&question.name)),
            None => format!("does not publish {}", shown(&question.name)),
        }
    }

    /// Servers that were never reached, with the reason.
    fn unreached(&self) -> impl Iterator<Item = (String, String)> {
        let members = self.links.iter().filter(|link| link.kind == LinkKind::Member);
        let unknown = members.filter(|link| !self.servers.contains_key(&link.address));
        unknown.map(|link| {
            let trouble = link.trouble.as_deref().unwrap_or("not asked yet");
            (link.address.clone(), format!("could not be reached: {trouble}"))
        })
    }

    /// Nobody can be chosen: the client is told what is in the way.
    fn explain_nobody(&self, now: Instant, question: &PlaceQuestion, error: Error) -> Error {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        let publishes =
            |known: &&KnownServer| known.offers.iter().any(|offer| offer.name == question.name);
        let first = self.servers.iter().find(|(_, known)| publishes(known));
        match first {
            Some((name, known)) => {
                error.with("server", shown(name)).with("because", self.reason(now, known, question))
            }
            None => error,
        }
    }

    /// Which servers there are, as the client sees them.
    fn all_servers(
        &mut self,
        now: Instant,
        asker: &Asker,
        host: &str,
        site: &str,
    ) -> Vec<ServerState> {
        let from = self.site_of(asker, host, site);
        let known = self.servers.values();
        let mut states: Vec<ServerState> =
            known.map(|one| self.state_of(now, one, asker, from)).collect();
        states.extend(self.unreached().map(|(name, note)| ServerState {
            name,
            presence: ServerPresence::Unreachable,
            note,
            ..ServerState::default()
        }));
        states.sort_by(|a, b| (!a.is_self, &a.name).cmp(&(!b.is_self, &b.name)));
        states.truncate(TOLD_MAX);
        states
    }

    fn state_of(
        &self,
        now: Instant,
        known: &KnownServer,
        asker: &Asker,
        from: SiteId,
    ) -> ServerState {
        let report = &known.report;
        let member = self.placement.member(known.id);
        let site = member.map(|member| member.report.site);
        let way =
            |from, to| self.placement.paths.learned(Direction { from, to }).unwrap_or_default();
        let there = site.map(|site| way(from, site)).unwrap_or_default();
        let back = site.map(|site| way(site, from)).unwrap_or_default();
        let presence = match self.placement.presence(now, known.id) {
            Presence::Gone => ServerPresence::Gone,
            Presence::Suspect => ServerPresence::Suspect,
            Presence::Up if report.draining => ServerPresence::Draining,
            Presence::Up => ServerPresence::Up,
        };
        let visible = known.offers.iter().filter(|offer| asker.visible.shows(offer.module()));
        let silent = now.since(known.heard);
        let note = match known.lost {
            Some(lost) => format!("its connection was lost {} ago", in_words(now.since(lost))),
            None if known.note.is_empty() && known.leads_on() => "a metaserver".to_owned(),
            None => known.note.clone(),
        };
        ServerState {
            name: report.name.clone(),
            presence,
            addresses: report.addresses.clone(),
            processors: member.map_or(0, |member| member.report.processors),
            busy: seconds(report.busy),
            calls: report.calls,
            load: seconds(report.load),
            routines: visible.count() as u64,
            silent_us: u64::try_from(silent.as_micros()).unwrap_or(u64::MAX),
            sends_at: there.rate,
            returns_at: back.rate,
            latency_s: there.latency_s.or(back.latency_s),
            product: report.product.clone(),
            note,
            is_self: known.source == Source::Own,
            leads: known.leads_on(),
        }
    }

    /// What became of calls, as their client says. Only for grants of the same connection, or for
    /// those of many calls, which nobody follows.
    pub(super) fn handle_outcomes(
        &mut self,
        now: Instant,
        asker: &Asker,
        outcomes: Vec<CallOutcome>,
    ) {
        for told in outcomes.into_iter().take(TOLD_MAX) {
            let grant = self.grant(told.grant);
            let is_owned = self.connections.owners.contains(&(asker.connection, grant));
            if !is_owned && self.placement.is_open(grant) {
                continue;
            }
            if told.continues {
                self.placement.handle_sent(grant);
                continue;
            }
            let site = self.site_of(asker, &told.host, &told.site);
            let member = self.servers.get(&told.server).map(|known| known.id);
            let returned = told.returned.and_then(sent);
            let place = member.and_then(|id| Some(self.placement.member(id)?.report.site));
            if let Some(there) = place {
                let to = Direction { from: site, to: there };
                let from = Direction { from: there, to: site };
                self.note_way(now, to, told.sent.and_then(sent));
                self.note_way(now, from, told.returned.and_then(sent));
            }
            let outcome = Outcome { grant, site, member, sent: told.sent.and_then(sent), returned };
            self.placement.handle_outcome(&outcome);
            self.connections.owners.remove(&(asker.connection, grant));
        }
    }
}

impl State {
    /// A transfer that the file is to have, if it taught something.
    fn note_way(&mut self, now: Instant, direction: Direction, sent: Option<Sent>) {
        let Some(Sent { bytes, seconds }) = sent else { return };
        let names = (self.sites.name(direction.from), self.sites.name(direction.to));
        let (Some(from), Some(to)) = names else { return };
        let kind = [u64::MAX, direction.from.0.into(), direction.to.0.into(), 0];
        let beside = self.placement.paths.under_way(direction).saturating_sub(1) as f64;
        let predicted = self.placement.paths.seconds(now, direction, bytes);
        self.lessons.add(now, kind, (predicted, seconds), || Lesson::Way {
            from: from.to_owned(),
            to: to.to_owned(),
            transfer: Transfer { bytes, seconds, beside },
        });
    }
}

/// A transfer as it was told; what is no number teaches nothing.
fn sent(told: MeasuredTransfer) -> Option<Sent> {
    let MeasuredTransfer { bytes: moved, seconds: took } = told;
    let is_possible = moved == bytes(moved) && took == seconds(took);
    is_possible.then_some(Sent { bytes: moved, seconds: took })
}

/// A time for people.
fn in_words(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}
