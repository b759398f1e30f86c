//! Servers on hosts that are reached by `ssh`: the real one over loopback, and one that does what
//! tests want.

pub mod far;
mod faults;
mod lists;
mod nodes;
mod program;
mod settings;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use far::{Far, children_of, kill};
use farcall_tests::{library_directory, trouble};

#[test]
fn calls_go_through_a_real_sshd_and_outlive_its_end() {
    let Some(far) = Far::real() else { return };
    assert!(far.printed(&["connect", "far"]).contains("export FARCALL_SERVER=ssh://far"));
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "3000"]).spawn().unwrap();
    far.is_calling();
    let sessions = children_of(far.sshds[0].id());
    assert!(!sessions.is_empty(), "the call's connection is there");
    kill(&sessions);
    let done = call.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    far.end();
}

#[test]
fn a_server_begins_on_a_host_that_has_nothing() {
    let far = Far::faked("", "/bin/sh");
    let listed = far.printed(&["ls"]);
    assert!(listed.contains("blas/ddot") && listed.contains("lapack/dgesv"), "{listed}");
    let solved = far.printed(&["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"]);
    assert!(solved.contains("0.0909"), "{solved}");
    far.end();
    far.holds_only_its_cache("home/.cache/farcall/");
}

#[test]
fn a_server_is_there_for_the_next_client_and_ends_without_one() {
    let far = Far::faked("", "/bin/sh");
    let mut publish = far.command(&["publish", trouble(false).to_str().unwrap()]);
    assert!(publish.env("FARCALL_LINGER", "5").status().unwrap().success());
    assert!(
        far.printed(&["ls"]).contains("trouble/fine"),
        "another client finds what the first has published"
    );
    far.is_left();
    assert!(!far.printed(&["ls"]).contains("trouble/fine"), "this one is new");
    far.end();
}

#[test]
fn a_server_that_is_not_to_stay_ends_with_its_last_client() {
    let far = Far::faked("", "/bin/sh");
    let done = far.command(&["ls"]).env("FARCALL_LINGER", "0").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    far.is_left();
}

#[test]
fn what_start_up_files_print_goes_by() {
    let noise = "printf 'Welcome to the cluster.\\nfarcall-0 have /bin/true\\nno end of line: '";
    let far = Far::faked(noise, "/bin/sh");
    assert!(far.printed(&["ls"]).contains("blas/ddot"));
    let endless = Far::faked("exec yes", "/bin/sh");
    let begun = Instant::now();
    let said = endless.refused(&["ls"]);
    assert!(
        said.contains("prints too much text") && begun.elapsed() < Duration::from_secs(20),
        "{said}"
    );
}

/// What the user's own start-up files do before the shell that they are to become.
#[test]
fn start_up_files_may_read_and_become_another_shell() {
    for before in [
        "sleep 1",
        // What is echoed has our commands in it, and is no answer to them.
        "read line; echo \"$line\"",
        "printf 'no end of line'; exec /bin/sh",
        "head -c 1500000 /dev/zero | tr '\\0' x",
        "export TMPDIR=/nowhere",
        "umask 777",
        "set -x; exec 2>&1",
        "export HOME=\"$HOME/it's \\\"here\\\" \\$x\"",
    ] {
        let far = Far::faked(before, "/bin/sh");
        let solved = far.printed(&["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"]);
        assert!(solved.contains("0.0909"), "{before}: {solved}");
    }
    let hasty = |before: &str| {
        let done = Far::faked(before, "/bin/sh")
            .command(&["call", "dgesv", "[[1]]", "[1]", "--timeout", "7"])
            .output();
        String::from_utf8_lossy(&done.unwrap().stderr).into_owned()
    };
    for (before, words) in [
        ("exec cat", "did not answer in time: no shell ran a command (it printed: exec"),
        (
            "echo 'this account is closed'; exit 1",
            "without running a command (it printed: this account is closed",
        ),
    ] {
        let said = hasty(before);
        assert!(said.contains(words) && said.contains("`ssh HOST echo yes`"), "{before}: {said}");
    }
}

#[test]
fn a_runtime_folder_with_a_long_name_is_gone_round() {
    let name = "x".repeat(90);
    let far = Far::faked(
        &format!("mkdir -p run/{name}; export XDG_RUNTIME_DIR=$PWD/run/{name}"),
        "/bin/sh",
    );
    let mut list = far.command(&["ls"]);
    let own = format!("long-{}", std::process::id());
    assert!(
        list.env("FARCALL_NAME", own).env("FARCALL_LINGER", "0").output().unwrap().status.success()
    );
    far.is_left();
}

#[test]
fn any_shell_will_do() {
    for shell in ["/bin/bash", "/bin/dash", "/bin/csh", "/usr/bin/fish", "/bin/zsh"] {
        if Path::new(shell).exists() {
            assert!(Far::faked("", shell).printed(&["ls"]).contains("blas/ddot"), "{shell}");
        }
    }
}

#[test]
fn a_call_outlives_its_ssh() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "3000"]).spawn().unwrap();
    far.is_calling();
    let pid = far.pid();
    kill(std::slice::from_ref(&pid));
    let done = call.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_ne!(far.pid(), pid, "another ssh came in its place");
    far.end();
}

#[test]
fn a_command_that_is_interrupted_ends_its_call() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    for signal in ["-INT", "-TERM"] {
        let mut call = far.command(&["call", "trouble/hold", "[1, 2]", "60000"]).spawn().unwrap();
        far.is_calling();
        assert!(
            Command::new("kill").args([signal, &call.id().to_string()]).status().unwrap().success()
        );
        assert!(call.wait().unwrap().code().is_none(), "it ends as the signal says");
        assert!(
            !far.printed(&["top", "--once"]).contains("trouble/hold  running"),
            "{signal}: the call has ended"
        );
        let status: serde_json::Value =
            serde_json::from_str(&far.printed(&["top", "--once", "--json"])).unwrap();
        assert_eq!(status["calls"].as_array().map(Vec::len), Some(0), "{status}");
    }
    far.end();
}

#[test]
fn code_in_an_interface_file_is_linked_with_a_library_that_is_brought_once() {
    let far = Far::faked("unset FARCALL_LIBRARY_DIRECTORY", "/bin/sh");
    let file = trouble(true);
    let linked = file.to_str().unwrap();
    far.printed(&["connect", "far"]);
    let said = far.refused(&["publish", linked]);
    assert!(said.contains("farcall connect HOST --library"), "{said}");
    let bring = || {
        let mut bring = far.command(&["connect", "far", "--library"]);
        let done = bring.env("FARCALL_LIBRARY_DIRECTORY", library_directory()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        far.files().into_iter().filter(|file| file.contains("/library-")).collect::<Vec<String>>()
    };
    let brought = bring();
    assert!(brought.iter().any(|file| file.ends_with("/libfarcall.so.0")), "{brought:?}");
    assert_eq!(bring(), brought, "once is enough");
    far.printed(&["publish", linked]);
    assert!(far.printed(&["ls"]).contains("trouble/fine"));
    far.printed(&["call", "trouble/hold", "[1, 2]", "1"]);
    far.end();
}

#[test]
fn an_installation_without_the_library_says_so() {
    let far = Far::faked("", "/bin/sh");
    let said = far.refused(&["connect", "far", "--library"]);
    assert!(
        said.contains("no libfarcall.so.0 to copy") && said.contains("FARCALL_LIBRARY_DIRECTORY"),
        "{said}"
    );
    assert!(far.files().iter().all(|file| !file.contains("/library-")), "{:?}", far.files());
}
