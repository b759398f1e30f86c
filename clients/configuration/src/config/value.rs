//! One value of the configuration file: what it may look like, and what it means.

use super::mistake::{meant, shown};

/// Names of log levels; their place is their number.
const LEVELS: [&str; 6] = ["Off", "Fatal", "Error", "Warning", "Information", "Debug"];
/// Signals that can be handled, with their numbers on Linux (signal(7)); KILL and STOP cannot.
const SIGNALS: [(&str, i32); 18] = [
    ("SIGHUP", 1),
    ("SIGINT", 2),
    ("SIGQUIT", 3),
    ("SIGABRT", 6),
    ("SIGUSR1", 10),
    ("SIGUSR2", 12),
    ("SIGPIPE", 13),
    ("SIGALRM", 14),
    ("SIGTERM", 15),
    ("SIGCHLD", 17),
    ("SIGCONT", 18),
    ("SIGTSTP", 20),
    ("SIGTTIN", 21),
    ("SIGTTOU", 22),
    ("SIGXCPU", 24),
    ("SIGXFSZ", 25),
    ("SIGVTALRM", 26),
    ("SIGPROF", 27),
];
/// Longest time: a century, so that sums of times stay far from any limit.
const SECONDS_MAX: i64 = 100 * 366 * 24 * 3600;

/// What a value may look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Any word that is not empty.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds.
    Integer {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// A number that is not negative, perhaps with a fraction.
    Ratio,
    /// A time: a whole number, and perhaps any first letters of second, minute or hour.
    Time {
        /// Seconds in what a bare number counts.
        unit: i64,
        /// The least; -1 where that means for ever.
        least: i64,
    },
    /// A size in bytes, perhaps with any first letters of Kilo, Mega or Giga.
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A log level, by number or name.
    Level,
    /// The name of a signal, or `none`.
    Signals,
    /// `VARIABLE` or `VARIABLE=value`.
    Environment,
    /// `N` or `function=N`.
    Processors,
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Flag(bool),
    /// An integer; a time in seconds; a size in bytes; a log level; a signal, 0 for none.
    Number(i64),
    Ratio(f64),
    Variable(String, Option<String>),
}

/// What is wrong with a value, and what to do about it.
pub(crate) struct Wrong {
    pub message: String,
    pub advice: Option<String>,
}

impl Kind {
    /// Whether the value may be two words: `30 sec`.
    pub(crate) fn has_unit(self) -> bool {
        matches!(self, Kind::Time { .. } | Kind::Size)
    }

    /// Reads a value.
    pub(crate) fn read(self, text: &str) -> Result<Value, Wrong> {
        match self {
            Kind::Text if text.is_empty() => {
                Err(wrong(text, "a value", Some("write a value, or omit the attribute")))
            }
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Flag => word(text, &["true", "false"]).map(|at| Value::Flag(at == 0)),
            Kind::Choice(words) => word(text, words).map(|at| Value::Text(words[at].to_owned())),
            Kind::Integer { least, most } => integer(text, least, most).map(Value::Number),
            Kind::Ratio => ratio(text).map(Value::Ratio),
            Kind::Time { unit, least } => time(text, unit, least).map(Value::Number),
            Kind::Size => size(text).map(Value::Number),
            Kind::Level => level(text).map(Value::Number),
            Kind::Signals => signal(text).map(Value::Number),
            Kind::Environment => variable(text),
            Kind::Processors => processors(text),
        }
    }
}

fn wrong(text: &str, what: &str, advice: Option<&str>) -> Wrong {
    Wrong {
        message: format!("\"{}\" is not {what}", shown(text)),
        advice: advice.map(str::to_owned),
    }
}

fn word(text: &str, words: &[&str]) -> Result<usize, Wrong> {
    words.iter().position(|word| *word == text).ok_or_else(|| Wrong {
        message: format!("\"{}\" is not allowed here", shown(text)),
        advice: meant(text, words),
    })
}

