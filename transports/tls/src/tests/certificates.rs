//! Whoever shows a wrong certificate gets nowhere, and both sides are told why and what to do.

use std::io::IoSlice;

use farcall_base::{Error, ErrorKind};
use farcall_link::stream::Proof;
use farcall_transport_battery::rig::{is_later, receive};
use rcgen::ExtendedKeyUsagePurpose;

use super::authority::{Authority, Order};
use super::*;

/// What a client hears: while it connects, or with the first bytes that it asks for.
pub fn heard(near: Met) -> Error {
    let mut near = match near {
        Ok(near) => near,
        Err(error) => return error,
    };
    let begin = Instant::now();
    // As a client does: it says Hello before it hears that nobody listens.
    let _ = near.send(&[IoSlice::new(b"hello")], &[]);
    while begin.elapsed() < PATIENCE {
        match receive(&mut *near, &mut [0; 100]) {
            Ok(_) => panic!("nothing should come"),
            Err(error) if is_later(&error) => rest(),
            Err(error) => return error.downcast().expect("an error that says why"),
        }
    }
    panic!("nothing was heard");
}

pub fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{text}");
}

#[test]
fn both_ends_know_each_other() {
    let authority = Authority::new();
    let user = authority.user("anna");
    for host in ["localhost", "127.0.0.1"] {
        let (near, far) = meet(&authority, &user, host);
        let near = near.unwrap();
        let far = far.unwrap();
        assert_eq!(far.peer().proof, Proof::Certificate { name: "anna".into() });
        assert_eq!(near.peer().proof, Proof::Address);
    }
}

#[test]
fn an_expired_user_is_told_so_before_connecting_and_by_the_server() {
    let authority = Authority::new();
    let user = authority.user_with("anna", (-30, -2), 7);
    let error = connect("localhost", 1, Some(&user), PATIENCE).err().unwrap();
    says(&error, &["\"anna\" expired on 20", "farcall ca renew anna"]);
    let (near, far) = meet_unchecked(&authority, &user);
    says(&far.err().unwrap(), &["\"anna\" expired on 20", "farcall ca renew anna"]);
    says(&heard(near), &["not valid at this time", "farcall ca renew"]);
}

#[test]
fn a_user_of_the_future_is_told_to_look_at_the_clock() {
    let authority = Authority::new();
    let user = authority.user_with("anna", (5, 30), 7);
    says(
        &connect("localhost", 1, Some(&user), PATIENCE).err().unwrap(),
        &["\"anna\" is valid only from 20", "clock"],
    );
    let (_, far) = meet_unchecked(&authority, &user);
    says(&far.err().unwrap(), &["\"anna\" is valid only from 20", "clocks"]);
}

#[test]
fn a_foreign_user_gets_nowhere() {
    let authority = Authority::new();
    let other = Authority::new();
    // The client would notice first: it is made to trust the server, as an attacker's program
    // would.
    let foreign = other.user("anna");
    let (near, far) = meet(&authority, &foreign, "localhost");
    says(
        &near.err().unwrap(),
        &["the server's certificate is from another authority than yours", "FARCALL_CREDENTIALS"],
    );
    says(&far.err().unwrap(), &["the client refused this server"]);
    let text = std::fs::read_to_string(&foreign).unwrap();
    let ours = std::fs::read_to_string(authority.user("bert")).unwrap();
    let (own, _) = text.rsplit_once("-----BEGIN CERTIFICATE").unwrap();
    let (_, root) = ours.rsplit_once("-----BEGIN CERTIFICATE").unwrap();
    let mixed = authority.write("mixed.pem", &format!("{own}-----BEGIN CERTIFICATE{root}"), 0o600);
    let (near, far) = meet(&authority, &mixed, "localhost");
    says(
        &far.err().unwrap(),
        &["\"anna\" is from another authority than this server's", "farcall ca user NAME"],
    );
    says(&heard(near), &["from another authority than the server's", "FARCALL_CREDENTIALS"]);
}

#[test]
fn a_revoked_user_gets_nowhere() {
    let authority = Authority::new();
    let user = authority.user("anna");
    authority.revoke(&[3, 7]);
    let (near, far) = meet(&authority, &user, "localhost");
    says(&far.err().unwrap(), &["\"anna\" is revoked", "farcall ca user"]);
    says(&heard(near), &["your certificate: it is revoked", "farcall ca user NAME"]);
    authority.revoke(&[3]);
    assert!(meet(&authority, &user, "localhost").1.is_ok());
}

#[test]
fn a_running_listener_hears_of_revocation() {
    let authority = Authority::new();
    let anna = authority.user("anna");
    let bert = authority.user_with("bert", (-1, 30), 8);
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let (sender, streams) = mpsc::channel();
    std::thread::spawn(move || while sender.send(accept(&mut listener)).is_ok() {});
    let enter = |user: &std::path::Path| {
        let near = connect("localhost", port, Some(user), PATIENCE);
        (near, streams.recv().unwrap())
    };
    let (_near, far) = enter(&anna);
    let (_other_near, other) = enter(&bert);
    let mut far = far.unwrap();
    let mut other = other.unwrap();
    assert!(is_later(&receive(&mut *far, &mut [0; 9]).unwrap_err()));
    authority.revoke(&[7]);
    // A new connection at once; one that is open within the second in which the file is looked at.
    says(&enter(&anna).1.err().unwrap(), &["\"anna\" is revoked"]);
    // Whoever asks once in a while is told what holds now, though nothing came.
    std::thread::sleep(Duration::from_millis(20));
    let standing = far.standing().unwrap().unwrap_err().downcast::<Error>().unwrap();
    says(&standing, &["\"anna\" was revoked"]);
    assert!(other.standing().unwrap().is_ok());
    std::thread::sleep(Duration::from_millis(1100));
    let error = receive(&mut *far, &mut [0; 9]).unwrap_err().downcast::<Error>().unwrap();
    says(&error, &["\"anna\" was revoked", "farcall ca user anna"]);
    assert!(is_later(&receive(&mut *other, &mut [0; 9]).unwrap_err()), "others go on");
    // A list that cannot be read may hold anybody: nobody new comes in until it is mended.
    std::fs::write(authority.path("revoked.crl"), "nonsense").unwrap();
    let error = enter(&bert).1.err().unwrap().to_string();
    assert!(
        error.contains("revoked.crl") && error.contains("does not have such a list"),
        "{error}"
    );
    authority.revoke(&[]);
    assert!(enter(&anna).1.is_ok());
}

