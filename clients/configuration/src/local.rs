//! Stub executables of this host that a configuration names: what a private server is started with.

use std::path::{Path, PathBuf};

use farcall_base::{Error, Result};

use crate::config::{Config, Place, Remark};
use crate::interface_files::{Description, load};

/// Stub executables, by function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalStubs {
    /// `module/function` and the absolute path of its program; each function once.
    pub programs: Vec<(String, PathBuf)>,
    /// Files that are named and cannot be used.
    pub warnings: Vec<Remark>,
    /// Functions of this host whose program is not there: a server may have them all the same.
    pub missing: Vec<(String, Remark)>,
}

/// The stub executables of this host: those of FUNCTION_INFO sections, and those that interface
/// files list for it. `sources` are the tags that its SERVER section names, if it names any;
/// `is_here` knows the names of this host.
pub fn local_stubs(
    config: &Config,
    sources: &[String],
    is_here: &dyn Fn(&str) -> bool,
) -> LocalStubs {
    let mut found = LocalStubs::default();
    for info in config.functions.iter().filter(|info| is_here(&info.hostname)) {
        // Farcall's own paths may stand here, too: only what is a program can be started.
        if info.path.is_file() {
            found.add(&info.name, &info.path);
        } else {
            found.miss(&info.name, &info.path, &info.place);
        }
    }
    let wanted = |tag: &Option<String>| match tag {
        Some(tag) if !sources.is_empty() => sources.contains(tag),
        _ => true,
    };
    for source in config.interface_files.iter().filter(|source| wanted(&source.tag)) {
        for file in &source.files {
            let [first, second] = file.candidates();
            let path = if first.exists() { first } else { second };
            match load(&path) {
                Ok(described) => found.add_all(&path, described, is_here, &file.place),
                Err(error) => {
                    let message = format!("{} is skipped: {error}", file.name.display());
                    found.warnings.push(Remark {
                        place: file.place.clone(),
                        message,
                        advice: None,
                    });
                }
            }
        }
    }
    found
}

impl LocalStubs {
    /// The first program of a function counts.
    fn add(&mut self, name: &str, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        if self.programs.iter().all(|(known, _)| known != name) {
            self.programs.push((name.to_owned(), path));
        }
    }

    fn miss(&mut self, name: &str, path: &Path, place: &Place) {
        let message = format!("the executable of {name} does not exist: {}", path.display());
        self.missing
            .push((name.to_owned(), Remark { place: place.clone(), message, advice: None }));
    }

    /// Those of this host that exist: a file is often made elsewhere, or the program is not built
    /// any more.
    fn add_all(
        &mut self,
        file: &Path,
        described: Vec<Description>,
        is_here: &dyn Fn(&str) -> bool,
        place: &Place,
    ) {
        for found in described.into_iter().filter(|found| is_here(&found.hostname)) {
            let path =
                file.parent().map_or_else(|| found.path.clone(), |folder| folder.join(&found.path));
            if path.is_file() {
                self.add(&found.name, &path);
            } else {
                self.miss(&found.name, &path, place);
            }
        }
    }

    /// Writes lists that `farcall serve` takes into `folder`, one for each module.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_lists(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let module_of =
            |name: &str| name.rsplit_once('/').map_or("", |(module, _)| module).to_owned();
        let mut modules: Vec<String> =
            self.programs.iter().map(|(name, _)| module_of(name)).collect();
        modules.sort();
        modules.dedup();
        let list = |(number, module): (usize, &String)| {
            let file = folder.join(format!("stubs-{number}.ngdef"));
            let own = self.programs.iter().filter(|(name, _)| module_of(name) == *module);
            let records = own.map(|(name, path)| record(name, path)).collect::<String>();
            std::fs::write(&file, records).map_err(|error| {
                Error::system("list stub executables", error).with("file", file.display())
            })?;
            Ok(file)
        };
        modules.iter().enumerate().map(list).collect()
    }
}

/// What a list must say of a program: it tells its interface by itself.
fn record(name: &str, path: &Path) -> String {
    // A line ends a value, in whatever name.
    let line = |text: &str| text.replace(['\n', '\r'], " ");
    let path = line(&path.display().to_string());
    format!(
        "GridRPC-Hostname: localhost\nGridRPC-Funcname: {}\nGridRPC-Path: {path}\n\n",
        line(name)
    )
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
