//! How the server is, for other servers and for metaservers; and questions about placement, which
//! the metaserver of this node answers.

use std::sync::Arc;
use std::time::Duration;

use farcall_base::{ChannelId, ConnectionId, Error, ErrorKind, ExecutableId, Instant, Result};
use farcall_idl::values::ByteValues;
use farcall_placement::{Demand, routine_hash};
use farcall_services::directory::{ElsewhereRoutine, PublishedRoutine, Reach, Visible};
use farcall_services::placement::{Asker, Placed, PlacedRoutines, Request};
use farcall_wire::{
    Argument, CallTimes, JobStatus, OfferedRoutine, Open, PLACEMENT, RanCall, Reply, ServerReport,
    StateQuestion, grant_of,
};

use super::directory::{elsewhere_reply, interface_reply};
use crate::access::Rights;
use crate::state::{Action, Call, CallKey, HoldNumber, Known, Listener, Phase};
use crate::step::{Server, Surroundings};

/// Calls that are looked at one by one for what they still need; of more, these stand for all.
const CALLS_LOOKED_AT: usize = 256;
/// Interfaces that are told at a time, and their bytes.
const INTERFACES_MAX: usize = 256;
const INTERFACES_BYTES_MAX: usize = 2 << 20;
/// The first version whose clients place calls; builds on the way to it have them from this day on.
const PLACING_VERSION: &str = "0.1.0";
const PLACING_DAY: &str = "27 November 2026";

/// What the driver knows of the node.
#[derive(Clone, Debug, Default)]
pub struct NodeFacts {
    /// Where clients reach it.
    pub addresses: Vec<String>,
    /// What it is called where clients come by metaservers alone; otherwise empty.
    pub joined_name: String,
    /// Another number when something else is published.
    pub revision: u64,
    /// Processes that run or want to, on average of the last minute.
    pub load: f64,
    /// Bytes of memory that are free.
    pub memory_free: u64,
}

/// What is published, when it was asked for.
pub type Listing = Vec<Arc<PublishedRoutine>>;

/// What this node publishes, and what only others do.
#[derive(Default)]
pub struct Union {
    /// This node's.
    pub own: Listing,
    /// Others'.
    pub others: Vec<Arc<ElsewhereRoutine>>,
}

impl Server {
    /// A client asks where calls run, or tells what it knows: the metaserver is asked.
    pub(super) fn placement_asked(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        request: Request,
    ) {
        let Some(peer) = self.state.front.peer(connection) else { return };
        match permitted(&peer.caller.rights, &request) {
            Ok(()) => self.ask_metaserver(connection, channel, request),
            Err(error) => {
                self.audit_refused(connection, None, "", &error);
                self.reply(connection, channel, &Reply::Failed((&error).into()));
            }
        }
    }

    fn ask_metaserver(&mut self, connection: ConnectionId, channel: ChannelId, request: Request) {
        let Some(peer) = self.state.front.peer(connection) else { return };
        let rights = &peer.caller.rights;
        // Servers may see more than they may call.
        let is_state = matches!(request, Request::State(..));
        let asker = Asker {
            connection,
            hosts: peer.caller.hosts.clone(),
            principal: rights.principal().to_owned(),
            visible: if is_state { rights.offered() } else { rights.visible() },
            is_own_user: rights.owns_server(),
        };
        // It is answered when there is a stream, and holds up no other question.
        if request != Request::DialBack {
            self.state.front.ask_plugin(connection);
        }
        self.state.out.act(Action::Place { connection, channel, asker, request });
    }

    /// The metaserver's answer.
    pub fn placed(&mut self, connection: ConnectionId, channel: ChannelId, answer: Result<Reply>) {
        if !matches!(answer, Ok(Reply::DialBack(_))) {
            self.state.front.plugin_answered(connection);
        }
        let reply = answer.unwrap_or_else(|error| Reply::Failed((&error).into()));
        self.reply(connection, channel, &reply);
    }

