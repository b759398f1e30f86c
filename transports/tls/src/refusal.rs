//! What is wrong with the other end, or what it finds wrong with us, in words and with the command
//! that mends it.

use std::io;

use farcall_base::{Error, ErrorKind};
use farcall_link::stream::{Peer, Proof};
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error as TlsError, OtherError};

use crate::certificate::{Certificate, Role, date};

const OPERATION: &str = "secure the connection";

/// What the two ends know of each other while something goes wrong.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// We are the server; the client showed this certificate, if any.
    Server(Option<&'a Certificate>),
    /// We are a client of this server.
    Client(&'a str),
}

/// The error for a stream: as `explain` says it, inside of what a stream can say.
pub fn refusal(error: &TlsError, peer: &Peer) -> io::Error {
    let view = match &peer.proof {
        // Certificates were looked at before there was a stream.
        Proof::Certificate { .. } | Proof::Server { .. } => View::Server(None),
        _ => View::Client(&peer.address),
    };
    carried(explain(error, view))
}

/// An error of ours where a stream's is expected.
pub fn carried(error: Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        ErrorKind::TimedOut => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

/// What went wrong, for people.
pub fn explain(error: &TlsError, view: View<'_>) -> Error {
    let (kind, message, fix) = match error {
        TlsError::InvalidCertificate(reason) => wrong_certificate(reason, view),
        TlsError::NoCertificatesPresented => (
            ErrorKind::PermissionDenied,
            "the client showed no certificate".to_owned(),
            "its user needs one: farcall ca user NAME".to_owned(),
        ),
        TlsError::AlertReceived(alert) => refused_by_peer(*alert, view),
        _ => no_tls(error, view),
    };
    let error = Error::new(kind, OPERATION, message).source(error.clone());
    if fix.is_empty() { error } else { error.fix(fix) }
}

type Explained = (ErrorKind, String, String);

fn wrong_certificate(reason: &CertificateError, view: View<'_>) -> Explained {
    let (whose, renew) = match view {
        View::Server(Some(Certificate { name, .. })) => {
            (format!("the certificate of \"{name}\""), format!("farcall ca renew {name}"))
        }
        View::Server(None) => {
            ("the client's certificate".to_owned(), "farcall ca renew NAME".to_owned())
        }
        View::Client(_) => {
            ("the server's certificate".to_owned(), "farcall ca renew NAME".to_owned())
        }
    };
    let (message, fix) = match reason {
        CertificateError::Expired => {
            (format!("{whose} expired"), format!("create a new one: {renew}"))
        }
        CertificateError::ExpiredContext { not_after, .. } => (
            format!("{whose} expired on {}", moment(*not_after)),
            format!("create a new one: {renew}"),
        ),
        CertificateError::NotValidYetContext { not_before, .. } => (
            format!("{whose} is valid only from {}", moment(*not_before)),
            "check the clocks of both machines".to_owned(),
        ),
        CertificateError::NotValidYet => {
            (format!("{whose} is not valid yet"), "check the clocks of both machines".to_owned())
        }
        CertificateError::Revoked => (
            format!("{whose} is revoked"),
            "if it was revoked by mistake, create another: farcall ca user NAME".to_owned(),
        ),
        CertificateError::UnknownIssuer | CertificateError::BadSignature => foreign(&whose, view),
        CertificateError::NotValidForNameContext { presented, .. } => other_host(presented, view),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            wrong_purpose(&whose, &renew, view)
        }
        CertificateError::UnknownRevocationStatus => (
            "the list of revoked certificates is from another authority".to_owned(),
            "put revoked.crl of this server's authority next to its certificate".to_owned(),
        ),
        CertificateError::Other(OtherError(inner)) => wrong_name(&whose, &**inner),
        other => (
            format!("{whose} is not accepted: {other}"),
            "create a new one with farcall ca".to_owned(),
        ),
    };
    (ErrorKind::PermissionDenied, message, fix)
}

/// What is good for one side is shown on the other.
fn wrong_purpose(whose: &str, renew: &str, view: View<'_>) -> (String, String) {
    match view {
        View::Server(Some(certificate)) if certificate.role == Role::Server => (
            format!(
                "{whose} is a server's from an earlier version of Farcall: it can serve, and \
                    neither join another server nor call"
            ),
            format!(
                "to let the server join, renew it: {renew}; to call, use a user's certificate: \
                    farcall ca user NAME"
            ),
        ),
        _ => (
            format!(
                "{whose} is of the wrong kind: a user's certificate cannot serve, and a server's \
                    cannot call"
            ),
            "create the other kind: farcall ca user NAME, farcall ca server HOST".to_owned(),
        ),
    }
}

/// What the authority signed, and we cannot take for a user's or a server's.
fn wrong_name(whose: &str, inner: &(dyn std::error::Error + 'static)) -> (String, String) {
    let why = inner.downcast_ref::<Error>();
    let message = why.map_or_else(|| inner.to_string(), |error| error.message().to_owned());
    let fix = why.and_then(Error::advice).unwrap_or("create a new one with farcall ca");
    (format!("{whose} is not accepted: {message}"), fix.to_owned())
}

fn foreign(whose: &str, view: View<'_>) -> (String, String) {
    match view {
        View::Server(_) => (
            format!("{whose} is from another authority than this server's"),
            "its user needs one from this server's authority: farcall ca user NAME".to_owned(),
        ),
        View::Client(_) => (
            format!("{whose} is from another authority than yours"),
            "use the file from this server's administrator: set FARCALL_CREDENTIALS to it"
                .to_owned(),
        ),
    }
}

fn other_host(presented: &[String], view: View<'_>) -> (String, String) {
    // rustls writes "DnsName(\"host\")" and "IpAddress(127.0.0.1)".
    let plain = |name: &String| {
        let inner =
            name.split_once('(').map_or(name.as_str(), |(_, rest)| rest.trim_end_matches(')'));
        inner.trim_matches('"').to_owned()
    };
    let names = presented.iter().map(plain).collect::<Vec<_>>().join(", ");
    let host = match view {
        View::Client(host) => host,
        View::Server(_) => "",
    };
    (
        format!("the server's certificate is for {names}, not for {host}"),
        format!(
            "connect by a name that it has, or make one that has yours: farcall ca server \
                NAME,{host}"
        ),
    )
}

/// The other end says what it dislikes in one word only (RFC 8446, section 6.2).
fn refused_by_peer(alert: AlertDescription, view: View<'_>) -> Explained {
    let View::Client(_) = view else {
        let message = format!("the client refused this server: {alert:?}");
        let fix = "the client says why: its user may have a file of another authority, or the \
            server's name is wrong";
        return (ErrorKind::PermissionDenied, message, fix.to_owned());
    };
    let (message, fix) = match alert {
        AlertDescription::CertificateRevoked => {
            let fix = "ask its administrator for a new one: farcall ca user NAME";
            ("the server refuses your certificate: it is revoked", fix)
        }
        AlertDescription::CertificateExpired => (
            "the server refuses your certificate: it is not valid at this time",
            "ask its administrator for a new one (farcall ca renew NAME), or set the clocks",
        ),
        AlertDescription::CertificateRequired => {
            let fix = "ask its administrator for one: farcall ca user NAME";
            ("the server requires a certificate, and none was shown", fix)
        }
        AlertDescription::UnknownCA | AlertDescription::DecryptError => (
            "the server refuses your certificate: it is from another authority than the server's",
            "use the file from this server's administrator: set FARCALL_CREDENTIALS to it",
        ),
        AlertDescription::UnsupportedCertificate => (
            "the server refuses your certificate: a server's cannot be used to call, and one from \
                an earlier version of Farcall cannot join",
            "ask its administrator for a user's certificate (farcall ca user NAME), or renew the \
                server's (farcall ca renew HOST)",
        ),
        AlertDescription::CertificateUnknown => (
            "the server refuses your certificate: its name is not one that its kind can have",
            "ask its administrator for a new one: farcall ca user NAME, or farcall ca server HOST",
        ),
        AlertDescription::NoApplicationProtocol => (
            "the other end speaks TLS, but not Farcall",
            "check host and port: `farcall serve` prints them",
        ),
        _ => {
            let message = format!("the server refuses the connection: {alert:?}");
            return (ErrorKind::PermissionDenied, message, "its audit log says why".to_owned());
        }
    };
    (ErrorKind::PermissionDenied, message.to_owned(), fix.to_owned())
}

fn no_tls(error: &TlsError, view: View<'_>) -> Explained {
    match view {
        View::Client(_) => (
            ErrorKind::Protocol,
            format!("the other end does not speak TLS as Farcall does: {error}"),
            "check host and port: `farcall serve --listen tls://HOST:PORT` prints them".to_owned(),
        ),
        View::Server(_) => (
            ErrorKind::Protocol,
            format!("the client does not speak TLS as Farcall does: {error}"),
            String::new(),
        ),
    }
}

fn moment(time: UnixTime) -> String {
    date(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}
