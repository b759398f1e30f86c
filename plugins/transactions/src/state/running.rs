//! A transaction that runs: which value has which id, what its calls are, and how they ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use farcall_base::{DataId, Error, ErrorKind, Instant, TransactionId};
use farcall_graph::{
    Argument as Given, CallNumber, Costs, DataNumber, Ended, Origin, Place, Plan, ServerNumber,
    Transaction,
};
use farcall_idl::data::DataKind;
use farcall_idl::interface::Parameter;
use farcall_wire::{Argument, Failure, InlineBytes, Open, Promise};

use super::naming::Naming;
use super::recorded::Recorded;
use super::{HERE, Ids, Move, Servers};

/// Seconds that a call takes whose routine has not returned yet.
const UNKNOWN_S: f64 = 0.01;

/// A call that is open for the graph, and waits for numbers that other calls make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// Which.
    pub call: CallNumber,
    /// How often it was opened before.
    pub attempt: u32,
    /// Where.
    pub server: ServerNumber,
}

/// A result that the client wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The id under which it fetches it from the server of this node.
    pub id: DataId,
    /// Whether it is there under that id.
    pub is_there: bool,
    /// Whether it is on its way there.
    pub is_moving: bool,
    /// How often it could not be brought there.
    pub troubles: u32,
}

/// How long calls of one routine took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    runs: u32,
    seconds: f64,
}

impl Took {
    fn mean(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.seconds / f64::from(self.runs))
    }

    /// One more took so long.
    pub fn add(&mut self, seconds: f64) {
        self.runs = self.runs.saturating_add(1);
        self.seconds += seconds;
    }
}

/// A transaction that runs.
pub struct Running {
    /// What its numbers mean.
    pub plan: Plan,
    /// Which call is to be opened next.
    pub transaction: Transaction,
    /// Its ids.
    pub ids: Ids,
    /// Servers that it runs on.
    pub servers: Servers,
    /// Results that the client wants.
    pub wanted: BTreeMap<DataNumber, Wanted>,
    /// Ids that values have at servers.
    pub(super) places: HashMap<(DataNumber, ServerNumber), DataId>,
    /// How calls that are open name what they use, and values that are to be brought elsewhere.
    pub naming: Naming,
    /// Values that are numbers where they are made or used.
    pub(super) as_numbers: BTreeSet<DataNumber>,
    /// Those that are known: they travel inside the calls that use them.
    pub numbers: BTreeMap<DataNumber, InlineBytes>,
    /// Calls that wait for such numbers.
    pub delayed: Vec<Delayed>,
    /// How long calls took, by routine and server.
    pub took: BTreeMap<(u32, ServerNumber), Took>,
    /// Why calls failed, as the server said it.
    pub failures: HashMap<CallNumber, Failure>,
    /// Calls that have returned, and those that failed or did not run.
    pub returned: BTreeSet<CallNumber>,
    failed: BTreeSet<CallNumber>,
    /// Data that is to be deleted.
    pub unneeded: Vec<(ServerNumber, DataId)>,
    /// What is written of it, and compared when it is taken up.
    pub recorded: Recorded,
}

impl Running {
    /// It begins.
    pub fn new(
        id: TransactionId,
        plan: Plan,
        transaction: Transaction,
        servers: Servers,
    ) -> Running {
        let message = plan.message();
        let named = message.results.iter().filter_map(|result| {
            let wanted = Wanted { id: result.name, is_there: false, is_moving: false, troubles: 0 };
            Some((plan.result(CallNumber(result.call), result.slot)?, wanted))
        });
        let as_numbers = used_as_numbers(&plan);
        let inputs = (0..message.inputs.len() as u32).map(DataNumber);
        let places = inputs.filter_map(|data| Some(((data, HERE), plan.input_name(data)?)));
        Running {
            wanted: named.collect(),
            places: places.collect(),
            naming: Naming::default(),
            took: BTreeMap::new(),
            servers,
            transaction,
            ids: Ids(id),
            as_numbers,
            numbers: BTreeMap::new(),
            delayed: Vec::new(),
            failures: HashMap::new(),
            returned: BTreeSet::new(),
            failed: BTreeSet::new(),
            unneeded: Vec::new(),
            recorded: Recorded::default(),
            plan,
        }
    }

