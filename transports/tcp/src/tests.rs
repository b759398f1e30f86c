//! The battery over IPv4 and IPv6, and the guards of addresses and tokens.
#![allow(clippy::unwrap_used)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_link::stream::{ByteStream, Listener as _, Proof};
use farcall_transport_battery::Rig;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// A directory of this test's own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("farcall-tcp-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn token() -> Token {
    Token::create(&Scratch::new().join("token")).unwrap()
}

fn rest() {
    std::thread::sleep(Duration::from_micros(100));
}

fn rig_on(host: &'static str) -> Rig {
    // C programs die of a SIGPIPE unless they say otherwise, and Farcall runs inside them; Rust's
    // own start-up ignores it, which would hide a send that raises one. SAFETY: the default action
    // is no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let mut listener = Listener::bind(host, 0, token()).unwrap();
    let pair = move || {
        let near = connect(host, listener.port(), PATIENCE).unwrap();
        (near, accept(&mut listener))
    };
    Rig { pair: Box::new(pair), pass_time: Box::new(rest) }
}

fn accept(listener: &mut Listener) -> Box<dyn ByteStream> {
    loop {
        match listener.accept().unwrap() {
            Some(stream) => return stream,
            None => rest(),
        }
    }
}

fn ipv4() -> Rig {
    rig_on("127.0.0.1")
}

mod over_ipv4 {
    farcall_transport_battery::stamp!(super::super::ipv4);
}

fn has_ipv6() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn ipv6_works_as_well() {
    if !has_ipv6() {
        println!("skipped: no IPv6 loopback here");
        return;
    }
    for host in ["::1", "[::1]"] {
        farcall_transport_battery::streams::sixteen_mib_both_ways_at_once(&mut rig_on(host));
    }
}

#[test]
fn listening_beyond_loopback_is_refused_with_the_commands_for_tls() {
    for host in ["0.0.0.0", "::", "192.0.2.1", "8.8.8.8", "::ffff:10.0.0.1"] {
        let error = Listener::bind(host, 0, token()).err().expect(host);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{host}");
        assert!(error.to_string().contains("plain TCP works only on this machine"), "{error}");
        assert!(error.advice().unwrap().contains("farcall ca init --server HOST"), "{error}");
        assert!(error.advice().unwrap().contains("farcall serve --listen tls://"), "{error}");
    }
    for host in ["localhost", "127.0.0.1", "127.1.2.3"] {
        assert!(Listener::bind(host, 0, token()).is_ok(), "{host}");
    }
}

#[test]
fn a_token_is_not_sent_to_another_machine() {
    let error = connect("192.0.2.1", 4711, PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("ssh -L 4711:localhost:4711 192.0.2.1"), "{error}");
}

#[test]
fn connect_says_what_is_wrong() {
    let free = Listener::bind("127.0.0.1", 0, token()).unwrap().port();
    let error = connect("127.0.0.1", free, PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.message().contains("nothing listens"), "{error}");
    let error = connect("no-such-host.invalid", 1, PATIENCE).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let taken = Listener::bind("127.0.0.1", 0, token()).unwrap();
    let error = Listener::bind("127.0.0.1", taken.port(), token()).err().unwrap();
    assert!(error.message().contains("taken"), "{error}");
    assert_eq!(
        connect("127.0.0.1", taken.port(), Duration::ZERO).err().unwrap().kind(),
        ErrorKind::TimedOut
    );
}

#[test]
fn accepted_streams_name_the_token_that_the_hello_must_carry() {
    let token = token();
    let mut listener = Listener::bind("localhost", 0, token.clone()).unwrap();
    assert!(listener.accept().unwrap().is_none(), "nobody waits");
    let client = connect("localhost", listener.port(), PATIENCE).unwrap();
    let server = accept(&mut listener);
    assert_eq!(server.peer().proof, Proof::Token(token.bytes()));
    assert_eq!(client.peer().proof, Proof::Address);
    assert_eq!(listener.address(), format!("farcall://{}", client.peer().address));
}

