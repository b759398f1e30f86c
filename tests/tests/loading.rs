//! What a library does when it is opened, and a Python file when it is run, is done before it is published: under the rules
//! of its module, in bounded time, and only as long as somebody waits for it.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use farcall_tests::{Directory, Server, Transport, alive, battery, compile, eventually, manifest_of, program};

/// Opening the library tries what no routine may.
const TRIES: u32 = 0;
/// Opening the library never ends.
const LINGERS: u32 = 1;

/// An interface file of a library that does this when it is opened.
fn library(folder: &Directory, what: u32) -> PathBuf {
    let others = format!("-DFILE_OF_OTHERS=\"{}\"", folder.0.join("others").display());
    compile("loading.c", &folder.0.join("libloading.so"), &["-shared", "-fPIC", &format!("-DWHAT={what}"), &others]);
    let text = "Module loading; Library \"./libloading.so\"; Define answer(OUT int n) Calls \"C\" n = answer();";
    folder.write("loading.idl", text)
}

fn words(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn good(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `farcall publish` that somebody is still waiting for.
fn publishing(server: &Server, file: &Path) -> Child {
    let mut command = Command::new(program());
    command.args(["publish", words(file), "--server", server.address()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The process that opens the library for its check.
fn inspection(server: &Server) -> Option<u32> {
    let checks =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("--check");
    server.children().into_iter().find(checks)
}

fn begun(server: &Server) -> u32 {
    assert!(eventually(|| inspection(server).is_some()), "{}", server.log());
    inspection(server).unwrap()
}

#[test]
fn a_library_is_held_to_its_modules_rules_when_it_is_checked() {
    let folder = Directory::new();
    let manifest = folder.write("farcall.toml", &manifest_of("", "limits.processor_seconds_max = 10"));
    let server = Server::start(Transport::Unix, &[battery(false)], &["--manifest", words(&manifest)]);
    good(&server.run(&["publish", words(&library(&folder, TRIES))]));
    assert!(!folder.0.join("others").exists(), "it wrote a file");
}

#[test]
fn a_check_ends_with_the_publisher_and_the_next_order_is_served() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let mut publisher = publishing(&server, &library(&folder, LINGERS));
    let check = begun(&server);
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    assert!(eventually(|| !alive(check)), "{}", server.log());
    good(&server.run(&["withdraw", "battery"]));
}

#[test]
fn a_check_ends_with_the_server() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let mut publisher = publishing(&server, &library(&folder, LINGERS));
    let check = begun(&server);
    server.kill();
    assert!(eventually(|| !alive(check)));
    publisher.wait().unwrap();
}

#[test]
fn a_check_that_never_ends_is_ended_and_says_what_took_too_long() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let output = server.run(&["publish", words(&library(&folder, LINGERS))]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "it was published");
    for word in ["not loaded after 30 s", "loading.idl", "libloading.so", "when they are opened"] {
        assert!(said.contains(word), "{word} in {said}");
    }
    good(&server.run(&["withdraw", "battery"]));
}
