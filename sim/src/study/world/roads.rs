//! The ways between sites, and what is on them.

use std::collections::BTreeMap;

use farcall_placement::SiteId;

use super::super::network::{FlowKey, LinkIndex, Network, NewFlow};
use super::super::time::Time;

/// A way from one site to another.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Links, one behind the other.
    pub links: Vec<LinkIndex>,
    /// Time of one way.
    pub latency_s: f64,
    /// What one flow has at most; nothing: as much as its links give.
    pub flow_rate_max: Option<f64>,
}

/// Bytes that left, of which none has arrived.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    from: SiteId,
    to: SiteId,
    bytes: f64,
}

/// All ways.
#[derive(Debug, Default)]
pub struct Roads {
    /// What flows share.
    pub network: Network,
    /// By where they begin and end.
    pub ways: BTreeMap<(SiteId, SiteId), Way>,
    /// Each link's number in each direction, by its name.
    pub links: BTreeMap<String, [LinkIndex; 2]>,
    leaving: BTreeMap<FlowKey, Leaving>,
}

impl Roads {
    /// Bytes leave: how long the first of them takes.
    pub fn leave(&mut self, key: FlowKey, [from, to]: [SiteId; 2], bytes: f64) -> f64 {
        self.leaving.insert(key, Leaving { from, to, bytes });
        self.ways.get(&(from, to)).map_or(0.0, |way| way.latency_s)
    }

    /// The first byte arrives; whether it was waited for.
    pub fn begin(&mut self, now: Time, key: FlowKey) -> bool {
        let Some(leaving) = self.leaving.remove(&key) else { return false };
        let way = self.ways.get(&(leaving.from, leaving.to)).cloned().unwrap_or_default();
        // A round trip is twice the way; one without latency has the same weight as others.
        let weight = if way.latency_s > 0.0 { 1.0 / (2.0 * way.latency_s) } else { 1.0 };
        let rate_max = way.flow_rate_max.unwrap_or(f64::INFINITY);
        let flow = NewFlow { links: way.links, bytes: leaving.bytes, weight, rate_max };
        self.network.begin(now, key, flow);
        true
    }

    /// A transfer is given up.
    pub fn give_up(&mut self, now: Time, key: FlowKey) {
        self.leaving.remove(&key);
        self.network.end(now, key);
    }
}
