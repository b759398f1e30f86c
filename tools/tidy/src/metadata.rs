//! What cargo knows about the workspace: packages, their targets and the edges between them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// When a dependency is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In the crate itself.
    Normal,
    /// In its tests.
    Development,
    /// In its build script.
    Build,
}

/// An edge from a package to another one of this repository.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Folder of the package that is used, from the repository's root.
    pub to: String,
    /// When.
    pub kind: Kind,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, from the repository's root.
    pub folder: String,
    /// Its description; empty if it has none.
    pub description: String,
    /// The root files of its targets, from the repository's root.
    pub targets: Vec<String>,
    /// The packages of this repository that it uses.
    pub edges: Vec<Edge>,
}

/// The workspace, and the package that is no part of it.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "tests/fuzz/Cargo.toml"];

/// Asks cargo. The lock file and the registries are not needed.
pub fn packages(root: &Path) -> Vec<Package> {
    MANIFESTS.iter().flat_map(|manifest| packages_of(root, manifest)).collect()
}

fn packages_of(root: &Path, manifest: &str) -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
        "--manifest-path",
        manifest,
    ];
    let output =
        Command::new(cargo).args(arguments).current_dir(root).output().expect("cargo starts");
    assert!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    list(&metadata["packages"]).iter().map(|package| read_package(package, root)).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn relative(path: &str, root: &Path) -> String {
    Path::new(path)
        .strip_prefix(root)
        .map_or_else(|_| path.to_string(), |inside| inside.to_string_lossy().into_owned())
}

fn read_package(package: &Value, root: &Path) -> Package {
    let manifest = relative(&text(&package["manifest_path"]), root);
    Package {
        name: text(&package["name"]),
        folder: manifest.trim_end_matches("Cargo.toml").trim_end_matches('/').to_string(),
        description: text(&package["description"]),
        targets: list(&package["targets"])
            .iter()
            .map(|target| relative(&text(&target["src_path"]), root))
            .collect(),
        edges: list(&package["dependencies"])
            .iter()
            .filter_map(|edge| read_edge(edge, root))
            .collect(),
    }
}

fn read_edge(dependency: &Value, root: &Path) -> Option<Edge> {
    let path = dependency["path"].as_str()?;
    let kind = match dependency["kind"].as_str() {
        Some("dev") => Kind::Development,
        Some("build") => Kind::Build,
        _ => Kind::Normal,
    };
    Some(Edge { to: relative(path, root), kind })
}
