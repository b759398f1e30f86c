//! Checks that the tables of faults are true: every guard stands in its file, and every test is
//! one.

use std::fs;

use crate::scanner::word_positions;
use crate::tree::{Tree, Violation};

const TABLES: &str = "tests/README.md";
/// What goes wrong, what happens, guard, tests.
const CELLS: usize = 4;

/// The text of the tables.
pub fn read(tree: &Tree) -> String {
    fs::read_to_string(tree.root.join(TABLES)).unwrap_or_default()
}

/// Every row names a file and what guards in it, and tests that exist.
pub fn violations(tree: &Tree, tables: &str) -> Vec<Violation> {
    let rows = tables
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| What "));
    let problems = rows.flat_map(|(index, row)| {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').collect();
        let place = format!("{TABLES}:{}", index + 1);
        row_problems(tree, &cells)
            .into_iter()
            .map(move |problem| Violation::new(place.clone(), problem))
    });
    problems.collect()
}

/// The words of a cell that stand in the quotes of code.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn row_problems(tree: &Tree, cells: &[&str]) -> Vec<String> {
    if cells.len() != CELLS {
        return vec![
            "a row has four cells: what goes wrong, what happens, guard, tests".to_string(),
        ];
    }
    let guards = quoted(cells[2]);
    let tests = quoted(cells[3]);
    if guards.is_empty() || !guards.len().is_multiple_of(2) || tests.is_empty() {
        return vec![
            "a row names guards, each as a file and a name, and at least one test".to_string(),
        ];
    }
    let guards = guards.chunks(2).filter_map(|guard| {
        let file = tree.sources.iter().find(|file| file.path == guard[0]);
        let stands =
            file.is_some_and(|file| word_positions(&file.scanned.code, guard[1]).next().is_some());
        (!stands).then(|| format!("`{}` has no `{}`", guard[0], guard[1]))
    });
    let tests = tests.into_iter().filter(|test| !is_function(tree, test));
    guards.chain(tests.map(|test| format!("there is no test `{test}`"))).collect()
}

/// A test in Rust or in Python.
fn is_function(tree: &Tree, name: &str) -> bool {
    let heads = [format!("fn {name}("), format!("def {name}(")];
    tree.sources.iter().any(|file| heads.iter().any(|head| file.scanned.code.contains(head)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::repository;

    fn problems(row: &str) -> Vec<String> {
        let found = violations(&repository(), row);
        found.into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn guards_and_tests_that_are_gone_are_named() {
        let good = "| a | b | `tools/tidy/src/faults.rs` `quoted` | \
            `guards_and_tests_that_are_gone_are_named` |";
        assert!(problems(good).is_empty());
        assert_eq!(
            problems(&good.replace("quoted", "unquoted_cell")),
            ["`tools/tidy/src/faults.rs` has no `unquoted_cell`"]
        );
        assert_eq!(
            problems(&good.replace("gone_are", "here_are")),
            ["there is no test `guards_and_tests_that_are_here_are_named`"]
        );
        assert!(
            problems(&good.replace(
                "guards_and_tests_that_are_gone_are_named",
                "test_an_interrupt_ends_the_call"
            ))
            .is_empty()
        );
        assert_eq!(problems("| a | b | `c` | `d` |").len(), 1);
        assert_eq!(problems("| a | b |").len(), 1);
    }
}
