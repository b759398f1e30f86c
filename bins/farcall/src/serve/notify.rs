//! Tells a service manager how far the server is (sd_notify(3)): a datagram to the socket that it
//! names.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable that names the socket; without it nobody wants to know.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// Clients are served from now on.
pub fn ready() {
    notify("READY=1\nSTATUS=serving");
}

/// No new calls are taken.
pub fn stopping() {
    notify("STOPPING=1\nSTATUS=stopping after the running calls");
}

/// Whoever does not listen is not waited for: the server serves all the same.
fn notify(state: &str) {
    let Some(name) = std::env::var(SOCKET_VARIABLE).ok().filter(|name| !name.is_empty()) else {
        return;
    };
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) else { return };
    let _ = socket.set_nonblocking(true);
    let _ = socket.send_to_addr(state.as_bytes(), &address);
}
