//! Routines that fork, close what is not theirs, or spoke in an earlier call: what the caller hears
//! is true.

use std::path::PathBuf;
use std::process::Command;

use farcall_client::{Argument, CallOptions, Client, Error, ErrorKind, News};
use farcall_tests::{
    Directory, Server, Transport, compile, eventually, first_news, program, root, until_begun,
    watched,
};

/// astray.idl beside its library.
fn astray(directory: &Directory) -> PathBuf {
    compile("astray.c", &directory.0.join("libastray.so"), &["-shared", "-fPIC"]);
    let text = std::fs::read_to_string(root().join("tests/routines/astray.idl")).unwrap();
    directory.write("astray.idl", &text)
}

fn with_server(transport: Transport, test: impl Fn(&Server, &Client)) {
    let directory = Directory::new();
    let server = Server::start(transport, &[astray(&directory)], &[]);
    test(&server, &server.client());
}

fn number(client: &Client, name: &str, output: &str) -> i32 {
    client.routine(name).unwrap().call([]).unwrap().scalar::<i32>(output).unwrap()
}

fn fails(client: &Client, name: &str, arguments: &[(&'static str, i64)]) -> Error {
    let arguments = arguments.iter().map(|(name, value)| (*name, Argument::Integer(*value)));
    client
        .routine(name)
        .unwrap()
        .call(arguments)
        .err()
        .unwrap_or_else(|| panic!("{name} does not return"))
}

#[test]
fn a_forked_child_does_not_answer_for_its_parent() {
    for transport in [Transport::Unix, Transport::Tcp] {
        with_server(transport, |server, client| {
            for _ in 0..10 {
                assert!(number(client, "fork_and_return", "pid") > 0, "the child answered");
            }
            // One executable, whose children have all ended.
            assert!(eventually(|| server.processes().len() == 1), "{:?}", server.processes());
        });
    }
}

#[test]
fn a_closed_connection_is_called_so() {
    for transport in [Transport::Unix, Transport::Tcp] {
        with_server(transport, |_, client| {
            let error = fails(client, "close_all", &[]);
            assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
            let text = error.to_string();
            assert!(
                text.contains("closed its connection")
                    && text.contains("file descriptors of others"),
                "{text}"
            );
            assert!(!text.contains("SIGTERM"), "{text}");
        });
    }
}

#[test]
fn a_signal_from_elsewhere_is_named() {
    // To the server it looks the same at first: a connection that ends while a call runs.
    let server = Server::start(Transport::Unix, &[farcall_tests::trouble(false)], &[]);
    let client = server.client();
    let chat = client.routine("chat").unwrap();
    for _ in 0..5 {
        let options = CallOptions { output: true, ..watched() };
        let arguments = [("steps", 1.into()), ("milliseconds", 1_200_000.into())];
        let mut call = chat.start(arguments, &options).unwrap();
        until_begun(&mut call);
        // That it was passed on is told a moment before; what is killed before it begins runs in
        // another process.
        assert_eq!(first_news(&mut call), News::Stdout(b"step 1\n".to_vec()));
        assert!(eventually(|| server.children().len() == 1));
        let pid = server.children()[0].to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        let error = call.wait().err().unwrap();
        assert!(error.to_string().contains("SIGTERM"), "{error}");
    }
}

#[test]
fn an_earlier_remark_is_not_the_reason_of_a_crash() {
    with_server(Transport::Unix, |_, client| {
        for _ in 0..5 {
            assert!(number(client, "remark", "n") > 0);
            let text = fails(client, "crash", &[("n", 1)]).to_string();
            assert!(text.contains("crashing") && !text.contains("remark"), "{text}");
            assert!(text.contains("indexes outside the arrays"), "there is advice: {text}");
        }
        // Nor where the crash follows at once, without a client in between.
        let remark = client.routine("remark").unwrap();
        let crash = client.routine("crash").unwrap();
        for _ in 0..20 {
            let first = remark.start([], &CallOptions::default()).unwrap();
            let second = crash.start([("n", 1.into())], &CallOptions::default()).unwrap();
            first.wait().unwrap();
            let text = second.wait().err().unwrap().to_string();
            assert!(text.contains("crashing") && !text.contains("remark"), "{text}");
        }
    });
}

#[test]
fn a_broken_pipe_ends_a_routine_as_it_ends_any_program() {
    with_server(Transport::Unix, |_, client| {
        let error = fails(client, "write_to_nobody", &[]);
        assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
        assert!(error.to_string().contains("SIGPIPE"), "{error}");
    });
}

#[test]
fn a_host_is_listed_with_its_module() {
    with_server(Transport::Unix, |server, client| {
        number(client, "remark", "n");
        let line = std::fs::read(format!("/proc/{}/cmdline", server.children()[0])).unwrap();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let name = program().display().to_string();
        assert_eq!(
            words[..3],
            [name.as_bytes(), b"host", b"astray"],
            "{}",
            String::from_utf8_lossy(&line)
        );
    });
}

#[test]
fn a_variable_is_refused_before_it_is_called() {
    let directory = Directory::new();
    astray(&directory);
    let text = "Module m;\nLibrary \"./libastray.so\";\nDefine f() Calls \"C\" no_routine();\n";
    let output = Server::refused(&[directory.write("variable.idl", text).to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("\"no_routine\" is a variable"), "{said}");
}

#[test]
fn a_module_that_lost_a_symbol_says_which_routine_needs_it() {
    let directory = Directory::new();
    let server = Server::start(Transport::Unix, &[astray(&directory)], &[]);
    // The library is built again, without some of its routines, while the server runs.
    let source = directory
        .write("less.c", "void remark(int *n) { *n = 1; }\nvoid crash(int n) { (void) n; }\n");
    let library = directory.0.join("libastray.so");
    std::fs::remove_file(&library).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .unwrap();
    assert!(built.success());
    let text = fails(&server.client(), "remark", &[]).to_string();
    assert!(text.contains("no function \"fork_and_return\""), "{text}");
    assert!(text.contains("needed by: astray/fork_and_return"), "{text}");
    assert!(text.contains("also wrong: astray/close_all: no function \"close_all\""), "{text}");
}
