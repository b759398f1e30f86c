//! The TCP socket underneath: never blocks, sends small messages at once.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::net::{self, RecvFlags, SendFlags};

/// Questions for a sign of life that go unanswered before a peer is given up.
const PROBES: u32 = 4;

/// Sets up a socket. On loopback with the plain congestion control: some systems default to one
/// that paces (bbr), which there halves the speed of large arrays. Never done on a real network.
///
/// A peer that vanished without a word, its machine or network with it, is given up after
/// `silence_max`; the system's own time for that is two hours. While bytes are under way to it, the
/// system's retransmissions find out, and the time limits above. (TCP_USER_TIMEOUT would be
/// quicker, and end peers that live, too: those that take nothing for a while.)
pub fn tune(socket: &OwnedFd, peer: SocketAddr, silence_max: Duration) -> io::Result<()> {
    net::sockopt::set_tcp_nodelay(socket, true)?;
    net::sockopt::set_socket_keepalive(socket, true)?;
    // The system counts in whole seconds here, and takes nothing less than one.
    let pause = (silence_max / (2 * PROBES)).max(Duration::from_secs(1));
    net::sockopt::set_tcp_keepidle(socket, (silence_max / 2).max(Duration::from_secs(1)))?;
    net::sockopt::set_tcp_keepintvl(socket, pause)?;
    net::sockopt::set_tcp_keepcnt(socket, PROBES)?;
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

/// Sends what the system takes. A peer that vanished is an error of this connection and no SIGPIPE
/// for the process.
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match net::send(&socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(count) => return Ok(count),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
