//! Whether a certificate is a user's or a server's is decided by what it is good for, and never by
//! its name alone.

use farcall_link::hosts::CertifiedHosts;
use farcall_link::stream::Proof;
use rcgen::ExtendedKeyUsagePurpose::{self, ClientAuth, ServerAuth};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::authority::{Authority, Order};
use super::certificates::{heard, says};
use super::*;

const BOTH: [ExtendedKeyUsagePurpose; 2] = [ServerAuth, ClientAuth];

fn sign(
    authority: &Authority,
    name: &str,
    hosts: &[&str],
    purposes: &[ExtendedKeyUsagePurpose],
) -> std::path::PathBuf {
    let order = Order { name, hosts, purposes, valid: (-1, 9), serial: 9 };
    authority.sign("dialing.pem", &order)
}

fn of_server(name: &str, hosts: &[&str]) -> Proof {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    Proof::Server { name: name.to_owned(), hosts: CertifiedHosts::new(&hosts) }
}

#[test]
fn a_server_that_dials_is_known_by_its_hosts() {
    let authority = Authority::new();
    for (name, hosts, principal) in [
        ("server:b.example", vec!["b.example", "10.0.0.1"], "server:b.example"),
        // The order of the hosts decides, and a star stands for no host.
        ("server:10.0.0.1", vec!["*.example", "B.example", "10.0.0.1"], "server:b.example"),
        ("server:fd00::1", vec!["fd00::1"], "server:fd00::1"),
        // A certificate of another maker, for whatever name.
        ("machine-7", vec!["b.example"], "server:b.example"),
    ] {
        let dialing = sign(&authority, name, &hosts, &BOTH);
        let (near, far) = meet(&authority, &dialing, "localhost");
        assert!(near.is_ok());
        assert_eq!(far.unwrap().peer().proof, of_server(principal, &hosts), "{name}");
    }
    let dialing = sign(&authority, "server:b.example", &["b.example", "10.0.0.1"], &BOTH);
    let (_near, far) = meet(&authority, &dialing, "localhost");
    let Proof::Server { hosts, .. } = &far.as_ref().unwrap().peer().proof else { panic!() };
    assert!(hosts.name("b.example") && hosts.name("10.0.0.1") && !hosts.name("c.example"));
}

#[test]
fn a_server_named_like_a_user_is_a_server() {
    let authority = Authority::new();
    let anna = sign(&authority, "anna", &["anna"], &BOTH);
    let (_near, far) = meet(&authority, &anna, "localhost");
    assert_eq!(far.unwrap().peer().proof, of_server("server:anna", &["anna"]));
    // Good for everything, as certificates without a list of purposes are.
    let anna = sign(&authority, "anna", &["anna"], &[]);
    let (_near, far) = meet(&authority, &anna, "localhost");
    assert_eq!(far.unwrap().peer().proof, of_server("server:anna", &["anna"]));
}

#[test]
fn a_user_named_like_a_server_gets_nowhere() {
    let authority = Authority::new();
    // A careless authority signs any name, and gives users more purposes than they need.
    for (hosts, purposes) in [
        (vec![], vec![ClientAuth]),
        (vec!["b.example"], vec![ClientAuth]),
        (vec![], BOTH.to_vec()),
        (vec![], vec![]),
    ] {
        let shown = Authority::new();
        let eve = sign(&authority, "server:b.example", &hosts, &purposes);
        let error = connect("localhost", 1, Some(&eve), PATIENCE).err().unwrap().to_string();
        assert!(error.contains("only a server can be called so"), "{error}");
        let (near, far) = meet_as_stranger(&authority, &eve, &shown);
        let words = ["\"server:b.example\"", "only a server can be called so", "farcall ca"];
        says(&far.err().unwrap(), &words);
        says(&heard(near), &["its name is not one that its kind can have", "farcall ca user NAME"]);
    }
}

#[test]
fn a_server_named_after_another_gets_nowhere() {
    let authority = Authority::new();
    let shown = Authority::new();
    let eve = sign(&authority, "server:b.example", &["c.example"], &BOTH);
    let (near, far) = meet_as_stranger(&authority, &eve, &shown);
    says(&far.err().unwrap(), &["\"server:b.example\" in its subject is not a host"]);
    says(&heard(near), &["its name is not one that its kind can have"]);
}

#[test]
fn a_server_of_many_hosts_alone_cannot_dial() {
    let authority = Authority::new();
    let dialing = sign(&authority, "server", &["*.example"], &BOTH);
    let (near, far) = meet(&authority, &dialing, "localhost");
    says(&far.err().unwrap(), &["for *.example, and names no single host", "farcall ca server"]);
    says(&heard(near), &["farcall ca server HOST"]);
}

#[test]
fn a_server_of_an_earlier_version_is_told_to_renew() {
    let authority = Authority::new();
    let dialing = sign(&authority, "b.example", &["b.example"], &[ServerAuth]);
    let (near, far) = meet(&authority, &dialing, "localhost");
    let words =
        ["\"b.example\" is a server's from an earlier version", "farcall ca renew b.example"];
    says(&far.err().unwrap(), &words);
    says(
        &heard(near),
        &["from an earlier version of Farcall cannot join", "farcall ca renew HOST"],
    );
}

#[test]
fn certificates_of_earlier_versions_do_what_they_did() {
    let authority = Authority::new();
    let read = |file| Certificate::parse(&CertificateDer::from_pem_file(file).unwrap()).unwrap();
    let server = read(authority.path("server.pem"));
    assert_eq!((server.role, server.can_dial), (Role::Server, false));
    let user = read(authority.user("anna"));
    assert_eq!((user.role, user.can_dial), (Role::User, true));
    let (near, far) = meet(&authority, &authority.user("anna"), "localhost");
    assert!(near.is_ok());
    assert_eq!(far.unwrap().peer().proof, Proof::Certificate { name: "anna".into() });
}

#[test]
fn hosts_that_are_none_are_left_out() {
    let authority = Authority::new();
    let file = sign(&authority, "odd", &["a b", "x\nserver:y", "ok.example", ""], &BOTH);
    let certificate = Certificate::parse(&CertificateDer::from_pem_file(file).unwrap()).unwrap();
    assert_eq!(certificate.hosts, ["ok.example"]);
}

/// As a program that does not look at its own certificate: what it proves is `file`, inside of
/// credentials that can be read.
fn meet_as_stranger(
    authority: &Authority,
    file: &std::path::Path,
    spare: &Authority,
) -> (Met, Met) {
    let mut credentials = Credentials::read(&spare.user("anna"), Whose::User).unwrap();
    let text = std::fs::read(file).unwrap();
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let Ok([own, root]) = <[_; 2]>::try_from(certificates.unwrap()) else { panic!() };
    credentials.own = own;
    credentials.authority = root;
    credentials.key = rustls::pki_types::PrivateKeyDer::from_pem_slice(&text).unwrap();
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let accepting = std::thread::spawn(move || accept(&mut listener));
    let config = crate::config::client(&credentials).unwrap();
    let near = crate::connect::connect_with(config, "localhost", port, Instant::now() + PATIENCE);
    (near, accepting.join().unwrap())
}
