//! What the program on a host that `ssh` reaches does for a client.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use farcall_base::{Error, ErrorKind, Result};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{Ssh, ready, run};

/// Most of what is read of settings.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// What a program elsewhere does for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errand {
    /// It connects the client to a server.
    #[default]
    Relay,
    /// It prints the settings that a server has which is begun now.
    Settings,
}

/// The settings of a server that is begun there now, and where each comes from, as text for people.
///
/// # Errors
/// As [`connect`].
pub fn settings_there(ssh: &Ssh, timeout: Duration) -> Result<String> {
    let until = Instant::now() + timeout;
    let (running, _) = run(&Ssh { errand: Errand::Settings, ..ssh.clone() }, until)?;
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while all.len() <= SETTINGS_BYTES_MAX {
        if !ready(running.socket.as_fd(), PollFlags::IN, until) {
            let error = Error::new(ErrorKind::TimedOut, "read settings", "no answer in time");
            return Err(running.failed(ssh, error));
        }
        match recv(&running.socket, &mut buffer, RecvFlags::empty()) {
            Ok((0, _)) => break,
            Ok((count, _)) => all.extend_from_slice(&buffer[..count]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Error::system("read settings", errno.into())),
        }
    }
    // It has said all: what is left of it ends by itself.
    drop(running.stream(ssh, ""));
    Ok(String::from_utf8_lossy(&all).into_owned())
}
