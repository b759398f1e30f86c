//! A plugin's options: read by the plugin into its own struct, with errors that point into the
//! manifest.

use std::sync::Arc;

use farcall_base::{Error, ErrorKind, Result, SourceText};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::explain::explain;

/// The `[plugin.options]` of one plugin, and what the command line puts over them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The manifest and the plugin's number in it; `None` for a plugin that was made without one.
    pub(super) place: Option<(Arc<SourceText>, usize)>,
    pub(super) overrides: Vec<Arc<SourceText>>,
}

impl Options {
    pub(super) fn of_plugin(source: Arc<SourceText>, index: usize) -> Self {
        Options { place: Some((source, index)), overrides: Vec::new() }
    }

    /// Options from the text of a table alone: for tests, and for plugins that run without a
    /// manifest.
    ///
    /// # Errors
    /// `InvalidSource` when the text is not TOML.
    pub fn from_text(origin: &str, text: &str) -> Result<Self> {
        let mut options = Options::default();
        options.override_with(origin, text)?;
        Ok(options)
    }

    pub(super) fn override_with(&mut self, origin: &str, text: &str) -> Result<()> {
        let source = SourceText { file: origin.to_string(), text: text.to_string() };
        parse(&source)?;
        self.overrides.push(Arc::new(source));
        Ok(())
    }

    /// All that was said, as the text of one table: for a plugin of the same kind on another host.
    ///
    /// # Errors
    /// `InvalidSource` when it is not TOML.
    pub fn text(&self) -> Result<String> {
        let table = self.read::<toml::Table>()?;
        toml::to_string(&table)
            .map_err(|error| Error::internal("pass options on", error.to_string()))
    }

    /// Reads the options into the plugin's struct, which derives `Deserialize` with
    /// `deny_unknown_fields` and a default for every key.
    ///
    /// # Errors
    /// `InvalidSource` with file, line, column, the wrong key and the nearest valid one.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        // Each text is read alone first: a mistake in it is then found in it, where its line and
        // column are right.
        let mut merged = DeTable::new();
        if let Some((source, index)) = &self.place {
            let table = options_table(parse(source)?, *index);
            read_table::<T>(source, table.clone())?;
            merged = table.into_inner();
        }
        for source in &self.overrides {
            let table = parse(source)?;
            read_table::<T>(source, table.clone())?;
            merge(&mut merged, table.into_inner());
        }
        let whole = SourceText { file: "options".to_string(), text: String::new() };
        read_table(&whole, Spanned::new(0..0, merged))
    }
}

impl Options {
    /// The error for an option that can be read but makes no sense: for a plugin's own rules.
    pub fn wrong(&self, key: &str, message: impl Into<String>) -> Error {
        self.wrong_inside(&[key], message)
    }

    /// The same for a key of a table, by the keys that lead to it.
    pub fn wrong_inside(&self, path: &[&str], message: impl Into<String>) -> Error {
        let error = Error::new(
            ErrorKind::InvalidSource,
            "read the configuration \
            file",
            message,
        )
        .with("option", path.join("."));
        match self.find(path) {
            Some((source, offset)) => source.at(offset, error),
            None => error,
        }
    }

    /// Refuses limits that would fail every call: `limits` has keys, their values and the least
    /// that they may be.
    ///
    /// # Errors
    /// `InvalidSource` that says which, with its place.
    pub fn check_least(&self, limits: &[(&str, u64, u64)]) -> Result<()> {
        let low = limits.iter().find(|(_, value, least)| value < least);
        low.map_or(Ok(()), |(key, value, least)| {
            Err(self
                .wrong(key, format!("{key} is {value}, which is too small for the server to work"))
                .fix(format!("set at least {least}")))
        })
    }

    /// The last text that sets the key, and where in it.
    fn find(&self, path: &[&str]) -> Option<(Arc<SourceText>, usize)> {
        let offset = |table: &DeTable<'_>| offset_of(table, path);
        for source in self.overrides.iter().rev() {
            if let Some(offset) = parse(source).ok().and_then(|table| offset(table.get_ref())) {
                return Some((source.clone(), offset));
            }
        }
        let (source, index) = self.place.as_ref()?;
        let table = options_table(parse(source).ok()?, *index);
        offset(table.get_ref()).map(|offset| (source.clone(), offset))
    }
}

/// Puts one table over another: what both have counts as the last one says, and tables within
/// them are put over one another, too.
fn merge<'a>(into: &mut DeTable<'a>, from: DeTable<'a>) {
    for (key, value) in from {
        let span = value.span();
        let value = value.into_inner();
        match (into.get_mut(&key).map(Spanned::get_mut), value) {
            (Some(DeValue::Table(old)), DeValue::Table(new)) => merge(old, new),
            (_, value) => drop(into.insert(key, Spanned::new(span, value))),
        }
    }
}

/// Where the key begins that a path leads to.
fn offset_of(table: &DeTable<'_>, path: &[&str]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, value) = table.get_key_value(*first)?;
    match value.get_ref() {
        DeValue::Table(inner) if !rest.is_empty() => offset_of(inner, rest),
        _ => rest.is_empty().then(|| key.span().start),
    }
}

pub(super) fn parse(source: &SourceText) -> Result<Spanned<DeTable<'_>>> {
    DeTable::parse(&source.text).map_err(|error| explain(source, &error))
}

pub(super) fn read_table<T: DeserializeOwned>(
    source: &SourceText,
    table: Spanned<DeTable<'_>>,
) -> Result<T> {
    T::deserialize(Deserializer::from(table)).map_err(|error| explain(source, &error))
}

/// `plugin[index].options`; an empty table where the manifest has none.
pub(super) fn options_table(manifest: Spanned<DeTable<'_>>, index: usize) -> Spanned<DeTable<'_>> {
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