#[test]
fn sockets_are_set_up_for_small_messages_and_large_arrays() {
    let mut listener = Listener::bind("127.0.0.1", 0, token()).unwrap();
    let client = connect("127.0.0.1", listener.port(), PATIENCE).unwrap();
    let server = accept(&mut listener);
    for stream in [client, server] {
        let socket = stream.readiness().unwrap();
        assert!(rustix::net::sockopt::tcp_nodelay(socket).unwrap());
        // Where the system allows the choice; a test cannot make it do so.
        if fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
            .is_ok_and(|all| all.contains("reno"))
        {
            assert_eq!(rustix::net::sockopt::tcp_congestion(socket).unwrap(), "reno");
        }
    }
}

#[test]
fn a_token_file_is_private_and_reads_back() {
    let scratch = Scratch::new();
    let path = scratch.join("token");
    let made = Token::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap().len(), 65);
    assert!(Token::read(&path).unwrap() == made);
    assert_eq!(made.bytes().len(), 32);
    assert!(token() != made, "every token is another");
    assert_eq!(
        Token::create(&path).err().unwrap().kind(),
        ErrorKind::InvalidArgument,
        "never overwritten"
    );
    assert_eq!(format!("{made:?}"), "Token(…)", "a log does not give it away");
}

#[test]
fn a_token_that_others_can_read_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.join("token");
    Token::create(&path).unwrap();
    for bits in [0o640, 0o604, 0o620, 0o602, 0o601] {
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        let error = Token::read(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.message().contains(&format!("{bits:o}")), "{error}");
        assert!(error.advice().unwrap().starts_with("check the path"), "{error}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(Token::read(&path).is_ok());
}

#[test]
fn a_token_of_another_user_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.join("token");
    Token::create(&path).unwrap();
    if chown(&path, Some(65_534), Some(65_534)).is_err() {
        println!("skipped: only root can give files away");
        return;
    }
    // Root could read it, and would then offer a secret that somebody else chose.
    let error = Token::read(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.message().contains("uid 65534"), "{error}");
}

#[test]
fn what_is_no_token_file_is_refused() {
    let scratch = Scratch::new();
    let good = scratch.join("good");
    let link = scratch.join("link");
    Token::create(&good).unwrap();
    symlink(&good, &link).unwrap();
    let error = Token::read(&link).unwrap_err().to_string();
    assert!(error.contains("it is a symbolic link"), "a link may lead anywhere: {error}");
    assert_eq!(Token::read(&scratch.join("none")).err().unwrap().kind(), ErrorKind::NotFound);
    // A pipe nobody writes to: opening or reading it plainly would wait for ever.
    let pipe = scratch.join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(Token::read(&pipe).err().unwrap().kind(), ErrorKind::PermissionDenied);
    let bad = ["", "12", &"g".repeat(64), &"a".repeat(66), &"ä".repeat(32), &"0".repeat(1 << 20)];
    for (index, text) in bad.into_iter().enumerate() {
        let path = scratch.join(&index.to_string());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = Token::read(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSource, "case {index}");
        // Whoever mistyped must not be told to delete a file of another purpose.
        assert!(error.advice().unwrap().starts_with("check the path"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "and it stays as it is");
    }
}

#[test]
fn only_a_tcp_connection_is_taken_over() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut stream = crate::from_descriptor(ours.into(), Proof::Inherited).unwrap();
    assert!(!stream.passes_descriptors());
    assert_eq!(stream.send(&[std::io::IoSlice::new(b"x")], &[]).unwrap(), 1);
    // A listener is no connection, a Unix socket no TCP, a file no socket.
    let (unix, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    for wrong in [listener.into(), unix.into(), std::os::fd::OwnedFd::from(file)] {
        let error = crate::from_descriptor(wrong, Proof::Inherited).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}
