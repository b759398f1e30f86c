//! What options say, and where each was said: for people who look for the place.

use std::collections::BTreeMap;

use farcall_base::{Result, SourceText};
use toml::de::{DeTable, DeValue};

use super::options::{Options, options_table, parse, read_table};

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// `launchers.slurm.queue`.
    pub key: String,
    /// As TOML.
    pub value: String,
    /// `FILE:LINE`, or what put it there.
    pub origin: String,
}

impl Options {
    /// All that the configuration file and what was put over it say, in order of the keys: of a key
    /// that was said twice what counts.
    ///
    /// # Errors
    /// `InvalidSource` when it is not TOML.
    pub fn said(&self) -> Result<Vec<Said>> {
        let mut all = BTreeMap::new();
        if let Some((source, index)) = &self.place {
            let table = options_table(parse(source)?, *index);
            let values = read_table::<toml::Table>(source, table.clone())?;
            let mut walk = Walk { all: &mut all, source, has_lines: true };
            walk.table("", table.get_ref(), &values);
        }
        for source in &self.overrides {
            let table = parse(source)?;
            let values = read_table::<toml::Table>(source, table.clone())?;
            let mut walk = Walk { all: &mut all, source, has_lines: false };
            walk.table("", table.get_ref(), &values);
        }
        Ok(all.into_values().collect())
    }
}

/// The way through one text.
struct Walk<'a> {
    all: &'a mut BTreeMap<String, Said>,
    source: &'a SourceText,
    /// Whether its lines are those of a file that people can open.
    has_lines: bool,
}

impl Walk<'_> {
    fn table(&mut self, prefix: &str, places: &DeTable<'_>, values: &toml::Table) {
        for (key, place) in places {
            let name: &str = key.get_ref();
            let Some(value) = values.get(name) else { continue };
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            match (place.get_ref(), value) {
                (DeValue::Table(places), toml::Value::Table(values)) if !values.is_empty() => {
                    self.table(&path, places, values);
                }
                _ => {
                    let origin = self.origin(key.span().start);
                    let said = Said { key: path.clone(), value: value.to_string(), origin };
                    self.all.insert(path, said);
                }
            }
        }
    }

    fn origin(&self, offset: usize) -> String {
        if self.has_lines {
            let (line, _) = self.source.line_and_column(offset);
            format!("{}:{line}", self.source.file)
        } else {
            self.source.file.clone()
        }
    }
}
