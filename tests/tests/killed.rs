//! Executables that are killed at random, while calls wait at them, run in them and come back from
//! them: every call returns its right result or its reported failure, and none runs twice unless it
//! may.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use farcall_base::{Random, SeededRandom};
use farcall_client::{Argument, Array, CallOptions, ErrorKind, PendingCall, Result, Routine};
use farcall_tests::{Server, Transport, manifest_of};

const THREADS: usize = 4;
const CALLS: usize = 250;
/// Calls under way at a time in each thread.
const DEPTH: usize = 16;

/// A server of the routines in tally.idl, which may write to its folder.
struct Tally {
    server: Server,
    folder: PathBuf,
}

impl Tally {
    fn start(name: &str, transport: Transport) -> Tally {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("tally-{name}-{transport:?}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        // What routines may write is apart from what is the server's.
        let open = folder.join("open");
        std::fs::create_dir_all(&open).unwrap();
        let text =
            manifest_of("executables_max = 4", &format!("modules.tally.writable = [{open:?}]"));
        let file = folder.join("farcall.toml");
        std::fs::write(&file, text).unwrap();
        let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("routines/tally.idl");
        let server = Server::start(transport, &[idl], &["--manifest", file.to_str().unwrap()]);
        Tally { server, folder }
    }

    fn marks_file(&self, routine: &str) -> PathBuf {
        self.folder.join("open").join(routine)
    }

    /// How often each number was marked.
    fn marks(&self, routine: &str) -> BTreeMap<usize, usize> {
        let text = std::fs::read_to_string(self.marks_file(routine)).unwrap_or_default();
        let mut marks = BTreeMap::new();
        text.lines().for_each(|line| *marks.entry(line.parse().unwrap()).or_insert(0) += 1);
        marks
    }

    /// Kills one executable after the other until told to stop, each when a few more calls are
    /// over, so that a slow machine gets somewhere; returns how many.
    fn kill_until(&self, over: &AtomicBool, done: &AtomicUsize, seed: u64) -> usize {
        let mut random = SeededRandom::new(seed);
        let mut killed = 0;
        let mut next = 0;
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(random.next() % 2_000));
            if done.load(Ordering::Relaxed) < next {
                continue;
            }
            next = done.load(Ordering::Relaxed) + 10;
            let children = self.server.children();
            if let Some(child) =
                children.get((random.next() % children.len().max(1) as u64) as usize)
            {
                let pid = rustix::process::Pid::from_raw(*child as i32).unwrap();
                killed += usize::from(
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok(),
                );
            }
        }
        killed
    }

    /// Calls from several threads, some short and some long, while executables are killed.
    fn storm(&self, routine: &str, mut judge: impl FnMut(usize, Result<i64>)) -> usize {
        let over = AtomicBool::new(false);
        let running = AtomicUsize::new(THREADS);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let killer = scope.spawn(|| self.kill_until(&over, &done, 7));
            let callers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let over = &over;
                    let running = &running;
                    let done = &done;
                    scope.spawn(move || {
                        let outcomes = self.call_all(routine, thread, done);
                        over.fetch_or(
                            running.fetch_sub(1, Ordering::Relaxed) == 1,
                            Ordering::Relaxed,
                        );
                        outcomes
                    })
                })
                .collect();
            let outcomes: Vec<_> =
                callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
            assert_eq!(outcomes.len(), THREADS * CALLS);
            outcomes.into_iter().for_each(|(number, outcome)| judge(number, outcome));
            killer.join().unwrap()
        })
    }

    fn call_all(
        &self,
        routine: &str,
        thread: usize,
        done: &AtomicUsize,
    ) -> Vec<(usize, Result<i64>)> {
        let client = self.server.client();
        let collect = |(number, call): (usize, PendingCall)| {
            let outcome =
                call.wait().and_then(|outputs| outputs.scalar::<i32>("twice")).map(i64::from);
            done.fetch_add(1, Ordering::Relaxed);
            (number, outcome)
        };
        let found = client.routine(&format!("tally/{routine}")).unwrap();
        let file = self.marks_file(routine);
        let mut random = SeededRandom::new(thread as u64);
        let mut outcomes = Vec::new();
        let mut under_way = VecDeque::new();
        for number in thread * CALLS..(thread + 1) * CALLS {
            if under_way.len() == DEPTH {
                outcomes.extend(under_way.pop_front().map(&collect));
            }
            // Most are short, so that calls wait at executables; some are not.
            let pause_us =
                if random.next().is_multiple_of(8) { (random.next() % 8000) as i64 } else { 0 };
            under_way.push_back((number, start(&found, number, pause_us, &file)));
        }
        outcomes.extend(under_way.into_iter().map(collect));
        outcomes
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start(routine: &Routine, number: usize, pause_us: i64, file: &Path) -> PendingCall {
    let file = Argument::Text(file.to_str().unwrap().into());
    let arguments = [
        ("number", Argument::Integer(number as i64)),
        ("pause_us", pause_us.into()),
        ("file", file),
    ];
    routine.start(arguments, &CallOptions::default()).unwrap()
}

#[test]
fn no_call_runs_twice_or_is_lost() {
    let tally = Tally::start("once", Transport::Unix);
    let mut returned = Vec::new();
    let mut failed = 0;
    let killed = tally.storm("once", |number, outcome| match outcome {
        Ok(twice) => {
            assert_eq!(twice, 2 * number as i64, "call {number} has another's result");
            returned.push(number);
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "call {number}: {error}");
            failed += 1;
        }
    });
    let marks = tally.marks("once");
    assert!(marks.values().all(|times| *times == 1), "calls ran twice: {marks:?}");
    assert!(
        returned.iter().all(|number| marks.contains_key(number)),
        "a call returned that never ran"
    );
    assert!(
        killed > 5 && failed > 0,
        "{killed} executables were killed, {failed} calls failed: the test tests nothing"
    );
}

