//! A server on a network: who has a certificate of its authority gets in, and nobody else gets
//! anywhere.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{Argument, Array, CallOptions, Client, Error};
use farcall_tests::{Directory, Server, Transport, authority, battery, eventually, program};

const PATIENCE: Duration = Duration::from_secs(10);

fn enter(server: &Server, file: &Path) -> Result<Client, Error> {
    Client::connect_to(&server.address().parse().unwrap(), Some(file.to_path_buf()), PATIENCE)
}

fn refused(outcome: Result<Client, Error>, words: &[&str]) {
    let error = outcome.err().expect("nobody should get in");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{text}");
}

fn called(client: &Client) -> f64 {
    let arguments = vec![Argument::Integer(5), Argument::Unset];
    let successor = client.routine("f_int").unwrap();
    let outputs =
        successor.call_positional(arguments, Vec::new(), &CallOptions::default()).unwrap();
    f64::from(outputs.scalar::<i32>("r").unwrap())
}

fn ca(folder: &Path, words: &[&str]) -> Output {
    Command::new(program()).args(["ca", "--folder"]).arg(folder).args(words).output().unwrap()
}

fn complains(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{words:?} in {said}");
}

#[test]
fn two_commands_make_everything() {
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    assert!(server.address().starts_with("tls://127.0.0.1:"));
    assert!(server.client().routine("touch").is_ok());
    let user = server.token().unwrap().to_str().unwrap();
    let ls = Command::new(program())
        .args(["ls", "--server", server.address(), "--credentials", user])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&ls.stdout).contains("battery/touch"), "{ls:?}");
    // The same from the environment, as the C and Python clients do it.
    let mut ls = Command::new(program());
    let ls = ls
        .args(["ls", "--server", server.address()])
        .env("FARCALL_CREDENTIALS", user)
        .output()
        .unwrap();
    assert!(ls.status.success(), "{}", String::from_utf8_lossy(&ls.stderr));
}

#[test]
fn strangers_get_nowhere() {
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    let other = Directory::new();
    let folder = other.0.join("ca");
    authority(&folder, &["init", "--server", "localhost"]);
    let foreign = PathBuf::from(authority(&folder, &["user", "anna"]));
    refused(
        enter(&server, &foreign),
        &["from another authority than yours", "FARCALL_CREDENTIALS"],
    );
    // One who trusts this server's authority, but was not given a certificate by it.
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    let begin = "-----BEGIN CERTIFICATE";
    let own = text(&foreign).rsplit_once(begin).unwrap().0.to_owned();
    let root = text(server.token().unwrap()).rsplit_once(begin).unwrap().1.to_owned();
    let forged = private(&other, "forged.pem", &format!("{own}{begin}{root}"));
    refused(
        enter(&server, &forged),
        &["the server refuses your certificate: it is from another authority"],
    );
    // No certificate at all; a server's is looked at in roles.rs.
    let error = enter(&server, &other.0.join("none.pem")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("farcall ca user NAME"), "{error}");
    assert!(server.client().routine("touch").is_ok(), "and the others are served");
    // A server of another name: it takes its own new certificate while it runs.
    authority(&server.authority(), &["server", "cluster.example"]);
    refused(server.connect(), &["is for cluster.example, not for 127.0.0.1", "farcall ca server"]);
}