    /// A client asked how the server is, and is answered; `listing` is what is published, if that was to be told.
    pub fn tell_state(
        &mut self,
        now: Instant,
        (connection, channel): (ConnectionId, ChannelId),
        question: &StateQuestion,
        listing: Option<Result<Listing>>,
        facts: NodeFacts,
    ) {
        let Some(rights) = self.rights(connection) else { return };
        let visible = rights.offered();
        let report = listing.transpose().map(|listing| {
            let listener = Listener::Client(connection);
            self.report(now, listener, &visible, question, listing.as_deref(), facts)
        });
        match report {
            // What others publish is found here, too.
            Ok(report) if self.state.reporting.leads() => {
                let request = Request::State(question.clone(), report);
                self.ask_metaserver(connection, channel, request);
            }
            Ok(report) => self.reply(connection, channel, &Reply::State(report)),
            Err(error) => self.reply(connection, channel, &Reply::Failed((&error).into())),
        }
    }

    /// How the server is, as far as somebody may know who sees these modules.
    pub fn report(
        &mut self,
        now: Instant,
        listener: Listener,
        visible: &Visible,
        question: &StateQuestion,
        listing: Option<&[Arc<PublishedRoutine>]>,
        facts: NodeFacts,
    ) -> Box<ServerReport> {
        let news = self.state.reporting.hear(now, listener);
        let runs = news.runs.into_iter().filter(|(module, _)| visible.shows(module));
        let busy = self.processors_busy();
        let seen = |routine: &&Arc<PublishedRoutine>| visible.shows(&routine.module.name);
        let offers = listing.filter(|_| question.known != Some(facts.revision));
        let interfaces = listing.filter(|_| !question.wanted.is_empty());
        Box::new(ServerReport {
            name: facts.joined_name,
            addresses: facts.addresses,
            host: self.state.front.host().to_owned(),
            instance: self.state.front.instance().unwrap_or_default(),
            processors: self.processors(),
            busy,
            calls: self.state.calls.count() as u64,
            backlog_s: self.backlog_s(now),
            load: (facts.load - busy).max(0.0),
            start_s: self.state.reporting.start_s(),
            revision: facts.revision,
            offers: offers.map(|all| all.iter().filter(seen).map(|one| offered(one)).collect()),
            interfaces: interfaces.map(|all| {
                let mut bytes = 0;
                let wanted = all.iter().filter(seen).filter(|routine| {
                    let contract = &routine.contract;
                    let is_wanted = question.wanted.iter().any(|wanted| wanted == contract);
                    bytes += if is_wanted { routine.encoded.len() } else { 0 };
                    is_wanted && bytes <= INTERFACES_BYTES_MAX
                });
                wanted.take(INTERFACES_MAX).map(|one| interface_reply(one, None)).collect()
            }),
            warm: self.warm().into_iter().filter(|module| visible.shows(module)).collect(),
            job_wait_s: self.state.reporting.job_wait_s(),
            draining: self.state.draining || self.state.ending,
            memory_free: facts.memory_free,
            runs: runs.map(|(_, run)| run).collect(),
            begun: news.begun,
            arrived: news.arrived,
            product: self.state.front.product().to_owned(),
            ..ServerReport::default()
        })
    }

    /// Processors that calls may have together.
    fn processors(&self) -> u32 {
        self.state.queue.processors.max()
    }

    /// Those that calls have.
    fn processors_busy(&self) -> f64 {
        self.state.queue.processors.used() as f64
    }

    /// Modules that have an executable which takes calls.
    fn warm(&self) -> Vec<String> {
        let records = self.state.executables.values().filter(|record| !record.held);
        let takes = |phase| matches!(phase, Phase::Idle { .. } | Phase::Busy | Phase::Reserved(_));
        let names = records.filter(|record| takes(record.phase)).map(|record| &record.module.0);
        let names: std::collections::BTreeSet<&String> = names.collect();
        names.into_iter().cloned().collect()
    }

    /// Processor-seconds that calls before a new one need, as far as their routines are known. Of
    /// one that runs, half is taken to be left.
    fn backlog_s(&self, now: Instant) -> f64 {
        let all = self.state.calls.count();
        let looked_at = self.state.calls.values().take(CALLS_LOOKED_AT);
        let left = looked_at.map(|call| {
            let expected = self.expected_s(call).unwrap_or(0.0);
            let ran = match call.run.executable {
                Some(_) => now.since(call.times.started).as_secs_f64(),
                None => 0.0,
            };
            let left = if ran > 0.0 { (expected - ran).max(expected * 0.1) } else { expected };
            call.run.share.cost(left)
        });
        left.sum::<f64>() * (all as f64 / all.clamp(1, CALLS_LOOKED_AT) as f64)
    }

