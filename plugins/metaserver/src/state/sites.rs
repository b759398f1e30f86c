//! Sites by their names. Clients name their own, so that these are bounded.

use std::collections::BTreeMap;

use farcall_placement::SiteId;

/// Sites with numbers of their own; all others share one.
const SITES_MAX: usize = 4096;
/// Bytes of a name that tell sites apart.
const NAME_MAX: usize = 256;
/// Where those are that found no place.
const OTHERS: SiteId = SiteId(0);

/// All that were named.
#[derive(Debug, Default)]
pub struct Sites {
    named: BTreeMap<String, SiteId>,
    /// By number, from one on.
    names: Vec<String>,
}

impl Sites {
    /// The site of a host; `site` is empty for the host alone. What users say of themselves is told
    /// apart by `whose`: nobody speaks for another's paths.
    pub fn of(&mut self, host: &str, site: &str, whose: &str) -> SiteId {
        let name = if site.is_empty() { host } else { site };
        let name: String = name.chars().filter(|c| *c != '\0').take(NAME_MAX).collect();
        let key = if whose.is_empty() { name } else { format!("{name}\0{whose}") };
        if let Some(known) = self.named.get(&key) {
            return *known;
        }
        if self.named.len() >= SITES_MAX {
            return OTHERS;
        }
        let number = u32::try_from(self.named.len() + 1).unwrap_or(0);
        self.names.push(key.clone());
        self.named.insert(key, SiteId(number));
        SiteId(number)
    }

    /// The site of a server. The way to one that clients reach through this node alone is another
    /// way than that to its neighbors.
    pub fn of_server(&mut self, host: &str, site: &str, is_relayed: bool) -> SiteId {
        if !is_relayed {
            return self.of(host, site, "");
        }
        let name = if site.is_empty() { host } else { site };
        self.of(&format!("{name} (relayed)"), "", "")
    }

    /// What a site is called; nothing for what a user says of itself, and for those that found no
    /// place.
    pub fn name(&self, site: SiteId) -> Option<&str> {
        let at = usize::try_from(site.0).ok()?.checked_sub(1)?;
        self.names.get(at).map(String::as_str).filter(|name| !name.contains('\0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_its_name_or_its_host_and_each_user_has_its_own() {
        let mut sites = Sites::default();
        let hall = sites.of("a", "hall", "");
        assert_eq!(sites.of("b", "hall", ""), hall);
        assert_ne!(sites.of("a", "", ""), sites.of("b", "", ""));
        assert_eq!((sites.name(hall), sites.name(SiteId(9))), (Some("hall"), None));
        let own = sites.of("a", "hall", "eve");
        assert_ne!(own, hall);
        assert_eq!(sites.name(own), None);
    }

    #[test]
    fn beyond_the_bound_all_share_one() {
        let mut sites = Sites::default();
        let all = (0..2 * SITES_MAX).map(|number| sites.of(&number.to_string(), "", "eve"));
        assert_eq!(all.filter(|site| *site == OTHERS).count(), SITES_MAX);
    }
}
