//! Other servers: which the metaserver of this node knows, what they have, and how they are reached.

use std::collections::VecDeque;

use farcall_base::{Bytes, Error, ErrorKind, Instant, Result};
use farcall_graph::{Argument, CallNumber, Plan, ServerNumber};
use farcall_idl::values::ByteValues;
use farcall_placement::Demand;
use farcall_wire::{PlaceQuestion, PlacedServer, Reply, Request, ServerPresence, ServerState};

use super::begin::interface_of;
use crate::state::{
    Action, Beginning, HERE, LineNumber, Phase, Server, Servers, Standing, State, Tag,
    TransactionNumber, Way,
};

/// Servers of which a refusal says why they were not reached.
const TROUBLES_SHOWN_MAX: usize = 4;
/// The principal of what a server has started: no other server knows it.
const STARTED_HERE: &str = "routine";

impl Beginning {
    /// The server of this node told of others. One that places no calls has none.
    pub(super) fn told_of_servers(&mut self, tag: Tag, reply: Reply, whose: &Whose<'_>) {
        match (tag, reply) {
            (Tag::Servers, Reply::Servers(list)) => {
                list.into_iter().for_each(|state| self.servers.know(state, whose));
            }
            (Tag::Place(routine), reply) => {
                // The server that answers knows whether it has the routine itself.
                if let Some(here) = self.servers.get_mut(HERE) {
                    here.offers.remove(&routine);
                }
                let Reply::Placed(answer) = reply else { return };
                let able = answer.servers.into_iter().filter(|placed| !placed.excluded);
                able.for_each(|placed| self.servers.offers(routine, &placed));
            }
            _ => {}
        }
    }

    /// Asks where calls of each routine can run, if there are others: how many questions that takes.
    pub(super) fn ask_where(
        &self,
        plan: &Plan,
        line: LineNumber,
        out: &mut VecDeque<Action>,
    ) -> usize {
        let has_others = self.servers.count() > 1 && self.taken.is_none();
        let routines = 0..plan.message().routines.len() as u32;
        let asked = routines.filter(|routine| has_others || self.placed.contains(routine));
        let mut questions = 0;
        for routine in asked {
            let question = Box::new(question(plan, routine));
            out.push_back(Action::Ask(line, Tag::Place(routine), Request::Place(question)));
            questions += 1;
        }
        questions
    }
}

