//! Strangers: a port scan gets nowhere, and costs little.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use farcall_base::{ErrorKind, Random, SeededRandom};

use super::authority::Authority;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

fn listener(authority: &Authority, handshakes_max: usize, handshake_max: Duration) -> Listener {
    Listener::bind(
        "127.0.0.1",
        0,
        authority.files(),
        ListenerLimits { handshakes_max, handshake_max, silence_max: PATIENCE },
    )
    .unwrap()
}

#[test]
fn whoever_does_not_speak_tls_is_turned_away() {
    let authority = Authority::new();
    let mut listener = listener(&authority, 8, PATIENCE);
    let mut random = SeededRandom::new(11);
    let noise: Vec<u8> = (0..4096).map(|_| random.next() as u8).collect();
    // A record of a TLS handshake with nonsense in it, and one that promises more than it may.
    let nonsense = [22, 3, 1, 0, 5, 1, 0, 0, 1, 9];
    let long = [22, 3, 1, 255, 255, 1, 0, 0, 0, 0];
    let words: [&[u8]; 5] =
        [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"FARCALL\x01\0\0\0\0", &noise, &nonsense, &long];
    for (index, word) in words.into_iter().enumerate() {
        let mut stranger = TcpStream::connect(("127.0.0.1", listener.port())).unwrap();
        stranger.write_all(word).unwrap();
        let error = accept(&mut listener).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Protocol, "case {index}: {error}");
        assert!(
            error.to_string().contains("does not speak TLS")
                && error.to_string().contains("peer: 127.0.0.1:")
        );
        let mut answer = Vec::new();
        // At most an alert: it never learns that Farcall is here.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() <= 7, "{answer:?}");
    }
}

#[test]
fn whoever_says_nothing_is_put_out_in_time() {
    let authority = Authority::new();
    let mut listener = listener(&authority, 8, Duration::from_millis(100));
    let mut silent = TcpStream::connect(("127.0.0.1", listener.port())).unwrap();
    let mut slow = TcpStream::connect(("127.0.0.1", listener.port())).unwrap();
    slow.write_all(&[22, 3, 1, 2, 0]).unwrap();
    for _ in 0..2 {
        let error = accept(&mut listener).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
    assert_eq!((silent.read(&mut [0; 9]).unwrap(), listener.strangers()), (0, 0));
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let mut listener = listener(&authority, 8, PATIENCE);
    let port = listener.port();
    let crowd: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let near = std::thread::spawn(move || connect("localhost", port, Some(&user), PATIENCE));
    let mut refused = 0;
    let stream = loop {
        match accept(&mut listener) {
            Ok(stream) => break stream,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
                refused += 1;
            }
        }
        assert!(listener.strangers() <= 8, "the table is bounded");
    };
    drop((stream, near.join().unwrap().unwrap()));
    assert!(refused >= 32, "the oldest of {} went, {refused} of them", crowd.len());
}

/// A socket whose own address is another of this host's.
fn from(address: &str, port: u16) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &std::net::SocketAddr::new(address.parse().unwrap(), 0)).unwrap();
    connect(&socket, &std::net::SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
    TcpStream::from(socket)
}

/// Takes all who connected; how many were refused for lack of room.
fn look_at_all(listener: &mut Listener, at_least: usize) -> usize {
    let begin = Instant::now();
    let mut refused = 0;
    while refused < at_least && begin.elapsed() < PATIENCE {
        match listener.accept() {
            Ok(stream) => assert!(stream.is_none()),
            Err(_) => refused += 1,
        }
    }
    refused
}

#[test]
fn a_crowd_of_one_address_keeps_no_other_out() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let mut listener = listener(&authority, 8, PATIENCE);
    let port = listener.port();
    // It came first, is far away, and has said nothing yet.
    let far = from("127.0.0.2", port);
    // What the crowd sends is no greeting; some send nothing.
    let mut crowd: Vec<TcpStream> = Vec::new();
    for word in [&b"\x16\x03\x01\x02\x00"[..], b""].into_iter().cycle().take(40) {
        crowd.push(TcpStream::connect(("127.0.0.1", port)).unwrap());
        crowd.last_mut().unwrap().write_all(word).unwrap();
    }
    assert_eq!(look_at_all(&mut listener, 33), 33);
    let near = std::thread::spawn(move || {
        connect_over(far.into(), ("localhost", String::new()), &user, PATIENCE)
    });
    let begin = Instant::now();
    while listener.waiting() == 0 && begin.elapsed() < PATIENCE {
        listener.look().unwrap();
        rest();
    }
    near.join().unwrap().unwrap();
}

