//! Guards against another user of the machine. They need root, who alone can play two users; others
//! skip them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{chown, lchown};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::*;

/// "nobody" on Debian; any other number would do.
const STRANGER: u32 = 65_534;
/// Tells a child of these tests what to do, and with which path.
const ROLE: &str = "FARCALL_TEST_ROLE";
const PATH: &str = "FARCALL_TEST_PATH";

fn is_root() -> bool {
    let root = own_uid() == 0;
    if !root {
        println!("skipped: only root can play two users");
    }
    root
}

/// Runs `role` of `plays_a_role` as the stranger; returns when it says that it is ready.
fn stranger(scratch: &Scratch, role: &str, path: &Path) -> Child {
    fs::set_permissions(&scratch.0, Permissions::from_mode(0o755)).unwrap();
    // The build directory may be closed to the stranger, so it gets a copy of this program.
    let program = scratch.join("stranger");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command
        .args(["--exact", "tests::other_user::plays_a_role", "--nocapture"])
        .env(ROLE, role)
        .env(PATH, path)
        .current_dir("/")
        .uid(STRANGER)
        .gid(STRANGER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    // A test beside this one may be starting a process, which has the copy open for writing until
    // it becomes another program.
    let is_busy = |outcome: &std::io::Result<Child>| {
        outcome.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ExecutableFileBusy)
    };
    let mut child = command.spawn();
    for _ in 0..100 {
        if !is_busy(&child) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        child = command.spawn();
    }
    let mut child = child.unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")), "the stranger did its part");
    child
}

fn dismiss(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Not a test of its own: what the child of another test does.
#[test]
fn plays_a_role() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(PATH)) else { return };
    let path = PathBuf::from(path);
    match role.as_str() {
        "listen" => {
            let _listener = Listener::bind(&path).unwrap();
            wait_for_dismissal();
        }
        "connect" => {
            let _stream = connect(&path).unwrap();
            wait_for_dismissal();
        }
        "be refused" => {
            let error = connect(&path).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            wait_for_dismissal();
        }
        _ => panic!("unknown role {role}"),
    }
}

fn wait_for_dismissal() {
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn another_user_cannot_connect_to_the_socket_file() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let _listener = Listener::bind(&scratch.join("s")).unwrap();
    dismiss(stranger(&scratch, "be refused", &scratch.join("s")));
}

#[test]
fn another_user_who_gets_through_is_reported_as_such() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let path = scratch.join("s");
    let mut listener = Listener::bind(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let child = stranger(&scratch, "connect", &path);
    let proof = accept(&mut listener).peer().proof.clone();
    assert_eq!(proof, Proof::User { uid: STRANGER, pid: child.id() });
    dismiss(child);
}

#[test]
fn a_server_of_another_user_is_refused_unless_named() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let theirs = scratch.join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(STRANGER), Some(STRANGER)).unwrap();
    let path = theirs.join("s");
    let child = stranger(&scratch, "listen", &path);
    let error = connect(&path).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("uid 65534"), "{error}");
    assert!(connect_to_user(&path, STRANGER).is_ok());
    assert!(connect_to_user(&path, STRANGER - 1).is_err());
    dismiss(child);
}

#[test]
fn a_directory_or_link_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let theirs = scratch.join("theirs");
    let ours = scratch.join("ours");
    let link = scratch.join("link");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(STRANGER), Some(STRANGER)).unwrap();
    let error = Listener::bind(&theirs.join("s")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.message().contains("belongs to uid 65534"), "{error}");
    // A link planted by them that leads to a good directory: they could turn it elsewhere at any
    // time.
    fs::create_dir(&ours).unwrap();
    symlink(&ours, &link).unwrap();
    assert!(Listener::bind(&link.join("s")).is_ok(), "our own link is our own affair");
    lchown(&link, Some(STRANGER), Some(STRANGER)).unwrap();
    let error = Listener::bind(&link.join("s")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.message().contains("symbolic link"), "{error}");
}
