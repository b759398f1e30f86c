//! What is known of one routine: its curve for each number of threads, and what each server and
//! each size have of their own.

use std::collections::BTreeMap;

use super::{Curve, Deviation, Servers, Work};
use crate::forecast::Forecast;
use crate::MemberId;

/// Sizes that are known one by one, for each server.
const SIZES_MAX: usize = 64;
/// Numbers of threads that have a curve.
const THREADS_MAX: usize = 8;
/// Of a run's work what threads share, where nothing was measured (Amdahl 1967).
const PARALLEL: f64 = 0.9;
/// So many measurements count as much as none: a server with one routine is mostly the server.
const ROUTINE_DOUBT: f64 = 2.0;
/// The same for one size: the second call of a size knows nearly all.
const SIZE_DOUBT: f64 = 0.5;
/// What an error of long ago counts.
const FORGETTING: f64 = 0.25;
/// What a forecast is wrong by until it was tried: half.
const UNTRIED_SPREAD: f64 = 0.4;

/// One routine.
#[derive(Clone, Debug, Default)]
pub struct RoutineTimes {
    curves: BTreeMap<u32, Curve>,
    servers: BTreeMap<MemberId, OnServer>,
    last_seen: u64,
}

/// One routine on one server.
#[derive(Clone, Debug, Default)]
struct OnServer {
    deviation: Deviation,
    sizes: BTreeMap<u64, Sized>,
    /// Discounted mean of the errors of its forecasts, in logarithms.
    spread: Option<f64>,
    seen: u64,
}

/// One size of a routine on one server.
#[derive(Clone, Debug, Default)]
struct Sized {
    left: Forecast,
    last_seen: u64,
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

    /// What a server adds to the logarithm.
    pub fn own(&self, member: MemberId, work: &Work) -> f64 {
        self.servers.get(&member).map_or(0.0, |server| {
            let size = server.sizes.get(&size_key(work)).map_or(0.0, Sized::value);
            server.deviation.shrunk(ROUTINE_DOUBT) + size
        })
    }

    /// What forecasts for a server are wrong by, in logarithms.
    pub fn spread(&self, member: MemberId, work: &Work) -> f64 {
        let Some(server) = self.servers.get(&member) else { return UNTRIED_SPREAD };
        let size = server.sizes.get(&size_key(work)).and_then(|size| size.left.error());
        size.or(server.spread).unwrap_or(UNTRIED_SPREAD)
    }

    /// A run; `log` is the logarithm of its seconds. Each part learns from what is left of it.
    pub fn observe(&mut self, member: MemberId, work: &Work, log: f64, servers: &mut Servers) {
        let common = self.common(work);
        let own = self.own(member, work);
        let number = self.last_seen;
        let server = self.servers.entry(member).or_default();
        server.seen += 1;
        if let Some(common) = common {
            server.err(log - common - servers.value(member) - own);
            servers.observe(member, log - common - server.deviation.shrunk(ROUTINE_DOUBT));
            let left = log - common - servers.value(member);
            server.deviation.observe(left);
            let left = left - server.deviation.shrunk(ROUTINE_DOUBT);
            server.learn_size(size_key(work), left, number);
        }
        let normal = log - servers.value(member) - server.deviation.shrunk(ROUTINE_DOUBT);
        self.learn_curve(work, normal);
    }

    fn learn_curve(&mut self, work: &Work, log: f64) {
        self.curves.entry(work.threads).or_default().observe(work.log_amount(), log);
        if self.curves.len() > THREADS_MAX {
            self.curves.pop_last();
        }
    }

    /// A server is gone.
    pub fn forget(&mut self, member: MemberId) {
        self.servers.remove(&member);
    }
}

impl OnServer {
    fn err(&mut self, error: f64) {
        let before = self.spread.unwrap_or(error.abs());
        self.spread = Some(before + (error.abs() - before) * FORGETTING);
    }

    fn learn_size(&mut self, key: u64, left: f64, number: u64) {
        let size = self.sizes.entry(key).or_default();
        size.left.observe(left);
        size.last_seen = number;
        if self.sizes.len() > SIZES_MAX {
            let oldest = self.sizes.iter().min_by_key(|(_, size)| size.last_seen);
            let oldest = oldest.map(|(key, _)| *key);
            oldest.map(|key| self.sizes.remove(&key));
        }
    }
}

impl Sized {
    fn value(&self) -> f64 {
        let seen = self.left.seen() as f64;
        self.left.value().unwrap_or_default() * seen / (seen + SIZE_DOUBT)
    }
}

/// Calls of equal sizes with other threads are others.
fn size_key(work: &Work) -> u64 {
    work.sizes.rotate_left(7) ^ u64::from(work.threads)
}

fn log_share(parallel: f64, threads: u32) -> f64 {
    (1.0 - parallel + parallel / f64::from(threads.max(1))).ln()
}
