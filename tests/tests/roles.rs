//! A server's certificate lets a server join another, and is good for nothing that users do; a user
//! of several sites shows each the certificate that it gave.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use farcall_base::{CallId, ErrorKind};
use farcall_client::Client;
use farcall_tests::{Directory, Server, Transport, authority, battery, eventually, program};
use farcall_wire::Order;
use rcgen::ExtendedKeyUsagePurpose::{self, ClientAuth, ServerAuth};

const PATIENCE: Duration = Duration::from_secs(10);

/// A server over TLS with these options.
fn serve(directory: &Directory, options: &str) -> Server {
    let text =
        format!("[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\n{options}");
    let manifest = directory.write("farcall.toml", &text);
    let files = [battery(false)];
    Server::start(Transport::Tls, &files, &["--manifest", manifest.to_str().unwrap()])
}

fn enter(server: &Server, file: &Path) -> farcall_base::Result<Client> {
    Client::connect_to(&server.address().parse().unwrap(), Some(file.to_path_buf()), PATIENCE)
}

fn private(directory: &Directory, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.write(name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// What `farcall ca` would not sign.
fn signed(
    folder: &Path,
    directory: &Directory,
    (name, hosts): (&str, &[&str]),
    purposes: &[ExtendedKeyUsagePurpose],
) -> PathBuf {
    let text = std::fs::read_to_string(folder.join("authority.pem")).unwrap();
    let (root, key) = text.split_at(text.find("-----BEGIN PRIVATE KEY").unwrap());
    let issuer =
        rcgen::Issuer::from_ca_cert_pem(root, rcgen::KeyPair::from_pem(key).unwrap()).unwrap();
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut parameters = rcgen::CertificateParams::new(hosts).unwrap();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
    parameters.extended_key_usages = purposes.to_vec();
    let own = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&own, &issuer).unwrap().pem();
    private(directory, "signed.pem", &format!("{certificate}{}{root}", own.serialize_pem()))
}

fn run(words: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(program());
    command.args(words).env_remove("FARCALL_CREDENTIALS");
    command.envs(variables.iter().map(|(name, value)| (*name, value.as_os_str())));
    command.output().unwrap()
}

fn complains(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{words:?} in {said}");
}

/// Everything that a client can ask for.
fn asked(client: &Client) -> Vec<(&'static str, farcall_base::Error)> {
    let id = CallId([7; 16]);
    vec![
        ("ask for interfaces", client.routine("battery/f_int").err().unwrap()),
        ("list routines", client.routines().err().unwrap()),
        ("see what the server does", client.status(PATIENCE).err().unwrap()),
        ("give orders", client.administer(Order::Reload(None), PATIENCE).err().unwrap()),
        ("give orders", client.administer(Order::Drain(None), PATIENCE).err().unwrap()),
        ("ask for kept calls", client.kept().err().unwrap()),
        ("ask for kept calls", client.forget_call(id).err().unwrap()),
        ("resume calls", client.fetch(id, &Default::default()).err().unwrap()),
    ]
}

#[test]
fn a_server_s_certificate_does_nothing_that_users_do() {
    let directory = Directory::new();
    let log = directory.0.join("audit.log");
    let server = serve(&directory, &format!("audit_file = \"{}\"\n", log.display()));
    let own = server.authority().join("server.pem");
    // Without a table, everybody with a user's certificate may call everything.
    let client = enter(&server, &own).unwrap();
    for (what, error) in asked(&client) {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("\"server:localhost\" may not {what}")), "{text}");
        assert!(text.contains("farcall ca user NAME"), "{text}");
        let entry = "{ who = [\"server:localhost\"], join = true }";
        assert!(text.contains(entry), "{text}");
    }
    let address = server.address();
    let file = own.to_str().unwrap();
    for words in [
        &["ls"][..],
        &["show", "battery/f_int"],
        &["call", "battery/f_int", "5"],
        &["submit", "battery/f_int", "5"],
        &["top", "--once"],
        &["objects"],
        &["kept"],
        &["reload"],
        &["drain"],
    ] {
        let output = run(&[words, &["--server", address, "--credentials", file]].concat(), &[]);
        complains(&output, &["\"server:localhost\" may not", "farcall ca user NAME"]);
    }
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    assert!(eventually(|| logged().contains("\"order\":\"list routines\"")), "{}", logged());
    assert!(logged().contains("\"principal\":\"server:localhost\""), "{}", logged());
    assert!(server.client().routine("f_int").is_ok(), "users are served as ever");
}

#[test]
fn the_right_to_join_gives_nothing_else() {
    let directory = Directory::new();
    let table = "access = [\n    { who = [\"*\"], call = [\"*\"], publish = true, administer = true \
                 },\n    { who = [\"server:localhost\"], join = true },\n]\n";
    let server = serve(&directory, table);
    let client = enter(&server, &server.authority().join("server.pem")).unwrap();
    for (what, error) in asked(&client) {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
        assert!(!error.to_string().contains("join = true"), "it may join already: {error}");
    }
    assert!(server.client().routines().is_ok(), "\"*\" is for users");
}

