//! A `farcall serve` of a test's own, watched from outside: its processes, descriptors and what it
//! says.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use farcall_client::{Client, Result};

use crate::{Directory, manifest_of, program, root};

/// The variable that tells a server's processes from others.
const MARK: &str = "FARCALL_TEST_SERVER";

/// How clients reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A Unix socket with shared memory.
    Unix,
    /// TCP on the loopback with a token.
    Tcp,
    /// TLS on the loopback, with an authority of the server's own; the client is its user "anna".
    Tls,
}

/// A running server; ended with this value.
pub struct Server {
    child: Child,
    address: String,
    token: Option<PathBuf>,
    log: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
    mark: String,
    /// Holds the token; removed after the server's end.
    _directory: Directory,
}

impl Server {
    /// Starts a server that publishes `files`; `options` are more arguments of `farcall serve`.
    ///
    /// # Panics
    /// When it does not start; the message is what it said.
    pub fn start(transport: Transport, files: &[PathBuf], options: &[&str]) -> Server {
        Self::start_with(Directory::new(), transport, files, options)
    }

    /// Starts a server that ends with this program and not before: nobody could remove a directory
    /// of its own, so it has one beside the program, which the next run uses again.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_for_all(
        name: &str,
        transport: Transport,
        files: &[PathBuf],
        options: &[&str],
    ) -> Server {
        let directory = program().with_file_name("end-to-end").join(name);
        std::fs::create_dir_all(&directory).expect("directories can be made beside the program");
        Self::start_with(Directory(directory), transport, files, options)
    }

    fn start_with(
        directory: Directory,
        transport: Transport,
        files: &[PathBuf],
        options: &[&str],
    ) -> Server {
        let token = (transport == Transport::Tcp).then(|| directory.0.join("token"));
        let mut command = Self::command();
        command.args(options);
        if let Some(token) = &token {
            command.args(["--listen", "tcp:127.0.0.1:0", "--token-file"]).arg(token);
        }
        if transport == Transport::Tls {
            let folder = directory.0.join("ca");
            let user = certify(&folder);
            command
                .args(["--listen", "tls://127.0.0.1:0", "--credentials"])
                .arg(folder.join("server.pem"));
            return Self::spawn(command, files, Some(user), directory);
        }
        Self::spawn(command, files, token, directory)
    }

    /// Starts a server whose user's sockets and tokens lie in `runtime`.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_in(runtime: &Path, files: &[PathBuf], options: &[&str]) -> Server {
        let mut command = Self::command();
        command.env("XDG_RUNTIME_DIR", runtime).args(options);
        Self::spawn(command, files, None, Directory::new())
    }

    /// Starts a server on a Unix socket that may have this many files open, all of its connections
    /// among them; it finds the first limit, and may raise it to the second.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_with_open_files((soft, hard): (u32, u32), files: &[PathBuf]) -> Server {
        let serve = Self::command();
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nofile={soft}:{hard}"))
            .arg(serve.get_program())
            .args(serve.get_args());
        command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Self::spawn(command, files, None, Directory::new())
    }

    /// Starts a server by another program, which gets its command line after `wrapper`: what it may
    /// use is limited so.
    ///
    /// # Errors
    /// What it said, when it does not start.
    pub fn start_within(
        wrapper: &[&str],
        transport: Transport,
        files: &[PathBuf],
        options: &[&str],
    ) -> std::result::Result<Server, String> {
        let serve = Self::command();
        let directory = Directory::new();
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(serve.get_program()).args(serve.get_args()).args(options);
        command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let token = (transport == Transport::Tcp).then(|| directory.0.join("token"));
        if let Some(token) = &token {
            command.args(["--listen", "tcp:127.0.0.1:0", "--token-file"]).arg(token);
        }
        Self::try_spawn(command, files, token, directory)
    }

    /// Starts a server on a Unix socket by a command of the test's own, such as [`Server::command`]
    /// with more variables.
    ///
    /// # Panics
    /// As [`Server::start`].
    pub fn start_as(command: Command, files: &[PathBuf]) -> Server {
        Self::spawn(command, files, None, Directory::new())
    }

    /// The same where it may fail to start.
    ///
    /// # Errors
    /// What it said.
    pub fn try_start_as(
        command: Command,
        files: &[PathBuf],
    ) -> std::result::Result<Server, String> {
        Self::try_spawn(command, files, None, Directory::new())
    }

    fn spawn(
        command: Command,
        files: &[PathBuf],
        token: Option<PathBuf>,
        directory: Directory,
    ) -> Server {
        Self::try_spawn(command, files, token, directory)
            .unwrap_or_else(|said| panic!("farcall serve: {said}"))
    }

    fn try_spawn(
        mut command: Command,
        files: &[PathBuf],
        token: Option<PathBuf>,
        directory: Directory,
    ) -> std::result::Result<Server, String> {
        // Executables inherit it: so a test finds all processes of its server, wherever they went.
        let mark = format!("{MARK}={}", directory.0.display());
        // Code is confined as on a server for others.
        if !command.get_args().any(|argument| argument == "--manifest") {
            let manifest = directory.write("confined.toml", &manifest_of("", ""));
            command.arg("--manifest").arg(manifest);
        }
        command.env(MARK, &directory.0).args(["--private", "--"]).args(files);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut server = Server {
            child,
            address: String::new(),
            token,
            log: Arc::default(),
            reader: None,
            mark,
            _directory: directory,
        };
        server.read_log();
        server.address = server.read_address();
        if server.address.is_empty() { Err(server.log()) } else { Ok(server) }
    }

    /// Ends it as the system would, without a chance to clean up.
    pub fn kill(mut self) {
        // One that ended by itself is as dead.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// `farcall serve` of this build, with what it needs to link executables.
    pub fn command() -> Command {
        let mut command = Command::new(program());
        command.arg("serve").env("FARCALL_LIBRARY_DIRECTORY", library_directory());
        command.env("XDG_CACHE_HOME", program().with_file_name("end-to-end").join("cache"));
        command
    }

    /// Runs a `farcall serve` that is expected to end by itself.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn refused(arguments: &[&str]) -> Output {
        let mut command = Self::command();
        command.arg("--private").args(arguments);
        Self::ended(&mut command)
    }

    /// What a private server said that ends by itself: its standard input is open until then, but
    /// no longer than a minute.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn ended(command: &mut Command) -> Output {
        let failed = |error: std::io::Error| -> ! { panic!("no private server: {error}") };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| failed(error));
        let stdin = child.stdin.take();
        let (over, waits) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            let _ = waits.recv_timeout(Duration::from_secs(60));
            drop(stdin);
        });
        let output = child.wait_with_output().unwrap_or_else(|error| failed(error));
        drop(over);
        output
    }

    /// Takes what the server says as it says it: a full pipe would stop it.
    fn read_log(&mut self) {
        let stderr = self.child.stderr.take().expect("stderr is piped");
        let log = self.log.clone();
        self.reader = Some(std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(std::result::Result::ok) {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.push_str(&line);
                log.push('\n');
            }
        }));
    }

    fn read_address(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.child.stdout.as_mut().expect("stdout is piped");
        let _ = BufReader::new(stdout.take(4096)).read_line(&mut line);
        if line.is_empty() {
            // It ended: what it said is on its way, unless a process that it left behind holds the
            // pipe.
            let _ = self.child.wait();
            eventually(|| self.reader.as_ref().is_none_or(std::thread::JoinHandle::is_finished));
        }
        line.trim().to_owned()
    }

    /// What it said so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The folder of the authority that its users' certificates come from, over TLS.
    pub fn authority(&self) -> PathBuf {
        self._directory.0.join("ca")
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The file with its token, over TCP; with the user's certificate, over TLS.
    pub fn token(&self) -> Option<&Path> {
        self.token.as_deref()
    }

    /// Connects.
    ///
    /// # Errors
    /// As `Client::connect_to`.
    pub fn connect(&self) -> Result<Client> {
        Client::connect_to(&self.address.parse()?, self.token.clone(), Duration::from_secs(20))
    }

    /// Connects.
    ///
    /// # Panics
    /// When it cannot.
    pub fn client(&self) -> Client {
        self.connect().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status();
        assert!(sent.expect("kill can be run").success(), "the server is gone: {}", self.log());
    }

    /// What it exits with, within half a minute.
    pub fn exit_code(&mut self) -> Option<i32> {
        let child = &mut self.child;
        let mut status = None;
        eventually(|| {
            status = child.try_wait().ok().flatten();
            status.is_some()
        });
        status.and_then(|status| status.code())
    }

    /// Runs the command with these words, and this server to talk to.
    ///
    /// # Panics
    /// When it cannot be run.
    pub fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(program());
        command.args(words).args(["--server", &self.address]).stdin(Stdio::null());
        if let Some(token) = &self.token {
            let option =
                if self.address.starts_with("tls:") { "--credentials" } else { "--token-file" };
            command.arg(option).arg(token);
        }
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Seconds of processor time that it has used, its executables' not among them.
    pub fn processor_seconds(&self) -> f64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let fields: Vec<&str> =
            status.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |index: usize| {
            fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0)
        };
        // utime and stime of proc(5), in ticks of 10 ms.
        (ticks(11) + ticks(12)) / 100.0
    }

    /// Descriptors that it has open.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).map_or(0, Iterator::count)
    }

    /// Pages that it has mapped as shared memory, by the lines of its map.
    pub fn mappings(&self) -> usize {
        let maps =
            std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).unwrap_or_default();
        maps.lines().filter(|line| line.contains("memfd:")).count()
    }

    /// All processes that it started, directly or not, and that still live, but for its zygotes.
    pub fn processes(&self) -> Vec<u32> {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != self.pid() && !is_zygote(*pid) && self.is_ours(*pid)).collect()
    }

    /// Zombies have no environment left, so they count only as `children`.
    fn is_ours(&self, pid: u32) -> bool {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes())
    }

    /// Its executables, zombies included: its own children and those of its zygotes.
    pub fn children(&self) -> Vec<u32> {
        let (zygotes, spawned): (Vec<u32>, Vec<u32>) =
            children(self.pid()).into_iter().partition(|pid| is_zygote(*pid));
        spawned.into_iter().chain(zygotes.into_iter().flat_map(children)).collect()
    }

    /// The processes from which its executables are forked.
    pub fn zygotes(&self) -> Vec<u32> {
        children(self.pid()).into_iter().filter(|pid| is_zygote(*pid)).collect()
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

fn is_zygote(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| name.trim_end() == "farcall-zygote")
}

