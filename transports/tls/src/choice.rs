//! Which of a user's credentials a server is shown: users have accounts at several sites, and each
//! site has an authority of its own.
//!
//! A server names its authority in the handshake before it is believed (RFC 8446, section 4.2.4),
//! so the file of that authority is chosen, and the server must then prove that this authority
//! signed for it. A server that names none is asked for its certificate alone; the file whose
//! authority signed it is shown to it in a second connection.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farcall_base::{Error, ErrorKind, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::certificate::subject_of;
use crate::config;
use crate::credentials::Credentials;

const OPERATION: &str = "choose the credentials";
/// Sites at which somebody has accounts.
const FILES_MAX: usize = 64;
/// What credentials' names end with; other files of a folder are left alone.
const EXTENSION: &str = "pem";

/// Credentials that could be shown.
struct Candidate {
    credentials: Credentials,
    /// The name of its authority, as servers name it.
    subject: Vec<u8>,
    key: Arc<CertifiedKey>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl Candidate {
    fn read(path: &Path) -> Result<Candidate> {
        // One that has expired may be the only one of its authority: then that is what to tell.
        let credentials = Credentials::read_at_any_time(path)?;
        let roots = config::roots(&credentials)?;
        let subject = roots.subjects().first().map(|name| name.as_ref().to_vec());
        let wrong = |error: &dyn std::fmt::Display| config::unusable(&credentials, error);
        let own = vec![credentials.own.clone()];
        let key = CertifiedKey::from_der(own, credentials.key.clone_key(), &config::provider())
            .map_err(|error| wrong(&error))?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, config::provider())
            .build()
            .map_err(|error| wrong(&error))?;
        let subject = subject.unwrap_or_default();
        Ok(Candidate { credentials, subject, key: Arc::new(key), verifier })
    }

    fn authority(&self) -> &CertificateDer<'static> {
        &self.credentials.authority
    }

    fn file(&self) -> String {
        file_name(&self.credentials.path)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What one handshake has found out.
#[derive(Default)]
struct Found {
    /// The candidate that is shown.
    shown: Option<usize>,
    /// The authority that signed for a server which named none.
    signed_by: Option<CertificateDer<'static>>,
    /// Why nothing can be shown.
    trouble: Option<Error>,
}

/// Several credentials, of which one is shown.
pub struct Choice {
    place: PathBuf,
    candidates: Vec<Candidate>,
    /// Files that could not be read, and why.
    skipped: Vec<Error>,
    found: Mutex<Found>,
}

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "one of {} files of {}", self.candidates.len(), self.place.display())
    }
}

/// The files with credentials at a place: itself, or those in it if it is a folder; in the order of
/// their names.
///
/// # Errors
/// `LimitExceeded` for too many, `System`.
pub fn files_at(place: &Path) -> Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let failed = |error| Error::system(OPERATION, error).with("path", place.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            let message = format!("the directory has more than {FILES_MAX} .{EXTENSION} files");
            return Err(Error::new(ErrorKind::LimitExceeded, OPERATION, message)
                .with("path", place.display())
                .fix("keep one file for each authority, or name the file to use"));
        }
    }
    files.sort();
    Ok(files)
}

impl Choice {
    /// Between the files at `places`, of which some are folders.
    ///
    /// # Errors
    /// `NotFound` where there is no file at all, and as [`files_at`].
    pub fn between(places: &[PathBuf]) -> Result<Choice> {
        let folder = places.iter().find(|place| place.is_dir());
        let place = folder.or(places.first()).cloned().unwrap_or_default();
        let mut candidates = Vec::new();
        let mut skipped = Vec::new();
        for place in places.iter().filter(|place| place.exists()) {
            for file in files_at(place)? {
                match Candidate::read(&file) {
                    Ok(candidate) => candidates.push(candidate),
                    Err(error) => skipped.push(error),
                }
            }
        }
        if candidates.is_empty() && skipped.is_empty() {
            let message = format!(
                "the directory has no .{EXTENSION} file, and this server \
                requires a certificate"
            );
            return Err(Error::new(ErrorKind::NotFound, OPERATION, message)
                .with("path", place.display())
                .fix(
                    "ask the server's administrator for a file (farcall ca user NAME creates it), \
                        and store it there with mode 600",
                ));
        }
        Ok(Choice { place, candidates, skipped, found: Mutex::default() })
    }

