//! A server on a host that is reached by the user's own `ssh` (docs/decisions/0022-ssh.md).
//!
//! One `ssh` runs for each connection. On the far side a shell looks whether this very program of
//! Farcall is there, takes a copy of it where it is not, and becomes its relay: from then on the
//! standard input and output of `ssh` are a byte stream to a server that lives there on its own.

pub mod asking;
mod conversation;
mod errand;
mod library;
mod program;
pub mod settings;
mod sharing;
mod words;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use farcall_launcher::far;
use farcall_link::stream::{ByteStream, Peer, Proof};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use asking::AskingSsh;
use conversation::Conversation;
pub use errand::{Errand, settings_there};
use settings::FarSettings;
use sharing::Sharing;
use words::Words;

/// The variable that names another `ssh`.
const SSH_VARIABLE: &str = "FARCALL_SSH";
/// Has `ssh` not end when the user interrupts this program: a call ends then, and the connection
/// stays. Its questions for a password can be interrupted all the same.
const UNINTERRUPTED: &str = "trap '' INT; command -v \"$1\" >/dev/null || { echo \"there is no \
                             program $1\" >&2; exit 254; }; exec \"$@\"";
/// Time that `ssh` has to end when its stream has ended.
const END_GRACE: Duration = Duration::from_secs(5);
/// What `ssh` says where trying again would end the same way.
const REFUSALS: [&str; 3] =
    ["Permission denied", "Host key verification failed", "Too many authentication failures"];
/// Time in which a shared connection that is open already gives a sign of life.
const OPEN_MAX: Duration = Duration::from_secs(15);
/// What it ends with where there is no such program.
const NO_SSH: i32 = 254;
/// What `ssh` ends with for a reason of its own, and not the far side's.
const SSH_FAILED: i32 = 255;
/// Time that its last words have to come when it has ended.
const WORDS_MAX: Duration = Duration::from_millis(500);

/// Who is to be reached where, as `ssh` knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    /// A host, a name of the user's configuration, or either with `user@` before it.
    pub destination: String,
    /// `None`: the configured one.
    pub port: Option<u16>,
    /// What runs the routines there, such as `slurm`; `None`: the host itself.
    pub launcher: Option<String>,
}

/// Longest name of a launcher.
const LAUNCHER_MAX: usize = 16;

impl SshAddress {
    /// What stands behind `ssh://`.
    pub fn parse(text: &str) -> Option<SshAddress> {
        let (text, launcher) =
            text.split_once('/').map_or((text, ""), |(host, launcher)| (host, launcher));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !launcher.chars().all(is_plain)
            || launcher.len() > LAUNCHER_MAX
            || launcher.starts_with('-')
        {
            return None;
        }
        let launcher = (!launcher.is_empty()).then(|| launcher.to_owned());
        let (user, rest) = text.rsplit_once('@').map_or(("", text), |(user, rest)| (user, rest));
        let (host, port) = match rest.rsplit_once(':') {
            // All of it is a host of IPv6 where a bracket ends it.
            Some((host, port)) if !port.ends_with(']') => {
                (host, Some(port.parse().ok().filter(|port| *port != 0)?))
            }
            _ => (rest, None),
        };
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        // Where an address of IPv6 ends, and a port begins, brackets tell.
        let host = bracketed.or_else(|| (!host.contains(':')).then_some(host))?;
        let destination = if user.is_empty() { host.to_owned() } else { format!("{user}@{host}") };
        let is_word = !destination.starts_with('-')
            && !destination.chars().any(|c| c.is_whitespace() || c.is_control());
        (!host.is_empty() && is_word && !text.starts_with('@')).then_some(SshAddress {
            destination,
            port,
            launcher,
        })
    }
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ssh://{}", self.destination)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))?;
        self.launcher.as_ref().map_or(Ok(()), |launcher| write!(f, "/{launcher}"))
    }
}

/// The `ssh` that is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshCommand {
    /// The program; `None`: `$FARCALL_SSH`, or `ssh`.
    pub program: Option<String>,
    /// Options that it gets before all others, each one or two words.
    pub options: Vec<String>,
    /// The shell that it runs on the host; `None`: `/bin/sh`.
    pub shell: Option<String>,
}

/// How a server is reached by `ssh`.
#[derive(Clone, Debug)]
pub struct Ssh {
    /// Where.
    pub address: SshAddress,
    /// By which program.
    pub command: SshCommand,
    /// Which of the user's servers there: clients of the same name share one.
    pub name: String,
    /// For how long it stays when its last client is gone.
    pub linger: Duration,
    /// Whether `ssh` may ask the user.
    pub may_ask: bool,
    /// Who may end it while it does.
    pub asking: Option<AskingSsh>,
    /// Whether to bring what code in interface files is linked with.
    pub brings_library: bool,
    /// What a server that is begun there is told.
    pub settings: FarSettings,
    /// What the program there is to do.
    pub errand: Errand,
}

