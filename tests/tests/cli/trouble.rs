//! Mistakes in calls: what each exits with, and what it says.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use farcall_tests::{eventually, trouble};

use crate::cli::{Shell, said};

#[test]
fn wrong_arguments_name_the_parameter_and_the_fix() {
    let shell = Shell::new();
    let a = "[[4,1],[1,3]]";
    let cases: [(&[&str], &[&str]); 20] = [
        (&[a], &["b is missing", "dgesv(a, b, *"]),
        (&[a, "[1,2]", "3"], &["2 arguments by position", "NAME=VALUE"]),
        (&[a, "[1,2]", "a=1"], &["a was passed twice"]),
        (&[a, "[1,2]", "nn=1"], &["no parameter \"nn\"", "did you mean n?"]),
        (&[a, "[1,2]", "ipiv=[1]"], &["ipiv is a result", "--out ipiv=FILE.npy"]),
        // Numbers that are none, or do not fit.
        (&["[[4,1],[1,x]]", "[1,2]"], &["\"x\" is not a number", "INOUT double a[lda:n][n]"]),
        (&["[[4,1],[1]]", "[1,2]"], &["rows have different lengths: 2 and 1"]),
        (&[a, "[1,2j]"], &["does not fit double", "double b"]),
        (&[a, "[1,2]", "n=1.5"], &["does not fit int", "IN int n"]),
        (&[a, "[1,2]", "n=[2]"], &["the routine needs one number", "IN int n"]),
        // Extents that disagree.
        (&[a, "[1,2,3]"], &["b has shape (3,)", "n = 2 from a"]),
        (&[a, "[1,2]", "n=3"], &["a has shape"]),
        // Files of another format, and options that name none.
        (&["@a.txt", "[1,2]"], &[".npy", "a.txt"]),
        (&["@a.npy", "[1,2]"], &["does not start like a NumPy file", "numpy.save"]),
        (&["@c.mtx", "[1,2]"], &["dcomplex cannot become", "numpy.float64"]),
        (&[a, "[1,2]", "--out", "x"], &["NAME=FILE"]),
        (&[a, "[1,2]", "--out", "lda=x.npy"], &["lda is not a result", "a, ipiv, b, info"]),
        (&[a, "[1,2]", "--out", "b=x.npy", "--out", "b=y.npy"], &["--out b was passed twice"]),
        (
            &[a, "[1,2]", "--out", "a=x.npy", "--out", "b=./x.npy"],
            &["two results have the same file", "a different file"],
        ),
        (&[a, "[1,2]", "--timeout", "-1"], &["a positive number of seconds"]),
    ];
    shell.folder.write("a.txt", "1");
    shell.folder.write("a.npy", "PK and more");
    shell.folder.write("c.mtx", "%%MatrixMarket matrix array complex general\n1 1\n1 2\n");
    for (arguments, reasons) in cases {
        shell.bad(&[&["call", "dgesv"], arguments].concat(), 2, reasons);
    }
    shell.bad(&["drain", "--timeout", "-1"], 2, &["-1 is not a time", "--timeout 30"]);
    shell.bad(&["top", "--interval", "-1"], 2, &["-1 s is not an interval"]);
    shell.bad(&["ca", "user", "eve", "--days", "-3"], 2, &["-3 is not in 1..=3650"]);
}

#[test]
fn what_is_not_there_is_named() {
    let shell = Shell::new();
    shell.bad(&["call", "dgesw", "1"], 3, &["dgesw", "did you mean dgesv"]);
    shell.bad(&["show", "lapak/dgesv"], 3, &["lapak/dgesv"]);
    shell.bad(&["call", "dgesv", "@nothing.npy", "[1]"], 3, &["no such file", "nothing.npy"]);
    shell.bad(
        &["call", "dgesv", "[[1]]", "[1]", "--out", "b=nowhere/x.npy"],
        3,
        &["no such directory", "nowhere/x.npy"],
    );
    shell.bad(&["ls", "--server", "unix:/nonexistent"], 3, &["/nonexistent", "farcall serve"]);
    shell.bad(&["ls", "--server", "somewhere"], 2, &["not a server address", "unix:PATH"]);
    shell.bad(&["ls", "--publish", "nothing.idl"], 3, &["nothing.idl"]);
}

#[test]
fn routines_that_fail_exit_with_4_and_late_ones_with_1() {
    let shell = Shell::new();
    let file = trouble(false);
    let publish = ["--publish", file.to_str().unwrap()];
    let bad = |arguments: &[&str], code, reasons| {
        shell.bad(&[arguments, &publish].concat(), code, reasons)
    };
    bad(&["call", "crash", "1"], 4, &["SIGSEGV"]);
    bad(&["call", "leave", "7"], 4, &["7"]);
    bad(&["call", "forever", "0", "--timeout", "0.3"], 1, &["time"]);
    // A failed call leaves no file behind, neither whole nor partial.
    bad(&["call", "hold", "[1,2]", "5000", "--timeout", "0.2", "--out", "x=x.npy"], 1, &["time"]);
    let left: Vec<_> = std::fs::read_dir(&shell.folder.0)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("npy")), "{left:?}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_the_time_of_the_call() {
    let shell = Shell::new();
    let address = format!("unix:{}", shell.path("s").display());
    let file = trouble(false);
    let mut server = shell.command(&["serve", "--listen", &address, file.to_str().unwrap()]);
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let call = ["call", "fine", "3", "--server", &address, "--timeout"];
    assert!(eventually(|| shell.run(&[&call[..], &["20"]].concat()).code == 0));
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let begin = Instant::now();
    shell.bad(
        &[&call[..], &["1"]].concat(),
        1,
        &["(", "timeout: 1 s", "--timeout", "farcall doctor"],
    );
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn results_that_nobody_can_read_are_no_success() {
    let shell = Shell::new();
    for arguments in [&["call", "dgesv", "[[2]]", "[1]"][..], &["ls"]] {
        let inner = shell.command(arguments);
        let mut closed = Command::new("sh");
        closed
            .args(["-c", "exec \"$@\" >&-", "sh"])
            .arg(inner.get_program())
            .args(inner.get_args());
        closed.current_dir(&shell.folder.0).stdin(Stdio::null());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => closed.env(name, value),
                None => closed.env_remove(name),
            };
        }
        let said = said(closed.output().unwrap());
        assert_eq!(said.code, 1, "{arguments:?}: {}", said.err);
        assert!(
            said.err.contains("standard output is closed") && said.err.contains("/dev/null"),
            "{}",
            said.err
        );
    }
}