    /// Inputs that calls take as numbers.
    pub fn inputs_as_numbers(&self) -> impl Iterator<Item = (DataNumber, DataId)> {
        let named = self.as_numbers.iter().map(|data| (*data, self.plan.input_name(*data)));
        named.filter_map(|(data, id)| Some((data, id?)))
    }

    /// A call is opened: what it makes has new ids, but for what the client wants and is made here. The
    /// call itself, or nothing while it waits for numbers.
    pub fn open(
        &mut self,
        call: CallNumber,
        server: ServerNumber,
        attempt: u32,
    ) -> Option<Box<Open>> {
        for data in self.transaction.graph().call(call).makes.clone() {
            self.choose_id(data, server, attempt);
            let id = self.made_as(data, server, attempt);
            self.set_place(data, server, id);
        }
        let one = Delayed { call, attempt, server };
        let open = self.message(one);
        match open {
            Some(_) => self.name(one),
            None => self.delayed.push(one),
        }
        open
    }

    /// The id that a value gets where it is made.
    pub fn made_as(&self, data: DataNumber, server: ServerNumber, attempt: u32) -> DataId {
        let is_promised = server == HERE
            && self.naming.promised_here.contains(&data)
            && !self.naming.own_ids.contains(&(data, attempt));
        let wanted = self.wanted.get(&data).filter(|_| is_promised);
        wanted.map_or_else(|| self.ids.data(data, attempt), |wanted| wanted.id)
    }

    /// Calls that waited for numbers, and need not any more.
    pub fn ready(&mut self) -> Vec<(Delayed, Box<Open>)> {
        let waiting = std::mem::take(&mut self.delayed);
        let mut ready = Vec::new();
        for one in waiting {
            match self.message(one) {
                Some(open) => {
                    self.name(one);
                    ready.push((one, open));
                }
                None => self.delayed.push(one),
            }
        }
        ready
    }

    fn message(&self, one: Delayed) -> Option<Box<Open>> {
        let Delayed { call, attempt, server } = one;
        let given = &self.plan.message().calls[call.0 as usize].arguments;
        let parameters = &self.plan.interface(call).parameters;
        // Other results may get their size from these, whether anybody needs them or not.
        let deciding = self.plan.interface(call).inline_results();
        let arguments = given.iter().map(|one| self.argument(one, server));
        let wanted = parameters.iter().zip(0..).map(|(parameter, slot)| {
            match self.plan.result(call, slot).filter(|_| parameter.mode.is_output()) {
                None if deciding.contains(&usize::from(slot)) => Argument::Blocks(None),
                None => Argument::Absent,
                Some(data) if self.as_numbers.contains(&data) => Argument::Blocks(None),
                Some(data) => Argument::Data(self.made_as(data, server, attempt)),
            }
        });
        let routine = self.plan.routine(call);
        let arguments = arguments.collect::<Option<_>>()?;
        let name = routine.name.clone();
        let mut open = Open::new(self.ids.call(call, attempt), name, routine.contract, arguments);
        open.wanted = Some(wanted.collect());
        let makes_data = open.wanted.iter().flatten().any(|one| matches!(one, Argument::Data(_)));
        let key = self.servers.key_at(server).filter(|_| makes_data);
        open.attributes = key.map(|key| vec![key.attribute()]);
        Some(Box::new(open))
    }

    fn argument(&self, given: &Given, server: ServerNumber) -> Option<Argument> {
        let data = match given {
            Given::Absent => return Some(Argument::Absent),
            Given::Null => return Some(Argument::Null),
            Given::Inline(bytes) => return Some(Argument::Inline(bytes.as_slice().into())),
            Given::Input(_) | Given::Result(..) => self.plan.argument(given)?,
        };
        if self.as_numbers.contains(&data) {
            return self.numbers.get(&data).cloned().map(Argument::Inline);
        }
        Some(Argument::Data(self.place(data, server)))
    }

