//! What `farcall run` tells a member by its environment (spec/wide-area.md, section 1).

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use farcall_base::{Error, ErrorKind, Result};
use farcall_messaging_virtual::MessageCost;
use farcall_wide_engines::{Rank, Sites};

/// How a member's messages go.
#[derive(Debug)]
pub enum Way {
    /// It is alone.
    Alone,
    /// In virtual time, by the hub at the other end of this.
    Virtual(OwnedFd),
}

/// All that a member is told.
#[derive(Debug)]
pub struct Given {
    pub way: Way,
    pub rank: Rank,
    pub sites: Sites,
    pub has_tiers: bool,
    /// What is drawn at random is drawn from it and the rank.
    pub seed: u64,
    /// What a message costs the processor.
    pub message: MessageCost,
    /// Picoseconds of an operation of each kernel.
    pub kernels: BTreeMap<String, u64>,
}

impl Given {
    /// Reads it; without any, the run has one member.
    pub fn read() -> Result<Given> {
        let Ok(run) = std::env::var("FARCALL_RUN") else {
            return Ok(Given {
                way: Way::Alone,
                rank: Rank(0),
                sites: Sites::new(&[1])?,
                has_tiers: false,
                seed: 1,
                message: MessageCost::default(),
                kernels: BTreeMap::new(),
            });
        };
        let fd = run.strip_prefix("virtual:").and_then(|fd| fd.parse().ok());
        let fd = fd.ok_or_else(|| wrong("FARCALL_RUN", &run))?;
        let sites = Sites::read(&variable("FARCALL_RUN_SITES")?)?;
        let rank = variable("FARCALL_RUN_RANK")?;
        let rank = rank.parse().ok().filter(|rank| *rank < sites.members()).map(Rank);
        let rank = rank.ok_or_else(|| wrong("FARCALL_RUN_RANK", "no rank"))?;
        let costs = variable("FARCALL_RUN_COSTS")?;
        let mut costs = costs.split(';');
        let message = costs.next().and_then(|message| {
            let (time, rate) = message.split_once(',')?;
            Some(MessageCost { time: time.parse().ok()?, rate: rate.parse().ok()? })
        });
        let message = message.ok_or_else(|| wrong("FARCALL_RUN_COSTS", "no cost of a message"))?;
        let mut kernels = BTreeMap::new();
        for cost in costs {
            let parts =
                cost.split_once('=').and_then(|(name, cost)| Some((name, cost.parse().ok()?)));
            let (name, cost) = parts.ok_or_else(|| wrong("FARCALL_RUN_COSTS", cost))?;
            kernels.insert(name.to_owned(), cost);
        }
        let seed = variable("FARCALL_RUN_SEED")?;
        let seed = seed.parse().map_err(|_| wrong("FARCALL_RUN_SEED", &seed))?;
        let has_tiers = variable("FARCALL_RUN_TIERS")? == "on";
        Ok(Given { way: Way::Virtual(taken(fd)), rank, sites, has_tiers, seed, message, kernels })
    }
}

/// The descriptor that was inherited. A program of its own does not get it.
#[allow(unsafe_code)]
fn taken(fd: RawFd) -> OwnedFd {
    // SAFETY: `farcall run` made it for this process, and a process joins once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn variable(name: &'static str) -> Result<String> {
    std::env::var(name).map_err(|_| wrong(name, "missing"))
}

fn wrong(name: &'static str, value: &str) -> Error {
    let message = "the environment is not as `farcall run` makes it";
    Error::new(ErrorKind::InvalidArgument, "join a run", message)
        .with(name, value)
        .fix("start the program by `farcall run`, or without FARCALL_RUN to run it alone")
}
