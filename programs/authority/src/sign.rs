//! What the authority signs: certificates and the list of revoked ones (RFC 5280).

use std::path::Path;
use std::time::{Duration, SystemTime};

use farcall_base::{Error, ErrorKind, Result};
use farcall_transport_tls::Credentials;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SerialNumber,
};

use crate::{Issued, Kind, Order, now, principal};

const DAY: Duration = Duration::from_secs(86_400);
/// An authority lasts for ten years.
const AUTHORITY_DAYS: u32 = 3653;
/// Where the key begins in its file, behind the certificate.
const KEY_BEGIN: &str = "-----BEGIN PRIVATE KEY";
/// Clocks of other machines may be behind by so much.
const CLOCKS_DIFFER: Duration = Duration::from_secs(300);

/// The last second of a certificate that has no end of its own: 9999-12-31 23:59:59 (RFC 5280,
/// 4.1.2.5).
const NO_END: i64 = 253_402_300_799;

/// The authority's key at work.
pub struct Signer {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    not_after: i64,
    lasts: Lasts,
}

/// For how long what is signed is valid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasts {
    /// As ordered, from now on.
    AsOrdered,
    /// By any clock: it ends with its authority, which is in memory alone.
    Always,
}

fn failed(error: rcgen::Error) -> Error {
    Error::new(ErrorKind::Internal, "sign a certificate", error.to_string())
}

impl Signer {
    /// A new one, and what is to be kept of it.
    ///
    /// # Errors
    /// `System` when there is no randomness.
    pub fn create() -> Result<(Signer, String)> {
        Signer::new(Lasts::AsOrdered)
    }

    /// One that nobody keeps, for ends that trust nobody else. What it signs is valid whatever
    /// their clocks say: a node's may be years off, and what shows that such a certificate is over
    /// is that nobody listens any more.
    ///
    /// # Errors
    /// `System` when there is no randomness.
    pub fn for_once() -> Result<Signer> {
        Signer::new(Lasts::Always).map(|(signer, _)| signer)
    }

    fn new(lasts: Lasts) -> Result<(Signer, String)> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut parameters = CertificateParams::default();
        // Two authorities must not have one name: a foreign certificate could not be told from a
        // forged one.
        let mark: String =
            key.public_key_raw().iter().rev().take(4).map(|byte| format!("{byte:02x}")).collect();
        parameters.distinguished_name = named(&format!("farcall-{mark}"));
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let end = set_validity(&mut parameters, lasts, AUTHORITY_DAYS, i64::MAX);
        let certificate = parameters.self_signed(&key).map_err(failed)?.pem();
        let text = format!("{certificate}{}", key.serialize_pem());
        Ok((
            Signer { issuer: Issuer::new(parameters, key), certificate, not_after: end, lasts },
            text,
        ))
    }

    /// The one in a file; refused if others can read its key.
    ///
    /// # Errors
    /// `PermissionDenied`, `InvalidSource`.
    pub fn read(path: &Path) -> Result<Signer> {
        let damaged = |what: &str| {
            Error::new(ErrorKind::InvalidSource, "open the authority", what.to_owned())
                .with("path", path.display())
                .fix(
                    "restore the file from a backup, or create a new authority in another \
                     directory: farcall ca --folder DIR init",
                )
        };
        let authority = Credentials::read_authority(path)?;
        let at = authority.text.find(KEY_BEGIN).ok_or_else(|| damaged("it has no private key"))?;
        let (certificate, key) = authority.text.split_at(at);
        let key = KeyPair::from_pem(key).map_err(|_| damaged("its private key is damaged"))?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key)
            .map_err(|_| damaged("it has no certificate"))?;
        let not_after = authority.certificate.not_after;
        if now() > not_after {
            return Err(damaged("the authority's own certificate has expired"));
        }
        Ok(Signer {
            issuer,
            certificate: certificate.to_owned(),
            not_after,
            lasts: Lasts::AsOrdered,
        })
    }

    /// The file for whoever ordered it, and the certificate in it.
    ///
    /// # Errors
    /// `InvalidArgument` for a host that is no name.
    pub fn sign(&self, order: &Order) -> Result<(String, Vec<u8>)> {
        let mut parameters = CertificateParams::new(order.hosts.clone()).map_err(|_| {
            let hosts = order.hosts.join(", ");
            Error::new(
                ErrorKind::InvalidArgument,
                "make a certificate",
                format!(
                    "{hosts} is not \
                a list of hosts"
                ),
            )
            .fix(
                "write names or addresses as clients use them, separated by commas: \
                    cluster.example,10.0.0.1",
            )
        })?;
        let joins = principal(order.kind, &order.hosts);
        parameters.extended_key_usages = match (order.kind, &joins) {
            (Kind::User, _) => vec![ExtendedKeyUsagePurpose::ClientAuth],
            // It can stand in no table of rights: it would not be known who dials.
            (Kind::Server, None) => vec![ExtendedKeyUsagePurpose::ServerAuth],
            (Kind::Server, Some(_)) => {
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
            }
        };
        // Servers of earlier versions go by the name alone, and refuse one of this form: they would
        // take who dials for a user.
        parameters.distinguished_name = named(joins.as_ref().unwrap_or(&order.name));
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.use_authority_key_identifier_extension = true;
        set_validity(&mut parameters, self.lasts, order.days, self.not_after);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed)?;
        let text = format!("{}{}{}", certificate.pem(), key.serialize_pem(), self.certificate);
        Ok((text, certificate.der().to_vec()))
    }

    /// The list of revoked certificates.
    ///
    /// # Errors
    /// `Internal`.
    pub fn revocations<'a>(&self, revoked: impl Iterator<Item = &'a Issued>) -> Result<String> {
        let list = CertificateRevocationListParams {
            this_update: (SystemTime::now() - CLOCKS_DIFFER).into(),
            // Servers go by the file and not by this: a list does not become wrong because nobody
            // was revoked.
            next_update: (SystemTime::now() + DAY * AUTHORITY_DAYS).into(),
            // Must grow with every list.
            crl_number: SerialNumber::from(now().unsigned_abs()),
            issuing_distribution_point: None,
            revoked_certs: revoked.map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).and_then(|list| list.pem()).map_err(failed)
    }
}

fn entry(issued: &Issued) -> RevokedCertParams {
    let digits = issued.serial.as_bytes().chunks(2);
    let serial: Vec<u8> = digits
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let since = Duration::from_secs(issued.revoked.unwrap_or_default().unsigned_abs());
    RevokedCertParams {
        serial_number: SerialNumber::from_slice(&serial),
        revocation_time: (SystemTime::UNIX_EPOCH + since).into(),
        reason_code: None,
        invalidity_date: None,
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// From a little before now for some days, but not beyond `most`, or always; returns the last
/// second.
fn set_validity(parameters: &mut CertificateParams, lasts: Lasts, days: u32, most: i64) -> i64 {
    let (begin, end) = match lasts {
        Lasts::AsOrdered => {
            let end = now().saturating_add(i64::from(days) * 86_400).min(most);
            (SystemTime::now() - CLOCKS_DIFFER, end)
        }
        Lasts::Always => (SystemTime::UNIX_EPOCH, NO_END),
    };
    parameters.not_before = begin.into();
    parameters.not_after =
        (SystemTime::UNIX_EPOCH + Duration::from_secs(end.unsigned_abs())).into();
    end
}