fn private(folder: &Directory, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

#[test]
fn a_revoked_user_is_cut_off_while_the_server_runs() {
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let anna = server.client();
    let open = enter(&server, &bert).unwrap();
    assert_eq!((called(&anna), called(&open)), (10.0, 10.0));
    authority(&server.authority(), &["revoke", "bert"]);
    refused(enter(&server, &bert), &["your certificate: it is revoked", "farcall ca user NAME"]);
    let mut last = None;
    assert!(eventually(|| {
        std::thread::sleep(Duration::from_millis(100));
        last = open.routines().err();
        last.is_some()
    }));
    let last = last.unwrap().to_string();
    assert!(last.contains("\"bert\" was revoked"), "{last}");
    assert_eq!(called(&anna), 10.0);
    // A new certificate lets him in again.
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    assert_eq!(called(&enter(&server, &bert).unwrap()), 10.0);
}

/// A server over TLS that writes its audit log, and reads that.
fn audited(
    directory: &Directory,
    files: &[PathBuf],
    spawner: &str,
) -> (Server, impl Fn() -> String + use<>) {
    let file = directory.0.join("audit.log");
    let options = format!("audit_file = \"{}\"", file.display());
    let manifest = directory.write("farcall.toml", &farcall_tests::manifest_of(&options, spawner));
    let server = Server::start(Transport::Tls, files, &["--manifest", manifest.to_str().unwrap()]);
    (server, move || std::fs::read_to_string(&file).unwrap_or_default())
}

/// Whether an ended connection stands in the audit log, which is looked at without a word to the
/// server.
fn is_ended(lines: &str, why: &str) -> bool {
    lines.lines().any(|line| line.contains("\"event\":\"connection\"") && line.contains(why))
}

#[test]
fn a_revoked_user_who_says_nothing_is_cut_off() {
    let directory = Directory::new();
    let (server, lines) = audited(&directory, &[battery(false)], "");
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let anna = server.client();
    let silent = enter(&server, &bert).unwrap();
    assert_eq!((called(&anna), called(&silent)), (10.0, 10.0));
    let descriptors = server.descriptors();
    authority(&server.authority(), &["revoke", "bert"]);
    let why = "the certificate of \\\"bert\\\" was revoked";
    assert!(eventually(|| is_ended(&lines(), why)), "{}", lines());
    assert!(eventually(|| server.descriptors() < descriptors), "his socket is closed");
    let said = silent.routines().err().unwrap().to_string();
    assert!(said.contains("\"bert\" was revoked"), "{said}");
    assert_eq!(called(&anna), 10.0);
}

#[test]
fn a_revoked_user_s_running_call_is_cut_off() {
    let directory = Directory::new();
    // Where routines may write that are allowed to.
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("revoked-{}", std::process::id()));
    let marks = folder.join("marks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&marks, "").unwrap();
    let files = [farcall_tests::root().join("tests/routines/tally.idl")];
    let (server, lines) =
        audited(&directory, &files, &format!("modules.tally.writable = [{folder:?}]"));
    let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let client = enter(&server, &bert).unwrap();
    let routine = client.routine("tally/once").unwrap();
    let words = marks.to_str().unwrap().to_owned();
    let calling = std::thread::spawn(move || {
        let arguments = [
            ("number", 1.into()),
            ("pause_us", 60_000_000.into()),
            ("file", words.as_str().into()),
        ];
        routine.call(arguments).err().unwrap()
    });
    assert!(eventually(|| !std::fs::read(&marks).unwrap().is_empty()), "it runs");
    authority(&server.authority(), &["revoke", "bert"]);
    let ended =
        || lines().lines().any(|line| line.contains("tally/once") && line.contains("\"outcome\""));
    assert!(eventually(ended), "{}", lines());
    let said = calling.join().unwrap().to_string();
    assert!(said.contains("\"bert\" was revoked"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The server stops to read what he sends: a socket that is closed over it would take back the
/// reason.
#[test]
fn a_revoked_user_in_the_middle_of_an_upload_is_told_why() {
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    for round in 0..3 {
        let bert = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
        let client = enter(&server, &bert).unwrap();
        let (sender, begun) = std::sync::mpsc::channel();
        let uploading = std::thread::spawn(move || {
            let touch = client.routine("battery/touch").unwrap();
            let x = vec![1.0_f64; 8 << 20];
            loop {
                match touch.call([("x", Array::vector(&x).into())]) {
                    Ok(_) => sender.send(()).unwrap_or(()),
                    Err(error) => return error,
                }
            }
        });
        begun.recv_timeout(Duration::from_secs(60)).unwrap();
        authority(&server.authority(), &["revoke", "bert"]);
        let said = uploading.join().unwrap().to_string();
        assert!(said.contains("\"bert\" was revoked"), "{round}: {said}");
    }
}

/// A certificate like those of `farcall ca user`, but for seconds.
fn short_lived(server: &Server, directory: &Directory, name: &str, seconds: u64) -> PathBuf {
    let text = std::fs::read_to_string(server.authority().join("authority.pem")).unwrap();
    let (root, key) = text.split_at(text.find("-----BEGIN PRIVATE KEY").unwrap());
    let issuer =
        rcgen::Issuer::from_ca_cert_pem(root, rcgen::KeyPair::from_pem(key).unwrap()).unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    parameters.not_after = (std::time::SystemTime::now() + Duration::from_secs(seconds)).into();
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&own, &issuer).unwrap().pem();
    private(
        directory,
        &format!("{name}.pem"),
        &format!("{certificate}{}{root}", own.serialize_pem()),
    )
}

#[test]
fn a_user_whose_certificate_expires_is_cut_off_though_he_says_nothing() {
    let directory = Directory::new();
    let (server, lines) = audited(&directory, &[battery(false)], "");
    let dora = short_lived(&server, &directory, "dora", 3);
    let silent = enter(&server, &dora).unwrap();
    assert_eq!(called(&silent), 10.0);
    let why = "the certificate of \\\"dora\\\" expired on";
    assert!(
        eventually(|| is_ended(&lines(), why)) || eventually(|| is_ended(&lines(), why)),
        "{}",
        lines()
    );
    assert!(silent.routines().is_err());
}

#[test]
fn a_list_that_is_no_plain_file_neither_stops_nor_fills_the_server() {
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    let anna = server.client();
    let list = server.authority().join("revoked.crl");
    let good = std::fs::read(&list).unwrap();
    let before = resident(&server);
    let make: [&dyn Fn(); 2] =
        [&|| std::os::unix::fs::symlink("/dev/zero", &list).unwrap(), &|| {
            rustix::fs::mkfifoat(rustix::fs::CWD, &list, rustix::fs::Mode::RWXU).unwrap()
        }];
    for make in make {
        std::fs::remove_file(&list).unwrap();
        make();
        let said = server.connect().err().unwrap().to_string();
        assert!(said.contains("audit log") || said.contains("no plain file"), "{said}");
        assert_eq!(called(&anna), 10.0, "who is in goes on");
    }
    assert!(resident(&server) < before + (64 << 20), "{before} before");
    std::fs::remove_file(&list).unwrap();
    std::fs::write(&list, good).unwrap();
    assert_eq!(called(&server.client()), 10.0);
}

#[test]
fn a_port_scan_finds_nothing_and_costs_nothing() {
    let manifest = "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\n\
                    handshake_ms = 500\nhandshakes_max = 16\n";
    let directory = Directory::new();
    let manifest = directory.write("farcall.toml", manifest);
    let server = Server::start(
        Transport::Tls,
        &[battery(false)],
        &["--manifest", manifest.to_str().unwrap()],
    );
    let (_, port) = server.address().rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    let dial = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    // So that an executable runs, and all memory that serving needs is there.
    assert_eq!(called(&server.client()), 10.0);
    let descriptors = server.descriptors();
    let memory = resident(&server);
    let words: [&[u8]; 5] = [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"FARCALL\x01\0\0\0\0\0\0\0\0",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc",
        &[0; 2000],
    ];
    let mut scan = Vec::new();
    for round in 0..200 {
        let mut stranger = dial();
        let _ = stranger.write_all(words[round % words.len()]);
        scan.push(stranger);
    }
    // Meanwhile users come and go.
    assert_eq!(called(&server.client()), 10.0);
    for stranger in &mut scan {
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        // Reset or closed: the words were not worth more than an alert.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() <= 7, "{answer:?}");
    }
    assert!(
        eventually(|| server.descriptors() <= descriptors + 2),
        "{} of {descriptors}",
        server.descriptors()
    );
    assert!(resident(&server) < memory + (8 << 20), "{} grew to {}", memory, resident(&server));
    assert_eq!(called(&server.client()), 10.0);
}

/// Bytes of memory that a server holds.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/statm", server.pid())).unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn beyond_loopback_a_server_without_tls_says_how_to_make_it() {
    let directory = Directory::new();
    let output =
        Server::refused(&["--listen", "tcp:0.0.0.0:4711", battery(false).to_str().unwrap()]);
    complains(
        &output,
        &["farcall ca init --server HOST", "farcall serve --listen tls://0.0.0.0:4711"],
    );
    let missing = directory.0.join("ca/server.pem");
    let options = ["--listen", "tls://0.0.0.0:0", "--credentials", missing.to_str().unwrap()];
    let output = Server::refused(&[&options[..], &[battery(false).to_str().unwrap()]].concat());
    complains(&output, &["no certificate for this server", "farcall ca init --server HOST"]);
}

#[test]
fn a_key_that_others_can_read_is_not_served_with() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let folder = directory.0.join("ca");
    let key = authority(&folder, &["init", "--server", "localhost"]);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let options = ["--listen", "tls://127.0.0.1:0", "--credentials", &key];
    let output = Server::refused(&[&options[..], &[battery(false).to_str().unwrap()]].concat());
    complains(&output, &["other users can read", "644", "chmod 600"]);
    // A wrong path may be that of a file that everybody has to read.
    let notes = directory.write("notes.txt", "none of this is a key\n");
    std::fs::set_permissions(&notes, PermissionsExt::from_mode(0o644)).unwrap();
    let options = ["--listen", "tls://127.0.0.1:0", "--credentials", notes.to_str().unwrap()];
    let output = Server::refused(&[&options[..], &[battery(false).to_str().unwrap()]].concat());
    complains(&output, &["does not have certificates and a key", "check the path"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("chmod"));
}

#[test]
fn an_authority_keeps_its_keys_to_itself() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let folder = directory.0.join("deep/ca");
    complains(
        &ca(&folder, &["user", "anna"]),
        &["it does not exist", "farcall ca init --server HOST"],
    );
    authority(&folder, &["init", "--server", "cluster.example,10.0.0.1"]);
    let user = authority(&folder, &["user", "anna"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let files = ["authority.pem", "issued.json", "server.pem", "users/anna.pem", "lock"];
    assert!(files.iter().all(|file| mode(&folder.join(file)) == 0o600), "keys are private");
    assert_eq!((mode(&folder), mode(&folder.join("users"))), (0o700, 0o700));
    assert_eq!(user, folder.join("users/anna.pem").to_str().unwrap());
    complains(
        &ca(&folder, &["init", "--server", "other"]),
        &["already exists", "farcall ca server HOST"],
    );
    complains(
        &ca(&folder, &["user", "anna"]),
        &["has a certificate until", "farcall ca renew anna"],
    );
    complains(&ca(&folder, &["user", "../anna"]), &["cannot be a name"]);
    // One word must not take back a user and a server.
    complains(
        &ca(&folder, &["user", "cluster.example"]),
        &["has a certificate until", "server.pem"],
    );
    complains(
        &ca(&folder, &["server", "anna"]),
        &["a user has the name \"anna\"", "farcall ca revoke anna"],
    );
    for host in ["bad host!", "", "-", "a..b", "[::1]", "x:4711"] {
        complains(
            &ca(&folder, &["server", "good.example", host]),
            &["cannot be a host", "cluster.example,10.0.0.1"],
        );
    }
    complains(&ca(&folder, &["user", "uid 0"]), &["another kind of user"]);
    complains(
        &ca(&folder, &["revoke", "annna"]),
        &["there is no certificate for", "did you mean \"anna\"", "farcall ca list"],
    );
    std::fs::set_permissions(folder.join("authority.pem"), PermissionsExt::from_mode(0o640))
        .unwrap();
    complains(&ca(&folder, &["user", "bert"]), &["other users can read", "chmod 600"]);
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    complains(&ca(&folder, &["list"]), &["other users can read the directory", "chmod 700"]);
}

#[test]
fn an_authority_lists_renews_and_takes_back() {
    let directory = Directory::new();
    let folder = directory.0.join("ca");
    authority(&folder, &["init", "--server", "cluster.example,10.0.0.1"]);
    let first = std::fs::read(authority(&folder, &["user", "anna", "--days", "3"])).unwrap();
    let again = std::fs::read(authority(&folder, &["renew", "anna"])).unwrap();
    assert_ne!(first, again, "another key");
    let renewed = authority(&folder, &["renew", "cluster.example"]);
    assert_eq!(renewed, folder.join("server.pem").to_str().unwrap());
    authority(&folder, &["revoke", "anna"]);
    complains(&ca(&folder, &["renew", "anna"]), &["was revoked", "farcall ca user NAME"]);
    let list = authority(&folder, &["list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    assert!(
        lines[0].contains("server") && lines[0].contains("for cluster.example, 10.0.0.1"),
        "{list}"
    );
    assert!(
        lines[1].contains("anna") && lines[1].contains("revoked") && lines[2].contains("revoked"),
        "{list}"
    );
    let json = authority(&folder, &["list", "--json"]);
    for word in [
        "\"name\": \"anna\"",
        "\"kind\": \"user\"",
        "\"state\": \"revoked\"",
        "\"not_after\":",
        "\"serial\":",
    ] {
        assert!(json.contains(word), "{word} in {json}");
    }
}
