//! A server that is full refuses clearly, and no user sees what others left behind.

use std::io::{ErrorKind as IoErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farcall_base::ErrorKind;
use farcall_client::{Array, ArrayMut, Client};
use farcall_tests::{
    Directory, Server, Transport, authority, battery, eventually, manifest, trouble,
};

fn call(client: &Client) {
    let outputs = client.routine("f_int").unwrap().call([("x", 4.into())]).unwrap();
    assert_eq!(outputs.scalar::<i32>("r").unwrap(), 8);
}

fn a_full_server_refuses_and_serves_on(transport: Transport) {
    let directory = Directory::new();
    let manifest = directory.write("farcall.toml", &manifest("connections_max = 12"));
    let server =
        Server::start(transport, &[battery(false)], &["--manifest", manifest.to_str().unwrap()]);
    let first = server.client();
    call(&first);
    let mut clients = Vec::new();
    let refused = loop {
        match server.connect() {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() < 12, "{transport:?}: more than 12 connections");
    };
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    assert!(refused.is_retryable() && refused.to_string().contains("connections_max"), "{refused}");
    call(&first);
    clients.clear();
    assert!(eventually(|| server.connect().is_ok()), "there is room again");
}

#[test]
fn who_comes_when_the_server_is_full_is_told_so() {
    a_full_server_refuses_and_serves_on(Transport::Unix);
    a_full_server_refuses_and_serves_on(Transport::Tcp);
    a_full_server_refuses_and_serves_on(Transport::Tls);
}

/// A routine that writes nothing to its result shows its caller what was there before: zeros, or
/// what the same user left, but never another's numbers.
#[test]
fn memory_is_not_used_again_for_another_user() {
    const SECRET: f64 = 42.421_337;
    let server = Server::start(Transport::Tls, &[battery(false), trouble(false)], &[]);
    let anna = server.client();
    let file = PathBuf::from(authority(&server.authority(), &["user", "bert"]));
    let bert =
        Client::connect_to(&server.address().parse().unwrap(), Some(file), Duration::from_secs(10))
            .unwrap();
    let mut again = 0;
    for length in [200, 3000, 20_000, 130_000, 1 << 20] {
        // As an argument and as a result, more than once, so that several regions have held it.
        for _ in 0..4 {
            let mut secret = vec![SECRET; length];
            anna.routine("touch").unwrap().call([("x", Array::vector(&secret).into())]).unwrap();
            let hold = anna.routine("hold").unwrap();
            hold.call([("x", ArrayMut::vector(&mut secret).into()), ("milliseconds", 0.into())])
                .unwrap();
        }
        let found = |client: &Client| {
            let mut x = vec![0.0; length];
            let untouched = client.routine("untouched").unwrap();
            untouched.call([("x", ArrayMut::vector(&mut x).into())]).unwrap();
            x.iter().filter(|number| **number == SECRET || **number == SECRET + 1.0).count()
        };
        for _ in 0..8 {
            assert_eq!(found(&bert), 0, "bert reads what anna sent, of {length} numbers");
        }
        again += found(&anna);
    }
    // Otherwise nothing was shown: memory is used again for the same user.
    assert!(again > 0, "no memory was used again");
}

/// A server that may have few files open, reached over all transports.
struct FewFiles {
    server: Server,
    folder: Directory,
    ports: [u16; 2],
}

impl FewFiles {
    fn new(files: u32) -> FewFiles {
        let folder = Directory::new();
        authority(&folder.0.join("ca"), &["init", "--server", "localhost,127.0.0.1"]);
        let ports = [(); 2]
            .map(|()| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
        let at = |name: &str| folder.0.join(name).display().to_string();
        let listen = [format!("unix:{}", at("socket")), format!("tls://127.0.0.1:{}", ports[0])];
        let loopback = format!("tcp:127.0.0.1:{}", ports[1]);
        let credentials = at("ca/server.pem");
        let token = at("token");
        let options = [
            ["--listen", &listen[0], "--listen", &listen[1], "--listen", &loopback],
            ["--credentials", &credentials, "--token-file", &token, "--log-level", "off"],
        ];
        let limit = format!("--nofile={files}:{files}");
        let server = Server::start_within(
            &["prlimit", &limit],
            Transport::Unix,
            &[battery(false)],
            &options.concat(),
        );
        FewFiles { server: server.unwrap(), folder, ports }
    }

    fn user(&self, name: &str) -> PathBuf {
        PathBuf::from(authority(&self.folder.0.join("ca"), &["user", name]))
    }

    fn enter(&self, user: &std::path::Path) -> Result<Client, farcall_client::Error> {
        let address = format!("tls://127.0.0.1:{}", self.ports[0]).parse().unwrap();
        Client::connect_to(&address, Some(user.to_owned()), Duration::from_secs(10))
    }

    /// The owner, and a user with a certificate, come and call, each time within a second.
    fn lets_in(&self, user: &std::path::Path, what: &str) {
        for _ in 0..5 {
            for (who, enter) in [("owner", None), ("user", Some(user))] {
                let since = Instant::now();
                let client = enter.map_or_else(|| self.server.connect(), |user| self.enter(user));
                call(&client.unwrap_or_else(|error| panic!("{what}, {who}: {error}")));
                assert!(
                    since.elapsed() < Duration::from_secs(1),
                    "{what}, {who}: {:?}",
                    since.elapsed()
                );
            }
        }
    }

    /// While so many connections to a port stand open and say nothing, which are made again when
    /// they end.
    fn while_crowded(&self, port: u16, count: usize, then: impl FnOnce()) {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| silent_crowd(port, count, &is_over));
            std::thread::sleep(Duration::from_secs(1));
            // Also when it panics, the crowd goes home.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(then));
            is_over.store(true, Ordering::Relaxed);
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
}

fn silent_crowd(port: u16, count: usize, is_over: &AtomicBool) {
    let mut held: Vec<TcpStream> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        while held.len() < count
            && let Ok(stream) = TcpStream::connect(("127.0.0.1", port))
        {
            stream.set_nonblocking(true).unwrap();
            held.push(stream);
        }
        held.retain_mut(|stream| match stream.read(&mut [0; 4096]) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == IoErrorKind::WouldBlock,
        });
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn with_few_files(files: u32, crowd: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let own = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: own.maximum, ..own });
    let server = FewFiles::new(files);
    let anna = server.user("anna");
    let bert = server.user("bert");
    server.lets_in(&bert, "nobody else");
    server.while_crowded(server.ports[0], crowd, || server.lets_in(&bert, "strangers"));
    server.while_crowded(server.ports[1], crowd, || {
        server.lets_in(&bert, "users of the host without the token")
    });
    let mut clients = Vec::new();
    let refused = loop {
        match server.enter(&anna) {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
        assert!(clients.len() < files as usize / 4, "one user has {} connections", clients.len());
    };
    assert!(refused.to_string().contains("connections_share_percent"), "{refused}");
    server.lets_in(&bert, "one user with a certificate");
}

#[test]
fn where_few_files_may_be_open_crowds_keep_nobody_out() {
    with_few_files(256, 400);
    with_few_files(1024, 1300);
}