#[test]
fn a_table_that_lets_users_join_or_servers_call_is_refused() {
    let directory = Directory::new();
    for (entry, words) in [
        ("{ who = [\"anna\"], join = true }", ["gives join to \"anna\"", "server:HOST"]),
        ("{ who = [\"server:a\"], call = [\"*\"] }", ["names \"server:a\" in who", "may join"]),
    ] {
        let text = format!(
            "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\naccess = \
             [{entry}]\n"
        );
        let manifest = directory.write("wrong.toml", &text);
        let words = [&words[..], &["entry 1 of access", "line: 5"]].concat();
        complains(&Server::refused(&["--manifest", manifest.to_str().unwrap()]), &words);
    }
}

#[test]
fn names_and_purposes_that_do_not_go_together_get_nowhere() {
    let directory = Directory::new();
    let server = Server::start(Transport::Tls, &[battery(false)], &[]);
    let folder = server.authority();
    let own = "server:b.example";
    for (subject, purposes, words) in [
        // A server of an earlier version that tries to join.
        (("b.example", &["b.example"][..]), &[ServerAuth][..], "cannot join"),
        (("*", &["*.example"]), &[ServerAuth, ClientAuth], "no usable name"),
        // A careless authority gave a user a server's name, or a server another's.
        ((own, &[]), &[ClientAuth], "only a server can be called so"),
        ((own, &[]), &[ServerAuth, ClientAuth], "only a server can be called so"),
        ((own, &["c.example"]), &[ServerAuth, ClientAuth], "is not a host that it is for"),
    ] {
        let file = signed(&folder, &directory, subject, purposes);
        let error = enter(&server, &file).err().unwrap().to_string();
        assert!(error.contains(words) && error.contains("farcall ca"), "{words} in {error}");
    }
    // A server that has the name of a user.
    let file = signed(&folder, &directory, ("anna", &["anna"]), &[ServerAuth, ClientAuth]);
    let error = enter(&server, &file).unwrap().routines().err().unwrap().to_string();
    assert!(error.contains("\"server:anna\" may not list routines"), "{error}");
}

#[test]
fn an_authority_gives_no_user_the_name_of_a_server() {
    let directory = Directory::new();
    let folder = directory.0.join("ca");
    let ca =
        |words: &[&str]| run(&[&["ca", "--folder", folder.to_str().unwrap()], words].concat(), &[]);
    authority(&folder, &["init", "--server", "Cluster.example,10.0.0.1"]);
    let words = ["\"server:x\" can only be a server's name", "farcall ca server x"];
    complains(&ca(&["user", "server:x"]), &words);
    complains(&ca(&["user", "server:"]), &["can only be a server's name"]);
    // A server is known by the name of its host, and by that which its certificate has.
    let renewed = authority(&folder, &["renew", "server:cluster.example"]);
    assert_eq!(renewed, folder.join("server.pem").to_str().unwrap());
    authority(&folder, &["renew", "Cluster.example"]);
    complains(&ca(&["renew", "server:10.0.0.1"]), &["there is no certificate for"]);
    let output = ca(&["revoke", "server:cluster.example"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("3 of"), "{output:?}");
    assert!(!authority(&folder, &["list"]).contains("valid "));
    // What stands in the tables of others is said when the certificate is made.
    let output = ca(&["server", "*.example,b.example"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("\"server:b.example\""), "{said}");
    let output = ca(&["server", "*.example"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot join another server"), "{said}");
}

#[test]
fn a_user_of_two_sites_shows_each_its_own_certificate() {
    let directory = Directory::new();
    let one = Server::start(Transport::Tls, &[battery(false)], &[]);
    let other = Server::start(Transport::Tls, &[battery(false)], &[]);
    let home = directory.0.join("config");
    let folder = home.join("farcall/credentials");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(one.token().unwrap(), folder.join("one.pem")).unwrap();
    let bert = authority(&other.authority(), &["user", "bert"]);
    let ls = |server: &Server, variables: &[(&str, &Path)]| {
        run(&["ls", "--server", server.address()], variables)
    };
    let default = [("XDG_CONFIG_HOME", &*home)];
    assert!(ls(&one, &default).status.success());
    let words = ["no file is from the authority of this server", "one.pem is \"anna\""];
    complains(&ls(&other, &default), &words);
    std::fs::copy(bert, folder.join("other.pem")).unwrap();
    std::fs::write(folder.join("damaged.pem"), "").unwrap();
    let named = [("FARCALL_CREDENTIALS", &*folder)];
    for server in [&one, &other] {
        for variables in [&default, &named] {
            let output = ls(server, variables);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let client = enter(server, &folder).unwrap();
        assert!(client.routine("f_int").is_ok());
    }
    let third = Server::start(Transport::Tls, &[battery(false)], &[]);
    let words = ["one.pem is \"anna\"", "other.pem is \"bert\"", "damaged.pem: "];
    complains(&ls(&third, &named), &words);
    // Where there is one file beside the folder, both count.
    std::fs::rename(folder.join("one.pem"), home.join("farcall/credentials.pem")).unwrap();
    for server in [&one, &other] {
        let output = ls(server, &default);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let empty = directory.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    complains(&ls(&one, &[("FARCALL_CREDENTIALS", &empty)]), &["has no .pem file"]);
}
