//! What routines print reaches those who want it while they run: all of it, in order, and nobody
//! else.

use std::time::Duration;

use farcall_client::{CallOptions, Client, ErrorKind, News, PendingCall};
use farcall_tests::{
    Directory, Server, Transport, first_news, fortran, manifest, told_and_missed, trouble,
    until_begun,
};

/// No test waits so long for one piece of news.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

farcall_tests::over_all! {
    lines_come_while_the_routine_runs
    the_last_words_of_a_crash_come_first
    a_flood_is_bounded
    others_hear_nothing
}

fn wanted() -> CallOptions {
    CallOptions { output: true, progress: true, ..CallOptions::default() }
}

fn chat(client: &Client, steps: i64, milliseconds: i64, options: &CallOptions) -> PendingCall {
    let arguments = [("steps", steps.into()), ("milliseconds", milliseconds.into())];
    client.routine("chat").unwrap().start(arguments, options).unwrap()
}

/// What is told of a call until it is over.
#[derive(Default)]
struct Heard {
    before: Option<u32>,
    started: bool,
    stdout: String,
    stderr: String,
}

impl Heard {
    fn of(call: &mut PendingCall) -> Heard {
        let mut heard = Heard::default();
        loop {
            match call.next_news(PATIENCE).unwrap().expect("news come in time") {
                News::Queued(before) => heard.before = Some(before),
                News::Started => heard.started = true,
                News::Progress(..) | News::Kept => {
                    panic!("no routine tells of its progress, and nothing is kept")
                }
                News::Stdout(bytes) => heard.stdout += &String::from_utf8(bytes).unwrap(),
                News::Stderr(bytes) => heard.stderr += &String::from_utf8(bytes).unwrap(),
                News::Over => return heard,
            }
        }
    }
}

fn lines_come_while_the_routine_runs(transport: Transport) {
    let server = Server::start(transport, &[trouble(false)], &[]);
    let client = server.client();
    // The executable is there.
    chat(&client, 0, 0, &CallOptions::default()).wait().unwrap();
    // It would take an hour, and yet its first line comes.
    let mut call = chat(&client, 3, 1_200_000, &wanted());
    until_begun(&mut call);
    assert_eq!(first_news(&mut call), News::Stdout(b"step 1\n".to_vec()));
    call.cancel().unwrap();
    assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    let mut call = chat(&client, 3, 200, &wanted());
    until_begun(&mut call);
    assert_eq!(first_news(&mut call), News::Stdout(b"step 1\n".to_vec()));
    let heard = Heard::of(&mut call);
    assert_eq!(
        (heard.stdout.as_str(), heard.stderr.as_str()),
        ("step 2\nstep 3\nbye", "converged\n")
    );
    assert_eq!(call.wait().unwrap().scalar::<i32>("done").unwrap(), 3);
}

fn the_last_words_of_a_crash_come_first(transport: Transport) {
    let server = Server::start(transport, &[trouble(false)], &[]);
    let client = server.client();
    for _ in 0..3 {
        let mut call =
            client.routine("crash").unwrap().start([("n", 42.into())], &wanted()).unwrap();
        let heard = Heard::of(&mut call);
        assert_eq!((heard.started, heard.stderr.as_str()), (true, "about to crash, n = 42\n"));
        assert_eq!(call.wait().err().unwrap().kind(), ErrorKind::RoutineCrashed);
    }
}

/// Who reads late is told what he missed, and how much; the routine waits for nobody.
fn a_flood_is_bounded(transport: Transport) {
    let server = Server::start(transport, &[trouble(false)], &[]);
    let client = server.client();
    let lines = 300_000;
    let mut call =
        client.routine("flood").unwrap().start([("lines", lines.into())], &wanted()).unwrap();
    let heard = Heard::of(&mut call);
    assert_eq!(call.wait().unwrap().scalar::<i32>("done").unwrap(), 300_000);
    let (told, missed) = told_and_missed(&heard.stderr);
    let line = |line: i64| {
        format!("warning {line}: the matrix is nearly singular, as far as anyone can tell\n").len()
    };
    let written: usize = (0..lines).map(line).sum();
    assert_eq!(told + missed, written, "{told} bytes told, {missed} missed");
    // The next call hears its own words only.
    let heard = Heard::of(&mut chat(&client, 1, 0, &wanted()));
    assert_eq!(heard.stderr, "converged\n");
}

