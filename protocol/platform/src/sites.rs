//! What a site and a link are made of, what a file may leave open of them, and what is missing then
//! (spec/platform.md, sections 4 and 5).

use crate::mistakes::Wrong;
use crate::quantity::Rate;

/// A site: members that share a fast network, behind one gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its name, of which there is one in the platform.
    pub name: String,
    /// How many members it has, at least one.
    pub members: u32,
    /// The rank of its first member; the others follow.
    pub first_rank: u32,
    /// What its members pay.
    pub member: Member,
    /// Its own network.
    pub inside: Inside,
    /// Its gateway; without any cost where there is no other site.
    pub gateway: Gateway,
}

/// What a member's processor pays for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Nanoseconds for each message that it sends, and for each that it receives.
    pub message_ns: u64,
    /// The rate at which it copies the bytes of a message; `None`: they cost nothing.
    pub rate: Option<Rate>,
}

impl Member {
    /// Nanoseconds that one message of so many bytes costs its sender, and again its receiver.
    pub fn time_ns(&self, bytes: u64) -> u64 {
        let copy_ns = self.rate.map_or(0, |rate| rate.time_ns(bytes));
        self.message_ns.saturating_add(copy_ns)
    }
}

/// The network inside a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Nanoseconds that a message is on its way, one way.
    pub latency_ns: u64,
    /// How fast its bytes go.
    pub rate: Rate,
    /// Nanoseconds until a multicast is at all members.
    pub multicast_ns: u64,
}

/// The gateway of a site: one serial server for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Nanoseconds for each message that leaves the site.
    pub out_ns: u64,
    /// Nanoseconds for each message that comes in.
    pub in_ns: u64,
}

/// The link from one site to another: first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Nanoseconds that a message is on its way, one way, beside its gateways.
    pub latency_ns: u64,
    /// How fast its bytes go.
    pub rate: Rate,
}

/// What a file says of a site, or of all sites; what it leaves open is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteSettings {
    pub(crate) message_ns: Option<u64>,
    pub(crate) copy_rate: Option<Rate>,
    pub(crate) latency_ns: Option<u64>,
    pub(crate) rate: Option<Rate>,
    pub(crate) multicast_ns: Option<u64>,
    pub(crate) out_ns: Option<u64>,
    pub(crate) in_ns: Option<u64>,
}

/// What a file says of a link, or of all links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkSettings {
    pub(crate) latency_ns: Option<u64>,
    pub(crate) rate: Option<Rate>,
}

/// A site as a file has it.
#[derive(Clone, Debug)]
pub(crate) struct SitePlan {
    pub(crate) name: String,
    pub(crate) members: u32,
    pub(crate) own: SiteSettings,
}

impl SiteSettings {
    /// These, and where they are silent those of all sites.
    pub(crate) fn or(self, all: SiteSettings) -> SiteSettings {
        SiteSettings {
            message_ns: self.message_ns.or(all.message_ns),
            copy_rate: self.copy_rate.or(all.copy_rate),
            latency_ns: self.latency_ns.or(all.latency_ns),
            rate: self.rate.or(all.rate),
            multicast_ns: self.multicast_ns.or(all.multicast_ns),
            out_ns: self.out_ns.or(all.out_ns),
            in_ns: self.in_ns.or(all.in_ns),
        }
    }
}

impl LinkSettings {
    /// These, and where they are silent those of all links.
    pub(crate) fn or(self, all: LinkSettings) -> LinkSettings {
        LinkSettings {
            latency_ns: self.latency_ns.or(all.latency_ns),
            rate: self.rate.or(all.rate),
        }
    }

    /// The link, if nothing of it is open.
    pub(crate) fn complete(self) -> Option<Link> {
        Some(Link { latency_ns: self.latency_ns?, rate: self.rate? })
    }
}

