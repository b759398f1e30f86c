//! URLs, and which of them the manifest allows. Pure.

use std::fmt;

use farcall_base::{Error, ErrorKind, Result};

use crate::state::Allowed;

/// Bytes of a URL at most.
const URL_BYTES_MAX: usize = 4096;
/// Redirections that are followed for one array.
pub(crate) const REDIRECTIONS_MAX: usize = 5;

/// How a source is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    Http,
    File,
}

/// A URL in its parts. Its path begins with a slash and has no `.`, `..` or empty parts inside,
/// written in whatever way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub scheme: Scheme,
    /// In lower case; empty for files.
    pub host: String,
    pub port: u16,
    pub path: String,
    /// What stands behind a `?`.
    pub query: Option<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query.iter().flat_map(|query| ["?", query.as_str()]);
        let query: String = query.collect();
        match self.scheme {
            Scheme::File => write!(f, "file:{}", self.path),
            Scheme::Https => write!(f, "https://{}:{}{}{query}", self.host, self.port, self.path),
            Scheme::Http => write!(f, "http://{}:{}{}{query}", self.host, self.port, self.path),
        }
    }
}

impl Location {
    /// Takes a URL apart; the error says what is wrong with it.
    pub fn parse(url: &str) -> std::result::Result<Location, String> {
        if url.len() > URL_BYTES_MAX {
            return Err(format!("it has more than {URL_BYTES_MAX} bytes"));
        }
        if let Some(odd) = url.chars().find(|c| !c.is_ascii_graphic() || "\\\"<>^`{|}".contains(*c))
        {
            return Err(format!("it contains {odd:?}: write such characters as %XX"));
        }
        let (scheme, rest) = url.split_once(':').ok_or("it has no scheme, such as https://")?;
        match scheme.to_ascii_lowercase().as_str() {
            "https" => Location::remote(Scheme::Https, 443, rest),
            "http" => Location::remote(Scheme::Http, 80, rest),
            "file" => Location::file(rest),
            _ => Err("its scheme must be https, http or file".to_owned()),
        }
    }

    fn remote(scheme: Scheme, port: u16, rest: &str) -> std::result::Result<Location, String> {
        let rest = rest.strip_prefix("//").ok_or("\"//\" is missing after its scheme")?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains('@') {
            return Err("it contains a user name or a password".to_owned());
        }
        let (host, port) = host_and_port(authority, port)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (rest, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        check_path(path)?;
        Ok(Location { scheme, host: host.to_ascii_lowercase(), port, path: path.to_owned(), query })
    }

    fn file(rest: &str) -> std::result::Result<Location, String> {
        let path =
            rest.strip_prefix("//localhost").or_else(|| rest.strip_prefix("//")).unwrap_or(rest);
        if !path.starts_with('/') {
            return Err(
                "the URL of a file needs an absolute path: file:/folder/name.npy".to_owned()
            );
        }
        check_path(path)?;
        let path = decoded(path)?;
        Ok(Location { scheme: Scheme::File, host: String::new(), port: 0, path, query: None })
    }

    /// Whether it is at or below this place.
    pub fn is_below(&self, place: &Location) -> bool {
        let same = (self.scheme, &self.host, self.port) == (place.scheme, &place.host, place.port);
        let folder = place.path.strip_suffix('/').unwrap_or(&place.path);
        let rest = self.path.strip_prefix(folder);
        same && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Where a redirection from here leads.
    pub fn redirected(&self, to: &str) -> std::result::Result<Location, String> {
        let begins_with_scheme =
            to.split(['/', '?', '#']).next().is_some_and(|begin| begin.contains(':'));
        if begins_with_scheme {
            let there = Location::parse(to)?;
            // A page of the network does not choose files of the server's.
            return if there.scheme == Scheme::File {
                Err("it leads to a file".to_owned())
            } else {
                Ok(there)
            };
        }
        let scheme = if self.scheme == Scheme::Https { "https" } else { "http" };
        let port = self.port;
        match to {
            _ if to.starts_with("//") => Location::parse(&format!("{scheme}:{to}")),
            _ if to.starts_with('/') => {
                Location::parse(&format!("{scheme}://{}:{port}{to}", self.host))
            }
            _ => {
                let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                Location::parse(&format!("{scheme}://{}:{port}{folder}/{to}", self.host))
            }
        }
    }
}

/// `host`, `host:8080`, `[::1]:8080`.
fn host_and_port(authority: &str, port: u16) -> std::result::Result<(&str, u16), String> {
    let colon = match authority.rfind(']') {
        Some(bracket) => authority[bracket..].find(':').map(|at| bracket + at),
        None => authority.find(':'),
    };
    let (host, port) = match colon {
        None => (authority, port),
        Some(at) => {
            let text = &authority[at + 1..];
            (
                &authority[..at],
                text.parse()
                    .map_err(|_| format!("its port \"{text}\" is not a number up to 65535"))?,
            )
        }
    };
    if host.is_empty() {
        return Err("it names no host".to_owned());
    }
    Ok((host, port))
}

/// Parts that lead elsewhere than they seem to are refused, however they are written.
fn check_path(path: &str) -> std::result::Result<(), String> {
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let plain = decoded(part)?;
        if plain == "."
            || plain == ".."
            || plain.contains(['/', '\0'])
            || (plain.is_empty() && parts.peek().is_some())
        {
            return Err(format!("its path has a part \"{part}\""));
        }
    }
    Ok(())
}

/// Text with its `%XX` resolved.
fn decoded(text: &str) -> std::result::Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (*first, digits.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => (bytes.push(byte), rest = &tail[2..]),
            (b'%', None) => return Err("a % without two hexadecimal digits".to_owned()),
            (byte, _) => (bytes.push(byte), rest = tail),
        };
    }
    String::from_utf8(bytes).map_err(|_| "its %XX codes are not UTF-8".to_owned())
}

