//! The far side of `ssh`. A relay hands its standard input and output over to a server of this
//! host, which it begins if there is none, and which outlives it; `farcall relay` is its command
//! line. What such a server leaves for the next relay, and keeps short meanwhile, is here, too. The
//! near side is the client's (`clients/rust/src/ssh`).

mod copies;
mod elsewhere;
mod keeper;
mod record;
mod settings;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use farcall_base::{Error, ErrorKind, Result};
use farcall_transport_unix::connect_for_bytes;
use rustix::event::{PollFd, PollFlags, poll};

use elsewhere::Hop;
pub use keeper::Keeper;
use record::own_host;
use settings::Change;
pub use settings::{Told, kept};

/// What is read of a server's words when it does not come up.
const WORDS_BYTES_MAX: u64 = 4096;

/// What a client's `ssh` asks for.
pub struct Wish {
    /// What the line begins with that says how it went.
    pub mark: String,
    /// Which server: clients of the same name share one.
    pub name: String,
    /// For how long it stays without a client, in seconds.
    pub linger: u64,
    /// How the client names it, where that is known.
    pub address: Option<String>,
    /// What is to run its routines, if it is not that host itself.
    pub launcher: Option<String>,
    /// `NAME=VALUE`: what a server that is begun is told, and what is kept for later ones.
    pub settings: Vec<String>,
    /// A configuration file was put beside the one that is kept, under a name that ends with the
    /// mark.
    pub config_came: bool,
    /// Take a server that is there, and begin none: a relay of another host asks.
    pub hopped: bool,
    /// A variable that a server of this program wants, if any: asked where one is begun.
    pub environment: fn() -> Result<Option<(&'static str, PathBuf)>>,
}

/// What a relay finds.
enum Found {
    /// A server of this host.
    Here(UnixStream),
    /// One of another host, and a relay there.
    Elsewhere(Hop),
    /// None, and none is to be begun.
    Nobody,
}

/// Says how it went in one line on `output`, then waits until either end is over.
///
/// # Errors
/// `System` when standard output cannot be written to.
pub fn relay(wish: &Wish, mut output: impl Write) -> Result<()> {
    let mut say = |words: &str| {
        writeln!(output, "{} {words}", wish.mark).and_then(|()| output.flush()).map_err(lost)
    };
    match reach(wish) {
        Ok(Found::Here(server)) => {
            say(&format!("relay {}", own_host()))?;
            hand_over(&server)
        }
        Ok(Found::Elsewhere(hop)) => hop.pass_on(),
        Ok(Found::Nobody) => say(elsewhere::NOBODY),
        // Once is enough: what is said on standard error is shown there, too.
        Err(error) => {
            let how = if error.kind() == ErrorKind::Unreachable { "unreachable" } else { "failed" };
            let words = error.to_string().replace('\n', "; ");
            say(&format!("{how} {}", words.strip_prefix("connect: ").unwrap_or(&words)))
        }
    }
}

fn lost(error: std::io::Error) -> Error {
    Error::system("pass bytes on", error)
}

/// The server of that name: of this host, or of the one that the record names; or one that is begun
/// here.
fn reach(wish: &Wish) -> Result<Found> {
    let sockets = sockets_of(&wish.name)?;
    let settings = Change::of(wish)?;
    let found = find(&sockets, wish)?;
    if let Some(found) = found {
        settings.refuse(wish)?;
        return Ok(found);
    }
    if wish.hopped {
        return Ok(Found::Nobody);
    }
    let told = settings.keep()?;
    let begun = first_of(&sockets).and_then(|socket| begin(socket, wish, &told));
    // Another relay may have begun one at the same time.
    let late = || Error::new(ErrorKind::Unreachable, "connect", "the server does not listen");
    let server = listening(&sockets).ok_or_else(|| {
        settings.take_back();
        begun.err().unwrap_or_else(late)
    });
    server.map(Found::Here)
}

/// A server that listens in one of these places.
fn listening(sockets: &[PathBuf]) -> Option<UnixStream> {
    // Nobody is spoken to in a folder that another user controls.
    let is_own = |socket: &&PathBuf| {
        socket.exists() && farcall_transport_unix::prepare_directory(socket).is_ok()
    };
    sockets.iter().filter(is_own).find_map(|socket| connect_for_bytes(socket).ok())
}

/// The server of that name that runs, here or where the record says.
fn find(sockets: &[PathBuf], wish: &Wish) -> Result<Option<Found>> {
    if let Some(server) = listening(sockets) {
        return Ok(Some(Found::Here(server)));
    }
    let found = record::find(&wish.name);
    let is_here = |found: &record::Found| found.record.host == own_host();
    // A session with another runtime folder begins its servers elsewhere.
    if let Some(server) = found
        .as_ref()
        .filter(|found| is_here(found))
        .and_then(|found| connect_for_bytes(&found.record.socket).ok())
    {
        return Ok(Some(Found::Here(server)));
    }
    if wish.hopped {
        return Ok(None);
    }
    if let Some(found) = found.filter(|found| !is_here(found)) {
        match Hop::to(&found.record, wish) {
            Ok(Some(hop)) => return Ok(Some(Found::Elsewhere(hop))),
            // It has ended there, or its host is down for longer than a server keeps silent.
            Ok(None) => {}
            Err(_) if !found.is_fresh => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Where it may listen, on this host alone: in the folder of this user's servers, or in the one of
/// those who have no other.
fn sockets_of(name: &str) -> Result<Vec<PathBuf>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_word) {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "connect",
            "it is not a name for a server",
        )
        .with("name", name)
        .fix("use letters, digits, '.', '-' and '_'"));
    }
    let file = format!("for-{name}.sock");
    let mut sockets = vec![
        farcall_transport_unix::own_socket_path(&file),
        farcall_transport_unix::common_socket_path(&file),
    ];
    sockets.dedup();
    Ok(sockets)
}

