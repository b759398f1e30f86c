//! State that routines share: COMMON blocks, variables of modules, variables with SAVE. Calls run
//! in several processes, so that one call need not find what another one has set.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::Problem;
use crate::body::Use;
use crate::draft::Routine;
use crate::draft::directions::Directions;
use crate::unit::{Module, Procedure};

/// Procedures that a call is followed to.
const CALLEES_MAX: usize = 256;

/// Pieces of state that are named.
const SHOWN_MAX: usize = 6;

/// Routines that belong together, by their places in the list that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub routines: Vec<usize>,
    /// What they share, for people: `COMMON /MAT/`.
    pub shared: Vec<String>,
}

impl Group {
    /// Whether its routines become methods of one class: a single one has objects only if somebody
    /// wants to keep its state.
    pub fn is_class(&self, routines: &[Routine]) -> bool {
        self.routines.len() > 1
            && self.routines.iter().any(|one| routines[*one].problems.is_empty())
    }

    fn names(&self, routines: &[Routine]) -> String {
        let names: Vec<&str> =
            self.routines.iter().map(|one| routines[*one].name.as_str()).collect();
        names.join(", ")
    }

    fn shared_names(&self) -> String {
        let shown = self.shared.iter().take(SHOWN_MAX).map(String::as_str).collect::<Vec<_>>();
        match self.shared.len().checked_sub(SHOWN_MAX) {
            None | Some(0) => shown.join(", "),
            Some(more) => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// What is said of them.
    pub fn note(&self, routines: &[Routine]) -> Problem {
        let names = self.names(routines);
        let shared = self.shared_names();
        let first = &routines[self.routines[0]];
        let message = match self.routines.len() {
            1 => format!(
                "{names} keeps state from one call to the next ({shared}), and calls may run in \
                 different processes: publish a class (DefClass) if a call needs what an earlier \
                 one has set"
            ),
            _ => format!(
                "{names} share {shared}, and calls may run in different processes: drafted as \
                 methods of the class {}, so that the calls of one object share one process",
                self.class_name(routines)
            ),
        };
        Problem::new(first.line, message).of(&first.file)
    }

    /// The class.
    pub fn text(&self, routines: &[Routine]) -> String {
        let mut text = format!(
            "\n/* These routines share {}. Calls run in several processes: those of one object in \
             one. */\nDefClass {} {{\n",
            self.shared_names(),
            self.class_name(routines)
        );
        for (place, number) in self.routines.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            for line in routines[*number].text("DefMethod").lines() {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text + "}\n"
    }

    /// What a class of these routines may be called.
    pub fn class_name(&self, routines: &[Routine]) -> String {
        let mut words = self.shared[0].split([' ', '/']).filter(|word| !word.is_empty());
        let mut name = words.next_back().unwrap_or("state").to_ascii_lowercase().replace('$', "_");
        while routines.iter().any(|one| one.name == name) {
            name.push_str("_state");
        }
        name
    }
}

/// A piece of state, for people.
type Item = String;

/// What one procedure does with state.
#[derive(Clone, Debug, Default)]
struct Touch {
    reads: BTreeSet<Item>,
    writes: BTreeSet<Item>,
}

impl Touch {
    /// `passed`: whether it is read, and written, by those that it is passed to, too; `None` where
    /// one of them is not known.
    fn add(&mut self, item: &str, seen: &Use, passed: Option<(bool, bool)>) {
        let (read, written) = if seen.unclear { None } else { passed }.unwrap_or((true, true));
        // What is set before it is read comes from no other call.
        if read && !seen.set_first {
            self.reads.insert(item.to_owned());
        }
        if written {
            self.writes.insert(item.to_owned());
        }
    }

    fn include(&mut self, other: &Touch) {
        self.reads.extend(other.reads.iter().cloned());
        self.writes.extend(other.writes.iter().cloned());
    }
}

/// All that a source's procedures may reach.
pub struct Shared<'a> {
    modules: &'a [Module],
    directions: &'a Directions,
    homes: HashMap<&'a str, &'a Module>,
    by_name: HashMap<&'a str, &'a Procedure>,
}

impl<'a> Shared<'a> {
    pub fn of(modules: &'a [Module], directions: &'a Directions) -> Shared<'a> {
        let mut homes = HashMap::new();
        let mut by_name = HashMap::new();
        for module in modules {
            for procedure in &module.procedures {
                homes.insert(procedure.name.as_str(), module);
                by_name.insert(procedure.name.as_str(), procedure);
            }
        }
        Shared { modules, directions, homes, by_name }
    }

    /// The groups of procedures of which some read what others, or earlier calls, have set.
    pub fn groups(&self, procedures: &[(&'a Module, &'a Procedure)]) -> Vec<Group> {
        let listed: BTreeSet<&str> = procedures.iter().map(|(_, one)| one.name.as_str()).collect();
        let touches: Vec<Touch> = procedures
            .iter()
            .map(|(module, procedure)| {
                let mut touch = self.own(module, procedure, true);
                self.follow(procedure, &listed, &mut BTreeSet::new(), &mut touch);
                touch
            })
            .collect();
        let mut items: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (number, touch) in touches.iter().enumerate() {
            for item in touch.reads.union(&touch.writes) {
                items.entry(item).or_default().insert(number);
            }
        }
        items.retain(|item, _| {
            touches.iter().any(|one| one.writes.contains(*item))
                && touches.iter().any(|one| one.reads.contains(*item))
        });
        joined(items)
    }

    /// Adds what the procedures that it calls read and set. What one that is listed itself keeps
    /// is its own matter: libraries have one for messages, say, that all others call.
    fn follow(
        &self,
        procedure: &'a Procedure,
        listed: &BTreeSet<&str>,
        seen: &mut BTreeSet<&'a str>,
        touch: &mut Touch,
    ) {
        if seen.len() == CALLEES_MAX || !seen.insert(&procedure.name) {
            return;
        }
        for (name, used) in &procedure.body.uses {
            if used.called.is_some()
                && let Some(callee) = self.by_name.get(name.as_str())
            {
                let home = self.homes[name.as_str()];
                touch.include(&self.own(home, callee, !listed.contains(name.as_str())));
                self.follow(callee, listed, seen, touch);
            }
        }
    }

    fn own(&self, module: &Module, procedure: &Procedure, with_kept: bool) -> Touch {
        let mut touch = Touch::default();
        let seen = |name: &str| procedure.body.uses.get(name);
        let passed = |seen: &Use| self.directions.read_and_written(&self.by_name, procedure, seen);
        for (block, name) in &procedure.state.commons {
            if let Some(seen) = seen(name) {
                touch.add(&format!("COMMON /{}/", block.to_uppercase()), seen, passed(seen));
            }
        }
        for (name, home) in self.variables(module, procedure) {
            if let Some(seen) = seen(name) {
                touch.add(&format!("variable {name} of module {}", home.name), seen, passed(seen));
            }
        }
        for (name, seen) in &procedure.body.uses {
            if with_kept && keeps(procedure, name) {
                touch.add(&format!("variable {name} of {}", procedure.name), seen, passed(seen));
            }
        }
        touch
    }

    /// Variables of the procedure's own module and of those that it uses, where no name of its own
    /// hides them.
    fn variables<'b>(
        &'b self,
        module: &'b Module,
        procedure: &'b Procedure,
    ) -> impl Iterator<Item = (&'b str, &'b Module)> {
        let all = self.modules.iter().filter(|home| !home.name.is_empty());
        let seen = all.filter(|home| {
            home.name == module.name
                || procedure.state.uses.contains(&home.name)
                || module.uses.contains(&home.name)
        });
        seen.flat_map(|home| home.variables.iter().map(move |name| (name.as_str(), home)))
            .filter(|(name, _)| !procedure.declared.contains_key(*name))
            .filter(|(name, _)| !procedure.dummies.iter().any(|dummy| dummy == name))
    }
}

