//! Several servers with metaservers, and what befalls them.

use serde::Deserialize;

/// Servers among which metaservers place calls. Each is on a host of its own, and reports to all
/// metaservers; clients know the first of these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Several {
    /// Servers; 0: the one that clients know, without a metaserver.
    pub servers: usize,
    /// Metaservers.
    pub metaservers: usize,
    /// Chance that a call is of an `Idempotent` routine.
    pub idempotent: f64,
    /// Time without a sign of life after which clients give up a server, in microseconds; 0: never.
    pub heartbeat_us: u64,
    /// How far clocks of servers are apart at most, in microseconds.
    pub clocks_apart_us: u64,
    /// Time from the first calls on in which the things below happen, in microseconds.
    pub span_us: u64,
    /// How often a server is killed.
    pub kills: usize,
    /// How often a metaserver is killed.
    pub metaserver_kills: usize,
    /// Longest time until a killed one is started again, in microseconds.
    pub restart_us: u64,
    /// How often a server stands still: it accepts connections and never answers.
    pub freezes: usize,
    /// For how long, in microseconds.
    pub freeze_us: u64,
    /// How often two hosts do not hear each other, though others hear both.
    pub cuts: usize,
    /// For how long, in microseconds.
    pub cut_us: u64,
    /// How often the connections between two hosts are reset.
    pub resets: usize,
    /// How often the way between two hosts becomes ten times thinner.
    pub thinnings: usize,
}
