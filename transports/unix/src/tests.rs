//! The battery over socket pairs and over a listener, and the guards that only a Unix socket needs.
#![allow(clippy::unwrap_used)]

mod other_user;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use farcall_base::ErrorKind;
use farcall_link::stream::{ByteStream, Listener as _, Proof};
use farcall_transport_battery::Rig;

use super::*;

/// A directory of this test's own, with mode 0700, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("farcall-unix-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
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

fn rest() {
    std::thread::sleep(Duration::from_micros(100));
}

/// C programs die of a SIGPIPE unless they say otherwise, and Farcall runs inside them; Rust's own
/// start-up ignores it, which would hide a send that raises one.
fn as_in_a_c_program() {
    // SAFETY: the default action is no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn pair_rig() -> Rig {
    as_in_a_c_program();
    Rig { pair: Box::new(|| pair().unwrap()), pass_time: Box::new(rest) }
}

fn listener_rig() -> Rig {
    let scratch = Scratch::new();
    let mut listener = Listener::bind(&scratch.join("s")).unwrap();
    let pair = move || {
        let near = connect(&scratch.join("s")).unwrap();
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

mod over_a_pair {
    farcall_transport_battery::stamp!(super::super::pair_rig);
}

mod over_a_listener {
    farcall_transport_battery::stamp!(super::super::listener_rig);
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn both_ends_know_each_others_user_and_process() {
    let scratch = Scratch::new();
    let mut listener = Listener::bind(&scratch.join("s")).unwrap();
    assert!(listener.accept().unwrap().is_none(), "nobody waits");
    let client = connect(&scratch.join("s")).unwrap();
    let server = accept(&mut listener);
    let own = Proof::User { uid: own_uid(), pid: std::process::id() };
    assert_eq!((&client.peer().proof, &server.peer().proof), (&own, &own));
    assert_eq!(client.peer().address, format!("unix:{}", scratch.join("s").display()));
    assert_eq!(listener.address(), client.peer().address);
}

#[test]
fn the_socket_and_a_missing_directory_are_made_private() {
    let scratch = Scratch::new();
    let path = scratch.join("made/s");
    let listener = Listener::bind(&path).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    drop(listener);
    assert!(!path.exists(), "removed on drop");
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        0,
        "nothing else stays behind"
    );
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let scratch = Scratch::new();
    for (bits, allowed) in
        [(0o777, false), (0o720, false), (0o702, false), (0o1777, true), (0o755, true)]
    {
        fs::set_permissions(&scratch.0, Permissions::from_mode(bits)).unwrap();
        let bound = Listener::bind(&scratch.join("s"));
        assert_eq!(bound.is_ok(), allowed, "mode {bits:o}");
        if let Err(error) = bound {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            assert!(error.to_string().contains("0700"), "{error}");
        }
    }
}

#[test]
fn a_live_server_is_not_replaced_and_a_dead_one_is() {
    let scratch = Scratch::new();
    let path = scratch.join("s");
    let first = Listener::bind(&path).unwrap();
    let error = Listener::bind(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.message().contains("another server already listens there"), "{error}");
    assert!(connect(&path).is_ok(), "the refused one has not touched the file");
    // What a killed server leaves: a socket file that nobody listens on.
    drop(first);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert_eq!(connect(&path).err().unwrap().kind(), ErrorKind::Unreachable);
    let _second = Listener::bind(&path).unwrap();
    assert!(connect(&path).is_ok());
}

#[test]
fn a_dropped_listener_removes_its_own_file_only() {
    let scratch = Scratch::new();
    let path = scratch.join("s");
    let first = Listener::bind(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let _second = Listener::bind(&path).unwrap();
    drop(first);
    assert!(connect(&path).is_ok(), "the successor's socket is still there");
}

#[test]
fn of_servers_that_start_together_one_wins() {
    let scratch = Scratch::new();
    let path = scratch.join("s");
    // Without the lock one round in a few has two winners, or none.
    for _ in 0..100 {
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let start = std::sync::Barrier::new(4);
        let bind = || {
            start.wait();
            Listener::bind(&path).ok()
        };
        let winners: Vec<Listener> = std::thread::scope(|scope| {
            let starters: Vec<_> = (0..4).map(|_| scope.spawn(bind)).collect();
            starters.into_iter().filter_map(|starter| starter.join().unwrap()).collect()
        });
        assert_eq!(winners.len(), 1);
        assert!(connect(&path).is_ok());
    }
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let scratch = Scratch::new();
    let path = scratch.join("s");
    fs::write(&path, "a file of the user's").unwrap();
    assert_eq!(Listener::bind(&path).err().unwrap().kind(), ErrorKind::InvalidArgument);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file of the user's");
    assert!(connect(&path).is_err());
    // A link in the socket's place could lead anywhere, so it is not followed.
    let link = scratch.join("link");
    symlink(scratch.join("elsewhere"), &link).unwrap();
    assert_eq!(Listener::bind(&link).err().unwrap().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn connect_says_what_is_wrong_and_what_to_do() {
    let scratch = Scratch::new();
    let error = connect(&scratch.join("nobody")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("farcall serve"), "{error}");
    let long = scratch.join(&"x".repeat(200));
    assert_eq!(connect(&long).err().unwrap().kind(), ErrorKind::InvalidArgument);
    assert_eq!(Listener::bind(&long).err().unwrap().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_folder_of_any_length_has_a_socket() {
    let scratch = Scratch::new();
    let mut folder = scratch.join("long");
    for _ in 0..20 {
        folder.push("a-name-that-a-batch-system-made");
    }
    std::fs::create_dir_all(&folder).unwrap();
    // The longest path that an address holds, the first that none holds, and one far beyond.
    let room = 107 - scratch.join("").as_os_str().len();
    for path in [scratch.join(&"x".repeat(room)), folder.join("s"), folder.join("x".repeat(80))] {
        let mut listener = Listener::bind(&path).unwrap();
        assert!(connect(&path).is_ok());
        assert!(listener.accept().unwrap().is_some());
        assert!(crate::connect_for_bytes(&path).is_ok());
        assert_eq!(Listener::bind(&path).err().unwrap().kind(), ErrorKind::Unreachable);
        drop(listener);
        assert!(!path.exists());
        assert_eq!(connect(&path).err().unwrap().kind(), ErrorKind::Unreachable);
    }
}

#[test]
fn a_server_that_does_not_accept_does_not_hang_its_clients() {
    let scratch = Scratch::new();
    let _listener = Listener::bind(&scratch.join("s")).unwrap();
    let begin = std::time::Instant::now();
    let mut held = Vec::new();
    let error = loop {
        match connect::connected_socket(&scratch.join("s"), Duration::from_millis(50)) {
            Ok(socket) => held.push(socket),
            Err(error) => break error,
        }
        assert!(held.len() < 10_000, "the queue of new connections has a limit");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn only_a_unix_stream_socket_is_taken_over() {
    let (pipe, _writer) = std::io::pipe().unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let datagram = std::os::unix::net::UnixDatagram::unbound().unwrap();
    for descriptor in [pipe.into(), tcp.into(), datagram.into()] {
        let error = from_descriptor(descriptor, Proof::Inherited).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn the_default_path_is_the_users_own() {
    let here = std::env::temp_dir();
    let path_in = |directory| connect::socket_path_in(directory, "server.sock");
    assert_eq!(path_in(Some(here.clone())), here.join("farcall/server.sock"));
    let fallback = PathBuf::from(format!("/tmp/farcall-{}/server.sock", own_uid()));
    assert_eq!(path_in(None), fallback);
    assert_eq!(path_in(Some("relative".into())), fallback, "as the XDG specification says");
    assert_eq!(path_in(Some(here.join("missing"))), fallback);
    let long = here.join(format!("farcall-{}-{}", std::process::id(), "x".repeat(80)));
    std::fs::create_dir(&long).unwrap();
    assert_eq!(path_in(Some(long.clone())), fallback, "no socket can have such a path");
    std::fs::remove_dir(long).unwrap();
}
