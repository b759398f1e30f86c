//! Which arguments a procedure reads and sets, where no INTENT says so: from its body, and from
//! those of the procedures that it calls.

use std::collections::HashMap;

use crate::body::{Position, Use};
use crate::unit::{Intent, Module, Procedure};

/// Rounds after which whatever is not known stays unknown: each follows calls one step further.
const ROUNDS_MAX: usize = 16;

/// What is known of the arguments of procedures, by the procedure's name and the argument's.
#[derive(Clone, Debug, Default)]
pub struct Directions {
    known: HashMap<String, HashMap<String, Intent>>,
}

impl Directions {
    /// Of all procedures of some modules.
    pub fn of(modules: &[Module]) -> Directions {
        let procedures: Vec<&Procedure> =
            modules.iter().flat_map(|module| &module.procedures).collect();
        let by_name: HashMap<&str, &Procedure> =
            procedures.iter().map(|one| (one.name.as_str(), *one)).collect();
        let mut directions = Directions::default();
        for _ in 0..ROUNDS_MAX {
            let mut found = 0;
            for procedure in &procedures {
                for dummy in &procedure.dummies {
                    if directions.get(procedure, dummy).is_none()
                        && let Some(intent) = directions.infer(&by_name, procedure, dummy)
                    {
                        let of = directions.known.entry(procedure.name.clone()).or_default();
                        of.insert(dummy.clone(), intent);
                        found += 1;
                    }
                }
            }
            if found == 0 {
                break;
            }
        }
        directions
    }

    /// What the procedure does with an argument, as far as that is certain.
    pub fn get(&self, procedure: &Procedure, dummy: &str) -> Option<Intent> {
        let declared = procedure.declared.get(dummy);
        let said = declared.and_then(|one| match one.intent {
            None if one.by_value || one.external => Some(Intent::In),
            intent => intent,
        });
        said.or_else(|| self.known.get(&procedure.name)?.get(dummy).copied())
    }

    fn infer(
        &self,
        by_name: &HashMap<&str, &Procedure>,
        procedure: &Procedure,
        dummy: &str,
    ) -> Option<Intent> {
        if procedure.is_separate || !procedure.body.is_there {
            return None;
        }
        let Some(seen) = procedure.body.uses.get(dummy) else { return Some(Intent::In) };
        if seen.unclear {
            return None;
        }
        let (read, written) = self.read_and_written(by_name, procedure, seen)?;
        Some(match (read, written) {
            (_, false) => Intent::In,
            (_, true) if seen.set_first => Intent::Out,
            _ => Intent::InOut,
        })
    }

    /// Whether a name is read, and whether it is written, by a procedure and those that it passes
    /// it to; `None` where one of them is not known.
    pub fn read_and_written(
        &self,
        by_name: &HashMap<&str, &Procedure>,
        procedure: &Procedure,
        seen: &Use,
    ) -> Option<(bool, bool)> {
        let Use { mut read, mut written, .. } = *seen;
        for (callee, position) in &seen.passed {
            let own = procedure.interfaces.iter().find(|one| one.name == *callee);
            let callee =
                own.map(AsRef::as_ref).or_else(|| by_name.get(callee.as_str()).copied())?;
            let dummy = match position {
                Position::Number(number) => callee.dummies.get(*number)?,
                Position::Keyword(word) => callee.dummies.iter().find(|one| *one == word)?,
            };
            let intent = self.get(callee, dummy)?;
            read |= intent != Intent::Out;
            written |= intent != Intent::In;
        }
        Some((read, written))
    }
}
