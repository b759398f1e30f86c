//! What the server that `ssh` begins is told: a configuration file, and settings for the usual. The
//! host keeps both (programs/relay/src/settings.rs).

use std::path::Path;

use farcall_base::{Error, ErrorKind, Result, nearest};
use farcall_launcher::quoted;
use farcall_system::plain_file;

const OPERATION: &str = "connect";
/// Largest configuration file.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Longest value.
const VALUE_BYTES_MAX: usize = 1024;
/// Longest time of a job, in minutes: ten years.
const MINUTES_MAX: u64 = 5_256_000;

/// Settings, as a client names them.
pub const NAMES: [&str; 9] =
    ["config", "account", "partition", "time-limit", "memory", "gpus", "load", "source", "python"];

/// What a server elsewhere is to be begun with. What was given before stays where nothing is said;
/// an empty text takes it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FarSettings {
    /// The content of a file of this host, which is copied there.
    config: Option<String>,
    /// `NAME=VALUE`, in the order in which they were given.
    words: Vec<String>,
}

impl FarSettings {
    /// Takes one, by a name of [`NAMES`]: `config` is a file, which is read now. `load` may come
    /// several times, once for each module.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name, and for a value that cannot be one.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong = |message: String, fix: &str| {
            let error = Error::new(ErrorKind::InvalidArgument, OPERATION, message);
            Err(error.with("setting", name).fix(fix))
        };
        if value.contains(char::is_control) || value.len() > VALUE_BYTES_MAX {
            return wrong("the value is not one line of text".to_owned(), "write it in one line");
        }
        let said = match name {
            "config" if !value.is_empty() => {
                self.config = Some(read(Path::new(value))?);
                return Ok(());
            }
            _ if value.is_empty() => String::new(),
            "account" | "partition" | "load" => match is_word(value) {
                true => value.to_owned(),
                false => return wrong(format!("\"{value}\" is not a name"), "write one word"),
            },
            "time-limit" => minutes(value)?.to_string(),
            "memory" => megabytes(value)?.to_string(),
            "gpus" => count(value)?.to_string(),
            "source" | "python" => value.to_owned(),
            _ => {
                let near = nearest(name, NAMES, 1);
                let fix = near.first().map_or_else(
                    || format!("use one of {}", NAMES.join(", ")),
                    |near| format!("did you mean {near}?"),
                );
                return wrong("there is no such setting".to_owned(), &fix);
            }
        };
        self.words.push(format!("{name}={said}"));
        Ok(())
    }

    /// Takes those of a text with one `NAME=VALUE` in each line.
    ///
    /// # Errors
    /// As [`FarSettings::set`].
    pub fn parse(text: &str) -> Result<FarSettings> {
        let mut settings = FarSettings::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.config.is_none() && self.words.is_empty()
    }

    /// The content of the configuration file, if one is to be copied.
    pub(super) fn config(&self) -> Option<&str> {
        self.config.as_deref()
    }

    /// As arguments of a relay, for a shell.
    pub(super) fn arguments(&self) -> String {
        let config = self.config.as_ref().map_or("", |_| " --config-came");
        let words = self.words.iter().map(|word| format!(" --setting {}", quoted(word)));
        words.collect::<String>() + config
    }
}

fn read(path: &Path) -> Result<String> {
    plain_file::read_text(path, CONFIG_BYTES_MAX).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, OPERATION, "the configuration file cannot be read")
            .with("file", path.display())
            .fix("name a readable file of this host of at most 1 MiB")
            .source(error)
    })
}

/// What becomes part of an option, and no option of its own.
fn is_word(text: &str) -> bool {
    !text.starts_with('-') && !text.contains(char::is_whitespace)
}

/// A number of GPUs.
///
/// # Errors
/// `InvalidArgument` for none.
pub fn count(text: &str) -> Result<u32> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
        let message = format!("\"{text}\" is not a number of GPUs");
        Error::new(ErrorKind::InvalidArgument, OPERATION, message).fix("write 1 or more")
    })
}

