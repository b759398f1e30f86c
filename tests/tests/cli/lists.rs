//! `farcall ls` and `farcall show`.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use farcall_tests::{root, server, server_with};

use crate::cli::Shell;

/// Some lines of the table, in its order; its first column is as wide as the longest name.
const SOME: [&str; 4] = [
    "blas/daxpy   Adds a multiple of a vector to another: y := alpha*x + y.",
    "blas/ddot    Dot product of two real vectors.",
    "blas/dgemm   Matrix product: C := alpha*op(A)*op(B) + beta*C.",
    "blas/zdotu   Dot product of two complex vectors, without conjugation.",
];

/// Whether this is BLAS, all of it, sorted, and nothing else.
fn is_blas(table: &str) -> bool {
    let lines: Vec<&str> = table.lines().collect();
    let places = SOME
        .iter()
        .map(|some| lines.iter().position(|line| line == some))
        .collect::<Option<Vec<_>>>();
    lines.len() == 102
        && places.is_some()
        && lines.is_sorted()
        && lines.iter().all(|line| line.starts_with("blas/"))
}

#[test]
fn ls_is_a_sorted_table_of_a_named_server() {
    let server = server(&["routines/lapack/blas.idl"]);
    let shell = Shell::new();
    let table = shell.good(&["ls", "--server", server.address()]);
    assert!(is_blas(&table), "{table}");
    let variable = shell.command(&["ls"]).env("FARCALL_SERVER", server.address()).output().unwrap();
    assert_eq!(String::from_utf8(variable.stdout).unwrap(), table);
    assert!(variable.stderr.is_empty(), "nothing is started where a server is named");
    let json = shell.good(&["ls", "--json", "--server", server.address()]);
    assert!(json.contains("\"full_name\": \"blas/daxpy\""), "{json}");
    assert!(
        json.contains("\"signature\": \"daxpy(x, y, *, n=None, alpha=1.0, incx=1, incy=1) -> y\""),
        "{json}"
    );
}

#[test]
fn without_a_server_a_private_one_serves_the_command() {
    let shell = Shell::new();
    let said = shell.run(&["ls"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("lapack/dgesv "), "{}", said.out);
    assert!(said.err.contains("no server is running"), "the person is told: {}", said.err);
    let blas = root().join("routines/lapack/blas.idl");
    let said = shell.run(&["ls", "--publish", blas.to_str().unwrap()]);
    assert!(is_blas(&said.out), "only what was named: {}", said.out);
    assert_eq!(said.err, "");
}

#[test]
fn a_bare_word_names_an_interface_that_comes_with_farcall() {
    let shell = Shell::new();
    assert!(shell.good(&["check", "blas"]).contains("blas/daxpy"));
    shell.bad(&["check", "blass"], 3, &["blass", "pass a file, or one of blas, eigen, lapack"]);
    // A file of that name goes before it.
    shell.folder.write("blas", "Module mine; Define mine() Calls \"C\" abort();");
    assert!(shell.good(&["check", "blas"]).contains("mine/mine"));
}

#[test]
fn some_interfaces_are_served_by_name_alone() {
    let shell = Shell::new();
    let folder = shell.path("routines");
    std::fs::create_dir_all(folder.join("by-name")).unwrap();
    let module = |name: &str| format!("Module {name}; Define {name}() Calls \"C\" abort();");
    std::fs::write(folder.join("plain.idl"), module("plain")).unwrap();
    std::fs::write(folder.join("by-name/asked.idl"), module("asked")).unwrap();
    let listed = |arguments: &[&str]| {
        let output = shell.command(arguments).env("FARCALL_ROUTINES", &folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(listed(&["ls"]).trim(), "plain/plain  plain() -> None");
    assert_eq!(listed(&["ls", "--publish", "asked"]).trim(), "asked/asked  asked() -> None");
}

#[test]
fn show_explains_a_routine_to_people_and_programs() {
    let shell = Shell::new();
    let page = shell.good(&["show", "daxpy"]);
    assert!(
        page.starts_with(
            "blas/daxpy\n\n    daxpy(x, y, *, n=None, alpha=1.0, incx=1, incy=1) -> y\n"
        ),
        "{page}"
    );
    let json = shell.good(&["show", "--json", "blas/daxpy"]);
    for part in ["\"full_name\": \"blas/daxpy\"", "\"positional\": [", "\"contract_hash\": \""] {
        assert!(json.contains(part), "{json}");
    }
    // The IDL that is shown is IDL: it compiles, and to the same interface.
    let idl = shell.good(&["show", "--idl", "daxpy"]);
    shell.folder.write("daxpy.idl", &idl);
    assert!(shell.good(&["check", "daxpy.idl"]).contains("blas/daxpy"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let shell = Shell::new();
    let mut command = shell.command(&["check"]);
    command
        .arg(root().join("routines/lapack/lapack.idl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    // The pipe is closed after one line, or before the first is written.
    let mut reader = BufReader::with_capacity(16, child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "no panic, no complaint");
    // Nobody reads at all: standard output is closed from the start.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let said = crate::cli::said(shell.command(&["ls", "--json"]).stdout(writer).output().unwrap());
    assert_eq!(said.code, 0);
    assert!(!said.err.contains("panic"), "{}", said.err);
}

#[test]
fn a_tcp_server_is_named_with_its_token() {
    let shell = Shell::new();
    let token = shell.path("token");
    let options = ["--listen", "tcp:127.0.0.1:0", "--token-file", token.to_str().unwrap()];
    let server = server_with(&["routines/lapack/blas.idl"], &options);
    let listed =
        shell.good(&["ls", "--server", server.address(), "--token-file", token.to_str().unwrap()]);
    assert!(is_blas(&listed), "{listed}");
    // No token, another one, and a file that is not there.
    shell.bad(&["ls", "--server", server.address()], 1, &["token"]);
    let other = shell.folder.write("other", &"0".repeat(64));
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
    shell.bad(
        &["ls", "--server", server.address(), "--token-file", other.to_str().unwrap()],
        1,
        &["token"],
    );
    shell.bad(&["ls", "--server", server.address(), "--token-file", "nothing"], 3, &["nothing"]);
}