fn others_hear_nothing(transport: Transport) {
    let (_folder, manifest) = one_executable();
    let server = Server::start(transport, &[trouble(false)], &["--manifest", &manifest]);
    let client = server.client();
    let other = server.client();
    for _ in 0..10 {
        // One executable serves both, whose calls are short enough to be given to it ahead of time.
        let silent: Vec<PendingCall> =
            (0..4).map(|_| chat(&other, 2, 0, &CallOptions::default())).collect();
        let mut call = chat(&client, 1, 0, &wanted());
        let behind: Vec<PendingCall> =
            (0..4).map(|_| chat(&other, 2, 0, &CallOptions::default())).collect();
        let heard = Heard::of(&mut call);
        assert_eq!((heard.stdout.as_str(), heard.stderr.as_str()), ("step 1\nbye", "converged\n"));
        call.wait().unwrap();
        for mut call in silent.into_iter().chain(behind) {
            assert_eq!(call.next_news(PATIENCE).unwrap(), Some(News::Over));
            call.wait().unwrap();
        }
    }
}

/// A manifest for a server with one executable, and the directory that it is in.
fn one_executable() -> (Directory, String) {
    let folder = Directory::new();
    let path = folder.write("farcall.toml", &manifest("executables_max = 1"));
    (folder, path.to_str().unwrap().to_owned())
}

#[test]
fn whoever_waits_in_the_queue_knows_his_place() {
    let (_folder, manifest) = one_executable();
    let server = Server::start(Transport::Unix, &[trouble(false)], &["--manifest", &manifest]);
    let client = server.client();
    // It ends when the others have heard their places.
    let first = chat(&client, 1, 1_200_000, &wanted());
    let mut others = [chat(&client, 1, 0, &wanted()), chat(&client, 1, 0, &wanted())];
    for (before, call) in others.iter_mut().enumerate() {
        // The first one may be in the queue itself, until the executable is there.
        let Some(News::Queued(place)) = call.next_news(PATIENCE).unwrap() else {
            panic!("it waits")
        };
        assert!((before..=before + 1).contains(&(place as usize)), "{place}");
    }
    first.cancel().unwrap();
    assert!(others.iter_mut().all(|call| Heard::of(call).started));
    assert_eq!(first.wait().err().unwrap().kind(), ErrorKind::Cancelled);
}

#[test]
fn announced_calls_are_announced_with_news() {
    let server = Server::start(Transport::Unix, &[trouble(false)], &[]);
    let client = server.client();
    let options = CallOptions { announced: true, ..wanted() };
    let mut call = chat(&client, 2, 50, &options);
    let mut heard = String::new();
    'told: loop {
        assert_eq!(client.next_finished(PATIENCE).unwrap(), Some(call.number()));
        while let Some(news) = call.next_news(Some(Duration::ZERO)).unwrap() {
            match news {
                News::Over => break 'told,
                News::Stdout(bytes) => heard += std::str::from_utf8(&bytes).unwrap(),
                _ => {}
            }
        }
    }
    assert_eq!(heard, "step 1\nstep 2\nbye");
    call.wait().unwrap();
}

#[test]
fn fortran_prints_by_lines_too() {
    let server = Server::start(Transport::Unix, &[fortran(false)], &[]);
    let client = server.client();
    client.routine("fchat").unwrap().call([("steps", 0.into())]).unwrap();
    let start = |steps: i64| {
        let options = CallOptions { output: true, ..CallOptions::default() };
        let mut call =
            client.routine("fchat").unwrap().start([("steps", steps.into())], &options).unwrap();
        let Some(News::Stdout(first)) = call.next_news(PATIENCE).unwrap() else {
            panic!("something is printed")
        };
        assert!(String::from_utf8_lossy(&first).starts_with(" step           1"), "{first:?}");
        call
    };
    // It would take an hour, and yet its first line came.
    let endless = start(9000);
    endless.cancel().unwrap();
    assert_eq!(endless.wait().err().unwrap().kind(), ErrorKind::Cancelled);
    let mut call = start(2);
    assert!(Heard::of(&mut call).stdout.contains(" step           2"));
    call.wait().unwrap();
}
