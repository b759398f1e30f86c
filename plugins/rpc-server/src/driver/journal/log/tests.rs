//! What is worth a line, what a line says, and how many there are.

use std::sync::Mutex;

use farcall_base::CallId;
use farcall_wire::CallTimes;

use super::*;
use crate::access::Rights;
use crate::state::{AuditedCall, Caller};

/// Keeps what is written.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn record(failure: Option<Error>, order: Option<&str>) -> Arc<AuditRecord> {
    let caller = Arc::new(Caller {
        address: "10.0.0.7:51234".into(),
        rights: Rights::all("anna"),
        certificate: None,
        hosts: Default::default(),
        speaks: Default::default(),
    });
    let id = Some(CallId([0xab; 16]));
    let routine = "lapack/dgesv".to_owned();
    let call = AuditedCall {
        id,
        parent: None,
        routine,
        times: CallTimes::default(),
        bytes_in: 80,
        bytes_out: 40,
    };
    Arc::new(AuditRecord {
        caller,
        call: order.is_none().then_some(call),
        order: order.map(str::to_owned),
        failure,
    })
}

fn written(
    level: LogLevel,
    format: LogFormat,
    lines_max: u64,
    tell: impl FnOnce(&Log),
) -> Vec<String> {
    let page = Page::default();
    let log = Log::open(LogOptions { level, format, lines_max }, page.clone()).unwrap();
    tell(&log);
    drop(log);
    let bytes = page.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

fn error(kind: ErrorKind) -> Option<Error> {
    Some(
        Error::new(kind, "run a routine", "it\nfailed, \"so\"")
            .with("secret", "context is not logged"),
    )
}

fn all(log: &Log) {
    log.record(&record(None, None));
    log.record(&record(error(ErrorKind::TimedOut), None));
    log.record(&record(None, Some("withdraw lapack")));
    log.record(&record(error(ErrorKind::RoutineCrashed), None));
    log.stranger(&error(ErrorKind::Protocol).unwrap().with("peer", "10.0.0.9:1"));
}

#[test]
fn the_level_says_what_is_worth_a_line() {
    let count = |level| written(level, LogFormat::Text, 100, all).len();
    assert_eq!([LogLevel::Warn, LogLevel::Info, LogLevel::Debug].map(count), [2, 4, 5]);
}

#[test]
fn a_line_names_the_call_and_quotes_what_is_no_word() {
    let lines = written(LogLevel::Debug, LogFormat::Text, 100, all);
    let (_, crash) = lines[3].split_once(' ').unwrap();
    assert_eq!(
        crash,
        "warn call principal=anna peer=10.0.0.7:51234 routine=lapack/dgesv \
         call=abababababababababababababababab outcome=routine-crashed message=\"it\\nfailed, \
         \\\"so\\\"\" finished_us=0 in=80 out=40"
    );
    assert!(lines[2].contains(
        "info order principal=anna peer=10.0.0.7:51234 order=\"withdraw lapack\" outcome=done"
    ));
    let json: Vec<serde_json::Value> = written(LogLevel::Debug, LogFormat::Json, 100, all)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&json[3]["level"], &json[3]["call"]), (&"warn".into(), &"ab".repeat(16).into()));
    assert_eq!(
        (&json[2]["event"], &json[2]["order"]),
        (&"order".into(), &"withdraw lapack".into())
    );
    assert!(!lines.join("").contains("context is not logged"));
}

/// A message about an argument may quote it.
#[test]
fn arguments_are_not_logged() {
    let lines = written(LogLevel::Debug, LogFormat::Text, 100, |log| {
        log.record(&record(
            Some(Error::new(ErrorKind::InvalidArgument, "check", "name = 'secret'")),
            None,
        ));
        log.record(&record(
            Some(Error::new(ErrorKind::RoutineFailed, "run", "KeyError: 'secret'")),
            None,
        ));
    });
    assert!(
        lines[0].contains("outcome=invalid-argument") && !lines.join("").contains("secret"),
        "{lines:?}"
    );
}

#[test]
fn lines_have_a_rate_and_what_is_left_out_is_counted() {
    let lines = written(LogLevel::Debug, LogFormat::Json, 5, |log| {
        (0..50).for_each(|_| log.record(&record(None, None)));
    });
    let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(
        (lines.len(), &last["event"], &last["count"]),
        (6, &"left out".into(), &45.into()),
        "{lines:?}"
    );
}

/// A reader that hangs costs lines, and neither time nor memory.
#[test]
fn a_queue_that_is_full_drops_and_counts() {
    struct Hangs(Receiver<()>, Page);
    impl Write for Hangs {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (release, waits) = sync_channel(1);
    let page = Page::default();
    let options =
        LogOptions { level: LogLevel::Debug, format: LogFormat::Json, lines_max: u64::MAX };
    let log = Log::open(options, Hangs(waits, page.clone())).unwrap();
    (0..QUEUE_MAX + 100).for_each(|_| log.record(&record(None, None)));
    drop(release);
    drop(log);
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let counted = text.lines().filter_map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["count"].as_u64()
    });
    let calls = text.lines().filter(|line| line.contains("\"call\"")).count() as u64;
    let dropped: u64 = counted.sum();
    assert!(dropped >= 99 && calls + dropped == QUEUE_MAX as u64 + 100, "{calls} and {dropped}");
}

#[test]
fn no_line_has_what_a_terminal_obeys() {
    const MARK: &str = "x\x1b]0;y\x07\u{9b}\u{202e}\u{2028}\n";
    for format in [LogFormat::Text, LogFormat::Json] {
        let lines = written(LogLevel::Debug, format, 10, |log| {
            let caller = Arc::new(Caller {
                address: MARK.into(),
                rights: Rights::all(MARK),
                certificate: None,
                hosts: Default::default(),
                speaks: Default::default(),
            });
            let id = Some(CallId([0xab; 16]));
            let routine = MARK.to_owned();
            let call = AuditedCall {
                id,
                parent: None,
                routine,
                times: CallTimes::default(),
                bytes_in: 0,
                bytes_out: 0,
            };
            let failure = Some(
                Error::new(ErrorKind::PermissionDenied, MARK, MARK).with(MARK, MARK).fix(MARK),
            );
            log.record(&Arc::new(AuditRecord {
                caller: caller.clone(),
                call: Some(call),
                order: None,
                failure,
            }));
            log.record(&Arc::new(AuditRecord {
                caller,
                call: None,
                order: Some(MARK.to_owned()),
                failure: None,
            }));
            log.stranger(&Error::new(ErrorKind::Protocol, MARK, MARK).with("peer", MARK));
            log.life(LogLevel::Info, || Life {
                module: Some(MARK.into()),
                message: Some(MARK.into()),
                ..Life::default()
            });
        });
        assert_eq!(lines.len(), 4, "no line begins another: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains(farcall_base::is_obeyed)), "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("]0;y")), "{lines:?}");
    }
}
