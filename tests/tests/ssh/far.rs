//! A host that `ssh` reaches, with a home folder of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use farcall_tests::{Directory, eventually, program, root};

/// For how long servers stay without a client here, in seconds: longer than a slow machine takes to
/// connect again.
const LINGER: u64 = 30;

/// The far side.
pub struct Far {
    pub folder: Directory,
    pub sshds: Vec<Child>,
}

/// The program without what debuggers read: each host takes a copy.
pub fn lean() -> &'static Path {
    static LEAN: OnceLock<PathBuf> = OnceLock::new();
    LEAN.get_or_init(|| {
        let lean = Path::new(env!("CARGO_TARGET_TMPDIR")).join("farcall-lean");
        let done = Command::new("strip").arg("-o").arg(&lean).arg(program()).status().unwrap();
        assert!(done.success());
        lean
    })
}

/// Whether this user may have namespaces of his own, for other hosts and file systems; says so if
/// not.
pub fn has_namespaces() -> bool {
    let done = Command::new("unshare").args(["-um", "true"]).stderr(Stdio::null()).status();
    let has = done.is_ok_and(|status| status.success());
    if !has {
        eprintln!("left out: this user may not have namespaces of his own");
    }
    has
}

/// Where an `sshd` is; `None` where there is none to be had.
pub fn sshd() -> Option<PathBuf> {
    let found = Command::new(root().join("tools/sshd.sh")).output().unwrap();
    let sshd = String::from_utf8(found.stdout).unwrap();
    (!sshd.trim().is_empty()).then(|| sshd.trim().into())
}

impl Far {
    /// Its folders, and no way there yet.
    pub fn unreached() -> Far {
        let folder = Directory::new();
        ["home", "run", "tmp"]
            .iter()
            .for_each(|name| std::fs::create_dir(folder.0.join(name)).unwrap());
        std::fs::set_permissions(folder.0.join("run"), std::fs::Permissions::from_mode(0o700))
            .unwrap();
        Far { folder, sshds: Vec::new() }
    }

    /// A host whose `ssh` is a script: `before` runs there first, and `shell` is its user's.
    pub fn faked(before: &str, shell: &str) -> Far {
        Far::run_by(&format!("{before}\nexec {shell} -c \"$command\""))
    }

    /// A host whose `ssh` is a script that runs `$command` by these commands.
    pub fn run_by(commands: &str) -> Far {
        let far = Far::unreached();
        let place = far.folder.0.display();
        far.script(
            "ssh",
            &format!(
                "#!/bin/sh\nfor command; do :; done\necho $$ >{place}/pid\nexport \
                 HOME={place}/home XDG_RUNTIME_DIR={place}/run TMPDIR={place}/tmp\n\
                 unset FARCALL_LINGER FARCALL_SSH FARCALL_CACHE XDG_CACHE_HOME\ncd \
                 {place}\n{commands}\n"
            ),
        );
        far
    }

    /// The same with a file system over its home, or another folder.
    pub fn mounted(mounts: &str) -> Far {
        let inside = "[ -n \"$INSIDE\" ] || INSIDE=1 exec unshare -m \"$0\" \"$@\"";
        Far::faked(&format!("{inside}\n{mounts}"), "/bin/sh")
    }

    /// A host behind a real `sshd` on the loopback; `None` where there is none to be had.
    pub fn real() -> Option<Far> {
        let sshd = sshd()?;
        let mut far = Far::unreached();
        far.make_keys("");
        let port = free_port();
        let server = far.sshd_file("sshd", port, "");
        let mut command = Command::new(sshd);
        command
            .args(["-D", "-f"])
            .arg(server)
            .arg("-E")
            .arg(far.folder.0.join("log"))
            .stdin(Stdio::null());
        far.sshds.push(command.spawn().unwrap());
        far.client_file(&format!("Host far\n Port {port}\n"));
        far.script(
            "ssh",
            &format!("#!/bin/sh\nexec ssh -F {}/config \"$@\"\n", far.folder.0.display()),
        );
        eventually(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(far)
    }

    /// The host's key and the user's.
    pub fn make_keys(&self, passphrase: &str) {
        for (name, words) in [("host", ""), ("key", passphrase)] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", words, "-f"]).arg(self.folder.0.join(name));
            assert!(make.status().unwrap().success());
        }
        // Where sshd keeps those apart who are not let in yet; root's alone needs it.
        let _ = std::fs::create_dir("/run/sshd");
    }

