//! What is known of one routine: its curve for each number of threads, and what each server and
//! each size have of their own.

use std::collections::BTreeMap;

use super::{Curve, Deviation, Servers, SizedOnServer, Work};
use crate::MemberId;

/// Sizes that are known one by one.
const SIZES_MAX: usize = 256;
/// Numbers of threads that have a curve.
const THREADS_MAX: usize = 8;
/// Of a run's work what threads share, where nothing was measured (Amdahl 1967).
const PARALLEL: f64 = 0.9;
/// So many measurements count as much as none: a server with one routine is mostly the server.
const ROUTINE_DOUBT: f64 = 2.0;
/// A run of so many seconds tells a quarter as much of its server's speed as one of many: short ones
/// are mostly the cost of a call, and of the moment.
const SPEED_S: f64 = 0.005;
/// What an error of long ago counts.
const FORGETTING: f64 = 0.25;
/// What a forecast is wrong by until it was tried: half.
const UNTRIED_SPREAD: f64 = 0.4;

/// One routine.
#[derive(Clone, Debug, Default)]
pub struct RoutineTimes {
    curves: BTreeMap<u32, Curve>,
    servers: BTreeMap<MemberId, OnServer>,
    sizes: BTreeMap<u64, Sized>,
    last_seen: u64,
}

/// Calls of one size.
#[derive(Clone, Debug, Default)]
struct Sized {
    /// In the order of their numbers.
    servers: Vec<SizedOnServer>,
    last_seen: u64,
}

/// One routine on one server.
#[derive(Clone, Debug, Default)]
struct OnServer {
    deviation: Deviation,
    /// Discounted mean of the errors of its forecasts, in logarithms.
    spread: Option<f64>,
    seen: u64,
}

impl RoutineTimes {
    /// Somebody measured it.
    pub fn touch(&mut self, number: u64) {
        self.last_seen = number;
    }

    /// When it was measured last.
    pub fn last_seen(&self) -> u64 {
        self.last_seen
    }

    /// The logarithm of a run's time on any server; nothing before the first run.
    pub fn common(&self, work: &Work) -> Option<f64> {
        let x = work.log_amount();
        if let Some(curve) = self.curves.get(&work.threads) {
            return curve.value(x);
        }
        let apart = |threads: &u32| (f64::from(*threads) / f64::from(work.threads)).ln().abs();
        let nearest = self.curves.keys().min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let known = self.curves[nearest].value(x)?;
        let parallel = self.parallel(x);
        Some(known + log_share(parallel, work.threads) - log_share(parallel, *nearest))
    }

    /// What part of the work threads share, from the fewest and the most threads that were tried.
    fn parallel(&self, x: f64) -> f64 {
        let at = |entry: (&u32, &Curve)| Some((f64::from(*entry.0), entry.1.value(x)?));
        let few = self.curves.first_key_value().and_then(at);
        let many = self.curves.last_key_value().and_then(at);
        let (Some((few, slow)), Some((many, fast))) = (few, many) else { return PARALLEL };
        if few >= many {
            return PARALLEL;
        }
        // T(n) = (1 - f + f/n) T(1), for both; solved for f.
        let ratio = (slow - fast).exp();
        let below = ratio - ratio / many - 1.0 + 1.0 / few;
        if below.abs() < 1e-9 { PARALLEL } else { ((ratio - 1.0) / below).clamp(0.0, 1.0) }
    }

    /// What a server adds to the logarithm, whatever the size.
    pub fn own(&self, member: MemberId) -> f64 {
        let server = self.servers.get(&member);
        server.map_or(0.0, |server| server.deviation.shrunk(ROUTINE_DOUBT))
    }

    /// Servers that ran exactly this size, in the order of their numbers.
    pub fn of_size(&self, work: &Work) -> &[SizedOnServer] {
        self.sizes.get(&size_key(work)).map_or(&[], |size| &size.servers)
    }

    /// What exactly this size adds on one server.
    pub fn own_of_size(&self, member: MemberId, work: &Work) -> f64 {
        self.left(member, work).map_or(0.0, SizedOnServer::log)
    }

    fn left(&self, member: MemberId, work: &Work) -> Option<&SizedOnServer> {
        let servers = self.of_size(work);
        let at = servers.binary_search_by_key(&member, |server| server.member).ok()?;
        Some(&servers[at])
    }

    /// Runs of exactly this size on one server.
    pub fn seen(&self, member: MemberId, work: &Work) -> u64 {
        self.left(member, work).map_or(0, SizedOnServer::seen)
    }

    /// What forecasts for a server are wrong by, in logarithms.
    pub fn spread(&self, member: MemberId, work: &Work) -> f64 {
        let of_size = self.left(member, work).and_then(SizedOnServer::error);
        let of_server = self.servers.get(&member).and_then(|server| server.spread);
        of_size.or(of_server).unwrap_or(UNTRIED_SPREAD)
    }

    /// A run; `log` is the logarithm of its seconds. Each part learns from what is left of it.
    pub fn observe(&mut self, member: MemberId, work: &Work, log: f64, servers: &mut Servers) {
        let common = self.common(work);
        let of_size = self.own_of_size(member, work);
        let weight = (log.exp() / (log.exp() + SPEED_S)).powi(2);
        let server = self.servers.entry(member).or_default();
        server.seen += 1;
        if let Some(common) = common {
            let own = server.deviation.shrunk(ROUTINE_DOUBT);
            server.err(log - common - servers.value(member) - own - of_size);
            servers.observe(member, log - common - own, weight);
            let left = log - common - servers.value(member);
            server.deviation.observe(left, 1.0);
            let left = left - server.deviation.shrunk(ROUTINE_DOUBT);
            self.learn_size(member, work, left);
        } else {
            servers.take_for_granted(member, weight);
        }
        self.learn_curve(work, log - servers.value(member) - self.own(member));
    }

    fn learn_curve(&mut self, work: &Work, log: f64) {
        self.curves.entry(work.threads).or_default().observe(work.log_amount(), log);
        if self.curves.len() > THREADS_MAX {
            self.curves.pop_last();
        }
    }

    fn learn_size(&mut self, member: MemberId, work: &Work, left: f64) {
        let size = self.sizes.entry(size_key(work)).or_default();
        size.last_seen = self.last_seen;
        match size.servers.binary_search_by_key(&member, |server| server.member) {
            Ok(at) => size.servers[at].observe(left),
            Err(at) => size.servers.insert(at, SizedOnServer::first(member, left)),
        }
        if self.sizes.len() > SIZES_MAX {
            let oldest = self.sizes.iter().min_by_key(|(_, size)| size.last_seen);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|key| self.sizes.remove(&key));
        }
    }

    /// A server is gone.
    pub fn forget(&mut self, member: MemberId) {
        self.servers.remove(&member);
        let sizes = self.sizes.values_mut();
        sizes.for_each(|size| size.servers.retain(|server| server.member != member));
    }
}

impl OnServer {
    fn err(&mut self, error: f64) {
        let before = self.spread.unwrap_or(error.abs());
        self.spread = Some(before + (error.abs() - before) * FORGETTING);
    }
}

/// Calls of equal sizes with other threads are others.
fn size_key(work: &Work) -> u64 {
    work.sizes.rotate_left(7) ^ u64::from(work.threads)
}

fn log_share(parallel: f64, threads: u32) -> f64 {
    (1.0 - parallel + parallel / f64::from(threads.max(1))).ln()
}
