//! Credentials: one file with a certificate, its private key and the certificate of the authority.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use farcall_base::{Error, ErrorKind, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::certificate::{Certificate, date};
use crate::private_file;

/// Names the file with a user's credentials, or a folder with several.
const VARIABLE: &str = "FARCALL_CREDENTIALS";

/// Whose credentials a file is expected to hold: it decides what to advise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A user's, who connects.
    User,
    /// A server's.
    Server,
}

/// Where this user's credentials may lie: `$FARCALL_CREDENTIALS`, or `farcall/credentials.pem` and
/// the folder `farcall/credentials` among the user's configuration (`$XDG_CONFIG_HOME`, or
/// `~/.config`).
pub fn default_credentials() -> Vec<PathBuf> {
    let named = |variable: &str| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    if let Some(place) = named(VARIABLE) {
        return vec![place];
    }
    let home = || named("HOME").unwrap_or_else(|| PathBuf::from("/")).join(".config");
    let folder = named("XDG_CONFIG_HOME").unwrap_or_else(home).join("farcall");
    vec![folder.join("credentials.pem"), folder.join("credentials")]
}

/// A certificate with its key, and the authority that both ends trust.
pub struct Credentials {
    pub(crate) own: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) authority: CertificateDer<'static>,
    /// What the certificate says.
    pub certificate: Certificate,
    /// Where it lies.
    pub path: PathBuf,
}

impl Credentials {
    /// Reads a file that `farcall ca` made; it must belong to this user (or root) and be readable
    /// by nobody else.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` when others can read it or the certificate is not valid now,
    /// `InvalidSource`.
    pub fn read(path: &Path, whose: Whose) -> Result<Credentials> {
        let credentials = Self::read_at_any_time(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing(path, whose),
            _ => error,
        })?;
        check_time(&credentials.certificate, whose)
            .map_err(|error| error.with("path", path.display()))?;
        Ok(credentials)
    }

    /// Whether a user's is valid now.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub(crate) fn check_time(&self) -> Result<()> {
        check_time(&self.certificate, Whose::User)
            .map_err(|error| error.with("path", self.path.display()))
    }

    /// The same for certificates that are not valid now: to look at them.
    ///
    /// # Errors
    /// As [`Credentials::read`].
    pub fn read_at_any_time(path: &Path) -> Result<Credentials> {
        let text = private_file::read(path)?;
        parse(path, &text).map_err(|error| error.with("path", path.display()))
    }
}

fn missing(path: &Path, whose: Whose) -> Error {
    let (message, fix) = match whose {
        Whose::User => (
            "you have no certificate, and this server requires one",
            format!(
                "ask its administrator for a file (farcall ca user NAME creates it), and store it \
                 there with mode 600 or set {VARIABLE} to it"
            ),
        ),
        Whose::Server => (
            "there is no certificate for this server",
            "create an authority and a certificate: farcall ca init --server HOST".to_owned(),
        ),
    };
    Error::new(ErrorKind::NotFound, "read the credentials", message)
        .with("path", path.display())
        .fix(fix)
}

fn parse(path: &Path, text: &str) -> Result<Credentials> {
    let wrong = |what: &str| {
        Error::new(ErrorKind::InvalidSource, "read the credentials", what.to_owned()).fix(
            "use the complete file that `farcall ca` created: certificate, private key, \
                authority's certificate",
        )
    };
    let certificates: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let certificates = certificates.map_err(|_| wrong("a certificate in it is damaged"))?;
    let Ok([own, authority]) = <[CertificateDer<'static>; 2]>::try_from(certificates) else {
        return Err(wrong("it must have two certificates: its own, and the authority's"));
    };
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|_| wrong("it has no private key"))?;
    let certificate = Certificate::parse(&own)?;
    Ok(Credentials { own, key, authority, certificate, path: path.to_owned() })
}

fn check_time(certificate: &Certificate, whose: Whose) -> Result<()> {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let refuse = |message: String, fix: &str| {
        Err(Error::new(ErrorKind::PermissionDenied, "read the credentials", message).fix(fix))
    };
    let name = &certificate.name;
    if now < certificate.not_before {
        let message = format!(
            "the certificate of \"{name}\" is valid only from {}",
            date(certificate.not_before)
        );
        return refuse(message, "check this machine's clock");
    }
    if now > certificate.not_after {
        let message =
            format!("the certificate of \"{name}\" expired on {}", date(certificate.not_after));
        let renew = format!("farcall ca renew {name}");
        let fix = match whose {
            Whose::User => format!("ask the server's administrator for a new one: {renew}"),
            Whose::Server => format!("create a new one: {renew}"),
        };
        return refuse(message, &fix);
    }
    Ok(())
}

/// An authority's own certificate, with the text that holds its key.
pub struct AuthorityFile {
    /// What the certificate says.
    pub certificate: Certificate,
    /// The whole file: certificate and private key.
    pub text: String,
}

impl Credentials {
    /// Reads the file of an authority, by the same rules.
    ///
    /// # Errors
    /// As [`Credentials::read`].
    pub fn read_authority(path: &Path) -> Result<AuthorityFile> {
        let text = private_file::read(path)?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| {
            Error::new(ErrorKind::InvalidSource, "open the authority", "it has no certificate")
                .with("path", path.display())
                .fix("restore the file from a backup")
        })?;
        Ok(AuthorityFile { certificate: Certificate::parse(&certificate)?, text })
    }
}
