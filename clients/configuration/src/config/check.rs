//! A section against the table: which attributes it has, how often, and what their values mean.

use std::collections::BTreeMap;
use std::time::Duration;

use super::mistake::{Place, Remarks, meant, shown};
use super::table::{Arity, Attribute, SECTIONS, SectionKind, Use};
use super::text::{Item, Section, Word};
use super::value::{Kind, Value};

/// The values of a section that was found right, by attribute.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub kind: &'static SectionKind,
    /// Where the section begins.
    pub place: Place,
    found: BTreeMap<&'static str, Vec<(Value, Place)>>,
}

/// Checks a section of `kind`; mistakes are noted, and what is right is kept.
pub(crate) fn check(
    section: &Section,
    kind: &'static SectionKind,
    remarks: &mut Remarks,
) -> Values {
    let mut values = Values { kind, place: section.name.place.clone(), found: BTreeMap::new() };
    let mut seen: Vec<&'static str> = Vec::new();
    for item in &section.items {
        let Some(attribute) = kind.attribute(&item.name.text) else {
            unknown(item, kind, remarks);
            continue;
        };
        if attribute.arity == Arity::One && seen.contains(&attribute.name) {
            let message = format!("{} is set twice in {}", attribute.name, kind.name);
            remarks.mistake(&item.name.place, message, Some("keep one of the two lines".into()));
            continue;
        }
        seen.push(attribute.name);
        values.add(item, attribute, remarks);
    }
    for attribute in kind.attributes.iter().filter(|a| a.required && !seen.contains(&a.name)) {
        let message = format!("a section {} has no {}", kind.name, attribute.name);
        remarks.mistake(
            &values.place,
            message,
            Some(format!("add a line: {} VALUE", attribute.name)),
        );
    }
    values
}

/// An attribute that other sections have stands in the wrong one; any other was misspelt.
fn unknown(item: &Item, kind: &SectionKind, remarks: &mut Remarks) {
    let name = &item.name.text;
    let message = format!("{} has no attribute {}", kind.name, shown(name));
    let owners: Vec<&str> =
        SECTIONS.iter().filter(|it| it.attribute(name).is_some()).map(|it| it.name).collect();
    let advice = if owners.is_empty() {
        let names: Vec<&str> = kind.attributes.iter().map(|attribute| attribute.name).collect();
        meant(name, &names)
    } else {
        Some(format!("it belongs in {}", owners.join(", ")))
    };
    remarks.mistake(&item.name.place, message, advice);
}

/// The words that are values: a number and its unit are one, and signals may stand in quotes
/// together.
fn joined(item: &Item, attribute: &Attribute) -> Vec<Word> {
    match item.values.as_slice() {
        [number, unit] if attribute.kind.has_unit() => {
            vec![Word {
                text: format!("{} {}", number.text, unit.text),
                place: number.place.clone(),
            }]
        }
        words if attribute.kind == Kind::Signals => {
            let names =
                |word: &Word| word.text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let each = |word: &Word| {
                names(word)
                    .into_iter()
                    .map(|text| Word { text, place: word.place.clone() })
                    .collect()
            };
            words
                .iter()
                .flat_map(
                    |word| {
                        if word.text.trim().is_empty() { vec![word.clone()] } else { each(word) }
                    },
                )
                .collect()
        }
        words => words.to_vec(),
    }
}

impl Values {
    fn add(&mut self, item: &Item, attribute: &'static Attribute, remarks: &mut Remarks) {
        let words = joined(item, attribute);
        match words.as_slice() {
            [] => {
                let message = format!("{} has no value", attribute.name);
                remarks.mistake(
                    &item.name.place,
                    message,
                    Some("write it after the name, on the same line".into()),
                );
            }
            [_, second, ..] if attribute.arity != Arity::List => {
                let message = format!("{} takes one value, and there are more", attribute.name);
                let advice =
                    "put a value with blanks in double quotes, and each attribute on its own line";
                remarks.mistake(&second.place, message, Some(advice.into()));
            }
            words => words.iter().for_each(|word| self.add_value(word, attribute, remarks)),
        }
    }

