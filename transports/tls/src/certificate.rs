//! What a certificate says: whose it is, for which hosts, from when until when.
//!
//! Its role is not a matter of its name. A certificate that is good for the server's side and names
//! hosts is a server's; every other is a user's (docs/decisions/0042-roles-in-certificates.md).

use farcall_base::{Error, ErrorKind, Result};
use farcall_link::hosts::{CertifiedHosts, SERVER, is_same_host, server_principal};
use farcall_link::stream::Proof;
use x509_parser::prelude::{ASN1Time, FromDer, GeneralName, X509Certificate};

/// Longest name of a user or server.
const NAME_BYTES_MAX: usize = 64;
/// Names that principals of other transports have.
const RESERVED: [&str; 2] = ["token", "inherited"];

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A user's, who calls.
    User,
    /// A server's, which is called, and may join others.
    Server,
}

/// What people need to know of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is: the common name of its subject.
    pub name: String,
    /// The number that its authority gave it.
    pub serial: Vec<u8>,
    /// First second of its validity, since 1970.
    pub not_before: i64,
    /// Last second of its validity.
    pub not_after: i64,
    /// The hosts that it is for; a user's has none.
    pub hosts: Vec<String>,
    /// Whose it is, by what it is good for.
    pub role: Role,
    /// Whether it is good for the side that dials: servers' certificates of earlier versions are
    /// not.
    pub can_dial: bool,
}

impl Certificate {
    /// Reads one, without checking who signed it.
    ///
    /// # Errors
    /// `InvalidSource` when it is no certificate, or its subject has no name that can stand in a
    /// table of rights: a user's that has the form of a server's, or a server's with a host that
    /// the certificate is not for.
    pub fn parse(der: &[u8]) -> Result<Certificate> {
        let wrong = |message: &str| {
            Error::new(ErrorKind::InvalidSource, "read a certificate", message)
                .fix("use one that `farcall ca` made")
        };
        let (_, parsed) = X509Certificate::from_der(der)
            .map_err(|_| wrong("this is not an X.509 certificate"))?;
        let name = parsed
            .subject()
            .iter_common_name()
            .next()
            .and_then(|name| name.as_str().ok())
            .unwrap_or_default();
        let hosts = parsed.subject_alternative_name().ok().flatten();
        let hosts = hosts.map(|names| names.value.general_names.iter().filter_map(host).collect());
        let hosts: Vec<String> = hosts.unwrap_or_default();
        let purposes =
            parsed.extended_key_usage().map_err(|_| wrong("its purposes are damaged"))?;
        // Without a list it is good for everything (RFC 5280, section 4.2.1.12).
        let purposes = purposes.map(|list| list.value);
        let can_serve = purposes.is_none_or(|list| list.any || list.server_auth);
        let can_dial = purposes.is_none_or(|list| list.any || list.client_auth);
        let role = if can_serve && !hosts.is_empty() { Role::Server } else { Role::User };
        check_subject(name, role, &hosts).map_err(|message| wrong(&message))?;
        Ok(Certificate {
            name: name.to_owned(),
            serial: parsed.raw_serial().to_vec(),
            not_before: parsed.validity().not_before.timestamp(),
            not_after: parsed.validity().not_after.timestamp(),
            hosts,
            role,
            can_dial,
        })
    }

    /// The hosts that it is for, to ask whether one of them is meant.
    pub fn certified_hosts(&self) -> CertifiedHosts {
        CertifiedHosts::new(&self.hosts)
    }

    /// What it proves of the end that showed it: a user by the name in its subject, a server by
    /// the first of its hosts.
    ///
    /// # Errors
    /// `PermissionDenied` for a server's that names no single host.
    pub fn proof(&self) -> Result<Proof> {
        if self.role == Role::User {
            return Ok(Proof::Certificate { name: self.name.clone() });
        }
        let hosts = self.certified_hosts();
        let first = hosts.first().ok_or_else(|| {
            let message = format!(
                "the certificate of \"{}\" is a server's for {}, and names no single host",
                self.name,
                self.hosts.join(", ")
            );
            Error::new(ErrorKind::PermissionDenied, "secure the connection", message)
                .fix("create one with the server's own host name: farcall ca server HOST")
        })?;
        Ok(Proof::Server { name: server_principal(&first), hosts })
    }
}

/// The subject of an authority's certificate, for people.
pub fn subject_of(der: &[u8]) -> String {
    let Ok((_, parsed)) = X509Certificate::from_der(der) else {
        return "an authority without a name".to_owned();
    };
    let common = parsed.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
    shown(&common.map_or_else(|| parsed.subject().to_string(), str::to_owned))
}

/// Whether the common name of a subject fits to the role. A server's may be `server:HOST`, with one
/// of its own hosts; a user's never.
fn check_subject(name: &str, role: Role, hosts: &[String]) -> std::result::Result<(), String> {
    match (name.strip_prefix(SERVER), role) {
        (None, _) if is_name(name) => Ok(()),
        (None, _) => {
            let usable = "letters, digits and . _ - @ are, up to 64";
            Err(format!("its subject has no usable name: {usable}"))
        }
        (Some(host), Role::Server) if hosts.iter().any(|known| is_same_host(known, host)) => Ok(()),
        (Some(_), Role::Server) => {
            Err(format!("\"{}\" in its subject is not a host that it is for", shown(name)))
        }
        (Some(_), Role::User) => Err(format!(
            "its subject is \"{}\", and only a server can be called so: this certificate is a \
                user's, or names no host",
            shown(name)
        )),
    }
}

/// As a stranger wrote it.
fn shown(name: &str) -> String {
    name.chars().take(NAME_BYTES_MAX).flat_map(char::escape_debug).collect()
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        // A stranger's word, which stands in logs and tables.
        GeneralName::DNSName(name) => is_host(name).then(|| (*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes)
                .ok()
                .map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes)
                .ok()
                .map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    }
}

/// Whether a name has the form of a server's principal, which no user's can have.
pub fn is_server_name(name: &str) -> bool {
    name.starts_with(SERVER)
}

/// Whether a user or server can be called so: the name stands in tables, logs and file names.
pub fn is_name(name: &str) -> bool {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins_well
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(usable)
        && !RESERVED.contains(&name)
}

/// Whether clients can write this host of a server: a name of the DNS, perhaps for all below it
/// (`*.example`), or an address.
pub fn is_host(host: &str) -> bool {
    let below = host.strip_prefix("*.").unwrap_or(host);
    rustls::pki_types::ServerName::try_from(below).is_ok()
}

/// A moment for people, from seconds since 1970.
pub fn date(seconds: i64) -> String {
    match ASN1Time::from_timestamp(seconds) {
        Ok(time) => {
            let time = time.to_datetime();
            format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute())
        }
        Err(_) => format!("second {seconds}"),
    }
}
