//! Routines that ask whether their call was cancelled, and say how far they are; and those that do
//! not ask.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use farcall_client::{CallOptions, Client, ErrorKind, News, PendingCall};
use farcall_tests::{
    Directory, PATIENCE, Server, Transport, alive, eventually, first_news, heard, manifest,
    trouble, until_begun, watched,
};

farcall_tests::over_all! {
    progress_comes_while_the_routine_runs
}

/// Nobody waits for its end.
const LONG_GRACE: Duration = Duration::from_secs(60);

/// A manifest for a server with one executable and this grace for routines that could ask, and the
/// folder that it is in.
fn one_executable(grace: Duration) -> (Directory, String) {
    let folder = Directory::new();
    let options = format!("executables_max = 1\ncancel_grace_ms = {}", grace.as_millis());
    let manifest = folder.write("farcall.toml", &manifest(&options));
    (folder, manifest.display().to_string())
}

fn pid(client: &Client) -> i32 {
    client.routine("heard/alive").unwrap().call([]).unwrap().scalar("pid").unwrap()
}

fn watch(client: &Client, how: i64, options: &CallOptions) -> PendingCall {
    let options = CallOptions { output: true, ..options.clone() };
    let mut call =
        client.routine("heard/watch").unwrap().start([("how", how.into())], &options).unwrap();
    until_begun(&mut call);
    // That a call was passed on is told a moment before its routine begins, and says so itself.
    assert_eq!(first_news(&mut call), News::Stdout(b"watching\n".to_vec()));
    call
}

#[test]
fn a_routine_that_asks_ends_itself_and_its_process_lives() {
    for linked in [false, true] {
        let (_folder, manifest) = one_executable(LONG_GRACE);
        let server = Server::start(Transport::Unix, &[heard(linked)], &["--manifest", &manifest]);
        let client = server.client();
        let before = pid(&client);
        for how in 1..=5 {
            let call = watch(&client, how, &watched());
            let asked = Instant::now();
            call.cancel().unwrap();
            assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled, "{how}");
            assert!(asked.elapsed() < LONG_GRACE, "{how}: {:?}", asked.elapsed());
        }
        assert_eq!(pid(&client), before, "the executable is the same");
    }
}

#[test]
fn a_routine_that_could_ask_and_does_not_ends_after_the_grace() {
    for linked in [false, true] {
        let folder = Directory::new();
        let manifest = folder.write("farcall.toml", &manifest("cancel_grace_ms = 300"));
        let server = Server::start(
            Transport::Unix,
            &[heard(linked)],
            &["--manifest", manifest.to_str().unwrap()],
        );
        let client = server.client();
        let before = pid(&client);
        let call = watch(&client, 0, &watched());
        let asked = Instant::now();
        call.cancel().unwrap();
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
        let took = asked.elapsed();
        assert!(took >= Duration::from_millis(300), "{took:?}");
        assert!(eventually(|| !alive(before.unsigned_abs())), "the process is gone");
        assert_ne!(pid(&client), before);
    }
}

/// One that cannot be told is not waited for, though there is a grace for others.
#[test]
fn a_routine_that_cannot_ask_ends_at_once() {
    let (_folder, manifest) = one_executable(LONG_GRACE);
    let server = Server::start(Transport::Unix, &[trouble(false)], &["--manifest", &manifest]);
    let client = server.client();
    let mut call =
        client.routine("forever").unwrap().start([("deaf", 0.into())], &watched()).unwrap();
    until_begun(&mut call);
    let asked = Instant::now();
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(eventually(|| server.children().is_empty()), "it runs on");
    assert!(asked.elapsed() < LONG_GRACE, "{:?}", asked.elapsed());
}

/// The same for those whose time is over, or whose client is gone: the executable serves the next.
#[test]
fn a_deadline_and_a_client_that_leaves_are_told_too() {
    // Otherwise another one is started for whoever comes before it is free.
    let (_folder, manifest) = one_executable(LONG_GRACE);
    let server = Server::start(Transport::Unix, &[heard(false)], &["--manifest", &manifest]);
    let client = server.client();
    let before = pid(&client);
    let call =
        watch(&client, 1, &CallOptions { timeout: Some(Duration::from_secs(2)), ..watched() });
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::TimedOut);
    assert_eq!(pid(&client), before);
    let other = server.client();
    let call = watch(&other, 1, &watched());
    drop((call, other));
    assert_eq!(pid(&client), before, "the executable is free");
}

fn progress_comes_while_the_routine_runs(transport: Transport) {
    let files: [PathBuf; 1] = [heard(true)];
    let (_folder, manifest) = one_executable(Duration::from_millis(100));
    let server = Server::start(transport, &files, &["--manifest", &manifest]);
    let client = server.client();
    let advance = client.routine("heard/advance").unwrap();
    // It would take hours, and yet its first word comes.
    let mut call = advance
        .start([("steps", 1_000_000.into()), ("milliseconds", 50.into())], &watched())
        .unwrap();
    until_begun(&mut call);
    assert_eq!(first_news(&mut call), News::Progress(1e-6, "step 1 of 1000000".into()));
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    let mut call =
        advance.start([("steps", 4.into()), ("milliseconds", 50.into())], &watched()).unwrap();
    let mut told = Vec::new();
    while let Some(news) =
        call.next_news(Some(PATIENCE)).unwrap().filter(|news| *news != News::Over)
    {
        if let News::Progress(done, words) = news {
            told.push((done, words));
        }
    }
    let expected: Vec<(f64, String)> =
        (1..=4).map(|n| (f64::from(n) / 4.0, format!("step {n} of 4"))).collect();
    assert_eq!(told, expected);
    assert_eq!(call.wait().unwrap().scalar::<i32>("told").unwrap(), 4);
    // Two words of a call are told however soon after another call they come.
    for _ in 0..10 {
        let mut call =
            advance.start([("steps", 2.into()), ("milliseconds", 0.into())], &watched()).unwrap();
        until_begun(&mut call);
        assert_eq!(first_news(&mut call), News::Progress(0.5, "step 1 of 2".into()));
        call.wait().unwrap();
    }
    // A flood is thinned out where it arises, and the last word comes all the same.
    let mut call =
        advance.start([("steps", 10_000.into()), ("milliseconds", 0.into())], &watched()).unwrap();
    let mut told = Vec::new();
    while let Some(news) =
        call.next_news(Some(PATIENCE)).unwrap().filter(|news| *news != News::Over)
    {
        if let News::Progress(done, _) = news {
            told.push(done);
        }
    }
    assert!(told.len() < 2000 && told.last() == Some(&1.0), "{} {:?}", told.len(), told.last());
}
