//! This node and the servers that it knows, as one server: what it is for metaservers and clients
//! that list it beside others.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use farcall_base::{ConnectionId, Instant, Result};
use farcall_placement::{MemberId, Presence};
use farcall_services::directory::Visible;
use farcall_services::placement::Asker;
use farcall_wire::{
    InterfaceReply, OfferedRoutine, PlaceQuestion, PlacedServer, RanCall, Reply, ServerReport,
    StateQuestion, TOLD_MAX,
};

use crate::state::{KnownServer, LinkKind, Offer, READERS_MAX, READS_FOR, Source, State};

/// Metaservers that a question passes at most.
const PASSED_MAX: usize = 3;
/// Interfaces in one answer, and their bytes.
const INTERFACES_MAX: usize = 256;
const INTERFACES_BYTES_MAX: usize = 2 << 20;

/// Who is told.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    /// What it may know.
    pub visible: &'a Visible,
    /// Its run and its name, as far as they are known: it is not told of itself.
    pub instance: Option<[u8; 16]>,
    pub name: &'a str,
}

impl Told<'_> {
    fn is(&self, known: &KnownServer) -> bool {
        let is_named = |address: &String| *address == self.name;
        self.instance.is_some_and(|instance| instance == known.report.instance)
            || known.report.name == self.name
            || known.report.addresses.iter().any(is_named)
    }
}

/// Something that several servers offer.
struct United<'a> {
    offer: &'a Offer,
    hops: u32,
    in_jobs: bool,
}

impl State {
    /// Somebody asks how this server is, and others are known.
    pub(super) fn answer_state(
        &mut self,
        now: Instant,
        asker: &Asker,
        question: &StateQuestion,
        own: ServerReport,
    ) -> Result<Reply> {
        let told = Told { visible: &asker.visible, instance: question.asker, name: "" };
        let others = self.told_of(now, &told);
        let mut report = self.with_offers(self.with_numbers(own, &others), &others, &told);
        if question.known == Some(report.revision) {
            report.offers = None;
        }
        let mut interfaces = report.interfaces.take().unwrap_or_default();
        self.add_interfaces(&question.wanted, &mut interfaces, &asker.visible);
        report.interfaces = (!interfaces.is_empty()).then_some(interfaces);
        report.runs.extend(self.heard_of(now, asker.connection, &asker.visible));
        report.runs.truncate(TOLD_MAX);
        Ok(Reply::State(Box::new(report)))
    }

    /// The servers of which somebody is told.
    pub(super) fn told_of(&self, now: Instant, told: &Told<'_>) -> Vec<&KnownServer> {
        let others = self.servers.values().filter(|known| {
            known.source != Source::Own
                && self.placement.presence(now, known.id) == Presence::Up
                && !known.report.draining
                && !told.is(known)
        });
        others.collect()
    }

    /// The own node's report, with the numbers of others: of those that lead nowhere, so that no
    /// server counts twice where metaservers know one another. A node that offers nothing does not
    /// count.
    pub(super) fn with_numbers(
        &self,
        mut report: ServerReport,
        others: &[&KnownServer],
    ) -> ServerReport {
        report.leads = !others.is_empty();
        if report.leads {
            let own = self.servers.get(&self.own.name);
            let offers_itself = own.is_some_and(|own| !own.offers.is_empty());
            let plain = others.iter().filter(|known| !known.report.leads);
            let plain: Vec<&ServerReport> = plain.map(|known| &known.report).collect();
            add_numbers(&mut report, &plain, offers_itself);
        }
        report
    }

    /// With all that is offered.
    pub(super) fn with_offers(
        &self,
        mut report: ServerReport,
        others: &[&KnownServer],
        told: &Told<'_>,
    ) -> ServerReport {
        let own = self.servers.get(&self.own.name);
        let offers = unite(own.into_iter().chain(others.iter().copied()), told.visible);
        if report.leads {
            report.revision = revision(report.revision, &offers);
        }
        report.offers = Some(offers);
        report
    }

    /// Interfaces that others publish, as far as there is room.
    pub(super) fn add_interfaces(
        &self,
        wanted: &[[u8; 32]],
        interfaces: &mut Vec<InterfaceReply>,
        visible: &Visible,
    ) {
        if wanted.is_empty() {
            return;
        }
        let mut bytes: usize = interfaces.iter().map(|one| one.interface.len()).sum();
        for reply in self.catalogue.replies(wanted) {
            bytes += reply.interface.len();
            if bytes > INTERFACES_BYTES_MAX || interfaces.len() >= INTERFACES_MAX {
                return;
            }
            let module = crate::state::module_of(&reply.name);
            let is_there = interfaces.iter().any(|one| one.name == reply.name);
            if visible.shows(module) && !is_there {
                interfaces.push(reply);
            }
        }
    }

    /// A call ran on a server that leads nowhere: it is told on, without the grant, which is this
    /// metaserver's.
    pub(super) fn tell_on(&mut self, name: &str, run: &RanCall) {
        let Some(known) = self.servers.get(name) else { return };
        if known.source == Source::Own || known.report.leads {
            return;
        }
        let joins = |kind| kind == LinkKind::Join;
        let is_read =
            !self.connections.readers.is_empty() || self.links.iter().any(|link| joins(link.kind));
        if !is_read {
            return;
        }
        let offer = known.offers.iter().find(|offer| offer.routine == run.routine);
        let Some(module) = offer.map(|offer| offer.module().to_owned()) else { return };
        let run = RanCall { grant: None, ..run.clone() };
        for link in self.links.iter_mut().filter(|link| joins(link.kind) && link.is_open()) {
            super::links::keep_last(&mut link.runs, std::slice::from_ref(&run), TOLD_MAX);
        }
        for reader in self.connections.readers.values_mut() {
            if reader.runs.len() < TOLD_MAX {
                reader.runs.push((module.clone(), run.clone()));
            }
        }
    }

