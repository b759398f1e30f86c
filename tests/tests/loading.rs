//! What a library does when it is opened, and a Python file when it is run, is done before it is
//! published: under the rules of its module, in bounded time, and only as long as somebody waits
//! for it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use farcall_client::{Argument, CallOptions, ErrorKind};
use farcall_tests::{
    Directory, Server, Transport, alive, battery, compile, eventually, manifest_of, program,
};

/// Opening the library tries what no routine may.
const TRIES: u32 = 0;
/// Opening the library never ends.
const LINGERS: u32 = 1;

/// Opening the library never ends, except for its check.
const LOOPS: u32 = 2;

/// An interface file of a library that does this when it is opened.
fn library(folder: &Directory, what: u32) -> PathBuf {
    let others = format!("-DFILE_OF_OTHERS=\"{}\"", folder.0.join("others").display());
    compile(
        "loading.c",
        &folder.0.join("libloading.so"),
        &["-shared", "-fPIC", &format!("-DWHAT={what}"), &others],
    );
    let text = "Module loading; Library \"./libloading.so\"; Define answer(OUT int n) Calls \"C\" \
        n = answer();";
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
    let checks = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .unwrap_or_default()
            .contains("--check")
    };
    server.children().into_iter().find(checks)
}

fn begun(server: &Server) -> u32 {
    assert!(eventually(|| inspection(server).is_some()), "{}", server.log());
    inspection(server).unwrap()
}

#[test]
fn a_library_is_held_to_its_modules_rules_when_it_is_checked() {
    let folder = Directory::new();
    let manifest =
        folder.write("farcall.toml", &manifest_of("", "limits.processor_seconds_max = 10"));
    let server =
        Server::start(Transport::Unix, &[battery(false)], &["--manifest", words(&manifest)]);
    good(&server.run(&["publish", words(&library(&folder, TRIES))]));
    assert!(!folder.0.join("others").exists(), "it wrote a file");
}

/// The program that lies beside a Python file is the publisher's: it is held as the file is, and
/// its word opens no folder.
#[test]
fn an_interpreter_beside_a_file_is_held_to_the_modules_rules() {
    let folder = Directory::new();
    let others = Directory::new();
    let secret = others.write("secret", "confidential");
    std::fs::create_dir_all(folder.0.join(".venv/bin")).unwrap();
    let answer = format!(
        r#"{{"program": "{0}/.venv/bin/python", "readable": ["{1}"]}}"#,
        folder.0.display(),
        others.0.display()
    );
    let script = format!(
        "#!/bin/sh\ntouch {0}/touched\ncase \"$*\" in *--places*) echo '{answer}';; *) cat {1} \
            >&2; exit 3;; esac\n",
        others.0.display(),
        secret.display()
    );
    let python = folder.write(".venv/bin/python", &script);
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let output = server.run(&["publish", words(&folder.write("mine.py", ""))]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("ended before it had read the file") && !said.contains("confidential"),
        "{said}"
    );
    assert_eq!(others.names(), ["secret"], "it wrote a file");
}

/// A link to a program elsewhere opens that installation to it, but none that anybody can make.
#[test]
fn an_interpreter_elsewhere_opens_no_folder_that_others_can_write_to() {
    let folder = Directory::new();
    let others = Directory::new();
    let secret = others.write("secret", "confidential");
    std::fs::create_dir_all(folder.0.join(".venv/bin")).unwrap();
    ["lib/python3", "bin"]
        .iter()
        .for_each(|name| std::fs::create_dir_all(others.0.join(name)).unwrap());
    let python =
        others.write("bin/python", &format!("#!/bin/sh\ncat {} >&2; exit 3\n", secret.display()));
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&python, folder.0.join(".venv/bin/python")).unwrap();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let file = folder.write("mine.py", "");
    let said =
        || String::from_utf8_lossy(&server.run(&["publish", words(&file)]).stderr).into_owned();
    // What it says is its own affair, and its publisher's.
    assert!(said().contains("confidential"), "an installation is opened: {}", said());
    std::fs::set_permissions(&others.0, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(!said().contains("confidential"), "{}", said());
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
fn a_module_that_could_open_the_servers_files_is_not_published() {
    let folder = Directory::new();
    let log = folder.0.join("audit.log");
    let options = format!("audit_file = {log:?}");
    let grant = format!("modules.loading.writable = [{:?}]", folder.0);
    let manifest = folder.write("farcall.toml", &manifest_of(&options, &grant));
    let server =
        Server::start(Transport::Unix, &[battery(false)], &["--manifest", words(&manifest)]);
    let output = server.run(&["publish", words(&library(&folder, LOOPS))]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("module loading may write to"), "{said}");
    assert!(
        said.contains("limits.user") && !server.run(&["show", "loading/answer"]).status.success(),
        "{said}"
    );
    // Nor is is a file of the server read for a publisher, who would see the line with the mistake.
    let own = server.run(&["publish", words(&log)]);
    let said = String::from_utf8_lossy(&own.stderr).into_owned();
    assert!(!own.status.success() && said.contains("is a file of the server"), "{said}");
    good(&server.run(&["reload"]));
    let grant = format!("limits.writable = [{:?}]", folder.0);
    let manifest = folder.write("open.toml", &manifest_of(&options, &grant));
    let doctor = server.run(&["doctor", "--manifest", words(&manifest)]);
    let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        found.contains("every module may write to the audit log") && found.contains("warning"),
        "{found}"
    );
    let wrong = folder.write("wrong.toml", &manifest_of("", "limits.memory_bytes_max = 1"));
    let doctor = server.run(&["doctor", "--manifest", words(&wrong)]);
    let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(!doctor.status.success() && found.contains("set at least 16777216"), "{found}");
}

