//! One section of a platform file: its keys, its values, and where they stand.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::mistakes::{Found, Wrong, shown};
use crate::platform::TEXT_BYTES_MAX;

/// Letters of a name at most.
const NAME_MAX: usize = 64;

/// A table with its title and its place.
pub(super) struct Section<'t> {
    /// As the file writes it; empty for the file itself.
    pub(super) title: &'static str,
    pub(super) place: usize,
    pub(super) table: &'t DeTable<'t>,
}

/// The whole text; `None` where it is no TOML.
pub(super) fn document<'t>(found: &mut Found, text: &'t str) -> Option<Spanned<DeTable<'t>>> {
    if text.len() > TEXT_BYTES_MAX {
        let fix = "name a platform file; it has 1 MiB at most";
        found.add(0, || Wrong::new("the file is too large for a platform", fix));
        return None;
    }
    match DeTable::parse(text) {
        Ok(table) => Some(table),
        Err(error) => {
            let place = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            found.add(place, || Wrong { message, fix: None });
            None
        }
    }
}

/// The section with this key, if there is one.
pub(super) fn section<'t>(
    found: &mut Found,
    of: &Section<'t>,
    key: &str,
    title: &'static str,
) -> Option<Section<'t>> {
    let value = of.get(key)?;
    if let DeValue::Table(table) = value.get_ref() {
        return Some(Section { title, place: of.place_of(&[key]), table });
    }
    found.add_incomplete(of.place_of(&[key]), || {
        Wrong::new(format!("{key} is a section"), format!("write its keys below {title}"))
    });
    None
}

/// All sections of a list, such as `[[site]]`.
pub(super) fn sections<'t>(
    found: &mut Found,
    of: &Section<'t>,
    key: &str,
    title: &'static str,
) -> Vec<Section<'t>> {
    let values = match of.get(key).map(Spanned::get_ref) {
        None => return Vec::new(),
        Some(DeValue::Array(values)) => values.iter().collect(),
        Some(_) => Vec::new(),
    };
    let mut list = Vec::with_capacity(values.len());
    for value in &values {
        if let DeValue::Table(table) = value.get_ref() {
            list.push(Section { title, place: value.span().start, table });
        }
    }
    let is_list = matches!(of.get(key).map(Spanned::get_ref), Some(DeValue::Array(_)));
    if !is_list || list.len() < values.len() {
        found.add_incomplete(of.place_of(&[key]), || {
            let message = format!("expected a list of sections {title}");
            Wrong::new(message, format!("write {title} in double brackets, once for each"))
        });
    }
    list
}

/// Whether this is a name: of a platform, a site or a kernel.
pub(super) fn check_name(name: &str) -> Result<(), Wrong> {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_letter) {
        return Ok(());
    }
    let fix = format!("use 1 to {NAME_MAX} letters, digits, \"-\", \"_\" and \".\"");
    Err(Wrong::new(format!("\"{}\" is not a name", shown(name)), fix))
}

impl<'t> Section<'t> {
    pub(super) fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// Where the first of the keys stands that is there; else where the section begins.
    pub(super) fn place_of(&self, keys: &[&str]) -> usize {
        let place = |key: &&str| self.table.get_key_value(*key).map(|(key, _)| key.span().start);
        keys.iter().find_map(place).unwrap_or(self.place)
    }

    /// Where the value of a key stands.
    pub(super) fn value_place(&self, key: &str) -> usize {
        self.get(key).map_or(self.place, |value| value.span().start)
    }

    /// Notes keys that the section does not have.
    pub(super) fn check_keys(&self, found: &mut Found, known: &[&str]) {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            found.add_incomplete(key.span().start, || {
                let of = if self.title.is_empty() { "" } else { " in " };
                let message = format!("unknown key \"{}\"{of}{}", shown(name), self.title);
                Wrong::unknown(message, name, known.iter().copied())
            });
        }
    }

    /// A value in quotes that `parse` reads. One that is wrong is noted, and `instead` stands for
    /// it, so that it is not told to be missing, too.
    pub(super) fn quantity<T>(
        &self,
        found: &mut Found,
        key: &str,
        parse: fn(&str) -> Result<T, Wrong>,
        bare: fn() -> Wrong,
        instead: T,
    ) -> Option<T> {
        let value = self.get(key)?;
        let outcome = match value.get_ref() {
            DeValue::String(text) => parse(text),
            _ => Err(bare()),
        };
        Some(outcome.unwrap_or_else(|wrong| {
            found.add(value.span().start, || wrong);
            instead
        }))
    }

    pub(super) fn string(&self, found: &mut Found, key: &str) -> Option<&'t str> {
        match self.get(key)?.get_ref() {
            DeValue::String(text) => Some(text),
            _ => {
                found.add(self.value_place(key), || {
                    Wrong::new("expected a name in quotes", format!("write {key} = \"a\""))
                });
                None
            }
        }
    }

    pub(super) fn name(&self, found: &mut Found, key: &str) -> Option<String> {
        let name = self.string(found, key)?;
        if let Err(wrong) = check_name(name) {
            found.add(self.value_place(key), || wrong);
            return Some(shown(name));
        }
        Some(name.to_owned())
    }

    /// A whole number of 0 or more.
    pub(super) fn integer(&self, found: &mut Found, key: &str, example: &str) -> Option<u64> {
        let value = self.get(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.and_then(|number| u64::try_from(number).ok());
        if number.is_none() {
            found.add(value.span().start, || {
                let message = format!("expected {key} to be an integer of 0 or more");
                Wrong::new(message, format!("write {key} = {example}"))
            });
        }
        number
    }

    pub(super) fn boolean(&self, found: &mut Found, key: &str) -> Option<bool> {
        match self.get(key)?.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                found.add(self.value_place(key), || {
                    Wrong::new("expected true or false", format!("write {key} = true"))
                });
                None
            }
        }
    }
}
