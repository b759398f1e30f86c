//! Routines that ask whether their call was cancelled, and say how far they are; and those that do not ask.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_client::{CallOptions, Client, ErrorKind, News, PendingCall};
use farcall_tests::{Directory, Server, Transport, alive, eventually, heard, manifest, trouble};

farcall_tests::over_all! {
    progress_comes_while_the_routine_runs
}

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn pid(client: &Client) -> i32 {
    client.routine("heard/alive").unwrap().call([]).unwrap().scalar("pid").unwrap()
}

fn watch(client: &Client, how: i64, options: &CallOptions) -> PendingCall {
    let mut call = client.routine("heard/watch").unwrap().start([("how", how.into())], options).unwrap();
    until_it_runs(&mut call);
    call
}

/// That a call was passed on is told a moment before its routine begins.
fn until_it_runs(call: &mut PendingCall) {
    while call.next_news(PATIENCE).unwrap().expect("news come in time") != News::Started {}
    std::thread::sleep(Duration::from_millis(50));
}

fn watched() -> CallOptions {
    CallOptions { progress: true, ..CallOptions::default() }
}

#[test]
fn a_routine_that_asks_ends_itself_and_its_process_lives() {
    for linked in [false, true] {
        let server = Server::start(Transport::Unix, &[heard(linked)], &[]);
        let client = server.client();
        let before = pid(&client);
        for how in 1..=5 {
            let call = watch(&client, how, &watched());
            let asked = Instant::now();
            call.cancel().unwrap();
            assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled, "{how}");
            assert!(asked.elapsed() < Duration::from_secs(1), "{how}: {:?}", asked.elapsed());
        }
        assert_eq!(pid(&client), before, "the executable is the same");
    }
}

#[test]
fn a_routine_that_could_ask_and_does_not_ends_after_the_grace() {
    for linked in [false, true] {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest("cancel_grace_ms = 300"));
        let server = Server::start(Transport::Unix, &[heard(linked)], &["--manifest", manifest.to_str().unwrap()]);
        let client = server.client();
        let before = pid(&client);
        let call = watch(&client, 0, &watched());
        let asked = Instant::now();
        call.cancel().unwrap();
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
        let took = asked.elapsed();
        assert!(took > Duration::from_millis(250) && took < Duration::from_secs(2), "{took:?}");
        assert!(eventually(|| !alive(before.unsigned_abs())), "the process is gone");
        assert_ne!(pid(&client), before);
    }
}

/// One that cannot be told is not waited for, though there is a grace for others.
#[test]
fn a_routine_that_cannot_ask_ends_at_once() {
    let server = Server::start(Transport::Unix, &[trouble(false)], &[]);
    let client = server.client();
    let mut call = client.routine("forever").unwrap().start([("deaf", 0.into())], &watched()).unwrap();
    until_it_runs(&mut call);
    let asked = Instant::now();
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

/// The same for those whose time is over, or whose client is gone: the executable serves the next.
#[test]
fn a_deadline_and_a_client_that_leaves_are_told_too() {
    // Otherwise another one is started for whoever comes before it is free.
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest("executables_max = 1"));
    let server = Server::start(Transport::Unix, &[heard(false)], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    let before = pid(&client);
    let call = watch(&client, 1, &CallOptions { timeout: Some(Duration::from_millis(200)), ..watched() });
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::TimedOut);
    assert_eq!(pid(&client), before);
    let other = server.client();
    let call = watch(&other, 1, &watched());
    drop((call, other));
    assert_eq!(pid(&client), before, "the executable is free");
}

fn progress_comes_while_the_routine_runs(transport: Transport) {
    let files: [PathBuf; 1] = [heard(true)];
    let server = Server::start(transport, &files, &[]);
    let client = server.client();
    let advance = client.routine("heard/advance").unwrap();
    let arguments = || [("steps", 4.into()), ("milliseconds", 50.into())];
    let mut call = advance.start(arguments(), &watched()).unwrap();
    let (mut told, mut first) = (Vec::new(), None);
    let begun = Instant::now();
    while let Some(news) = call.next_news(PATIENCE).unwrap().filter(|news| *news != News::Over) {
        if let News::Progress(done, words) = news {
            first.get_or_insert_with(|| begun.elapsed());
            told.push((done, words));
        }
    }
    assert!(first.unwrap() < begun.elapsed() - Duration::from_millis(90), "while it runs");
    let expected: Vec<(f64, String)> = (1..=4).map(|n| (f64::from(n) / 4.0, format!("step {n} of 4"))).collect();
    assert_eq!(told, expected);
    assert_eq!(call.wait().unwrap().scalar::<i32>("told").unwrap(), 4);
    // A flood is thinned out where it arises, and the last word comes all the same.
    let mut call = advance.start([("steps", 10_000.into()), ("milliseconds", 0.into())], &watched()).unwrap();
    let mut told = Vec::new();
    while let Some(news) = call.next_news(PATIENCE).unwrap().filter(|news| *news != News::Over) {
        if let News::Progress(done, _) = news {
            told.push(done);
        }
    }
    assert!(told.len() < 2000 && told.last() == Some(&1.0), "{} {:?}", told.len(), told.last());
}
