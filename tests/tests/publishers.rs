//! Who publishes against the server, its user's files, its other modules and their publishers.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use farcall_tests::{Directory, Server, Transport, battery, eventually, manifest_of};

const SECRET: &str = "s3cr3t_of_the_server";
/// More than an order takes that waits for nobody, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn words(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a server says of an order: whether it was carried out, and its words.
fn ordered(server: &Server, order: &[&str]) -> (bool, String) {
    let output = server.run(order);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn published(server: &Server, file: &Path) -> (bool, String) {
    ordered(server, &["publish", words(file)])
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// A compiler that is known by its name, `gcc-99`, and does this before it compiles: as one does
/// that a text has got the better of. `$made` is the folder that it writes.
fn compiler(folder: &Directory, script: &str) -> String {
    std::fs::create_dir_all(folder.0.join("installation/bin")).unwrap();
    let text = format!(
        "#!/bin/sh\nfor word; do [ \"$last\" = -o ] && made=$(dirname \"$word\"); last=$word; \
            done\n{script}\nexec cc \"$@\"\n"
    );
    let program = folder.write("installation/bin/gcc-99", &text);
    mode(&program, 0o755);
    format!("{}:{}", folder.0.join("installation/bin").display(), std::env::var("PATH").unwrap())
}

/// A server that finds this compiler.
fn server_with(path: &str, folder: &Directory, spawner: &str) -> Server {
    let manifest = folder.write("farcall.toml", &manifest_of("", spawner));
    let mut command = Server::command();
    command.env("PATH", path).args(["--manifest", words(&manifest)]);
    Server::start_as(command, &[battery(false)])
}

const TWO: &str = "Module two;\nCompiler \"gcc-99\";\nDefine f(IN int n, OUT int m) { *m = n; }\n\
                   Define g(IN int n, OUT int m) { *m = n + 1; }\n";

#[test]
fn links_that_a_compiler_leaves_are_neither_written_nor_read_through() {
    let folder = Directory::new();
    let home = folder.0.join("home");
    std::fs::create_dir(&home).unwrap();
    let keys = folder.write("home/authorized_keys", SECRET);
    mode(&home, 0o700);
    // Wherever it may write, each source that the server could write next leads to the keys.
    let script = format!(
        "for folder in \"$made\" \"$made/..\" \"$made/../sources\"; do\n  for name in routine_0 \
         routine_1 routine_2 body_1 table main; do\n for ending in c cc; do ln -s {} \
         \"$folder/$name.$ending\" 2>/dev/null; done\n  done\ndone\n",
        keys.display()
    );
    let path = compiler(&folder, &script);
    let server = server_with(&path, &folder, "");
    let (done, said) = published(&server, &folder.write("two.idl", TWO));
    assert!(done, "{said}");
    assert_eq!(std::fs::read_to_string(&keys).unwrap(), SECRET, "{said}");
    // A finished executable that is a link to a program of another's.
    let path = compiler(
        &folder,
        "case \"$*\" in *start-group*) ln -s /bin/ls \"$made/executable\"; exit 0;; esac",
    );
    let server = server_with(&path, &folder, "");
    let (done, said) =
        published(&server, &folder.write("linked.idl", &TWO.replace("two", "linked")));
    assert!(!done, "{said}");
}

#[test]
fn compilers_are_held_to_their_modules_tasks() {
    let folder = Directory::new();
    let path = compiler(&folder, "for one in $(seq 150); do sleep 10 & done");
    let server = server_with(&path, &folder, "limits.tasks_max = 16");
    if farcall_spawner_local::processes_counted_by().is_none() {
        eprintln!("skipped: processes are not counted here");
        return;
    }
    let (done, said) = published(&server, &folder.write("two.idl", TWO));
    assert!(!done && said.contains("ork"), "{said}");
}

#[test]
fn options_that_are_not_known_are_refused_with_their_words() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let ran = folder.0.join("ran");
    let mapper = format!("-fmodules-ts '-fmodule-mapper=|/usr/bin/touch {}'", ran.display());
    let options = [
        mapper.as_str(),
        "-ccc-install-dir /tmp/evil",
        "-profile=./evil",
        "-Xclang -load -Xclang ./p.so",
    ];
    for (number, option) in options.iter().enumerate() {
        let text = format!(
            "Module options{number};\nCompiler \"g++\";\nCompileOptions \"{option}\";\nDefine \
                f(IN int n, OUT int m) {{ *m = n; }}\n"
        );
        let (done, said) = published(&server, &folder.write("options.idl", &text));
        let word = option.split([' ', '=']).next().unwrap();
        assert!(
            !done && said.contains(word) && said.contains("--private") && said.contains("ng_gen"),
            "{option}: {said}"
        );
    }
    assert!(!ran.exists());
}

#[test]
fn headers_in_private_folders_are_nobodys() {
    let folder = Directory::new();
    let private = Directory::new();
    private.write("settings.inc", &format!("#error {SECRET}\n"));
    mode(&private.0, 0o700);
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let text = format!(
        "Module reads;\nCompileOptions \"-I{}\";\nGlobals {{\n#include <settings.inc>\n}}\nDefine \
            f(IN int n, OUT int m) {{ *m = n; }}\n",
        private.0.display()
    );
    let (done, said) = published(&server, &folder.write("reads.idl", &text));
    assert!(!done && !said.contains(SECRET), "{said}");
    mode(&private.0, 0o755);
    let (_, said) = published(&server, &folder.write("reads.idl", &text));
    assert!(said.contains(SECRET), "what everybody may read is a header: {said}");
}

/// Two names whose files change places until this goes.
struct Exchange<'a>(&'a AtomicBool);

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Exchanges two files, again and again, while `tries` go on.
fn exchanged(one: &Path, other: &Path, mut tries: impl FnMut()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let at = rustix::fs::CWD;
                rustix::fs::renameat_with(at, one, at, other, rustix::fs::RenameFlags::EXCHANGE)
                    .unwrap();
                std::thread::sleep(Duration::from_micros(60));
            }
        });
        let _ends = Exchange(&over);
        tries();
    });
}

