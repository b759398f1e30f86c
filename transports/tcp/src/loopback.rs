//! Which addresses are allowed, and how their sockets are set up.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;

use farcall_base::{Error, ErrorKind, Result};
use rustix::net::sockopt;

/// The loopback addresses of `host`.
///
/// # Errors
/// `Unreachable` when the name does not resolve, `PermissionDenied` (with `advice`) when it is not
/// this machine.
pub fn resolve(
    operation: &'static str,
    host: &str,
    port: u16,
    advice: &str,
) -> Result<Vec<SocketAddr>> {
    // Brackets are how a URL writes an IPv6 address.
    let name = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let found: Vec<SocketAddr> = (name, port)
        .to_socket_addrs()
        .map_err(|error| {
            Error::new(
                ErrorKind::Unreachable,
                operation,
                format!("the host \"{host}\" does not resolve: {error}"),
            )
            .fix("check its spelling")
            .source(error)
        })?
        .collect();
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| is_loopback(*address));
    if here.is_empty() {
        let addresses: Vec<String> =
            elsewhere.iter().map(|address| address.ip().to_string()).collect();
        let message =
            "plain TCP works only on this machine: on a network, others could read the data";
        return Err(Error::new(ErrorKind::PermissionDenied, operation, message)
            .with("host", host)
            .with("address", addresses.join(", "))
            .fix(advice));
    }
    Ok(here)
}

/// 127.0.0.0/8 and ::1, and the former written as IPv6.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Sets up a socket whose two ends are on this machine.
///
/// Small messages leave at once. The congestion control is the plain one: some systems default to
/// one that paces (bbr), which on loopback halves the speed of large arrays; whoever does not allow
/// the choice keeps theirs. Never done on a real network. Buffers are left alone: setting them
/// turns off the kernel's own tuning, and where the system's maximum is small that costs more than
/// it gains.
pub fn tune(socket: impl AsFd) -> std::io::Result<()> {
    sockopt::set_tcp_nodelay(&socket, true)?;
    #[cfg(target_os = "linux")]
    let _ = sockopt::set_tcp_congestion(&socket, "reno");
    Ok(())
}
