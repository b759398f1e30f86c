//! What a pilot passes on: both ways at once, beside those that hear nothing, and the ends of
//! either side.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use farcall_link::stream::Proof;
use farcall_services::mailbox::{Answer, question};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// An executable's end, its server's, and the word that all was passed on.
fn carried(carriers: &Carriers) -> (UnixStream, UnixStream, Answer<()>) {
    let end = || {
        let (outer, inner) = UnixStream::pair().unwrap();
        outer.set_read_timeout(Some(PATIENCE)).unwrap();
        outer.set_write_timeout(Some(PATIENCE)).unwrap();
        (outer, farcall_transport_unix::from_descriptor(inner.into(), Proof::Inherited).unwrap())
    };
    let (executable, near) = end();
    let (server, far) = end();
    let (done, answer) = question().unwrap();
    carriers.carry(near, far, done);
    (executable, server, answer)
}

/// Says it, and nothing more, from another thread: it is more than fits on the way. Nobody may be
/// left to hear it.
fn say(mut to: UnixStream, bytes: Vec<u8>) {
    std::thread::spawn(move || to.write_all(&bytes).and_then(|()| to.shutdown(Shutdown::Write)));
}

fn hear(mut from: UnixStream) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut heard = Vec::new();
        from.read_to_end(&mut heard).unwrap();
        heard
    })
}

#[test]
fn passes_all_both_ways_and_the_end_of_both() {
    let carriers = Carriers::begin(16).unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
    let ends: Vec<_> = (0..20).map(|_| carried(&carriers)).collect();
    let begun: Vec<_> = ends
        .into_iter()
        .map(|(executable, server, answer)| {
            say(server.try_clone().unwrap(), bytes[..1_000_000].to_vec());
            let mut writer = executable.try_clone().unwrap();
            let own = bytes.clone();
            let writing = std::thread::spawn(move || writer.write_all(&own).unwrap());
            (hear(executable.try_clone().unwrap()), hear(server), writing, executable, answer)
        })
        .collect();
    for (executable_hears, server_hears, writing, executable, answer) in begun {
        assert!(executable_hears.join().unwrap() == bytes[..1_000_000]);
        writing.join().unwrap();
        // After its last word nothing is passed on: it comes when everything was heard.
        executable.shutdown(Shutdown::Write).unwrap();
        assert!(server_hears.join().unwrap() == bytes);
        answer.wait(PATIENCE).unwrap();
    }
}

#[test]
fn an_executable_that_hears_nothing_stops_no_other() {
    let carriers = Carriers::begin(16).unwrap();
    let deaf: Vec<_> = (0..8).map(|_| carried(&carriers)).collect();
    deaf.iter().for_each(|(_, server, _)| say(server.try_clone().unwrap(), vec![1; 4_000_000]));
    let (executable, server, _answer) = carried(&carriers);
    say(executable, vec![2; 1_000_000]);
    assert_eq!(hear(server).join().unwrap().len(), 1_000_000);
}

#[test]
fn ends_with_the_server() {
    let carriers = Carriers::begin(16).unwrap();
    let (mut executable, server, answer) = carried(&carriers);
    drop(server);
    assert_eq!(executable.read(&mut [0; 8]).unwrap(), 0, "the executable hears of the end");
    drop(executable);
    answer.wait(PATIENCE).unwrap();
}