#[test]
fn a_file_that_changes_places_with_a_link_is_not_read_through_it() {
    let folder = Directory::new();
    let secret = folder.write("secret.txt", &format!("{SECRET}\n"));
    mode(&secret, 0o600);
    let file = folder.write(
        "good.idl",
        "Module good;\nLibrary \"libm.so.6\";\nDefine cos(IN double x, OUT double y) Calls \"C\" \
            y = cos(x);\n",
    );
    let link = folder.0.join("link.idl");
    symlink(&secret, &link).unwrap();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    exchanged(&file, &link, || {
        for _ in 0..60 {
            let (_, said) = published(&server, &file);
            assert!(!said.contains(SECRET), "{said}");
        }
    });
}

#[test]
fn an_archive_that_changes_places_with_a_link_is_not_granted_for_it() {
    let folder = Directory::new();
    let secret = folder.write("secret.txt", &format!("{SECRET}\n"));
    mode(&secret, 0o600);
    folder.write("x.c", "int x;\n");
    let make = "cc -c x.c -o x.o && ar rc good.a x.o && mkdir d && for i in $(seq 300); do ln -s \
        ../good.a d/lib$i.a; done";
    assert!(
        Command::new("sh").args(["-c", make]).current_dir(&folder.0).status().unwrap().success()
    );
    let link = folder.0.join("link.a");
    symlink(&secret, &link).unwrap();
    let text = format!(
        "Module taken;\nCompileOptions \"-Ld\";\nGlobals {{\nasm(\".data\\n.globl taken\\ntaken: \
         .incbin \\\"{}\\\"\\n.text\");\n}}\nDefine f(IN int n, OUT int m) {{ *m = n; }}\n",
        secret.display()
    );
    let file = folder.write("taken.idl", &text);
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    exchanged(&folder.0.join("good.a"), &link, || {
        for _ in 0..12 {
            let (done, said) = published(&server, &file);
            assert!(!done, "{said}");
        }
    });
}

