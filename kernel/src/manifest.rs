//! `farcall.toml`: which plugins a node runs, in which slots, hosted how, with which options and
//! limits.

mod explain;
mod options;
mod said;

use std::path::Path;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result, SourceText};
use farcall_system::plain_file;
use serde::Deserialize;

use crate::plugin::PluginDescription;
pub use options::Options;
pub use said::Said;

/// The kernel's own part of a default manifest.
const KERNEL_TEXT: &str = include_str!("manifest/kernel.toml");

/// A manifest larger than this is refused unread: it is some other file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A manifest that was read and whose own keys are right. The options of plugins are read by the
/// plugins.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// What the node is called.
    pub node_name: String,
    /// The kernel's limits.
    pub limits: Limits,
    /// The plugins in the file's order.
    pub plugins: Vec<PluginEntry>,
}

/// One `[[plugin]]`.
#[derive(Clone, Debug)]
pub struct PluginEntry {
    /// Which plugin.
    pub name: String,
    /// The slot that it is meant to fill: checked against what it provides.
    pub slot: String,
    /// How it is hosted.
    pub host: HostKind,
    /// Its options.
    pub options: Options,
}

/// How the kernel runs a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// In a thread of the node's own process.
    #[default]
    InThread,
}

/// The kernel's limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Plugins in one node.
    pub plugins_max: usize,
    /// Milliseconds a plugin has to end after it was told to.
    pub stop_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { plugins_max: 32, stop_timeout_ms: 10_000 }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    node: NodeText,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    plugin: Vec<PluginText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NodeText {
    name: String,
}

impl Default for NodeText {
    fn default() -> Self {
        NodeText { name: "farcall".to_string() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginText {
    name: String,
    slot: String,
    #[serde(default)]
    host: HostKind,
    /// Only its being a table is checked here: the plugin knows its keys.
    #[serde(default, rename = "options")]
    _options: toml::Table,
}

impl Manifest {
    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidSource` with file, line, column and the nearest valid key; `NotFound`; `System`.
    pub fn load(path: &Path) -> Result<Manifest> {
        let file = path.display().to_string();
        let text = read_bounded(path).map_err(|error| error.with("file", &file))?;
        Manifest::parse(&file, &text)
    }

    /// Reads a text; `file` names it in errors.
    ///
    /// # Errors
    /// `InvalidSource` with file, line, column and the nearest valid key.
    pub fn parse(file: &str, text: &str) -> Result<Manifest> {
        let source = Arc::new(SourceText { file: file.to_string(), text: text.to_string() });
        let read: FileText =
            toml::from_str(text).map_err(|error| explain::explain(&source, &error))?;
        let entry = |(index, plugin): (usize, PluginText)| PluginEntry {
            name: plugin.name,
            slot: plugin.slot,
            host: plugin.host,
            options: Options::of_plugin(source.clone(), index),
        };
        Ok(Manifest {
            node_name: read.node.name,
            limits: read.limits,
            plugins: read.plugin.into_iter().enumerate().map(entry).collect(),
        })
    }

    /// The manifest of a node that runs all of `plugins` with their default options. Of those that
    /// fill the same slot it runs the first.
    ///
    /// # Errors
    /// `InvalidSource` when the default options of a plugin are not TOML: a mistake in the plugin.
    pub fn of(plugins: &[PluginDescription]) -> Result<Manifest> {
        Manifest::parse("default manifest", &Manifest::default_text(plugins))
    }

    /// The text of [`Manifest::of`]: every key with its default and meaning, to document and to
    /// start from. Plugins that it does not run are comments.
    pub fn default_text(plugins: &[PluginDescription]) -> String {
        let mut text = KERNEL_TEXT.to_string();
        for (index, plugin) in plugins.iter().enumerate() {
            let PluginDescription { name, options, .. } = plugin;
            let slot = plugin.slot();
            let of_plugin = format!(
                "[[plugin]]\nname = \"{name}\"\nslot = \"{slot}\"\nhost = \"in-thread\"\n\
                [plugin.options]\n{options}"
            );
            match plugins[..index].iter().find(|earlier| earlier.slot() == slot) {
                None => text += &format!("\n{of_plugin}"),
                Some(first) => {
                    text += &format!("\n# In place of {}:\n#\n", first.name);
                    let comment = |line: &str| format!("# {line}\n");
                    text.extend(of_plugin.lines().map(comment));
                }
            }
        }
        text
    }

    /// Adds those of `plugins` whose slots the manifest does not fill, with their default options:
    /// of those that fill the same slot the first.
    #[must_use]
    pub fn completed(mut self, plugins: &[PluginDescription]) -> Manifest {
        for plugin in plugins {
            // Both: one that stands under a wrong slot is a mistake to be reported, not to be
            // repaired.
            if !self
                .plugins
                .iter()
                .any(|entry| entry.slot == plugin.slot() || entry.name == plugin.name)
            {
                let name = plugin.name.to_string();
                let slot = plugin.slot().to_string();
                let host = HostKind::default();
                let options = Options::default();
                self.plugins.push(PluginEntry { name, slot, host, options });
            }
        }
        self
    }

    /// Overrides options of the plugin called `plugin`: `text` is one or more TOML lines such as
    /// `workers = 4`, and `origin` names them in errors ("--workers").
    ///
    /// # Errors
    /// `InvalidSource` when the text is not TOML; `NotFound` when the configuration file has no
    /// such plugin.
    pub fn override_options(&mut self, plugin: &str, origin: &str, text: &str) -> Result<()> {
        let missing = || {
            Error::new(
                ErrorKind::NotFound,
                "override an option",
                "the configuration file has no such plugin",
            )
        };
        let entry = self.plugins.iter_mut().find(|entry| entry.name == plugin);
        entry
            .ok_or_else(|| missing().with("plugin", plugin).with("option", origin))?
            .options
            .override_with(origin, text)
    }
}

/// The whole file, but never more than the bound: a device or a log by mistake must not fill the
/// memory.
fn read_bounded(path: &Path) -> Result<String> {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, NotFound};
    let error = match plain_file::read_text(path, FILE_BYTES_MAX) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let (kind, message) = match error.kind() {
        FileTooLarge => {
            (ErrorKind::InvalidSource, "the file is too large for a configuration file")
        }
        InvalidInput => (ErrorKind::InvalidSource, "it is not a regular file"),
        InvalidData => (ErrorKind::InvalidSource, "the file is not UTF-8 text"),
        NotFound => (ErrorKind::NotFound, "no such file"),
        _ => return Err(Error::system("read the configuration file", error)),
    };
    Err(Error::new(kind, "read the configuration file", message))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