/// A place that the manifest allows, and whom.
#[derive(Clone, Debug)]
struct Rule {
    place: Location,
    who: Vec<String>,
}

/// What the manifest allows.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Reads the manifest's table; the error says what is wrong with it.
    pub fn new(allowed: &[Allowed]) -> std::result::Result<Rules, String> {
        let mut rules = Vec::new();
        for entry in allowed {
            if entry.from.is_empty() || entry.who.is_empty() {
                return Err("an entry with an empty `from` or `who` allows nothing".to_owned());
            }
            for from in &entry.from {
                let place = Location::parse(from)
                    .map_err(|error| format!("\"{from}\" is not a URL: {error}"))?;
                if place.query.is_some() {
                    return Err(format!("\"{from}\" has a query; name the folder"));
                }
                rules.push(Rule { place, who: entry.who.clone() });
            }
        }
        Ok(Rules { rules })
    }

    /// Takes a URL apart that this user may have fetched.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no URL, `PermissionDenied`.
    pub fn locate(&self, url: &str, principal: &str) -> Result<Location> {
        let location = Location::parse(url).map_err(|message| {
            Error::new(
                ErrorKind::InvalidArgument,
                "fetch an array",
                format!("its URL cannot be used: {message}"),
            )
            .with("url", shown(url))
        })?;
        self.check(&location, principal).map(|_| location)
    }

    /// The allowed place that a location lies in.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check(&self, location: &Location, principal: &str) -> Result<&Location> {
        let rule = self.rules.iter().find(|rule| {
            location.is_below(&rule.place)
                && rule.who.iter().any(|who| who == "*" || who == principal)
        });
        rule.map(|rule| &rule.place).ok_or_else(|| {
            let message = "this user may not fetch arrays from that address";
            Error::new(ErrorKind::PermissionDenied, "fetch an array", message)
                .with("url", location)
                .with("user", principal)
                .fix(
                    "send the array itself, or ask the server's administrator for an entry in \
                    `allow` of the fetcher",
                )
        })
    }
}

/// A URL for a message: short, and without what would confuse a terminal.
fn shown(url: &str) -> String {
    url.chars().take(200).flat_map(char::escape_debug).collect()
}
