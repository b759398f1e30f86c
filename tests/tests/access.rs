//! Who may connect: this user over the Unix socket, whoever can read the token file over TCP,
//! nobody from afar.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_client::{Address, Client, Error};
use farcall_tests::{Directory, Raw, Server, Transport, battery};
use farcall_wire::{FrameKind, Hello, PREFACE};

fn refusal(address: &str, token: Option<PathBuf>) -> Error {
    let address: Address = address.parse().unwrap();
    match Client::connect_to(&address, token, Duration::from_secs(10)) {
        Ok(_) => panic!("nobody should get in"),
        Err(error) => error,
    }
}

#[test]
fn a_tcp_server_lets_in_who_shows_its_token() {
    let server = Server::start(Transport::Tcp, &[battery(false)], &[]);
    assert!(server.client().routine("touch").is_ok());
    assert_eq!(
        mode(server.token().unwrap()),
        0o600,
        "the server made its token for its user alone"
    );
    let error = refusal(server.address(), None);
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("token"), "{error}");
    let directory = Directory::new();
    let wrong = directory.write("token", &format!("{}\n", "a7".repeat(32)));
    std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o600)).unwrap();
    let error = refusal(server.address(), Some(wrong.clone()));
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("token"), "{error}");
    // A file that others can read is no secret: the client does not even try.
    std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o644)).unwrap();
    let error = refusal(server.address(), Some(wrong));
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("644"), "{error}");
    assert!(server.client().routine("touch").is_ok());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_tcp_server_without_a_token_file_keeps_its_token_beside_its_users_socket() {
    let runtime = Directory::new();
    let folder = runtime.0.join("farcall");
    let token = runtime.0.join("farcall/token");
    let start =
        || Server::start_in(&runtime.0, &[battery(false)], &["--listen", "tcp:127.0.0.1:0"]);
    let connect = |server: &Server, token: &Path| {
        let address: Address = server.address().parse().unwrap();
        Client::connect_to(&address, Some(token.to_path_buf()), Duration::from_secs(10))
    };
    let first = start();
    assert_eq!((mode(&folder), mode(&token)), (0o700, 0o600));
    assert!(connect(&first, &token).unwrap().routine("touch").is_ok());
    let wrong = runtime.write("wrong", &format!("{}\n", "a7".repeat(32)));
    std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(connect(&first, &wrong).map(drop).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(refusal(first.address(), None).kind(), ErrorKind::PermissionDenied);
    // The token is this user's and not one server's: the next server serves with it, beside the
    // first or after it.
    let before = std::fs::read(&token).unwrap();
    let second = start();
    assert!(connect(&second, &token).is_ok() && connect(&first, &token).is_ok());
    drop((first, second));
    assert_eq!(std::fs::read(&token).unwrap(), before, "it outlives its servers");
}

#[test]
fn a_default_token_whose_folder_others_can_write_to_is_not_made() {
    let runtime = Directory::new();
    let folder = runtime.0.join("farcall");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = Server::command();
    command
        .env("XDG_RUNTIME_DIR", &runtime.0)
        .args(["--private", "--listen", "tcp:127.0.0.1:0"])
        .arg(battery(false));
    let output = Server::ended(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("777") && said.contains(folder.to_str().unwrap()), "{said}");
    assert!(!folder.join("token").exists());
}

#[test]
fn tokens_of_every_wrong_length_are_refused() {
    let server = Server::start(Transport::Tcp, &[battery(false)], &[]);
    for length in [0, 1, 31, 33, 1000] {
        let mut raw = Raw::connect(&server);
        raw.send(&PREFACE);
        let hello = Hello { token: Some(vec![7; length]), ..raw.hello() };
        raw.message(FrameKind::Hello, 0, &hello);
        let error = raw.goodbye().expect("a reason");
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
}

#[test]
fn a_server_keeps_the_token_that_is_there() {
    let first = Server::start(Transport::Tcp, &[battery(false)], &[]);
    let token = first.token().unwrap();
    let before = std::fs::read(token).unwrap();
    // A second server, or the same one after a restart, with the same file: clients need no new
    // one.
    let file = token.to_str().unwrap();
    let options = ["--listen", "tcp:127.0.0.1:0", "--token-file", file];
    let second = Server::start(Transport::Unix, &[battery(false)], &options);
    assert_eq!(std::fs::read(token).unwrap(), before);
    let address: Address = second.address().parse().unwrap();
    Client::connect_to(&address, Some(token.to_path_buf()), Duration::from_secs(10)).unwrap();
}

#[test]
fn a_token_that_others_can_read_is_not_served_with() {
    let directory = Directory::new();
    let token = directory.write("token", &format!("{}\n", "a7".repeat(32)));
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    let file = battery(false);
    let arguments = [
        "--listen",
        "tcp:127.0.0.1:0",
        "--token-file",
        token.to_str().unwrap(),
        file.to_str().unwrap(),
    ];
    let output = Server::refused(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("644") && said.contains(token.to_str().unwrap()), "{said}");
}

#[test]
fn nobody_listens_beyond_the_loopback() {
    let directory = Directory::new();
    let token = directory.0.join("token");
    let file = battery(false);
    for host in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let listen = format!("tcp:{host}");
        let token = token.to_str().unwrap();
        let output =
            Server::refused(&["--listen", &listen, "--token-file", token, file.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{host}");
        assert!(
            said.contains("127.0.0.1") && said.contains("farcall serve --listen tls://"),
            "{host}: {said}"
        );
    }
}

#[test]
fn two_servers_do_not_share_a_socket() {
    let directory = Directory::new();
    let socket = directory.0.join("server.sock");
    let listen = format!("unix:{}", socket.display());
    let file = battery(false);
    let start =
        || Server::start(Transport::Unix, std::slice::from_ref(&file), &["--listen", &listen]);
    let first = start();
    let earlier = std::fs::metadata(&socket).unwrap().ino();
    let second = Server::refused(&["--listen", &listen, file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        !second.status.success() && said.contains("another server already listens there"),
        "{said}"
    );
    assert!(
        said.contains(socket.to_str().unwrap()) && said.contains("choose another path"),
        "{said}"
    );
    assert!(first.client().routine("touch").is_ok(), "whoever was first serves on");
    // What a killed one left is in nobody's way; and who ends takes no other's socket along.
    first.kill();
    assert_eq!(
        std::fs::metadata(&socket).unwrap().ino(),
        earlier,
        "it had no chance to remove its socket"
    );
    let next = start();
    assert!(next.client().routine("touch").is_ok());
    std::fs::remove_file(&socket).unwrap();
    let other = start();
    drop(next);
    assert!(
        other.client().routine("touch").is_ok(),
        "the socket of the server that came later is gone"
    );
}

/// Run again as another user by the test below: tries to get in, and prints how it was received.
#[test]
fn as_another_user() {
    let Ok(address) = std::env::var("FARCALL_TEST_ADDRESS") else { return };
    let error = refusal(&address, None);
    println!("refused as {:?}: {error}", error.kind());
}

#[test]
fn another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be somebody else");
        return;
    }
    // A place that everybody can reach, so that the uid is what keeps the stranger out, and not a
    // folder.
    let directory = Directory::new();
    let socket = directory.0.join("server.sock");
    let listen = format!("unix:{}", socket.display());
    let server = Server::start(Transport::Unix, &[battery(false)], &["--listen", &listen]);
    for path in [&directory.0, &socket] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    // The test program may lie where the stranger cannot go.
    let program = directory.0.join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut stranger = Command::new("setpriv");
    stranger.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
    stranger
        .args(["access::as_another_user", "--exact", "--nocapture"])
        .env("FARCALL_TEST_ADDRESS", server.address());
    let output = stranger.current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("refused as PermissionDenied") && said.contains("65534"), "{said}");
    assert!(server.client().routine("touch").is_ok(), "its own user still gets in");
}

#[test]
fn a_server_out_of_descriptors_says_so_and_rests() {
    // Not many more than a server wants at least.
    let most = 72;
    let server = Server::start_with_open_files((most, most), &[battery(false)]);
    let mut clients = Vec::new();
    let refused = loop {
        match server.connect() {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() < most as usize, "connections need descriptors");
    };
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    assert!(refused.is_retryable() && refused.to_string().contains("ulimit -n"), "{refused}");
    // Those whom there is no descriptor even to refuse with wait; the server does not spin
    // meanwhile.
    let address = server.address().strip_prefix("unix:").unwrap().to_owned();
    let waiting: Vec<_> =
        (0..20).map(|_| std::os::unix::net::UnixStream::connect(&address).unwrap()).collect();
    let before = server.processor_seconds();
    std::thread::sleep(Duration::from_secs(1));
    let used = server.processor_seconds() - before;
    assert!(used < 0.5, "{used} s of processor time in a second of waiting");
    drop(waiting);
    assert!(clients[0].routine("touch").is_ok(), "those who are in are served");
    clients.truncate(4);
    assert!(farcall_tests::eventually(|| server.connect().is_ok()), "there is room again");
}
