//! A job's ticket: how to reach its server, and the certificate for that (spec/pilot.md).

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::stream::{ByteStream, Proof};
use farcall_services::mailbox::Sender;
use farcall_system::plain_file;

const BYTES_MAX: u64 = 64 << 10;
const HEAD: &str = "farcall-ticket 1";
/// Time that each address has.
const DIAL_MAX: Duration = Duration::from_secs(20);
/// Times that all of them are tried: a network may be slow to learn of a node.
const ROUNDS_MAX: u32 = 3;

pub struct Ticket {
    /// What the server calls this job.
    pub job: String,
    /// What it lets modules use and do: options of the spawner.
    pub options: String,
    path: PathBuf,
    addresses: Vec<String>,
    /// Opens connections through the launcher.
    streams: Option<Sender<OwnedFd>>,
}

impl Ticket {
    /// Reads one.
    ///
    /// # Errors
    /// `NotFound` when the job is over, and its folder gone; `InvalidSource`.
    pub fn read(path: &Path, streams: Option<Sender<OwnedFd>>) -> Result<Ticket> {
        let wrong = |kind, message: String| {
            Error::new(kind, "read the ticket", message).with("path", path.display()).fix(
                "a server writes it for its job and removes it later: this job is no longer wanted",
            )
        };
        let text = plain_file::read_text(path, BYTES_MAX)
            .map_err(|error| wrong(ErrorKind::NotFound, error.to_string()))?;
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(wrong(
                ErrorKind::InvalidSource,
                "it is from another version of Farcall".to_owned(),
            ));
        }
        let said = |word: &str| -> Vec<String> {
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.filter(|(name, _)| *name == word).map(|(_, value)| value.to_owned()).collect()
        };
        let job = said("job").pop();
        let addresses = said("dial");
        let options = said("option").join("\n");
        match job.filter(|_| !addresses.is_empty()) {
            Some(job) => Ok(Ticket { job, options, path: path.to_owned(), addresses, streams }),
            None => Err(wrong(
                ErrorKind::InvalidSource,
                "it names no job, or no way to reach the server".to_owned(),
            )),
        }
    }

    /// Whether connections pass the launcher.
    pub fn is_through_launcher(&self) -> bool {
        self.streams.is_some()
    }

    /// A connection to the server.
    ///
    /// # Errors
    /// Why the last address could not be reached.
    pub fn dial(&self) -> Result<Box<dyn ByteStream>> {
        let mut last = Error::internal("connect to the server", "no address was tried");
        for round in 0..ROUNDS_MAX {
            if round > 0 {
                std::thread::sleep(Duration::from_secs(1));
            }
            for address in &self.addresses {
                match self.dial_at(address) {
                    Ok(line) => return Ok(line),
                    Err(error) => last = error.with("address", address),
                }
            }
        }
        if self.streams.is_some() {
            return Err(last);
        }
        let message = format!("this host cannot reach the server: {last}");
        Err(Error::new(last.kind(), "connect to the server", message).fix(
            "set another reached_at for the launcher in the server's farcall.toml; if no address \
            can be reached from this host, set dial = \"stdio\"",
        ))
    }

    fn dial_at(&self, address: &str) -> Result<Box<dyn ByteStream>> {
        if let Some(path) = address.strip_prefix("unix:") {
            let socket = farcall_transport_unix::connect_for_bytes(Path::new(path))
                .map_err(|error| Error::system("connect to the server", error))?;
            // It is passed on as it is: nothing but bytes goes either way.
            return Ok(farcall_transport_unix::relayed(
                socket.into(),
                address.to_owned(),
                Proof::Inherited,
            ));
        }
        if let Some(host) = address.strip_prefix("stdio:") {
            return self.dial_through_launcher(host);
        }
        let place = address.strip_prefix("tls://").and_then(|rest| rest.rsplit_once(':'));
        let (host, port) =
            place.and_then(|(host, port)| Some((host, port.parse().ok()?))).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidSource,
                    "connect to the server",
                    "it is not an address",
                )
                .with("address", address)
            })?;
        farcall_transport_tls::connect(host, port, Some(&self.path), DIAL_MAX)
    }

    fn dial_through_launcher(&self, host: &str) -> Result<Box<dyn ByteStream>> {
        let streams = self.streams.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Unreachable,
                "connect to the server",
                "the launcher relays \
                nothing",
            )
            .fix(
                "use a launcher with the attribute bridge (spec/launcher.md), or another \
                    dial in farcall.toml",
            )
        })?;
        let (near, far) = std::os::unix::net::UnixStream::pair()
            .map_err(|error| Error::system("connect to the server", error))?;
        let gone = |_| {
            Error::new(ErrorKind::ConnectionLost, "connect to the server", "the launcher is gone")
        };
        streams.try_send(far.into()).map_err(gone)?;
        farcall_transport_tls::connect_over(
            near.into(),
            (host, format!("stdio:{host}")),
            &self.path,
            DIAL_MAX,
        )
    }
}