/// A time in minutes: `90`, `90m`, `2h`, `1d`, or as Slurm writes it, `1-12:00:00`, `2:30:00`.
///
/// # Errors
/// `InvalidArgument` for no time, and for one of less than a minute or more than ten years.
pub fn minutes(text: &str) -> Result<u64> {
    let found = clock(text).or_else(|| {
        let (number, each) = match text.char_indices().next_back()? {
            (at, 'm') => (&text[..at], 1),
            (at, 'h') => (&text[..at], 60),
            (at, 'd') => (&text[..at], 24 * 60),
            _ => (text, 1),
        };
        number.parse::<u64>().ok()?.checked_mul(each)
    });
    found.filter(|minutes| (1..=MINUTES_MAX).contains(minutes)).ok_or_else(|| {
        let message = format!("\"{text}\" is not a time limit");
        Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .fix("write minutes, or a time such as 90m, 2h, 1d, 2:30:00 or 1-12:00:00")
    })
}

/// `[DAYS-]HOURS:MINUTES:SECONDS`, rounded up.
fn clock(text: &str) -> Option<u64> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let mut parts = rest.split(':').map(|part| part.parse::<u64>().ok());
    let hours = parts.next()??;
    let minutes = parts.next()??;
    let seconds = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() {
        return None;
    }
    let hours = days.parse::<u64>().ok()?.checked_mul(24)?.checked_add(hours)?;
    hours.checked_mul(60)?.checked_add(minutes)?.checked_add(seconds.div_ceil(60))
}

/// Memory in MiB: `500M`, `8G`, `1T`; a number alone is MiB.
///
/// # Errors
/// `InvalidArgument` for no memory.
pub fn megabytes(text: &str) -> Result<u64> {
    let bare = text.trim_end_matches("iB").trim_end_matches('B');
    let (number, each) = match bare.char_indices().next_back() {
        Some((at, 'M' | 'm')) => (&bare[..at], 1),
        Some((at, 'G' | 'g')) => (&bare[..at], 1 << 10),
        Some((at, 'T' | 't')) => (&bare[..at], 1 << 20),
        _ => (bare, 1),
    };
    let found = number.parse::<u64>().ok().and_then(|number| number.checked_mul(each));
    found.filter(|megabytes| (1..=u64::from(u32::MAX)).contains(megabytes)).ok_or_else(|| {
        let message = format!("\"{text}\" is not an amount of memory");
        Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .fix("write megabytes, or an amount such as 500M or 8G")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes() {
        for (text, wanted) in [
            ("1", 1),
            ("90", 90),
            ("90m", 90),
            ("2h", 120),
            ("1d", 1440),
            ("2:30", 150),
            ("2:30:00", 150),
            ("0:00:30", 1),
            ("1-12:00:00", 2160),
        ] {
            assert_eq!(minutes(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "0", "h", "-1", "1:2:3:4", "99999999999d", "soon", "2 h"] {
            assert!(minutes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn memory_is_mebibytes() {
        for (text, wanted) in [("500", 500), ("500M", 500), ("8G", 8192), ("8GiB", 8192)] {
            assert_eq!(megabytes(text).unwrap(), wanted, "{text}");
        }
        for text in ["", "0", "G", "-1G", "8X", "99999999999T"] {
            assert!(megabytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_user_wrote_is_one_word_of_the_shell() {
        let mut settings =
            FarSettings::parse("account=physics\ntime-limit=2h\nload=gcc/12").unwrap();
        settings.set("source", "/home/it's mine/env.sh; rm -rf ~").unwrap();
        assert_eq!(
            settings.arguments(),
            " --setting 'account=physics' --setting 'time-limit=120' --setting 'load=gcc/12' \
             --setting 'source=/home/it'\\''s mine/env.sh; rm -rf ~'"
        );
        for (name, value) in [
            ("account", "two words"),
            ("account", "--wrap=x"),
            ("gpus", "0"),
            ("source", "a\nb"),
            ("acount", "x"),
        ] {
            assert!(settings.set(name, value).is_err(), "{name}={value}");
        }
    }
}
