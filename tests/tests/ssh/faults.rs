//! What goes wrong on the far side, and on the way there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use farcall_tests::{Directory, eventually, trouble};

use super::far::{Far, has_namespaces, kill, lean, processes_of};

#[test]
fn an_ssh_that_fails_is_told_with_its_words() {
    let far = Far::faked("echo 'far: Permission denied (publickey).' >&2; exit 255", "/bin/sh");
    let said = far.refused(&["ls"]);
    assert!(said.contains("Permission denied (publickey)") && said.contains("ssh://far"), "{said}");
    let unknown = Far::faked("echo 'ssh: Could not resolve hostname far' >&2; exit 255", "/bin/sh");
    let said = unknown.refused(&["ls"]);
    assert!(said.contains(
        "farcall: connect: ssh failed: ssh: Could not resolve hostname far (server: ssh://far)"
    ));
    let missing = far.command(&["ls"]).env("FARCALL_SSH", "/nonexistent/ssh").output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("/nonexistent/ssh") && said.contains("FARCALL_SSH"), "{said}");
}

#[test]
fn an_ssh_that_hangs_is_waited_for_as_long_as_was_said() {
    let far = Far::faked("sleep 60", "/bin/sh");
    let begun = Instant::now();
    let said = far.refused(&["call", "dgesv", "[[1]]", "[1]", "--timeout", "2"]);
    assert!(said.contains("did not answer in time") && said.contains("ssh://far"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn files_of_this_host_and_launchers_that_are_not_there_are_told() {
    let far = Far::faked("cd home", "/bin/sh");
    let said = far.refused(&["connect", "far/condor"]);
    assert!(
        said.contains("there is no launcher \"condor\"")
            && said.contains("there are gridengine, local, lsf, pbs, slurm, ssh"),
        "{said}"
    );
    let own = Directory::new();
    let file = own.write("own.idl", "Module own;\n");
    let inside = file.to_str().unwrap().to_owned();
    // Of another root, as it were: the file is sent there.
    let hidden = Far::mounted(&format!("mount -t tmpfs none {}", own.0.display()));
    if has_namespaces() {
        let said = hidden.printed(&["publish", &inside]);
        assert!(said.contains("own"), "{said}");
    }
    far.is_left();
    hidden.is_left();
}

/// A host whose `ssh` asks: the key has a passphrase, which a program of the user's is asked for.
fn asking() -> Option<Far> {
    let far = Far::real()?;
    ["key", "key.pub", "host", "host.pub"]
        .iter()
        .for_each(|name| std::fs::remove_file(far.folder.0.join(name)).unwrap());
    far.make_keys("open sesame");
    let place = far.folder.0.display();
    far.script("ask", &format!("#!/bin/sh\necho asked >>{place}/asked\necho open sesame\n"));
    Some(far)
}

/// A command that may ask there, and how often that has been done.
fn ask(far: &Far, arguments: &[&str]) -> Command {
    let mut command = far.command(arguments);
    command.env("SSH_ASKPASS", far.folder.0.join("ask")).env("SSH_ASKPASS_REQUIRE", "force");
    command.env_remove("SSH_AUTH_SOCK").env("FARCALL_RECONNECT", "20");
    command
}

fn asked(far: &Far) -> usize {
    String::from_utf8(far.folder.read("asked")).unwrap().lines().count()
}

#[test]
fn several_connections_share_one_authentication() {
    let Some(far) = asking() else { return };
    // A path of a socket is short, and nobody else may enter its folder.
    let private = Directory::new();
    std::fs::set_permissions(&private.0, std::fs::Permissions::from_mode(0o700)).unwrap();
    let shared = |arguments: &[&str]| {
        let mut command = ask(&far, arguments);
        let done = command
            .env("FARCALL_SSH_SHARE", "1")
            .env("XDG_RUNTIME_DIR", &private.0)
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let control = format!("-oControlPath={}/farcall/%C", private.0.display());
    let order = |order: &str| {
        Command::new(far.folder.0.join("ssh"))
            .args([&control, "-O", order, "far"])
            .output()
            .unwrap()
    };
    shared(&["publish", trouble(false).to_str().unwrap()]);
    assert!(shared(&["ls"]).contains("trouble/fine"));
    assert_eq!(asked(&far), 1, "the second connection goes the way of the first");
    assert!(order("check").status.success());
    // Its end is that of none but those who use it; the next one asks again.
    kill(&super::children_of(far.sshds[0].id()));
    eventually(|| !order("check").status.success());
    shared(&["drain"]);
    assert_eq!(asked(&far), 2);
    order("exit");
    far.is_left();
}

#[test]
fn an_ssh_that_asks_does_so_once() {
    let Some(far) = asking() else { return };
    let done = ask(&far, &["publish", trouble(false).to_str().unwrap()]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(asked(&far), 1);
    let call = ask(&far, &["call", "trouble/hold", "[1, 2]", "4000"]).spawn().unwrap();
    eventually(|| asked(&far) == 2);
    far.is_calling();
    kill(&super::children_of(far.sshds[0].id()));
    let done = call.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("ssh cannot log in"), "{said}");
    assert_eq!(asked(&far), 2, "a connection that is made again asks for nothing");
    assert!(ask(&far, &["drain"]).output().unwrap().status.success());
    far.is_left();
}

/// A file in NumPy's format, version 1.0.
fn numpy(values: &[f64]) -> Vec<u8> {
    let words =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend_from_slice(format!("{words:117}\n").as_bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_an_array_is_made_again() {
    // Passes on 3 MB as they come.
    let cut = "import os\nleft = 3000000\nwhile left > 0:\n    \
               piece = os.read(0, min(left, 65536))\n    \
               left -= len(piece)\n    while piece: piece = piece[os.write(1, piece):]\n";
    for (what, pipeline) in [
        ("there", "python3 cut.py | /bin/sh -c \"$command\""),
        ("back", "/bin/sh -c \"$command\" | python3 cut.py"),
    ] {
        let far = Far::run_by(&format!(
            "if [ -e cut ] && rm cut; then {pipeline}; else exec /bin/sh -c \"$command\"; fi"
        ));
        far.folder.write("cut.py", cut);
        far.printed(&["publish", trouble(false).to_str().unwrap()]);
        let array = far.folder.write_bytes("x.npy", &numpy(&vec![1.5; 1_000_000]));
        far.folder.write("cut", "");
        let done = far.run(&["call", "trouble/hold", &format!("@{}", array.display()), "1"]);
        assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(!far.folder.0.join("cut").exists());
        far.end();
    }
}

#[test]
fn a_host_on_which_nothing_can_be_put_is_told() {
    // Nothing can be made there, not even by root.
    let nowhere = "export HOME=/proc/none TMPDIR=/proc/none XDG_RUNTIME_DIR=";
    let said = Far::faked(nowhere, "/bin/sh").refused(&["ls"]);
    assert!(said.contains("/proc/none/.cache/farcall cannot be made"), "{said}");
    let full = Far::faked("ulimit -f 100", "/bin/sh");
    let said = full.refused(&["ls"]);
    assert!(
        said.contains("home/.cache/farcall has no room for") && said.contains("FARCALL_CACHE"),
        "{said}"
    );
    assert_eq!(full.files(), Vec::<String>::new());
}

#[test]
fn a_home_that_is_full_or_cannot_be_used_is_gone_round() {
    if !has_namespaces() {
        return;
    }
    let read_only = "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,ro,bind \"$HOME\"";
    for (what, mount) in [
        ("tiny", "mount -t tmpfs -o size=1m none \"$HOME\""),
        (
            "full",
            "mount -t tmpfs -o size=64k none \"$HOME\"; head -c 1m /dev/zero >\"$HOME/all\" \
                2>/dev/null",
        ),
        ("read-only", read_only),
        ("noexec", "mount -t tmpfs -o noexec none \"$HOME\""),
    ] {
        let far = Far::mounted(mount);
        let solved = far.printed(&["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"]);
        assert!(solved.contains("0.0909"), "{what}: {solved}");
        far.end();
        let files = far.files();
        assert!(
            !files.is_empty() && files.iter().all(|file| file.starts_with("tmp/farcall-")),
            "{what}: {files:?}"
        );
    }
    let nowhere = "mount -t tmpfs -o noexec none \"$HOME\"; mount -t tmpfs -o noexec none \
                   \"$TMPDIR\"; mount -t tmpfs -o noexec none \"$XDG_RUNTIME_DIR\"";
    let said = Far::mounted(nowhere).refused(&["ls"]);
    assert!(
        said.contains("home/.cache/farcall lets no program run; ")
            && said.contains("FARCALL_CACHE"),
        "{said}"
    );
}

/// A full disk, or a host that fell over, leaves copies that are not whole.
#[test]
fn a_copy_that_is_not_whole_is_brought_again() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["ls"]);
    far.end();
    let copy = |far: &Far| {
        let mut files = far.files().into_iter();
        let is_program = |file: &String| {
            file.rsplit_once('/').is_some_and(|(_, name)| name.starts_with("farcall-"))
        };
        far.folder
            .0
            .join(files.find(|file| is_program(file) && !file.contains("-routines/")).unwrap())
    };
    let whole = std::fs::read(copy(&far)).unwrap();
    for left in [0, whole.len() / 2] {
        // In its place, not into it: the kernel may still be giving back the memory of a process
        // that ran it.
        let copy_now = copy(&far);
        let part = far.folder.0.join("part");
        std::fs::write(&part, &whole[..left]).unwrap();
        std::fs::set_permissions(&part, std::fs::metadata(&copy_now).unwrap().permissions())
            .unwrap();
        std::fs::rename(&part, copy_now).unwrap();
        far.printed(&["ls"]);
        assert!(std::fs::read(copy(&far)).unwrap() == whole, "{left} bytes were left");
        far.end();
    }
}

#[test]
fn a_runtime_folder_that_takes_nothing_is_gone_round() {
    if !has_namespaces() {
        return;
    }
    for (number, mount) in [
        "mount -t tmpfs -o ro none \"$XDG_RUNTIME_DIR\"",
        "mount -t tmpfs -o size=4k none \"$XDG_RUNTIME_DIR\"; head -c 1m /dev/zero \
            >\"$XDG_RUNTIME_DIR/all\" 2>/dev/null",
        "mount -t tmpfs -o nr_inodes=2 none \"$XDG_RUNTIME_DIR\"",
    ]
    .iter()
    .enumerate()
    {
        let far = Far::mounted(mount);
        let own = format!("full-{number}-{}", std::process::id());
        let list = |arguments: &[&str]| {
            let done = far.command(arguments).env("FARCALL_NAME", &own).output().unwrap();
            assert!(done.status.success(), "{mount}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8_lossy(&done.stdout).into_owned()
        };
        list(&["publish", trouble(false).to_str().unwrap()]);
        assert!(list(&["ls"]).contains("trouble/fine"), "{mount}: the same server");
        list(&["drain"]);
        far.is_left();
    }
}

#[test]
fn a_host_that_allows_too_few_open_files_is_told() {
    let said = Far::faked("ulimit -n 20", "/bin/sh").refused(&["ls"]);
    assert!(
        said.contains("a process here may have 20 open files") && said.contains("ulimit -Hn"),
        "{said}"
    );
}

fn copy_named(digit: &str) -> String {
    format!("farcall-{}", digit.repeat(32))
}

/// A copy of the program, its routines and its library, as a host of today has them.
fn write_copy(cache: &Path, digit: &str) {
    let library = format!("library-{}", digit.repeat(32));
    std::fs::write(cache.join(copy_named(digit)), digit).unwrap();
    std::fs::create_dir(cache.join(format!("{}-routines", copy_named(digit)))).unwrap();
    std::fs::create_dir(cache.join(&library)).unwrap();
    std::os::unix::fs::symlink(&library, cache.join(format!("{}.lib", copy_named(digit)))).unwrap();
}

/// By its path: a program that runs cannot be opened to be written to.
fn set_hours_ago(path: &Path, ago: i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_secs().cast_signed();
    let then = rustix::fs::Timespec { tv_sec: now - 3600 * ago, tv_nsec: 0 };
    let times = rustix::fs::Timestamps { last_access: then, last_modification: then };
    let flags = rustix::fs::AtFlags::empty();
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).unwrap();
}

#[test]
fn old_copies_go_but_for_those_that_run() {
    let far = Far::faked("", "/bin/sh");
    let other = variant(&far, |content| content.extend_from_slice(b"another"));
    let mut old = far.command(&["publish", trouble(false).to_str().unwrap()]);
    old.env("FARCALL_REMOTE_PROGRAM", other).env("FARCALL_NAME", "other");
    assert!(old.output().unwrap().status.success());
    let cache = far.home().join(".cache/farcall");
    let copies = || {
        let names = std::fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with("server-")).collect();
        names.sort();
        names
    };
    let running: Vec<String> = copies();
    let touch = |name: &str, ago: i64| set_hours_ago(&cache.join(name), ago);
    // Used 1 to 6 hours ago; another host's server says that it runs the fifth.
    for (ago, digit) in (1..).zip(["1", "2", "3", "4", "5", "6"]) {
        write_copy(&cache, digit);
        touch(&copy_named(digit), ago);
    }
    let program = cache.join(copy_named("5"));
    let record =
        format!("host elsewhere\nprocess 1\nsocket /nowhere\nprogram {}\n", program.display());
    std::fs::write(cache.join("server-elsewhere"), record).unwrap();
    running.iter().for_each(|name| touch(name, 100));
    far.printed(&["ls"]);
    // The newest three are the one that runs now, and two more.
    eventually(|| copies().iter().all(|name| !name.contains("6666") && !name.contains("3333")));
    let left = copies();
    let is_there = |name: &str| left.iter().any(|left| left == name);
    for digit in ["1", "2", "5"] {
        for name in [
            copy_named(digit),
            format!("{}-routines", copy_named(digit)),
            format!("{}.lib", copy_named(digit)),
        ] {
            assert!(is_there(&name), "{name} of {left:?}");
        }
        assert!(is_there(&format!("library-{}", digit.repeat(32))), "{left:?}");
    }
    assert!(running.iter().all(|name| is_there(name)), "what runs stays: {running:?} of {left:?}");
    assert!(
        !left
            .iter()
            .any(|name| ["3333", "4444", "6666"].iter().any(|digits| name.contains(digits))),
        "{left:?}"
    );
    let mut drain = far.command(&["drain"]);
    assert!(drain.env("FARCALL_NAME", "other").output().unwrap().status.success());
    far.end();
}

/// Another program of the same kind, in the folder of a host.
fn variant(far: &Far, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut content = std::fs::read(lean()).unwrap();
    change(&mut content);
    let path = far.folder.write_bytes("variant", &content);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

#[test]
fn a_server_of_another_version_is_used_until_it_ends() {
    let far = Far::faked("", "/bin/sh");
    let other = variant(&far, |content| content.extend_from_slice(b"another"));
    let mut publish = far.command(&["publish", trouble(false).to_str().unwrap()]);
    let done = publish.env("FARCALL_REMOTE_PROGRAM", other).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(far.printed(&["ls"]).contains("trouble/fine"), "what runs there holds the results");
    far.end();
    assert!(!far.printed(&["ls"]).contains("trouble/fine"), "the next is of this version");
    far.end();
}

#[test]
fn a_program_that_cannot_run_there_is_told() {
    let far = Far::faked("", "/bin/sh");
    let loader = b"/lib64/ld-linux-x86-64.so.2\0";
    let other = variant(&far, |content| {
        let at = content.windows(loader.len()).position(|window| window == loader).unwrap();
        content[at + loader.len() - 2] = b'9';
    });
    let done = far.command(&["ls"]).env("FARCALL_REMOTE_PROGRAM", other).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("Farcall cannot run there: Linux-"), "{said}");
    assert!(said.contains("not found") && said.contains("FARCALL_REMOTE_PROGRAM"), "{said}");
}

#[test]
fn another_machine_is_told_apart() {
    let far = Far::faked("PATH=$PWD:$PATH", "/bin/sh");
    far.script("uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo riscv64\n");
    let mut command = far.command(&["ls"]);
    let done = command
        .env_remove("FARCALL_REMOTE_PROGRAM")
        .env("FARCALL_PROGRAM", lean())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("Linux-riscv64") && said.contains("FARCALL_REMOTE_PROGRAM"), "{said}");
}

#[test]
fn a_far_side_that_is_killed_as_a_whole_is_told_and_begins_anew() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let begun = Instant::now();
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "60000"]).spawn().unwrap();
    far.is_calling();
    // As a login manager does with `KillUserProcesses`: the session's processes, and what left it.
    kill(&processes_of(&far.home()).into_iter().map(|(pid, _)| pid).collect::<Vec<_>>());
    let done = call.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && begun.elapsed() < Duration::from_secs(30), "{said}");
    assert!(said.contains("it may have run"), "{said}");
    assert!(far.printed(&["ls"]).contains("blas/ddot"), "another server began");
    far.end();
    far.holds_only_its_cache("home/.cache/farcall/");
}

#[test]
fn top_and_objects_work_and_nothing_is_left_but_the_cache() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "3000"]).spawn().unwrap();
    eventually(|| far.printed(&["top", "--once"]).contains("trouble/hold"));
    let status: serde_json::Value =
        serde_json::from_str(&far.printed(&["top", "--once", "--json"])).unwrap();
    assert_eq!(status["totals"]["executables_started"], 1, "{status}");
    assert_eq!(far.printed(&["objects", "--json"]), "");
    assert!(call.wait_with_output().unwrap().status.success());
    assert!(Path::new(&far.socket()).exists());
    far.end();
    far.holds_only_its_cache("home/.cache/farcall/");
}

#[test]
fn a_kept_result_outlives_its_server() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let kept = far.printed(&["submit", "trouble/fine", "3"]);
    far.end();
    assert!(far.printed(&["fetch", kept.trim()]).contains('3'), "{kept}");
    far.printed(&["kept", "--forget", kept.trim()]);
    far.end();
    let left: Vec<_> = far.files().into_iter().filter(|file| file.contains("/results/")).collect();
    assert!(left.iter().all(|file| file.ends_with("/lock")), "{left:?}");
}
