//! Another host of the same name: a cluster's login nodes share a name and a home. What `ssh`
//! reaches today may be another one than the one that has the server; the relay then hops on by the
//! `ssh` of this host.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::record::{Record, own_host};
use super::{Wish, lost};

/// What a relay says that was to find a server, and found none.
pub const NOBODY: &str = "nobody";
/// Time for the hop: a client that makes a lost connection again waits for ten seconds.
const HOP_MAX: Duration = Duration::from_secs(8);
/// Of these, seconds until the host has answered.
const ANSWER_SECONDS: &str = "ConnectTimeout=5";
/// What start-up files may print there.
const NOISE_BYTES_MAX: usize = 1 << 20;
/// Bytes passed on at a time.
const PIECE_BYTES: usize = 256 << 10;
/// What is kept of the words of an `ssh` that fails.
const WORDS_BYTES_MAX: u64 = 1024;

/// An `ssh` to a relay of another host. It reads our standard input by itself; what comes back goes
/// through here.
pub struct Hop {
    child: Child,
    back: File,
    /// What came with the relay's line, from that on.
    begun: Vec<u8>,
}

impl Hop {
    /// To the server of the record, without a question to anybody; `None` when it is not there any
    /// more.
    ///
    /// # Errors
    /// `Unreachable` when its host cannot be reached from here: which it is, and how to get there.
    pub fn to(record: &Record, wish: &Wish) -> Result<Option<Hop>> {
        let failed = |why: String| {
            let name = &wish.name;
            let host = &record.host;
            let message = format!(
                "your server and its calls are on {host}, which {} cannot reach",
                own_host()
            );
            Error::new(ErrorKind::Unreachable, "connect", message).with("why", why).fix(format!(
                "connect to {host} itself, if necessary with this host as ProxyJump; or start \
                another server here: FARCALL_NAME={}-2",
                name.chars().take(30).collect::<String>()
            ))
        };
        let mut child = start(record, wish).map_err(&failed)?;
        let Some(back) = child.stdout.take() else {
            return Err(failed("it has no output".to_owned()));
        };
        let back = File::from(OwnedFd::from(back));
        let said = answer(&back, &wish.mark, Instant::now() + HOP_MAX);
        match said {
            Ok((line, begun)) if line != NOBODY => {
                pass_on_words(child.stderr.take());
                Ok(Some(Hop { child, back, begun }))
            }
            said => {
                let _ = child.kill();
                let _ = child.wait();
                match said {
                    Ok(_) => Ok(None),
                    Err(why) => Err(failed(words(child.stderr.take()).unwrap_or(why))),
                }
            }
        }
    }

    /// Passes on what comes back, until its end.
    pub fn pass_on(mut self) -> Result<()> {
        let output = File::from(std::io::stdout().as_fd().try_clone_to_owned().map_err(lost)?);
        let passed = (&output).write_all(&self.begun).and_then(|()| copy(&self.back, &output));
        // Our client has gone, or that server: `ssh` has nothing to do any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Who read it has gone, which nobody wants to know.
        let _ = passed;
        Ok(())
    }
}

/// Copies until the end of either. Not within the kernel: whoever splices into a pipe keeps others
/// from reading it for as long as nothing comes.
fn copy(mut from: impl Read, mut to: impl Write) -> std::io::Result<()> {
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn start(record: &Record, wish: &Wish) -> std::result::Result<Child, String> {
    let program = record.program.to_string_lossy();
    if program.contains(['\'', '!', '\n', '\\']) {
        return Err(format!("the path of its program is not safe for every shell: {program}"));
    }
    let ssh = std::env::var_os("FARCALL_SSH")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "ssh".into());
    let Wish { mark, name, linger, .. } = wish;
    let there =
        format!("exec '{program}' relay --hopped --mark {mark} --name {name} --linger {linger}");
    let mut command = Command::new(ssh);
    command.args(["-T", "-o", "BatchMode=yes", "-o", ANSWER_SECONDS, "--", &record.host, &there]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("ssh cannot be started there: {error}"))
}

/// What the relay there says behind the mark, and all bytes from its line on.
fn answer(
    back: &File,
    mark: &str,
    until: Instant,
) -> std::result::Result<(String, Vec<u8>), String> {
    let mut came = Vec::new();
    let mut back = back;
    loop {
        let text = String::from_utf8_lossy(&came);
        let line = text
            .find(mark)
            .map(|at| &text[at + mark.len()..])
            .and_then(|rest| rest.split_once('\n'));
        if let Some((line, _)) = line {
            let at =
                came.windows(mark.len()).position(|window| window == mark.as_bytes()).unwrap_or(0);
            return Ok((line.trim().to_owned(), came[at..].to_vec()));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || came.len() > NOISE_BYTES_MAX {
            return Err("it does not answer".to_owned());
        }
        // Interrupted or not: what is left of the time is looked at again.
        if matches!(
            poll(&mut [PollFd::new(&back, PollFlags::IN)], Timespec::try_from(left).ok().as_ref()),
            Ok(1..)
        ) {
            let mut piece = [0; 4096];
            match back.read(&mut piece) {
                Ok(0) => return Err("ssh ended".to_owned()),
                Ok(count) => came.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// The words of an `ssh` that has ended.
fn words(stderr: Option<ChildStderr>) -> Option<String> {
    let stderr = stderr?;
    // What it has started may hold the other end still.
    rustix::io::ioctl_fionbio(&stderr, true).ok()?;
    let mut said = Vec::new();
    let _ = stderr.take(WORDS_BYTES_MAX).read_to_end(&mut said);
    let said = String::from_utf8_lossy(&said).trim().replace("\r\n", "; ").replace('\n', "; ");
    (!said.is_empty()).then_some(said)
}

/// Somebody has to read them.
fn pass_on_words(stderr: Option<ChildStderr>) {
    if let Some(stderr) = stderr {
        std::thread::spawn(move || farcall_client::pass_on_output(stderr, |_| {}));
    }
}
