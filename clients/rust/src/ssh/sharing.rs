//! One authentication for several connections, and for a while: OpenSSH's own multiplexing, where
//! the user has not arranged it otherwise. Each program and command is a connection of its own, and
//! would ask for a second factor each time.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::{Ssh, finish};

/// The variable that says whether connections share one authentication.
const SHARE_VARIABLE: &str = "FARCALL_SSH_SHARE";
/// For how long the shared connection stays open when nobody uses it, in seconds.
const PERSIST_SECONDS: u64 = 600;
/// After how much silence `ssh` asks whether the other end lives; three times. A network that is
/// gone ends it so.
const ALIVE_SECONDS: u64 = 15;
/// Longest folder of its sockets: their names have 40 digits and 17 more while they are made, of
/// 107 bytes (unix(7)).
const FOLDER_BYTES_MAX: usize = 107 - 1 - 40 - 17;
/// Time that `ssh` has to say what is configured, or to end a shared connection.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Time for the text of one that has ended.
const TEXT_MAX: Duration = Duration::from_millis(500);
/// More than it says of its configuration.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// How connections to a host share one, if they do.
pub struct Sharing {
    options: Vec<String>,
}

impl Sharing {
    /// None where the user says so, shares them himself, or has no folder for it.
    pub fn of(program: &OsStr, ssh: &Ssh, until: Instant) -> Option<Sharing> {
        if std::env::var_os(SHARE_VARIABLE).is_some_and(|value| value == "0") {
            return None;
        }
        // Nobody else may enter the folder: whoever can connect there is logged in.
        let socket = farcall_transport_unix::default_socket_path().with_file_name("%C");
        let folder = socket.parent()?.as_os_str();
        let is_plain = !folder.to_string_lossy().contains(['%', '"', ' ', '$', '~']);
        if folder.len() > FOLDER_BYTES_MAX
            || !is_plain
            || farcall_transport_unix::prepare_directory(&socket).is_err()
        {
            return None;
        }
        let configured = configured(program, ssh, until)?;
        let value = |key: &str| {
            let mut lines = configured.lines().filter_map(|line| line.split_once(' '));
            lines.find_map(|(name, value)| name.eq_ignore_ascii_case(key).then_some(value))
        };
        let is_arranged = value("controlmaster")? != "false"
            || value("controlpath").is_some_and(|path| path != "none");
        if is_arranged {
            return None;
        }
        let mut options = vec![
            "ControlMaster=auto".to_owned(),
            format!("ControlPath={}", socket.display()),
            format!("ControlPersist={PERSIST_SECONDS}"),
        ];
        if value("serveraliveinterval").is_none_or(|seconds| seconds == "0") {
            options.push(format!("ServerAliveInterval={ALIVE_SECONDS}"));
        }
        Some(Sharing { options })
    }

    /// What `ssh` is told.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.options.iter().flat_map(|option| ["-o", option])
    }

    /// Whether a connection is open already.
    pub fn is_open(&self, program: &OsStr, ssh: &Ssh, until: Instant) -> bool {
        self.order(program, ssh, "check", until)
    }

    /// Ends it: its network is gone, and those who use it wait for nothing.
    pub fn end(&self, program: &OsStr, ssh: &Ssh, until: Instant) {
        self.order(program, ssh, "exit", until);
    }

    fn order(&self, program: &OsStr, ssh: &Ssh, order: &str, until: Instant) -> bool {
        let mut command = Command::new(program);
        command.args(["-O", order]).args(self.options()).args(ssh.to());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return false };
        finish(&mut child, left(until)).is_some_and(|status| status.success())
    }
}

/// What `ssh` would do there.
fn configured(program: &OsStr, ssh: &Ssh, until: Instant) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("-G").args(ssh.to());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take()?;
    // Read beside: a program that is no ssh may never come to an end, and what it started may hold
    // its output even longer.
    let (sender, answer) = channel();
    let reader = move || {
        let mut text = String::new();
        let read = output.take(ANSWER_BYTES_MAX).read_to_string(&mut text);
        // Nobody waits for an answer that is late.
        let _ = sender.send(read.ok().map(|_| text));
    };
    std::thread::Builder::new().name("farcall-ssh-G".to_owned()).spawn(reader).ok()?;
    let ended = finish(&mut child, left(until))?;
    let text = answer.recv_timeout(TEXT_MAX).ok()??;
    ended.success().then_some(text)
}

/// Time for one answer of `ssh`.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now()).min(ANSWER_MAX)
}
