//! Clients that stand still in the middle of a call.

use std::io::Write;
use std::time::{Duration, Instant};

use farcall_base::ErrorKind;
use farcall_tests::{
    Directory, Raw, Server, Transport, battery, eventually, failure_of, manifest, trouble,
};
use farcall_wire::message::decode;
use farcall_wire::{Argument, FrameHeader, FrameKind, Reply, Request};

use crate::hostile::{header, interface, long, open, serves, with_call};

/// A server that waits only so long.
fn impatient(transport: Transport, directory: &Directory) -> Server {
    let manifest = directory.write("farcall.toml", &manifest("stall_ms = 1000"));
    Server::start(
        transport,
        &[battery(false), trouble(false)],
        &["--manifest", manifest.to_str().unwrap()],
    )
}

fn a_client_that_stops_sending_is_told(transport: Transport) {
    let directory = Directory::new();
    let server = impatient(transport, &directory);
    let mut raw = with_call(&server, 64 << 10);
    // A part of the array comes, a little later: the time runs from there.
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    raw.data(1, 1, 1, false, &[0; 4096]);
    let error = failure_of(&raw.expect(FrameKind::Result));
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains("stopped sending") && error.is_retryable(), "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(1000), "{:?}", begun.elapsed());
    // The connection lives: once the client has given the call up, it may make another.
    raw.send(&Raw::framed(FrameHeader { sequence: 2, ..header(FrameKind::Cancel, 1, 0) }, &[]));
    let reply = interface(&mut raw, "touch");
    raw.message(
        FrameKind::Open,
        3,
        &open(&reply, vec![long(1), Argument::Inline(vec![0; 8].into())]),
    );
    raw.expect(FrameKind::Result);
    serves(&server);
}

fn a_client_that_does_not_take_its_results_is_cut_off(transport: Transport) {
    let directory = Directory::new();
    let server = impatient(transport, &directory);
    serves(&server);
    let descriptors = server.descriptors();
    // More than all queues on the way take.
    let frames = 16;
    let bytes = 4_usize << 20;
    let mut raw = with_call(&server, (frames * bytes) as u64);
    raw.expect(FrameKind::Window);
    let frame = vec![0; bytes];
    (1..=frames).for_each(|number| raw.data(1, 1, number as u32, number == frames, &frame));
    assert!(eventually(|| server.descriptors() > descriptors), "it is connected");
    assert!(eventually(|| server.descriptors() <= descriptors), "the connection stays");
    assert!(raw.goodbye().is_none(), "there was no room for a word");
    serves(&server);
}

/// Questions that are asked faster than their answers are read: the server reads on when there is
/// room for answers again.
fn a_client_that_asks_and_does_not_read_is_not_read_either(transport: Transport) {
    let directory = Directory::new();
    let words = "It says much of itself. ".repeat(2000);
    let text =
        format!("Define wordy(IN double x, OUT double r) \"{words}\" Calls \"C\" r = fabs(x);");
    let wordy =
        directory.write("wordy.idl", &format!("Module wordy;\nLibrary \"libm.so.6\";\n{text}\n"));
    let server = Server::start(transport, &[battery(false), wordy], &[]);
    let mut raw = Raw::greeted(&server);
    let answer = interface(&mut raw, "wordy").interface.len();
    // More than a connection may have to say: one that is read on is ended. Fewer than it may ask
    // at a time.
    let count = (64 << 20) / answer * 5 / 2;
    assert!(count < 4000, "{count} questions, of answers of {answer} bytes");
    let question = Request::Interface("wordy".into());
    let ask = move |channel: u32| Raw::encoded(FrameKind::Request, channel, &question);
    let mut asking = std::fs::File::from(raw.socket().try_clone_to_owned().unwrap());
    let asked = std::thread::spawn(move || {
        (0..count as u32).try_for_each(|number| {
            // The directory takes only so many at a time, and whoever asks more is told so: in a
            // few words.
            if number % 50 == 0 {
                std::thread::sleep(Duration::from_millis(3));
            }
            asking.write_all(&ask(1 + 2 * number))
        })
    });
    std::thread::sleep(Duration::from_secs(1));
    serves(&server);
    let whole =
        (0..count).filter(|_| match decode("Reply", &raw.expect(FrameKind::Reply)).unwrap() {
            Reply::Interface(reply) => reply.interface.len() == answer,
            Reply::Failed(failure) if failure.retryable => false,
            other => panic!("{transport:?}: {other:?}"),
        });
    println!("{transport:?}: {} whole answers to {count} questions", whole.count());
    asked.join().unwrap().unwrap();
    serves(&server);
}

#[test]
fn unix() {
    a_client_that_stops_sending_is_told(Transport::Unix);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Unix);
    a_client_that_asks_and_does_not_read_is_not_read_either(Transport::Unix);
}

#[test]
fn tcp() {
    a_client_that_stops_sending_is_told(Transport::Tcp);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Tcp);
    a_client_that_asks_and_does_not_read_is_not_read_either(Transport::Tcp);
}

#[test]
fn tls() {
    a_client_that_stops_sending_is_told(Transport::Tls);
    a_client_that_does_not_take_its_results_is_cut_off(Transport::Tls);
    a_client_that_asks_and_does_not_read_is_not_read_either(Transport::Tls);
}
