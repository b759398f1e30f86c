//! The server's limits, each named in the manifest.

use std::time::Duration;

use farcall_base::Bytes;
use farcall_services::spawner::Capacity;
use farcall_wire::HelloLimits;

use super::{KeepLimits, Records};

/// The server's limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once, executables' included.
    pub connections_max: usize,
    /// The same for the server's own user, where few open files leave the others less.
    pub own_connections_max: usize,
    /// Of `connections_max`, what one user with a certificate may have.
    pub connections_share_percent: u64,
    /// Bytes of questions, open calls and answers that wait to be read, of all clients together;
    /// and of answers, those of one user on all connections together.
    pub under_way_bytes_max: u64,
    /// Connections at once whose clients have not said Hello.
    pub greetings_max: usize,
    /// Calls at once, waiting and running.
    pub calls_max: usize,
    /// Executables at once, of all modules.
    pub executables_max: usize,
    /// Processors that calls may have together; where nobody says, what [`Limits::processors`] does.
    pub processors_max: Option<u32>,
    /// By which policy calls wait (spec/placement.md, section 8).
    pub queue: &'static str,
    /// What this host has for calls that ask for cores or GPUs.
    pub capacity: Capacity,
    /// Largest sum of one call's arrays.
    pub call_bytes_max: Bytes,
    /// Time that an idle executable stays while calls wait for further executables of other
    /// modules.
    pub executable_idle: Duration,
    /// Executables of pools that launchers start elsewhere, at a time.
    pub launched_max: usize,
    /// Time without a call after which such a one ends.
    pub launched_idle: Duration,
    /// Routines whose interfaces are kept at hand.
    pub routines_max: usize,
    /// Time that an executable has to end politely when its call is cancelled.
    pub stop_grace: Duration,
    /// Time that a routine whose code asks for it has to end by itself when its call is cancelled.
    pub cancel_grace: Duration,
    /// Time that a peer has to say Hello.
    pub greeting_max: Duration,
    /// Time that an executable has to load its module.
    pub loading_max: Duration,
    /// Time for which a client may neither send the arguments nor take the results that it owes.
    pub stall_max: Duration,
    /// What each connection may do.
    pub hello: HelloLimits,
    /// Whether compressed data is taken and may be sent.
    pub compresses: bool,
    /// Which records somebody keeps.
    pub records: Records,
    /// Rows of who called what that are counted apart.
    pub counters_max: usize,
    /// How deep calls may stand in one another; 0: routines call none.
    pub nesting_max: u32,
    /// Clients' questions that wait for answers of other plugins at a time.
    pub questions_max: usize,
    /// Which calls go on without their clients, and how much is kept for these.
    pub keep: KeepLimits,
    /// Objects at once; 0: none are held.
    pub objects_max: usize,
    /// Objects of one principal at once.
    pub objects_of_one_max: usize,
    /// The longest lease of an object.
    pub object_lease_max: Duration,
}

impl Limits {
    /// Processors that calls may have together. By default at least as many as
    /// executables may work at a time: where these are more than the host's processors, routines wait
    /// more than they compute.
    pub fn processors(&self) -> u32 {
        let places = u32::try_from(self.executables_max).unwrap_or(u32::MAX);
        self.processors_max.unwrap_or(places.max(self.capacity.cores)).max(1)
    }
}
