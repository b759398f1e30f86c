//! Finds dead files: Rust sources that no `mod` declaration reaches from any target.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::Package;
use crate::scanner::{Syntax, word_positions};
use crate::text::test_regions;
use crate::tree::{SourceFile, Violation};

/// A module declared in another file.
struct Declared {
    candidates: Vec<String>,
    only_tests: bool,
}

/// Rust files that belong to no target of any package.
pub fn dead_files(files: &[SourceFile], packages: &[Package]) -> Vec<Violation> {
    let by_path = rust_files(files);
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = roots(packages);
    while let Some(path) = waiting.pop() {
        let Some(file) = by_path.get(path.as_str()) else { continue };
        if reached.insert(path.clone()) {
            waiting.extend(
                declared(file, is_root(&path, packages))
                    .into_iter()
                    .flat_map(|module| module.candidates),
            );
        }
    }
    let dead = by_path.keys().filter(|path| !reached.contains(**path));
    dead.map(|path| {
        Violation::new(*path, "no target reaches this file; declare it with `mod`, or remove it")
    })
    .collect()
}

/// Paths of files declared under `#[cfg(test)]`.
pub fn test_files(files: &[SourceFile], packages: &[Package]) -> Vec<String> {
    let modules = rust_files(files)
        .into_values()
        .flat_map(|file| declared(file, is_root(&file.path, packages)));
    modules.filter(|module| module.only_tests).flat_map(|module| module.candidates).collect()
}

fn rust_files(files: &[SourceFile]) -> BTreeMap<&str, &SourceFile> {
    files
        .iter()
        .filter(|file| file.syntax == Syntax::Rust)
        .map(|file| (file.path.as_str(), file))
        .collect()
}

fn roots(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(|package| package.targets.iter().cloned()).collect()
}

fn is_root(path: &str, packages: &[Package]) -> bool {
    packages.iter().any(|package| package.targets.iter().any(|target| target == path))
}

/// The folder in which the modules of a file lie, and the folder of the file itself.
fn folders(path: &str, root: bool) -> (String, String) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let own = if root || name == "mod.rs" {
        folder.to_string()
    } else {
        path.trim_end_matches(".rs").to_string()
    };
    (own, folder.to_string())
}

fn declared(file: &SourceFile, root: bool) -> Vec<Declared> {
    let modules =
        word_positions(&file.scanned.code, "mod").filter_map(|at| declaration(file, at, root));
    modules.chain(included(file)).collect()
}

fn declaration(file: &SourceFile, at: usize, root: bool) -> Option<Declared> {
    let code = &file.scanned.code;
    let end = at + code[at..].find([';', '{'])?;
    if code.as_bytes()[end] == b'{' || test_regions(code).iter().any(|region| region.contains(&at))
    {
        return None;
    }
    let name = code[at + 3..end].trim();
    let attributes =
        &file.text[code[..at].rfind([';', '}']).map_or(0, |previous| previous + 1)..at];
    let (own, folder) = folders(&file.path, root);
    let candidates = match quoted_after(attributes, "path = ") {
        Some(path) => vec![format!("{folder}/{path}")],
        None => {
            let inline = inline_modules_around(code, at);
            let own = std::iter::once(own).chain(inline).collect::<Vec<_>>().join("/");
            vec![format!("{own}/{name}.rs"), format!("{own}/{name}/mod.rs")]
        }
    };
    Some(Declared { candidates, only_tests: attributes.contains("cfg(test)") })
}

/// Names of the `mod name { … }` blocks that hold position `at`, outermost first: each is a folder
/// of its own.
fn inline_modules_around(code: &str, at: usize) -> Vec<String> {
    let mut open: Vec<Option<String>> = Vec::new();
    for (position, byte) in code.bytes().enumerate().take(at) {
        match byte {
            b'{' => {
                let head = code[..position].rsplit([';', '{', '}']).next().unwrap_or("").trim();
                let name = head.rsplit_once("mod ").map(|(_, name)| name.trim().to_string());
                open.push(
                    name.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_')),
                );
            }
            b'}' => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().flatten().collect()
}

/// Files taken in by `include!("…")`.
fn included(file: &SourceFile) -> impl Iterator<Item = Declared> {
    let (_, folder) = folders(&file.path, true);
    let starts = word_positions(&file.scanned.code, "include");
    let paths = starts.filter_map(|at| quoted_after(&file.text[at..], "include!("));
    paths.map(move |path| Declared {
        candidates: vec![format!("{folder}/{path}")],
        only_tests: false,
    })
}

fn quoted_after(text: &str, mark: &str) -> Option<String> {
    let rest = text[text.find(mark)? + mark.len()..].strip_prefix('"')?;
    rest.split('"').next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text.to_string()).expect("a Rust file")
    }

    fn package() -> Package {
        let targets = vec!["a/src/lib.rs".to_string()];
        Package {
            name: "a".into(),
            folder: "a".into(),
            description: String::new(),
            targets,
            edges: Vec::new(),
        }
    }

    #[test]
    fn files_that_no_module_declares_are_dead() {
        let files = [
            file(
                "a/src/lib.rs",
                "mod one;\n#[path = \"odd.rs\"]\nmod two;\nmod inline { fn f() {} mod inner; }",
            ),
            file("a/src/inline/inner.rs", ""),
            file("a/src/one.rs", "pub mod deep;"),
            file("a/src/one/deep.rs", ""),
            file("a/src/odd.rs", ""),
            file("a/src/inline.rs", ""),
            file("a/src/dead.rs", ""),
        ];
        let dead: Vec<String> =
            dead_files(&files, &[package()]).into_iter().map(|violation| violation.place).collect();
        assert_eq!(dead, ["a/src/dead.rs", "a/src/inline.rs"]);
    }

    #[test]
    fn modules_for_tests_are_known() {
        let files = [file("a/src/lib.rs", "mod one;\n#[cfg(test)]\nmod battery;")];
        assert_eq!(test_files(&files, &[package()]), ["a/src/battery.rs", "a/src/battery/mod.rs"]);
    }
}
