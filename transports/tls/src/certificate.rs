//! What a certificate says: whose it is, for which hosts, from when until when.

use farcall_base::{Error, ErrorKind, Result};
use x509_parser::prelude::{ASN1Time, FromDer, GeneralName, X509Certificate};

/// Longest name of a user or server.
const NAME_BYTES_MAX: usize = 64;
/// Names that principals of other transports have.
const RESERVED: [&str; 2] = ["token", "inherited"];

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
}

impl Certificate {
    /// Reads one, without checking who signed it.
    ///
    /// # Errors
    /// `InvalidSource` when it is no certificate, or its subject has no name that can stand in a
    /// table of rights.
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
        if !is_name(name) {
            return Err(wrong(
                "its subject has no usable name: letters, digits and . _ - @ are, up to 64",
            ));
        }
        Ok(Certificate {
            name: name.to_owned(),
            serial: parsed.raw_serial().to_vec(),
            not_before: parsed.validity().not_before.timestamp(),
            not_after: parsed.validity().not_after.timestamp(),
            hosts: hosts.unwrap_or_default(),
        })
    }
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
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
