//! What a name leads to: a routine of this node, or one that only others publish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farcall_idl::interface::Interface;
use farcall_services::directory::{ElsewhereRoutine, PublishedRoutine, Reach};

/// Digits of a hash that choose between contracts, at least.
const DIGITS_LEAST: usize = 8;

/// A routine, wherever it is.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    Here(Arc<PublishedRoutine>),
    Elsewhere(Arc<ElsewhereRoutine>),
}

impl Found {
    pub(crate) fn interface(&self) -> &Interface {
        match self {
            Found::Here(routine) => &routine.routine.interface,
            Found::Elsewhere(routine) => &routine.interface,
        }
    }

    pub(crate) fn is(&self, other: &Found) -> bool {
        match (self, other) {
            (Found::Here(one), Found::Here(other)) => Arc::ptr_eq(one, other),
            (Found::Elsewhere(one), Found::Elsewhere(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// What others publish: by module and name, all contracts, the one that most servers have first; and
/// the modules that have each bare name.
#[derive(Default)]
pub(crate) struct Elsewhere {
    modules: BTreeMap<String, BTreeMap<String, Vec<Arc<ElsewhereRoutine>>>>,
    by_name: BTreeMap<String, BTreeSet<String>>,
}

impl Elsewhere {
    /// All that there is; none of it is more than `routines_max`.
    pub(crate) fn new(routines: Vec<ElsewhereRoutine>, routines_max: usize) -> Elsewhere {
        let mut all = Elsewhere::default();
        for routine in routines.into_iter().take(routines_max).map(Arc::new) {
            let interface = &routine.interface;
            for name in std::iter::once(&interface.name).chain(&interface.aliases) {
                let module = all.modules.entry(interface.module.clone()).or_default();
                module.entry(name.clone()).or_default().push(routine.clone());
                let modules = all.by_name.entry(name.clone()).or_default();
                modules.insert(interface.module.clone());
            }
        }
        for contracts in all.modules.values_mut().flat_map(BTreeMap::values_mut) {
            contracts.sort_by(|a, b| b.servers.cmp(&a.servers).then(a.contract.cmp(&b.contract)));
        }
        all
    }

    /// All contracts under one name.
    pub(crate) fn contracts(&self, module: &str, name: &str) -> &[Arc<ElsewhereRoutine>] {
        self.modules.get(module).and_then(|names| names.get(name)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn module_names(&self) -> impl Iterator<Item = &str> {
        self.modules.keys().map(String::as_str)
    }

    pub(crate) fn names_in(&self, module: &str) -> impl Iterator<Item = &str> {
        self.modules.get(module).into_iter().flat_map(|names| names.keys().map(String::as_str))
    }

    /// Bare names, each with the modules that have it.
    pub(crate) fn by_name(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.by_name
    }

    /// All routines, by module and name; not once more for each alias.
    pub(crate) fn routines(&self) -> impl Iterator<Item = &Arc<ElsewhereRoutine>> {
        let named = self.modules.values().flatten();
        named.flat_map(|(name, contracts)| {
            contracts.iter().filter(move |routine| routine.interface.name == *name)
        })
    }
}

/// Of several contracts under one name the one that most servers have; of equals the one with the
/// lower hash. This node is one of the servers.
pub(crate) fn choose(
    own: Option<&Arc<PublishedRoutine>>,
    others: &[Arc<ElsewhereRoutine>],
    reach: Reach,
) -> Option<Found> {
    let Some(own) = own else { return others.first().cloned().map(Found::Elsewhere) };
    let same = others.iter().find(|other| other.contract == own.contract);
    let servers = 1 + same.map_or(0, |same| same.servers);
    let rival = others.iter().find(|other| other.contract != own.contract);
    match rival.filter(|_| reach == Reach::Everywhere) {
        Some(rival)
            if rival.servers > servers
                || (rival.servers == servers && rival.contract < own.contract) =>
        {
            Some(Found::Elsewhere(rival.clone()))
        }
        _ => Some(Found::Here(own.clone())),
    }
}

/// A module and the first digits of a hash, of `module@HASH`.
pub(crate) fn versioned(module: &str) -> Option<(&str, &str)> {
    let (module, digits) = module.rsplit_once('@')?;
    let is_hash = (DIGITS_LEAST..=64).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some((module, digits))
}

/// Whether a hash begins with these digits.
pub(crate) fn begins_with(hash: &[u8; 32], digits: &str) -> bool {
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.chars().map(|digit| digit.to_digit(16));
    digits.zip(nibbles).all(|(digit, nibble)| digit == Some(u32::from(nibble)))
}
