//! What becomes of what a server says of itself, however that came.

use std::collections::BTreeSet;
use std::time::Duration;

use farcall_base::Instant;
use farcall_placement::{Contract, GrantId, Lesson, MemberId, News, Presence, Report, Run, Work};
use farcall_wire::{InterfaceReply, RanCall, ReportAnswer, ServerReport};

use crate::state::{KnownServer, Offer, Source, State};

/// Contracts whose interfaces are asked for at a time.
const WANTED_MAX: usize = 256;
/// More than any call has, does or takes: sums and products of these stay numbers.
const BYTES_MAX: f64 = 1e18;
const AMOUNT_MAX: f64 = 1e24;
const SECONDS_MAX: f64 = 1e9;
/// Time after which a server that is gone is listed no more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);
/// Contracts of one server that are remembered as wrong.
const REFUSED_MAX: usize = 1024;

impl State {
    /// A server says how it is. Nothing where too many are known.
    pub(super) fn take(
        &mut self,
        now: Instant,
        source: Source,
        mut report: ServerReport,
    ) -> Option<ReportAnswer> {
        let name = report.name.clone();
        let offers = report.offers.take();
        let interfaces = report.interfaces.take().unwrap_or_default();
        let runs = std::mem::take(&mut report.runs);
        let news =
            News { begun: self.grants_of(&report.begun), arrived: self.grants_of(&report.arrived) };
        (report.begun, report.arrived) = (Vec::new(), Vec::new());
        if !self.servers.contains_key(&name) {
            let first = self.placement_report(&report, &BTreeSet::new(), &[], News::default());
            let id = self.placement.handle_report(now, &name, first).ok()?;
            self.forget_replaced(id);
            self.servers.insert(name.clone(), new_server(now, id, source));
        }
        self.take_offers(&name, source, &report, offers);
        self.learn(&name, &interfaces);
        let known = self.servers.get_mut(&name)?;
        self.has_others |= source != Source::Own;
        known.heard = now;
        known.lost = None;
        known.source = source;
        if let Source::Reporter(connection) = source {
            known.reporters.insert(connection);
        }
        known.report = report;
        self.report_to_placement(now, &name, news);
        let id = self.servers.get(&name)?.id;
        runs.iter().for_each(|run| self.take_run(now, id, run));
        self.count(&name);
        Some(self.still_wanted(&name))
    }

    /// Grants of this metaserver among those that a server names.
    fn grants_of(&self, told: &[u64]) -> Vec<GrantId> {
        told.iter().map(|grant| self.grant(*grant)).collect()
    }

    /// Which routines a server offers, if it says so; of another run, or another revision, nothing
    /// is known any more.
    fn take_offers(
        &mut self,
        name: &str,
        source: Source,
        report: &ServerReport,
        offers: Option<Vec<farcall_wire::OfferedRoutine>>,
    ) {
        let Some(known) = self.servers.get_mut(name) else { return };
        let is_same = known.report.instance == report.instance
            && (known.source == source || known.is_reported_as(source, report))
            && known.revision == Some(report.revision);
        if is_same && offers.is_none() {
            return;
        }
        let is_whole = offers.is_some();
        let offers: Vec<Offer> = offers.unwrap_or_default().into_iter().map(Offer::new).collect();
        self.uncount(name);
        let Some(known) = self.servers.get_mut(name) else { return };
        known.revision = is_whole.then_some(report.revision);
        if is_whole {
            known.refused.clear();
            known.note.clear();
            known.offers = offers;
        }
        self.find_routines(name);
    }

