//! `farcall bridge`: what a launcher connects a pilot's standard streams with, on the host of its
//! server.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use clap::Args;
use farcall_base::{Error, ErrorKind, Result};
use farcall_pilot::streams::{Ends, pass_on};

#[derive(Args)]
pub struct BridgeArguments {
    /// Address on this host where the server accepts pilots
    #[arg(value_name = "ADDRESS:PORT")]
    server: SocketAddr,
}

/// Leads each connection that a pilot opens to the server, until either is gone.
pub fn bridge(arguments: &BridgeArguments) -> Result<()> {
    if !arguments.server.ip().is_loopback() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            "bridge",
            "the server must be on this host",
        )
        .with("address", arguments.server)
        .fix(
            "launchers start this program, with the address of a server that has dial = \"stdio\"",
        ));
    }
    let owned = |stream: rustix::fd::BorrowedFd<'_>| {
        stream.try_clone_to_owned().map_err(|error| Error::system("pass streams on", error))
    };
    let input = owned(rustix::stdio::stdin().as_fd())?;
    let output = owned(rustix::stdio::stdout().as_fd())?;
    let ends = Ends::Connected(arguments.server);
    pass_on(input, output, ends)
}
