//! A platform that was read and checked.

use std::collections::BTreeMap;
use std::ops::Range;

use farcall_base::{Error, ErrorKind, Result};

use crate::mistakes::{Mistakes, Wrong, listed, shown};
use crate::quantity::OperationCost;
use crate::read;
use crate::shape;
use crate::sites::{
    Link, LinkSettings, Missing, MissingLink, Site, SitePlan, SiteSettings, resolve,
};

/// Sites of a platform at most.
pub const SITES_MAX: usize = 1_000;
/// Members of all sites together at most.
pub const MEMBERS_MAX: u32 = 100_000;
/// A text larger than this is refused unread: it is some other file.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// A site of a platform, from 0 in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteNumber(pub u32);

impl SiteNumber {
    /// As an index of [`Platform::sites`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sites, their members and the links between them, and what operations cost.
#[derive(Clone, Debug)]
pub struct Platform {
    common: Common,
    /// Never empty; ranks follow one another.
    sites: Vec<Site>,
    /// Those that are not as all others.
    links: BTreeMap<(SiteNumber, SiteNumber), Link>,
}

/// What a platform keeps when its sites are replaced.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) all: SiteSettings,
    pub(crate) between: LinkSettings,
    pub(crate) kernels: BTreeMap<String, OperationCost>,
}

/// What a file says of links between certain sites.
pub(crate) type Pairs = BTreeMap<(SiteNumber, SiteNumber), LinkSettings>;

impl Platform {
    /// Reads the text of a platform file; `file` names it in errors.
    ///
    /// # Errors
    /// All mistakes of the text, each `InvalidSource` with file, line and column, what was expected
    /// and, for an unknown name, the nearest one.
    pub fn read(text: &str, file: &str) -> std::result::Result<Platform, Mistakes> {
        read::platform(text, file)
    }

    /// The platform with other sites: `4x15`, `3+10+22`. It keeps what sites and links share. What
    /// the file says of single sites and pairs is gone.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no shape or beyond a limit, and where the new sites need what
    /// the file does not say of all of them.
    pub fn with_sites(&self, shape: &str) -> Result<Platform> {
        let refuse = |wrong: Wrong| {
            wrong
                .error(ErrorKind::InvalidArgument, "change the sites of the platform")
                .with("sites", shown(shape))
                .with("platform", &self.common.name)
        };
        let members = shape::read(shape).map_err(refuse)?;
        Platform::build(self.common.clone(), named(members), &Pairs::new()).map_err(|missing| {
            let first = missing.first().expect("a platform is refused for what it lacks");
            refuse(first.wrong())
        })
    }

    /// Puts a platform together.
    ///
    /// # Errors
    /// All that is missing; never empty.
    pub(crate) fn build(
        common: Common,
        plans: Vec<SitePlan>,
        pairs: &Pairs,
    ) -> std::result::Result<Platform, Vec<Missing>> {
        let mut missing = Vec::new();
        let sites = resolve(plans, common.all, &mut missing);
        let links = resolve_links(&sites, common.between, pairs, &mut missing);
        if missing.is_empty() { Ok(Platform { common, sites, links }) } else { Err(missing) }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.common.name
    }

    /// What is drawn at random begins with this.
    pub fn seed(&self) -> u64 {
        self.common.seed
    }

    /// How many members all sites have together.
    pub fn members(&self) -> u32 {
        self.sites.last().map_or(0, |last| last.first_rank + last.members)
    }

    /// The sites, in the order of their ranks; never empty.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// One of them.
    ///
    /// # Panics
    /// When the number is of another platform, which has more sites.
    pub fn site(&self, site: SiteNumber) -> &Site {
        &self.sites[site.index()]
    }

    /// The site of the member with this rank, if there is one.
    pub fn site_of(&self, rank: u32) -> Option<SiteNumber> {
        let behind = self.sites.partition_point(|site| site.first_rank <= rank);
        let number = u32::try_from(behind.checked_sub(1)?).ok()?;
        (rank < self.members()).then_some(SiteNumber(number))
    }

    /// The ranks of a site's members.
    ///
    /// # Panics
    /// As [`Platform::site`].
    pub fn ranks(&self, site: SiteNumber) -> Range<u32> {
        let site = self.site(site);
        site.first_rank..site.first_rank + site.members
    }

    /// The link from one site to another; `None` from a site to itself, and for sites that are not
    /// there.
    pub fn between(&self, from: SiteNumber, to: SiteNumber) -> Option<Link> {
        let is_there = |site: SiteNumber| site.index() < self.sites.len();
        if from == to || !is_there(from) || !is_there(to) {
            return None;
        }
        self.links.get(&(from, to)).copied().or_else(|| self.common.between.complete())
    }

    /// Names and costs of all kernels, in alphabetical order.
    pub fn kernels(&self) -> impl Iterator<Item = (&str, OperationCost)> {
        self.common.kernels.iter().map(|(name, cost)| (name.as_str(), *cost))
    }

    /// What one operation of a kernel costs.
    ///
    /// # Errors
    /// `NotFound` with the nearest name and the list.
    pub fn kernel(&self, name: &str) -> Result<OperationCost> {
        let kernels = &self.common.kernels;
        if let Some(cost) = kernels.get(name) {
            return Ok(*cost);
        }
        let names = kernels.keys().map(String::as_str);
        let message =
            format!("the platform does not say what an operation of \"{}\" costs", shown(name));
        let mut wrong = Wrong::unknown(message, name, names.clone());
        let is_near = wrong.fix.as_ref().is_some_and(|fix| fix.starts_with("did you mean"));
        if !is_near {
            wrong.fix = Some(format!("add {} = \"1 us\" to [kernels] in its file", shown(name)));
        }
        let error: Error = wrong.error(ErrorKind::NotFound, "charge the work of a kernel");
        Err(error.with("platform", &self.common.name).with("kernels", listed(names)))
    }
}

/// Sites that have no names of their own.
pub(crate) fn named(members: Vec<u32>) -> Vec<SitePlan> {
    let plan = |(index, members)| SitePlan {
        name: shape::name(index),
        members,
        own: SiteSettings::default(),
    };
    members.into_iter().enumerate().map(plan).collect()
}

/// The links that are not as all others; of those that are missing the first.
fn resolve_links(
    sites: &[Site],
    all: LinkSettings,
    pairs: &Pairs,
    missing: &mut Vec<Missing>,
) -> BTreeMap<(SiteNumber, SiteNumber), Link> {
    let mut links = BTreeMap::new();
    for (pair, own) in pairs {
        match own.or(all).complete() {
            Some(link) => drop(links.insert(*pair, link)),
            None => missing.push(missing_link(sites, *pair, own.or(all))),
        }
    }
    if all.complete().is_none() && missing.is_empty() {
        let numbers = || (0..).take(sites.len()).map(SiteNumber);
        let every = numbers().flat_map(|from| numbers().map(move |to| (from, to)));
        let mut open = every.filter(|pair| pair.0 != pair.1 && !pairs.contains_key(pair));
        missing.extend(open.next().map(|pair| missing_link(sites, pair, all)));
    }
    links
}

fn missing_link(sites: &[Site], pair: (SiteNumber, SiteNumber), has: LinkSettings) -> Missing {
    let name = |site: SiteNumber| sites[site.index()].name.clone();
    let what = match (has.latency_ns, has.rate) {
        (None, None) => MissingLink::All,
        (None, Some(_)) => MissingLink::Latency,
        (Some(_), _) => MissingLink::Rate,
    };
    Missing::Link { from: name(pair.0), to: name(pair.1), what }
}
