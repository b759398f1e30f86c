//! What the simulated network and the members' processors cost.

use farcall_base::{Error, Result};
use farcall_platform::{Platform, SiteNumber};
use farcall_wide_engines::{Rank, Sites};

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

/// What a message costs a member's processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCost {
    /// Nanoseconds.
    pub time: u64,
    /// Bytes per second by which it is copied, too; 0: at no cost.
    pub rate: u64,
}

impl MessageCost {
    /// Nanoseconds for a message of so many bytes.
    pub fn of(self, bytes: usize) -> u64 {
        let copied = if self.rate == 0 { 0 } else { time_of(bytes, self.rate) };
        self.time.saturating_add(copied)
    }
}

/// All costs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who is where.
    pub sites: Sites,
    /// What a message costs a member's processor, when it sends it and when it receives it, by site.
    pub message: Vec<MessageCost>,
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

impl Model {
    /// That of a platform.
    ///
    /// # Errors
    /// `Internal` for one that is not whole, which no reader gives.
    pub fn of(platform: &Platform) -> Result<Model> {
        let all = platform.sites();
        let sizes: Vec<u32> = all.iter().map(|site| site.members).collect();
        let number = |index: usize| SiteNumber(index as u32);
        let link = |from: usize, to: usize| {
            let link = platform.between(number(from), number(to));
            let link =
                link.ok_or_else(|| Error::internal("read a platform", "a link is missing"))?;
            Ok(Between { latency: link.latency_ns, rate: link.rate.bytes_per_second() })
        };
        let links = |from: usize| {
            let own = Between { latency: 0, rate: 1 };
            (0..all.len()).map(|to| if to == from { Ok(own) } else { link(from, to) }).collect()
        };
        let message = all.iter().map(|site| MessageCost {
            time: site.member.message_ns,
            rate: site.member.rate.map_or(0, |rate| rate.bytes_per_second()),
        });
        let inside = all.iter().map(|site| Inside {
            latency: site.inside.latency_ns,
            multicast: site.inside.multicast_ns,
            rate: site.inside.rate.bytes_per_second(),
        });
        let gateways =
            all.iter().map(|site| Gateway { out: site.gateway.out_ns, into: site.gateway.in_ns });
        Ok(Model {
            sites: Sites::new(&sizes)?,
            message: message.collect(),
            inside: inside.collect(),
            gateways: gateways.collect(),
            between: (0..all.len()).map(links).collect::<Result<_>>()?,
            kernels: platform
                .kernels()
                .map(|(name, cost)| (name.to_owned(), cost.picoseconds()))
                .collect(),
        })
    }

    /// What a member is told of costs, as its environment has it: of messages nanoseconds and bytes per
    /// second, and of kernels picoseconds.
    pub fn costs_of(&self, rank: Rank) -> String {
        let MessageCost { time, rate } = self.message[self.sites.of(rank) as usize];
        let kernels = self.kernels.iter().map(|(name, cost)| format!(";{name}={cost}"));
        format!("{time},{rate}{}", kernels.collect::<String>())
    }
}
