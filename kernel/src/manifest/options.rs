//! A plugin's options: read by the plugin into its own struct, with errors that point into the manifest.

use std::sync::Arc;

use farcall_base::Result;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::Source;
use super::explain::explain;

/// The `[plugin.options]` of one plugin, and what the command line puts over them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The manifest and the plugin's number in it; `None` for a plugin that was made without one.
    place: Option<(Arc<Source>, usize)>,
    overrides: Vec<Arc<Source>>,
}

impl Options {
    pub(super) fn of_plugin(source: Arc<Source>, index: usize) -> Self {
        Options { place: Some((source, index)), overrides: Vec::new() }
    }

    /// Options from the text of a table alone: for tests, and for plugins that run without a manifest.
    ///
    /// # Errors
    /// `InvalidSource` when the text is not TOML.
    pub fn from_text(origin: &str, text: &str) -> Result<Self> {
        let mut options = Options::default();
        options.override_with(origin, text)?;
        Ok(options)
    }

    pub(super) fn override_with(&mut self, origin: &str, text: &str) -> Result<()> {
        let source = Source { file: origin.to_string(), text: text.to_string() };
        parse(&source)?;
        self.overrides.push(Arc::new(source));
        Ok(())
    }

    /// Reads the options into the plugin's struct, which derives `Deserialize` with `deny_unknown_fields` and a default
    /// for every key.
    ///
    /// # Errors
    /// `InvalidSource` with file, line, column, the wrong key and the nearest valid one.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        // Each text is read alone first: a mistake in it is then found in it, where its line and column are right.
        let mut merged = DeTable::new();
        if let Some((source, index)) = &self.place {
            let table = options_table(parse(source)?, *index);
            read_table::<T>(source, table.clone())?;
            merged = table.into_inner();
        }
        for source in &self.overrides {
            let table = parse(source)?;
            read_table::<T>(source, table.clone())?;
            merged.extend(table.into_inner());
        }
        let whole = Source { file: "options".to_string(), text: String::new() };
        read_table(&whole, Spanned::new(0..0, merged))
    }
}

fn parse(source: &Source) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(&source.text).map_err(|error| explain(source, &error))
}

fn read_table<T: DeserializeOwned>(source: &Source, table: Spanned<DeTable<'_>>) -> Result<T> {
    T::deserialize(Deserializer::from(table)).map_err(|error| explain(source, &error))
}

/// `plugin[index].options`; an empty table where the manifest has none.
fn options_table(manifest: Spanned<DeTable<'_>>, index: usize) -> Spanned<DeTable<'_>> {
    let plugins = manifest.into_inner().remove("plugin").map(Spanned::into_inner);
    let plugin = match plugins {
        Some(DeValue::Array(plugins)) => plugins.into_iter().nth(index).map(Spanned::into_inner),
        _ => None,
    };
    let options = match plugin {
        Some(DeValue::Table(mut plugin)) => plugin.remove("options"),
        _ => None,
    };
    match options.map(|options| (options.span(), options.into_inner())) {
        Some((span, DeValue::Table(table))) => Spanned::new(span, table),
        _ => Spanned::new(0..0, DeTable::new()),
    }
}
