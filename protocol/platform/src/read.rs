//! From the text of a platform file to a platform (spec/platform.md): every mistake is noted, and
//! reading continues behind it.

mod section;

use std::collections::BTreeMap;

use crate::mistakes::{Found, Mistakes, Wrong, shown};
use crate::platform::{Common, Pairs, Platform, SITES_MAX, SiteNumber, TEXT_BYTES_MAX, named};
use crate::quantity::{OperationCost, Rate, bare_rate, bare_time, operation_cost, rate, time_ns};
use crate::shape;
use crate::sites::{LinkSettings, Missing, SitePlan, SiteSettings};
use section::{Section, check_name, document, section, sections};

/// Keys of the file itself.
const FILE: &[&str] =
    &["name", "seed", "sites", "site", "member", "inside", "gateway", "between", "kernels"];
/// Keys of one `[[site]]`.
const SITE: &[&str] = &["name", "members", "member", "inside", "gateway"];
/// Keys of what a site, or all of them, may say.
const MEMBER: &[&str] = &["message", "rate"];
const INSIDE: &[&str] = &["latency", "rate", "multicast"];
const GATEWAY: &[&str] = &["out", "in"];
/// Keys of links.
const BETWEEN: &[&str] = &["latency", "rate", "pair"];
const PAIR: &[&str] = &["from", "to", "both", "latency", "rate"];

/// Sections that name a site's own values: titles for the file's and for a site's.
struct Titles {
    member: &'static str,
    inside: &'static str,
    gateway: &'static str,
}

const OF_ALL: Titles = Titles { member: "[member]", inside: "[inside]", gateway: "[gateway]" };
const OF_ONE: Titles =
    Titles { member: "[site.member]", inside: "[site.inside]", gateway: "[site.gateway]" };

/// A platform, or all that is wrong with the text.
pub(crate) fn platform(text: &str, file: &str) -> Result<Platform, Mistakes> {
    let mut found = Found::new(file, if text.len() > TEXT_BYTES_MAX { "" } else { text });
    match read(&mut found, text) {
        Some(platform) if found.is_empty() => Ok(platform),
        _ => Err(found.into_mistakes()),
    }
}

/// A platform, which counts only where nothing was found.
fn read(found: &mut Found, text: &str) -> Option<Platform> {
    let table = document(found, text)?;
    let root = Section { title: "", place: 0, table: table.get_ref() };
    root.check_keys(found, FILE);
    let name = root.name(found, "name").unwrap_or_default();
    if root.get("name").is_none() {
        let fix = "write name = \"my-platform\" in its first line";
        found.add(0, || Wrong::new("the platform has no name", fix));
    }
    let seed = root.integer(found, "seed", "1").unwrap_or(1);
    let all = site_settings(found, &root, &OF_ALL);
    let plans = site_plans(found, &root);
    let between = section(found, &root, "between", "[between]");
    let mut links = LinkSettings::default();
    let mut pairs = Pairs::new();
    if let Some(section) = &between {
        section.check_keys(found, BETWEEN);
        links = link_settings(found, section);
        pairs = read_pairs(found, section, &plans);
    }
    let kernels = kernels(found, &root);
    if plans.is_empty() {
        return None;
    }
    let common = Common { name, seed, all, between: links, kernels };
    let built = Platform::build(common, plans, &pairs);
    let place = |missing: &Missing| match missing {
        Missing::Value { section, .. } => root.place_of(&[*section, "sites", "site"]),
        Missing::Link { .. } => root.place_of(&["between", "sites", "site"]),
    };
    match built {
        Ok(platform) => Some(platform),
        Err(all_missing) => {
            let told = all_missing.iter().filter(|_| !found.is_incomplete());
            for missing in told.collect::<Vec<_>>() {
                found.add(place(missing), || missing.wrong());
            }
            None
        }
    }
}

/// `member`, `inside` and `gateway` of all sites, or of one.
fn site_settings(found: &mut Found, of: &Section<'_>, titles: &Titles) -> SiteSettings {
    let mut settings = SiteSettings::default();
    if let Some(member) = section(found, of, "member", titles.member) {
        member.check_keys(found, MEMBER);
        settings.message_ns = time(found, &member, "message");
        settings.copy_rate = bytes_rate(found, &member, "rate");
    }
    if let Some(inside) = section(found, of, "inside", titles.inside) {
        inside.check_keys(found, INSIDE);
        settings.latency_ns = time(found, &inside, "latency");
        settings.rate = bytes_rate(found, &inside, "rate");
        settings.multicast_ns = time(found, &inside, "multicast");
    }
    if let Some(gateway) = section(found, of, "gateway", titles.gateway) {
        gateway.check_keys(found, GATEWAY);
        settings.out_ns = time(found, &gateway, "out");
        settings.in_ns = time(found, &gateway, "in");
    }
    settings
}

fn link_settings(found: &mut Found, of: &Section<'_>) -> LinkSettings {
    LinkSettings { latency_ns: time(found, of, "latency"), rate: bytes_rate(found, of, "rate") }
}

fn time(found: &mut Found, of: &Section<'_>, key: &str) -> Option<u64> {
    of.quantity(found, key, time_ns, bare_time, 0)
}

fn bytes_rate(found: &mut Found, of: &Section<'_>, key: &str) -> Option<Rate> {
    of.quantity(found, key, rate, bare_rate, Rate::LEAST)
}