#[test]
fn a_link_in_a_published_files_place_is_judged_when_it_is_reloaded() {
    let folder = Directory::new();
    let secret = folder.write("secret.txt", &format!("{SECRET}\n"));
    let file = folder.write(
        "good.idl",
        "Module good;\nLibrary \"libm.so.6\";\nDefine cos(IN double x, OUT double y) Calls \"C\" \
            y = cos(x);\n",
    );
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    assert!(published(&server, &file).0);
    std::fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    for order in [&["reload", "good"][..], &["reload"]] {
        let (done, said) = ordered(&server, order);
        assert!(
            !done
                && said.contains("does not have the name of an interface file")
                && !said.contains(SECRET),
            "{said}"
        );
    }
}

/// A module whose compiler is busy for minutes.
fn endless(folder: &Directory) -> PathBuf {
    let routine = |number: u32| {
        format!(
            "Define f{number}(IN int n, OUT int m) {{ constexpr long v = spin(100000{number}); *m \
                = v; }}\n"
        )
    };
    let routines: String = (0..6).map(routine).collect();
    let text = format!(
        "Module endless;\nCompiler \"g++\";\nCompileOptions \"-fconstexpr-ops-limit=100000000000 \
         -fconstexpr-loop-limit=2000000000\";\nGlobals {{\nconstexpr long spin(int n) {{ long s = \
         0; for (int j = 0; j < 100; j++) for (int i = 0; i < n; i++) s += i; return s; \
         }}\n}}\n{routines}"
    );
    folder.write("endless.idl", &text)
}

/// Whether a compiler proper runs that looks for headers in this folder.
fn compiles_in(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let words = processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    words
        .into_iter()
        .any(|words| words.contains("cc1plus") && words.contains(folder.to_str().unwrap()))
}

#[test]
fn nobody_waits_for_the_compilers_of_others_and_they_end_with_who_wanted_them() {
    let folder = Directory::new();
    let server = Server::start(Transport::Unix, &[battery(false)], &[]);
    let file = endless(&folder);
    let mut publisher = Command::new(farcall_tests::program());
    publisher
        .args(["publish", words(&file), "--server", server.address()])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut publisher = publisher.spawn().unwrap();
    let compiles = || compiles_in(&folder.0);
    assert!(eventually(compiles));
    let begin = Instant::now();
    let (done, said) = ordered(&server, &["withdraw", "battery"]);
    assert!(done && begin.elapsed() < SOON && compiles(), "{said}");
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    assert!(eventually(|| !compiles()));
}

#[test]
fn names_of_others_and_of_the_manifest_are_not_for_publishers() {
    let folder = Directory::new();
    let user = rustix::process::geteuid().as_raw();
    let access = format!("access = [{{ who = [\"uid {user}\"], call = [\"*\"], publish = true }}]");
    let granted = format!("modules.heat.readable = [\"{}\"]", folder.0.display());
    let manifest = folder.write("farcall.toml", &manifest_of(&access, &granted));
    let server =
        Server::start(Transport::Unix, &[battery(false)], &["--manifest", words(&manifest)]);
    let text =
        |module: &str| format!("Module {module};\nDefine f(IN int n, OUT int m) {{ *m = n; }}\n");
    let publish = |module: &str| published(&server, &folder.write("any.idl", &text(module)));
    for (module, why) in [("heat", "farcall.toml"), ("battery", "when the server started")] {
        let (done, said) = publish(module);
        assert!(!done && said.contains(why) && said.contains("administer = true"), "{said}");
    }
    let (done, said) = ordered(&server, &["withdraw", "battery"]);
    assert!(!done && said.contains("administer"), "{said}");
    let private = folder.write("private.idl", "Module private; secret_of_the_server\n");
    std::fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let (done, said) = published(&server, &private);
    assert!(
        !done && said.contains("not readable for all users") && !said.contains("secret_of"),
        "{said}"
    );
    for _ in 0..2 {
        let (done, said) = publish("own");
        assert!(done, "{said}");
    }
    let (done, said) = ordered(&server, &["withdraw", "own"]);
    assert!(done, "{said}");
}