/// The variable that names the server elsewhere which this user's programs share.
const NAME_VARIABLE: &str = "FARCALL_NAME";
/// Longest such name: it is part of a socket's path.
const NAME_MAX: usize = 40;
/// The variable with the time for which a server stays when its last client is gone, in seconds.
const LINGER_VARIABLE: &str = "FARCALL_LINGER";
/// What that is by default.
const LINGER: Duration = Duration::from_secs(600);

/// The name under which this user of this host has a server elsewhere.
pub fn own_name() -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
    if let Some(name) = std::env::var(NAME_VARIABLE).ok().filter(|name| !name.is_empty()) {
        return name.chars().map(word).take(NAME_MAX).collect();
    }
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{user}.{host}").chars().map(word).take(NAME_MAX).collect()
}

/// `$FARCALL_LINGER`, or ten minutes.
///
/// # Errors
/// `InvalidArgument` for what is no number of seconds.
pub fn linger() -> Result<Duration> {
    let Some(text) = std::env::var_os(LINGER_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(LINGER);
    };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "connect", "the number of seconds is invalid")
            .with("variable", LINGER_VARIABLE)
            .fix("write whole seconds, such as 600, or 0 to stop the server with its last client")
    })
}

impl Ssh {
    /// The last arguments of `ssh`: how, and where to.
    fn to(&self) -> Vec<String> {
        // An option's value is a word of its own, as ssh takes it.
        let words = |option: &String| -> Vec<String> {
            match option.split_once(' ') {
                Some((option, value)) => vec![option.to_owned(), value.trim_start().to_owned()],
                None => vec![option.clone()],
            }
        };
        let port = self.address.port.map(|port| ["-p".to_owned(), port.to_string()]);
        self.command
            .options
            .iter()
            .flat_map(words)
            .chain(port.into_iter().flatten())
            .chain(["--".to_owned(), self.address.destination.clone()])
            .collect()
    }
}

/// Reaches the server; starts it there if need be, and brings what is missing.
///
/// # Errors
/// `Unreachable` when `ssh` fails, with its words; `Unavailable` when nothing of ours can run
/// there; `TimedOut`.
pub fn connect(ssh: &Ssh, timeout: Duration) -> Result<Box<dyn ByteStream>> {
    let (running, host) = run(ssh, Instant::now() + timeout)?;
    Ok(running.stream(ssh, &host))
}

/// Reaches the host, and has the program run there: on which host.
fn run(ssh: &Ssh, until: Instant) -> Result<(Running, String)> {
    let program = (ssh.command.program.clone().map(OsString::from))
        .or_else(|| std::env::var_os(SSH_VARIABLE).filter(|name| !name.is_empty()))
        .unwrap_or_else(|| "ssh".into());
    let sharing = Sharing::of(&program, ssh, until);
    if let Some(sharing) = sharing.as_ref().filter(|sharing| sharing.is_open(&program, ssh, until))
    {
        let sign = until.min(Instant::now() + OPEN_MAX);
        let reached = reach(ssh, &program, Some(sharing), Limits { sign, until });
        // A network that is gone is not seen at once.
        match reached {
            Err(error) if error.kind() == ErrorKind::TimedOut => sharing.end(&program, ssh, until),
            reached => return reached,
        }
    }
    reach(ssh, &program, sharing.as_ref(), Limits { sign: until, until })
}

/// When connecting to the host times out.
#[derive(Clone, Copy)]
struct Limits {
    /// Its first word.
    sign: Instant,
    /// All of it.
    until: Instant,
}

fn reach(
    ssh: &Ssh,
    program: &OsStr,
    sharing: Option<&Sharing>,
    limits: Limits,
) -> Result<(Running, String)> {
    let mark = mark()?;
    let running = Running::start(ssh, program, sharing, &mark)?;
    let asking = ssh.asking.as_ref().filter(|_| ssh.may_ask);
    if asking.is_some_and(|asking| !asking.begins(running.child.id())) {
        asking.into_iter().for_each(AskingSsh::end);
    }
    let held = Conversation::new(&running.socket, ssh, limits, mark).hold();
    asking.into_iter().for_each(AskingSsh::met);
    match held {
        Ok(host) => Ok((running, host)),
        Err(error) => Err(running.failed(ssh, error)),
    }
}

/// What nobody there can have printed before.
fn mark() -> Result<String> {
    let mut random = [0; 12];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Error::system("connect", error.into()))?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("farcall-{hex}"))
}

/// An `ssh` that runs, and our end of its standard input and output.
struct Running {
    child: Child,
    socket: OwnedFd,
    words: Words,
}