/// A server for others, which is no private one.
#[test]
fn a_server_whose_modules_could_open_its_files_does_not_start() {
    let folder = Directory::new();
    let manifest = folder
        .write("farcall.toml", &manifest_of("", &format!("limits.readable = [{:?}]", folder.0)));
    let socket = format!("unix:{}", folder.0.join("socket").display());
    let errors = folder.write("errors", "");
    let mut command = Server::command();
    command.args([
        "--manifest",
        words(&manifest),
        "--listen",
        &socket,
        "--",
        words(&battery(false)),
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).unwrap());
    let mut server = command.spawn().unwrap();
    let refusal =
        format!("module battery may read the configuration file ({})", manifest.display());
    let said = || std::fs::read_to_string(&errors).unwrap();
    let has_ended = eventually(|| server.try_wait().unwrap().is_some());
    let _ = server.kill();
    let status = server.wait().unwrap();
    assert!(has_ended && !status.success() && said().contains(&refusal), "{}", said());
}

/// Calls at a time of a routine whose library is never opened: they fail with the same words.
fn hopeless(server: &Server, words: &[&str]) {
    let client = server.client();
    let routine = client.routine("loading/answer").unwrap();
    // Far more than it takes, so that a server that waits for ever fails the test.
    let options = CallOptions { timeout: Some(Duration::from_secs(60)), ..CallOptions::default() };
    let start = |_| routine.start(Vec::<(&str, Argument<'_>)>::new(), &options).unwrap();
    let calls: Vec<_> = (0..3).map(start).collect();
    let loaders = || server.children().len() + server.zygotes().len();
    assert!(eventually(|| loaders() > 0));
    std::thread::sleep(Duration::from_millis(200));
    assert!(loaders() <= 1, "one is enough to find out");
    for call in calls {
        let error = call.wait().err().unwrap();
        let text = error.to_string();
        assert!(
            error.kind() == ErrorKind::Unavailable && words.iter().all(|word| text.contains(word)),
            "{text}"
        );
    }
    assert!(eventually(|| loaders() == 0), "{} still try", loaders());
}

#[test]
fn an_executable_that_never_loads_its_module_is_ended_and_the_admin_told() {
    let folder = Directory::new();
    let manifest =
        folder.write("farcall.toml", &manifest_of("loading_ms = 1500\nexecutables_max = 3", ""));
    let file = library(&folder, LOOPS);
    let server = Server::start(
        Transport::Unix,
        &[file],
        &["--manifest", words(&manifest), "--log-level", "warn"],
    );
    for _ in 0..2 {
        hopeless(&server, &["not loaded after 1.5 s", "loading_ms"]);
    }
    assert!(server.log().contains("its module was not loaded after 1.5 s"), "{}", server.log());
}

#[test]
fn loading_takes_no_more_processor_time_than_a_call_may() {
    let folder = Directory::new();
    let manifest =
        folder.write("farcall.toml", &manifest_of("", "limits.processor_seconds_max = 1"));
    let file = library(&folder, LOOPS);
    let server = Server::start(Transport::Unix, &[file], &["--manifest", words(&manifest)]);
    hopeless(&server, &["SIGXCPU", "limits.processor_seconds_max"]);
}

#[test]
fn a_check_that_never_ends_is_ended_and_says_what_took_too_long() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let output = server.run(&["publish", words(&library(&folder, LINGERS))]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "it was published");
    for word in ["not loaded after 30 s", "loading.idl", "libloading.so", "when they are loaded"] {
        assert!(said.contains(word), "{word} in {said}");
    }
    good(&server.run(&["withdraw", "battery"]));
}
