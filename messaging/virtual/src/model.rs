//! What the simulated network and the members' processors cost.

use farcall_wide_engines::Sites;

/// The network inside one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Nanoseconds.
    pub latency: u64,
    /// Nanoseconds until a multicast arrives.
    pub multicast: u64,
    /// Bytes per second.
    pub rate: u64,
}

/// The one serial server at the border of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Nanoseconds for each message that leaves.
    pub out: u64,
    /// Nanoseconds for each message that comes in.
    pub into: u64,
}

/// The link from one site to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// Nanoseconds, without those of the gateways.
    pub latency: u64,
    /// Bytes per second.
    pub rate: u64,
}

/// All costs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who is where.
    pub sites: Sites,
    /// Nanoseconds of a member's processor for each message that it sends or receives, by site.
    pub message: Vec<u64>,
    /// By site.
    pub inside: Vec<Inside>,
    /// By site.
    pub gateways: Vec<Gateway>,
    /// By site that sends, and site that receives; what is from a site to itself is not looked at.
    pub between: Vec<Vec<Between>>,
    /// Picoseconds of one operation of each kernel, by name.
    pub kernels: Vec<(String, u64)>,
}

/// Nanoseconds that so many bytes take at a rate, rounded up.
pub fn time_of(bytes: usize, rate: u64) -> u64 {
    let time = (bytes as u128 * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
    u64::try_from(time).unwrap_or(u64::MAX)
}