    fn expected_s(&self, call: &Call) -> Option<f64> {
        let routine = routine_of(&call.routine);
        let demand = self.demand(&call.routine, &call.open)?;
        self.state.reporting.expected_s(&routine, demand.amount())
    }

    fn demand(&self, routine: &Known, open: &Open) -> Option<Demand> {
        let interface = &routine.routine.interface;
        let given: Vec<Option<&[u8]>> = open.arguments.iter().map(inline).collect();
        let values = ByteValues::new(interface, given.as_slice());
        Demand::of(interface, &values, self.state.limits.call_bytes_max).ok()
    }

    /// A call ended whose routine ran.
    pub(in crate::step) fn note_run(&mut self, call: &Call, times: &CallTimes) {
        let routine = routine_of(&call.routine);
        let has_run = times.finished_ns > times.started_ns && times.started_ns > 0;
        if !has_run || !self.state.reporting.wants(&routine) {
            return;
        }
        let Some(demand) = self.demand(&call.routine, &call.open) else { return };
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-9;
        let run = RanCall {
            routine,
            sizes: demand.sizes,
            amount: demand.amount(),
            threads: call.run.share.processors.max(1),
            seconds: seconds(times.started_ns, times.finished_ns),
            waited_s: seconds(times.queued_ns, times.started_ns),
            grant: grant_of(call.open.attributes.as_deref()).ok().flatten(),
        };
        self.state.reporting.ran(call.routine.module.name.as_str().into(), run);
    }

    /// A call came, perhaps by a grant.
    fn note_begin(&mut self, open: &Open) {
        if let Ok(Some(grant)) = grant_of(open.attributes.as_deref()) {
            self.state.reporting.begun(grant);
        }
    }

    /// All its arguments are here.
    pub(in crate::step) fn note_arrival(&mut self, key: CallKey) {
        let attributes =
            self.state.calls.get(&key).and_then(|call| call.open.attributes.as_deref());
        if let Ok(Some(grant)) = grant_of(attributes) {
            self.state.reporting.arrived(grant);
        }
    }

    /// An executable can take its first call.
    pub(in crate::step) fn note_start(&mut self, now: Instant, executable: ExecutableId) {
        let most = self.state.limits.loading_max;
        if let Some(took) = self.state.executables.starts.took(now, executable, most) {
            self.state.reporting.started(took);
        }
    }

    /// Jobs are not as they were before.
    pub(super) fn note_jobs(&mut self, before: &[JobStatus]) {
        let is_active = |job: &&JobStatus| job.state == "active";
        let waited = |job: &JobStatus| {
            before.iter().any(|was| was.number == job.number && was.state != "active")
        };
        let began = self.state.executables.jobs.all().iter().filter(is_active);
        for job in began.filter(|job| waited(job)) {
            self.state.reporting.job_waited(Duration::from_micros(job.age_us));
        }
    }

    /// Which servers' routines a client can call.
    pub(in crate::step) fn reach(&self, connection: ConnectionId) -> Reach {
        match self.has_feature(connection, PLACEMENT) {
            true => Reach::Everywhere,
            false => Reach::Here,
        }
    }

    /// The directory knows the routine, and that only others publish it.
    pub fn resolved_elsewhere(
        &mut self,
        connection: ConnectionId,
        channel: ChannelId,
        routine: &ElsewhereRoutine,
    ) {
        self.state.front.plugin_answered(connection);
        let name = routine.interface.full_name();
        let may_call = self.rights(connection).map(|rights| rights.call(&routine.interface.module));
        let reply = match may_call {
            Some(Err(error)) => {
                self.audit_refused(connection, None, &name, &error);
                Reply::Failed((&error).into())
            }
            _ if self.reach(connection) == Reach::Everywhere => {
                Reply::Interface(elsewhere_reply(routine, name))
            }
            _ => Reply::Failed((&self.only_elsewhere(connection, &name)).into()),
        };
        self.reply(connection, channel, &reply);
    }

