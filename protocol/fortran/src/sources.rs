//! Several sources that belong together: in which order they are read and compiled, and what all of
//! them define.

use std::collections::HashMap;

use crate::dialect::Dialect;
use crate::parse::parse;
use crate::source::{Statement, statements};
use crate::unit::Module;
use crate::{Includes, Problem, Source};

/// More sources are refused.
pub const SOURCES_MAX: usize = 10_000;

/// What was read of the sources.
pub struct Units<'a> {
    /// The sources, each behind those whose modules it uses.
    pub order: Vec<usize>,
    /// Modules and procedures, each with its source.
    pub modules: Vec<Module>,
    pub sources: Vec<&'a Source<'a>>,
    /// What was not understood.
    pub problems: Vec<Problem>,
}

impl<'a> Units<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// What keeps one of them from being read.
    pub fn read(
        sources: &'a [Source<'a>],
        includes: Includes<'_>,
        dialect: &Dialect,
    ) -> Result<Units<'a>, Problem> {
        let texts: Vec<Vec<Statement>> = sources
            .iter()
            .map(|one| {
                statements(one.text, one.form, &|name| includes(one.name, name))
                    .map_err(|problem| problem.of(one.name))
            })
            .collect::<Result<_, _>>()?;
        let order = order(sources, &texts, dialect);
        let mut known: Vec<Module> = Vec::new();
        let mut units = Units {
            order: order.clone(),
            modules: Vec::new(),
            sources: Vec::new(),
            problems: Vec::new(),
        };
        for number in order {
            let source = &sources[number];
            // Modules of one source may use one another: a second look knows them.
            let (first, _) = parse(&texts[number], source.form, dialect, &known);
            known.extend(first.into_iter().filter(|module| !module.name.is_empty()));
            let (modules, problems) = parse(&texts[number], source.form, dialect, &known);
            units.problems.extend(problems.into_iter().map(|problem| problem.of(source.name)));
            units.sources.extend(modules.iter().map(|_| source));
            units.modules.extend(modules);
        }
        Ok(units)
    }
}

/// Each source behind those whose modules it uses; otherwise as they were given.
fn order(sources: &[Source<'_>], texts: &[Vec<Statement>], dialect: &Dialect) -> Vec<usize> {
    let each = texts.iter().zip(sources);
    let read: Vec<Vec<Module>> =
        each.map(|(text, one)| parse(text, one.form, dialect, &[]).0).collect();
    let mut homes: HashMap<&str, usize> = HashMap::new();
    for (number, modules) in read.iter().enumerate() {
        for module in modules.iter().filter(|module| !module.name.is_empty()) {
            homes.entry(&module.name).or_insert(number);
        }
    }
    let needs = |number: usize| {
        read[number].iter().flat_map(|module| {
            module.uses.iter().chain(module.procedures.iter().flat_map(|one| &one.state.uses))
        })
    };
    let mut order = Vec::with_capacity(sources.len());
    let mut is_placed = vec![false; sources.len()];
    while order.len() < sources.len() {
        let before = order.len();
        for number in 0..sources.len() {
            let waits = needs(number).any(|name| {
                homes.get(name.as_str()).is_some_and(|home| *home != number && !is_placed[*home])
            });
            if !is_placed[number] && !waits {
                is_placed[number] = true;
                order.push(number);
            }
        }
        if order.len() == before {
            // Modules that use one another in a circle: the compiler says so.
            order.extend((0..sources.len()).filter(|number| !is_placed[*number]));
        }
    }
    order
}