    /// The id of a value at a server.
    pub fn place(&self, data: DataNumber, server: ServerNumber) -> DataId {
        // What has none was never made: the server says that it is not there.
        let known = self.places.get(&(data, server)).copied();
        known.unwrap_or_else(|| self.ids.data(data, u32::MAX))
    }

    /// Whether a value is at a server.
    pub fn is_at(&self, data: DataNumber, server: ServerNumber) -> bool {
        self.transaction.places(data).any(|place| place == Place::Server(server))
    }

    /// Whether a value travels inside the calls that use it.
    pub fn is_number(&self, data: DataNumber) -> bool {
        self.as_numbers.contains(&data)
    }

    /// A value is brought from one server to another. Calls that are opened there name it before it has
    /// come: so it is promised, unless that was done before.
    pub fn start_move(
        &mut self,
        data: DataNumber,
        from: ServerNumber,
        to: ServerNumber,
    ) -> (Move, Option<Promise>) {
        self.recorded.moves += 1;
        let call = self.ids.move_call(data, self.recorded.moves);
        let from = (from, self.place(data, from));
        let key = self.servers.key_at(to);
        if let Some(wanted) = self.wanted.get_mut(&data).filter(|_| to == HERE) {
            wanted.is_moving = true;
            let id = wanted.id;
            // What is here under another id keeps that: this is a copy.
            if from.0 != HERE {
                self.set_place(data, to, id);
            }
            return (Move { data, from, to: (to, id), call, key }, None);
        }
        if self.naming.promised.insert((data, to), Some(from.0)).is_some() {
            return (Move { data, from, to: (to, self.place(data, to)), call, key }, None);
        }
        let id = self.ids.moved(data, self.recorded.moves);
        self.set_place(data, to, id);
        let kind = match self.plan.origin(data) {
            Origin::Input(input) => self.plan.message().inputs[input as usize].kind.clone(),
            Origin::Result(..) => self.kind(data).map(|kind| kind.to_string()).unwrap_or_default(),
        };
        (Move { data, from, to: (to, id), call, key }, Some(Promise { data: id, kind }))
    }

    /// A value has come to a server.
    pub fn has_moved(&mut self, data: DataNumber, (to, id): (ServerNumber, DataId)) {
        self.naming.promised.remove(&(data, to));
        // A late call may have been to make it there meanwhile, under another id.
        self.set_place(data, to, id);
        self.is_delivered(data, (to, id));
    }

    /// A number that the client wants, as a call that puts it at the server.
    pub fn put(&mut self, data: DataNumber) -> Option<Box<Open>> {
        let id = self.wanted.get(&data)?.id;
        let bytes = self.numbers.get(&data)?.clone();
        let kind = self.kind(data)?;
        self.recorded.moves += 1;
        let one = Argument::Inline(1i64.to_ne_bytes().as_slice().into());
        let call = self.ids.put(data, self.recorded.moves);
        let contract = farcall_idl::encode::contract_hash(&kind.interface());
        let arguments = vec![one, Argument::Inline(bytes)];
        let mut open = Open::new(call, kind.to_string(), contract, arguments);
        open.wanted = Some(vec![Argument::Absent, Argument::Data(id)]);
        Some(Box::new(open))
    }

    /// What a result consists of: a number is an array of one.
    pub fn kind(&self, data: DataNumber) -> Option<DataKind> {
        let Origin::Result(call, slot) = self.plan.origin(data) else { return None };
        kind_of(self.plan.interface(call).parameters.get(usize::from(slot))?)
    }

    /// A call has ended; it may be told of again.
    pub fn note(&mut self, call: CallNumber, outcome: &Ended) {
        if matches!(outcome, Ended::Returned(_)) {
            self.returned.insert(call);
        } else {
            self.returned.remove(&call);
            self.failed.insert(call);
        }
    }

