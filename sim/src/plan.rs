//! An experiment as data: `sim/plans/*.toml`.

mod several;

use std::time::Duration;

use farcall_base::{Bytes, Error, ErrorKind, Result};
use farcall_link::QUEUE_BYTES;
use farcall_rpc_server::state::{KeepLimits, Limits, Records};
use farcall_transport_simulated::LinkPlan;
use farcall_wire::HelloLimits;
use serde::Deserialize;

pub use several::Several;

/// What happens in a world. Chances are from 0 to 1; times are virtual.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Seed of the first run.
    pub seed: u64,
    /// Runs, each with the next seed.
    pub seeds: u64,
    /// Time from a client to the server, in microseconds.
    pub delay_us: u64,
    /// Bytes per second between a client and the server; 0 means at once.
    pub rate_bytes_per_s: u64,
    /// Chance that a segment is lost and sent again.
    pub loss: f64,
    /// Bytes of frames that wait at either end before it makes more.
    pub queue_bytes: usize,
    /// Clients.
    pub clients: usize,
    /// Calls of each.
    pub calls: usize,
    /// Longest time between a client's calls, in microseconds.
    pub interval_us: u64,
    /// Most elements of a call's array.
    pub elements_max: u64,
    /// Longest run of a routine, in microseconds.
    pub run_us: u64,
    /// Longest start of an executable, in microseconds.
    pub start_us: u64,
    /// Time that each call has, in microseconds; 0 for no end.
    pub timeout_us: u64,
    /// Chance that a call is cancelled within `run_us`.
    pub cancel: f64,
    /// Chance that a routine crashes.
    pub crash: f64,
    /// Chance that a routine calls `exit`.
    pub exit: f64,
    /// Chance that a routine never returns.
    pub hang: f64,
    /// Chance that an executable cannot be started.
    pub start_failure: f64,
    /// Chance that an executable crashes while it loads.
    pub load_crash: f64,
    /// Chance that a client ends in the middle of its work.
    pub client_crash: f64,
    /// Chance that a client's connection is reset in the middle of its work.
    pub reset: f64,
    /// Chance that a call goes on without the client that made it, and another one asks for its
    /// outcome.
    pub kept: f64,
    /// For how long a client's calls wait for another connection when it loses one, in
    /// microseconds; 0: they end with it.
    pub keep_us: u64,
    /// Chance that a client stands still in the middle of its work, for twice as long as the server
    /// waits for it.
    pub pause: f64,
    /// Modules among which the clients choose.
    pub modules: usize,
    /// The server's limits of the same name.
    pub executables_max: usize,
    /// Calls at once.
    pub calls_max: usize,
    /// Time that an idle executable stays for its module while another module has one and wants
    /// more, in microseconds.
    pub executable_idle_us: u64,
    /// Time for which a client may stand still, in microseconds.
    pub stall_us: u64,
    /// Most executables that one run may start: more would be modules that end each other's.
    pub starts_max: usize,
    /// Executables that somebody kills in the middle of their work, for each client at most so many.
    pub killed: usize,
    /// Calls that call functions of their clients.
    pub callbacks: Callbacks,
    /// Objects, and calls on them.
    pub objects: Objects,
    /// Calls whose clients want to see what the routine prints.
    pub output: Output,
    /// Several servers, among which metaservers place calls.
    pub several: Several,
    /// Kinds of failure that this experiment shows: every one, and no other.
    pub failures: Vec<String>,
}

/// Calls of routines that call functions of their clients.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Callbacks {
    /// Chance that a call passes a function.
    pub chance: f64,
    /// How often a routine calls it, at most.
    pub times_max: u64,
    /// Chance that a function fails.
    pub failure: f64,
}

/// Objects of the clients.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Objects {
    /// Objects of each client.
    pub each: u32,
    /// Chance that a call is one on an object.
    pub chance: f64,
    /// How long an object stays without its owner, in microseconds.
    pub lease_us: u64,
    /// Chance that a client releases its objects in the middle of its work.
    pub release: f64,
}

