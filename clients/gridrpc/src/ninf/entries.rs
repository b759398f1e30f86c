//! Entries: the names of functions, with or without a server before them.

use crate::code::{Code, Failure, Number, Outcome};

use super::settings::{Settings, host_and_port};

/// What an entry with a server begins with.
const SCHEMES: [&str; 2] = ["ninf://", "http://"];

/// A function, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// A host or an address; `None` for the default.
    pub host: Option<String>,
    /// 0 for the usual one.
    pub port: u16,
    pub name: String,
}

fn malformed(text: &str, why: &str) -> Failure {
    let words = format!("malformed entry {text:?}: {why}");
    Failure::new(Code::FunctionNotFound, words).numbered(Number::MalformedUrl)
}

impl Entry {
    /// `function`, `module/function`, `ninf://HOST:PORT/module/function`,
    /// `http://HOST:PORT/function`.
    pub fn read(text: &str) -> Outcome<Entry> {
        let entry = Entry::take_apart(text)?;
        if entry.name.is_empty() {
            Err(malformed(text, "no function was named"))
        } else {
            Ok(entry)
        }
    }

    /// Words, or words after `ninf://HOST:PORT/`; there may be none.
    pub fn of_question(text: &str) -> Outcome<Entry> {
        Entry::take_apart(text)
    }

    /// Text for a server, or text after `ninf://HOST:PORT/`, which may hold anything.
    pub fn of_query(text: &str) -> Outcome<Entry> {
        match SCHEMES.into_iter().find_map(|scheme| text.strip_prefix(scheme)) {
            Some(rest) => Entry::after_scheme(text, rest),
            None => Ok(Entry { host: None, port: 0, name: text.to_owned() }),
        }
    }

    fn take_apart(text: &str) -> Outcome<Entry> {
        let bare = text.strip_suffix("()").unwrap_or(text);
        match SCHEMES.into_iter().find_map(|scheme| bare.strip_prefix(scheme)) {
            None if bare.contains("://") => {
                Err(malformed(text, "write ninf://HOST:PORT/module/function"))
            }
            None => Ok(Entry { host: None, port: 0, name: bare.to_owned() }),
            Some(rest) => Entry::after_scheme(text, rest),
        }
    }

    fn after_scheme(text: &str, rest: &str) -> Outcome<Entry> {
        let (place, name) =
            rest.split_once('/').ok_or_else(|| malformed(text, "no function was named"))?;
        let (host, port) = host_and_port(place).ok_or_else(|| malformed(text, "no HOST:PORT"))?;
        Ok(Entry { host: Some(host), port, name: name.trim_start_matches('/').to_owned() })
    }

    /// At the server of the settings, unless it names one.
    pub fn at_home(self, settings: &Settings) -> Entry {
        if self.host.is_some() {
            return self;
        }
        let (host, port) = settings.server();
        Entry { host, port, ..self }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(host: Option<&str>, port: u16, name: &str) -> Entry {
        Entry { host: host.map(str::to_owned), port, name: name.to_owned() }
    }

    #[test]
    fn entries_of_all_forms() {
        assert_eq!(Entry::read("dmmul").unwrap(), entry(None, 0, "dmmul"));
        assert_eq!(Entry::read("linpack/dgefa()").unwrap(), entry(None, 0, "linpack/dgefa"));
        assert_eq!(
            Entry::read("ninf://hpc:3000/linpack/dgefa").unwrap(),
            entry(Some("hpc"), 3000, "linpack/dgefa")
        );
        assert_eq!(Entry::read("http://hpc/dmmul").unwrap(), entry(Some("hpc"), 0, "dmmul"));
        for wrong in [
            "",
            "()",
            "ninf://hpc:3000",
            "ninf://hpc:many/f",
            "ninf:///f",
            "ftp://hpc/f",
            "ninf://hpc/",
        ] {
            assert!(Entry::read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_query_is_text_as_it_is() {
        for text in ["SELECT now()", "SELECT 'http://hpc/x'", ""] {
            assert_eq!(Entry::of_query(text).unwrap(), entry(None, 0, text));
        }
        assert_eq!(
            Entry::of_query("ninf://hpc:3000/SELECT now()").unwrap(),
            entry(Some("hpc"), 3000, "SELECT now()")
        );
        assert!(Entry::of_query("ninf://hpc").is_err());
    }
}
