//! What whoever asks for metrics gets, and what is cut off.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use farcall_base::{ErrorKind, Instant};
use farcall_services::mailbox::{Reply, mailbox};
use farcall_wire::{DURATIONS_NS, ModuleStatus, Status, Totals, Use};

use super::*;
use crate::process::Process;
use crate::state::State;
use crate::step::Next;

fn status() -> Status {
    let mut durations = vec![0; DURATIONS_NS.len() + 1];
    (durations[0], durations[2]) = (3, 1);
    let anna = Use {
        principal: "anna".into(),
        routine: "m/f".into(),
        begun: 5,
        returned: 3,
        failed: vec![(ErrorKind::RoutineCrashed.code(), 1)],
        durations: durations.clone(),
        duration_ns: 150_000,
        ..Use::default()
    };
    let hostile = Use { principal: "a\"b\\c\nd".into(), durations, ..anna.clone() };
    let refused = Use {
        principal: "bert".into(),
        failed: vec![(ErrorKind::PermissionDenied.code(), 7)],
        ..Use::default()
    };
    let module =
        ModuleStatus { module: "m".into(), waiting: 2, busy: 1, ..ModuleStatus::default() };
    let totals = Some(Totals { clients: 4, ..Totals::default() });
    let uses = vec![anna, hostile, refused];
    Status { product: "farcall 9".into(), uses, modules: vec![module], totals, ..Status::default() }
}

#[test]
fn the_page_has_every_count_under_its_labels() {
    let page = text::metrics(&status(), &Process { resident_bytes: Some(5), ..Process::default() });
    for line in [
        "farcall_info{version=\"9\"} 1",
        "farcall_calls_begun_total{principal=\"anna\",routine=\"m/f\"} 5",
        "farcall_calls_begun_total{principal=\"a\\\"b\\\\c\\nd\",routine=\"m/f\"} 5",
        "farcall_calls_failed_total{principal=\"anna\",routine=\"m/f\",error=\"routine-crashed\"} \
            1",
        "farcall_calls_refused_total{principal=\"bert\",error=\"permission-denied\"} 7",
        "farcall_call_duration_seconds_bucket{routine=\"m/f\",le=\"0.00001\"} 6",
        "farcall_call_duration_seconds_bucket{routine=\"m/f\",le=\"0.0001\"} 8",
        "farcall_call_duration_seconds_bucket{routine=\"m/f\",le=\"+Inf\"} 8",
        "farcall_call_duration_seconds_sum{routine=\"m/f\"} 0.0003",
        "farcall_call_duration_seconds_count{routine=\"m/f\"} 8",
        "farcall_calls_waiting{module=\"m\"} 2",
        "farcall_executables{module=\"m\",state=\"busy\"} 1",
        "farcall_connections 4",
        "process_resident_memory_bytes 5",
    ] {
        assert!(page.lines().any(|one| one == line), "{line} is not in\n{page}");
    }
    // Each name is explained once, before its values.
    let named: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let once: std::collections::BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(named.len(), once.len());
}

fn asked(request: &str, request_bytes_max: usize) -> (Next, String) {
    let mut state = State::new(Limits { request_bytes_max, ..Limits::default() });
    let (number, _) = state.accepted(Instant(0));
    // In pieces, as it may come.
    let mut next = Next::Wait;
    for byte in request.bytes() {
        if state.received(number, &[byte]) == Next::Ask {
            next = Next::Ask;
        }
    }
    let answer = state
        .poll_send(number)
        .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        .unwrap_or_default();
    (next, answer)
}

