//! Where programs of jobs dial in: opened while there are jobs, and by whoever knows transports and
//! certificates.

use std::os::fd::BorrowedFd;
use std::path::Path;

use farcall_base::Result;
use farcall_link::stream::Listener;
use serde::Deserialize;

/// How jobs reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dial {
    /// Over the network, with certificates for this job alone.
    Tls,
    /// By a socket of this host.
    Unix,
    /// Not by themselves: their launcher passes bytes on. With certificates all the same.
    Stdio,
}

/// How jobs are to reach this server.
#[derive(Clone, Debug)]
pub struct GateWish<'a> {
    /// A folder of ours that nobody else looks into.
    pub folder: &'a Path,
    /// The way.
    pub dial: Dial,
    /// The address to listen at.
    pub listen: &'a str,
    /// Names and addresses of this host, as jobs see it; none: its own name.
    pub reached_at: &'a [String],
}

/// An open gate. Dropped, it is shut.
pub trait Gate: Send {
    /// What accepts whoever has a ticket.
    fn listener(&mut self) -> &mut dyn Listener;

    /// The descriptor to wait on for the listener.
    fn readiness(&self) -> Option<BorrowedFd<'_>>;

    /// What a job called `job` needs to dial in, as the text of a file: lines `dial ADDRESS`, and a
    /// certificate of its own.
    ///
    /// # Errors
    /// When it cannot be signed.
    fn ticket(&mut self, job: &str) -> Result<String>;

    /// The command, for a shell of this host, that launchers are to connect the standard streams of
    /// their programs with; `None` where these reach this server by themselves.
    fn bridge(&self) -> Option<String>;
}

/// Opens gates.
pub type OpenGate = fn(&GateWish<'_>) -> Result<Box<dyn Gate>>;
