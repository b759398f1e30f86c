//! What a study found: a row for each call, and the figures that papers print.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::server::Server;
use super::time::Time;

/// A call that ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Whose.
    pub crowd: String,
    /// Where; nothing: nowhere.
    pub server: Option<String>,
    /// Values of its scalars.
    pub sizes: BTreeMap<String, i64>,
    /// Operations.
    pub operations: f64,
    /// Bytes of arguments and results.
    pub bytes: f64,
    /// Threads that it had.
    pub threads: u32,
    /// When it was made: the paper's `T_submit`.
    pub submitted: Time,
    /// When its arguments were at the server: `T_enqueue`.
    pub received: Time,
    /// When it began: `T_dequeue`.
    pub begun: Time,
    /// When it had run.
    pub ended: Time,
    /// When its results were at the client: `T_complete`.
    pub completed: Time,
    /// What was predicted from its making to its results.
    pub predicted_s: Option<f64>,
}

impl Ran {
    /// A call that no server could run.
    pub fn failed(crowd: String, sizes: BTreeMap<String, i64>, submitted: Time, now: Time) -> Ran {
        Ran {
            crowd,
            server: None,
            sizes,
            operations: 0.0,
            bytes: 0.0,
            threads: 0,
            submitted,
            received: now,
            begun: now,
            ended: now,
            completed: now,
            predicted_s: None,
        }
    }

    /// From its making to its results, in seconds.
    pub fn response_s(&self) -> f64 {
        self.completed.since(self.submitted)
    }

    /// What the caller sees, in million operations a second.
    pub fn mflops(&self) -> f64 {
        self.operations / self.response_s().max(1e-12) / 1e6
    }

    /// What went over the network, in megabytes a second while it went.
    pub fn mb_per_s(&self) -> f64 {
        let moving = self.received.since(self.submitted) + self.completed.since(self.ended);
        self.bytes / moving.max(1e-12) / 1e6
    }

    /// From the arguments being there to the run, in seconds.
    pub fn wait_s(&self) -> f64 {
        self.begun.since(self.received)
    }
}

/// What a server did.
#[derive(Clone, Debug, Default)]
pub struct ServerUse {
    /// Calls that ran there.
    pub calls: u64,
    /// Part of the processors' time that calls had.
    pub utilization: f64,
    /// Calls that ran or waited, on average.
    pub load: f64,
}

/// Of several values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The smallest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    /// Of these.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut spread = Spread { max: f64::MIN, min: f64::MAX, mean: 0.0 };
        let mut count = 0.0;
        for value in values {
            spread.max = spread.max.max(value);
            spread.min = spread.min.min(value);
            spread.mean += value;
            count += 1.0;
        }
        if count == 0.0 {
            return Spread::default();
        }
        Spread { mean: spread.mean / count, ..spread }
    }
}

/// All of a run.
#[derive(Clone, Debug)]
pub struct Results {
    /// The calls in the order of their ends, without those that warmed up.
    pub ran: Vec<Ran>,
    /// Calls that no server could run.
    pub failed: u64,
    /// By name.
    pub servers: BTreeMap<String, ServerUse>,
    /// How long it took, in virtual seconds.
    pub seconds: f64,
    ended: u64,
    warm_up: u64,
}

impl Results {
    /// Nothing yet.
    pub fn new(plan: &Plan) -> Results {
        Results {
            ran: Vec::new(),
            failed: 0,
            servers: BTreeMap::new(),
            seconds: 0.0,
            ended: 0,
            warm_up: plan.warm_up,
        }
    }

    /// A call ended.
    pub fn note(&mut self, ran: Ran) {
        self.ended += 1;
        let Some(server) = &ran.server else {
            self.failed += 1;
            return;
        };
        self.servers.entry(server.clone()).or_default().calls += 1;
        if self.ended > self.warm_up {
            self.ran.push(ran);
        }
    }

    /// Calls that have ended.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// The run ended.
    pub fn end(&mut self, now: Time, servers: &[Server]) {
        self.seconds = now.seconds();
        for server in servers {
            let of_server = self.servers.entry(server.name.clone()).or_default();
            let all = self.seconds.max(1e-12);
            of_server.utilization = server.used_s / (all * f64::from(server.processors()));
            of_server.load = server.load_s / all;
        }
    }

    /// Of all calls.
    pub fn spread(&self, value: impl Fn(&Ran) -> f64) -> Spread {
        Spread::of(self.ran.iter().map(value))
    }
}