/// Whether a local variable has at the next call the value that it has at the end of this one.
fn keeps(procedure: &Procedure, name: &str) -> bool {
    let state = &procedure.state;
    let listed = || state.saved.iter().any(|one| one == name);
    let is_called = procedure.body.uses.get(name).is_some_and(|seen| seen.called.is_some());
    let is_local = !is_called
        && !procedure.dummies.iter().any(|dummy| dummy == name)
        && procedure.result.as_deref() != Some(name)
        && !procedure.constants.contains_key(name)
        && !state.commons.iter().any(|(_, one)| one == name);
    is_local && (state.saves_all || listed())
}

/// Puts items together whose procedures overlap.
fn joined(items: BTreeMap<&str, BTreeSet<usize>>) -> Vec<Group> {
    let mut groups: Vec<(BTreeSet<usize>, Vec<String>)> = Vec::new();
    for (item, routines) in items {
        let (touching, mut rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(known, _)| !known.is_disjoint(&routines));
        let mut all = (routines, Vec::new());
        for (known, shared) in touching {
            all.0.extend(known);
            all.1.extend(shared);
        }
        all.1.push(item.to_owned());
        rest.push(all);
        groups = rest;
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(routines, shared)| Group { routines: routines.into_iter().collect(), shared })
        .collect();
    groups.sort_by_key(|group| group.routines[0]);
    groups
}
