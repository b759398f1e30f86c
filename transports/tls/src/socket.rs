//! The TCP socket underneath: never blocks, sends small messages at once.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{self, RecvFlags, SendFlags};

/// Sets up a socket. On loopback with the plain congestion control: some systems default to one that paces (bbr), which
/// there halves the speed of large arrays. Never done on a real network.
pub fn tune(socket: &OwnedFd, peer: SocketAddr) -> io::Result<()> {
    net::sockopt::set_tcp_nodelay(socket, true)?;
    // A peer whose machine is gone is noticed within minutes, not never.
    net::sockopt::set_socket_keepalive(socket, true)?;
    #[cfg(target_os = "linux")]
    if peer.ip().to_canonical().is_loopback() {
        let _ = net::sockopt::set_tcp_congestion(socket, "reno");
    }
    Ok(())
}

/// Receives what is there.
pub fn receive(socket: impl AsFd, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match net::recv(&socket, &mut *room, RecvFlags::DONTWAIT) {
            Ok((count, _)) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Sends what the system takes. A peer that vanished is an error of this connection and no SIGPIPE for the process.
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match net::send(&socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
