//! Servers on hosts that are reached by `ssh`: the real one over loopback, and one that does what tests want.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use farcall_tests::{Directory, eventually, program, root, trouble};

/// For how long servers stay without a client here, in seconds.
const LINGER: u64 = 2;

/// A host that `ssh` reaches, with a home folder of its own.
struct Far {
    folder: Directory,
    sshd: Option<Child>,
}

/// The program without what debuggers read: each host takes a copy.
fn lean() -> &'static Path {
    static LEAN: OnceLock<PathBuf> = OnceLock::new();
    LEAN.get_or_init(|| {
        let lean = Path::new(env!("CARGO_TARGET_TMPDIR")).join("farcall-lean");
        let done = Command::new("strip").arg("-o").arg(&lean).arg(program()).status().unwrap();
        assert!(done.success());
        lean
    })
}

impl Far {
    /// A host whose `ssh` is a script: `before` runs there first, and `shell` is its user's.
    fn faked(before: &str, shell: &str) -> Far {
        let folder = Directory::new();
        ["home", "run"].iter().for_each(|name| std::fs::create_dir(folder.0.join(name)).unwrap());
        std::fs::set_permissions(folder.0.join("run"), std::fs::Permissions::from_mode(0o700)).unwrap();
        let place = folder.0.display();
        let script = format!(
            "#!/bin/sh\nfor command; do :; done\necho $$ >{place}/pid\nexport HOME={place}/home \
             XDG_RUNTIME_DIR={place}/run TMPDIR={place}/home\nunset FARCALL_LINGER\ncd {place}/home\n{before}\n\
             exec {shell} -c \"$command\"\n"
        );
        let far = Far { folder, sshd: None };
        far.script(&script);
        far
    }

