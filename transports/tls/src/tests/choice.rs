//! Of several credentials the one is shown that the server's authority signed.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use farcall_base::ErrorKind;
use farcall_link::stream::Proof;
use rcgen::ExtendedKeyUsagePurpose::ClientAuth;
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ServerConfig, ServerConnection};

use super::authority::{Authority, Order};
use super::certificates::says;
use super::*;
use crate::config::{provider, roots};

/// A folder of a user of several sites; it goes with the first one's.
struct Folder(PathBuf);

impl Folder {
    fn new(within: &Authority) -> Folder {
        let path = within.path("credentials");
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn take(&self, name: &str, file: PathBuf) {
        std::fs::rename(file, self.0.join(name)).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
        authority::set_mode(&self.0.join(name), 0o600);
    }

    fn refused(&self, authority: &Authority) -> Error {
        let (near, far) = meet(authority, &self.0, "localhost");
        assert!(far.is_err());
        near.err().unwrap()
    }
}

fn named(name: &str) -> Proof {
    Proof::Certificate { name: name.to_owned() }
}

#[test]
fn each_site_is_shown_its_own_file() {
    let one = Authority::new();
    let other = Authority::new();
    let folder = Folder::new(&one);
    folder.take("b.pem", one.user("anna"));
    folder.take("a.pem", other.user("anna-at-work"));
    folder.write("damaged.pem", "-----BEGIN CERTIFICATE-----\nnonsense");
    folder.write("README", "what is no .pem file is left alone");
    for (site, name) in [(&one, "anna"), (&other, "anna-at-work")] {
        let (near, far) = meet(site, &folder.0, "localhost");
        assert!(near.is_ok(), "{}", near.err().unwrap());
        assert_eq!(far.unwrap().peer().proof, named(name));
    }
}

#[test]
fn where_none_fits_each_file_is_named() {
    let one = Authority::new();
    let other = Authority::new();
    let folder = Folder::new(&one);
    let bad = "-----BEGIN CERTIFICATE-----\nnonsense";
    folder.write("damaged.pem", bad);
    let error = folder.refused(&other);
    says(&error, &["no file is from the authority of this server: it has none", "damaged.pem: "]);
    folder.take("anna.pem", one.user("anna"));
    let error = folder.refused(&other);
    let known = format!("anna.pem is \"anna\" of {}", one.name);
    says(&error, &[&known, "damaged.pem: a certificate in it is damaged", "farcall ca user NAME"]);
    // One that others can read counts as damaged.
    folder.take("open.pem", other.user("anna"));
    authority::set_mode(&folder.0.join("open.pem"), 0o644);
    says(&folder.refused(&other), &["open.pem: other users can read"]);
}

#[test]
fn a_folder_is_neither_empty_nor_crowded() {
    let one = Authority::new();
    let folder = Folder::new(&one);
    let error = connect("localhost", 1, Some(&folder.0), PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains("no .pem file") && text.contains("credentials"), "{text}");
    for number in 0..65 {
        folder.write(&format!("{number}.pem"), "");
    }
    let error = connect("localhost", 1, Some(&folder.0), PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("more than 64"), "{error}");
}

#[test]
fn of_one_authority_the_last_that_is_valid_is_shown() {
    let one = Authority::new();
    let folder = Folder::new(&one);
    folder.take("a.pem", one.user_with("anna", (-30, -2), 5));
    says(&folder.refused(&one), &["\"anna\" expired on 20", "a.pem", "farcall ca renew anna"]);
    folder.take("b.pem", one.user_with("anna", (-1, 60), 6));
    folder.take("c.pem", one.user_with("anna", (-1, 30), 7));
    one.revoke(&[5, 7]);
    let (near, far) = meet(&one, &folder.0, "localhost");
    assert!(near.is_ok());
    assert_eq!(far.unwrap().peer().proof, named("anna"));
    // Nobody can know which of two users is meant.
    folder.take("d.pem", one.user_with("bert", (-1, 30), 8));
    let error = folder.refused(&one);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let text = error.to_string();
    assert!(text.contains("b.pem is \"anna\", d.pem is \"bert\""), "{text}");
    assert!(text.contains("--credentials FILE"), "{text}");
}

#[test]
fn a_server_must_be_of_the_authority_whose_file_it_is_shown() {
    let one = Authority::new();
    // Another authority that took its name: what it signed is not believed by the file of the first.
    let forged = Authority::called(&one.name);
    let folder = Folder::new(&one);
    folder.take("anna.pem", one.user("anna"));
    says(&folder.refused(&forged), &["from another authority than yours"]);
    // Who has files of both is known to each as what the signature says, and not the name.
    folder.take("eve.pem", forged.user("eve"));
    for (site, name) in [(&one, "anna"), (&forged, "eve")] {
        let mut listener = Listener::bind("127.0.0.1", 0, site.files(), LIMITS).unwrap();
        let port = listener.port();
        let accepting = std::thread::spawn(move || {
            // The first connection is for the server's certificate alone.
            assert!(accept(&mut listener).is_err());
            accept(&mut listener)
        });
        let near = connect("localhost", port, Some(&folder.0), PATIENCE);
        assert!(near.is_ok(), "{}", near.err().unwrap());
        assert_eq!(accepting.join().unwrap().unwrap().peer().proof, named(name));
    }
}

#[test]
fn a_server_that_names_no_authority_is_asked_for_its_certificate_first() {
    let one = Authority::new();
    let other = Authority::new();
    let folder = Folder::new(&one);
    folder.take("a.pem", one.user("anna"));
    folder.take("b.pem", other.user("bert"));
    let config = without_hints(&other);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        // Nothing is shown to a server that has proved nothing.
        assert!(shown(&listener, &config).is_none());
        shown(&listener, &config).unwrap()
    });
    let _near = connect("localhost", port, Some(&folder.0), PATIENCE).unwrap();
    assert_eq!(Certificate::parse(&serving.join().unwrap()).unwrap().name, "bert");
    // A server of a third authority learns nothing, and no second connection is made.
    let third = Authority::new();
    let config = without_hints(&third);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || shown(&listener, &config));
    let error = connect("localhost", port, Some(&folder.0), PATIENCE).err().unwrap();
    says(&error, &["no file is from the authority of this server", "a.pem is \"anna\""]);
    assert!(serving.join().unwrap().is_none());
}

fn without_hints(authority: &Authority) -> Arc<ServerConfig> {
    let credentials = Credentials::read(&authority.path("server.pem"), Whose::Server).unwrap();
    let trusted = roots(&credentials).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider())
        .clear_root_hint_subjects()
        .build()
        .unwrap();
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![credentials.own.clone()], credentials.key.clone_key())
        .unwrap();
    config.alpn_protocols = vec![b"farcall".to_vec()];
    Arc::new(config)
}

/// The certificate that the next client shows, if it shows one.
fn shown(listener: &TcpListener, config: &Arc<ServerConfig>) -> Option<Vec<u8>> {
    let (mut socket, _) = listener.accept().unwrap();
    let mut connection = ServerConnection::new(config.clone()).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).ok()?;
    }
    Some(connection.peer_certificates()?.first()?.to_vec())
}

#[test]
fn a_user_named_like_a_server_is_no_file_to_show() {
    let one = Authority::new();
    let folder = Folder::new(&one);
    let order = Order {
        name: "server:localhost",
        hosts: &[],
        purposes: &[ClientAuth],
        valid: (-1, 9),
        serial: 9,
    };
    folder.take("eve.pem", one.sign("eve.pem", &order));
    says(&folder.refused(&one), &["eve.pem: ", "only a server can be called so"]);
}
