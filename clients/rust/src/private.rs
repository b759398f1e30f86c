//! A server of one's own: a `farcall serve` child that ends with this process or value.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::client::Client;
use crate::standard_streams::{keep_standard_streams, pass_on_output};

/// Time that a child has to end when its standard input closes.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// The same of one that did not come up in time: whoever waits for it has waited long enough.
const LATE_GRACE: Duration = Duration::from_millis(500);
/// What a killed server takes at most from the end of its sockets until it can be waited for.
const DEATH: Duration = Duration::from_millis(200);
/// Longest address.
const ADDRESS_BYTES_MAX: usize = 4096;
/// What is kept of its words.
const WORDS_BYTES_MAX: u64 = 16 << 10;
/// The variable that names the `farcall` program.
const PROGRAM_VARIABLE: &str = "FARCALL_PROGRAM";

/// What a private server is to serve.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The `farcall` program; by default `$FARCALL_PROGRAM`, the one that was installed with
    /// libfarcall.so, or the one on the path.
    pub program: Option<PathBuf>,
    /// IDL files; without any, what the installation publishes by default.
    pub files: Vec<PathBuf>,
    /// More arguments of `farcall serve`.
    pub arguments: Vec<String>,
    /// Time that it has until it listens; as long as it takes by default.
    pub timeout: Option<Duration>,
}

/// A running private server.
pub struct PrivateServer {
    child: Child,
    address: String,
}

/// The command that was installed with the library that this code is in: `PREFIX/bin/farcall` of
/// `PREFIX/lib/libfarcall.so`.
fn beside_library() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let files = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let is_ours = |file: &&Path| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libfarcall.so"))
    };
    let program = files.into_iter().find(is_ours)?.parent()?.parent()?.join("bin/farcall");
    program.is_file().then_some(program)
}

/// `$FARCALL_PROGRAM`, the program that was installed with the library that this code is in, this
/// program if it is that, or the one on the path.
pub fn own_program() -> PathBuf {
    let named = std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from);
    let itself = || {
        std::env::current_exe()
            .ok()
            .filter(|program| program.file_name() == Some("farcall".as_ref()))
    };
    named.or_else(beside_library).or_else(itself).unwrap_or_else(|| PathBuf::from("farcall"))
}

impl PrivateServer {
    /// Starts one and waits until it listens.
    ///
    /// # Errors
    /// `Unavailable` when the program is missing or does not come up, `TimedOut`; the message
    /// carries what it said.
    pub fn start(options: &ServeOptions) -> Result<PrivateServer> {
        let program = options.program.clone().unwrap_or_else(own_program);
        keep_standard_streams();
        let mut command = Command::new(&program);
        command
            .arg("serve")
            .arg("--private")
            .args(&options.arguments)
            .arg("--")
            .args(&options.files);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at the terminal is for this program, which may end a call by it and go on.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| not_started(&program, error))?;
        let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        match begin(&mut child, deadline) {
            Beginning::Listens(address) => {
                pass_on_stderr(&mut child);
                Ok(PrivateServer { child, address })
            }
            Beginning::Late => Err(late(child, &program, options)),
            Beginning::Ended => Err(failed(child, &program)),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Connects to it.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self) -> Result<Client> {
        Client::connect(Some(&self.address))
    }

    /// Whether it is no more, of a signal, say. For whoever could not connect: its sockets end a
    /// moment before it does.
    pub fn has_ended(&mut self) -> bool {
        ends_within(&mut self.child, DEATH)
    }
}

/// How a private server begins.
enum Beginning {
    /// At this address.
    Listens(String),
    Late,
    /// Without an address.
    Ended,
}

/// The first line that a private server prints is its address.
fn begin(child: &mut Child, deadline: Option<Instant>) -> Beginning {
    let Some(stdout) = child.stdout.as_mut() else { return Beginning::Ended };
    let mut line = Vec::new();
    while line.len() < ADDRESS_BYTES_MAX && !line.contains(&b'\n') {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&*stdout, PollFlags::IN)], time.as_ref()) {
            Ok(0) => return Beginning::Late,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
        }
        let mut bytes = [0; 256];
        match stdout.read(&mut bytes) {
            Ok(count) if count > 0 => line.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    let text = String::from_utf8_lossy(&line);
    match text.lines().next().map(str::trim).filter(|address| !address.is_empty()) {
        Some(address) => Beginning::Listens(address.to_owned()),
        None => Beginning::Ended,
    }
}

/// What the server says from now on (a module left out, a warning) goes where this program's own
/// messages go. Somebody has to read it: a full pipe would stop the server.
fn pass_on_stderr(child: &mut Child) {
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || pass_on_output(stderr, |_| {}));
    }
}

/// The program cannot be run.
pub(crate) fn not_started(program: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "start a private server", error.to_string())
        .with("program", program.display())
        .fix("install farcall, or set FARCALL_PROGRAM to the program")
        .source(error)
}

fn late(mut child: Child, program: &Path, options: &ServeOptions) -> Error {
    // Told to go, it says what it was about.
    end(&mut child, LATE_GRACE);
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // Somebody else may hold the other end: what is there now is all.
        let _ = rustix::io::ioctl_fionbio(&stderr, true);
        let _ = stderr.take(WORDS_BYTES_MAX).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    let error =
        Error::new(ErrorKind::TimedOut, "start a private server", "timed out before it listened")
            .with("timeout", format!("{} s", options.timeout.unwrap_or_default().as_secs_f64()))
            .with("program", program.display());
    let files: Vec<String> = options.files.iter().map(|file| file.display().to_string()).collect();
    let error = if files.is_empty() { error } else { error.with("files", files.join(", ")) };
    let error = if said.trim().is_empty() { error } else { error.with("it said", said.trim()) };
    error.fix("raise timeout=, or reduce the work that its files do when they are loaded")
}

fn failed(mut child: Child, program: &Path) -> Error {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(WORDS_BYTES_MAX).read_to_string(&mut said);
    }
    let _ = child.kill();
    let ended = child.wait();
    if !said.trim().is_empty() {
        return Error::new(
            ErrorKind::Unavailable,
            "start a private server",
            said.trim().to_owned(),
        );
    }
    let status = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
    Error::new(
        ErrorKind::Unavailable,
        "start a private server",
        "it printed neither an address nor an error",
    )
    .with("program", program.display())
    .with("ended by", status)
    .fix("set FARCALL_PROGRAM to the farcall program")
}

/// Has it end by itself in so much time, or kills it.
fn end(child: &mut Child, grace: Duration) {
    // The end of its standard input tells a private server to go.
    drop(child.stdin.take());
    if !ends_within(child, grace) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn ends_within(child: &mut Child, time: Duration) -> bool {
    let deadline = Instant::now() + time;
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        end(&mut self.child, STOP_GRACE);
    }
}
