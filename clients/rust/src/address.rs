//! Where a server is, as people write it.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use farcall_base::{Error, ErrorKind, Result};

use crate::listed::{self, ServerList};
use crate::ssh::SshAddress;

/// A server's address: `unix:PATH`, `ssh://[USER@]HOST[:PORT][/LAUNCHER]`, `tls://HOST:PORT`,
/// `farcall://HOST:PORT` or `tcp:HOST:PORT`; or several of them, and `here`, with blanks between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket of this host.
    Unix(PathBuf),
    /// A TCP port of this host.
    Tcp {
        /// Name or number of the host.
        host: String,
        /// Port.
        port: u16,
    },
    /// A server of this user's on a host that `ssh` reaches.
    Ssh(SshAddress),
    /// A TCP port behind which TLS is spoken, of any host.
    Tls {
        /// Name or number of the host, as the server's certificate has it.
        host: String,
        /// Port.
        port: u16,
    },
    /// Several servers as one, without a service that knows them.
    List(ServerList),
}

/// The variable that names the server to use by default.
const SERVER_VARIABLE: &str = "FARCALL_SERVER";

impl Address {
    /// The address in `text`; without one `$FARCALL_SERVER`'s, and without that this user's default
    /// server's.
    ///
    /// # Errors
    /// `InvalidArgument` for no address.
    pub fn given_or_default(text: Option<&str>) -> Result<Address> {
        if let Some(text) = text {
            return text.parse();
        }
        match std::env::var(SERVER_VARIABLE).ok().filter(|address| !address.is_empty()) {
            Some(text) => text.parse().map_err(of_environment),
            None => Ok(Address::Unix(farcall_transport_unix::default_socket_path())),
        }
    }

    /// What the address explains of a failure to connect: `text` is what
    /// [`Address::given_or_default`] was given.
    pub fn explain(&self, error: Error, text: Option<&str>) -> Error {
        let error = match self {
            Address::Unix(path)
                if error.kind() == ErrorKind::Unreachable && !may_be_socket(path) =>
            {
                no_socket(path)
            }
            _ => error,
        };
        let of_variable = text.is_none()
            && std::env::var_os(SERVER_VARIABLE).is_some_and(|named| !named.is_empty());
        if of_variable { of_environment(error) } else { error }
    }
}

/// Whether a socket lies there, or nothing that we can see.
fn may_be_socket(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |found| found.file_type().is_socket())
}

/// Connecting to a folder or a file is refused in the same words as connecting to a server that is
/// gone.
fn no_socket(path: &Path) -> Error {
    let what = if path.is_dir() {
        "this is a directory, not a server's socket"
    } else {
        "this is not a server's socket"
    };
    Error::new(ErrorKind::Unreachable, "connect", what)
        .with("path", path.display())
        .fix("pass the path of the socket, as farcall serve prints it")
}

fn of_environment(error: Error) -> Error {
    let fix = error.advice().map_or(String::new(), |advice| format!("{advice}, or "));
    error
        .with("address from", format!("${SERVER_VARIABLE}"))
        .fix(format!("{fix}unset {SERVER_VARIABLE}"))
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        if let Some(words) = listed::words(text) {
            return ServerList::of(&words).map(Address::List);
        }
        Address::one(text)
    }
}

impl Address {
    /// Of one server.
    pub(crate) fn one(text: &str) -> Result<Address> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(PathBuf::from(path)));
        }
        if let Some(rest) = text.strip_prefix("ssh://") {
            return SshAddress::parse(rest).map(Address::Ssh).ok_or_else(|| wrong(text));
        }
        let found = match text.strip_prefix("tls://") {
            Some(rest) => host_and_port(rest).map(|(host, port)| Address::Tls { host, port }),
            None => text
                .strip_prefix("farcall://")
                .or_else(|| text.strip_prefix("tcp:"))
                .and_then(host_and_port)
                .map(|(host, port)| Address::Tcp { host, port }),
        };
        found.ok_or_else(|| wrong(text))
    }
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.trim_end_matches('/').rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port != 0)?;
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "connect", format!("\"{text}\" is not a server address"))
        .fix("write unix:PATH, ssh://USER@HOST, tls://HOST:PORT or farcall://HOST:PORT")
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
        let tls = |host: &str, port| Address::Tls { host: host.to_owned(), port };
        assert_eq!(
            "tls://cluster.example:4711".parse::<Address>().unwrap(),
            tls("cluster.example", 4711)
        );
        assert_eq!("tls://[::1]:7000/".parse::<Address>().unwrap(), tls("::1", 7000));
        let ssh = |text: &str| match text.parse::<Address>() {
            Ok(Address::Ssh(ssh)) => (ssh.destination, ssh.port, ssh.launcher.unwrap_or_default()),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            ssh("ssh://me@[fe80::1]:22/slurm"),
            ("me@fe80::1".to_owned(), Some(22), "slurm".to_owned())
        );
        assert_eq!(ssh("ssh://[::1]"), ("::1".to_owned(), None, String::new()));
        assert_eq!(ssh("ssh://me@work@host"), ("me@work@host".to_owned(), None, String::new()));
        for wrong in [
            "ssh://",
            "ssh://me@",
            "ssh://me@::1",
            "ssh://host:0",
            "ssh://host:/home",
            "ssh://-oProxyCommand=x",
            "ssh://two words",
            "ssh://host/home/me",
            "",
            "unix:",
            "tls:",
            "tls://",
            "tls://host",
            "tls://:9",
            "tls://h:0",
            "localhost:70",
            "farcall://host",
            "farcall://:1",
            "tcp:h:0",
            "tcp:h:99999",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
            assert!(Address::given_or_default(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn folders_and_files_are_no_servers_that_are_gone() {
        let gone = || Error::new(ErrorKind::Unreachable, "connect", "the server is gone");
        let at = |path: &Path| Address::Unix(path.to_owned()).explain(gone(), Some("")).to_string();
        let folder = std::env::temp_dir();
        assert!(at(&folder).contains("this is a directory"), "{}", at(&folder));
        assert!(at(&std::env::current_exe().unwrap()).contains("this is not a server's socket"));
        assert_eq!(at(&folder.join("farcall-no-such-socket")), gone().to_string());
    }

    #[test]
    fn errors_say_that_the_environment_gave_the_address() {
        let gone = Error::new(ErrorKind::Unreachable, "connect", "the server is gone")
            .fix("start it again");
        let said = of_environment(gone).to_string();
        assert_eq!(
            said,
            "connect: the server is gone (address from: $FARCALL_SERVER); start it again, or \
                unset FARCALL_SERVER"
        );
    }
}