    /// What somebody who asks now and then has not heard yet.
    fn heard_of(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        visible: &Visible,
    ) -> Vec<RanCall> {
        self.connections.readers.retain(|_, reader| now.since(reader.at) < READS_FOR);
        let is_full = self.connections.readers.len() >= READERS_MAX;
        let reader = match self.connections.readers.entry(connection) {
            Entry::Vacant(_) if is_full => return Vec::new(),
            Entry::Vacant(place) => place.insert(Default::default()),
            Entry::Occupied(place) => place.into_mut(),
        };
        reader.at = now;
        let runs = std::mem::take(&mut reader.runs).into_iter();
        runs.filter(|(module, _)| visible.shows(module)).map(|(_, run)| run).collect()
    }

    /// Servers that a question which has passed these must not go to: those themselves; and where it
    /// passed this one, or as many as it may, whatever leads on.
    pub(super) fn not_again(&self, passed: &[String]) -> Vec<MemberId> {
        let has_passed = |instance: &[u8; 16]| {
            let run = run_of(instance);
            passed.iter().take(PASSED_MAX).any(|one| *one == run)
        };
        let own = self.own.report.as_ref();
        let is_end = passed.len() >= PASSED_MAX || own.is_some_and(|own| has_passed(&own.instance));
        let others = self.servers.values().filter(|known| known.source != Source::Own);
        let excluded = others
            .filter(|known| known.report.leads && (is_end || has_passed(&known.report.instance)));
        excluded.map(|known| known.id).collect()
    }

    /// What a question is to say that it has passed, when it goes on from here.
    pub(super) fn passed(&self, question: &PlaceQuestion, servers: &[PlacedServer]) -> Vec<String> {
        if !servers.iter().any(|one| one.leads) {
            return Vec::new();
        }
        let own = self.own.report.iter().map(|own| run_of(&own.instance));
        question.passed.iter().take(PASSED_MAX).cloned().chain(own).collect()
    }
}

/// A run of a server, as questions name it.
fn run_of(instance: &[u8; 16]) -> String {
    instance.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add_numbers(report: &mut ServerReport, plain: &[&ServerReport], offers_itself: bool) {
    let reports = || plain.iter().copied();
    if !offers_itself {
        (report.processors, report.busy, report.calls) = (0, 0.0, 0);
        (report.backlog_s, report.load) = (0.0, 0.0);
        (report.job_wait_s, report.speed) = (None, None);
        report.start_s = reports().map(|one| one.start_s).fold(f64::INFINITY, f64::min);
        if plain.is_empty() {
            report.start_s = 0.0;
        }
    }
    let is_in_jobs = |one: &ServerReport| one.job_wait_s.is_some();
    let all_in_jobs = reports().all(is_in_jobs) && (!offers_itself || report.job_wait_s.is_some());
    for other in reports() {
        report.processors = report.processors.saturating_add(other.processors);
        report.busy += other.busy;
        report.calls = report.calls.saturating_add(other.calls);
        report.backlog_s += other.backlog_s;
        report.load += other.load;
        // Of the rest, what the best one says: a call goes there.
        report.start_s = report.start_s.min(other.start_s);
        report.job_wait_s = least(report.job_wait_s, other.job_wait_s);
        report.speed = most(report.speed, other.speed);
        report.warm.extend(other.warm.iter().cloned());
    }
    if !all_in_jobs {
        report.job_wait_s = None;
    }
    report.processors = report.processors.max(1);
    report.warm.sort_unstable();
    report.warm.dedup();
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).min_by(f64::total_cmp)
}

fn most(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).max_by(f64::total_cmp)
}

/// All that these offer, each once, with the fewest metaservers on the way. What is farther away than
/// a question may go is not offered.
fn unite<'a>(
    servers: impl Iterator<Item = &'a KnownServer>,
    visible: &Visible,
) -> Vec<OfferedRoutine> {
    let mut all: BTreeMap<_, United<'a>> = BTreeMap::new();
    for known in servers {
        let is_own = known.source == Source::Own;
        let offers = known.offers.iter().filter(|offer| known.routines.contains(&offer.routine));
        for offer in offers.filter(|offer| visible.shows(offer.module())) {
            let hops = if is_own { 0 } else { offer.hops.saturating_add(1) };
            if hops > PASSED_MAX as u32 {
                continue;
            }
            let united = all.entry(offer.routine).or_insert(United { offer, hops, in_jobs: true });
            united.hops = united.hops.min(hops);
            united.in_jobs &= offer.in_jobs;
        }
    }
    let offered = all.into_values().map(|United { offer, hops, in_jobs }| OfferedRoutine {
        name: offer.name.clone(),
        contract: offer.contract,
        in_jobs,
        hops: (hops > 0).then_some(hops),
    });
    offered.collect()
}

/// Another number for other offers.
fn revision(own: u64, offers: &[OfferedRoutine]) -> u64 {
    let mut hasher = DefaultHasher::new();
    own.hash(&mut hasher);
    for OfferedRoutine { name, contract, in_jobs, hops } in offers {
        (name, contract, in_jobs, hops).hash(&mut hasher);
    }
    hasher.finish()
}