/// Where calls of a routine can run, by the first of them whose sizes are known.
fn question(plan: &Plan, routine: u32) -> PlaceQuestion {
    let calls = plan.message().calls.iter().zip(0..);
    let mut demands = calls.filter(|(call, _)| call.routine == routine).map(|(call, number)| {
        let values = call.arguments.iter().map(|argument| match argument {
            Argument::Inline(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        let interface = plan.interface(CallNumber(number));
        let values: Vec<Option<&[u8]>> = values.collect();
        let values = ByteValues::new(interface, values.as_slice());
        Demand::of(interface, &values, Bytes(isize::MAX as u64)).ok()
    });
    let demand = demands.next().flatten();
    let named = &plan.message().routines[routine as usize];
    PlaceQuestion {
        name: named.name.clone(),
        contract: named.contract,
        sizes: demand.map_or(0, |demand| demand.sizes),
        amount: demand.map_or(1.0, |demand| demand.amount()),
        processors: demand.and_then(|demand| demand.processors).unwrap_or(1),
        calls: 1,
        explains: true,
        ..PlaceQuestion::default()
    }
}

/// The user that servers are reached for.
pub(super) struct Whose<'a> {
    /// The user who began the transaction.
    pub principal: &'a str,
    /// Whether servers over TLS take this node for its user.
    pub is_user: bool,
}

impl Whose<'_> {
    /// How a server is reached for the user; `None`: it is not (docs/decisions/0057-claims.md).
    fn way(&self, state: &ServerState) -> Option<Way> {
        // Who lists servers is known by the addresses that he wrote.
        let named = state.addresses.is_empty().then_some(&state.name);
        let of = |scheme: &str| -> Vec<String> {
            let all = state.addresses.iter().chain(named);
            all.filter(|address| address.starts_with(scheme)).cloned().collect()
        };
        let sockets = of("unix:");
        if !sockets.is_empty() {
            return Some(Way::Socket(sockets));
        }
        let is_over_tls = state.name.starts_with("tls://") || !of("tls://").is_empty();
        let is_owner =
            self.principal.starts_with("uid ") || ["token", "inherited"].contains(&self.principal);
        match is_owner {
            // The node shows its user's certificate, and the user is the one who asks.
            true if self.is_user && is_over_tls => Some(Way::AsUser(of("tls://"))),
            false if is_over_tls && self.principal != STARTED_HERE => {
                Some(Way::Led(state.name.clone()))
            }
            _ => None,
        }
    }
}

impl Servers {
    /// Another server is known. Those that lead to others are not dialled: their servers are.
    fn know(&mut self, state: ServerState, whose: &Whose<'_>) {
        if state.is_self {
            if let Some(here) = self.get_mut(HERE) {
                here.processors = state.processors.max(1);
                here.addresses = state.addresses;
                if !state.name.is_empty() {
                    here.name = state.name;
                }
            }
            return;
        }
        // Of a transaction that is taken up, it may be known already.
        if self.all().any(|(server, known)| server != HERE && known.name == state.name) {
            return;
        }
        if state.leads || state.presence != ServerPresence::Up {
            return;
        }
        let Some(way) = whose.way(&state) else { return };
        let mut server = Server::new(state.name, way, state.processors);
        server.addresses = state.addresses;
        let (sends, returns, latency) = server.ways;
        let known = |measured: Option<f64>, default: f64| {
            measured.filter(|one| one.is_finite() && *one > 0.0).unwrap_or(default)
        };
        server.ways = (
            known(state.sends_at, sends),
            known(state.returns_at, returns),
            known(state.latency_s, latency),
        );
        // It says itself what it has, when it is asked.
        let routines = self.get(HERE).map(|here| here.offers.keys().copied().collect::<Vec<_>>());
        let unknown = routines.unwrap_or_default().into_iter().map(|routine| (routine, 0.0));
        server.offers = unknown.collect();
        self.add(server);
    }

    /// A server has a routine.
    fn offers(&mut self, routine: u32, placed: &PlacedServer) {
        let number = if placed.is_self { Some(HERE) } else { self.named(&placed.name) };
        if let Some(server) = number.and_then(|number| self.get_mut(number)) {
            let seconds = if placed.run_s.is_finite() { placed.run_s.max(0.0) } else { 0.0 };
            server.offers.insert(routine, seconds);
        }
    }

    /// Refuses a graph with a routine that no server runs.
    pub(super) fn check_all_run(&self, plan: &Plan) -> Result<()> {
        let there: Vec<&Server> = self
            .all()
            .filter_map(|(_, one)| (one.standing == Standing::There).then_some(one))
            .collect();
        for (routine, index) in plan.message().routines.iter().zip(0..) {
            if !there.iter().any(|server| server.offers.contains_key(&index)) {
                let message = "no server that takes transactions from this one has the routine";
                let others = self.all().filter_map(|(_, one)| one.trouble.as_ref());
                let error = Error::new(ErrorKind::Unavailable, "take a transaction", message)
                    .with("routine", &routine.name)
                    .with("servers", there.len());
                return Err(others
                    .take(TROUBLES_SHOWN_MAX)
                    .fold(error, |error, why| error.with("not reached", why))
                    .fix(
                        "begin it at a server that has the routine, or make its calls one by one; \
                        over TLS, servers that joined this one (`farcall serve --join`) take calls \
                        of users with a certificate",
                    ));
            }
        }
        Ok(())
    }

    /// Reaches all of them: how many they are.
    pub(super) fn dial(
        &mut self,
        number: TransactionNumber,
        principal: &str,
        out: &mut VecDeque<Action>,
    ) -> usize {
        let here = self.get(HERE).map(|here| (here.name.clone(), here.addresses.clone()));
        let (name, addresses) = here.unwrap_or_default();
        for server in (1..self.count() as u32).map(ServerNumber) {
            // This node's own one from before it was restarted, or one that was reached again since,
            // under another number: a second connection would end the first.
            let is_old = self.is_reached_again(server);
            if let Some(known) = self.get_mut(server)
                && (is_old
                    || known.way == Way::Socket(Vec::new())
                    || (known.name == name && known.addresses == addresses))
            {
                known.standing = Standing::Gone;
            }
        }
        let others =
            self.all().filter(|(server, one)| *server != HERE && one.standing != Standing::Gone);
        let able: Vec<_> = others.map(|(server, one)| (server, one.way.clone())).collect();
        let count = able.len();
        for (server, way) in able {
            out.push_back(reach((number, server), way, principal));
        }
        count
    }
}

/// What reaches a server for a user.
pub(super) fn reach(line: LineNumber, way: Way, principal: &str) -> Action {
    let (number, server) = line;
    match way {
        Way::Socket(addresses) => Action::Dial(line, addresses, Some(principal.to_owned())),
        Way::AsUser(addresses) => Action::Dial(line, addresses, None),
        Way::Led(name) => Action::Ask((number, HERE), Tag::Way(server), Request::Relay(name)),
    }
}

impl State {
    /// The servers of a transaction.
    pub(super) fn servers_of(&mut self, number: TransactionNumber) -> Option<&mut Servers> {
        match &mut self.entry_mut(number)?.phase {
            Phase::Beginning(beginning) => Some(&mut beginning.servers),
            Phase::Running(running) => Some(&mut running.servers),
        }
    }

    /// Another server is connected: it must know the routines before it takes their calls.
    pub(super) fn ask_other(&mut self, now: Instant, line: LineNumber) {
        let (number, server) = line;
        let Some(known) = self.servers_of(number).and_then(|all| all.get_mut(server)) else {
            return;
        };
        let wanted: Vec<u32> = known.offers.keys().copied().collect();
        known.standing = Standing::Coming(wanted.len());
        let Some((entry, out)) = self.parts(number) else { return };
        let names = match &entry.phase {
            Phase::Beginning(beginning) => beginning.plan.as_ref().map(Plan::message),
            Phase::Running(running) => Some(running.plan.message()),
        };
        let Some(message) = names else { return };
        for routine in &wanted {
            let request = Request::Interface(message.routines[*routine as usize].name.clone());
            out.push_back(Action::Ask(line, Tag::Interface(*routine), request));
        }
        if wanted.is_empty() {
            let message = "it has none of the routines";
            let error = Error::new(ErrorKind::NotFound, "run a transaction", message);
            self.handle_lost(now, line, &error);
        }
    }

    /// Another server answered: what it has under another interface, it does not have.
    pub(super) fn other_answered(
        &mut self,
        now: Instant,
        line: LineNumber,
        tag: Tag,
        reply: Reply,
    ) {
        let (number, server) = line;
        let Tag::Interface(routine) = tag else { return };
        let Some(entry) = self.entry_mut(number) else { return };
        let (message, servers) = match &mut entry.phase {
            Phase::Beginning(beginning) => {
                let Some(plan) = &beginning.plan else { return };
                (plan.message(), &mut beginning.servers)
            }
            Phase::Running(running) => (running.plan.message(), &mut running.servers),
        };
        let has_it = match reply {
            Reply::Interface(reply) => message
                .routines
                .get(routine as usize)
                .is_some_and(|known| interface_of(known, &reply).is_ok()),
            _ => false,
        };
        let Some(known) = servers.get_mut(server) else { return };
        if !has_it {
            known.offers.remove(&routine);
        }
        let Standing::Coming(left) = known.standing else { return };
        if left > 1 {
            known.standing = Standing::Coming(left - 1);
            return;
        }
        known.standing = Standing::There;
        known.again = None;
        known.lost = None;
        let processors = known.processors;
        match entry.running_mut() {
            Some(running) => {
                running.transaction.handle_server(now, server, processors);
                if let Some(journal) = self.keeping.journals.get_mut(&number) {
                    journal.has_servers = true;
                }
                self.pump(now, number);
            }
            None => self.answered(now, number),
        }
    }

    /// A server is connected: which run of it that is. If it was restarted since this transaction was
    /// written down, it is another server, which is reached under a number of its own.
    pub(super) fn is_same_run(
        &mut self,
        now: Instant,
        line: LineNumber,
        run: Option<[u8; 16]>,
    ) -> bool {
        let (number, server) = line;
        let Some(known) = self.servers_of(number).and_then(|all| all.get_mut(server)) else {
            return true;
        };
        let before = std::mem::replace(&mut known.run, run);
        if before.is_none() || before == run {
            return true;
        }
        known.run = before;
        self.out.push_back(Action::Drop(number, Some(server)));
        let error = Error::new(ErrorKind::ConnectionLost, "reach a server", "it was restarted");
        self.handle_lost(now, line, &error);
        false
    }

    /// Servers that were lost are tried again.
    pub(super) fn dial_again(&mut self, now: Instant, number: TransactionNumber) {
        let Some((entry, out)) = self.parts(number) else { return };
        let principal = entry.principal.clone();
        let Some(running) = entry.running_mut() else { return };
        if running.transaction.is_over() {
            return;
        }
        for (server, way) in running.servers.take_again(now) {
            out.push_back(reach((number, server), way, &principal));
        }
    }

    /// The metaserver of this node leads to another server, or cannot.
    pub(super) fn led(&mut self, now: Instant, line: LineNumber, reply: Reply) {
        let (number, server) = line;
        let Some(principal) = self.entry(number).map(|entry| entry.principal.clone()) else {
            return;
        };
        let known = self.servers_of(number).and_then(|servers| servers.get(server));
        let Some(name) = known.map(|known| known.name.clone()) else { return };
        let error = match reply {
            Reply::Relay(ticket) => {
                return self.out.push_back(Action::DialLed(line, name, ticket, principal));
            }
            Reply::Failed(failure) => failure.into(),
            _ => Error::internal("reach a server", "the metaserver gave another answer"),
        };
        self.handle_lost(now, line, &error);
    }

    /// A connection of a transaction is lost, or could not be made. With the server of this node all is
    /// lost that belongs to the transaction; without another one it goes on.
    pub fn handle_lost(&mut self, now: Instant, line: LineNumber, error: &Error) {
        let (number, server) = line;
        if server == HERE {
            // What is in the store goes on elsewhere, or here in a moment.
            let is_kept = self.keeping.journals.contains_key(&number);
            let is_taken_up = self.entry(number).is_some_and(|entry| entry.is_taken_up());
            return match is_kept || is_taken_up {
                true => self.release(now, number, error),
                false => self.end(number, error),
            };
        }
        let Some(servers) = self.servers_of(number) else { return };
        let was_coming =
            servers.get(server).is_some_and(|known| matches!(known.standing, Standing::Coming(_)));
        servers.lost(now, server, error);
        let Some((entry, out)) = self.parts(number) else { return };
        match entry.running_mut() {
            Some(running) => {
                running.lost(now, number, server, out);
                self.pump(now, number);
            }
            None if was_coming => self.answered(now, number),
            None => {}
        }
        self.reschedule(number);
    }
}
