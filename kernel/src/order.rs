//! The order in which plugins start: every need before who needs it. Pure.

use std::collections::BTreeMap;

use farcall_base::{Error, ErrorKind, Result};

use crate::plugin::SlotName;

/// What the order depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) provides: &'static [SlotName],
    pub(crate) needs: &'static [SlotName],
    pub(crate) uses: &'static [SlotName],
}

/// Indexes into `parts` in starting order; parts that do not depend on one another keep the
/// manifest's order. The slots in `given` are filled from the start.
pub(crate) fn starting_order(parts: &[Part], given: &[SlotName]) -> Result<Vec<usize>> {
    let filled = fill_slots(parts, given)?;
    let providers = find_providers(parts, &filled, given)?;
    let mut order = Vec::with_capacity(parts.len());
    while order.len() < parts.len() {
        let ready = |index: &usize| {
            !order.contains(index) && providers[*index].iter().all(|need| order.contains(need))
        };
        match (0..parts.len()).find(ready) {
            Some(index) => order.push(index),
            None => return Err(circle(parts, &providers, &order)),
        }
    }
    Ok(order)
}

/// Which part fills each slot.
fn fill_slots(parts: &[Part], given: &[SlotName]) -> Result<BTreeMap<SlotName, usize>> {
    let mut filled = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        for slot in part.provides {
            if given.contains(slot) {
                let message =
                    format!("slot \"{slot}\" is filled twice, by the binary and by {}", part.name);
                return Err(wrong(message).fix("leave the plugin out of the manifest"));
            }
            if let Some(first) = filled.insert(*slot, index) {
                let message = format!(
                    "slot \"{slot}\" is filled twice, by {} and by {}",
                    parts[first].name, part.name
                );
                return Err(wrong(message).fix("remove one of them from the configuration file"));
            }
        }
    }
    Ok(filled)
}

/// For each part, the parts it needs.
fn find_providers(
    parts: &[Part],
    filled: &BTreeMap<SlotName, usize>,
    given: &[SlotName],
) -> Result<Vec<Vec<usize>>> {
    let provider = |part: &Part, slot: &SlotName| {
        let message = || {
            format!(
                "plugin {} needs slot \"{slot}\", which no plugin of the configuration file fills",
                part.name
            )
        };
        filled
            .get(slot)
            .copied()
            .ok_or_else(|| wrong(message()).fix(format!("add a [[plugin]] with slot = \"{slot}\"")))
    };
    let needs = |part: &Part| part.needs.iter().filter(|slot| !given.contains(slot));
    let uses = |part: &Part| part.uses.iter().filter_map(|slot| filled.get(slot).copied().map(Ok));
    let all = |part: &Part| {
        let needed = needs(part).map(|slot| provider(part, slot));
        needed.chain(uses(part)).collect()
    };
    parts.iter().map(all).collect()
}

/// Follows needs among the parts that cannot start until one comes again.
fn circle(parts: &[Part], providers: &[Vec<usize>], started: &[usize]) -> Error {
    let stuck = |index: &usize| !started.contains(index);
    let mut path: Vec<usize> = Vec::new();
    let mut next = (0..parts.len()).find(stuck);
    while let Some(index) = next {
        if let Some(first) = path.iter().position(|seen| *seen == index) {
            path.drain(..first);
            path.push(index);
            break;
        }
        path.push(index);
        next = providers[index].iter().copied().find(stuck);
    }
    let names: Vec<&str> = path.iter().map(|index| parts[*index].name).collect();
    wrong(format!("plugins depend on each other in a circle: {}", names.join(" needs ")))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidSource, "order the plugins", message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const fn part(
        name: &'static str,
        provides: &'static [SlotName],
        needs: &'static [SlotName],
    ) -> Part {
        Part { name, provides, needs, uses: &[] }
    }

    fn names(parts: &[Part]) -> Vec<&'static str> {
        starting_order(parts, &[]).unwrap().into_iter().map(|index| parts[index].name).collect()
    }

    #[test]
    fn needs_come_first_and_the_rest_keeps_its_order() {
        let parts =
            [part("server", &["rpc"], &["directory", "spawner"]), part("b", &["directory"], &[])];
        let parts =
            [parts[0], parts[1], part("c", &["spawner"], &["directory"]), part("d", &[], &[])];
        assert_eq!(names(&parts), ["b", "c", "server", "d"]);
    }

    #[test]
    fn what_is_used_comes_first_where_it_is_there() {
        let uses = Part { uses: &["store"], ..part("a", &["x"], &[]) };
        assert_eq!(names(&[uses, part("b", &["store"], &[])]), ["b", "a"]);
        assert_eq!(names(&[uses]), ["a"]);
    }

    #[test]
    fn a_slot_filled_twice_names_both() {
        let error =
            starting_order(&[part("a", &["x"], &[]), part("b", &["x"], &[])], &[]).unwrap_err();
        assert!(error.to_string().contains("slot \"x\" is filled twice, by a and by b"), "{error}");
    }

    #[test]
    fn what_is_given_is_there_and_filled_once() {
        let needs = part("a", &[], &["transports"]);
        assert_eq!(starting_order(&[needs], &["transports"]).unwrap(), [0]);
        let error =
            starting_order(&[part("a", &["transports"], &[])], &["transports"]).unwrap_err();
        assert!(error.to_string().contains("filled twice, by the binary and by a"), "{error}");
    }

    #[test]
    fn a_missing_slot_names_who_needs_it() {
        let error = starting_order(&[part("a", &[], &["directory"])], &[]).unwrap_err();
        assert!(error.to_string().contains("plugin a needs slot \"directory\""), "{error}");
        assert_eq!(error.advice(), Some("add a [[plugin]] with slot = \"directory\""));
    }

    #[test]
    fn a_circle_is_spelt_out() {
        let parts =
            [part("a", &["a"], &["b"]), part("b", &["b"], &["c"]), part("c", &["c"], &["b"])];
        let error = starting_order(&parts, &[]).unwrap_err();
        assert!(error.message().ends_with("circle: b needs c needs b"), "{error}");
        let alone = starting_order(&[part("a", &["a"], &["a"])], &[]).unwrap_err();
        assert!(alone.message().ends_with("circle: a needs a"), "{alone}");
    }
}
