//! Transactions over several servers, of which any is killed, or stopped and then killed, while they
//! run. Each call returns the right result or has its reported failure, none runs twice that may
//! not, and nothing stays.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use farcall_base::{Random, SeededRandom};
use farcall_client::{
    Array, Begin, CallOptions, Client, Data, Result, TimedCall, TimelineState, Transaction,
};

use crate::load::BOUND;
use crate::several::{self, METASERVERS, NODES, World};

/// Transactions at a time.
const TRANSACTIONS: usize = 4;
/// Calls of a group, and groups of which each uses what the one before made. A call that failed takes
/// no more with it than what is behind it in its chain.
pub const GROUP: usize = 4;
pub const CHAIN: usize = 5;
/// Runs between two strikes, on average, are this part of all: what is lost is to be made again
/// before more is lost.
const STRIKES: usize = 10;
/// Parameters that are results: of `run` and `again`, and of `add`.
const X: u16 = 4;
const Z: u16 = 6;

/// One group in six has a call that may not run twice.
fn may_run_twice(number: usize) -> bool {
    number % GROUP != 1 || !(number / GROUP).is_multiple_of(6)
}

/// What its calls are given, and how long they take.
#[derive(Clone, Copy)]
pub struct Load {
    /// Elements of what one chain in eight is given; others have 300.
    pub large: usize,
    /// The longest that a call takes: half of them take nothing.
    pub pause_us: u64,
    /// For how long it is kept, if it is.
    pub keep: Option<Duration>,
}

impl Load {
    /// What a group is given; some of it is large.
    fn given(self, group: usize) -> Vec<f64> {
        let count = if (group / CHAIN).is_multiple_of(8) { self.large } else { 300 };
        (0..count).map(|index| (group % 100 + index) as f64).collect()
    }

    /// What a group makes: twice the sum of both doubles.
    fn expected(self, group: usize) -> Vec<f64> {
        let first = match group % CHAIN {
            0 => self.given(group),
            _ => self.expected(group - 1),
        };
        first.iter().zip(self.given(group)).map(|(x, y)| 2.0 * (2.0 * x + 2.0 * y)).collect()
    }
}

/// One transaction, and what it makes.
pub struct Written {
    pub transaction: Transaction,
    /// The number of its first call, of all that there are.
    first: usize,
    /// What each group makes.
    pub results: Vec<Data>,
}

pub struct Writer<'a> {
    pub marks: String,
    pub client: &'a Client,
    pub random: SeededRandom,
    pub load: Load,
}

impl Writer<'_> {
    /// Writes these groups down, and begins them.
    pub fn begin(&mut self, groups: std::ops::Range<usize>) -> Result<Written> {
        let transaction = Transaction::new(self.client)?;
        let first = groups.start * GROUP;
        let mut results: Vec<Data> = Vec::new();
        for group in groups {
            let before = results.last().filter(|_| !group.is_multiple_of(CHAIN)).cloned();
            results.push(self.group(&transaction, group, before)?);
        }
        transaction.begin(&Begin { timeout: Some(BOUND), keep: self.load.keep })?;
        Ok(Written { transaction, first, results })
    }

    fn group(&mut self, graph: &Transaction, group: usize, before: Option<Data>) -> Result<Data> {
        let own = self.load.given(group);
        let left = match &before {
            Some(data) => self.double(graph, group * GROUP, data.into())?,
            None => self.double(graph, group * GROUP, Array::vector(&own).into())?,
        };
        let right = self.double(graph, group * GROUP + 1, Array::vector(&own).into())?;
        let pause_us = self.pause_us();
        let head = Self::head(group * GROUP + 2, pause_us, &self.marks);
        let both = [("x", (&left).into()), ("y", (&right).into())];
        let sum = graph
            .call_named(&self.client.routine("faults/add")?, head.into_iter().chain(both))
            .and_then(|call| graph.result(call, Z))?;
        self.double(graph, group * GROUP + 3, (&sum).into())
    }

    fn double(
        &mut self,
        graph: &Transaction,
        number: usize,
        x: farcall_client::Argument<'_>,
    ) -> Result<Data> {
        let name = if may_run_twice(number) { "faults/again" } else { "faults/run" };
        let pause_us = self.pause_us();
        let head = Self::head(number, pause_us, &self.marks);
        let call =
            graph.call_named(&self.client.routine(name)?, head.into_iter().chain([("x", x)]))?;
        graph.result(call, X)
    }

    /// The arguments that all have.
    fn head(
        number: usize,
        pause_us: i64,
        marks: &str,
    ) -> [(&'static str, farcall_client::Argument<'_>); 3] {
        [("number", (number as i64).into()), ("pause_us", pause_us.into()), ("file", marks.into())]
    }

    /// Some calls take a while, so that servers are killed under them.
    fn pause_us(&mut self) -> i64 {
        let is_long = self.random.next().is_multiple_of(2);
        if is_long { (self.random.next() % self.load.pause_us) as i64 } else { 0 }
    }
}

