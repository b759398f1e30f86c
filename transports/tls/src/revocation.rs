//! What a running server trusts: its own certificate and the list of revoked ones, read again when
//! the files change.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind, Result};
use farcall_system::plain_file;
use rustls::ServerConfig;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use crate::certificate::{Certificate, Role, date};
use crate::config::{self, Presented};
use crate::credentials::{Credentials, Whose};
use crate::refusal::carried;

/// How often the files are looked at for connections that say much.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Many connections that are looked at one after the other share one look at the files.
const LOOK_SHARED: Duration = Duration::from_millis(10);
/// A list of a hundred thousand certificates is not as long.
const LIST_BYTES_MAX: u64 = 8 << 20;

/// The files that a server serves with.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// Certificate, key and authority, as `farcall ca` makes them.
    pub credentials: PathBuf,
    /// The authority's list of revoked certificates.
    pub revocations: PathBuf,
}

/// What the files held when they were read.
struct Trust {
    config: Arc<ServerConfig>,
    revoked: HashSet<Vec<u8>>,
}

/// Tells a file from what it was: it is replaced, or written to.
type Stamp = Option<(u64, u64, i64, i64)>;

struct Watched {
    stamps: [Stamp; 2],
    looked: Instant,
    trust: Trust,
    /// Why the files as they are now cannot be used.
    trouble: Option<String>,
}

/// The files, and what they say.
pub struct Revocations {
    files: ServerFiles,
    presented: Presented,
    watched: Mutex<Watched>,
}

impl Revocations {
    /// Reads the files.
    ///
    /// # Errors
    /// As [`Credentials::read`]; `NotFound` and `InvalidSource` for the list.
    pub fn read(files: ServerFiles) -> Result<Revocations> {
        let presented = Presented::default();
        let stamps = stamps(&files);
        let trust = read(&files, &presented)?;
        let watched = Watched { stamps, looked: Instant::now(), trust, trouble: None };
        Ok(Revocations { files, presented, watched: Mutex::new(watched) })
    }

    /// What a new connection is served with. While the files are damaged there is none: a list that
    /// cannot be read may hold whoever asks.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn config(&self) -> Result<Arc<ServerConfig>> {
        let watched = self.look(Duration::ZERO);
        match &watched.trouble {
            None => Ok(watched.trust.config.clone()),
            Some(trouble) => {
                Err(Error::new(ErrorKind::InvalidSource, "secure the connection", trouble.clone()))
            }
        }
    }

    /// Whose certificate was looked at last.
    pub fn presented(&self) -> Option<Certificate> {
        self.presented.take()
    }

    /// Whether the list has a certificate, by what [`Guard::certificate`] said of it.
    pub fn lists(&self, certificate: &str) -> bool {
        self.look(LOOK_SHARED).trust.revoked.iter().any(|serial| hexadecimal(serial) == certificate)
    }

    fn is_revoked(&self, serial: &[u8], age: Duration) -> bool {
        self.look(age).trust.revoked.contains(serial)
    }

    /// Reads the files again if they changed since, and the last look was `age` ago.
    fn look(&self, age: Duration) -> MutexGuard<'_, Watched> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.looked.elapsed() >= age {
            watched.looked = Instant::now();
            let stamps = stamps(&self.files);
            if stamps != watched.stamps {
                watched.stamps = stamps;
                match read(&self.files, &self.presented) {
                    Ok(trust) => (watched.trust, watched.trouble) = (trust, None),
                    Err(error) => watched.trouble = Some(error.to_string()),
                }
            }
        }
        watched
    }
}

fn stamps(files: &ServerFiles) -> [Stamp; 2] {
    let stamp = |path: &Path| {
        let status = fs::metadata(path).ok()?;
        Some((status.dev(), status.ino(), status.ctime(), status.ctime_nsec()))
    };
    [stamp(&files.credentials), stamp(&files.revocations)]
}

fn read(files: &ServerFiles, presented: &Presented) -> Result<Trust> {
    let credentials = Credentials::read(&files.credentials, Whose::Server)?;
    let list = read_list(&files.revocations)
        .map_err(|error| error.with("path", files.revocations.display()))?;
    let revoked =
        serials(&list).map_err(|error| error.with("path", files.revocations.display()))?;
    Ok(Trust { config: config::server(&credentials, list, presented)?, revoked })
}

fn damaged() -> Error {
    Error::new(
        ErrorKind::InvalidSource,
        "read the list of revoked certificates",
        "the file does not have such a list",
    )
    .fix("copy the file revoked.crl that farcall ca writes to that place")
}

fn read_list(path: &Path) -> Result<CertificateRevocationListDer<'static>> {
    let text =
        plain_file::read(path, LIST_BYTES_MAX).map_err(|error| {
            let kind = if error.kind() == io::ErrorKind::NotFound {
                ErrorKind::NotFound
            } else {
                ErrorKind::System
            };
            Error::new(kind, "read the list of revoked certificates", error.to_string())
            .fix("copy revoked.crl of the authority there: farcall ca init creates it, farcall ca \
                revoke rewrites it")
            .source(error)
        })?;
    CertificateRevocationListDer::from_pem_slice(&text).map_err(|_| damaged())
}

pub(crate) fn serials(list: &CertificateRevocationListDer<'_>) -> Result<HashSet<Vec<u8>>> {
    let (_, list) = CertificateRevocationList::from_der(list).map_err(|_| damaged())?;
    Ok(list.iter_revoked_certificates().map(|revoked| revoked.raw_serial().to_vec()).collect())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The command that replaces a certificate.
fn remade(certificate: &Certificate) -> String {
    match certificate.role {
        Role::User => format!("farcall ca user {}", certificate.name),
        Role::Server => format!("farcall ca server {}", certificate.hosts.join(",")),
    }
}

/// Watches over one connection: its certificate may be revoked, or expire, while it is open.
pub struct Guard {
    revocations: Arc<Revocations>,
    certificate: Certificate,
}

impl Guard {
    /// Over a connection whose other end showed `certificate`.
    pub fn new(revocations: Arc<Revocations>, certificate: Certificate) -> Guard {
        Guard { revocations, certificate }
    }

    /// What tells its certificate from others of the same authority.
    pub fn certificate(&self) -> String {
        hexadecimal(&self.certificate.serial)
    }

    /// Whether the connection may go on, by what the files said within the last second: cheap
    /// enough for every message.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check(&self) -> io::Result<()> {
        self.check_by(LOOK_EVERY)
    }

    /// Whether the connection may go on, by what the files say now.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_now(&self) -> io::Result<()> {
        self.check_by(LOOK_SHARED)
    }

    fn check_by(&self, age: Duration) -> io::Result<()> {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let name = &self.certificate.name;
        let (what, fix) = if self.revocations.is_revoked(&self.certificate.serial, age) {
            (
                "was revoked".to_owned(),
                format!("if this was a mistake, create another: {}", remade(&self.certificate)),
            )
        } else if now > self.certificate.not_after {
            let when = date(self.certificate.not_after);
            (format!("expired on {when}"), format!("create a new one: farcall ca renew {name}"))
        } else {
            return Ok(());
        };
        let message = format!("the certificate of \"{name}\" {what}");
        Err(carried(
            Error::new(ErrorKind::PermissionDenied, "keep a connection open", message).fix(fix),
        ))
    }
}
