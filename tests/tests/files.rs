//! Files whose calls go wrong: nothing of the caller's is harmed, nothing is left on the server,
//! and he is told why.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use farcall_client::{Argument, CallOptions, Client, Error, ErrorKind, Output, Outputs};
use farcall_tests::{Directory, Server, Transport, eventually, manifest_of};

/// Routines that do with their files what nobody wants.
const ROUTINES: &str = r#"
Module filed;
Globals {
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
}
Define half(IN filename given, OUT filename made, IN int how) "Writes half, and ends by a signal, exit, or not."
{
    FILE *out = fopen(made, "w");
    (void) given;
    fputs("half", out);
    fclose(out);
    if (how == 1) abort();
    if (how == 2) exit(3);
    while (how == 3) sleep(1);
}
Define leave(OUT filename made, IN int what) "Leaves nothing, a link, a folder, a pipe."
{
    char target[] = "/etc/passwd";
    if (what == 1 && symlink(target, made) != 0) abort();
    if (what == 2 && mkdir(made, 0700) != 0) abort();
    if (what == 3 && mkfifo(made, 0600) != 0) abort();
}
Define fill(OUT filename made, IN long bytes) "As many bytes as are asked for."
{ FILE *out = fopen(made, "w"); for (; bytes > 0; bytes--) putc('x', out); fclose(out); }
Define where(IN filename given, OUT uint8 path[256]) "Where its file lies."
{ strncpy((char *) path, given, 255); }
Define count(IN filename given, OUT long bytes) Idempotent "Counts bytes."
{ struct stat data; *bytes = stat(given, &data) == 0 ? (long) data.st_size : -1; }
"#;

struct Filed {
    server: Server,
    client: Client,
    folder: Directory,
}

impl Filed {
    fn new(transport: Transport, server: &str, limits: &str) -> Filed {
        let folder = Directory::new();
        let routines = folder.write("filed.idl", ROUTINES);
        let manifest = folder.write("farcall.toml", &manifest_of(server, limits));
        let server =
            Server::start(transport, &[routines], &["--manifest", manifest.to_str().unwrap()]);
        let client = server.client();
        std::fs::create_dir(folder.0.join("own")).unwrap();
        Filed { server, client, folder }
    }

    /// A file of the caller's.
    fn own(&self, name: &str) -> PathBuf {
        self.folder.0.join("own").join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.own("")).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn call<const N: usize>(
        &self,
        name: &str,
        arguments: [(&str, Argument<'_>); N],
    ) -> Result<Outputs, Error> {
        self.client.routine(name).unwrap().call(arguments)
    }

    fn half(&self, how: i64, timeout: Option<Duration>) -> Result<Outputs, Error> {
        let arguments =
            [("given", content(5000)), ("made", path(&self.own("made"))), ("how", how.into())];
        let options = CallOptions { timeout, ..CallOptions::default() };
        self.client.routine("half").unwrap().call_with(arguments, &options)
    }

    /// The folder in which processes keep the files of their calls.
    fn scratch(&self) -> PathBuf {
        let outputs = self.call("where", [("given", content(1))]).unwrap();
        let bytes = outputs.array::<u8>("path").unwrap();
        let text =
            String::from_utf8(bytes.into_iter().take_while(|byte| *byte != 0).collect()).unwrap();
        Path::new(&text).ancestors().nth(2).unwrap().to_path_buf()
    }
}

fn content(bytes: usize) -> Argument<'static> {
    Argument::Raw(vec![7; bytes])
}

fn path(path: &Path) -> Argument<'static> {
    Argument::from(path.to_str().unwrap())
}

fn says(error: &Error, kind: ErrorKind, words: &[&str]) {
    let text = error.to_string();
    assert!(
        error.kind() == kind && words.iter().all(|word| text.contains(word)),
        "{:?}: {text}",
        error.kind()
    );
}

/// What lies in the folder, at any depth.
fn all_in(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| [vec![path.clone()], all_in(&path)].concat()).collect()
}

fn nothing_is_left_however_a_call_ends(transport: Transport) {
    let it = Filed::new(transport, "", "");
    std::fs::write(it.own("made"), "old").unwrap();
    let scratch = it.scratch();
    let patience = Some(Duration::from_millis(300));
    let ends = [
        (1, None, ErrorKind::RoutineCrashed),
        (2, None, ErrorKind::RoutineExited),
        (3, patience, ErrorKind::TimedOut),
    ];
    for (how, timeout, kind) in ends {
        says(&it.half(how, timeout).err().unwrap(), kind, &[]);
        assert_eq!(std::fs::read(it.own("made")).unwrap(), b"old");
        assert!(eventually(|| all_in(&scratch).is_empty()), "{:?}", all_in(&scratch));
    }
    it.half(0, None).unwrap();
    assert_eq!(std::fs::read(it.own("made")).unwrap(), b"half");
    assert_eq!(it.names(), ["made"]);
    assert!(all_in(&scratch).is_empty(), "{:?}", all_in(&scratch));
}