    /// What an `sshd` is told.
    pub fn sshd_file(&self, name: &str, port: u16, more: &str) -> PathBuf {
        let place = self.folder.0.display();
        self.folder.write(
            name,
            &format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host\nAuthorizedKeysFile \
                 {place}/key.pub\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication \
                 no\nPermitRootLogin yes\nSetEnv FARCALL_CACHE={place}/home \
                 XDG_RUNTIME_DIR={place}/run XDG_STATE_HOME={place}/home {more}\n"
            ),
        )
    }

    /// What `ssh` is told: these hosts, and of all of them the same.
    pub fn client_file(&self, hosts: &str) {
        let place = self.folder.0.display();
        let all = format!(
            "Host *\n HostName 127.0.0.1\n IdentityFile {place}/key\n IdentitiesOnly yes\n \
             UserKnownHostsFile {place}/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n"
        );
        self.folder.write("config", &format!("{hosts}{all}"));
    }

    /// A program in its folder.
    pub fn script(&self, name: &str, text: &str) {
        // Beside and then moved over: another may be running it.
        let script = self.folder.write(&format!("{name}.new"), text);
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::rename(&script, self.folder.0.join(name)).unwrap();
    }

    pub fn home(&self) -> PathBuf {
        self.folder.0.join("home")
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.0.join("run/farcall/for-tester.laptop.sock")
    }

    /// The `ssh` that was begun last.
    pub fn pid(&self) -> String {
        String::from_utf8(self.folder.read("pid")).unwrap().trim().to_owned()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        // Whoever started the tests in the background may have them ignore it.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(program()).args(arguments);
        if !["connect", "config"].contains(&arguments[0]) {
            command.args(["--server", "ssh://far"]);
        }
        command.env("FARCALL_SSH", self.folder.0.join("ssh")).env("FARCALL_REMOTE_PROGRAM", lean());
        command.env("FARCALL_LINGER", LINGER.to_string()).env("FARCALL_NAME", "tester.laptop");
        command.env("FARCALL_SSH_SHARE", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints that must end well.
    pub fn printed(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// What a command says that must fail.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(!done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        String::from_utf8_lossy(&done.stderr).into_owned()
    }

    /// Ends its server, and waits until nothing of ours runs there any more.
    pub fn end(&self) {
        self.printed(&["drain"]);
        self.is_left();
    }

    /// Waits until a routine runs there.
    pub fn is_calling(&self) {
        eventually(|| processes_of(&self.folder.0).iter().any(|(_, line)| line.contains(" host ")));
        // The executable has begun; its call follows.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }

    /// Waits until nothing of ours runs there any more.
    pub fn is_left(&self) {
        eventually(|| !self.socket().exists() && processes_of(&self.folder.0).is_empty());
    }

    /// Nothing is left but the program and what it brought, and which modules were published: who
    /// asks for one of these later is told that it is gone.
    pub fn holds_only_its_cache(&self, folder: &str) {
        let files = self.files();
        let is_ours = |file: &String| {
            file.strip_prefix(folder).is_some_and(|file| file.starts_with("farcall-"))
                || file.contains("/farcall/published/") && file.ends_with("/record.json")
        };
        assert!(!files.is_empty() && files.iter().all(is_ours), "{files:?}");
    }

    /// What lies in its folders, by paths from `folder`.
    pub fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        ["home", "run", "tmp"]
            .iter()
            .for_each(|name| collect(&self.folder.0.join(name), &mut files));
        let place = format!("{}/", self.folder.0.display());
        files.iter().map(|file| file.to_string_lossy().replace(&place, "")).collect()
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => collect(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let left: Vec<String> =
            processes_of(&self.folder.0).into_iter().map(|(pid, _)| pid).collect();
        // Those that have ended by themselves meanwhile are no failure.
        let _ = Command::new("kill").args(["-9", "--"]).args(left).stderr(Stdio::null()).status();
        for sshd in &mut self.sshds {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
    }
}

/// Programs that lie below a folder and run: number and command line.
pub fn processes_of(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some((
            entry.file_name().to_string_lossy().into_owned(),
            String::from_utf8_lossy(&line).replace('\0', " "),
        ))
    });
    lines.filter(|(_, line)| line.starts_with(&*folder.to_string_lossy())).collect()
}

pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The processes that a process began.
pub fn children_of(pid: u32) -> Vec<String> {
    let done =
        Command::new("ps").args(["-o", "pid=", "--ppid", &pid.to_string()]).output().unwrap();
    String::from_utf8(done.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

/// Ends processes at once.
pub fn kill(pids: &[String]) {
    assert!(Command::new("kill").args(["-9", "--"]).args(pids).status().unwrap().success());
}
