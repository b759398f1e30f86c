//! Lists with hosts that ask the user something.

use std::process::{Command, Stdio};

use farcall_tests::{eventually, program};

use super::far::{Far, lean};

/// Without questions, the hosts let nobody in. With them, each asks for a while.
const ASKS: &str = "case \"$words\" in *BatchMode=yes*) echo 'Permission denied (password).' >&2; \
    exit 255;; esac\n\
    host=one; case \"$words\" in *' two '*) host=two;; esac\n\
    echo \"begin $host\" >>asked\nrest=$(cat patience)\nwhile [ $rest -gt 0 ]; do sleep 0.1; rest=$((rest - 1)); done\necho \"end $host\" >>asked\n\
    exec /bin/sh -c \"$command\"";

/// Hosts that ask for so many tenths of a second.
fn far(patience: &str) -> Far {
    let far = Far::run_by(&format!("words=\" $* \"\n{ASKS}"));
    far.folder.write("patience", patience);
    far
}

fn command(far: &Far, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).env("FARCALL_SSH", far.folder.0.join("ssh"));
    command.env("FARCALL_REMOTE_PROGRAM", lean()).env("FARCALL_LINGER", "5");
    command.env("FARCALL_NAME", "tester.laptop").env("FARCALL_SSH_SHARE", "0");
    // A way to ask, on a machine without a terminal.
    command.env("SSH_ASKPASS", "/bin/true").env("XDG_STATE_HOME", far.folder.0.join("state"));
    command.stdin(Stdio::null());
    command
}

fn asked(far: &Far) -> Vec<String> {
    let text = std::fs::read_to_string(far.folder.0.join("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Two hosts ask, one after the other: the call needs one of them.
#[test]
fn questions_come_one_after_the_other() {
    let far = far("5");
    let done = command(&far, &["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"])
        .args(["--server", "ssh://one ssh://two"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    // With the first, the call can run.
    let asked = asked(&far);
    let first = asked[0].replace("begin ", "");
    assert!(said.contains(&format!("ssh://{first}: ssh asks for this host:")), "{said}");
    assert_eq!(asked[1], format!("end {first}"), "{asked:?}");
    far.is_left();
}

/// A host that waits for an answer holds up nobody, and its question ends with the command.
#[test]
fn a_host_that_asks_holds_up_nobody() {
    let far = far("1000");
    let done = command(&far, &["servers", "--server", "ssh://one here"]).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert!(shown.contains("here") && shown.contains("waits for an answer"), "{shown}{said}");
    let ended = || {
        let pid = far.pid();
        !std::path::Path::new(&format!("/proc/{pid}")).exists()
    };
    assert!(eventually(ended));
    // It may have ended before it had said a word, and never got its answer.
    assert!(asked(&far).iter().all(|line| line == "begin one"), "{:?}", asked(&far));
}
