//! The private server that the commands of one terminal share: it places calls of all of them, and
//! stays for a while after the last (`$FARCALL_LINGER`).

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};

use super::ServerList;
use super::root::{OF_LIST, where_to};
use crate::private::{ServeOptions, not_started, own_program};
use crate::ssh;

/// Most of what is read of its words.
const WORDS_BYTES_MAX: u64 = 16 << 10;
/// Time in which another command's server listens that begins at the same moment.
const OTHER_MAX: Duration = Duration::from_secs(10);
const OTHER_PAUSE: Duration = Duration::from_millis(20);

/// Where the one of this terminal listens; it runs from now on, if it did not.
///
/// # Errors
/// As [`PrivateServer::start`].
pub fn running(list: &ServerList, options: &ServeOptions) -> Result<PathBuf> {
    let where_to = where_to(list);
    let socket = socket(list, options);
    let is_there = || farcall_transport_unix::connect_within(&socket, OTHER_MAX).is_ok();
    if is_there() {
        return Ok(socket);
    }
    let begun = start(&socket, where_to, options);
    // Another command may have begun it at the same time.
    let until = Instant::now() + OTHER_MAX;
    while begun.is_err() && socket.exists() && Instant::now() < until {
        if is_there() {
            return Ok(socket);
        }
        std::thread::sleep(OTHER_PAUSE);
    }
    begun.map(|()| socket)
}

/// One for each terminal, list and program: it names servers that each of its clients can reach.
fn socket(list: &ServerList, options: &ServeOptions) -> PathBuf {
    let session = rustix::process::getsid(None).map_or(0, |session| session.as_raw_nonzero().get());
    let program = options.program.clone().unwrap_or_else(own_program);
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), program, list.name()).hash(&mut hasher);
    let name = format!("list-{session}-{:016x}.sock", hasher.finish());
    farcall_transport_unix::own_socket_path(&name)
}

fn start(socket: &Path, where_to: &str, options: &ServeOptions) -> Result<()> {
    let program = options.program.clone().unwrap_or_else(own_program);
    let linger = ssh::linger()?.as_secs().to_string();
    farcall_transport_unix::prepare_directory(socket)?;
    let mut command = Command::new(&program);
    command.args(["serve", "--log-level", "off", "--linger", &linger, OF_LIST, where_to]);
    command.args(["--listen", &format!("unix:{}", socket.display())]);
    // A pipe would end with this command.
    let log_path = socket.with_extension("log");
    let system = |error| Error::system("start a private server", error);
    let log = File::options().create(true).append(true).open(&log_path).map_err(system)?;
    command.arg("--own-log").arg(&log_path);
    command.args(&options.arguments).arg("--").args(&options.files);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().map_err(|error| not_started(&program, error))?;
    let mut line = String::new();
    let stdout = child.stdout.take().map(|stdout| stdout.take(WORDS_BYTES_MAX));
    let listens = stdout.is_some_and(|stdout| {
        BufReader::new(stdout).read_line(&mut line).is_ok_and(|count| count > 0)
    });
    if listens {
        return Ok(());
    }
    let _ = child.wait();
    let mut said = String::new();
    let log = File::open(&log_path).map(|log| log.take(WORDS_BYTES_MAX));
    let _ = log.and_then(|mut log| log.read_to_string(&mut said));
    let _ = std::fs::remove_file(&log_path);
    let message =
        if said.trim().is_empty() { "it ended".to_owned() } else { said.trim().to_owned() };
    Err(Error::new(ErrorKind::Unavailable, "start a private server", message))
}
