//! What both ends demand: TLS 1.3, a certificate of the private authority, no resumption.
//!
//! Without resumption every connection shows its certificate, so that a revoked one opens none.

use std::sync::{Arc, Mutex, PoisonError};

use farcall_base::{Error, ErrorKind, Result};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, DistinguishedName,
    OtherError, RootCertStore, ServerConfig, SignatureScheme, WantsVerifier,
};

use crate::certificate::Certificate;
use crate::choice::Choice;
use crate::credentials::Credentials;

/// What is spoken inside: a server of anything else is found out in the handshake (RFC 7301).
const PROTOCOL: &[u8] = b"farcall";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    // The fastest first, as all of them are strong enough: AES with 128 bits before 256.
    let suite = |name: rustls::CipherSuite| {
        ring::DEFAULT_CIPHER_SUITES.iter().find(|suite| suite.suite() == name)
    };
    provider.cipher_suites = [
        rustls::CipherSuite::TLS13_AES_128_GCM_SHA256,
        rustls::CipherSuite::TLS13_AES_256_GCM_SHA384,
        rustls::CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    ]
    .into_iter()
    .filter_map(|name| suite(name).copied())
    .collect();
    Arc::new(provider)
}

pub(crate) fn roots(credentials: &Credentials) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    roots.add(credentials.authority.clone()).map_err(|error| unusable(credentials, &error))?;
    Ok(Arc::new(roots))
}

pub(crate) fn unusable(credentials: &Credentials, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::InvalidSource,
        "read the credentials",
        format!("they cannot be used: {error}"),
    )
    .with("path", credentials.path.display())
    .fix("make them again with farcall ca")
}

/// A client that shows `credentials`.
///
/// # Errors
/// `InvalidSource` when key and certificate do not fit.
pub fn client(credentials: &Credentials) -> Result<Arc<ClientConfig>> {
    let wrong = |error: rustls::Error| unusable(credentials, &error);
    let config = client_builder()?
        .with_root_certificates(roots(credentials)?)
        .with_client_auth_cert(vec![credentials.own.clone()], credentials.key.clone_key())
        .map_err(wrong)?;
    Ok(speaking(config))
}

/// A client that shows what `choice` finds for the server that answers.
///
/// # Errors
/// `Internal`.
pub fn client_by(choice: &Arc<Choice>) -> Result<Arc<ClientConfig>> {
    // Dangerous where it believes more than rustls would: this believes the same, of one authority.
    let config = client_builder()?
        .dangerous()
        .with_custom_certificate_verifier(choice.clone())
        .with_client_cert_resolver(choice.clone());
    Ok(speaking(config))
}

fn client_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>> {
    ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Error::internal("secure the connection", error.to_string()))
}

fn speaking(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Arc::new(config)
}

/// A server that shows `credentials` and refuses what `revoked` lists.
///
/// # Errors
/// `InvalidSource` when key and certificate do not fit, or the list is none.
pub fn server(
    credentials: &Credentials,
    revoked: CertificateRevocationListDer<'static>,
    presented: &Presented,
) -> Result<Arc<ServerConfig>> {
    let wrong = |error: &dyn std::fmt::Display| unusable(credentials, error);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(credentials)?, provider())
        .with_crls([revoked])
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| wrong(&error))?;
    let verifier = Arc::new(NamingVerifier { inner: verifier, presented: presented.clone() });
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let mut config = builder
        .map_err(|error| wrong(&error))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![credentials.own.clone()], credentials.key.clone_key())
        .map_err(|error| wrong(&error))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// Whose certificate was looked at last: rustls says why it refused one, and not whose it was.
#[derive(Clone, Debug, Default)]
pub struct Presented(Arc<Mutex<Option<Certificate>>>);

impl Presented {
    /// It, once.
    pub fn take(&self) -> Option<Certificate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// rustls' verifier, which remembers whose certificate it saw, and refuses one whose name is not of
/// its role.
#[derive(Debug)]
struct NamingVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    presented: Presented,
}

impl ClientCertVerifier for NamingVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> std::result::Result<ClientCertVerified, rustls::Error> {
        let parsed = Certificate::parse(end_entity);
        let shown = parsed.as_ref().ok().cloned();
        *self.presented.0.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        // What our authority signed, and we cannot take for anybody's.
        match parsed.and_then(|certificate| certificate.proof()) {
            Ok(_) => Ok(verified),
            Err(error) => Err(CertificateError::Other(OtherError(Arc::new(error))).into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