#[test]
fn calls_that_may_run_twice_all_return() {
    let tally = Tally::start("often", Transport::Unix);
    let killed = tally.storm("often", |number, outcome| match outcome {
        Ok(twice) => assert_eq!(twice, 2 * number as i64, "call {number} has another's result"),
        // Three times the same call: with so many killed that may be.
        Err(error) => assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "call {number}: {error}"),
    });
    let marks = tally.marks("often");
    assert_eq!(marks.len(), THREADS * CALLS, "a call never ran");
    assert!(marks.values().any(|times| *times > 1), "none of {killed} kills hit a running call");
    assert!(marks.values().all(|times| *times <= 3), "a call ran more than three times");
}

/// What a routine works on in place is no longer what its caller gave when it has begun: only what
/// the server has a copy of can be given once more.
fn what_runs_again_is_given_the_same(transport: Transport) {
    let tally = Tally::start("struck", transport);
    let client = tally.server.client();
    let struck = client.routine("tally/struck").unwrap();
    let call = |file: &str, n: usize| {
        let x = vec![1.0; n];
        let y = vec![2.0; n];
        let file = tally.marks_file(file);
        let arguments = [("file", file.to_str().unwrap().into()), ("n", (n as i64).into())];
        let arrays = [("y", Array::vector(&y).into()), ("x", Array::vector(&x).into())];
        struck
            .call(arguments.into_iter().chain(arrays))
            .map(|outputs| outputs.array::<f64>("x").unwrap().to_vec())
    };
    assert_eq!(call("small", 4).unwrap(), [3.0; 4], "{transport:?}");
    assert_eq!(tally.marks("small"), [(4, 2)].into(), "{transport:?}: it runs again, unseen");
    let large = 100_000;
    let error = call("large", large).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{transport:?}: {error}");
    assert_eq!(
        tally.marks("large"),
        [(large, 1)].into(),
        "{transport:?}: it ran on what it had changed"
    );
    assert!(
        call("large", large).unwrap().iter().all(|number| *number == 3.0),
        "{transport:?}: the caller may try again"
    );
}

#[test]
fn a_call_that_runs_again_is_given_the_same() {
    [Transport::Unix, Transport::Tcp, Transport::Tls]
        .into_iter()
        .for_each(what_runs_again_is_given_the_same);
}