fn integer(text: &str, least: i64, most: i64) -> Result<i64, Wrong> {
    let number: i64 = text.parse().map_err(|_| wrong(text, "a whole number", None))?;
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(Wrong {
        message: format!("{number} is out of range"),
        advice: Some(format!("write {least} to {most}")),
    })
}

fn ratio(text: &str) -> Result<f64, Wrong> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| wrong(text, "a number", Some("write one like 2.0, not below 0")))
}

/// The number and the letters behind it.
fn with_unit(text: &str) -> (&str, &str) {
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// The factor whose name begins with these letters, in whatever case.
fn factor(letters: &str, names: &[(&'static str, i64)]) -> Result<i64, Wrong> {
    let wanted = letters.to_ascii_lowercase();
    let found = names.iter().find(|(name, _)| name.starts_with(&wanted));
    found.map(|(_, factor)| *factor).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        wrong(
            letters,
            "a unit",
            Some(&format!("write {}, or their first letters", names.join(", "))),
        )
    })
}

fn time(text: &str, unit: i64, least: i64) -> Result<i64, Wrong> {
    let (number, letters) = with_unit(text);
    let number: i64 = number
        .parse()
        .map_err(|_| wrong(text, "a time", Some("write one like 30 or \"30 sec\"")))?;
    let unit = if letters.is_empty() {
        unit
    } else {
        factor(letters, &[("seconds", 1), ("minutes", 60), ("hours", 3600)])?
    };
    if number < 0 {
        // The one negative time stands for no time at all, in whatever unit.
        return if number >= least {
            Ok(number)
        } else {
            Err(wrong(text, "a time", Some("it may not be negative")))
        };
    }
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds <= SECONDS_MAX);
    seconds.ok_or_else(|| wrong(text, "a time", Some("it is longer than 100 years")))
}

fn size(text: &str) -> Result<i64, Wrong> {
    let (number, letters) = with_unit(text);
    let number: i64 = number
        .parse()
        .ok()
        .filter(|number| *number >= 0)
        .ok_or_else(|| wrong(text, "a size", Some("write one like 4096, 64K or \"2 Mega\"")))?;
    let unit = if letters.is_empty() {
        1
    } else {
        factor(letters, &[("kilo", 1 << 10), ("mega", 1 << 20), ("giga", 1 << 30)])?
    };
    number.checked_mul(unit).ok_or_else(|| wrong(text, "a size", Some("it is too large")))
}

/// The log level with this number or name.
pub(crate) fn level(text: &str) -> Result<i64, Wrong> {
    let number = text.parse::<i64>().ok().filter(|number| (0..6).contains(number));
    let named = LEVELS.iter().position(|name| *name == text).and_then(|at| i64::try_from(at).ok());
    number.or(named).ok_or_else(|| Wrong {
        message: format!("\"{}\" is not a log level", shown(text)),
        advice: meant(text, &LEVELS).map(|advice| format!("{advice} (or 0 to 5)")),
    })
}

fn signal(text: &str) -> Result<i64, Wrong> {
    if text == "none" {
        return Ok(0);
    }
    let found = SIGNALS.iter().find(|(name, number)| *name == text || text.parse() == Ok(*number));
    found.map(|(_, number)| i64::from(*number)).ok_or_else(|| {
        let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
        let advice =
            meant(text, &names).unwrap_or_else(|| "write names like SIGINT, or none".to_owned());
        wrong(text, "a signal that can be handled", Some(&advice))
    })
}

fn variable(text: &str) -> Result<Value, Wrong> {
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong(text, "a variable", Some("write VARIABLE or VARIABLE=value")));
    }
    Ok(Value::Variable(name.to_owned(), value))
}

fn processors(text: &str) -> Result<Value, Wrong> {
    let (function, count) =
        text.split_once('=').map_or((None, text), |(name, count)| (Some(name), count));
    let good = count.parse::<u32>().is_ok_and(|count| count > 0)
        && function.is_none_or(|name| !name.is_empty());
    if good {
        return Ok(Value::Text(text.to_owned()));
    }
    Err(wrong(text, "a number of processors", Some("write 4 or function=4")))
}