    /// What is to be held is published by others alone.
    pub fn held_elsewhere(
        &mut self,
        surroundings: &mut dyn Surroundings,
        hold: HoldNumber,
        routine: &ElsewhereRoutine,
    ) {
        let asked = self.state.objects.hold(hold).and_then(|hold| hold.asked);
        let Some((connection, _)) = asked else { return };
        let interface = &routine.interface;
        let name = interface.full_class().unwrap_or_else(|| interface.full_name());
        let error = self.only_elsewhere(connection, &name);
        self.held(surroundings, hold, Err(error));
    }

    /// Others publish these.
    pub fn set_placed(&mut self, placed: Arc<PlacedRoutines>) {
        self.state.reporting.set_placed(placed);
    }

    /// Whether calls of a routine may run on other servers.
    pub(super) fn is_placed(&self, routine: &PublishedRoutine) -> Option<bool> {
        let name = routine.routine.interface.full_name();
        self.state.reporting.placed(&name, &routine.contract).map(|_| true)
    }

    /// A call of what only others publish is refused; one that a metaserver placed here has come.
    pub(in crate::step) fn look_at_placement(
        &mut self,
        connection: ConnectionId,
        open: &Open,
    ) -> Result<()> {
        if self.state.reporting.listens() {
            self.note_begin(open);
        }
        self.elsewhere(connection, open).map_or(Ok(()), Err)
    }

    /// The error for a call of a routine that only other servers publish.
    fn elsewhere(&self, connection: ConnectionId, open: &Open) -> Option<Error> {
        let placed = self.state.reporting.placed(&open.routine, &open.contract)?;
        (placed == Placed::Elsewhere).then(|| self.only_elsewhere(connection, &open.routine))
    }

    /// What a client is told that calls here what only others publish.
    pub(in crate::step) fn only_elsewhere(&self, connection: ConnectionId, name: &str) -> Error {
        let message = format!("\"{name}\" is published by other servers, and not by this one");
        let error = Error::new(ErrorKind::NotFound, "accept a call", message);
        match self.has_feature(connection, PLACEMENT) {
            true => error.fix("ask this server with Place for a server, and call that"),
            false => error.fix(format!(
                "install Farcall {PLACING_VERSION} or later on the client (of builds before its \
                 release, one of {PLACING_DAY} or later): it calls those servers; or connect to one \
                 of them"
            )),
        }
    }

    /// Somebody asks how the server is, or has not asked for long.
    pub(in crate::step) fn forget_listener(&mut self, now: Instant, gone: Option<ConnectionId>) {
        self.state.reporting.forget(now, gone);
    }
}

/// Whether the rights allow a request. A report is an entry among the servers that others are sent
/// to.
fn permitted(rights: &Rights, request: &Request) -> Result<()> {
    match request {
        Request::Report(_) | Request::DialBack => rights.join(),
        Request::Place(question) => rights.ask(&question.name).and_then(|()| {
            let (module, _) = question.name.split_once('/').unwrap_or(("", ""));
            rights.call(module)
        }),
        // Whether it may call anything there, the metaserver knows.
        Request::Outcomes(_) | Request::Servers { .. } | Request::Relay(_) | Request::State(..) => {
            Ok(())
        }
    }
}

fn routine_of(routine: &Known) -> [u8; 32] {
    routine_hash(&routine.name, &routine.contract)
}

fn offered(routine: &PublishedRoutine) -> OfferedRoutine {
    OfferedRoutine {
        name: routine.routine.interface.full_name(),
        contract: routine.contract,
        in_jobs: !routine.module.executable.launcher.is_empty(),
        hops: None,
    }
}

fn inline(argument: &Argument) -> Option<&[u8]> {
    match argument {
        Argument::Inline(bytes) => Some(bytes.as_slice()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of changes says in which version servers that join came, once that is released.
    #[test]
    fn the_version_that_old_clients_are_told_is_the_one_of_the_changelog() {
        let changes = include_str!("../../../../../CHANGELOG.md");
        let (before, _) = changes.split_once("farcall serve --join").expect("it is listed");
        let section = before.rsplit("\n## [").next().and_then(|rest| rest.split(']').next());
        let (_, since) = changes.split_once("\n## [Unreleased]").expect("a section on top");
        let is_released =
            |version: &str| since.lines().any(|line| line.starts_with(&format!("## [{version}]")));
        match section {
            Some("Unreleased") => assert!(!is_released(PLACING_VERSION)),
            section => assert_eq!(section, Some(PLACING_VERSION)),
        }
    }
}
