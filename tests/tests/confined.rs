//! Servers for others and servers of their owner's own: what compilers of published code reach, and
//! who is the owner.

use std::path::{Path, PathBuf};
use std::process::Command;

use farcall_client::{Argument, ErrorKind};
use farcall_tests::{Directory, Server, Transport, battery, eventually, manifest_of, program};

const SECRET: &str = "s3cr3t_of_the_server";

fn words(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a server says of a file that is to be published: whether it took it, and its words.
fn published(server: &Server, file: &Path) -> (bool, String) {
    let output = server.run(&["publish", words(file)]);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A server of its owner's own, whose code may do what its owner may.
fn own(folder: &Directory, files: &[PathBuf]) -> Server {
    let manifest = manifest_of("", "").replace("limits.confine = true", "");
    let manifest = folder.write("own.toml", &manifest);
    Server::start(Transport::Unix, files, &["--manifest", words(&manifest)])
}

/// A file without which nothing is compiled, and which nobody but the server's user may read.
fn secret(folder: &Directory, name: &str) -> PathBuf {
    let file = folder.write(name, &format!("{SECRET}\n"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    file
}

#[test]
fn a_compiler_reads_headers_and_no_secret() {
    let folder = Directory::new();
    let elsewhere = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let key = secret(&elsewhere, "key.pem");
    secret(&folder, "beside.pem");
    std::os::unix::fs::symlink(&key, folder.0.join("link.pem")).unwrap();
    let key = key.display();
    let ways = [
        format!("Globals {{\n#include \"{key}\"\n}}"),
        "Globals {\n#include \"beside.pem\"\n}".to_owned(),
        "Globals {\n#include \"link.pem\"\n}".to_owned(),
        format!(
            "Globals {{\nasm(\".data\\n.globl taken\\ntaken: .incbin \\\"{key}\\\"\\n.text\");\n}}"
        ),
        "Globals {\nasm(\".include \\\"beside.pem\\\"\");\n}".to_owned(),
        format!("#include \"{key}\""),
        format!("CompileOptions \"-include {key}\";\nGlobals {{ }}"),
        "Library \"./beside.pem\";\nGlobals { }".to_owned(),
        format!(
            "CompileOptions \"-I{}\";\nGlobals {{\n#include <key.pem>\n}}",
            elsewhere.0.display()
        ),
        format!("CompileOptions \"-Wl,-T,{key}\";\nGlobals {{ }}"),
    ];
    for (number, way) in ways.iter().enumerate() {
        let text =
            format!("Module reads{number};\n{way}\nDefine f(IN int n, OUT int m) {{ *m = n; }}\n");
        let (done, said) = published(&server, &folder.write("reads.idl", &text));
        assert!(!done && !said.contains(SECRET), "{way}: {said}");
    }
}

#[test]
fn words_that_name_a_program_are_taken_by_own_servers_alone() {
    let folder = Directory::new();
    let wrapper = folder.write(
        "wrapper.sh",
        &format!("#!/bin/sh\ntouch {}/ran\nexec \"$@\"\n", folder.0.display()),
    );
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let text = format!(
        "Module wrapped;\nCompileOptions \"-wrapper {}\";\nDefine f(IN int n, OUT int m) {{ *m = \
            n; }}\n",
        wrapper.display()
    );
    let file = folder.write("wrapped.idl", &text);
    let confined = Server::start(Transport::Unix, &[battery(false)], &[]);
    let (done, said) = published(&confined, &file);
    assert!(!done && said.contains("-wrapper") && said.contains("--private"), "{said}");
    assert!(!folder.0.join("ran").exists());
    let other = folder.write(
        "other.idl",
        "Module other;\nCompiler \"sh\";\nDefine f(IN int n, OUT int m) { *m = n; }\n",
    );
    let (done, said) = published(&confined, &other);
    assert!(!done && said.contains("another compiler"), "{said}");
    let owners = own(&folder, &[battery(false)]);
    let (done, said) = published(&owners, &file);
    assert!(done && folder.0.join("ran").exists(), "{said}");
}

#[test]
fn code_over_a_library_beside_it_is_built_and_runs() {
    let folder = Directory::new();
    std::fs::create_dir_all(folder.0.join("include/deep")).unwrap();
    folder.write("include/deep/twice.h", "double twice(double);\n");
    folder.write("inner.c", "double inner(double x) { return x; }\n");
    folder.write(
        "twice.c",
        "double inner(double);\ndouble twice(double x) { return inner(x) + inner(x); }\n",
    );
    let shared = |source: &str, output: &str, more: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", source, "-o", output]).args(more).current_dir(&folder.0);
        assert!(compiler.status().unwrap().success());
    };
    shared("inner.c", "libinner.so", &[]);
    shared("twice.c", "libtwice.so", &["-L.", "-linner", "-Wl,-rpath,$ORIGIN"]);
    let text = "Module glue;\nCompileOptions \"-Iinclude\";\nLibrary \"./libtwice.so\";\nGlobals \
                {\n#include <deep/twice.h>\n}\nDefine double_it(IN double x, OUT double y) { *y = \
                twice(x); }\n";
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let (done, said) = published(&server, &folder.write("glue.idl", text));
    assert!(done, "{said}");
    let outputs = server.client().routine("double_it").unwrap().call([("x", 21.0.into())]).unwrap();
    assert_eq!(outputs.scalar::<f64>("y").unwrap(), 42.0);
}

#[test]
fn what_a_server_has_started_is_not_its_owner() {
    let folder = Directory::new();
    let guest = folder.write(
        "guest.idl",
        "Module guest;\nGlobals {\n#include <stdlib.h>\n}\nDefine run(IN string command, OUT int \
            status) { *status = system(command); }\n",
    );
    let server = own(&folder, &[battery(false), guest]);
    let client = server.client();
    let run = |command: &str| {
        client
            .routine("run")
            .unwrap()
            .call([("command", Argument::from(command))])
            .unwrap()
            .scalar::<i32>("status")
            .unwrap()
    };
    assert_eq!(
        run(&format!("cat {} > /dev/null", folder.0.join("own.toml").display())),
        0,
        "the owner's code reads its files"
    );
    let order = format!("{} withdraw battery --server {}", program().display(), server.address());
    for command in [
        order.clone(),
        format!("env -i {order}"),
        format!("( ( {order}; touch {0}/first ) & ) ; sleep 0", folder.0.display()),
        format!("( setsid {order}; touch {0}/second ) & sleep 0", folder.0.display()),
    ] {
        run(&format!("{command} 2>> {}/said", folder.0.display()));
    }
    let done = |name: &str| folder.0.join(name).exists();
    assert!(eventually(|| done("first") && done("second")));
    let said = std::fs::read_to_string(folder.0.join("said")).unwrap();
    assert!(
        said.matches("routine").count() >= 4
            && server.run(&["show", "battery/echo"]).status.code() != Some(3),
        "{said}"
    );
    // It may call, as anybody who reaches the server.
    assert_eq!(
        run(&format!("{} ls --server {} > /dev/null", program().display(), server.address())),
        0
    );
    assert!(server.run(&["withdraw", "battery"]).status.success(), "the owner keeps all rights");
    let error = client.routine("battery/echo").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

/// What the environment beside a Python file says that it reads is found once, and neither through
/// links that were there nor through links that came later.
#[test]
fn an_environment_leads_nowhere_else() {
    let folder = Directory::new();
    let elsewhere = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let key = secret(&elsewhere, "key.pem");
    for name in [".venv", ".venv/bin", ".venv/extra"] {
        std::fs::create_dir(folder.0.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(&elsewhere.0, folder.0.join(".venv/link")).unwrap();
    secret(&folder, "beside.pem");
    let place = folder.0.display();
    let python = folder.write(
        ".venv/bin/python",
        &format!(
            "#!/bin/sh\nread_all() {{ cat {place}/.venv/*/key.pem {key} {place}/beside.pem >&2; \
             }}\ncase \"$*\" in\n*--places*) read_all; echo '{{\"program\": \
             \"{place}/.venv/bin/python\", \"readable\": [\"{place}\", \"{place}/.venv/bin\", \
             \"{place}/.venv/extra\", \"{place}/.venv/link\", \"{0}\"]}}' ;;\n*--describe*) \
             read_all; echo '{{\"idl\": \"Module evil; Define look(IN int n, OUT int m) Calls \
             \\\"C\\\" look(n, m);\", \"takes\": {{\"look\": [\"n\"]}}, \"warnings\": \"\"}}' \
             ;;\n*) read_all; exit 3 ;;\nesac\n",
            elsewhere.0.display(),
            key = key.display()
        ),
    );
    std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = folder.write("evil.py", "def look(n: int) -> int:\n    return n\n");
    let (done, said) = published(&server, &file);
    assert!(done && !said.contains(SECRET), "{said}");
    let call = || {
        let output = server.run(&["call", "evil/look", "1"]);
        String::from_utf8_lossy(&output.stderr).into_owned() + &server.log()
    };
    let before = call();
    std::fs::remove_dir(folder.0.join(".venv/extra")).unwrap();
    std::os::unix::fs::symlink(&elsewhere.0, folder.0.join(".venv/extra")).unwrap();
    let after = call();
    assert!(before.contains("key.pem") && after.contains("key.pem"), "it tries: {after}");
    assert!(!before.contains(SECRET) && !after.contains(SECRET), "{before}{after}");
}