    /// Interfaces that were asked for. One that is not what it was said to be is not asked for
    /// again.
    fn learn(&mut self, name: &str, interfaces: &[InterfaceReply]) {
        if interfaces.is_empty() {
            return;
        }
        let mut wrong: Vec<([u8; 32], String)> = Vec::new();
        for interface in interfaces {
            if let Err(error) = self.catalogue.learn(interface) {
                wrong.push((interface.contract, error.to_string()));
            }
        }
        self.uncount(name);
        if let Some(known) = self.servers.get_mut(name) {
            for (contract, why) in wrong {
                if known.refused.len() < REFUSED_MAX {
                    known.refused.insert(contract);
                }
                known.note = format!("an interface was not taken: {why}");
            }
        }
        self.find_routines(name);
    }

    /// Which of its offers calls may be placed on.
    fn find_routines(&mut self, name: &str) {
        let Some(known) = self.servers.get_mut(name) else { return };
        let is_own = known.source == Source::Own;
        let usable = known.offers.iter().filter(|offer| {
            is_own
                || (self.catalogue.knows(&offer.routine)
                    && !known.refused.contains(&offer.contract))
        });
        known.routines = usable.map(|offer| offer.routine).collect();
    }

    /// What a server is still to tell.
    fn still_wanted(&self, name: &str) -> ReportAnswer {
        let Some(known) = self.servers.get(name) else { return ReportAnswer::default() };
        let mut wanted = BTreeSet::new();
        if known.source != Source::Own {
            let unknown = known.offers.iter().filter(|offer| {
                !self.catalogue.knows(&offer.routine) && !known.refused.contains(&offer.contract)
            });
            wanted = unknown.map(|offer| offer.contract).take(WANTED_MAX).collect();
        }
        ReportAnswer {
            wants_offers: known.revision.is_none(),
            wanted: wanted.into_iter().collect(),
            dropped: Vec::new(),
        }
    }

    fn report_to_placement(&mut self, now: Instant, name: &str, news: News) {
        let Some(known) = self.servers.get(name) else { return };
        let report = known.report.clone();
        let routines = known.routines.clone();
        let warm: Vec<Contract> = known
            .offers
            .iter()
            .filter(|offer| report.warm.iter().any(|module| module == offer.module()))
            .map(|offer| offer.routine)
            .collect();
        let told = self.placement_report(&report, &routines, &warm, news);
        if let Ok(id) = self.placement.handle_report(now, name, told) {
            self.forget_replaced(id);
            if let Some(known) = self.servers.get_mut(name) {
                known.id = id;
            }
        }
    }

    fn placement_report(
        &mut self,
        report: &ServerReport,
        routines: &BTreeSet<Contract>,
        warm: &[Contract],
        news: News,
    ) -> Report {
        Report {
            site: self.sites.of_server(&report.host, &report.site, report.addresses.is_empty()),
            addresses: report.addresses.clone(),
            processors: report.processors,
            busy: report.busy,
            calls: u32::try_from(report.calls).unwrap_or(u32::MAX),
            backlog_s: report.backlog_s,
            load: report.load,
            start_s: report.start_s,
            contracts: routines.clone(),
            warm: warm.iter().filter(|routine| routines.contains(*routine)).copied().collect(),
            job_wait_s: report.job_wait_s,
            speed: report.speed.filter(|speed| (1.0..AMOUNT_MAX).contains(speed)),
            draining: report.draining,
            news,
        }
    }

    /// A call ran on a server, as that says.
    fn take_run(&mut self, now: Instant, id: MemberId, run: &RanCall) {
        // A time that none is says nothing, and must not count as a short one.
        if !(0.0..SECONDS_MAX).contains(&run.seconds) {
            return;
        }
        if let Some(name) = self.placement.member(id).map(|member| member.name.clone()) {
            self.tell_on(&name, run);
        }
        let run = Run {
            contract: run.routine,
            work: Work {
                amount: amount(run.amount),
                sizes: run.sizes,
                threads: run.threads.max(1),
            },
            seconds: run.seconds,
            waited_s: seconds(run.waited_s),
            grant: run.grant.map(|grant| self.grant(grant)),
        };
        let predicted = self.placement.runs.predict(id, &run.contract, &run.work).seconds;
        self.placement.handle_run(id, &run);
        let Some(member) = self.placement.member(id) else { return };
        let Run { contract, work, seconds, .. } = run;
        let first: [u8; 8] = contract[..8].try_into().unwrap_or_default();
        let kind =
            [u64::from(id.0), u64::from_ne_bytes(first), work.sizes, u64::from(work.threads)];
        let server = &member.name;
        self.lessons.add(now, kind, (predicted, seconds), || Lesson::Run {
            server: server.clone(),
            contract,
            work,
            seconds,
        });
    }

