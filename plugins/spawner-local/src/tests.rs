//! Tests with real processes: ends, outputs, stops, descriptors, and many starts.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farcall_base::{ErrorKind, ExecutableId};
use farcall_kernel::{Manifest, Node};
use farcall_services::directory::{ExecutableImage, ImageKind, Trust};
use farcall_services::mailbox::{Answer, question};
use farcall_services::spawner::{ExitHow, Exited, Line, Start, Started};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// A node with nothing but a spawner, whose generic host is a shell that runs `script`.
struct Shell {
    node: Node,
    spawner: SpawnerHandle,
}

impl Shell {
    fn new(script: &str) -> Shell {
        let mut manifest = Manifest::of(&[plugin()]).unwrap();
        let command = format!("host_command = [\"/bin/sh\", \"-c\", '''{script}''']");
        manifest.override_options(NAME, "test", &command).unwrap();
        // A shell is no zygote.
        manifest.override_options(NAME, "test", "zygotes_max = 0").unwrap();
        manifest.override_options(NAME, "test", "environment = { FROM_MANIFEST = \"1\" }").unwrap();
        let node = Node::start(&manifest, &[plugin()]).unwrap();
        let spawner = node.service(SLOT).unwrap();
        Shell { node, spawner }
    }

    fn ask(&self, number: u64, kind: ImageKind) -> (Answer<Started>, Answer<Exited>) {
        let environment = vec![("FROM_MODULE".to_string(), "2".to_string())];
        let image = ExecutableImage {
            readable: Vec::new(),
            listed: Vec::new(),
            trust: Trust::Confined,
            kind,
            environment,
            backend: String::new(),
            ranks: 0,
            resources: Default::default(),
            launcher: String::new(),
            executables_max: 0,
            module_text: Arc::from([]),
        };
        let (started, is_started) = question().unwrap();
        let (exited, has_exited) = question().unwrap();
        self.spawner.start(Start {
            executable: ExecutableId(number),
            module: "ep".into(),
            image,
            array: None,
            started,
            exited,
        });
        (is_started, has_exited)
    }

    fn start(&self, number: u64) -> (Started, Answer<Exited>) {
        let (started, exited) = self.ask(number, ImageKind::GenericHost { libraries: Vec::new() });
        (started.wait(PATIENCE).unwrap(), exited)
    }
}

/// Runs `script` to its end.
fn run(script: &str) -> Exited {
    let shell = Shell::new(script);
    let (_started, exited) = shell.start(1);
    exited.wait(PATIENCE).unwrap()
}

fn lives(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid).exists()
}

fn gone(pid: &str) -> bool {
    let begin = Instant::now();
    while lives(pid) && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    !lives(pid)
}

#[test]
fn options_text_says_the_defaults_and_names_every_key() {
    let options = Options::from_text("options.toml", plugin().options).unwrap();
    assert_eq!(options.read::<Settings>().unwrap(), Settings::default());
    assert_eq!(plugin().options.lines().filter(|line| !line.starts_with('#')).count(), 34);
    let wrong = [
        ("host_command = []", "host_command is empty"),
        ("host_command = [\"\"]", "host_command is empty"),
        ("executables_max = 0", "executables_max is 0"),
        ("requests_max = 0", "requests_max is 0"),
        // The system would take the first for a variable A of value B=C, and refuse the second at
        // every start.
        ("environment = { \"A=B\" = \"C\" }", "\"A=B\" is not the name of an environment variable"),
        ("environment = { \"\" = \"C\" }", "is not the name"),
        ("environment = { A = \"C\\u0000D\" }", "the value of A contains a NUL"),
    ];
    for (text, reason) in wrong {
        let error =
            (plugin().construct)(&Options::from_text("farcall.toml", text).unwrap()).err().unwrap();
        assert!(error.to_string().contains(reason), "{text}: {error}");
        assert!(error.to_string().contains("line: 1"), "{error}");
    }
}

fn stream_of(started: Started) -> UnixStream {
    match started.line {
        Line::Inherited(descriptor) => UnixStream::from(descriptor),
        Line::Stream(_) => panic!("it runs on this host"),
    }
}

#[test]
fn an_exit_status_comes_with_the_last_lines() {
    let exited = run("echo to-out; echo to-err >&2; exit 3");
    assert_eq!(exited.how, ExitHow::Status(3));
    assert_eq!((exited.stdout.text(), exited.stderr.text()), ("to-out".into(), "to-err".into()));
}

#[test]
fn a_signal_is_named() {
    let exited = run("ulimit -c 0; echo about to crash >&2; kill -SEGV $$");
    assert_eq!(exited.how, ExitHow::Signal { number: 11, name: "SIGSEGV", core: false });
    assert_eq!(exited.how.to_string(), "killed by signal 11 (SIGSEGV)");
    assert_eq!(exited.stderr.text(), "about to crash");
}

#[test]
fn a_flood_leaves_a_bounded_tail_and_blocks_nobody() {
    let exited = run(
        "i=0; while [ $i -lt 20000 ]; do echo \"line $i of a flooding routine\"; i=$((i+1)); done \
            >&2; exit 1",
    );
    let text = exited.stderr.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(
        (lines[0], lines[19]),
        ("line 19980 of a flooding routine", "line 19999 of a flooding routine")
    );
}

/// The descriptors a shell of ours has open, as `0 1 2 …`.
const LIST_DESCRIPTORS: &str = "cd /proc/$$/fd; echo *";

#[test]
fn the_connection_is_descriptor_0() {
    let shell =
        Shell::new("read line; echo \"$line|$FARCALL_SOCKET|$FROM_MANIFEST|$FROM_MODULE\" >&0");
    let (started, _exited) = shell.start(1);
    let mut stream = stream_of(started);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"hello\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "hello|0|1|2\n");
}

