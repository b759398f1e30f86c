//! What is wrong with a configuration file, and what in it has no effect: each with its place.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use farcall_base::{Error, ErrorKind, nearest};

/// More mistakes than this are counted and not kept: nobody reads them, and output stays bounded.
const MISTAKES_MAX: usize = 50;
/// Letters of a wrong word that a message repeats.
const SHOWN_MAX: usize = 60;

/// A place in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<Path>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// Something about a place: a mistake, or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub place: Place,
    /// What, in one clause.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

/// All mistakes of a configuration, in the order they were found; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes {
    /// The mistakes, at most fifty.
    pub list: Vec<Remark>,
    /// How many more there are.
    pub omitted: usize,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.list.iter().map(Remark::to_string).collect();
        write!(f, "{}", lines.join("\n"))?;
        if self.omitted > 0 {
            write!(f, "\n… and {} more mistakes", self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

impl From<Mistakes> for Error {
    /// The first mistake as the house's error; all of them are its source.
    fn from(mistakes: Mistakes) -> Error {
        let Some(first) = mistakes.list.first() else {
            return Error::internal(
                "read the configuration",
                "the file was refused without a mistake",
            );
        };
        let error =
            Error::new(ErrorKind::InvalidSource, "read the configuration", first.message.clone())
                .with("at", &first.place)
                .with("mistakes", mistakes.list.len() + mistakes.omitted);
        let error = match &first.advice {
            Some(advice) => error.fix(advice.clone()),
            None => error,
        };
        error.source(mistakes)
    }
}

/// Collects remarks while a configuration is read.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    mistakes: Vec<Remark>,
    omitted: usize,
    warnings: Vec<Remark>,
    /// What has been warned of: each thing once, however many sections have it.
    warned: Vec<String>,
    /// Attributes without an effect in Java, and why; and where the first of them is.
    not_in_java: Vec<(&'static str, &'static str)>,
    first_not_in_java: Option<Place>,
}

impl Remarks {
    /// Adds a mistake.
    pub(crate) fn mistake(
        &mut self,
        place: &Place,
        message: impl Into<String>,
        advice: Option<String>,
    ) {
        let remark = Remark { place: place.clone(), message: message.into(), advice };
        // What holds for all servers is looked at with each of them.
        if self.mistakes.contains(&remark) {
            return;
        }
        if self.mistakes.len() == MISTAKES_MAX {
            self.omitted += 1;
        } else {
            self.mistakes.push(remark);
        }
    }

    /// Adds a warning about `what`, if it is the first.
    pub(crate) fn warn_once(&mut self, what: &str, place: &Place, message: String) {
        if !self.warned.iter().any(|known| known == what) {
            self.warned.push(what.to_owned());
            self.warnings.push(Remark { place: place.clone(), message, advice: None });
        }
    }

    /// Notes an attribute that has an effect on programs in C alone.
    pub(crate) fn not_in_java(&mut self, name: &'static str, place: &Place, reason: &'static str) {
        self.first_not_in_java.get_or_insert_with(|| place.clone());
        if self.not_in_java.iter().all(|(known, _)| *known != name) {
            self.not_in_java.push((name, reason));
        }
    }

    /// One warning for Java's programs of all that have none there.
    pub(crate) fn for_java(&self) -> Option<Remark> {
        let place = self.first_not_in_java.clone()?;
        let each = self.not_in_java.iter().map(|(name, reason)| format!("{name} ({reason})"));
        let names = each.collect::<Vec<String>>().join(", ");
        let message = format!("no effect on calls from Java: {names}");
        Some(Remark { place, message, advice: None })
    }

    /// The warnings, or the mistakes if there are any.
    pub(crate) fn finish(self) -> Result<Vec<Remark>, Mistakes> {
        if self.mistakes.is_empty() {
            return Ok(self.warnings);
        }
        Err(Mistakes { list: self.mistakes, omitted: self.omitted })
    }
}

/// The name that was probably meant; all of them where they are few and none is near.
pub(crate) fn meant(word: &str, names: &[&str]) -> Option<String> {
    match nearest(word, names.iter().copied(), 1).first() {
        Some(name) => Some(format!("did you mean {name}?")),
        None if names.len() <= 10 => Some(format!("write {}", names.join(", "))),
        None => None,
    }
}

/// A word of the file as a message repeats it: short, and nothing in it moves a terminal's cursor.
pub(crate) fn shown(word: &str) -> String {
    let mut text: String = word.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if word.chars().nth(SHOWN_MAX).is_some() {
        text.push('…');
    }
    text
}