    /// The connection to a server is lost.
    pub(super) fn lose(&mut self, now: Instant, name: &str) {
        self.uncount(name);
        if let Some(known) = self.servers.get_mut(name) {
            known.lost.get_or_insert(now);
            self.placement.handle_loss(known.id);
        }
    }

    /// Whether a server is not asked any more.
    pub(super) fn is_gone(&self, now: Instant, id: MemberId) -> bool {
        self.placement.presence(now, id) == Presence::Gone
    }

    /// Those that became silent publish nothing, and are forgotten in the end.
    pub(super) fn look_at_servers(&mut self, now: Instant) {
        let others = self.servers.values().filter(|known| known.source != Source::Own);
        self.has_others = others.into_iter().any(|known| !self.is_gone(now, known.id));
        self.servers.retain(|_, known| {
            known.source == Source::Own || known.counted || now.since(known.heard) < FORGOTTEN_AFTER
        });
        let counted = self.servers.iter().filter(|(_, known)| known.counted);
        let gone = counted.filter(|(_, known)| self.is_gone(now, known.id));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        gone.into_iter().for_each(|name| self.uncount(&name));
    }

    /// The placement gave the number of one that was gone to another.
    fn forget_replaced(&mut self, id: MemberId) {
        let placement = &self.placement;
        let is_replaced = |name: &String, known: &KnownServer| {
            known.id == id && placement.member(id).is_none_or(|member| member.name != *name)
        };
        let replaced: Vec<String> = self
            .servers
            .iter()
            .filter(|(name, known)| is_replaced(name, known))
            .map(|(name, _)| name.clone())
            .collect();
        for name in replaced {
            self.uncount(&name);
            self.servers.remove(&name);
        }
    }

    /// The catalogue has what a server publishes.
    fn count(&mut self, name: &str) {
        let Some(known) = self.servers.get_mut(name) else { return };
        if known.source != Source::Own && !std::mem::replace(&mut known.counted, true) {
            known.routines.iter().for_each(|routine| self.catalogue.begin(routine));
        }
    }

    /// It has it no more.
    fn uncount(&mut self, name: &str) {
        let Some(known) = self.servers.get_mut(name) else { return };
        if std::mem::take(&mut known.counted) {
            known.routines.iter().for_each(|routine| self.catalogue.end(routine));
        }
        if known.source == Source::Own {
            self.catalogue.changed = true;
        }
    }
}

fn new_server(now: Instant, id: MemberId, source: Source) -> KnownServer {
    KnownServer {
        id,
        source,
        reporters: BTreeSet::new(),
        report: ServerReport::default(),
        offers: Vec::new(),
        revision: None,
        routines: BTreeSet::new(),
        refused: BTreeSet::new(),
        note: String::new(),
        heard: now,
        lost: None,
        counted: false,
    }
}

/// An amount of work, however it was told.
pub(super) fn amount(told: f64) -> f64 {
    if told.is_finite() { told.clamp(1.0, AMOUNT_MAX) } else { 1.0 }
}

/// Bytes, however they were told.
pub(super) fn bytes(told: f64) -> f64 {
    if told.is_finite() { told.clamp(0.0, BYTES_MAX) } else { 0.0 }
}

/// Seconds, however they were told.
pub(super) fn seconds(told: f64) -> f64 {
    if told.is_finite() { told.clamp(0.0, SECONDS_MAX) } else { 0.0 }
}
