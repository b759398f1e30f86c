//! Checks that the map is true: rooms, the tables "follow one call" and "find a subject", plugin
//! folders and crate descriptions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::metadata::Package;
use crate::scanner::word_positions;
use crate::tree::{Tree, Violation};

const MAP: &str = "ARCHITECTURE.md";

/// The files that every plugin has. Each of the last three may be a folder of the same name.
const PLUGIN_FILES: &[&str] =
    &["README.md", "src/lib.rs", "src/state.rs", "src/step.rs", "src/driver.rs"];

/// A cell's text without the quotes around code.
fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('`')
}

/// The rows of the first table below a heading; header and rule are left out.
fn table<'a>(document: &'a str, heading: &str) -> Vec<(usize, Vec<&'a str>)> {
    let lines = document
        .lines()
        .enumerate()
        .skip_while(|(_, line)| !(line.starts_with("##") && line.contains(heading)));
    let rows = lines
        .skip_while(|(_, line)| !line.starts_with('|'))
        .take_while(|(_, line)| line.starts_with('|'));
    rows.skip(2)
        .map(|(index, row)| (index + 1, row.trim().trim_matches('|').split('|').collect()))
        .collect()
}

/// Every room of the map exists and is not empty, and every folder at the top is a room of the map.
pub fn rooms(tree: &Tree, map: &str) -> Vec<Violation> {
    let rows = table(map, "Rooms");
    if rows.is_empty() {
        return vec![Violation::new(MAP, "has no table below the heading `Rooms`")];
    }
    let listed: Vec<(usize, &str)> =
        rows.iter().map(|(line, cells)| (*line, unquoted(cells[0]))).collect();
    let missing = listed.iter().filter(|(_, room)| is_empty(&tree.root.join(room)));
    let missing = missing.map(|(line, room)| {
        Violation::new(format!("{MAP}:{line}"), format!("room `{room}` does not exist or is empty"))
    });
    let names: BTreeSet<&str> =
        listed.iter().map(|(_, room)| room.split('/').next().unwrap_or(room)).collect();
    let unlisted =
        top_folders(&tree.root).into_iter().filter(|folder| !names.contains(folder.as_str()));
    missing
        .chain(unlisted.map(|folder| {
            Violation::new(MAP, format!("`{folder}/` is no row of the table of rooms"))
        }))
        .collect()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

fn top_folders(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir() && !is_empty(&entry.path()));
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.') && name != "target" && name != "build").collect()
}

/// Every row of the table below a heading names a file that exists and a function or type that
/// stands in it.
pub fn places(tree: &Tree, map: &str, heading: &str) -> Vec<Violation> {
    let rows = table(map, heading);
    if rows.is_empty() {
        return vec![Violation::new(MAP, format!("has no table below the heading `{heading}`"))];
    }
    rows.iter()
        .filter_map(|(line, cells)| {
            Some(Violation::new(format!("{MAP}:{line}"), step_problem(tree, cells)?))
        })
        .collect()
}

/// A row is `| step or subject | what happens | file | name |`.
fn step_problem(tree: &Tree, cells: &[&str]) -> Option<String> {
    let [_, _, path, name] = cells else {
        return Some("a row has four cells: step or subject, what happens, file, name".to_string());
    };
    let path = unquoted(path);
    let name = unquoted(name);
    let Some(file) = tree.sources.iter().find(|file| file.path == path) else {
        return Some(format!("there is no source file `{path}`"));
    };
    let last = name.rsplit([':', '.']).next().unwrap_or(name).trim_end_matches("()");
    let stands = !last.is_empty() && word_positions(&file.scanned.code, last).next().is_some();
    (!stands).then(|| format!("`{path}` has no `{name}`"))
}

/// Every plugin has the same files.
pub fn plugins(tree: &Tree) -> Vec<Violation> {
    let folders = fs::read_dir(tree.root.join("plugins"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let plugins: Vec<_> = folders.filter(|folder| folder.join("Cargo.toml").exists()).collect();
    let wanted =
        plugins.iter().flat_map(|plugin| PLUGIN_FILES.iter().map(move |file| plugin.join(file)));
    let missing =
        wanted.filter(|path| !path.exists() && !path.with_extension("").join("mod.rs").exists());
    let shown = |path: &Path| {
        path.strip_prefix(&tree.root).expect("below the root").to_string_lossy().into_owned()
    };
    missing
        .map(|path| {
            Violation::new(
                shown(&path),
                "is missing: every plugin has lib, state, step, driver and a README",
            )
        })
        .collect()
}

/// Every crate says what it is.
pub fn descriptions(packages: &[Package]) -> Vec<Violation> {
    let silent = packages.iter().filter(|package| package.description.trim().is_empty());
    silent
        .map(|package| {
            Violation::new(format!("{}/Cargo.toml", package.folder), "has no `description`")
        })
        .collect()
}

/// The text of the map.
pub fn read_map(tree: &Tree) -> String {
    fs::read_to_string(tree.root.join(MAP)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{SourceFile, repository};

    fn tree() -> Tree {
        let file =
            SourceFile::new("a/x.rs", "//! x\npub fn go() {}\n".to_string()).expect("a Rust file");
        Tree { root: repository().root, sources: vec![file], documents: Vec::new() }
    }

    fn steps(row: &str) -> Vec<Violation> {
        let map = format!("## A walk\n\n| a | b | c | d |\n|-|-|-|-|\n{row}\n");
        places(&tree(), &map, "A walk")
    }

    #[test]
    fn the_table_names_what_exists() {
        assert!(steps("| 1 | it goes | `a/x.rs` | `X::go` |").is_empty());
        assert!(steps("| 1 | it goes | `a/x.rs` | `stop` |")[0].problem.contains("has no `stop`"));
        assert!(steps("| 1 | it goes | `a/y.rs` | `go` |")[0].problem.contains("no source file"));
        assert!(steps("| 1 | it goes | `a/x.rs` |")[0].problem.contains("four cells"));
        assert_eq!(places(&tree(), "", "A walk").len(), 1);
    }

    #[test]
    fn rooms_on_the_map_and_on_the_disk_are_the_same() {
        let found = rooms(
            &tree(),
            "## Rooms\n\n| a | b |\n|-|-|\n| `attic/` | old |\n| `tools/tidy/` | rules |\n",
        );
        assert!(
            found.iter().any(|violation| violation.problem.contains("`attic/` does not exist"))
        );
        assert!(found.iter().any(|violation| violation.problem.contains("`base/` is no row")));
        assert!(!found.iter().any(|violation| violation.problem.contains("`tools/` is no row")));
    }
}