pub struct Verdict {
    load: Load,
    pub returned: usize,
    pub failed: usize,
    failures: BTreeMap<String, usize>,
    pub wrong: Vec<String>,
}

impl Verdict {
    pub fn new(load: Load) -> Verdict {
        let failures = BTreeMap::new();
        Verdict { load, returned: 0, failed: 0, failures, wrong: Vec::new() }
    }

    fn judge(&mut self, written: &Written, marks: &BTreeMap<usize, usize>) {
        let first = written.first;
        let timeline = match written.transaction.wait(Some(4 * BOUND)) {
            Ok(Some(end)) => {
                for failure in end.failures {
                    let why = farcall_client::Error::from(failure.failure).to_string();
                    let why = why.split([';', '(']).next().unwrap_or_default().trim().to_owned();
                    *self.failures.entry(why).or_insert(0) += 1;
                }
                written.transaction.timeline()
            }
            Ok(None) => return self.wrong.push(format!("the transaction of call {first} hangs")),
            Err(error) => Err(error),
        };
        let timeline = match timeline {
            Ok(timeline) => timeline,
            Err(error) => return self.wrong.push(format!("no timeline: {error}")),
        };
        self.judge_all((first, &timeline), &written.results, marks);
    }

    /// What became of calls, the first of which has this number, and of what their groups make.
    pub fn judge_all(
        &mut self,
        (first, timeline): (usize, &[TimedCall]),
        results: &[Data],
        marks: &BTreeMap<usize, usize>,
    ) {
        for (number, call) in (first..).zip(timeline) {
            self.judge_call(number, call, marks.get(&number).copied().unwrap_or(0));
        }
        for (group, data) in (first / GROUP..).zip(results) {
            let last = &timeline[(group + 1) * GROUP - 1 - first];
            self.judge_result(group, last.state == TimelineState::Returned, data);
        }
    }

    fn judge_call(&mut self, number: usize, call: &TimedCall, ran: usize) {
        if ran > 1 && !may_run_twice(number) {
            self.wrong.push(format!("call {number} ran {ran} times"));
        }
        match call.state {
            TimelineState::Returned if ran == 0 => {
                self.wrong.push(format!("call {number} returned and never ran"));
            }
            TimelineState::Returned => self.returned += 1,
            TimelineState::Failed | TimelineState::NotRun => self.failed += 1,
            other => self.wrong.push(format!("call {number} is {other:?} at the end")),
        }
    }

    fn judge_result(&mut self, group: usize, returned: bool, data: &Data) {
        let options = CallOptions { timeout: Some(BOUND), ..CallOptions::default() };
        let fetched = data.fetch(&options).and_then(|told| told.array::<f64>("value"));
        match fetched {
            Ok(values) if returned && values == self.load.expected(group) => {}
            Err(_) if !returned => {}
            Ok(_) => self.wrong.push(format!("group {group} has a wrong result")),
            Err(error) => self.wrong.push(format!("group {group} returned, and has none: {error}")),
        }
    }
}

