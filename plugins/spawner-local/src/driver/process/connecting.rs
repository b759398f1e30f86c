//! The two ends of a connection with an executable.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use farcall_base::{Error, Result};
use farcall_services::spawner::zygote::START_DESCRIPTORS;
use rustix::pipe::{PipeFlags, pipe_with};

use super::{Near, STRANGERS_MAX};
use crate::state::ConnectionKind;

/// What an executable is given that a zygote forks: connection, standard output and error; and our
/// ends of it.
pub(in crate::driver) fn ends(
    connection: ConnectionKind,
) -> Result<(Near, [OwnedFd; START_DESCRIPTORS])> {
    let (stream, theirs) = connect(connection)?;
    let pipe = || {
        pipe_with(PipeFlags::CLOEXEC).map_err(|errno| Error::system("make a pipe", errno.into()))
    };
    let (stdout, their_stdout) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    Ok((
        Near { stream, stdout: stdout.into(), stderr: stderr.into() },
        [theirs, their_stdout, their_stderr],
    ))
}

/// Our end of a connection and the executable's.
pub(super) fn connect(connection: ConnectionKind) -> Result<(OwnedFd, OwnedFd)> {
    match connection {
        ConnectionKind::Unix => {
            UnixStream::pair().map(|(ours, theirs)| (ours.into(), theirs.into()))
        }
        ConnectionKind::Tcp => loopback_pair(),
    }
    .map_err(|source| Error::system("make a socket pair", source))
}

/// Both ends of a TCP connection of the loopback. They are made here and inherited as a socket pair
/// is, so nobody has to prove who he is; a stranger who is faster at the port for that moment is
/// turned away.
fn loopback_pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let theirs = TcpStream::connect(listener.local_addr()?)?;
    let expected = theirs.local_addr()?;
    for _ in 0..STRANGERS_MAX {
        let (ours, peer) = listener.accept()?;
        if peer == expected {
            return Ok((ours.into(), theirs.into()));
        }
    }
    Err(std::io::Error::other("too many strangers connect to the port"))
}