    /// Calls that failed, or did not run.
    pub fn failed_calls(&self) -> impl Iterator<Item = CallNumber> {
        self.failed.iter().copied()
    }

    /// How many these are.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    /// Why a call failed, or did not run.
    pub fn failure_of(&self, call: CallNumber) -> Failure {
        let name = |call: CallNumber| self.plan.routine(call).name.as_str();
        let error = match self.transaction.outcome(call) {
            Some(Ended::Failed(failure)) => match self.failures.get(&call) {
                Some(said) => Error::from(said.clone()),
                None => Error::new(failure.kind, "run a transaction", failure.message.clone()),
            },
            Some(Ended::NotRun(first)) => {
                let why = Error::from(self.failure_of(*first));
                let message = format!(
                    "it was not run, since call {} ({}) did not return: {}",
                    first.0,
                    name(*first),
                    why.message()
                );
                Error::new(why.kind(), "run a transaction", message)
            }
            _ => Error::new(ErrorKind::Internal, "run a transaction", "it did not fail"),
        };
        Failure::from(&error.with("call of the transaction", call.0).with("routine", name(call)))
    }
}

/// Values that a call makes, or takes, as a number. Sizes may follow from them, so they travel inside
/// the calls that use them.
fn used_as_numbers(plan: &Plan) -> BTreeSet<DataNumber> {
    let mut found = BTreeSet::new();
    for (call, number) in plan.message().calls.iter().zip(0..) {
        let number = CallNumber(number);
        let parameters = plan.interface(number).parameters.iter().zip(&call.arguments).zip(0..);
        let numbers = parameters.filter(|((parameter, _), _)| parameter.is_plain_scalar());
        for ((_, argument), slot) in numbers {
            found.extend(plan.argument(argument));
            found.extend(plan.result(number, slot));
        }
    }
    found
}

/// What a result of a parameter consists of: a number is an array of one.
pub fn kind_of(parameter: &Parameter) -> Option<DataKind> {
    match parameter.is_plain_scalar() {
        true => DataKind::new(parameter.element, 1, farcall_idl::interface::Order::Row),
        false => DataKind::of_parameter(parameter),
    }
}

/// What is predicted of the calls of a transaction.
pub struct Learned<'a> {
    /// What its numbers mean.
    pub plan: &'a Plan,
    /// Servers that it runs on.
    pub servers: &'a Servers,
    /// How long calls took, by routine and server.
    pub took: &'a BTreeMap<(u32, ServerNumber), Took>,
    /// The time.
    pub now: Instant,
}

impl Costs for Learned<'_> {
    fn run_s(&self, call: CallNumber, server: ServerNumber) -> Option<f64> {
        let routine = self.plan.message().calls[call.0 as usize].routine;
        self.servers.get(server)?.offers.get(&routine)?;
        // A server of which nothing is known is taken to be like the others.
        let own = self.known_s(routine, server);
        Some(own.or_else(|| self.mean_s(routine)).unwrap_or(UNKNOWN_S))
    }

    fn move_s(&self, from: Place, to: ServerNumber, bytes: u64) -> f64 {
        self.servers.move_s(from, to, bytes)
    }

    fn may_come(&self, call: CallNumber) -> bool {
        self.servers.may_come(self.now, self.plan.message().calls[call.0 as usize].routine)
    }
}

impl Learned<'_> {
    /// What was seen here comes before what the metaserver has learned.
    fn known_s(&self, routine: u32, server: ServerNumber) -> Option<f64> {
        let seen = self.took.get(&(routine, server)).and_then(Took::mean);
        let predicted = self.servers.get(server)?.offers.get(&routine).copied();
        seen.or(predicted.filter(|seconds| *seconds > 0.0))
    }

    fn mean_s(&self, routine: u32) -> Option<f64> {
        let known = self.servers.all().filter_map(|(server, _)| self.known_s(routine, server));
        let (count, sum) = known.fold((0u32, 0.0), |(count, sum), one| (count + 1, sum + one));
        (count > 0).then(|| sum / f64::from(count))
    }
}