#[test]
fn who_was_here_before_keeps_a_place_beside_a_crowd_of_many_addresses() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let mut listener = listener(&authority, 8, PATIENCE);
    let port = listener.port();
    for crowd in [0, 40] {
        let far = from("127.0.0.2", port);
        let others: Vec<TcpStream> =
            (0..crowd).map(|index| from(&format!("127.0.1.{}", index + 1), port)).collect();
        look_at_all(&mut listener, others.len().saturating_sub(7));
        let user = user.clone();
        let near = std::thread::spawn(move || {
            connect_over(far.into(), ("localhost", String::new()), &user, PATIENCE)
        });
        let begin = Instant::now();
        while listener.accept().is_ok_and(|stream| stream.is_none()) && begin.elapsed() < PATIENCE {
            rest();
        }
        near.join().unwrap().unwrap();
    }
}

#[test]
fn a_stranger_that_sends_without_end_is_cut_off() {
    let authority = Authority::new();
    let mut listener = listener(&authority, 8, PATIENCE);
    let port = listener.port();
    // One handshake message of 16 MiB, in records that are right.
    let flood = std::thread::spawn(move || {
        let mut stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut record = vec![22, 3, 1, 0x40, 0];
        record.extend([1, 0xff, 0xff, 0xff]);
        record.resize(5 + 0x4000, 0);
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE && stranger.write_all(&record).is_ok() {}
        begin.elapsed() < PATIENCE
    });
    let error = accept(&mut listener).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    while listener.strangers() > 0 {
        assert!(listener.accept().is_ok_and(|stream| stream.is_none()));
        rest();
    }
    assert!(flood.join().unwrap(), "it was cut off");
}

/// A machine that was switched off ends its connections without a word. The kernel lets a socket do
/// so that is told to be repaired, which takes the right to administer the network.
#[test]
fn a_peer_that_vanished_without_a_word_is_noticed() {
    let authority = Authority::new();
    let user = authority.user("anna");
    let limits = ListenerLimits {
        handshakes_max: 8,
        handshake_max: PATIENCE,
        silence_max: Duration::from_secs(1),
    };
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), limits).unwrap();
    let port = listener.port();
    let accepting = std::thread::spawn(move || accept(&mut listener).unwrap());
    let near = connect("127.0.0.1", port, Some(&user), PATIENCE).unwrap();
    let mut far = accepting.join().unwrap();
    // What the handshake left under way arrives: whatever is sent to the vanished end would be
    // answered by its machine.
    std::thread::sleep(Duration::from_millis(200));
    let repaired: libc::c_int = 1;
    // SAFETY: the option is an int that lives during the call.
    let done = unsafe {
        let socket = near.readiness().unwrap().as_raw_fd();
        libc::setsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_REPAIR,
            (&raw const repaired).cast(),
            4,
        )
    };
    if done != 0 {
        eprintln!("skipped: sockets cannot be repaired here: {}", std::io::Error::last_os_error());
        return;
    }
    drop(near);
    let begun = Instant::now();
    let mut room = [0; 16];
    let ended = loop {
        match far.receive(&mut [std::io::IoSliceMut::new(&mut room)], &mut Vec::new()) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                assert!(begun.elapsed() < PATIENCE)
            }
            other => break other,
        }
        rest();
    };
    assert!(ended.is_err(), "it did not say that it ends: {ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[test]
fn those_who_came_together_can_be_taken_one_by_one() {
    let authority = Authority::new();
    let mut listener = Listener::bind("127.0.0.1", 0, authority.files(), LIMITS).unwrap();
    let port = listener.port();
    let user = authority.user("anna");
    let connect = |_| {
        let user = user.clone();
        std::thread::spawn(move || connect("localhost", port, Some(&user), PATIENCE).unwrap())
    };
    let near: Vec<_> = (0..4).map(connect).collect();
    let begin = Instant::now();
    while listener.waiting() < near.len() && begin.elapsed() < PATIENCE {
        listener.look().unwrap();
        rest();
    }
    let is_ready = |listener: &Listener| {
        let mut waited = [PollFd::from_borrowed_fd(listener.readiness().unwrap(), PollFlags::IN)];
        let nothing = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        poll(&mut waited, Some(&nothing)).unwrap() == 1
    };
    for _ in 1..near.len() {
        assert!(listener.accept().unwrap().is_some());
        assert!(is_ready(&listener), "somebody is left, and nothing says so");
    }
    assert!(listener.accept().unwrap().is_some());
    assert!(listener.accept().unwrap().is_none());
    assert!(!is_ready(&listener), "nobody is left");
    near.into_iter().for_each(|thread| drop(thread.join().unwrap()));
}
