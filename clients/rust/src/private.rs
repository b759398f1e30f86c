//! A server of one's own: a `farcall serve` child that ends with this process or value.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};

use crate::client::Client;

/// Time that a child has to end when its standard input closes.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// The variable that names the `farcall` program.
const PROGRAM_VARIABLE: &str = "FARCALL_PROGRAM";

/// What a private server is to serve.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The `farcall` program; `$FARCALL_PROGRAM`, or the one on the path, by default.
    pub program: Option<PathBuf>,
    /// IDL files; without any, what the installation publishes by default.
    pub files: Vec<PathBuf>,
    /// More arguments of `farcall serve`.
    pub arguments: Vec<String>,
}

/// A running private server.
pub struct PrivateServer {
    child: Child,
    address: String,
}

impl PrivateServer {
    /// Starts one and waits until it listens.
    ///
    /// # Errors
    /// `Unavailable` when the program is missing or does not come up; the message carries what it said.
    pub fn start(options: &ServeOptions) -> Result<PrivateServer> {
        let program = options.program.clone().or_else(|| std::env::var_os(PROGRAM_VARIABLE).map(PathBuf::from));
        let program = program.unwrap_or_else(|| PathBuf::from("farcall"));
        let mut command = Command::new(&program);
        command.arg("serve").arg("--private").args(&options.arguments).arg("--").args(&options.files);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at the terminal is for this program, which may end a call by it and go on.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| not_started(&program, error))?;
        match read_address(&mut child) {
            Some(address) => {
                pass_on_stderr(&mut child);
                Ok(PrivateServer { child, address })
            }
            None => Err(failed(child, &program)),
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
}

/// The first line that a private server prints is its address.
fn read_address(child: &mut Child) -> Option<String> {
    let mut line = String::new();
    let stdout = child.stdout.as_mut()?;
    BufReader::new(stdout.take(4096)).read_line(&mut line).ok()?;
    let address = line.trim();
    (!address.is_empty()).then(|| address.to_owned())
}

/// What the server says from now on (a module left out, a warning) goes where this program's own messages go. Somebody
/// has to read it: a full pipe would stop the server.
fn pass_on_stderr(child: &mut Child) {
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::stderr()));
    }
}

fn not_started(program: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "start a private server", error.to_string())
        .with("program", program.display())
        .fix("install farcall, or name the program in FARCALL_PROGRAM")
        .source(error)
}

fn failed(mut child: Child, program: &Path) -> Error {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(16 << 10).read_to_string(&mut said);
    }
    let _ = child.kill();
    let ended = child.wait();
    if !said.trim().is_empty() {
        return Error::new(ErrorKind::Unavailable, "start a private server", said.trim().to_owned());
    }
    let status = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
    Error::new(ErrorKind::Unavailable, "start a private server", "it told no address and said nothing")
        .with("program", program.display())
        .with("ended by", status)
        .fix("name the farcall program in FARCALL_PROGRAM")
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // The end of its standard input tells a private server to go.
        drop(self.child.stdin.take());
        let deadline = Instant::now() + STOP_GRACE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
