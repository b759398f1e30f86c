//! A tree written for Ninf-G: interface files, Makefiles with `$NG_DIR`, stub executables, and what
//! goes wrong with them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use farcall_client::{Array, CallOptions, Client, ErrorKind, HoldOptions};
use farcall_tests::{Directory, Server, Transport, library_directory, manifest, program, root};

/// Bodies that rely on libc without saying so, call a function of their own name, and share names
/// that mean two things.
const IDL: &str = r#"Module sample;
CompileOptions "-O2";
Library "-lm";
Globals {
static int calls;
#define TWICE(x) (2 * (x))
static double helper(double x) { return sqrt(x); }
}
Define sleep(IN int n, OUT int calls_so_far[1]) "sleeps"
{ if (n > 5) assert(n < 100); sleep(n); calls_so_far[0] = ++calls; }
Define abs(IN int n, OUT int r[1], OUT string s)
{ char *text = malloc(20); r[0] = TWICE(abs(n)); strcpy(text, "abs"); strcat(text, "!"); *s = text; calls += 100; }
Define mmul(IN int n, IN double A[n][n], IN double B[n][n], OUT double C[n][n])
Required "mmul.o" CalcOrder 2*n^3 Calls "C" mmul(n, A, B, C);
DefClass Counter {
DefState { int count; }
DefMethod _initialize() { count = 10; }
DefMethod add(IN int n, OUT int now[1]) { now[0] = (count += n); }
}
Define root(IN double x, OUT double r[1]) { r[0] = helper(x); }
"#;

const MMUL: &str = "void mmul(int n, double *a, double *b, double *c)\n{\n    int i, j, k;\n    \
    for (i = 0; i < n; i++)\n        \
    for (j = 0; j < n; j++) {\n            c[i * n + j] = 0;\n            \
    for (k = 0; k < n; k++)\n                c[i * n + j] += a[i * n + k] * b[k * n + j];\n        \
    }\n}\n";

/// As manuals show them.
const MAKEFILE: &str = "include $(NG_DIR)/etc/template.mk\n\nall: stubs client\n\nstubs: \
    mmul.o\n\t$(NG_DIR)/bin/ng_gen sample.idl\n\t$(MAKE) -f sample.mak\n\nmmul.o: mmul.c\n\t$(CC) \
    $(CFLAGS) -c mmul.c\n\nclient: client.c\n\t$(NG_DIR)/bin/ng_cc -g -o client client.c \
    -lm\n\nveryclean:\n\t$(MAKE) -f sample.mak veryclean\n\trm -f client *.o\n";

const CLIENT: &str = "#include <stdio.h>\n#include <farcall.h>\nint main(void) { \
    printf(\"%s\\n\", farcall_version()); return 0; }\n";

/// A prefix of a test's own, as `make install` makes one: the tools work wherever it is.
fn prefix(directory: &Directory) -> PathBuf {
    let prefix = directory.0.join("a prefix's place");
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    symlink(program(), prefix.join("bin/farcall")).unwrap();
    symlink(library_directory(), prefix.join("lib")).unwrap();
    std::fs::create_dir(prefix.join("include")).unwrap();
    for folder in ["clients/c/include", "clients/gridrpc/include"] {
        for header in std::fs::read_dir(root().join(folder)).unwrap() {
            let header = header.unwrap();
            symlink(header.path(), prefix.join("include").join(header.file_name())).unwrap();
        }
    }
    let staged = Command::new(root().join("tools/ng/stage.sh")).arg(&prefix).status().unwrap();
    assert!(staged.success());
    // Makefiles of old have no quotes around $(NG_DIR).
    let link = directory.0.join("ng");
    symlink(prefix.join("ng"), &link).unwrap();
    link
}

/// A command in the tree, with `$NG_DIR` set.
fn run(directory: &Directory, prefix: &Path, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&directory.0).env("NG_DIR", prefix).env_remove("MAKEFLAGS");
    command.env("NG_HOSTNAME", "here.example").output().unwrap()
}