/// What routines print.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Chance that a client wants to see it.
    pub chance: f64,
    /// Lines that a routine prints at most, between two callbacks if it calls back.
    pub lines_max: u64,
    /// Bytes of a line at most.
    pub bytes_max: u64,
    /// Longest time until the server hears of a line, in microseconds: a server that is slow hears
    /// less, and says so.
    pub hearing_us: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            seed: 1,
            seeds: 40,
            delay_us: 100,
            rate_bytes_per_s: 100_000_000,
            loss: 0.0,
            queue_bytes: QUEUE_BYTES,
            clients: 3,
            calls: 6,
            interval_us: 2_000,
            elements_max: 3_000,
            run_us: 3_000,
            start_us: 5_000,
            timeout_us: 0,
            cancel: 0.0,
            crash: 0.0,
            exit: 0.0,
            hang: 0.0,
            start_failure: 0.0,
            load_crash: 0.0,
            client_crash: 0.0,
            reset: 0.0,
            kept: 0.0,
            keep_us: 0,
            pause: 0.0,
            modules: 1,
            executables_max: 2,
            calls_max: 100,
            executable_idle_us: 2_000,
            stall_us: 1_000_000,
            starts_max: usize::MAX,
            killed: 0,
            callbacks: Callbacks::default(),
            objects: Objects::default(),
            output: Output::default(),
            several: Several::default(),
            failures: Vec::new(),
        }
    }
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// `InvalidSource` with line and column, also for a key that does not exist; or with the key that
    /// several servers do without.
    pub fn read(text: &str) -> Result<Plan> {
        let wrong = |error: toml::de::Error| {
            Error::new(ErrorKind::InvalidSource, "read a plan", error.to_string())
        };
        let plan: Plan = toml::from_str(text).map_err(wrong)?;
        plan.check_several()?;
        Ok(plan)
    }

    /// The link between a client and the server.
    pub fn link(&self) -> LinkPlan {
        LinkPlan {
            delay_us: self.delay_us,
            rate_bytes_per_s: self.rate_bytes_per_s,
            loss: self.loss,
            queue_bytes: 64 << 10,
        }
    }

    /// Whether the server keeps calls without their clients.
    pub fn keeps_calls(&self) -> bool {
        self.keep_us > 0 || self.kept > 0.0
    }

    /// The server's limits.
    pub fn limits(&self) -> Limits {
        Limits {
            processors_max: None,
            queue: "first-come",
            capacity: Default::default(),
            connections_max: 64,
            own_connections_max: 64,
            connections_share_percent: 50,
            under_way_bytes_max: 1 << 30,
            greetings_max: 64,
            calls_max: self.calls_max,
            executables_max: self.executables_max,
            executable_idle: Duration::from_micros(self.executable_idle_us),
            launched_max: 0,
            launched_idle: Duration::from_secs(60),
            call_bytes_max: Bytes(1 << 30),
            routines_max: 64,
            stop_grace: Duration::from_millis(5),
            cancel_grace: Duration::from_millis(5),
            greeting_max: Duration::from_secs(60),
            loading_max: Duration::from_secs(60),
            stall_max: Duration::from_micros(self.stall_us),
            compresses: false,
            records: Records::None,
            counters_max: 100,
            nesting_max: 8,
            questions_max: 256,
            keep: KeepLimits {
                longest: if self.kept > 0.0 { Duration::from_secs(3600) } else { Duration::ZERO },
                resume: Duration::from_micros(self.keep_us),
                calls_max: if self.keeps_calls() { self.calls_max } else { 0 },
                memory_bytes_max: if self.keeps_calls() { 1 << 30 } else { 0 },
                file_bytes_max: 0,
                share_percent: 100,
                has_folder: false,
            },
            objects_max: self.objects.each as usize * self.clients,
            objects_of_one_max: self.objects.each as usize * self.clients,
            object_lease_max: Duration::from_micros(self.objects.lease_us),
            hello: hello_limits(),
        }
    }
}

/// Small frames and little credit, so that a call takes many steps.
pub fn hello_limits() -> HelloLimits {
    HelloLimits {
        data_bytes_max: 4096,
        initial_credit: 8192,
        call_bytes_max: 1 << 30,
        ..HelloLimits::default()
    }
}
