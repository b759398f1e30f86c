//! Several servers with metaservers, and what happens to them.

use farcall_base::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::Plan;

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
    /// Time without an answer after which clients give up a server, in microseconds; 0: never.
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
    /// How often a server or metaserver stands still: it accepts connections and never answers.
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

impl Plan {
    /// What clients of several servers do not do in this world.
    ///
    /// # Errors
    /// `InvalidSource` with the key.
    pub(super) fn check_several(&self) -> Result<()> {
        let wrong = |key: &str, why: &str| {
            let message = format!("{key}: {why}");
            Err(Error::new(ErrorKind::InvalidSource, "read a plan", message))
        };
        if self.several.servers == 0 {
            return Ok(());
        }
        if self.several.metaservers == 0 {
            return wrong("several.metaservers", "servers need one, so that clients find them");
        }
        let others = [
            ("reset", self.reset),
            ("pause", self.pause),
            ("kept", self.kept),
            ("callbacks.chance", self.callbacks.chance),
            ("objects.each", f64::from(self.objects.each)),
            ("output.chance", self.output.chance),
        ];
        match others.iter().find(|(_, value)| *value > 0.0) {
            Some((key, _)) => wrong(key, "clients of several servers do without it; see [several]"),
            None => Ok(()),
        }
    }
}
