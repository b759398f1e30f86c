//! The mistakes of a platform file, each with its place and, where it is known, the fix.

use std::fmt;

use farcall_base::{Error, ErrorKind, SourceText, nearest};

/// More mistakes than this are counted and not kept: nobody reads them.
pub const MISTAKES_MAX: usize = 20;

/// Letters of what a file says that a message repeats, at most.
const SHOWN_MAX: usize = 40;

/// Names that are listed where none is near, at most.
const LISTED_MAX: usize = 10;

/// All mistakes of a platform file, in the order of the text; never empty.
#[derive(Debug)]
pub struct Mistakes {
    list: Vec<Error>,
    omitted: usize,
}

impl Mistakes {
    /// The mistakes, in the order of the text; at most [`MISTAKES_MAX`].
    pub fn list(&self) -> &[Error] {
        &self.list
    }

    /// Number of further mistakes that are not in the list.
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.list.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "\nand {omitted} other mistakes"),
        }
    }
}

impl std::error::Error for Mistakes {}

impl From<Mistakes> for Error {
    /// The first mistake as the house's error; the others are its source.
    fn from(mut mistakes: Mistakes) -> Error {
        let total = mistakes.list.len() + mistakes.omitted;
        if mistakes.list.is_empty() {
            return Error::internal(OPERATION, "the file was refused without a mistake");
        }
        let first = mistakes.list.remove(0);
        match total {
            1 => first,
            _ => first.with("mistakes", total).source(mistakes),
        }
    }
}

pub(crate) const OPERATION: &str = "read the platform file";

/// What is wrong with one value, before its place is known.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) message: String,
    pub(crate) fix: Option<String>,
}

impl Wrong {
    pub(crate) fn new(message: impl Into<String>, fix: impl Into<String>) -> Wrong {
        Wrong { message: message.into(), fix: Some(fix.into()) }
    }

    /// A name that is unknown: the fix is the nearest of those known, or the list.
    pub(crate) fn unknown<'n>(
        message: impl Into<String>,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Wrong {
        let fix = match nearest(name, known.clone(), 1).first() {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("use one of {}", listed(known)),
        };
        Wrong::new(message, fix)
    }

    pub(crate) fn error(self, kind: ErrorKind, operation: &'static str) -> Error {
        let error = Error::new(kind, operation, self.message);
        match self.fix {
            Some(fix) => error.fix(fix),
            None => error,
        }
    }
}

/// What a file says, as a message repeats it.
pub(crate) fn shown(text: &str) -> String {
    text.trim().chars().take(SHOWN_MAX).collect()
}

/// `a, b, c`; of many the first ones.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str> + Clone) -> String {
    let first: Vec<&str> = names.clone().take(LISTED_MAX).collect();
    match names.count() - first.len() {
        0 => first.join(", "),
        others => format!("{} and {others} others", first.join(", ")),
    }
}

/// Collects mistakes while a text is read.
pub(crate) struct Found {
    source: SourceText,
    list: Vec<(usize, Wrong)>,
    omitted: usize,
    /// Whether a key, a section or a site was not understood: what seems to be missing may stand in
    /// it, and is not told.
    is_incomplete: bool,
}

impl Found {
    pub(crate) fn new(file: &str, text: &str) -> Found {
        let source = SourceText { file: file.to_owned(), text: text.to_owned() };
        Found { source, list: Vec::new(), omitted: 0, is_incomplete: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Adds a mistake by which a part of the file is not understood.
    pub(crate) fn add_incomplete(&mut self, offset: usize, wrong: impl FnOnce() -> Wrong) {
        self.is_incomplete = true;
        self.add(offset, wrong);
    }

    /// Adds a mistake. What it says is worked out only if it is kept: to find the nearest of many
    /// names takes time, and a hostile text would ask for it at each line.
    pub(crate) fn add(&mut self, offset: usize, wrong: impl FnOnce() -> Wrong) {
        if self.list.len() < MISTAKES_MAX {
            self.list.push((offset, wrong()));
        } else {
            self.omitted += 1;
        }
    }

    /// All of them in the order of the text.
    pub(crate) fn into_mistakes(self) -> Mistakes {
        let Found { source, mut list, omitted, .. } = self;
        list.sort_by_key(|(offset, _)| *offset);
        let error = |(offset, wrong): (usize, Wrong)| {
            source.at(offset, wrong.error(ErrorKind::InvalidSource, OPERATION))
        };
        Mistakes { list: list.into_iter().map(error).collect(), omitted }
    }
}
