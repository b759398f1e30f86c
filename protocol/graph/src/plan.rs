//! Makes a graph from a message, and knows what its numbers mean in it. A message with a mistake is
//! refused as a whole, before anything runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use farcall_base::{DataId, Error, ErrorKind, Result};
use farcall_idl::data::DataKind;
use farcall_idl::interface::Interface;

use crate::check::{Checker, Routine, Value, refused};
use crate::graph::check_size;
use crate::{
    Argument, CallNumber, CallPlan, DataNumber, DataPlan, Graph, Input, Limits, Message,
    RoutineName,
};

/// A checked message with its graph.
///
/// The inputs come first among the values, in their order; behind them come the results that a call
/// uses or the client wants, in the order of calls and parameters. Nobody needs to keep other results.
#[derive(Debug)]
pub struct Plan {
    message: Message,
    graph: Graph,
    interfaces: Vec<Arc<Interface>>,
    /// Call and parameter of each value that a call makes.
    results: Vec<(u32, u16)>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The client gives it: the number of the input.
    Input(u32),
    /// A call makes it: the number of the parameter.
    Result(CallNumber, u16),
}

impl Plan {
    /// Checks a message. `find` knows the interface of a routine, and refuses one that is unknown or
    /// has another contract.
    ///
    /// # Errors
    /// What `find` says; `LimitExceeded`; else `InvalidArgument` with the call's number, its routine
    /// and the parameter.
    pub fn new(
        message: Message,
        limits: &Limits,
        find: &dyn Fn(&RoutineName) -> Result<Arc<Interface>>,
    ) -> Result<Plan> {
        check_size("calls", message.calls.len(), limits.calls_max)?;
        check_size("inputs", message.inputs.len(), limits.data_max)?;
        check_size("wanted results", message.results.len(), limits.data_max)?;
        let arguments = message.calls.iter().map(|call| call.arguments.len());
        check_size("arguments", arguments.sum(), limits.arguments_max)?;

        let routines = routines(&message.routines, find)?;
        let inputs = message.inputs.iter().zip(0..).map(|(input, number)| known(input, number));
        let inputs: Vec<Value> = inputs.collect::<Result<_>>()?;
        check_names(&message)?;
        let mut checker = Checker::new(&routines, &inputs);
        for call in &message.calls {
            checker.call(call)?;
        }
        let wanted = message.results.iter().map(|wanted| (wanted.call, wanted.slot));
        let wanted: BTreeSet<(u32, u16)> = wanted.collect();
        for (call, slot) in &wanted {
            checker.wanted(*call, *slot)?;
        }
        let results: Vec<(u32, u16)> = checker.used.union(&wanted).copied().collect();
        let made = results.iter().map(|(call, slot)| DataPlan {
            bytes: checker.result(*call, *slot).bytes,
            wanted: wanted.contains(&(*call, *slot)),
        });
        let given = inputs.iter().map(|input| DataPlan { bytes: input.bytes, wanted: false });
        let data: Vec<DataPlan> = given.chain(made).collect();
        let interfaces: Vec<Arc<Interface>> =
            routines.into_iter().map(|routine| routine.interface).collect();
        let calls = call_plans(&message, &interfaces, &results);
        let graph = Graph::new(data, calls, limits)?;
        Ok(Plan { message, graph, interfaces, results })
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The routine of a call.
    pub fn routine(&self, call: CallNumber) -> &RoutineName {
        &self.message.routines[self.routine_index(call)]
    }

    /// The interface of a routine, by its index in the message.
    pub fn interface_of(&self, routine: u32) -> Option<&Arc<Interface>> {
        self.interfaces.get(routine as usize)
    }

    /// The interface of a call's routine.
    pub fn interface(&self, call: CallNumber) -> &Arc<Interface> {
        &self.interfaces[self.routine_index(call)]
    }

    fn routine_index(&self, call: CallNumber) -> usize {
        self.message.calls[call.0 as usize].routine as usize
    }

    /// The value that an argument names.
    pub fn argument(&self, argument: &Argument) -> Option<DataNumber> {
        match argument {
            Argument::Absent | Argument::Null | Argument::Inline(_) => None,
            Argument::Input(number) => Some(DataNumber(*number)),
            Argument::Result(call, slot) => self.result(CallNumber(*call), *slot),
        }
    }

    /// The value that a call makes for a parameter; `None` if nobody needs it.
    pub fn result(&self, call: CallNumber, slot: u16) -> Option<DataNumber> {
        number_of(&self.results, self.message.inputs.len(), call.0, slot)
    }

    /// Where a value comes from.
    pub fn origin(&self, data: DataNumber) -> Origin {
        match (data.0 as usize).checked_sub(self.message.inputs.len()) {
            None => Origin::Input(data.0),
            Some(at) => Origin::Result(CallNumber(self.results[at].0), self.results[at].1),
        }
    }

    /// The id that the client gave an input.
    pub fn input_name(&self, data: DataNumber) -> Option<DataId> {
        self.message.inputs.get(data.0 as usize).map(|input| input.name)
    }
}

fn number_of(results: &[(u32, u16)], inputs: usize, call: u32, slot: u16) -> Option<DataNumber> {
    let at = results.binary_search(&(call, slot)).ok()?;
    Some(DataNumber((inputs + at) as u32))
}

fn routines(
    names: &[RoutineName],
    find: &dyn Fn(&RoutineName) -> Result<Arc<Interface>>,
) -> Result<Vec<Routine>> {
    let mut seen = BTreeSet::new();
    let mut routines = Vec::new();
    for name in names {
        if !seen.insert(&name.name) {
            return Err(refused("a routine is listed twice")
                .with("routine", &name.name)
                .fix("list each routine once, and name it by its index"));
        }
        let found = find(name).map_err(|error| error.with("routine", &name.name))?;
        routines.push(Routine::new(found));
    }
    Ok(routines)
}

/// The type and size of an input.
fn known(input: &Input, number: usize) -> Result<Value> {
    let wrong = |message: &str| {
        Error::new(ErrorKind::InvalidArgument, "take a transaction", message)
            .with("input", number)
            .with("type", &input.kind)
    };
    let kind = DataKind::of_routine(&input.kind).ok_or_else(|| {
        wrong("the type of an input is unknown").fix("write it as data:double:2:row")
    })?;
    if input.extents.len() != kind.rank {
        return Err(wrong("an input has more or fewer extents than dimensions")
            .with("extents", input.extents.len())
            .fix("pass one extent for each dimension"));
    }
    let bytes = kind.layout(&input.extents).full_bytes;
    if bytes > isize::MAX as u64 {
        return Err(wrong("an input is larger than any memory").fix("check its extents"));
    }
    Ok(Value::array(kind, input.extents.clone(), bytes))
}

/// One id names one input or one result, and one result has one id.
fn check_names(message: &Message) -> Result<()> {
    let mut seen = BTreeSet::new();
    let inputs = message.inputs.iter().map(|input| input.name);
    let results = message.results.iter().map(|wanted| wanted.name);
    for name in inputs.chain(results) {
        if !seen.insert(name) {
            return Err(refused("two inputs or results have one id")
                .with("id", name)
                .fix("choose a new id at random for each input and each result"));
        }
    }
    let mut wanted = BTreeSet::new();
    match message.results.iter().find(|one| !wanted.insert((one.call, one.slot))) {
        None => Ok(()),
        Some(twice) => Err(refused("one result is wanted twice")
            .with("call", twice.call)
            .with("parameter", twice.slot)
            .fix("ask for it once, under one id")),
    }
}

fn call_plans(
    message: &Message,
    interfaces: &[Arc<Interface>],
    results: &[(u32, u16)],
) -> Vec<CallPlan> {
    let inputs = message.inputs.len();
    let mut makes = vec![Vec::new(); message.calls.len()];
    for ((call, _), number) in results.iter().zip(inputs as u32..) {
        makes[*call as usize].push(DataNumber(number));
    }
    let value = |argument: &Argument| match argument {
        Argument::Input(number) => Some(DataNumber(*number)),
        Argument::Result(call, slot) => number_of(results, inputs, *call, *slot),
        Argument::Absent | Argument::Null | Argument::Inline(_) => None,
    };
    let plan = |(call, makes): (&crate::CallMessage, Vec<DataNumber>)| CallPlan {
        uses: call.arguments.iter().filter_map(value).collect(),
        makes,
        after: call.after.iter().copied().map(CallNumber).collect(),
        may_run_again: interfaces[call.routine as usize].idempotent,
    };
    message.calls.iter().zip(makes).map(plan).collect()
}