#[test]
fn a_certificate_that_expires_ends_its_connection() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let revocations =
        std::sync::Arc::new(crate::revocation::Revocations::read(authority.files()).unwrap());
    let text = std::fs::read(&user).unwrap();
    use rustls::pki_types::pem::PemObject;
    let der = rustls::pki_types::CertificateDer::from_pem_slice(&text).unwrap();
    let certificate = Certificate::parse(&der).unwrap();
    let guard = |certificate| crate::revocation::Guard::new(revocations.clone(), certificate);
    assert!(guard(certificate.clone()).check().is_ok());
    let error = guard(Certificate { not_after: 1_700_000_000, ..certificate }).check().unwrap_err();
    says(
        &error.downcast::<Error>().unwrap(),
        &["\"anna\" expired on 2023-11-14", "farcall ca renew anna"],
    );
}

#[test]
fn a_server_of_another_name_is_not_believed() {
    let authority = Authority::new();
    authority.server(&["cluster.example"], (-1, 30));
    let (near, far) = meet(&authority, &authority.user("anna"), "localhost");
    let words = ["is for cluster.example, not for localhost", "farcall ca server NAME,localhost"];
    says(&near.err().unwrap(), &words);
    says(&far.err().unwrap(), &["the client refused this server"]);
}

#[test]
fn an_expired_server_does_not_start_and_is_not_believed() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    authority.server(&["localhost"], (-30, -2));
    let error = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).err().unwrap();
    says(
        &error,
        &["\"server\" expired on 20", "create a new one: farcall ca renew server", "server.pem"],
    );
    // One that expires while the server runs: whoever comes then is turned away.
    let port = listener.port();
    let accepting = std::thread::spawn(move || accept(&mut listener));
    let error = connect("localhost", port, Some(&user), PATIENCE).err().unwrap().to_string();
    assert!(error.contains("audit log"), "{error}");
    let error = accepting.join().unwrap().err().unwrap().to_string();
    assert!(error.contains("\"server\" expired"), "{error}");
}

#[test]
fn users_cannot_serve_and_servers_cannot_call() {
    let authority = Authority::new();
    let server = authority.path("server.pem");
    let (near, far) = meet(&authority, &server, "localhost");
    says(&far.err().unwrap(), &["a server's from an earlier version", "farcall ca user NAME"]);
    says(&heard(near), &["a server's cannot be used to call"]);
    let anna = authority.user("anna");
    let purposes = &[ExtendedKeyUsagePurpose::ClientAuth];
    authority.sign(
        "server.pem",
        &Order { name: "eve", hosts: &["localhost"], purposes, valid: (-1, 9), serial: 9 },
    );
    let (near, _) = meet(&authority, &anna, "localhost");
    says(&near.err().unwrap(), &["wrong kind"]);
}

/// A user's program that does not look at its own certificate.
fn meet_unchecked(authority: &Authority, user: &std::path::Path) -> (Met, Met) {
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let accepting = std::thread::spawn(move || accept(&mut listener));
    let credentials = crate::credentials::Credentials::read_at_any_time(user).unwrap();
    let config = crate::config::client(&credentials).unwrap();
    let near = crate::connect::connect_with(config, "localhost", port, Instant::now() + PATIENCE);
    (near, accepting.join().unwrap())
}

#[test]
fn whoever_is_refused_hears_why_though_it_went_on_talking() {
    let authority = Authority::new();
    let user = authority.user("anna");
    authority.revoke(&[7]);
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let talking = std::thread::spawn(move || {
        let mut near = connect("localhost", port, Some(&user), PATIENCE).unwrap();
        // More than the listener reads before it refuses: a socket closed with these unread would
        // be reset.
        let sent = near.send(&[IoSlice::new(&[1; 200_000])], &[]);
        assert!(sent.is_ok_and(|count| count > 100_000));
        heard(Ok(near))
    });
    let mut refused = None;
    // Slowly, so that all of it is there before the certificate is looked at.
    while refused.is_none() || listener.strangers() > 0 {
        std::thread::sleep(Duration::from_millis(20));
        refused = listener.accept().err().or(refused);
    }
    says(&talking.join().unwrap(), &["your certificate: it is revoked"]);
}

#[test]
fn a_stream_that_somebody_cut_does_not_end_in_order() {
    let authority = Authority::new();
    let (near, far) = meet(&authority, &authority.user("anna"), "localhost");
    let near = near.unwrap();
    let mut far = far.unwrap();
    rustix::net::shutdown(near.readiness().unwrap(), rustix::net::Shutdown::Write).unwrap();
    let begin = Instant::now();
    let error = loop {
        match receive(&mut *far, &mut [0; 9]) {
            Err(error) if is_later(&error) && begin.elapsed() < PATIENCE => rest(),
            outcome => break outcome.unwrap_err(),
        }
    };
    assert_eq!(
        error.kind(),
        std::io::ErrorKind::UnexpectedEof,
        "TLS ends with a farewell (RFC 8446, section 6.1)"
    );
}
