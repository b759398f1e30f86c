//! Lines, rotation, a queue that overflows, a disk that is full.

use std::os::unix::fs::PermissionsExt;
use std::time::UNIX_EPOCH;

use farcall_base::{CallId, ErrorKind};
use farcall_wire::CallTimes;

use super::*;
use crate::access::Rights;
use crate::driver::journal::moment;
use crate::state::{AuditedCall, Caller};

/// A folder of a test's own.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("farcall-audit-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn options(&self, file_bytes_max: u64, files_max: usize, records_max: usize) -> AuditOptions {
        AuditOptions { path: self.0.join("audit.log"), file_bytes_max, files_max, records_max }
    }

    fn lines(&self, name: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn record(failure: Option<Error>) -> Arc<AuditRecord> {
    let caller = Arc::new(Caller {
        address: "10.0.0.7:51234".into(),
        rights: Rights::all("anna"),
        certificate: None,
        hosts: Default::default(),
        speaks: Default::default(),
    });
    let times = CallTimes {
        queued_ns: 1_000,
        started_ns: 2_000_000,
        finished_ns: 3_000_000,
        processor_ns: None,
    };
    let id = Some(CallId([0xab; 16]));
    let routine = "lapack/dgesv".to_owned();
    let call = AuditedCall { id, parent: None, routine, times, bytes_in: 80, bytes_out: 40 };
    Arc::new(AuditRecord { caller, call: Some(call), order: None, failure })
}

/// What is said of a value that was refused, or by a routine, may quote an argument.
#[test]
fn arguments_are_not_written_down() {
    let scratch = Scratch::new("arguments");
    let log = AuditLog::open(scratch.options(1 << 20, 2, 100)).unwrap();
    for kind in [ErrorKind::InvalidArgument, ErrorKind::RoutineFailed] {
        log.record(record(Some(Error::new(kind, "check", "name = 'secret'"))));
    }
    drop(log);
    let lines = scratch.lines("audit.log");
    let outcomes = lines.iter().map(|line| line["outcome"].as_str().unwrap());
    assert!(outcomes.eq(["invalid-argument", "routine-failed"]), "{lines:?}");
    assert!(lines.iter().all(|line| !line.to_string().contains("secret")), "{lines:?}");
}

#[test]
fn a_line_says_who_called_what_and_what_became_of_it() {
    let scratch = Scratch::new("lines");
    let log = AuditLog::open(scratch.options(1 << 20, 2, 100)).unwrap();
    log.record(record(None));
    log.record(record(Some(Error::new(
        ErrorKind::RoutineCrashed,
        "run a routine",
        "signal \"11\"\nsegment",
    ))));
    log.stranger(
        Error::new(ErrorKind::Protocol, "secure the connection", "no TLS")
            .with("peer", "10.0.0.9:1"),
    );
    drop(log);
    let lines = scratch.lines("audit.log");
    assert_eq!(lines.len(), 3);
    let expected = [
        ("event", "call"),
        ("principal", "anna"),
        ("peer", "10.0.0.7:51234"),
        ("routine", "lapack/dgesv"),
        ("call", "abababababababababababababababab"),
        ("outcome", "done"),
    ];
    assert!(expected.iter().all(|(key, value)| lines[0][key] == *value), "{}", lines[0]);
    assert_eq!((&lines[0]["bytes_in"], &lines[0]["bytes_out"]), (&80.into(), &40.into()));
    assert_eq!((&lines[0]["started_us"], &lines[0]["finished_us"]), (&2000.into(), &3000.into()));
    assert!(lines[0].get("message").is_none() && lines[0].get("count").is_none());
    assert_eq!(
        (&lines[1]["outcome"], &lines[1]["message"]),
        (&"routine-crashed".into(), &"signal \"11\"\nsegment".into())
    );
    assert_eq!(
        (&lines[2]["event"], &lines[2]["peer"]),
        (&"connection".into(), &"10.0.0.9:1".into())
    );
    let mode = fs::metadata(scratch.0.join("audit.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn a_full_file_is_kept_under_another_name_and_the_oldest_goes() {
    let scratch = Scratch::new("rotate");
    let log = AuditLog::open(scratch.options(1000, 2, 1000)).unwrap();
    (0..50).for_each(|_| log.record(record(None)));
    drop(log);
    let mut names: Vec<_> =
        fs::read_dir(&scratch.0).unwrap().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["audit.log", "audit.log.1", "audit.log.2"]);
    for name in ["audit.log", "audit.log.1", "audit.log.2"] {
        assert!(fs::metadata(scratch.0.join(name)).unwrap().len() <= 1000, "{name}");
        assert!(!scratch.lines(name).is_empty(), "{name} holds whole lines");
    }
    // The next server goes on where this one ended.
    let before = scratch.lines("audit.log").len();
    let log = AuditLog::open(scratch.options(1 << 20, 2, 1000)).unwrap();
    log.record(record(None));
    drop(log);
    assert_eq!(scratch.lines("audit.log").len(), before + 1);
}

#[test]
fn a_file_that_was_moved_away_is_begun_anew() {
    let scratch = Scratch::new("moved");
    let path = scratch.0.join("audit.log");
    let moved = scratch.0.join("moved.log");
    fs::write(scratch.0.join("audit.log.1"), "kept\n").unwrap();
    let options = scratch.options(1000, 2, 10);
    let file = open(&path).unwrap();
    let mut writer = Writer { options, file, written: 0, lost: 0, torn: false, complained: None };
    let mut write = |times: usize| {
        (0..times)
            .for_each(|_| writer.write(&line(SystemTime::now(), &Event::Record(record(None)))));
    };
    // By a program that rotates logs, which may make the next one itself.
    write(3);
    fs::rename(&path, &moved).unwrap();
    write(1);
    assert_eq!((scratch.lines("moved.log").len(), scratch.lines("audit.log").len()), (3, 1));
    fs::rename(&path, &moved).unwrap();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    write(1);
    assert_eq!((scratch.lines("moved.log").len(), scratch.lines("audit.log").len()), (1, 1));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    // A full file that is gone costs none of those that are kept.
    write(2);
    fs::remove_file(&path).unwrap();
    write(2);
    assert_eq!(scratch.lines("audit.log").len(), 2);
    assert_eq!(fs::read_to_string(scratch.0.join("audit.log.1")).unwrap(), "kept\n");
    // A link in its place is not followed: what is open goes on.
    fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(scratch.0.join("other"), &path).unwrap();
    write(1);
    assert_eq!(scratch.lines("moved.log").len(), 3);
    assert!(!scratch.0.join("other").exists());
}

#[test]
fn what_finds_the_queue_full_is_counted() {
    let scratch = Scratch::new("dropped");
    // A pipe that nobody reads: writing to it waits, as a disk that hangs.
    let pipe = scratch.0.join("audit.log");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    )
    .unwrap();
    let reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let log = AuditLog::open(scratch.options(1 << 20, 2, 10)).unwrap();
    let begin = Instant::now();
    (0..5000).for_each(|_| log.record(record(None)));
    assert!(begin.elapsed() < Duration::from_secs(2), "the server never waits");
    let reading = std::thread::spawn(move || {
        use std::io::BufRead;
        let lines = std::io::BufReader::new(reader).lines().map_while(std::result::Result::ok);
        let values = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
        let mut calls = 0;
        let mut dropped = 0;
        for value in values {
            match value["event"].as_str().unwrap() {
                "call" => calls += 1,
                _ => dropped += value["count"].as_u64().unwrap(),
            }
            if calls + dropped == 5000 {
                return (calls, dropped);
            }
        }
        panic!("the pipe ended");
    });
    let (calls, dropped) = reading.join().unwrap();
    assert!(calls >= 10 && dropped > 0, "{calls} were written, {dropped} dropped");
}

#[test]
fn a_full_disk_costs_lines_and_nothing_else() {
    let scratch = Scratch::new("full");
    let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let options = AuditOptions { path: "/dev/full".into(), ..scratch.options(1 << 20, 2, 10) };
    let mut writer = Writer { options, file, written: 0, lost: 0, torn: false, complained: None };
    (0..3).for_each(|_| writer.write(&line(SystemTime::now(), &Event::Record(record(None)))));
    assert!(writer.lost == 3 && writer.complained.is_some());
    // There is room again: what is missing is said. A line that was torn is ended first.
    writer.options.path = scratch.0.join("audit.log");
    (writer.file, writer.torn) = (open(&writer.options.path).unwrap(), true);
    writer.write(&line(SystemTime::now(), &Event::Record(record(None))));
    let text = fs::read_to_string(scratch.0.join("audit.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].is_empty() && lines[1].contains("\"lost\"") && lines[1].contains("\"count\":3"),
        "{text}"
    );
    assert!(lines[2].contains("dgesv") && writer.lost == 0);
}

#[test]
fn a_file_that_cannot_be_written_is_said_at_the_start() {
    let scratch = Scratch::new("nowhere");
    let options =
        AuditOptions { path: scratch.0.join("none/audit.log"), ..scratch.options(1, 1, 1) };
    let error = AuditLog::open(options).err().unwrap().to_string();
    assert!(error.contains("none/audit.log") && error.contains("audit_file"), "{error}");
}

#[test]
fn the_file_is_the_servers_own_and_no_link_to_another() {
    let scratch = Scratch::new("planted");
    let path = scratch.0.join("audit.log");
    let other = scratch.0.join("other");
    fs::write(&other, "").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    let error = AuditLog::open(scratch.options(1 << 20, 2, 10)).err().unwrap().to_string();
    assert!(error.contains("symbolic link") && error.contains("audit.log"), "{error}");
    fs::remove_file(&path).unwrap();
    for (before, after) in [(0o666, 0o640), (0o644, 0o640), (0o640, 0o640), (0o600, 0o600)] {
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
        drop(AuditLog::open(scratch.options(1 << 20, 2, 10)).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, after, "{before:o}");
    }
    // Only root can give a file away.
    if std::os::unix::fs::chown(&path, Some(1), None).is_ok() {
        let error = AuditLog::open(scratch.options(1 << 20, 2, 10)).err().unwrap().to_string();
        assert!(error.contains("another user") && error.contains("audit.log"), "{error}");
    }
    open(Path::new("/dev/null")).unwrap();
    assert_eq!(
        fs::metadata("/dev/null").unwrap().permissions().mode() & 0o7777,
        0o666,
        "it is the system's"
    );
    assert_eq!(fs::metadata(&other).unwrap().len(), 0, "nothing goes where a link leads");
}

#[test]
fn a_fifo_holds_up_neither_the_start_nor_the_writer() {
    let scratch = Scratch::new("fifo");
    let options = scratch.options(1 << 20, 2, 20_000);
    rustix::fs::mkfifoat(rustix::fs::CWD, &options.path, rustix::fs::Mode::RWXU).unwrap();
    // Without the guard this would never return: nobody reads.
    let error = AuditLog::open(options.clone()).err().unwrap();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let reader = rustix::fs::open(&options.path, flags, rustix::fs::Mode::empty()).unwrap();
    let log = AuditLog::open(options).unwrap();
    (0..2_000).for_each(|_| log.record(record(None)));
    let begin = Instant::now();
    drop(log);
    // More than the pipe holds: what it does not take is lost, and nobody waits for a reader.
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    let mut bytes = vec![0; 256];
    let count = rustix::io::read(&reader, &mut bytes).unwrap();
    assert!(String::from_utf8_lossy(&bytes[..count]).contains("lapack/dgesv"));
}

#[test]
fn dates_are_those_of_the_calendar() {
    let at = |seconds| moment(UNIX_EPOCH + Duration::from_millis(seconds));
    assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(at(951_782_399_999), "2000-02-28T23:59:59.999Z");
    assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
    assert_eq!(at(4_107_542_400_500), "2100-03-01T00:00:00.500Z");
    assert_eq!(at(1_795_323_661_250), "2026-11-22T05:01:01.250Z");
}