fn succeeds(directory: &Directory, prefix: &Path, program: &str, arguments: &[&str]) -> String {
    let output = run(directory, prefix, program, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}\n{}{said}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The tree, built.
fn tree() -> (Directory, PathBuf) {
    let directory = Directory::new();
    let prefix = prefix(&directory);
    for (name, text) in
        [("sample.idl", IDL), ("mmul.c", MMUL), ("Makefile", MAKEFILE), ("client.c", CLIENT)]
    {
        directory.write(name, text);
    }
    succeeds(&directory, &prefix, "make", &[]);
    (directory, prefix)
}

fn counts(client: &Client) -> i32 {
    let outputs = client.routine("sample/sleep").unwrap().call([("n", 0.into())]).unwrap();
    outputs.array::<i32>("calls_so_far").unwrap()[0]
}

#[test]
fn a_tree_is_built_served_called_and_removed() {
    let (directory, prefix) = tree();
    let made = directory.names();
    for name in [
        "_stub_sleep",
        "_stub_abs",
        "_stub_Counter",
        "_stub_mmul.inf",
        "sample.mak",
        "sample.here.example.nrf",
        "client",
    ] {
        assert!(made.iter().any(|known| known == name), "{name}: {made:?}");
    }
    assert!(!succeeds(&directory, &prefix, "./client", &[]).trim().is_empty());

    // Room for all: otherwise an executable makes room for another, and its statics go.
    let manifest = directory.write("farcall.toml", &manifest("executables_max = 8"));
    let list = directory.0.join("sample.here.example.nrf");
    let server =
        Server::start(Transport::Unix, &[list], &["--manifest", manifest.to_str().unwrap()]);
    let client = server.client();
    let a = [1.0, 2.0, 3.0, 4.0];
    let b = [0.0, 1.0, 1.0, 0.0];
    // Each executable keeps its own statics, and lives on while others of its module are called.
    for round in 1..=3 {
        assert_eq!(counts(&client), round);
        let outputs = client.routine("abs").unwrap().call([("n", (-4).into())]).unwrap();
        assert_eq!(outputs.array::<i32>("r").unwrap(), [8]);
        let arguments =
            [("A", Array::rows(&a, &[2, 2]).into()), ("B", Array::rows(&b, &[2, 2]).into())];
        let outputs = client.routine("sample/mmul").unwrap().call(arguments).unwrap();
        assert_eq!(outputs.array::<f64>("C").unwrap(), [2.0, 1.0, 4.0, 3.0]);
    }
    let outputs = client.routine("root").unwrap().call([("x", 9.0.into())]).unwrap();
    assert_eq!(outputs.array::<f64>("r").unwrap(), [3.0]);
    // A class is one executable, and each object a process of it.
    let hold = client.hold("sample/Counter", 2, &HoldOptions::default()).unwrap();
    let add = client.routine("sample/Counter.add").unwrap();
    let counted = |object: u32| {
        let options = CallOptions { on: hold.ids().nth(object as usize), ..CallOptions::default() };
        add.call_with([("n", 5.into())], &options).unwrap().array::<i32>("now").unwrap()[0]
    };
    assert_eq!((counted(0), counted(0), counted(1)), (15, 20, 15));
    // A body that dies takes its own executable along, and nothing else.
    let error = client.routine("sample/sleep").unwrap().call([("n", 100.into())]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::RoutineCrashed, "{error}");
    assert_eq!(counts(&client), 1);
    drop(server);

    succeeds(&directory, &prefix, "make", &["veryclean"]);
    let left = directory.names();
    assert_eq!(
        left,
        [
            "Makefile",
            "a prefix's place",
            "client.c",
            "farcall.toml",
            "mmul.c",
            "ng",
            "sample.idl",
            "sample.mak"
        ]
    );
    // The makefile makes again what `clean` removed, and `make -j` does no harm.
    succeeds(&directory, &prefix, "make", &["-j4", "-f", "sample.mak"]);
    succeeds(&directory, &prefix, "make", &["-f", "sample.mak", "install", "NG_NRF_DIR=installed"]);
    assert!(directory.0.join("installed/sample.here.example.nrf").exists());
}

#[test]
fn a_stub_is_served_alone_and_lists_have_both_forms() {
    let (directory, prefix) = tree();
    let server = Server::start(Transport::Unix, &[directory.0.join("_stub_sleep")], &[]);
    let client = server.client();
    assert_eq!((counts(&client), counts(&client)), (1, 2));
    assert_eq!(client.routine("sample/abs").err().unwrap().kind(), ErrorKind::NotFound);
    let tool = prefix.join("bin/ng_gen_dif").display().to_string();
    succeeds(&directory, &prefix, &tool, &["_stub_sleep.inf", "_stub_abs"]);
    let old = Server::start(Transport::Unix, &[directory.0.join("sample.here.example.ngdef")], &[]);
    assert_eq!(counts(&old.client()), 1);
    assert!(old.client().routine("sample/abs").is_ok());
}

#[test]
fn tools_tell_what_makefiles_ask() {
    let directory = Directory::new();
    let prefix = prefix(&directory);
    let tool = |name: &str, arguments: &[&str]| {
        succeeds(
            &directory,
            &prefix,
            &prefix.join("bin").join(name).display().to_string(),
            arguments,
        )
    };
    assert!(tool("ng_version", &[]).contains("Ninf-G 5"));
    assert_eq!(tool("ng_gen_nrf", &["--hostname"]), "here.example\n");
    let libraries = tool("ng_config", &["--libs"]);
    assert!(libraries.contains("-lfarcall") && libraries.contains("/lib"), "{libraries}");
    directory.write("f.o", "\0_gfortran_st_write\0");
    assert_eq!(tool("ng_config", &["--run-times", "f.o", "gone.o", "f.o"]), "-lgfortran\n");
    assert_eq!(tool("ng_config", &["--run-times"]), "\n");
    assert_eq!(tool("ng_gen", &["--version"]), tool("ng_version", &[]));
    directory.write("cpp.idl", "#define N 3\nModule cpp;\nDefine f(IN double x[N]) { }\n");
    tool("ng_gen", &["cpp.idl"]);
    tool("ng_gen", &["-DM=4", "--with-cpp", "cpp.idl"]);
    assert!(
        String::from_utf8(directory.read("cpp.mak"))
            .unwrap()
            .contains("ng_gen --with-cpp -DM=4 cpp.idl")
    );
    let refused = run(
        &directory,
        &prefix,
        &prefix.join("bin/ng_gen").display().to_string(),
        &["--no-cpp", "cpp.idl"],
    );
    assert_eq!(refused.status.code(), Some(2));
    // A C++ compiler makes C++ of all code.
    directory.write(
        "pp.idl",
        "Module pp; Compiler \"c++\"; Globals { #include <vector>\n \
        }\nDefine f(IN int n, OUT int r[1]) { std::vector<int> v(n); r[0] = v.size(); }\n",
    );
    tool("ng_gen", &["pp.idl"]);
    succeeds(&directory, &prefix, "make", &["-f", "pp.mak"]);
    let server = Server::start(Transport::Unix, &[directory.0.join("pp.here.example.nrf")], &[]);
    let outputs = server.client().routine("f").unwrap().call([("n", 7.into())]).unwrap();
    assert_eq!(outputs.array::<i32>("r").unwrap(), [7]);
}

/// What a server says that cannot publish `file`.
fn refusal(file: &Path) -> String {
    let listen = format!("unix:{}", file.with_extension("socket").display());
    let output =
        Command::new(program()).args(["serve", "--listen", &listen]).arg(file).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_no_stub_is_named() {
    let (directory, prefix) = tree();
    let nrf = String::from_utf8(directory.read("sample.here.example.nrf")).unwrap();
    // One that is there would be served without those that are not.
    let gone = directory.write("gone.nrf", &nrf.replace("/_stub_", "/_gone_"));
    let said = refusal(&gone);
    assert!(
        said.contains("no such program on this host") && said.contains("here.example"),
        "{said}"
    );
    // A program by that name that is none of ours, and one that never answers.
    std::fs::copy("/bin/true", directory.0.join("_stub_true")).unwrap();
    let said = refusal(&directory.0.join("_stub_true"));
    assert!(said.contains("does not print its interface") && said.contains("_stub_true"), "{said}");
    directory.write("other.idl", "Module other; Define g(IN int n) { }\n");
    let tool = prefix.join("bin/ng_gen").display().to_string();
    succeeds(&directory, &prefix, &tool, &["other.idl"]);
    succeeds(&directory, &prefix, "make", &["-f", "other.mak"]);
    let other = String::from_utf8(directory.read("other.here.example.nrf")).unwrap();
    let entry = |text: &str| {
        let begin = text.find("<rei:RemoteExecutableInformation>").unwrap();
        text[begin..text.rfind("</nrf:").unwrap()].to_owned()
    };
    // Modules of a list are told apart by the names of its functions.
    let bare = entry(&other).replace("name=\"other/", "name=\"");
    let mixed =
        nrf.replace("name=\"sample/", "name=\"").replace("</nrf:", &format!("{bare}</nrf:"));
    let said = refusal(&directory.write("mixed.nrf", &mixed));
    assert!(said.contains("they belong to two modules"), "{said}");
    assert!(refusal(&directory.write("broken.nrf", "<nrf")).contains("broken.nrf"));
}