/// The first of these places where a server can be: its folder is this user's, and takes what is
/// written to it.
fn first_of(sockets: &[PathBuf]) -> Result<&Path> {
    let usable = |socket: &PathBuf| {
        let folder = farcall_transport_unix::prepare_directory(socket)?;
        record::check_written(&folder).map_err(|error| {
            Error::system("start a server", error).with("directory", folder.display())
        })
    };
    let mut failed = Vec::new();
    for socket in sockets {
        match usable(socket) {
            Ok(()) => return Ok(socket),
            Err(error) => failed.push(error),
        }
    }
    let first = failed.swap_remove(0);
    Err(first.fix("free space in $XDG_RUNTIME_DIR or /tmp there"))
}

/// Starts a server, and waits until it listens.
fn begin(socket: &Path, wish: &Wish, told: &Told) -> Result<()> {
    let system = |error| Error::system("start a server", error);
    let program = std::env::current_exe().map_err(system)?;
    let log_path = socket.with_extension("log");
    // What the last one left here that was killed.
    let _ = std::fs::remove_file(&log_path);
    let log = File::options().create(true).append(true).open(&log_path).map_err(system)?;
    let mut command = told.command(&program);
    command.args([
        "serve",
        "--log-level",
        "warn",
        "--linger",
        &wish.linger.to_string(),
        "--listen",
    ]);
    command.arg(format!("relay:{}", socket.display())).arg("--own-log").arg(&log_path);
    if let Some(launcher) = &wish.launcher {
        command.args(["--launcher", launcher]);
    }
    command.args(told.arguments());
    // Where no home can be written to, other hosts do not learn of it.
    if let Some(record) = record::place(&wish.name) {
        command.arg("--record").arg(record);
    }
    if let Some((name, value)) = (wish.environment)()? {
        command.env(name, value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().map_err(system)?;
    let mut line = String::new();
    let listens = child.stdout.take().is_some_and(|stdout| {
        let mut stdout = BufReader::new(stdout).take(WORDS_BYTES_MAX);
        stdout.read_line(&mut line).is_ok_and(|count| count > 0)
    });
    if listens {
        return Ok(());
    }
    let _ = child.wait();
    let mut said = String::new();
    let _ =
        File::open(&log_path).and_then(|log| log.take(WORDS_BYTES_MAX).read_to_string(&mut said));
    let _ = std::fs::remove_file(&log_path);
    Err(did_not_come_up(&said))
}

/// What it said last is why; before that it may have told of files that it leaves out.
fn did_not_come_up(said: &str) -> Error {
    let (before, last) = said.trim().rsplit_once('\n').unwrap_or(("", said.trim()));
    let last = last.strip_prefix("farcall: ").unwrap_or(last);
    let error = Error::new(
        ErrorKind::Unavailable,
        "start a server",
        if last.is_empty() { "it ended" } else { last },
    );
    if before.is_empty() { error } else { error.with("it said before", before.replace('\n', "; ")) }
}

/// Hands our standard input and output over to the server, which passes us by from then on; until
/// either side is over.
fn hand_over(server: &UnixStream) -> Result<()> {
    let input = rustix::stdio::stdin();
    let output = rustix::stdio::stdout();
    farcall_transport_unix::hand_over(server.as_fd(), input, output).map_err(lost)?;
    // A pipe hangs up when the other end is closed, whatever is still in it: the server has it, and
    // reads on.
    let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut watched = [
        PollFd::from_borrowed_fd(input, ends),
        PollFd::from_borrowed_fd(output, ends),
        PollFd::from_borrowed_fd(server.as_fd(), ends),
    ];
    while poll(&mut watched, None) == Err(rustix::io::Errno::INTR) {}
    Ok(())
}
