//! A study as data: `sim/studies/*.toml`.

use std::collections::BTreeMap;

use farcall_base::{Error, ErrorKind, Result, nearest};
use serde::Deserialize;

/// Sites, links, servers, clients and faults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is about, for people.
    #[serde(default)]
    pub about: String,
    /// Seed of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// The run ends when so many calls have ended.
    pub calls: u64,
    /// Of them, so many are left out of the results, since the run begins empty.
    #[serde(default)]
    pub warm_up: u64,
    /// Placement policy; calls whose client names a server are not placed.
    #[serde(default = "finish_first")]
    pub placement: String,
    /// Seconds between two reports of a server whose state changes.
    #[serde(default = "one_second")]
    pub report_s: f64,
    /// What can be called, by name.
    pub routine: BTreeMap<String, RoutinePlan>,
    /// Networks between sites, by name.
    #[serde(default)]
    pub link: BTreeMap<String, LinkPlan>,
    /// Which links lead from one site to another; the same ones lead back.
    #[serde(default)]
    pub route: Vec<RoutePlan>,
    /// Servers, by name.
    pub server: BTreeMap<String, ServerPlan>,
    /// Clients, by name.
    pub client: BTreeMap<String, ClientPlan>,
    /// What goes wrong.
    #[serde(default)]
    pub fault: Vec<FaultPlan>,
}

fn one() -> u64 {
    1
}

fn one_second() -> f64 {
    1.0
}

fn finish_first() -> String {
    "finish-first".to_owned()
}

/// A routine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutinePlan {
    /// Its interface, in the interface language: sizes, `Complexity`, `Processors`.
    pub interface: String,
    /// Seconds that each run needs beside its operations.
    #[serde(default)]
    pub setup_s: f64,
    /// Seconds for each byte of arguments and results.
    #[serde(default)]
    pub byte_s: f64,
}

/// A link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// Megabytes (10^6) a second, shared by all flows of one direction.
    pub mb_per_s: f64,
    /// Time that one way takes, in milliseconds.
    #[serde(default)]
    pub latency_ms: f64,
    /// Megabytes a second that one flow has at most.
    pub flow_mb_per_s: Option<f64>,
}

/// A way between two sites.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutePlan {
    /// The two sites; `*` as the second: all others.
    pub between: [String; 2],
    /// Names of links.
    pub links: Vec<String>,
}

/// Servers of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// Where it is.
    pub site: String,
    /// How many there are; `NAME-1`, `NAME-2`, … are their names where there are several, and
    /// `SITE-1`, … their sites.
    #[serde(default = "one_u32")]
    pub count: u32,
    /// Processors.
    #[serde(default = "one_u32")]
    pub processors: u32,
    /// Million operations a second of one processor.
    pub mflops: f64,
    /// The same of all processors that work on one call; without it, as many as one processor has.
    pub mflops_all: Option<f64>,
    /// `share`: all calls run side by side; `co-schedule`: they take turns, in each of which all
    /// threads of a call run together; else the name of a queue policy.
    #[serde(default = "first_come")]
    pub queue: String,
    /// `one`, `all` or `chosen`: threads of a call that does not say how many processors it takes.
    #[serde(default = "one_thread")]
    pub threads: String,
}

fn one_u32() -> u32 {
    1
}

fn first_come() -> String {
    "first-come".to_owned()
}

fn one_thread() -> String {
    "one".to_owned()
}

/// Clients of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// Where they are.
    pub site: String,
    /// How many.
    #[serde(default = "one_u32")]
    pub count: u32,
    /// What they call.
    pub routine: String,
    /// Values of the routine's scalars.
    #[serde(default)]
    pub sizes: BTreeMap<String, Draw>,
    /// Every so many seconds a client that waits for nothing calls with a probability (Ninf paper,
    /// section 4.1).
    #[serde(default)]
    pub interval_s: f64,
    /// The probability.
    #[serde(default = "certain")]
    pub probability: f64,
    /// In place of the interval: so many calls a second come at random from all clients together,
    /// whether others have ended or not (a Poisson process).
    pub calls_per_s: Option<f64>,
    /// In place of the operations: seconds that a run takes on one processor, on average,
    /// exponentially distributed.
    pub exponential_s: Option<f64>,
    /// Processors of a call, where the routine does not say.
    pub processors: Option<Draw>,
    /// The server that they name; without it calls are placed.
    pub at: Option<String>,
    /// Seconds that a call has.
    pub deadline_s: Option<f64>,
}

fn certain() -> f64 {
    1.0
}

/// A whole number, or one that is drawn for each call.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Draw {
    /// Always the same.
    Fixed(i64),
    /// Uniformly from the first to the last.
    Uniform([i64; 2]),
}

/// What goes wrong, and when.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// Seconds since the beginning.
    pub at_s: f64,
    /// The link whose rate changes.
    pub link: Option<String>,
    /// Its rate from then on.
    pub mb_per_s: Option<f64>,
    /// The server that dies, or comes back.
    pub server: Option<String>,
    /// Whether it comes back.
    #[serde(default)]
    pub back: bool,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// `InvalidSource` with the line and, for an unknown key, the nearest one that exists.
    pub fn read(file: &str, text: &str) -> Result<Plan> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let message = error.message();
            let wrong = Error::new(ErrorKind::InvalidSource, "read a plan", message)
                .with("file", file)
                .with("line", line.map_or_else(|| "?".to_owned(), |line| line.to_string()));
            match did_you_mean(message) {
                Some(key) => wrong.fix(format!("did you mean {key}?")),
                None => wrong.fix("all keys stand in sim/src/study/plan.rs"),
            }
        })
    }
}

/// The nearest of the keys that the message lists: "unknown field `a`, expected one of `b`, `c`".
fn did_you_mean(message: &str) -> Option<String> {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (wrong, keys) = quoted.split_first()?;
    let found = nearest(wrong, keys.iter().copied(), 1);
    found.first().map(|key| (*key).to_owned())
}
