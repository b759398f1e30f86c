//! The options; options.toml says what each means.

use std::net::IpAddr;
use std::time::Duration;

use farcall_base::Result;
use farcall_kernel::Options;
use farcall_services::store::KEY_BYTES_MAX;
use serde::Deserialize;

/// Bytes of the longest prefix: as many as of the longest key of the service.
const PREFIX_BYTES_MAX: usize = KEY_BYTES_MAX;

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "options.toml documents each")]
pub struct Settings {
    pub endpoints: Vec<String>,
    pub prefix: String,
    pub key_file: String,
    pub ca: String,
    pub certificate: String,
    pub key: String,
    pub plain_http: bool,
    pub attempt_ms: u64,
    pub connect_ms: u64,
    pub patience_ms: u64,
    pub at_once_max: usize,
    pub requests_max: usize,
    pub leases_max: usize,
    pub watches_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            endpoints: Vec::new(),
            prefix: "farcall/".to_owned(),
            key_file: String::new(),
            ca: String::new(),
            certificate: String::new(),
            key: String::new(),
            plain_http: false,
            attempt_ms: 2000,
            connect_ms: 1000,
            patience_ms: 10_000,
            at_once_max: 16,
            requests_max: 256,
            leases_max: 64,
            watches_max: 16,
        }
    }
}

impl Settings {
    /// Reads and checks them.
    ///
    /// # Errors
    /// `InvalidSource` with the place of what is wrong.
    pub fn read(options: &Options) -> Result<Settings> {
        let read: Settings = options.read()?;
        options.check_least(&[
            ("attempt_ms", read.attempt_ms, 1),
            ("connect_ms", read.connect_ms, 1),
            ("patience_ms", read.patience_ms, 1),
            ("at_once_max", read.at_once_max as u64, 1),
            ("requests_max", read.requests_max as u64, 1),
            ("leases_max", read.leases_max as u64, 1),
            ("watches_max", read.watches_max as u64, 1),
        ])?;
        if read.endpoints.is_empty() {
            let error = options.wrong("endpoints", "no member of the etcd cluster is named");
            return Err(error.fix("set endpoints = [\"https://HOST:2379\", …]"));
        }
        for endpoint in &read.endpoints {
            let error = |message: String| options.wrong("endpoints", message);
            read.check(endpoint).map_err(|(message, fix)| error(message).fix(fix))?;
        }
        if read.prefix.is_empty() || read.prefix.len() > PREFIX_BYTES_MAX {
            let message = format!("prefix has 1 to {PREFIX_BYTES_MAX} bytes");
            return Err(options.wrong("prefix", message));
        }
        if read.key_file.is_empty() {
            let fix = "set key_file; a key is made by (umask 077; openssl rand -hex 32 > FILE), and \
                copied to all nodes that share the store";
            return Err(options
                .wrong("key_file", "there is no key to encrypt values with")
                .fix(fix));
        }
        if read.certificate.is_empty() != read.key.is_empty() {
            let message = "certificate and key are set together, or neither is";
            return Err(options.wrong("certificate", message));
        }
        Ok(read)
    }

    fn check(&self, endpoint: &str) -> std::result::Result<(), (String, &'static str)> {
        const FORM: &str = "write https://HOST:PORT";
        let wrong = |fix: &'static str| (format!("\"{endpoint}\" is not a member's address"), fix);
        let (scheme, rest) = endpoint.split_once("://").ok_or_else(|| wrong(FORM))?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| wrong(FORM))?;
        let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
        if !is_host || port.parse::<u16>().is_err() {
            return Err(wrong(FORM));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        match scheme {
            "https" if self.ca.is_empty() => Err((
                format!("the certificate of \"{endpoint}\" cannot be checked"),
                "set ca to the certificate of its authority",
            )),
            "https" => Ok(()),
            "http" if !is_loopback => Err((
                format!("\"{endpoint}\" is not encrypted, and not on this host"),
                "use https, with ca, certificate and key",
            )),
            "http" if !self.plain_http => Err((
                format!("\"{endpoint}\" is not encrypted"),
                "use https, or set plain_http = true for an etcd on this host",
            )),
            "http" => Ok(()),
            _ => Err(wrong(FORM)),
        }
    }

    /// Time for one attempt.
    pub(crate) fn attempt(&self) -> Duration {
        Duration::from_millis(self.attempt_ms)
    }

    /// Time for one request.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings> {
        Settings::read(&Options::from_text("farcall.toml", text).unwrap())
    }

    #[test]
    fn the_documented_options_are_the_defaults() {
        let options = Options::from_text("options.toml", include_str!("options.toml")).unwrap();
        assert_eq!(options.read::<Settings>().unwrap(), Settings::default());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_place() {
        let good =
            "key_file = \"k\"\nca = \"c\"\nendpoints = [\"https://a:1\", \"https://[::1]:2\"]\n";
        read(good).unwrap();
        let with = |line: &str| format!("{good}{line}");
        let endpoint = |address: &str| format!("key_file = \"k\"\nendpoints = [\"{address}\"]\n");
        for (text, words) in [
            (String::new(), "no member"),
            (with("prefix = \"\""), "prefix"),
            (with("certificate = \"x\""), "set together"),
            (with("at_once_max = 0"), "at_once_max"),
            (endpoint("https://a:1"), "set ca"),
            (endpoint("http://127.0.0.1:1"), "plain_http = true"),
            (endpoint("http://a:1"), "not on this host"),
            (endpoint("http://a:1") + "plain_http = true\n", "not on this host"),
            (
                endpoint("http://127.0.0.1.example.org:1") + "plain_http = true\n",
                "not on this host",
            ),
            (endpoint("http://127.0.0.1@a:1") + "plain_http = true\n", "write https"),
            (endpoint("a:1"), "write https"),
            (endpoint("https://a:1/path"), "write https"),
            (endpoint("https://a"), "write https"),
            ("endpoints = [\"http://127.0.0.1:1\"]\nplain_http = true\n".to_owned(), "key_file"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        read(&(endpoint("http://[::1]:1") + "plain_http = true\n")).unwrap();
    }
}
