//! The directory's tables: modules, and the index of bare names over all of them. Pure.

mod found;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result};
use farcall_services::directory::{
    ElsewhereRoutine, GoneModule, PublishedModule, PublishedRoutine, Reach, Visible,
};
use serde::Deserialize;

pub(crate) use found::{Elsewhere, Found};
use found::{begins_with, choose, versioned};

/// The limits of the manifest; options.toml says what each means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) modules_max: usize,
    pub(crate) routines_max: usize,
    pub(crate) names_per_routine_max: usize,
    pub(crate) interface_bytes_max: usize,
    pub(crate) requests_max: usize,
    pub(crate) watches_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            modules_max: 256,
            routines_max: 10_000,
            names_per_routine_max: 16,
            interface_bytes_max: 1 << 20,
            requests_max: 1024,
            watches_max: 64,
        }
    }
}

/// What is published.
///
/// Invariants: `by_name` holds exactly the names and aliases of all routines, each with the modules
/// that have it; `routine_count` is the number of routines in all modules; every generation handed
/// out is at most `generation`; every publication and withdrawal has a revision of its own, and
/// ends all `watches`.
pub(crate) struct State {
    pub(crate) limits: Limits,
    generation: u64,
    pub(crate) revision: u64,
    /// Requests that wait for the next revision.
    pub(crate) watches: Vec<u64>,
    routine_count: usize,
    modules: BTreeMap<String, ModuleEntry>,
    by_name: BTreeMap<String, BTreeSet<String>>,
    /// What others publish.
    pub(crate) elsewhere: Elsewhere,
    /// What was published before the server was started again, and is not since.
    pub(crate) gone: Vec<GoneModule>,
}

/// A module's routines: in order of publication, and by each of their names.
pub(crate) struct ModuleEntry {
    pub(crate) module: Arc<PublishedModule>,
    pub(crate) routines: Vec<Arc<PublishedRoutine>>,
    pub(crate) by_name: BTreeMap<String, Arc<PublishedRoutine>>,
}

impl State {
    pub(crate) fn new(limits: Limits) -> Self {
        let modules = BTreeMap::new();
        let by_name = BTreeMap::new();
        State {
            limits,
            generation: 0,
            revision: 0,
            watches: Vec::new(),
            routine_count: 0,
            modules,
            by_name,
            elsewhere: Elsewhere::default(),
            gone: Vec::new(),
        }
    }

    /// A number no publication had before.
    pub(crate) fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Whether `count` routines fit in place of what `module` has now.
    pub(crate) fn check_room(&self, module: &str, count: usize) -> Result<()> {
        let old = self.modules.get(module);
        let modules = self.modules.len() + usize::from(old.is_none());
        let routines = self.routine_count - old.map_or(0, |old| old.routines.len()) + count;
        for (key, wanted, limit) in [
            ("modules_max", modules, self.limits.modules_max),
            ("routines_max", routines, self.limits.routines_max),
        ] {
            if wanted > limit {
                let message =
                    format!("{wanted} would be more than the directory's {key} = {limit}");
                let error = Error::new(ErrorKind::LimitExceeded, "publish a module", message)
                    .with("module", module);
                return Err(error
                    .fix(format!("raise {key} in the configuration file, or withdraw a module")));
            }
        }
        Ok(())
    }

    /// Puts a module in, in place of an older version of it.
    pub(crate) fn insert(&mut self, entry: ModuleEntry) {
        let module = entry.module.name.clone();
        self.remove(&module);
        self.gone.retain(|gone| gone.module != module);
        self.routine_count += entry.routines.len();
        for name in entry.by_name.keys() {
            self.by_name.entry(name.clone()).or_default().insert(module.clone());
        }
        self.modules.insert(module, entry);
    }

    /// Takes a module out; says whether it was there.
    pub(crate) fn remove(&mut self, module: &str) -> bool {
        let Some(entry) = self.modules.remove(module) else { return false };
        self.routine_count -= entry.routines.len();
        for name in entry.by_name.keys() {
            let Some(modules) = self.by_name.get_mut(name) else { continue };
            modules.remove(module);
            if modules.is_empty() {
                self.by_name.remove(name);
            }
        }
        true
    }

    /// What somebody may know of it.
    pub(crate) fn seen<'a>(&'a self, visible: &'a Visible, reach: Reach) -> Seen<'a> {
        Seen { state: self, visible, reach }
    }

    /// All routines, by module, in order of publication.
    pub(crate) fn routines(&self) -> impl Iterator<Item = &Arc<PublishedRoutine>> {
        self.modules.values().flat_map(|entry| &entry.routines)
    }
}

/// What is published, without the modules that whoever asks may not know of.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    state: &'a State,
    visible: &'a Visible,
    reach: Reach,
}