/// Runs `farcall ca` on the authority in `folder`; what it printed.
///
/// # Panics
/// When it fails.
pub fn authority(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new(program());
    let output = command
        .args(["ca", "--folder"])
        .arg(folder)
        .args(words)
        .output()
        .expect("the program can be run");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// An authority in `folder` for a server on the loopback, made where there is none; the file of its
/// user "anna".
fn certify(folder: &Path) -> PathBuf {
    if !folder.exists() {
        authority(folder, &["init", "--server", "localhost,127.0.0.1"]);
        authority(folder, &["user", "anna"]);
    }
    folder.join("users/anna.pem")
}

/// Whether a process lives: one that ended and was not reaped does not.
pub fn alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Waits until `done`, for at most half a minute, so that a busy machine comes to it; whether it
/// came true.
pub fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its standard input tells a private server to go.
        drop(self.child.stdin.take());
        let child = &mut self.child;
        if !eventually(|| !matches!(child.try_wait(), Ok(None))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Where `libfarcall.so` of this build lies; linked from this build's archive, or the staged one.
pub fn library_directory() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(find_library).clone()
}

fn find_library() -> PathBuf {
    let archive = program().with_file_name("libfarcall_all.a");
    if !archive.exists() {
        return std::env::var_os("FARCALL_STAGE")
            .map_or_else(|| root().join("build"), PathBuf::from)
            .join("lib");
    }
    let folder = program().with_file_name("end-to-end").join("lib");
    let mut command = Command::new(root().join("tools/link-libfarcall.sh"));
    let done = command
        .arg(archive)
        .arg(&folder)
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    folder
}
