//! Runs small shell scripts in a compiler's place.
#![allow(clippy::unwrap_used)]

use super::*;

fn run(
    script: &str,
    input: Option<&str>,
    output_bytes_max: usize,
    time_max: Duration,
) -> Result<Finished> {
    let words = ["sh", "-c", script].map(String::from);
    Run {
        words: &words,
        directory: Path::new("/"),
        input,
        output_bytes_max,
        time_max,
        address_space_max: MEMORY,
        giver: &Giver::default(),
        confined: None,
    }
    .finish()
}

const PATIENCE: Duration = Duration::from_secs(20);
const MEMORY: Bytes = Bytes(1 << 30);

#[test]
fn gives_status_output_and_messages() {
    let finished = run("cat; echo trouble >&2; exit 3", Some("text"), 100, PATIENCE).unwrap();
    assert_eq!(finished.status.code(), Some(3));
    assert_eq!(finished.output, b"text");
    assert_eq!(finished.messages, "trouble\n");
}

#[test]
fn bounds_output_and_messages() {
    // Hostile: a macro that expands to gigabytes.
    let error = run("yes | head -c 3000000", None, 1000, PATIENCE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // A template error of a megabyte: the first lines stay, whole, and the rest is counted.
    let messages = run("yes message | head -c 1000000 >&2", None, 10, PATIENCE).unwrap().messages;
    assert!(messages.len() < MESSAGES_BYTES_MAX + 100);
    assert!(messages.ends_with("more bytes\n") && messages.contains("message\n…"));
}

#[test]
fn ends_what_does_not_end() {
    let begin = Instant::now();
    // A grandchild keeps the pipes open: only a kill of the whole group closes them.
    let error = run("sleep 600 & sleep 600", None, 10, Duration::from_millis(100)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // A program that ends, and leaves another behind with its pipes.
    assert!(run("sleep 600 & exit 0", None, 10, PATIENCE).unwrap().status.success());
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// Says to the second run of this test that it is the process to be killed, and which file gets the
/// process ids.
const VICTIM_VARIABLE: &str = "FARCALL_TEST_VICTIM";

#[test]
fn does_not_outlive_us() {
    if let Some(file) = std::env::var_os(VICTIM_VARIABLE) {
        // `cc` and its `cc1`: a child that is killed leaves grandchildren alone.
        let script = format!("sleep 600 & echo $$ $! > {}; wait", file.to_str().unwrap());
        let _ = run(&script, None, 10, PATIENCE);
        return;
    }
    let file = std::env::temp_dir().join(format!("farcall-victim-{}", std::process::id()));
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim
        .args(["--exact", "build::command::tests::does_not_outlive_us"])
        .env(VICTIM_VARIABLE, &file);
    let mut victim = victim.stdout(Stdio::null()).spawn().unwrap();
    let started = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| started().ends_with('\n')), "the script did not begin");
    // The hardest way to go: nobody can clean up.
    victim.kill().unwrap();
    victim.wait().unwrap();
    for pid in started().split_whitespace() {
        assert!(eventually(|| has_gone(pid)), "process {pid} lives on");
    }
    std::fs::remove_file(file).unwrap();
}

fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !done() && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    done()
}

/// A zombie has gone: whoever adopted it may take its time.
fn has_gone(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[test]
fn bounds_memory() {
    let finished = run("ulimit -v", None, 100, PATIENCE).unwrap();
    let kilobytes: u64 =
        String::from_utf8(finished.output).unwrap().trim().parse().expect("there is a limit");
    assert!(kilobytes <= MEMORY.0 >> 10, "{kilobytes} KiB");
}

#[test]
fn survives_a_program_that_does_not_read() {
    // More than a pipe holds, and nobody there to read it.
    let input = "x".repeat(1 << 20);
    let finished = run("exec <&-; exit 0", Some(&input), 10, PATIENCE).unwrap();
    assert!(finished.status.success());
}

#[test]
fn tells_a_missing_program_from_a_missing_directory() {
    let missing = ["no-such-compiler-7".to_string()];
    let run = |words, directory| {
        Run {
            words,
            directory,
            input: None,
            output_bytes_max: 10,
            time_max: PATIENCE,
            address_space_max: MEMORY,
            giver: &Giver::default(),
            confined: None,
        }
        .finish()
        .unwrap_err()
    };
    let error = run(&missing, Path::new("/"));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.advice().unwrap().contains("install a compiler"));
    let present = ["sh".to_string()];
    assert_eq!(run(&present, Path::new("/no/such/directory")).kind(), ErrorKind::NotFound);
}

#[test]
fn a_compiler_ends_with_whoever_waits_for_it_and_with_the_time_for_all() {
    let there = std::sync::Arc::new(());
    let cases = [
        (
            Giver { there: Some(std::sync::Arc::downgrade(&there)), until: None },
            ErrorKind::Cancelled,
        ),
        (
            Giver { there: None, until: Some(Instant::now() + Duration::from_millis(200)) },
            ErrorKind::TimedOut,
        ),
    ];
    // Its giver goes while it runs.
    let leaving = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        drop(there);
    });
    for (giver, kind) in cases {
        let words = ["sh", "-c", "sleep 1000 & sleep 1000"].map(String::from);
        let begin = Instant::now();
        let run = Run {
            words: &words,
            directory: Path::new("/"),
            input: None,
            output_bytes_max: 10,
            time_max: PATIENCE,
            address_space_max: MEMORY,
            giver: &giver,
            confined: None,
        };
        assert_eq!(run.finish().unwrap_err().kind(), kind);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    leaving.join().unwrap();
}