    /// Why no handshake came about, where the reason is here.
    pub fn take_trouble(&self) -> Option<Error> {
        self.found().trouble.take()
    }

    /// Whether another handshake can show what this one could not.
    pub fn knows_more(&self) -> bool {
        let found = self.found();
        found.signed_by.is_some() && found.shown.is_none() && found.trouble.is_none()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one to show of those that fit; `None` where they are of several authorities.
    fn one_of(&self, fitting: &[usize]) -> Result<Option<usize>> {
        let first = fitting.first().ok_or_else(|| self.none_fits())?;
        let authority = self.candidates[*first].authority();
        if fitting.iter().any(|index| self.candidates[*index].authority() != authority) {
            return Ok(None);
        }
        let is_valid = |index: &&usize| self.candidates[**index].credentials.check_time().is_ok();
        let Some(valid) = fitting.iter().find(is_valid) else {
            self.candidates[*first].credentials.check_time()?;
            return Ok(Some(*first));
        };
        let name = |index: usize| &self.candidates[index].credentials.certificate.name;
        let mut others = fitting.iter().filter(is_valid);
        if let Some(other) = others.find(|index| name(**index) != name(*valid)) {
            return Err(self.two_names(*valid, *other));
        }
        let last = fitting
            .iter()
            .filter(is_valid)
            .max_by_key(|index| self.candidates[**index].credentials.certificate.not_after);
        Ok(last.copied())
    }

    fn none_fits(&self) -> Error {
        let of = |candidate: &Candidate| {
            let authority = subject_of(candidate.authority());
            let name = &candidate.credentials.certificate.name;
            format!("{} is \"{name}\" of {authority}", candidate.file())
        };
        let have: Vec<String> = self.candidates.iter().map(of).collect();
        let have = if have.is_empty() { "it has none".to_owned() } else { have.join(", ") };
        let message = format!("no file is from the authority of this server: {have}");
        let error = Error::new(ErrorKind::PermissionDenied, OPERATION, message)
            .with("path", self.place.display());
        let error = self.skipped.iter().fold(error, |error, skipped| {
            let path = skipped.context().iter().find(|(key, _)| key == "path");
            let file = path.map_or(String::new(), |(_, path)| file_name(Path::new(path)));
            error.with("skipped", format!("{file}: {}", skipped.message()))
        });
        error.fix(
            "ask the server's administrator for a file (farcall ca user NAME creates it), and \
                store it there with mode 600",
        )
    }

    fn two_names(&self, one: usize, other: usize) -> Error {
        let of = |index: usize| {
            let candidate = &self.candidates[index];
            format!("{} is \"{}\"", candidate.file(), candidate.credentials.certificate.name)
        };
        let message =
            format!("two files are from the authority of this server: {}, {}", of(one), of(other));
        Error::new(ErrorKind::InvalidArgument, OPERATION, message)
            .with("path", self.place.display())
            .fix("name the file to use: --credentials FILE, or FARCALL_CREDENTIALS")
    }
}

impl ResolvesClientCert for Choice {
    fn resolve(&self, authorities: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut found = self.found();
        let fits = |candidate: &Candidate| match &found.signed_by {
            Some(authority) => candidate.authority() == authority,
            None => authorities.is_empty() || authorities.contains(&&*candidate.subject),
        };
        let all = self.candidates.iter().enumerate();
        let fitting: Vec<usize> =
            all.filter(|(_, candidate)| fits(candidate)).map(|(index, _)| index).collect();
        match self.one_of(&fitting) {
            Ok(shown) => found.shown = shown,
            Err(error) => found.trouble = Some(error),
        }
        found.shown.map(|index| self.candidates[index].key.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ServerCertVerifier for Choice {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let verify = |candidate: &Candidate| {
            let verifier = &candidate.verifier;
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        let mut found = self.found();
        let refused = || rustls::Error::General("no credentials can be shown".to_owned());
        if found.trouble.is_some() {
            return Err(refused());
        }
        if let Some(shown) = found.shown {
            return verify(&self.candidates[shown]);
        }
        match self.candidates.iter().find(|candidate| verify(candidate).is_ok()) {
            Some(candidate) => found.signed_by = Some(candidate.authority().clone()),
            None => found.trouble = Some(self.none_fits()),
        }
        Err(refused())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = config::provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = config::provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        config::provider().signature_verification_algorithms.supported_schemes()
    }
}