/// Strikes again and again, each time when some more calls have run; how often it hit.
fn strike(world: &World, is_over: &AtomicBool, calls: usize, mut random: SeededRandom) -> usize {
    let between = (calls / STRIKES) as u64;
    let runs = || world.marks().values().sum::<usize>() as u64;
    let mut hits = 0;
    let mut next = between / 2;
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(2_000 + random.next() % 2_000));
        if runs() < next {
            continue;
        }
        // The first metaserver runs the transactions, and they are not kept.
        let victim = METASERVERS - 1 + (random.next() % (NODES + 1 - METASERVERS) as u64) as usize;
        world.kill_node(victim, random.next().is_multiple_of(2));
        hits += 1;
        next = runs() + 1 + random.next() % (2 * between);
    }
    hits
}

/// Runs so many calls in transactions while servers are killed.
pub fn hold(calls: usize, seed: u64) {
    let world = World::new(calls);
    world.settle();
    let client = world.client(0).unwrap();
    let groups = calls / GROUP / TRANSACTIONS / CHAIN * CHAIN;
    let is_over = AtomicBool::new(false);
    let load = Load { large: 20_000, pause_us: 20_000, keep: None };
    let mut verdict = Verdict::new(load);
    let hits = std::thread::scope(|scope| {
        let strikes = scope.spawn(|| strike(&world, &is_over, calls, SeededRandom::new(seed)));
        let random = SeededRandom::new(seed + 1);
        let marks = world.marks_file().to_str().unwrap().to_owned();
        let mut writer = Writer { marks, client: &client, random, load };
        let written: Vec<Written> = (0..TRANSACTIONS)
            .map(|index| writer.begin(index * groups..(index + 1) * groups).unwrap())
            .collect();
        for written in &written {
            let _ = written.transaction.wait(Some(4 * BOUND));
        }
        is_over.store(true, Ordering::Relaxed);
        let hits = strikes.join().unwrap();
        let marks = world.marks();
        written.iter().for_each(|written| verdict.judge(written, &marks));
        hits
    });
    look_for_data(&world, &client, NODES, &mut verdict);
    drop(client);
    verdict.wrong.extend(several::left_behind(&world));
    if hits == 0 {
        verdict.wrong.push("nobody was killed: the test tests nothing".into());
    }
    let all = TRANSACTIONS * groups * GROUP;
    if verdict.returned * 4 < all {
        verdict.wrong.push(format!("only {} of {all} calls returned", verdict.returned));
    }
    let Verdict { returned, failed, failures, wrong, .. } = &verdict;
    let sum = format!(
        "transactions: {hits} killed; of {all} calls {returned} returned, {failed} failed; \
         {} wrong",
        wrong.len()
    );
    println!("{sum}");
    failures.iter().for_each(|(why, times)| println!("  {times} × {why}"));
    let shown: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "FARCALL_SOAK_SEED={seed} FARCALL_SOAK_CALLS={}: {sum}\n  {}",
        calls / 2,
        shown.join("\n  ")
    );
}

/// The transactions are gone by now, and so is their data.
pub fn look_for_data(world: &World, client: &Client, nodes: usize, verdict: &mut Verdict) {
    let transactions = || client.transactions().map_or(usize::MAX, |all| all.len());
    if !farcall_tests::eventually(|| transactions() == 0) {
        verdict.wrong.push(format!("{} transactions are left", transactions()));
    }
    for node in 0..nodes {
        let data = || {
            let client = world.client(node).and_then(|client| client.data());
            client.map_or(usize::MAX, |all| all.len())
        };
        if !farcall_tests::eventually(|| data() == 0) {
            verdict.wrong.push(format!("node {node} has {} data", data()));
        }
    }
}
