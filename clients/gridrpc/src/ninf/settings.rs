//! Where calls go: servers that the program, its arguments or its environment name.

use std::ffi::{CStr, c_char, c_int};

use crate::code::{Failure, Number, Outcome};
use crate::pointers::optional_text;

use super::failure::enter;
use super::{lock, ninf};

/// More hosts than this in a map are a mistake.
const HOSTS_MAX: usize = 1 << 16;
/// Options with a value that have no effect, and those without a value.
const VALUES: [&str; 4] = ["-callback_port", "-ssl_cert", "-ssl_key", "-cproxy"];
const FLAGS: [&str; 7] =
    ["-privileged", "-shell", "-shell_callback", "-log_record", "-ssl", "-debug", "-quiet"];

/// What was said of servers.
#[derive(Default)]
pub struct Settings {
    host: Option<String>,
    port: u16,
    /// Hosts for groups.
    pub map: Vec<(String, u16)>,
}

impl Settings {
    /// The server of entries without one.
    pub fn server(&self) -> (Option<String>, u16) {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        let (host, port) = match &self.host {
            Some(host) => (Some(host.clone()), self.port),
            None => {
                let port = variable("NINF_SERVER_PORT")
                    .and_then(|port| port.trim().parse().ok())
                    .unwrap_or(self.port);
                (variable("NINF_SERVER"), port)
            }
        };
        // A port alone is one of this host.
        let host = host.or_else(|| (port > 0).then(|| "localhost".to_owned()));
        host.map_or((None, 0), |host| {
            let (host, port) = split(&host, port);
            (Some(host), port)
        })
    }
}

fn port(text: &str) -> Outcome<u16> {
    text.trim().parse().map_err(|_| Failure::other(format!("{text:?} is not a port")))
}

/// `HOST`, with 0, or `HOST:PORT`.
pub fn host_and_port(place: &str) -> Option<(String, u16)> {
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (place, 0),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// A host, or an address as it is; `HOST:PORT` is both at once, and the port of its own counts.
fn split(text: &str, port: u16) -> (String, u16) {
    host_and_port(text)
        .filter(|(host, port)| *port > 0 && !host.contains(':'))
        .unwrap_or((text.to_owned(), port))
}

/// A line per host: `HOST`, `HOST PORT` or `HOST:PORT`, `#` before comments.
fn read_map(text: &str) -> Outcome<Vec<(String, u16)>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let host = |line: &str| {
        let mut words = line.split_whitespace();
        let host = words.next().unwrap_or_default();
        Ok(split(host, words.next().map_or(Ok(0), port)?))
    };
    lines.filter(|line| !line.is_empty()).take(HOSTS_MAX).map(host).collect()
}

/// Takes one option and its value; false for what is none of ours.
fn take(settings: &mut Settings, option: &str, value: Option<&str>) -> Outcome<bool> {
    let needed = || value.ok_or_else(|| Failure::other(format!("{option} needs a value")));
    match option {
        "-server" => settings.host = Some(needed()?.to_owned()),
        "-port" => settings.port = port(needed()?)?,
        "-map" => {
            let file = needed()?;
            let text = std::fs::read_to_string(file).map_err(|error| {
                Failure::other(format!("{file}: {error}")).numbered(Number::FileCannotOpen)
            })?;
            settings.map = read_map(&text)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Takes our options out of a program's arguments: how many are left.
///
/// # Safety
/// As many texts as `count` says.
unsafe fn parse(count: c_int, arguments: *mut *mut c_char) -> Outcome<c_int> {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 || arguments.is_null() {
        return Ok(0);
    }
    // SAFETY: the caller's promise, here and below.
    let all = unsafe { std::slice::from_raw_parts_mut(arguments, count) };
    // SAFETY: as above.
    let word = |word: &*mut c_char| unsafe { word.as_ref().map(|first| CStr::from_ptr(first)) };
    let words: Vec<String> = all
        .iter()
        .map(|one| word(one).map_or_else(String::new, |one| one.to_string_lossy().into()))
        .collect();
    let mut settings = lock(&ninf().settings);
    let mut kept = 1;
    let mut at = 1;
    while at < count {
        let option = words[at].as_str();
        let value = words.get(at + 1).map(String::as_str);
        if VALUES.contains(&option) || take(&mut settings, option, value)? {
            at += 2;
        } else if FLAGS.contains(&option) {
            at += 1;
        } else {
            all[kept] = all[at];
            (kept, at) = (kept + 1, at + 1);
        }
    }
    if kept < count {
        // A program may look for the end of its arguments there.
        all[kept] = std::ptr::null_mut();
    }
    Ok(kept as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_parse_arg(count: c_int, arguments: *mut *mut c_char) -> c_int {
    // SAFETY: ninf.h: a program's arguments.
    enter("Ninf_parse_arg", || unsafe { parse(count, arguments) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn farcall_Ninf_set_server(host: *const c_char, wanted: *const c_char) {
    enter("Ninf_set_server", || {
        // SAFETY: ninf.h: NULL or text, here and below.
        let host = unsafe { optional_text(host, "the host") }?
            .filter(|host| !host.is_empty())
            .map(str::to_owned);
        // SAFETY: as above.
        let wanted = unsafe { optional_text(wanted, "the port") }?.filter(|port| !port.is_empty());
        let port = wanted.map_or(Ok(0), port)?;
        let mut settings = lock(&ninf().settings);
        (settings.host, settings.port) = (host, port);
        Ok(0)
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_a_host_per_line() {
        let map =
            read_map("# all of them\nalpha 3000\n\n beta # the slow one\ngamma:3001\nunix:/s\n")
                .unwrap();
        let expected = [("alpha", 3000), ("beta", 0), ("gamma", 3001), ("unix:/s", 0)];
        assert_eq!(map, expected.map(|(host, port)| (host.to_owned(), port)));
        assert!(read_map("alpha many").is_err());
    }

    #[test]
    fn a_port_is_told_beside_the_host_or_behind_it() {
        let server = |host: Option<&str>, port| {
            Settings { host: host.map(str::to_owned), port, map: vec![] }.server()
        };
        let at = |host: &str, port| (Some(host.to_owned()), port);
        assert_eq!(server(Some("hpc"), 3001), at("hpc", 3001));
        assert_eq!(server(Some("hpc:3002"), 0), at("hpc", 3002));
        assert_eq!(server(Some("tls://hpc:3002"), 0), at("tls://hpc:3002", 0));
        assert_eq!(server(Some("::1"), 3003), at("::1", 3003));
        if std::env::var_os("NINF_SERVER").is_none() {
            assert_eq!(server(None, 3001), at("localhost", 3001));
        }
    }
}
