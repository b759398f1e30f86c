//! Reads the repository's tree: every source file, once, already scanned.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scanner::{Scanned, Syntax, scan};

/// A source file of the house.
#[derive(Debug)]
pub struct SourceFile {
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Language rules.
    pub syntax: Syntax,
    /// The whole text.
    pub text: String,
    /// The text without comments and strings.
    pub scanned: Scanned,
}

/// The repository.
#[derive(Debug)]
pub struct Tree {
    /// Its root.
    pub root: PathBuf,
    /// Its source files, sorted by path.
    pub sources: Vec<SourceFile>,
    /// Its documents (`*.md`): path and text.
    pub documents: Vec<(String, String)>,
}

/// A rule that does not hold somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// `path:line`, or a path.
    pub place: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl Violation {
    /// A violation at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Violation {
        Violation { place: place.into(), problem: problem.into() }
    }
}

impl SourceFile {
    /// Scans `text`; the language follows from the path and, where there is no extension, from the
    /// first line.
    pub fn new(path: &str, text: String) -> Option<SourceFile> {
        let syntax = syntax_of(path, &text)?;
        let scanned = scan(&text, syntax);
        Some(SourceFile { path: path.to_string(), syntax, text, scanned })
    }

    /// The file's name without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().expect("split yields at least one piece")
    }

    /// Whether the whole file is test code by its place.
    pub fn is_test(&self) -> bool {
        let in_folder = self.path.starts_with("tests/") || self.path.contains("/tests/");
        in_folder
            || self.path.contains("/battery/")
            || self.path.contains("/golden/")
            || self.name() == "tests.rs"
            || self.name().ends_with("_tests.rs")
    }
}

fn syntax_of(path: &str, text: &str) -> Option<Syntax> {
    let name = path.rsplit('/').next()?;
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
    {
        Some("rs") => Some(Syntax::Rust),
        Some("c" | "h" | "cpp" | "hpp" | "cc" | "idl" | "java") => Some(Syntax::C),
        Some("py" | "pyi") => Some(Syntax::Python),
        Some("sh") => Some(Syntax::Hash),
        Some("f90" | "f" | "F90") => Some(Syntax::Fortran),
        Some(_) => None,
        None if name == "Makefile" => Some(Syntax::Hash),
        None if text.starts_with("#!")
            && text.lines().next().is_some_and(|line| line.contains("python")) =>
        {
            Some(Syntax::Python)
        }
        None => text.starts_with("#!").then_some(Syntax::Hash),
    }
}

/// Programs as users of other systems wrote them, with the habits of their time, which are what they
/// are there for. Documents among them are the house's.
const FOREIGN: &str = "clients/gridrpc/tests/old/";

/// Folders that hold what is made or what tests compare with, not what is written: some at the root
/// alone, some anywhere. Hidden folders are skipped too, but for `.ci`.
fn is_skipped(name: &str, parent: &Path, root: &Path) -> bool {
    let is_made = name == "__pycache__" || name.ends_with(".egg-info");
    let is_compared = name == "golden" && parent.ends_with("tests");
    let is_output = parent == root && ["target", "build"].contains(&name);
    is_made || is_compared || is_output || (name.starts_with('.') && name != ".ci")
}

/// This repository, whose root is two folders above this crate.
pub fn repository() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("this crate is in tools/tidy");
    let mut tree = Tree { root: root.clone(), sources: Vec::new(), documents: Vec::new() };
    visit(&mut tree, &root);
    tree.sources.sort_by(|a, b| a.path.cmp(&b.path));
    tree
}

fn visit(tree: &mut Tree, folder: &Path) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !is_skipped(&name, folder, &tree.root) {
            visit(tree, &entry.path());
        } else if kind.is_file() {
            add_file(tree, &entry.path());
        }
    }
}

/// Takes a file in if it is a source or a document. What is not UTF-8 is data.
fn add_file(tree: &mut Tree, path: &Path) {
    let relative = path
        .strip_prefix(&tree.root)
        .expect("visited below the root")
        .to_string_lossy()
        .into_owned();
    let Ok(text) = fs::read_to_string(path) else { return };
    if relative.ends_with(".md") {
        tree.documents.push((relative, text));
    } else if let Some(source) =
        SourceFile::new(&relative, text).filter(|_| !relative.starts_with(FOREIGN))
    {
        tree.sources.push(source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_follows_from_name_or_first_line() {
        assert_eq!(syntax_of("a/b.rs", ""), Some(Syntax::Rust));
        assert_eq!(syntax_of("demo/run", "#!/usr/bin/env python3\n"), Some(Syntax::Python));
        assert_eq!(syntax_of(".ci/run", "#!/bin/bash\n"), Some(Syntax::Hash));
        assert_eq!(syntax_of("LICENSE", "Apache"), None);
        assert_eq!(syntax_of("data.json", "{}"), None);
    }
}
