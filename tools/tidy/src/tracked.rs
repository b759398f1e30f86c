//! Files that git tracks although they are made: what a build leaves, and what .gitignore names.

use std::path::Path;
use std::process::Command;

use crate::tree::Violation;

/// Ends of names of files that are made.
const MADE: &[&str] = &[".o", ".a", ".so", ".pyc", ".class", ".mod", ".rlib", ".rmeta"];
/// Folders that hold what is made.
const FOLDERS: &[&str] = &["build", "target", "__pycache__", "node_modules", ".venv"];

/// What git says of the repository, a path per line; nothing where there is no git.
pub fn files(root: &Path, arguments: &[&str]) -> Vec<String> {
    let output = Command::new("git").arg("-C").arg(root).arg("ls-files").args(arguments).output();
    let Ok(output) = output else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

/// Tracked files that a build makes, and those that .gitignore names.
pub fn violations(tracked: &[String], ignored: &[String]) -> Vec<Violation> {
    let made = tracked.iter().filter(|path| is_made(path, tracked));
    let mut found: Vec<&String> = made.chain(ignored).collect();
    found.sort();
    found.dedup();
    let problem = "is made, not written: `git rm --cached` it";
    found.into_iter().map(|path| Violation::new(path, problem)).collect()
}

fn is_made(path: &str, tracked: &[String]) -> bool {
    let in_folder = path.match_indices('/').any(|(at, _)| {
        let folder = &path[..at];
        let name = folder.rsplit('/').next().unwrap_or(folder);
        FOLDERS.contains(&name) && !is_module(folder, tracked)
    });
    in_folder || MADE.iter().any(|end| path.ends_with(end))
}

/// Whether a folder holds the parts of a Rust module, whose file stands beside it.
fn is_module(folder: &str, tracked: &[String]) -> bool {
    let module = format!("{folder}.rs");
    tracked.contains(&module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_found() {
        let tracked = ["a/build.rs", "a/build/x.rs", "b/build/x.rs", "c/x.o", "c/targets/x"]
            .map(String::from);
        let ignored = ["c/x.o", "d/y"].map(String::from);
        let found: Vec<String> =
            violations(&tracked, &ignored).into_iter().map(|violation| violation.place).collect();
        assert_eq!(found, ["b/build/x.rs", "c/x.o", "d/y"]);
    }
}