#[test]
fn only_the_page_is_served() {
    for good in
        ["GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "GET /metrics?a=b HTTP/1.0\r\n\r\nmore"]
    {
        assert_eq!(asked(good, 8192), (Next::Ask, String::new()), "{good}");
    }
    for (bad, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("GET /metrics/../etc HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "405 Method Not Allowed"),
        ("GET /metrics HTTP/2.0\r\n\r\n", "505 HTTP Version Not Supported"),
        ("\u{16}\u{3}\u{1}\r\n\r\n", "400 Bad Request"),
    ] {
        let (next, answer) = asked(bad, 8192);
        assert!(
            next == Next::Wait && answer.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{bad}: {answer}"
        );
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
    assert_eq!(
        asked("GET /metrics HTTP/1.1\r\nHost:", 8192),
        (Next::Wait, String::new()),
        "more may come"
    );
}

#[test]
fn a_request_that_never_ends_is_not_kept() {
    let endless = format!("GET /metrics HTTP/1.1\r\n{}", "a: b\r\n".repeat(1000));
    let (next, answer) = asked(&endless, 100);
    assert!(next == Next::Wait && answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn clients_are_few_and_have_little_time() {
    let mut state = State::new(Limits { clients_max: 2, patience_ms: 5, ..Limits::default() });
    let (first, _) = state.accepted(Instant(0));
    let (second, _) = state.accepted(Instant(1_000_000));
    // Bytes now and then give no more time.
    state.received(first, b"G");
    assert_eq!(
        (state.next_tick(), state.overdue(Instant(5_000_000))),
        (Some(Instant(5_000_000)), vec![first])
    );
    state.gone(first);
    assert_eq!(state.overdue(Instant(6_000_000)), [second]);
}

#[test]
fn who_has_not_asked_makes_room_for_who_comes() {
    let mut state = State::new(Limits { clients_max: 2, ..Limits::default() });
    let asks = state.accepted(Instant(0)).0;
    let silent = state.accepted(Instant(0)).0;
    assert_eq!(state.received(asks, b"GET /metrics HTTP/1.1\r\n\r\n"), Next::Ask);
    let (third, displaced) = state.accepted(Instant(0));
    assert_eq!(displaced, Some(silent));
    assert_eq!(state.received(third, b"GET /metrics HTTP/1.1\r\n\r\n"), Next::Ask);
    assert_eq!(state.accepted(Instant(0)).1, Some(asks), "all have asked: the first goes");
    assert_eq!(state.clients.len(), 2);
}

#[test]
fn addresses_beyond_loopback_must_be_meant() {
    let of = |listen: &str, beyond_loopback| {
        address(&Limits { listen: listen.into(), beyond_loopback, ..Limits::default() })
    };
    assert_eq!(of("", false), Ok(None));
    assert!(
        of("127.0.0.1:0", false).unwrap().is_some() && of("[::1]:9464", false).unwrap().is_some()
    );
    assert!(of("0.0.0.0:9464", false).unwrap_err().contains("beyond_loopback = true"));
    assert!(of("0.0.0.0:9464", true).unwrap().is_some());
    assert!(of("localhost", false).unwrap_err().contains("not an address and port"));
}

#[test]
fn the_options_text_says_the_defaults() {
    let options =
        farcall_kernel::Options::from_text("farcall.toml", include_str!("options.toml")).unwrap();
    assert_eq!(options.read::<Limits>().unwrap(), Limits::default());
}

/// The driver, over loopback, with a server that counts nothing; a client that says nothing is cut
/// off.
#[test]
fn whoever_asks_is_answered_and_whoever_does_not_is_cut_off() {
    let (server, mut questions) = mailbox::<Reply<Box<Status>>>(4).unwrap();
    let handle = StatusHandle::new(server.port(|reply| reply));
    let limits = Limits { listen: "127.0.0.1:0".into(), patience_ms: 6_000, ..Limits::default() };
    let clients_max = limits.clients_max;
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver, stop) =
        driver_mailbox(limits.clients_max, driver::Message::Stop).unwrap();
    let driver = driver::Driver::new(limits, Some(listener), handle, sender, receiver);
    let running = std::thread::spawn(move || driver.run());
    // As many as there may be, and nobody waits for their patience.
    let mut all: Vec<_> = (0..clients_max).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut silent = all.pop().unwrap();
    let mut asks = TcpStream::connect(address).unwrap();
    asks.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    questions.receive_timeout(Duration::from_secs(5)).unwrap().answer(Ok(Box::new(status())));
    let mut page = String::new();
    asks.read_to_string(&mut page).unwrap();
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("farcall_connections 4\n"),
        "{page}"
    );
    all[0].set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(all[0].read(&mut [0; 9]).unwrap(), 0, "displaced");
    silent.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(silent.read(&mut [0; 9]).unwrap(), 0, "cut off when its time is over");
    stop();
    running.join().unwrap().unwrap();
}