impl<'a> Seen<'a> {
    fn module(self, name: &str) -> Option<&'a ModuleEntry> {
        self.state.modules.get(name).filter(|_| self.visible.shows(name))
    }

    /// The module that had a routine of this name, in full or bare, or that had this name itself,
    /// and is not published any more.
    pub(crate) fn gone(self, name: &str) -> Option<&'a GoneModule> {
        let is_meant = |gone: &&GoneModule| match name.split_once('/') {
            Some((module, _)) => gone.module == module,
            None => gone.module == name || gone.routines.iter().any(|routine| routine == name),
        };
        let mut seen = self.state.gone.iter().filter(|gone| self.visible.shows(&gone.module));
        seen.find(is_meant)
    }

    /// Whether all modules are seen.
    pub(crate) fn is_whole(self) -> bool {
        *self.visible == Visible::All
    }

    fn others(self, module: &str, name: &str) -> &'a [Arc<ElsewhereRoutine>] {
        match self.visible.shows(module) {
            true => self.state.elsewhere.contracts(module, name),
            false => &[],
        }
    }

    /// The routine of this node called `name` (or by that alias) in `module`.
    pub(crate) fn own(self, module: &str, name: &str) -> Option<&'a Arc<PublishedRoutine>> {
        self.module(module)?.by_name.get(name)
    }

    /// The routine called `name` (or by that alias) in `module`, or in the version of it that a
    /// hash names.
    pub(crate) fn routine(self, module: &str, name: &str) -> Option<Found> {
        let found = choose(self.own(module, name), self.others(module, name), self.reach);
        found.or_else(|| {
            let (module, digits) = versioned(module)?;
            let own = self.own(module, name).filter(|own| begins_with(&own.contract, digits));
            let mut others = self.others(module, name).iter();
            let mut other = || others.find(|other| begins_with(&other.contract, digits));
            let here = own.cloned().map(Found::Here);
            here.or_else(|| other().cloned().map(Found::Elsewhere))
        })
    }

    /// A method of a class that only others publish.
    pub(crate) fn method_elsewhere(
        self,
        module: &str,
        class: &str,
    ) -> Option<&'a Arc<ElsewhereRoutine>> {
        let mut routines = self.state.elsewhere.routines();
        routines.find(|routine| {
            let interface = &routine.interface;
            let is_method = interface.method().is_some() && interface.class == class;
            is_method && interface.module == module && self.visible.shows(module)
        })
    }

    /// What only others publish, and somebody may know of.
    pub(crate) fn only_elsewhere(self) -> impl Iterator<Item = &'a Arc<ElsewhereRoutine>> {
        let seen = self.state.elsewhere.routines();
        seen.filter(move |routine| {
            let interface = &routine.interface;
            let own = self.own(&interface.module, &interface.name);
            self.visible.shows(&interface.module)
                && own.is_none_or(|own| own.contract != routine.contract)
        })
    }

    /// The methods of a class, in order of publication; none of what is no class.
    pub(crate) fn methods(self, module: &str, class: &str) -> Vec<&'a Arc<PublishedRoutine>> {
        let routines = self.module(module).map(|entry| entry.routines.iter());
        let is_method = |routine: &&Arc<PublishedRoutine>| {
            routine.routine.interface.method().is_some() && routine.routine.interface.class == class
        };
        routines.into_iter().flatten().filter(is_method).collect()
    }

    /// The modules that have a class of this name.
    pub(crate) fn modules_with_class(self, class: &str) -> Vec<&'a str> {
        self.module_names().filter(|module| !self.methods(module, class).is_empty()).collect()
    }

    /// All routines with this bare name or alias, by module.
    pub(crate) fn routines_called(self, name: &str) -> Vec<Found> {
        let own = self.state.by_name.get(name);
        let others = self.state.elsewhere.by_name().get(name);
        let modules: BTreeSet<&String> = own.into_iter().chain(others).flatten().collect();
        modules.into_iter().filter_map(|module| self.routine(module, name)).collect()
    }

    /// The names of all modules.
    pub(crate) fn module_names(self) -> impl Iterator<Item = &'a str> {
        let own = self.state.modules.keys().map(String::as_str);
        let all: BTreeSet<&str> = own.chain(self.state.elsewhere.module_names()).collect();
        all.into_iter().filter(move |module| self.visible.shows(module))
    }

    /// All bare names and aliases.
    pub(crate) fn bare_names(self) -> impl Iterator<Item = &'a str> {
        let is_seen = move |modules: &BTreeSet<String>| {
            modules.iter().any(|module| self.visible.shows(module))
        };
        let all = self.state.by_name.iter().chain(self.state.elsewhere.by_name());
        let seen = all.filter(move |(_, modules)| is_seen(modules));
        let names: BTreeSet<&str> = seen.map(|(name, _)| name.as_str()).collect();
        names.into_iter()
    }

    /// The names and aliases within one module; none for an unknown module.
    pub(crate) fn names_in(self, module: &str) -> impl Iterator<Item = &'a str> {
        let own = self.module(module).into_iter().flat_map(|entry| entry.by_name.keys());
        let others = self.state.elsewhere.names_in(module);
        let others = others.filter(|_| self.visible.shows(module));
        let names: BTreeSet<&str> = own.map(String::as_str).chain(others).collect();
        names.into_iter()
    }
}