    fn add_value(&mut self, word: &Word, attribute: &'static Attribute, remarks: &mut Remarks) {
        match attribute.kind.read(&word.text) {
            Err(wrong) => {
                let message = format!("{}: {}", attribute.name, wrong.message);
                remarks.mistake(&word.place, message, wrong.advice);
            }
            Ok(value) if self.has(attribute.name, &value) => {
                let message =
                    format!("{} has the value {} twice", attribute.name, shown(&word.text));
                remarks.mistake(&word.place, message, Some("remove one of them".into()));
            }
            Ok(value) => {
                self.warn(word, attribute, remarks);
                self.found.entry(attribute.name).or_default().push((value, word.place.clone()));
            }
        }
    }

    /// Whether the attribute has this value already; of a variable its name counts.
    fn has(&self, attribute: &str, value: &Value) -> bool {
        self.all(attribute).iter().any(|(known, _)| match (known, value) {
            (Value::Variable(known, _), Value::Variable(name, _)) => known == name,
            _ => known == value,
        })
    }

    /// Says once that an attribute has no effect.
    fn warn(&self, word: &Word, attribute: &Attribute, remarks: &mut Remarks) {
        let reason = attribute.not_in_java;
        if !reason.is_empty() && word.text != attribute.default {
            remarks.not_in_java(attribute.name, &word.place, reason);
        }
        let Use::Unused { reason, unless } = attribute.effect else { return };
        if self.kind.unused.is_empty() && (unless.is_empty() || word.text != unless) {
            // A server and the default of servers speak of the same thing.
            let what =
                format!("{} {}", self.kind.name.trim_end_matches("_DEFAULT"), attribute.name);
            remarks.warn_once(
                &what,
                &word.place,
                format!("{} has no effect: {reason}", attribute.name),
            );
        }
    }

    /// All values of an attribute, as written.
    pub(crate) fn all(&self, attribute: &str) -> &[(Value, Place)] {
        debug_assert!(self.kind.attribute(attribute).is_some(), "{attribute} is in the table");
        self.found.get(attribute).map_or(&[], Vec::as_slice)
    }

    /// Takes from `other` what is missing here.
    pub(crate) fn complete(&mut self, other: &Values) {
        for (name, values) in &other.found {
            self.found.entry(name).or_insert_with(|| values.clone());
        }
    }

    /// Takes another section's values of an attribute behind its own.
    pub(crate) fn take(&mut self, name: &'static str, other: &Values, others: &'static str) {
        self.found.entry(name).or_default().extend(other.all(others).iter().cloned());
    }

    fn one(&self, name: &'static str) -> Option<Value> {
        let attribute = self.kind.attribute(name)?;
        match self.all(name).first() {
            Some((value, _)) => Some(value.clone()),
            None if attribute.default.is_empty() => None,
            None => attribute.kind.read(attribute.default).ok(),
        }
    }

    /// The value of a text, or its default.
    pub(crate) fn text(&self, name: &'static str) -> Option<String> {
        match self.one(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A text that the section must have; empty where that mistake was noted.
    pub(crate) fn required(&self, name: &'static str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// The value of a flag, or its default.
    pub(crate) fn flag(&self, name: &'static str) -> bool {
        self.one(name) == Some(Value::Flag(true))
    }

    /// The value of a number, or its default.
    pub(crate) fn number(&self, name: &'static str) -> Option<i64> {
        match self.one(name) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// The same, where it counts something.
    pub(crate) fn count(&self, name: &'static str) -> u32 {
        self.number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// The value of a ratio, or its default.
    pub(crate) fn ratio(&self, name: &'static str) -> f64 {
        match self.one(name) {
            Some(Value::Ratio(ratio)) => ratio,
            _ => 0.0,
        }
    }

    /// A time; `None` for a negative one, which means for ever.
    pub(crate) fn time(&self, name: &'static str) -> Option<Duration> {
        self.number(name).and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs)
    }

    /// A time-out; `None` for 0, which means never.
    pub(crate) fn timeout(&self, name: &'static str) -> Option<Duration> {
        self.time(name).filter(|time| !time.is_zero())
    }

    /// All texts of an attribute, with their places.
    pub(crate) fn texts(&self, name: &'static str) -> Vec<(String, Place)> {
        let texts = self.all(name).iter().filter_map(|(value, place)| match value {
            Value::Text(text) => Some((text.clone(), place.clone())),
            _ => None,
        });
        texts.collect()
    }

    /// Where the attribute stands, or the section.
    pub(crate) fn place_of(&self, name: &str) -> Place {
        self.all(name).first().map_or_else(|| self.place.clone(), |(_, place)| place.clone())
    }
}
