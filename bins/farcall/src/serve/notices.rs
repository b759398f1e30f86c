//! What a server tells those who start it: its addresses, and what it cannot do on this host.

use std::net::SocketAddr;
use std::time::Duration;

use farcall_spawner_local::Inspector;
use farcall_system::open_files::open_files_max;
use farcall_system::outlet;

use crate::output::notice;
use crate::transports::token_file;

/// Time that the reader of the addresses has: a server serves also where nobody wants to know them.
const ADDRESSES_MAX: Duration = Duration::from_secs(2);

/// A server that serves, as it is told of.
pub(super) struct Opening<'a> {
    /// Where it listens.
    pub(super) addresses: &'a [String],
    /// Its modules, with the number of their routines.
    pub(super) published: &'a [(String, usize)],
    /// What it holds modules to.
    pub(super) inspector: &'a Inspector,
    /// Its settings.
    pub(super) options: &'a farcall_rpc_server::Options,
    /// Warnings of modules that the table of rights names and nobody published.
    pub(super) unknown: &'a [String],
    /// Where its metrics are.
    pub(super) metrics: Option<SocketAddr>,
    /// Whether a program started it for itself.
    pub(super) is_private: bool,
}

impl Opening<'_> {
    /// The addresses to standard output, all else to people.
    pub(super) fn announce(&self) {
        announce(self.addresses, self.published, self.is_private);
    }

    /// What the user who started the server may want to change.
    pub(super) fn say_all(&self) {
        // A private server runs what its user would run as well without it.
        if !self.is_private {
            say_what_is_missing(self.inspector);
            say_what_was_cut(self.options);
        }
        self.unknown.iter().for_each(|warning| notice(warning));
        if let Some(address) = self.metrics {
            say_where_metrics_are(address);
        }
        let is_tcp = |address: &String| address.starts_with("farcall://");
        if !self.is_private && self.addresses.iter().any(is_tcp) {
            let file = token_file(self.options);
            notice(&format!("clients over TCP need the token in {}", file.display()));
        }
    }
}

/// Limits that would take more descriptors than there are.
pub(super) fn say_what_was_cut(options: &farcall_rpc_server::Options) {
    let files = open_files_max();
    let crowds = options.crowds_fitting(files);
    if let Some(files) = files.filter(|_| crowds != options.crowds()) {
        notice(&format!(
            "a process here may have {files} open files. This allows at the same time: {crowds}"
        ));
    }
}

pub(super) fn say_where_metrics_are(address: SocketAddr) {
    notice(&format!("metrics are at http://{address}/metrics"));
    if !address.ip().is_loopback() {
        notice(
            "everybody who can connect to that address sees the names of users and routines: \
             restrict it with a firewall",
        );
    }
}

/// What this host cannot hold modules to, and what a server that is root gives them, once.
pub(super) fn say_what_is_missing(inspector: &Inspector) {
    if rustix::process::geteuid().is_root() && !inspector.names_user_of_all() {
        notice(
            "this server runs as root, and so do routines of modules without a user of their own: \
            they can read all files that root can read in the system's directories and those that \
            the configuration file grants; set a user in farcall.toml: limits.user = \"nobody\"",
        );
    }
    use farcall_executable::confine::{kernel_means, not_held};
    for missing in not_held(kernel_means()) {
        notice(&format!("{}: this system has no {}", missing.consequence(), missing.needs()));
    }
    if farcall_spawner_local::processes_counted_by().is_none() {
        notice(
            "the server cannot write a cgroup, and root's processes are not counted without one: \
            routines of modules without a user of their own can start any number of processes",
        );
    }
}

/// Addresses go to standard output, for programs; the rest is for people.
pub(super) fn announce(addresses: &[String], published: &[(String, usize)], private: bool) {
    let text: String = addresses
        .iter()
        .map(|address| format!("{}\n", farcall_base::printable_line(address)))
        .collect();
    // Nobody may be reading: a server serves all the same.
    let _ = outlet::output().write(text.as_bytes(), ADDRESSES_MAX);
    if !private {
        let modules = published
            .iter()
            .map(|(name, count)| format!("{name} ({count})"))
            .collect::<Vec<_>>()
            .join(", ");
        notice(&format!("serving {modules}; end with Ctrl-C"));
    }
}