/// What `sites`, or all `[[site]]`, say; nothing where that is a mistake.
fn site_plans(found: &mut Found, root: &Section<'_>) -> Vec<SitePlan> {
    let has_shape = root.get("sites").is_some();
    if root.get("site").is_some() {
        let plans = listed_sites(found, root);
        if has_shape {
            let fix = "keep sites = \"4x15\", or one [[site]] for each";
            found.add(root.place_of(&["sites"]), || {
                Wrong::new("the sites are given twice, as sites and as [[site]]", fix)
            });
        }
        return plans;
    }
    let shape = root.quantity(found, "sites", shape::read, bare_shape, Vec::new());
    if !has_shape {
        let fix = "write sites = \"4x15\" for four sites of 15 members";
        found.add(0, || Wrong::new("the platform has no sites and no members", fix));
    }
    shape.map(named).unwrap_or_default()
}

fn bare_shape() -> Wrong {
    let fix = "write \"4x15\" for four sites of 15 members, or \"3+10+22\" for three sites";
    Wrong::new("expected the members of each site, in quotes", fix)
}

fn listed_sites(found: &mut Found, root: &Section<'_>) -> Vec<SitePlan> {
    let list = sections(found, root, "site", "[[site]]");
    let place = root.place_of(&["site"]);
    if list.is_empty() && found.is_empty() {
        found.add(place, || shape::no_members("a platform without a [[site]]"));
    }
    if list.len() > SITES_MAX {
        found.add(place, shape::too_many_sites);
        return Vec::new();
    }
    let mut places = BTreeMap::new();
    let mut plans = Vec::with_capacity(list.len());
    for (index, section) in list.iter().enumerate() {
        section.check_keys(found, SITE);
        let name = section.name(found, "name").unwrap_or_else(|| shape::name(index));
        if places.insert(name.clone(), index).is_some() {
            found.add(section.place_of(&["name"]), || {
                let fix = "give each [[site]] a name of its own";
                Wrong::new(format!("there are two sites \"{name}\""), fix)
            });
        }
        let members = members(found, section);
        let own = site_settings(found, section, &OF_ONE);
        plans.push(SitePlan { name, members, own });
    }
    let total: u64 = plans.iter().map(|plan| u64::from(plan.members)).sum();
    if let Err(wrong) = shape::check_members(total) {
        found.add(place, || wrong);
    }
    plans
}

/// How many members a `[[site]]` has; one where that is a mistake.
fn members(found: &mut Found, section: &Section<'_>) -> u32 {
    let place = section.place_of(&["members"]);
    if section.get("members").is_none() {
        found.add(place, || Wrong::new("the [[site]] has no members", "write members = 15"));
        return 1;
    }
    let Some(members) = section.integer(found, "members", "15") else { return 1 };
    if members == 0 {
        found.add(place, || shape::no_members("the [[site]]"));
    }
    if let Err(wrong) = shape::check_members(members) {
        found.add(place, || wrong);
        return 1;
    }
    u32::try_from(members).unwrap_or(1)
}

/// What all `[[between.pair]]` say.
fn read_pairs(found: &mut Found, between: &Section<'_>, plans: &[SitePlan]) -> Pairs {
    let numbered = (0..).map(SiteNumber).zip(plans);
    let numbers: BTreeMap<&str, SiteNumber> =
        numbered.map(|(number, plan)| (plan.name.as_str(), number)).collect();
    let mut pairs = Pairs::new();
    for section in sections(found, between, "pair", "[[between.pair]]") {
        section.check_keys(found, PAIR);
        let settings = link_settings(found, &section);
        let is_both = section.boolean(found, "both").unwrap_or(false);
        let from = end(found, &section, "from", &numbers);
        let to = end(found, &section, "to", &numbers);
        let Some((from, to)) = from.zip(to) else { continue };
        if from == to {
            let fix = "members of one site use its [inside]";
            found.add(section.place_of(&["to"]), || {
                Wrong::new("this link leads from a site to itself", fix)
            });
            continue;
        }
        let back = is_both.then_some((to, from));
        for pair in std::iter::once((from, to)).chain(back) {
            if pairs.insert(pair, settings).is_some() {
                found.add(section.place, || {
                    let name = |site: SiteNumber| &plans[site.index()].name;
                    let ends = format!("from \"{}\" to \"{}\"", name(pair.0), name(pair.1));
                    let fix = "keep one [[between.pair]] for it; both = true is two links";
                    Wrong::new(format!("the link {ends} is given twice"), fix)
                });
            }
        }
    }
    pairs
}

/// One end of a pair.
fn end(
    found: &mut Found,
    section: &Section<'_>,
    key: &str,
    numbers: &BTreeMap<&str, SiteNumber>,
) -> Option<SiteNumber> {
    let place = section.place_of(&[key]);
    if section.get(key).is_none() {
        found.add(place, || {
            let message = format!("the [[between.pair]] has no \"{key}\"");
            Wrong::new(message, format!("write {key} = \"a\", the name of a site"))
        });
    }
    let name = section.string(found, key)?;
    let number = numbers.get(name).copied();
    // Sites that could not be read are told already.
    if number.is_none() && !numbers.is_empty() {
        found.add_incomplete(section.value_place(key), || {
            let message = format!("there is no site \"{}\"", shown(name));
            Wrong::unknown(message, name, numbers.keys().copied())
        });
    }
    number
}

fn kernels(found: &mut Found, root: &Section<'_>) -> BTreeMap<String, OperationCost> {
    let mut kernels = BTreeMap::new();
    let Some(section) = section(found, root, "kernels", "[kernels]") else { return kernels };
    for key in section.table.keys() {
        let name: &str = key.get_ref();
        if let Err(wrong) = check_name(name) {
            found.add(key.span().start, || wrong);
        }
        let least = OperationCost::LEAST;
        let cost = section.quantity(found, name, operation_cost, bare_time, least);
        kernels.extend(cost.map(|cost| (name.to_owned(), cost)));
    }
    kernels
}