#[test]
fn nothing_is_left_however_a_call_ends_over_a_socket() {
    nothing_is_left_however_a_call_ends(Transport::Unix);
}

#[test]
fn nothing_is_left_however_a_call_ends_over_tls() {
    nothing_is_left_however_a_call_ends(Transport::Tls);
}

#[test]
fn what_is_left_in_a_files_place_is_not_followed() {
    let it = Filed::new(Transport::Unix, "", "");
    let leave =
        |what: i64| it.call("leave", [("made", path(&it.own("made"))), ("what", what.into())]);
    assert!(matches!(leave(0).unwrap().get("made").unwrap(), Output::Null));
    for what in 1..=3 {
        says(
            &leave(what).err().unwrap(),
            ErrorKind::RoutineFailed,
            &["regular file", "file: made"],
        );
    }
    assert!(it.names().is_empty());
}

#[test]
fn files_count_among_the_data_of_a_call() {
    let it = Filed::new(Transport::Tcp, "call_bytes_max = 100000", "");
    let fill =
        |bytes: i64| it.call("fill", [("made", path(&it.own("made"))), ("bytes", bytes.into())]);
    fill(90_000).unwrap();
    let error = fill(200_000).err().unwrap();
    says(&error, ErrorKind::LimitExceeded, &["call_bytes_max", "parameter: made", "pass less"]);
    assert_eq!(it.own("made").metadata().unwrap().len(), 90_000, "the one before is as it was");
    let error = it.call("count", [("given", content(200_000))]).err().unwrap();
    says(&error, ErrorKind::LimitExceeded, &["call_bytes_max"]);
    fill(90_000).unwrap();
}

#[test]
fn a_module_has_no_larger_files_than_it_may() {
    let it = Filed::new(Transport::Unix, "", "limits.file_bytes_max = 100000");
    let count = |bytes: usize| it.call("count", [("given", content(bytes))]);
    assert_eq!(count(90_000).unwrap().scalar::<i64>("bytes").unwrap(), 90_000);
    let error = count(200_000).err().unwrap();
    says(
        &error,
        ErrorKind::LimitExceeded,
        &["limits.file_bytes_max", "parameter: given", "smaller file"],
    );
    let error = it.call("fill", [("bytes", 200_000.into())]).err().unwrap();
    says(&error, ErrorKind::RoutineCrashed, &["SIGXFSZ", "limits.file_bytes_max"]);
}

#[test]
fn a_file_that_changes_while_it_is_sent_ends_its_call_alone() {
    let it = Filed::new(Transport::Tcp, "", "");
    let given = it.own("given");
    let bytes = 64 << 20;
    std::fs::write(&given, vec![1; bytes]).unwrap();
    let count = it.client.routine("count").unwrap();
    // SAFETY: no arrays are passed.
    let pending = unsafe {
        count.start_within(
            vec![path(&given), Argument::Unset],
            vec![],
            &CallOptions::default(),
            Duration::ZERO,
        )
    };
    let pending = pending.unwrap().unwrap();
    // Nobody waits yet, and it is more than sockets hold: the end of it has not been read.
    std::fs::OpenOptions::new()
        .write(true)
        .open(&given)
        .unwrap()
        .set_len(bytes as u64 - 1)
        .unwrap();
    let error = pending.wait().err().unwrap();
    says(&error, ErrorKind::Damaged, &["changed while it was sent", "file: /", "given"]);
    // The connection is in step.
    let mut file = std::fs::OpenOptions::new().append(true).open(&given).unwrap();
    file.write_all(b"1").unwrap();
    let outputs = it.call("count", [("given", path(&given))]).unwrap();
    assert_eq!(outputs.scalar::<i64>("bytes").unwrap(), bytes as i64);
}

#[test]
fn a_server_holds_no_file_longer_than_its_call() {
    let it = Filed::new(Transport::Tcp, "", "");
    for _ in 0..20 {
        let outputs = it.call("half", [("given", content(3 << 20)), ("how", 0.into())]).unwrap();
        assert!(
            matches!(outputs.get("made").unwrap(), Output::Text(Some(text)) if text == b"half")
        );
        it.call("fill", [("bytes", (1 << 20).into())]).unwrap();
    }
    let totals = it.client.status(Duration::from_secs(20)).unwrap().totals.unwrap();
    assert_eq!(totals.memory_used, 0);
    let _ = &it.server;
}