impl Running {
    fn start(ssh: &Ssh, program: &OsStr, sharing: Option<&Sharing>, mark: &str) -> Result<Running> {
        let system =
            |errno: rustix::io::Errno| Error::system("make a pair of sockets", errno.into());
        let pair = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (socket, theirs) = pair.map_err(system)?;
        let also_theirs =
            theirs.try_clone().map_err(|error| Error::system("make a pair of sockets", error))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", UNINTERRUPTED, "sh"]).arg(program).arg("-T");
        if !ssh.may_ask {
            command.args(["-o", "BatchMode=yes"]);
        }
        command
            .args(sharing.into_iter().flat_map(Sharing::options))
            .args(ssh.to())
            .arg(far::shell_by(ssh.command.shell.as_deref(), mark));
        command.stdin(theirs).stdout(also_theirs).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            Error::new(ErrorKind::Unreachable, "connect", "ssh cannot be started").source(error)
        })?;
        let words = Words::of(child.stderr.take(), ssh.may_ask);
        Ok(Running { child, socket, words })
    }

    fn stream(self, ssh: &Ssh, host: &str) -> Box<dyn ByteStream> {
        let address = format!("{} ({host})", ssh.address);
        let inner = farcall_transport_unix::relayed(self.socket, address, Proof::Address);
        Box::new(SshStream { inner: Some(inner), child: Some(self.child) })
    }

    /// It ends, and what it said goes into the error.
    fn failed(mut self, ssh: &Ssh, error: Error) -> Error {
        drop(self.socket);
        // Whoever has waited for all of the time waits no longer for an `ssh` that is silent.
        let grace = if error.kind() == ErrorKind::TimedOut { WORDS_MAX / 4 } else { WORDS_MAX };
        let ended = finish(&mut self.child, grace);
        let said = self.words.take(grace);
        let is_failure = error.kind() == ErrorKind::Unreachable;
        let status = ended.and_then(|status| status.code());
        let error = match status {
            Some(NO_SSH) if is_failure => Error::new(
                ErrorKind::Unreachable,
                "connect",
                "ssh \
                cannot be started",
            )
            .fix("install ssh, or set FARCALL_SSH to it"),
            // To try again would ask for nothing else, and a host may shut out who does.
            _ if is_failure && REFUSALS.iter().any(|words| said.contains(words)) => {
                Error::new(ErrorKind::PermissionDenied, "connect", "ssh cannot log in").fix(
                    "run `farcall connect` in a terminal, where ssh can ask you, or check \
                        its configuration",
                )
            }
            // What its end looks like from here tells less than what it says of it.
            Some(SSH_FAILED) if is_failure && !said.is_empty() => {
                let error = Error::new(
                    ErrorKind::Unreachable,
                    "connect",
                    format!(
                        "ssh failed: \
                    {said}"
                    ),
                );
                return error.with("server", &ssh.address).fix(
                    "check that `ssh` alone reaches \
                    that host",
                );
            }
            _ => error,
        };
        let error = error.with("server", &ssh.address);
        if said.is_empty() { error } else { error.with("ssh said", said) }
    }
}

/// A stream whose end ends its `ssh`.
struct SshStream {
    inner: Option<Box<dyn ByteStream>>,
    child: Option<Child>,
}

impl SshStream {
    fn inner(&self) -> &dyn ByteStream {
        self.inner.as_deref().expect("it is there until it is dropped")
    }

    fn inner_mut(&mut self) -> &mut dyn ByteStream {
        self.inner.as_deref_mut().expect("it is there until it is dropped")
    }
}

impl ByteStream for SshStream {
    fn send(
        &mut self,
        parts: &[std::io::IoSlice<'_>],
        descriptors: &[BorrowedFd<'_>],
    ) -> std::io::Result<usize> {
        self.inner_mut().send(parts, descriptors)
    }

    fn receive(
        &mut self,
        parts: &mut [std::io::IoSliceMut<'_>],
        descriptors: &mut Vec<OwnedFd>,
    ) -> std::io::Result<usize> {
        self.inner_mut().receive(parts, descriptors)
    }

    fn readiness(&self) -> Option<BorrowedFd<'_>> {
        self.inner().readiness()
    }

    fn passes_descriptors(&self) -> bool {
        false
    }

    fn peer(&self) -> &Peer {
        self.inner().peer()
    }
}

impl Drop for SshStream {
    /// What was sent last still leaves: `ssh` ends when it has passed that on.
    fn drop(&mut self) {
        drop(self.inner.take());
        if let Some(mut child) = self.child.take() {
            let thread = std::thread::Builder::new().name("farcall-ssh-end".to_owned());
            let _ = thread.spawn(move || finish(&mut child, END_GRACE));
        }
    }
}

/// Waits for its end, and has it end when that takes too long.
fn finish(child: &mut Child, grace: Duration) -> Option<std::process::ExitStatus> {
    let until = Instant::now() + grace;
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().ok()
}

/// Waits until the descriptor can be read from or written to, or the time is over; false then.
fn ready(socket: BorrowedFd<'_>, how: PollFlags, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&socket.as_fd(), how)], time.as_ref()) {
            Ok(0) => return false,
            Err(rustix::io::Errno::INTR) => {}
            _ => return true,
        }
    }
}
