//! What is to be run, checked as a whole before anything runs.

use farcall_base::{Error, ErrorKind, Result};

use crate::{CallNumber, DataNumber};

/// Bounds of one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls.
    pub calls_max: usize,
    /// Values.
    pub data_max: usize,
    /// Uses of values, results and orders of all calls together.
    pub edges_max: usize,
    /// Arguments of all calls of a message together, those that take nothing included.
    pub arguments_max: usize,
    /// Calls that a server has at a time.
    pub open_max: usize,
    /// How often one call is opened in vain at most.
    pub attempts_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            calls_max: 100_000,
            data_max: 400_000,
            edges_max: 1_000_000,
            arguments_max: 2_000_000,
            open_max: 64,
            attempts_max: 16,
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataPlan {
    /// Its size, as far as it is known.
    pub bytes: u64,
    /// Whether the program wants it at the end.
    pub wanted: bool,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallPlan {
    /// Values that it reads.
    pub uses: Vec<DataNumber>,
    /// Values that it makes: of an INOUT array the new one.
    pub makes: Vec<DataNumber>,
    /// Calls that must have returned before, whose data it does not use.
    pub after: Vec<CallNumber>,
    /// Whether it may run twice (`Idempotent`).
    pub may_run_again: bool,
}

/// A graph without mistakes: every value is given or made by one call, and no call waits for itself.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) data: Vec<DataPlan>,
    pub(crate) calls: Vec<CallPlan>,
    /// Who makes a value; nobody: it is given.
    pub(crate) makers: Vec<Option<CallNumber>>,
    /// Who uses it, each call once.
    pub(crate) users: Vec<Vec<CallNumber>>,
    /// Who waits for a call without its data.
    pub(crate) later: Vec<Vec<CallNumber>>,
    /// All calls, each behind those that it waits for.
    pub(crate) order: Vec<CallNumber>,
}

impl Graph {
    /// Checks a graph.
    ///
    /// # Errors
    /// `LimitExceeded`; `InvalidArgument` for a value or call that is not there, a value that two
    /// calls make, and calls that wait for one another: with the number of the first such call.
    pub fn new(data: Vec<DataPlan>, mut calls: Vec<CallPlan>, limits: &Limits) -> Result<Graph> {
        check_size("calls", calls.len(), limits.calls_max)?;
        check_size("values", data.len(), limits.data_max)?;
        let edges = |call: &CallPlan| call.uses.len() + call.makes.len() + call.after.len();
        check_size("edges", calls.iter().map(edges).sum(), limits.edges_max)?;
        for call in &mut calls {
            unique(&mut call.uses);
            unique(&mut call.after);
        }
        let mut makers = vec![None; data.len()];
        let mut users = vec![Vec::new(); data.len()];
        let mut later = vec![Vec::new(); calls.len()];
        for (call, number) in calls.iter().zip(0..).map(|(call, at)| (call, CallNumber(at))) {
            for one in &call.uses {
                let users = users.get_mut(one.0 as usize).ok_or_else(|| no_value(number, *one))?;
                users.push(number);
            }
            for one in &call.makes {
                let maker = makers.get_mut(one.0 as usize).ok_or_else(|| no_value(number, *one))?;
                if maker.replace(number).is_some() {
                    return Err(wrong(number, "a value that another call makes, too"));
                }
            }
            for before in &call.after {
                let later = later.get_mut(before.0 as usize);
                later
                    .ok_or_else(|| wrong(number, "it waits for a call that is not there"))?
                    .push(number);
            }
        }
        let mut graph = Graph { data, calls, makers, users, later, order: Vec::new() };
        graph.order = graph.sorted()?;
        Ok(graph)
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// How many values there are.
    pub fn values(&self) -> usize {
        self.data.len()
    }

    /// One of the calls.
    pub fn call(&self, call: CallNumber) -> &CallPlan {
        &self.calls[call.0 as usize]
    }

    /// One of the values.
    pub fn value(&self, data: DataNumber) -> DataPlan {
        self.data[data.0 as usize]
    }

    /// The call that makes a value; none: it is given.
    pub fn maker(&self, data: DataNumber) -> Option<CallNumber> {
        self.makers[data.0 as usize]
    }

    /// Calls that one waits for, some of them twice.
    fn before(&self, call: CallNumber) -> impl Iterator<Item = CallNumber> {
        let call = &self.calls[call.0 as usize];
        let makers = call.uses.iter().filter_map(|one| self.makers[one.0 as usize]);
        makers.chain(call.after.iter().copied())
    }

    /// Calls that wait for one, some of them twice.
    pub(crate) fn behind(&self, call: CallNumber) -> impl Iterator<Item = CallNumber> {
        let made = self.calls[call.0 as usize].makes.iter();
        let users = made.flat_map(|one| self.users[one.0 as usize].iter().copied());
        users.chain(self.later[call.0 as usize].iter().copied())
    }

    /// Kahn's algorithm (1962).
    fn sorted(&self) -> Result<Vec<CallNumber>> {
        let all = || (0..self.calls.len() as u32).map(CallNumber);
        let mut missing: Vec<usize> = all().map(|call| self.before(call).count()).collect();
        let mut order: Vec<CallNumber> =
            all().filter(|call| missing[call.0 as usize] == 0).collect();
        let mut next = 0;
        while let Some(call) = order.get(next).copied() {
            next += 1;
            for behind in self.behind(call) {
                let missing = &mut missing[behind.0 as usize];
                *missing -= 1;
                if *missing == 0 {
                    order.push(behind);
                }
            }
        }
        match all().find(|call| missing[call.0 as usize] > 0) {
            Some(call) => Err(wrong(call, "it waits for its own result, over others or at once")),
            None => Ok(order),
        }
    }
}

fn unique<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

pub(crate) fn check_size(what: &'static str, size: usize, max: usize) -> Result<()> {
    if size <= max {
        return Ok(());
    }
    let message = format!("the transaction has {size} {what}");
    Err(Error::new(ErrorKind::LimitExceeded, "take a transaction", message)
        .with("limit", max)
        .fix("split it into several"))
}

fn no_value(call: CallNumber, data: DataNumber) -> Error {
    wrong(call, &format!("it names value {}, which is not there", data.0))
}

fn wrong(call: CallNumber, message: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "take a transaction", message.to_owned())
        .with("call", call.0)
}
