//! Where a server is, as people write it.

use std::path::PathBuf;
use std::str::FromStr;

use farcall_base::{Error, ErrorKind, Result};

/// A server's address: `unix:PATH`, `farcall://HOST:PORT` or `tcp:HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket of this host.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Name or number of the host.
        host: String,
        /// Port.
        port: u16,
    },
}

/// The variable that names the server to use by default.
const SERVER_VARIABLE: &str = "FARCALL_SERVER";

impl Address {
    /// The address in `text`; without one `$FARCALL_SERVER`'s, and without that this user's default server's.
    ///
    /// # Errors
    /// `InvalidArgument` for no address.
    pub fn given_or_default(text: Option<&str>) -> Result<Address> {
        let named = text.map(str::to_owned).or_else(|| std::env::var(SERVER_VARIABLE).ok());
        match named.filter(|address| !address.is_empty()) {
            Some(text) => text.parse(),
            None => Ok(Address::Unix(farcall_transport_unix::default_socket_path())),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(PathBuf::from(path)));
        }
        let rest = text.strip_prefix("farcall://").or_else(|| text.strip_prefix("tcp:"));
        rest.and_then(host_and_port).ok_or_else(|| wrong(text))
    }
}

fn host_and_port(text: &str) -> Option<Address> {
    let (host, port) = text.trim_end_matches('/').rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port != 0)?;
    (!host.is_empty()).then(|| Address::Tcp { host: host.to_owned(), port })
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "connect", format!("\"{text}\" is no address of a server"))
        .fix("write unix:PATH or farcall://HOST:PORT")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_parse() {
        let tcp = |host: &str, port| Address::Tcp { host: host.to_owned(), port };
        assert_eq!("unix:/run/x".parse::<Address>().unwrap(), Address::Unix("/run/x".into()));
        assert_eq!("farcall://localhost:7000".parse::<Address>().unwrap(), tcp("localhost", 7000));
        assert_eq!("tcp:[::1]:7000".parse::<Address>().unwrap(), tcp("::1", 7000));
        for wrong in ["", "unix:", "localhost:70", "farcall://host", "farcall://:1", "tcp:h:0", "tcp:h:99999"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
