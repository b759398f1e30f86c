//! A private authority of a test's own, which signs what `farcall ca` would never sign.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber,
};

use crate::ServerFiles;

const DAY: Duration = Duration::from_secs(86_400);

/// Keys and files in a directory that goes with it.
pub struct Authority {
    pub name: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

/// What a test wants to be wrong with a certificate.
pub struct Order<'a> {
    pub name: &'a str,
    pub hosts: &'a [&'a str],
    /// None: good for everything.
    pub purposes: &'a [ExtendedKeyUsagePurpose],
    /// Days from now.
    pub valid: (i64, i64),
    pub serial: u64,
}

fn days_from_now(days: i64) -> SystemTime {
    let distance = DAY * u32::try_from(days.unsigned_abs()).unwrap();
    if days < 0 { SystemTime::now() - distance } else { SystemTime::now() + distance }
}

impl Authority {
    /// With a server certificate for `localhost` and `127.0.0.1`, and an empty list.
    pub fn new() -> Authority {
        static NAME: AtomicU32 = AtomicU32::new(0);
        Authority::called(&format!("authority {}", NAME.fetch_add(1, Ordering::Relaxed)))
    }

    /// The same with a name that another may have.
    pub fn called(name: &str) -> Authority {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("farcall-tls-{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer =
            CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        let authority = Authority { name: name.to_owned(), issuer, folder };
        authority.server(&["localhost", "127.0.0.1"], (-1, 30));
        authority.revoke(&[]);
        authority
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn files(&self) -> ServerFiles {
        ServerFiles { credentials: self.path("server.pem"), revocations: self.path("revoked.crl") }
    }

    pub fn server(&self, hosts: &[&str], valid: (i64, i64)) -> PathBuf {
        let purposes = &[ExtendedKeyUsagePurpose::ServerAuth];
        self.sign("server.pem", &Order { name: "server", hosts, purposes, valid, serial: 2 })
    }

    pub fn user(&self, name: &str) -> PathBuf {
        self.user_with(name, (-1, 30), 7)
    }

    pub fn user_with(&self, name: &str, valid: (i64, i64), serial: u64) -> PathBuf {
        let purposes = &[ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&format!("{name}.pem"), &Order { name, hosts: &[], purposes, valid, serial })
    }

    pub fn sign(&self, file: &str, order: &Order<'_>) -> PathBuf {
        let hosts: Vec<String> = order.hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut parameters = CertificateParams::new(hosts).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, order.name);
        parameters.extended_key_usages = order.purposes.to_vec();
        parameters.not_before = days_from_now(order.valid.0).into();
        parameters.not_after = days_from_now(order.valid.1).into();
        parameters.serial_number = Some(SerialNumber::from(order.serial));
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let text = certificate.pem() + &key.serialize_pem() + &self.issuer.pem();
        self.write(file, &text, 0o600)
    }

    /// Replaces the list of revoked certificates, as `farcall ca revoke` does.
    pub fn revoke(&self, serials: &[u64]) {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: days_from_now(0).into(),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: days_from_now(-1).into(),
            next_update: days_from_now(30).into(),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let text = list.signed_by(&self.issuer).unwrap().pem().unwrap();
        let fresh = self.write("revoked.new", &text, 0o644);
        fs::rename(fresh, self.path("revoked.crl")).unwrap();
    }

    pub fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        set_mode(&path, mode);
        path
    }
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
