//! Where commands meet the machine's limits: endless files, results larger than memory, calls that
//! are interrupted, servers that are still starting, and manifests.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use farcall_tests::{Server, Transport, eventually, manifest, trouble};

use crate::cli::{Shell, said};

#[test]
fn what_is_no_plain_file_is_refused_at_once() {
    let shell = Shell::new();
    let pipe = shell.path("pipe.idl");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let begin = Instant::now();
    shell.bad(&["check", "/dev/zero"], 2, &["it is not a regular file", "/dev/zero"]);
    shell.bad(&["check", "pipe.idl"], 2, &["it is not a regular file"]);
    shell.bad(&["check", "."], 2, &["it is not a regular file"]);
    assert!(begin.elapsed() < Duration::from_secs(20));
    // Empty by its metadata, and with an end.
    shell.bad(&["check", "/proc/self/status"], 2, &["/proc/self/status:1"]);
    let long = std::fs::File::create(shell.path("long.idl")).unwrap();
    long.set_len((4 << 20) + 1).unwrap();
    shell.bad(&["check", "long.idl"], 1, &["longer than 4 MiB"]);
}

#[test]
fn comments_and_descriptions_of_old_files_need_not_be_utf8() {
    let shell = Shell::new();
    std::fs::write(
        shell.path("old.idl"),
        b"/* M\xfcller */ Define f(IN int n) Calls \"C\" f(n);\n",
    )
    .unwrap();
    assert!(shell.good(&["check", "old.idl"]).contains("old/f"));
    std::fs::write(
        shell.path("doc.idl"),
        b"\nDefine f(IN int n) \"M\xfcller\" Calls \"C\" f(n);\n",
    )
    .unwrap();
    assert!(shell.good(&["check", "doc.idl"]).contains("doc/f"));
    std::fs::write(
        shell.path("name.idl"),
        b"\nLibrary \"M\xfcller.o\"; Define f(IN int n) Calls \"C\" f(n);\n",
    )
    .unwrap();
    shell.bad(&["check", "name.idl"], 2, &["name.idl:2:11", "not UTF-8", "iconv"]);
}

#[test]
fn a_result_that_does_not_fit_this_machine_is_an_error() {
    let shell = Shell::new();
    // The server needs no memory for what the routine does not touch; a copy of it would.
    let file =
        shell.folder.write("huge.idl", "Define huge(IN long n, OUT double x[n]) { x[0] = 1; }\n");
    // By default no call may have more than half of the memory.
    let limits = format!("call_bytes_max = {0}\nmemory_all_bytes_max = {0}", 1_u64 << 40);
    let options = shell.folder.write("huge.toml", &manifest(&limits));
    let server =
        Server::start(Transport::Unix, &[file], &["--manifest", options.to_str().unwrap()]);
    let there = ["--server", server.address()];
    for more in [&["--json"][..], &[], &["--out", "x=x.npy"]] {
        let said = shell.run(&[&["call", "huge", "100000000000"], more, &there].concat());
        assert_eq!(said.code, 1, "{}", said.err);
        assert!(said.err.contains("800000000000 bytes"), "{}", said.err);
    }
    assert!(!has_npy(&shell), "nothing is left of the file");
}

fn has_npy(shell: &Shell) -> bool {
    std::fs::read_dir(&shell.folder.0)
        .unwrap()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().contains("npy"))
}