/// A value that a platform needs and does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Of a site: the section, the key, and the site that lacks it first.
    Value { section: &'static str, key: &'static str, site: String },
    /// Of a link.
    Link { from: String, to: String, what: MissingLink },
}

/// What a link lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingLink {
    All,
    Latency,
    Rate,
}

/// A value for each key, as messages show it.
const EXAMPLES: [(&str, &str); 6] = [
    ("message", "80 us"),
    ("latency", "20 us"),
    ("rate", "26 MB/s"),
    ("out", "0.2 ms"),
    ("in", "0.8 ms"),
    ("members", "15"),
];

impl Missing {
    /// In words.
    pub(crate) fn wrong(&self) -> Wrong {
        match self {
            Missing::Value { section, key, site } => {
                let example = EXAMPLES.iter().find(|(name, _)| name == key);
                let example = example.map_or("…", |(_, example)| example);
                let message = format!("\"{key}\" of [{section}] is missing for site \"{site}\"");
                Wrong::new(message, format!("write {key} = \"{example}\" in [{section}]"))
            }
            Missing::Link { from, to, what } => {
                let (message, keys) = match what {
                    MissingLink::All => (
                        format!("there is no link from \"{from}\" to \"{to}\""),
                        "latency and rate",
                    ),
                    MissingLink::Latency => {
                        (format!("the link from \"{from}\" to \"{to}\" has no latency"), "latency")
                    }
                    MissingLink::Rate => {
                        (format!("the link from \"{from}\" to \"{to}\" has no rate"), "rate")
                    }
                };
                Wrong::new(message, format!("write {keys} in [between], or in a [[between.pair]]"))
            }
        }
    }
}

/// The sites with their ranks. What is missing goes to `missing`, once for each key, and the sites
/// are of no use then.
pub(crate) fn resolve(
    plans: Vec<SitePlan>,
    all: SiteSettings,
    missing: &mut Vec<Missing>,
) -> Vec<Site> {
    let has_gateways = plans.len() > 1;
    let mut sites = Vec::with_capacity(plans.len());
    let mut first_rank = 0;
    for plan in plans {
        let settings = plan.own.or(all);
        let mut needs = Needs { site: &plan.name, missing };
        let latency_ns = needs.value("inside", "latency", settings.latency_ns).unwrap_or_default();
        let site = Site {
            member: Member {
                message_ns: needs.value("member", "message", settings.message_ns).unwrap_or(0),
                rate: settings.copy_rate,
            },
            inside: Inside {
                latency_ns,
                rate: needs.value("inside", "rate", settings.rate).unwrap_or(Rate::LEAST),
                multicast_ns: settings.multicast_ns.unwrap_or(latency_ns),
            },
            gateway: needs.gateway(settings, has_gateways),
            name: plan.name,
            members: plan.members,
            first_rank,
        };
        first_rank += site.members;
        sites.push(site);
    }
    sites
}

/// Notes what one site lacks.
struct Needs<'a> {
    site: &'a str,
    missing: &'a mut Vec<Missing>,
}

impl Needs<'_> {
    fn value<T>(
        &mut self,
        section: &'static str,
        key: &'static str,
        value: Option<T>,
    ) -> Option<T> {
        let is_noted = |missing: &Missing| {
            matches!(missing, Missing::Value { section: of, key: noted, .. }
                if *of == section && *noted == key)
        };
        if value.is_none() && !self.missing.iter().any(is_noted) {
            self.missing.push(Missing::Value { section, key, site: self.site.to_owned() });
        }
        value
    }

    /// Without other sites nothing passes a gateway, and none need be described.
    fn gateway(&mut self, settings: SiteSettings, has_gateways: bool) -> Gateway {
        if has_gateways {
            self.value("gateway", "out", settings.out_ns);
            self.value("gateway", "in", settings.in_ns);
        }
        Gateway { out_ns: settings.out_ns.unwrap_or(0), in_ns: settings.in_ns.unwrap_or(0) }
    }
}