    /// A host behind a real `sshd` on the loopback; `None` where there is none to be had.
    fn real() -> Option<Far> {
        let found = Command::new(root().join("tools/sshd.sh")).output().unwrap();
        let sshd = String::from_utf8(found.stdout).unwrap();
        if sshd.trim().is_empty() {
            return None;
        }
        let folder = Directory::new();
        ["home", "run"].iter().for_each(|name| std::fs::create_dir(folder.0.join(name)).unwrap());
        std::fs::set_permissions(folder.0.join("run"), std::fs::Permissions::from_mode(0o700)).unwrap();
        let (place, port) = (folder.0.display(), free_port());
        for name in ["host", "key"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.0.join(name));
            assert!(make.status().unwrap().success());
        }
        let server = folder.write(
            "sshd.conf",
            &format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile {place}/key.pub\n\
                 PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
                 SetEnv FARCALL_CACHE={place}/home XDG_RUNTIME_DIR={place}/run XDG_STATE_HOME={place}/home\n"
            ),
        );
        let client = folder.write(
            "config",
            &format!(
                "Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {place}/key\n IdentitiesOnly yes\n \
                 UserKnownHostsFile {place}/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
            ),
        );
        // Where sshd keeps those apart who are not let in yet; root's alone needs it.
        let _ = std::fs::create_dir("/run/sshd");
        let mut command = Command::new(sshd.trim());
        command.args(["-D", "-f"]).arg(server).arg("-E").arg(folder.0.join("log")).stdin(Stdio::null());
        let sshd = command.spawn().unwrap();
        let far = Far { folder, sshd: Some(sshd) };
        far.script(&format!("#!/bin/sh\nexec ssh -F {} \"$@\"\n", client.display()));
        eventually(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(far)
    }

    fn script(&self, text: &str) {
        let ssh = self.folder.write("ssh", text);
        std::fs::set_permissions(ssh, std::fs::Permissions::from_mode(0o700)).unwrap();
    }

    fn home(&self) -> PathBuf {
        self.folder.0.join("home")
    }

    fn socket(&self) -> PathBuf {
        self.folder.0.join("run/farcall/for-tester.laptop.sock")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments);
        if arguments[0] != "connect" {
            command.args(["--server", "ssh://far"]);
        }
        command.env("FARCALL_SSH", self.folder.0.join("ssh")).env("FARCALL_REMOTE_PROGRAM", lean());
        command.env("FARCALL_LINGER", LINGER.to_string()).env("FARCALL_NAME", "tester.laptop");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints that must end well.
    fn printed(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// What a command says that must fail.
    fn refused(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(!done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        String::from_utf8_lossy(&done.stderr).into_owned()
    }

    /// Waits until nothing of ours runs there any more.
    fn is_left(&self) {
        eventually(|| !self.socket().exists() && processes_of(&self.home()).is_empty());
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if let Some(sshd) = &mut self.sshd {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }
}

/// Command lines of the programs that lie below a folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.starts_with(&*folder.to_string_lossy())).collect()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The processes that a process began.
fn children_of(pid: u32) -> Vec<String> {
    let done = Command::new("ps").args(["-o", "pid=", "--ppid", &pid.to_string()]).output().unwrap();
    String::from_utf8(done.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn calls_go_through_a_real_sshd_and_outlive_its_end() {
    let Some(far) = Far::real() else { return };
    assert!(far.printed(&["connect", "far"]).contains("export FARCALL_SERVER=ssh://far"));
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "1500"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(900));
    let sessions = children_of(far.sshd.as_ref().unwrap().id());
    assert!(!sessions.is_empty(), "the call's connection is there");
    let killed = Command::new("kill").arg("-9").args(&sessions).status().unwrap();
    assert!(killed.success());
    let done = call.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    far.is_left();
}

#[test]
fn a_server_begins_on_a_host_that_has_nothing() {
    let far = Far::faked("", "/bin/sh");
    let listed = far.printed(&["ls"]);
    assert!(listed.contains("blas/ddot") && listed.contains("lapack/dgesv"), "{listed}");
    let solved = far.printed(&["call", "dgesv", "[[4, 1], [1, 3]]", "[1, 2]"]);
    assert!(solved.contains("0.0909"), "{solved}");
    let cache = far.home().join(".cache/farcall");
    let kept: Vec<_> = std::fs::read_dir(&cache).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(kept.iter().all(|name| name.to_string_lossy().starts_with("farcall-")), "{kept:?}");
    far.is_left();
}

#[test]
fn a_server_is_there_for_the_next_client_and_ends_without_one() {
    let far = Far::faked("", "/bin/sh");
    let file = trouble(false);
    far.printed(&["publish", file.to_str().unwrap()]);
    assert!(far.printed(&["ls"]).contains("trouble/fine"), "another client finds what the first has published");
    far.is_left();
    assert!(!far.printed(&["ls"]).contains("trouble/fine"), "this one is new");
    far.is_left();
}

#[test]
fn a_server_that_is_not_to_stay_ends_with_its_last_client() {
    let far = Far::faked("", "/bin/sh");
    let done = far.command(&["ls"]).env("FARCALL_LINGER", "0").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let begun = Instant::now();
    far.is_left();
    assert!(begun.elapsed() < Duration::from_secs(LINGER));
}

#[test]
fn what_start_up_files_print_goes_by() {
    let noise = "printf 'Welcome to the cluster.\\nfarcall-0 have /bin/true\\nno end of line: '";
    let far = Far::faked(noise, "/bin/sh");
    assert!(far.printed(&["ls"]).contains("blas/ddot"));
    let endless = Far::faked("exec yes", "/bin/sh");
    let begun = Instant::now();
    let said = endless.refused(&["ls"]);
    assert!(said.contains("prints without end") && begun.elapsed() < Duration::from_secs(20), "{said}");
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
fn an_ssh_that_fails_is_told_with_its_words() {
    let far = Far::faked("echo 'far: Permission denied (publickey).' >&2; exit 255", "/bin/sh");
    let said = far.refused(&["ls"]);
    assert!(said.contains("Permission denied (publickey)") && said.contains("ssh://far"), "{said}");
    let missing = far.command(&["ls"]).env("FARCALL_SSH", "/nonexistent/ssh").output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("/nonexistent/ssh") && said.contains("FARCALL_SSH"), "{said}");
}

#[test]
fn a_host_on_which_nothing_can_be_put_is_told() {
    // Nothing can be made there, not even by root.
    let far = Far::faked("export HOME=/proc/none TMPDIR=/proc/none", "/bin/sh");
    let said = far.refused(&["ls"]);
    assert!(said.contains("no folder can be written to") && said.contains("/proc/none"), "{said}");
    let full = Far::faked("ulimit -f 100", "/bin/sh");
    let said = full.refused(&["ls"]);
    assert!(said.contains("the copy is not whole"), "{said}");
    assert!(!full.home().join(".cache/farcall").read_dir().unwrap().flatten().any(|entry| entry.path().is_file()));
}

#[test]
fn another_machine_is_told_apart() {
    let far = Far::faked("", "/bin/sh");
    let tool = far.folder.write("uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo riscv64\n");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o700)).unwrap();
    let place = far.folder.0.display();
    let home = far.home();
    far.script(&format!(
        "#!/bin/sh\nfor command; do :; done\nexport HOME={} PATH={place}:$PATH TMPDIR={place}/home\nexec /bin/sh -c \"$command\"\n",
        home.display()
    ));
    let said =
        far.command(&["ls"]).env_remove("FARCALL_REMOTE_PROGRAM").env("FARCALL_PROGRAM", lean()).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("Linux-riscv64") && said.contains("FARCALL_REMOTE_PROGRAM"), "{said}");
}

#[test]
fn a_call_outlives_its_ssh() {
    let far = Far::faked("", "/bin/sh");
    far.printed(&["publish", trouble(false).to_str().unwrap()]);
    let call = far.command(&["call", "trouble/hold", "[1, 2]", "1500"]).spawn().unwrap();
    eventually(|| far.socket().exists());
    std::thread::sleep(Duration::from_millis(700));
    let pid = String::from_utf8(far.folder.read("pid")).unwrap();
    let killed = Command::new("kill").args(["-9", "--", pid.trim()]).status().unwrap();
    assert!(killed.success());
    let done = call.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_ne!(String::from_utf8(far.folder.read("pid")).unwrap(), pid, "another ssh came in its place");
    far.is_left();
}