#[test]
fn a_killed_call_leaves_no_file() {
    let shell = Shell::new();
    let file = trouble(false);
    let address = format!("unix:{}", shell.path("s").display());
    let mut server = shell.command(&["serve", "--listen", &address, file.to_str().unwrap()]);
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The server may still be starting: a call that names its socket waits for it.
    let call = ["call", "hold", "[1,2]", "60000", "--out", "x=x.npy", "--server", &address];
    let mut call = shell.command(&call).stderr(Stdio::null()).spawn().unwrap();
    assert!(eventually(|| said(
        shell.command(&["call", "fine", "3", "--server", &address]).output().unwrap()
    )
    .code
        == 0));
    std::thread::sleep(Duration::from_millis(300));
    assert!(call.try_wait().unwrap().is_none(), "it is running");
    call.kill().unwrap();
    call.wait().unwrap();
    assert!(!has_npy(&shell));
    // A call that ends well replaces a file that is there.
    shell.folder.write("x.npy", "old");
    shell.good(&["call", "hold", "[1,2]", "1", "--out", "x=x.npy", "--server", &address]);
    assert_eq!(std::fs::metadata(shell.path("x.npy")).unwrap().len(), 128 + 16);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn numbers_that_begin_like_options_are_numbers() {
    let shell = Shell::new();
    let text = "Define f(IN double x, IN dcomplex z, OUT double y[2]) { y[0] = x; y[1] = ((double \
        *)&z)[1]; }\n";
    let file = shell.folder.write("f.idl", text);
    let out = shell.good_of(&file, &["call", "f", "-inf", "-1-2j", "--json"]);
    assert!(out.contains("\"-Infinity\"") && out.contains("-2.0"), "{out}");
    // What no double holds does not become infinite, and a whole number does not change either.
    let publish = ["--publish", file.to_str().unwrap()];
    shell.bad(&[&["call", "f", "1e999", "1"][..], &publish].concat(), 2, &["1e999 is too large"]);
    shell.bad(&[&["call", "f", "--inf", "1"][..], &publish].concat(), 2, &["--inf"]);
}

#[test]
fn the_default_manifest_starts_a_server_and_so_does_one_key_of_it() {
    let shell = Shell::new();
    let text = shell.good(&["serve", "--print-manifest"]);
    for part in [
        "[[plugin]]\nname = \"rpc-server\"",
        "\n# Waiting and running calls of all clients together.",
        "\ncalls_max = 262144\n",
        "host_command",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let one =
        "[[plugin]]\nname = \"rpc-server\"\nslot = \"rpc\"\n[plugin.options]\ncall_bytes_max = 8\n";
    let file = trouble(false);
    for (manifest, code) in [(text.as_str(), 0), (one, 1), ("", 0)] {
        shell.folder.write("farcall.toml", manifest);
        let address = format!("unix:{}", shell.path("s").display());
        let arguments =
            ["serve", "--listen", &address, "--manifest", "farcall.toml", file.to_str().unwrap()];
        let mut server =
            shell.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let said = shell.run(&["call", "hold", "[1,2]", "1", "--server", &address]);
        server.kill().unwrap();
        server.wait().unwrap();
        std::fs::remove_file(shell.path("s")).unwrap();
        assert_eq!(said.code, code, "{manifest}: {}", said.err);
        assert!(
            code == 0
                || said.err.contains("raise call_bytes_max in the server's configuration file"),
            "{}",
            said.err
        );
    }
    shell.folder.write("zero.toml", &one.replace("call_bytes_max = 8", "calls_max = 0"));
    shell.bad(
        &["serve", "--manifest", "zero.toml"],
        2,
        &["calls_max is 0", "zero.toml", "line: 5", "at least 1"],
    );
}

#[test]
fn files_that_publish_nothing_are_pointed_out() {
    let shell = Shell::new();
    shell.folder.write("empty.idl", "/* nothing yet */\n");
    let said = shell.run(&["check", "empty.idl"]);
    assert_eq!(said.code, 0);
    assert!(said.err.contains("empty.idl publishes nothing: it has no Define"), "{}", said.err);
    let mut server = shell.command(&["serve", "--private", "empty.idl"]);
    let mut server =
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It serves; then its standard input ends, and it does, too.
    assert!(server.stdout.take().unwrap().read(&mut [0; 1]).unwrap() == 1);
    let said = crate::cli::said(server.wait_with_output().unwrap());
    assert!(said.code == 0 && said.err.contains("publishes nothing"), "{} {}", said.code, said.err);
}

#[test]
fn check_link_finds_libraries_and_symbols() {
    let shell = Shell::new();
    shell
        .folder
        .write("missing.idl", "Library \"libnowhere.so\";\nDefine f(IN int n) Calls \"C\" f(n);\n");
    shell.good(&["check", "missing.idl"]);
    shell.bad(&["check", "--link", "missing.idl"], 3, &["libnowhere.so", "missing.idl"]);
    shell.folder.write(
        "symbol.idl",
        "Library \"libm.so.6\";\nDefine f(IN int n) Calls \"C\" no_such_function(n);\n",
    );
    shell.bad(&["check", "--link", "symbol.idl"], 3, &["no_such_function", "symbol.idl"]);
    shell.folder.write("code.idl", "Define f(OUT int n) { *n = nowhere_declared; }\n");
    shell.bad(&["check", "--link", "code.idl"], 2, &["nowhere_declared"]);
    shell
        .folder
        .write("good.idl", "Library \"libm.so.6\";\nDefine f(IN double x) Calls \"C\" cos(x);\n");
    assert!(shell.good(&["check", "--link", "good.idl"]).contains("good/f"));
}

#[test]
fn a_service_publishes_what_it_is_told_to() {
    let shell = Shell::new();
    let none = shell.good(&["service"]);
    assert!(none.contains("--log-format json\n") && !none.contains('@'), "{none}");
    shell.folder.write("my 100%.idl", "Module m;");
    let unit = shell.good(&["service", "lapack", "my 100%.idl"]);
    let file = shell.path("my 100%.idl").display().to_string().replace('%', "%%");
    assert!(unit.contains(&format!("--log-format json lapack \"{file}\"\n")), "{unit}");
    let missing = shell.run(&["service", "missing.idl"]);
    assert!(missing.code != 0 && missing.err.contains("no such file"), "{}", missing.err);
}

#[test]
fn what_is_no_interface_is_called_so_at_once() {
    let shell = Shell::new();
    std::fs::write(shell.path("short.so"), b"\x7fELF\x02\x01\x01").unwrap();
    shell.folder.write("solve.f", "      SUBROUTINE SOLVE(N, X)\n      END\n");
    shell.folder.write("holes.idl", "Module m;\0");
    for (file, word, fix) in [
        ("short.so", "a library or a program", "write FILE.idl"),
        ("solve.f", "Fortran source code", "farcall scan solve.f --build"),
        ("holes.idl", "no text", "write FILE.idl"),
    ] {
        let refused = shell.run(&["check", file]);
        let place_and_fix = refused.err.contains(file) && refused.err.contains(fix);
        assert!(
            refused.code == 2 && refused.err.contains(word) && place_and_fix,
            "{}",
            refused.err
        );
    }
}

#[test]
fn a_cache_that_is_not_ours_is_said_to_be_so() {
    let shell = Shell::new();
    shell.folder.write("code.idl", "Module code;\nDefine f(IN int n, OUT int m) { *m = n; }\n");
    shell.folder.write("file", "");
    let call = ["call", "f", "1", "--publish", "code.idl"];
    let refused =
        said(shell.command(&call).env("XDG_CACHE_HOME", shell.path("file")).output().unwrap());
    assert!(refused.code != 0 && refused.err.contains("set XDG_CACHE_HOME"), "{}", refused.err);
}

#[test]
fn no_home_is_made_where_there_is_none() {
    let shell = Shell::new();
    shell.folder.write("code.idl", "Module code;\nDefine f(IN int n, OUT int m) { *m = n; }\n");
    let mut call = shell.command(&["call", "f", "1", "--publish", "code.idl"]);
    let answer =
        said(call.env_remove("XDG_CACHE_HOME").env("HOME", shell.path("nobody")).output().unwrap());
    assert!(answer.code == 0 && !shell.path("nobody").exists(), "{}", answer.err);
}