#[test]
fn no_descriptor_of_the_node_leaks_into_an_executable() {
    // Whoever runs the tests may leave descriptors open to all its children; ours must not come on
    // top of them.
    let plain =
        std::process::Command::new("/bin/sh").args(["-c", LIST_DESCRIPTORS]).output().unwrap();
    let shell = Shell::new(LIST_DESCRIPTORS);
    let exits: Vec<_> = (0..3).map(|number| shell.start(number)).collect();
    for (_started, exited) in exits {
        assert_eq!(
            exited.wait(PATIENCE).unwrap().stdout.text(),
            String::from_utf8(plain.stdout.clone()).unwrap().trim()
        );
    }
}

#[test]
fn one_that_never_ends_is_stopped_and_one_that_ignores_it_is_killed() {
    let shell = Shell::new("sleep 3600");
    let (_started, exited) = shell.start(1);
    shell.spawner.stop(ExecutableId(1), PATIENCE).unwrap();
    assert_eq!(
        exited.wait(PATIENCE).unwrap().how,
        ExitHow::Signal { number: 15, name: "SIGTERM", core: false }
    );

    let shell = Shell::new("trap '' TERM; echo ready >&0; while true; do sleep 1; done");
    let (started, exited) = shell.start(1);
    stream_of(started).read_exact(&mut [0; 6]).unwrap();
    shell.spawner.stop(ExecutableId(1), Duration::from_millis(50)).unwrap();
    assert_eq!(
        exited.wait(PATIENCE).unwrap().how,
        ExitHow::Signal { number: 9, name: "SIGKILL", core: false }
    );
}

#[test]
fn what_an_executable_leaves_behind_ends_with_it() {
    // The child in the background also holds the pipes: waiting for their end would wait for an
    // hour.
    let exited = run("sleep 3600 & echo $!; exit 0");
    assert_eq!(exited.how, ExitHow::Status(0));
    assert!(gone(&exited.stdout.text()), "process {} lives", exited.stdout.text());
}

#[test]
fn a_node_that_stops_takes_its_executables_with_it() {
    let shell = Shell::new("sleep 3600");
    let (started, exited) = shell.start(1);
    shell.node.stop().unwrap();
    assert!(!lives(&started.pid.to_string()), "neither alive nor a zombie");
    assert_eq!(
        exited.wait(PATIENCE).unwrap().how,
        ExitHow::Signal { number: 15, name: "SIGTERM", core: false }
    );
    let (reply, answer) = question().unwrap();
    let (exited, has_exited) = question().unwrap();
    let image = ExecutableImage {
        readable: Vec::new(),
        listed: Vec::new(),
        trust: Trust::Confined,
        kind: ImageKind::GenericHost { libraries: Vec::new() },
        environment: Vec::new(),
        backend: String::new(),
        ranks: 0,
        resources: Default::default(),
        launcher: String::new(),
        executables_max: 0,
        module_text: Arc::from([]),
    };
    shell.spawner.start(Start {
        executable: ExecutableId(2),
        module: String::new(),
        image,
        array: None,
        started: reply,
        exited,
    });
    assert_eq!(answer.wait(PATIENCE).unwrap_err().kind(), ErrorKind::ShuttingDown);
    assert!(has_exited.wait(PATIENCE).is_err(), "no end is reported of what never ran");
}

#[test]
fn a_missing_program_is_an_error_that_names_it() {
    let shell = Shell::new("true");
    let kind = ImageKind::Linked { path: "/nonexistent/ep".to_string() };
    let (started, _exited) = shell.ask(1, kind);
    let error = started.wait(PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("program: /nonexistent/ep"), "{error}");
}

#[test]
fn a_hundred_starts_leave_nothing_open() {
    let shell = Shell::new("exit $((FROM_MODULE + 5))");
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (_, exited) = shell.start(0);
    exited.wait(PATIENCE).unwrap();
    let before = open();
    for number in 1..=100 {
        let (_started, exited) = shell.start(number);
        assert_eq!(exited.wait(PATIENCE).unwrap().how, ExitHow::Status(7));
    }
    // Other tests of this process open and close descriptors meanwhile; a leak would be three or
    // more per start.
    assert!(open() < before + 100, "{} descriptors became {}", before, open());
}

#[test]
fn the_list_of_processes_tells_whose_host_it_is() {
    let exited = run("tr '\\0' ' ' < /proc/$$/cmdline | tail -c 3");
    assert_eq!(exited.stdout.text(), "ep ");
}

#[test]
fn an_end_on_request_is_told_from_one_of_its_own() {
    let shell = Shell::new("exec sleep 600");
    let (started, exited) = shell.start(1);
    shell.spawner.stop(ExecutableId(1), PATIENCE).unwrap();
    assert!(exited.wait(PATIENCE).unwrap().was_stopped);
    drop(started);
    // The same signal, but from elsewhere.
    let (started, exited) = shell.start(2);
    let pid = started.pid.to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let exited = exited.wait(PATIENCE).unwrap();
    assert!(
        !exited.was_stopped && matches!(exited.how, ExitHow::Signal { number: 15, .. }),
        "{:?}",
        exited.how
    );
    // On request, and then by a signal that nobody sends on request.
    let shell = Shell::new("trap 'kill -ABRT $$' TERM; sleep 600 & wait");
    let (_started, exited) = shell.start(3);
    std::thread::sleep(std::time::Duration::from_millis(300));
    shell.spawner.stop(ExecutableId(3), PATIENCE).unwrap();
    let exited = exited.wait(PATIENCE).unwrap();
    assert!(
        !exited.was_stopped && matches!(exited.how, ExitHow::Signal { number: 6, .. }),
        "{:?}",
        exited.how
    );
}
